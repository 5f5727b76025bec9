/* SPDX-License-Identifier: Apache-2.0 */
/* What newlib asks of the system below it, for programs that print: tests and demonstrations. The
 * library needs none of it. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cortex_m/harness/snapshot.h"
#include "port/cortex_m/board.h"

extern char rti_ld_heap_start[];
extern char rti_ld_heap_end[];

char *syscalls_heap_end = rti_ld_heap_start;

int _write(int fd, const void *text, size_t length);
int _read(int fd, void *text, size_t length);
int _close(int fd);
int _lseek(int fd, int offset, int whence);
int _fstat(int fd, struct stat *status);
int _isatty(int fd);
int _kill(int pid, int number);
int _getpid(void);
void *_sbrk(ptrdiff_t increment);

int _write(int fd, const void *text, size_t length)
{
    (void)fd;
    rti_board_write(text, length);
    return (int)length;
}

int _read(int fd, void *text, size_t length)
{
    (void)fd;
    (void)text;
    (void)length;
    return 0;
}

int _close(int fd)
{
    (void)fd;
    return -1;
}

int _lseek(int fd, int offset, int whence)
{
    (void)fd;
    (void)offset;
    (void)whence;
    return 0;
}

int _fstat(int fd, struct stat *status)
{
    (void)fd;
    status->st_mode = S_IFCHR;
    return 0;
}

int _isatty(int fd)
{
    (void)fd;
    return 1;
}

int _kill(int pid, int number)
{
    (void)pid;
    (void)number;
    return -1;
}

int _getpid(void)
{
    return 1;
}

void *_sbrk(ptrdiff_t increment)
{
    char *old = syscalls_heap_end;
    if (increment > rti_ld_heap_end - old) {
        errno = ENOMEM;
        return (void *)-1;
    }
    syscalls_heap_end = old + increment;
    return old;
}

_Noreturn void _exit(int status)
{
    (void)snapshot_leave(status);
    rti_board_exit(status);
}
