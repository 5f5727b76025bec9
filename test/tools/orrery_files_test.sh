#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files that are damaged, cut or made up do orrery journal and orrery trace no harm: compiled with
# sanitizers they show or refuse thousands of them.
#
# Environment: SOURCE_DIR (the tree), BUILD_DIR, CC. Exit status: 0 passed, 1 failed, 77 skipped.
set -eu
. "$(dirname "$0")/support.sh"
sanitize='-fsanitize=address,undefined -fno-sanitize-recover=undefined'
echo 'int main(void) { return 0; }' >"$work/try.c"
$CC $sanitize "$work/try.c" -o "$work/try" 2>/dev/null && "$work/try" ||
    { echo "skipped: this compiler has no sanitizers"; exit 77; }

compile "$SOURCE_DIR/test/tools/make_journal.c" "$work/make"
"$work/make" "$work/journal"
cat >"$work/pair.c" <<'END'
#include <orrery/rt.h>

static void child(void *arg)
{
    rt_message msg;
    (void)arg;
    if (!RT_FAILED(rt_ipc_recv(&msg, -1))) {
        (void)rt_ipc_send(msg.sender, msg.data, msg.len, IPC_ASYNC);
    }
    rt_exit();
}

static void parent(void *arg)
{
    rt_message msg;
    (void)arg;
    actor_id id =
        rt_spawn_ex(child, NULL, &(actor_config){.priority = RT_PRIO_NORMAL, .name = "child"});
    (void)rt_ipc_send(id, "text", 4, IPC_ASYNC);
    (void)rt_ipc_recv(&msg, 10000);
    rt_exit();
}

int main(void)
{
    if (RT_FAILED(rt_init_ex(&(rt_config){.workers = 2}))) {
        return 1;
    }
    (void)rt_spawn(parent, NULL);
    rt_run();
    rt_cleanup();
    return 0;
}
END
compile "$work/pair.c" "$work/pair"
ORRERY_RECORD="$work/recording" "$work/pair"

# The commands, and what of the library reads files.
set -- "$SOURCE_DIR"/src/base/journal.c "$SOURCE_DIR"/src/base/journal_file.c \
    "$SOURCE_DIR"/src/observe/journal_api.c
for file in "$SOURCE_DIR"/tools/orrery/*.c; do
    [ "$(basename "$file")" = main.c ] || set -- "$@" "$file"
done
flags="-std=c11 -O1 -g $sanitize -I$SOURCE_DIR/include -I$SOURCE_DIR/src"
$CC $flags -Dmain=tool_main '-DORRERY_VERSION="0"' -c "$SOURCE_DIR/tools/orrery/main.c" \
    -o "$work/main.o"
$CC $flags "$SOURCE_DIR/test/tools/broken_files.c" "$@" "$work/main.o" "$BUILD_DIR/liborrery.a" \
    -lpthread -o "$work/broken_files"
expect 0 "$work/broken_files" 3000 "$work/journal" "$work/recording" "$work/scratch"
has '^3000 files, [1-9][0-9]+ shown, [1-9][0-9]+ refused$'
