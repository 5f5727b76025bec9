// SPDX-License-Identifier: Apache-2.0
// The same user in C++: the headers give C linkage, so this links.
#include "all_headers.h"
#include <cstdio>
#include <cstring>

int main()
{
    if (std::strcmp(rt_status_name(RT_ERR_NOMEM), "RT_ERR_NOMEM") != 0) {
        return 1;
    }
    std::printf("consumer: %s\n", rt_status_text(RT_OK));
    return 0;
}
