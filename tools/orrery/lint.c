/* SPDX-License-Identifier: Apache-2.0 */
/* orrery lint: hands over to the program in libexec/, which looks at C with libclang. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orrery.h"

/* Debian's own Python: the module for libclang belongs to it. */
#define PYTHON "/usr/bin/python3"

/* The program lies beside us: bin/orrery, libexec/orrery/lint/main.py. */
static char *find_program(void)
{
    static const char inside[] = "/../libexec/orrery/lint/main.py";
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    if (length <= 0) {
        return NULL;
    }
    own[length] = '\0';
    char *slash = strrchr(own, '/');
    if (slash == NULL) {
        return NULL;
    }
    *slash = '\0';
    size_t size = strlen(own) + sizeof(inside);
    char *path = tool_alloc(size, 1);
    snprintf(path, size, "%s%s", own, inside);
    return path;
}

static int run(int argc, char **argv)
{
    char *program = find_program();
    if (program == NULL || access(program, R_OK) != 0) {
        tool_complain("the program of lint is not where it was installed: %s",
                      program == NULL ? "?" : program);
        return TOOL_UNABLE;
    }
    char **words = tool_alloc((size_t)argc + 2, sizeof(char *));
    words[0] = tool_copy(PYTHON);
    words[1] = program;
    for (int i = 1; i < argc; i++) {
        words[i + 1] = argv[i];
    }
    execv(PYTHON, words);
    tool_complain("%s: %s", PYTHON, strerror(errno));
    return TOOL_UNABLE;
}

const struct command command_lint = {
    .name = "lint",
    .about = "finds in C what breaks tasks: blocking calls, leaks, messages kept too long",
    .help =
        "usage: orrery lint [-p COMMANDS] [--rule ID] [--json] FILES\n"
        "       orrery lint --list\n"
        "       orrery lint --explain ID\n"
        "       orrery lint --pauses [-p COMMANDS] FILES\n"
        "\n"
        "Looks at C sources with libclang (Debian: python3-clang-14, libclang1-14).\n"
        "\n"
        "    -p COMMANDS    compile_commands.json, or the folder it lies in\n"
        "    --rule ID      only this rule; may come again\n"
        "    --list         name the rules\n"
        "    --explain ID   show what a rule finds, and how to let it be; all: each of them\n"
        "    --pauses       list the calls that may suspend, for editors that mark them\n"
        "    --json         one JSON document\n"
        "\n"
        "A comment on the line of a finding, or on the one above, lets it be:\n"
        "    /* orrery-lint: allow long-loop: it is over in a millisecond */\n"
        "\n"
        "Exit status: 0 clean; 1 findings; 2 wrong usage; 3 a file cannot be parsed, or libclang\n"
        "is not installed.\n",
    .run = run,
};
