#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which files of the released static library call the heap, or what allocates inside the C library.
#
# Only heap.c may use the heap: the stacks of actors that ask for it. Only thread.c starts threads,
# which rt_init does, and only resolve.c looks names up, on a thread of its own. Nobody calls what
# allocates behind the caller's back: streams, sorting, copies of strings, the environment. And
# nobody uses a lock of the system: threads meet in queues and words only.
#
# Environment: SOURCE_DIR (the tree), LIBRARY (the archive). Exit status: 0 passed, 1 failed, 77
# skipped.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)
LIBRARY=${LIBRARY:-$SOURCE_DIR/build/release/liborrery.a}
CC=${CC:-gcc}
for tool in nm ar "$CC"; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool here"; exit 77; }
done
[ -f "$LIBRARY" ] || { echo "no_malloc_symbols: $LIBRARY is not built" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

heap='malloc calloc realloc reallocarray free cfree aligned_alloc posix_memalign memalign valloc
pvalloc malloc_usable_size sbrk brk'
hidden='strdup strndup asprintf vasprintf __asprintf_chk __vasprintf_chk fopen fopen64 fdopen
freopen popen tmpfile tmpfile64 fmemopen open_memstream opendir fdopendir scandir glob getline
getdelim __getdelim setvbuf qsort qsort_r setenv putenv realpath getcwd get_current_dir_name printf
fprintf vfprintf __printf_chk __fprintf_chk __vfprintf_chk puts fputs perror syslog dlopen
pthread_key_create pthread_setspecific regcomp iconv_open setlocale newlocale tsearch hcreate'

locks='pthread_mutex_lock pthread_mutex_trylock pthread_mutex_timedlock pthread_spin_lock
pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_cond_wait pthread_cond_timedwait sem_wait
sem_timedwait mtx_lock cnd_wait flockfile'

# Prints "FILE SYMBOL" for each symbol of the list that a member of the archive wants from outside:
# the archive, the list.
uses() {
    nm -A "$1" | awk -v list="$2" '
        BEGIN { count = split(list, names, /[ \n]+/); for (i = 1; i <= count; i++) bad[names[i]] }
        $(NF - 1) == "U" && ($NF in bad) {
            split($0, part, ":")
            sub(/\.o$/, "", part[2])
            print part[2], $NF
        }' | sort
}

# The check itself can fail: a file that takes memory is found, by its name.
printf '#include <stdlib.h>\nvoid *taken(void) { return calloc(1, 2); }\n' >"$work/taker.c"
"$CC" -c -o "$work/taker.c.o" "$work/taker.c"
ar rc "$work/taker.a" "$work/taker.c.o"
[ "$(uses "$work/taker.a" "$heap")" = "taker.c calloc" ] || {
    echo "no_malloc_symbols: the check does not see what is planted" >&2
    exit 1
}

failures=0
# Demands what is used of a list: what the list is, the list, what is wanted.
demand() {
    found=$(uses "$LIBRARY" "$2")
    if [ "$found" != "$3" ]; then
        printf 'no_malloc_symbols: %s is used by\n%s\ninstead of\n%s\n' "$1" "$found" "$3" >&2
        failures=$((failures + 1))
    fi
}

demand "the heap" "$heap" "heap.c free
heap.c malloc"
demand "what allocates inside the C library" "$hidden" ""
demand "a lock" "$locks" ""
demand "the start of threads" "pthread_create" "thread.c pthread_create"
demand "the look-up of names" "getaddrinfo freeaddrinfo gethostbyname" "resolve.c freeaddrinfo
resolve.c getaddrinfo"

[ $failures -eq 0 ] || exit 1
echo "$(nm -A "$LIBRARY" | awk -F: '{print $2}' | sort -u | wc -l) files, only heap.c uses the heap"
