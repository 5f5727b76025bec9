/* SPDX-License-Identifier: Apache-2.0 */
/* A user's program: all it knows of the library is what is installed. `all_headers.h` is made by
 * install_test.sh and includes every installed header. */
#include <stdio.h>
#include <string.h>

#include "all_headers.h"

int main(void)
{
    if (strcmp(rt_status_name(RT_ERR_NOMEM), "RT_ERR_NOMEM") != 0) {
        return 1;
    }
    printf("consumer: %s\n", rt_status_text(RT_OK));
    return 0;
}
