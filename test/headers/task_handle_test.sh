#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The analyzers of gcc and clang see what becomes of a task's handle: the cases of the specification
# (AC3), each alone, with the warning that must come or the silence that must be.
#
# Environment: SOURCE_DIR (the tree). Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
SOURCE_DIR=$(cd "${SOURCE_DIR:-$(dirname "$0")/../..}" && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# case NAME VERDICT: a file that both analyzers must warn about (bad) or not (good); its code comes
# from the standard input.
failures=0
count=0

gcc_says() {
    gcc -std=c11 -O0 -Wall -Wextra -fanalyzer -I"$SOURCE_DIR/include" -c "$1" -o "$work/out.o" 2>&1
}

clang_says() {
    clang-19 --analyze -Xclang -analyzer-checker=unix.Malloc \
        -Xclang -analyzer-config -Xclang unix.DynamicMemoryModeling:Optimistic=true \
        -std=c11 -I"$SOURCE_DIR/include" "$1" -o "$work/out.plist" 2>&1
}

# judge COMPILER FUNCTION VERDICT FILE
judge() {
    said=$("$2" "$4" || true)
    case $3 in
    bad) printf '%s' "$said" | grep -q 'warning: ' && return ;;
    good) printf '%s' "$said" | grep -q -e 'warning: ' -e 'error: ' || return 0 ;;
    esac
    echo "$1: $(basename "$4") should be $3:"
    printf '%s\n' "$said"
    failures=$((failures + 1))
}

try() {
    { printf '#include <orrery/rt.h>\nvoid *work(void *arg);\n' && cat; } >"$work/$1.c"
    count=$((count + 1))
    judge gcc gcc_says "$2" "$work/$1.c"
    if command -v clang-19 >/dev/null; then
        judge clang clang_says "$2" "$work/$1.c"
    fi
}

if ! gcc -fanalyzer -x c -c /dev/null -o "$work/none.o" 2>/dev/null; then
    echo "gcc has no analyzer"
    exit 77
fi

try never_consumed bad <<'END'
void f(void)
{
    rt_task *h = rt_go(work, NULL);
    if (h == NULL) {
        return;
    }
}
END
try early_return bad <<'END'
void f(int is_error)
{
    rt_task *h = rt_go(work, NULL);
    if (is_error) {
        return;
    }
    (void)rt_join(h, NULL);
}
END
try loop bad <<'END'
void f(int n)
{
    for (int i = 0; i < n; i++) {
        rt_task *h = rt_go(work, NULL);
        (void)h;
    }
}
END
try dropped bad <<'END'
void f(void)
{
    rt_go(work, NULL);
}
END
try joined_twice bad <<'END'
void f(void)
{
    rt_task *h = rt_go(work, NULL);
    (void)rt_join(h, NULL);
    (void)rt_join(h, NULL);
}
END
try detached_after_a_cancel bad <<'END'
void f(void)
{
    rt_task *h = rt_go(work, NULL);
    (void)rt_cancel(h, NULL);
    (void)rt_detach(h);
}
END
try member_never_consumed bad <<'END'
void f(rt_region *region)
{
    rt_task *h = rt_region_go(region, work, NULL);
    if (h == NULL) {
        return;
    }
}
END
try both_branches good <<'END'
void f(int is_wanted)
{
    rt_task *h = rt_go(work, NULL);
    if (is_wanted) {
        (void)rt_join(h, NULL);
    } else {
        (void)rt_detach(h);
    }
}
END
try loop_that_detaches good <<'END'
void f(int n)
{
    for (int i = 0; i < n; i++) {
        (void)rt_detach(rt_go(work, NULL));
    }
}
END
try returned_to_the_caller good <<'END'
rt_task *f(void)
{
    return rt_go(work, NULL);
}
END
try cancelled good <<'END'
void f(void)
{
    void *value;
    rt_task *h = rt_go(work, NULL);
    (void)rt_cancel(h, &value);
}
END
try told_everything good <<'END'
rt_outcome f(void)
{
    rt_task_result result = {.value = NULL};
    rt_task *h = rt_go(work, NULL);
    (void)rt_join_result(h, &result);
    return result.outcome;
}
END
try waited_for_with_a_deadline good <<'END'
void f(void)
{
    rt_task *h = rt_go(work, NULL);
    if (RT_FAILED(rt_join_until(&h, NULL, 5))) {
        (void)rt_cancel(h, NULL);
    }
}
END

echo "$count cases, $failures wrong"
[ "$failures" -eq 0 ]
