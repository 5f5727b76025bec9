/* SPDX-License-Identifier: Apache-2.0 */
/* The strings of the status table. The table itself is public: <orrery/rt/status.h>. */
#include <orrery/rt/status.h>

#define STATUS_NAME(name, sentence) #name,
#define STATUS_TEXT(name, sentence) sentence,

static const char *const status_names[] = {RT_STATUS_TABLE(STATUS_NAME)};
static const char *const status_texts[] = {RT_STATUS_TABLE(STATUS_TEXT)};

const char *rt_status_name(rt_status_code code)
{
    if ((size_t)code >= RT_STATUS_COUNT) {
        return "RT_STATUS_UNKNOWN";
    }
    return status_names[code];
}

const char *rt_status_text(rt_status_code code)
{
    if ((size_t)code >= RT_STATUS_COUNT) {
        return "unknown status";
    }
    return status_texts[code];
}

const char *rt_status_message(rt_status status)
{
#if RT_STATUS_MSG
    if (status.msg != NULL) {
        return status.msg;
    }
#endif
    return rt_status_text(status.code);
}
