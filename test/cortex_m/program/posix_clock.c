/* SPDX-License-Identifier: Apache-2.0 */
/* The few functions of POSIX that an example uses beside the library, as a board can answer them.
 */
#include <errno.h>
#include <stdint.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now);
int _unlink(const char *path);
void _fini(void);

/* A board has no time of day, and an example measures only how long something took. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_sec = 0};
    return 0;
}

int _unlink(const char *path)
{
    (void)path;
    errno = ENOENT;
    return -1;
}

void _fini(void)
{
}
