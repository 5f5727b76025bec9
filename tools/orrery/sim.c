/* SPDX-License-Identifier: Apache-2.0 */
/* orrery sim: runs a program that uses the simulator with seeds of our choice.
 *
 * A program that calls rt_sim_run takes its seed from ORRERY_SEED if that is set. So one seed is
 * repeated, or a range of them tried, without a change to the program. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "json.h"
#include "orrery.h"

#define SHELL_CANNOT_RUN 126

struct sim_options {
    uint64_t seed;
    uint64_t count;
    bool is_json;
    bool keeps_going;
    const char *journal; /* NULL: none */
    char **program;
};

struct outcome {
    uint64_t seed;
    int status; /* exit status; with a signal 128 + its number, as shells say */
};

static void set_environment(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0) {
        tool_complain("no room in the environment");
        _exit(SHELL_CANNOT_RUN);
    }
}

/* In the child: never returns. */
static void run_program(const struct sim_options *options, uint64_t seed)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, seed);
    set_environment("ORRERY_SEED", text);
    if (options->journal != NULL) {
        set_environment("ORRERY_JOURNAL", options->journal);
    }
    if (options->is_json) {
        /* The document is all that goes to standard output. */
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    }
    execvp(options->program[0], options->program);
    tool_complain("%s: %s", options->program[0], strerror(errno));
    _exit(SHELL_CANNOT_RUN);
}

/* False if the program could not be run at all. */
static bool run_once(const struct sim_options *options, uint64_t seed, struct outcome *outcome)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        run_program(options, seed);
    }
    int status = 0;
    if (child < 0) {
        tool_complain("no process: %s", strerror(errno));
        return false;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    outcome->seed = seed;
    outcome->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return outcome->status != SHELL_CANNOT_RUN;
}

static void print_repeat(FILE *out, const struct sim_options *options, uint64_t seed)
{
    fprintf(out, "repeat: orrery sim --seed %" PRIu64 " --", seed);
    for (char **word = options->program; *word != NULL; word++) {
        fprintf(out, " %s", *word);
    }
    fputc('\n', out);
}

static int run_all(const struct sim_options *options)
{
    struct json json;
    uint64_t failed = 0;
    uint64_t tried = 0;
    if (options->is_json) {
        json_init(&json, stdout);
        json_object(&json, NULL);
        json_array(&json, "runs");
    }
    for (uint64_t i = 0; i < options->count && (failed == 0 || options->keeps_going); i++) {
        struct outcome outcome;
        if (!run_once(options, options->seed + i, &outcome)) {
            return TOOL_UNABLE;
        }
        tried++;
        failed += outcome.status != 0;
        if (options->is_json) {
            json_object(&json, NULL);
            json_number(&json, "seed", outcome.seed);
            json_number(&json, "status", (uint64_t)outcome.status);
            json_end_object(&json);
        } else if (outcome.status != 0) {
            printf("seed %" PRIu64 ": failed, status %d\n", outcome.seed, outcome.status);
            print_repeat(stdout, options, outcome.seed);
        }
    }
    if (options->is_json) {
        json_end_array(&json);
        json_number(&json, "tried", tried);
        json_number(&json, "failed", failed);
        json_end_object(&json);
    } else {
        printf("%" PRIu64 " of %" PRIu64 " seeds failed\n", failed, tried);
    }
    return failed == 0 ? TOOL_FINE : TOOL_FOUND;
}

static int run(int argc, char **argv)
{
    static const struct option longs[] = {
        {"seed", required_argument, NULL, 's'},    {"seeds", required_argument, NULL, 'n'},
        {"journal", required_argument, NULL, 'o'}, {"keep-going", no_argument, NULL, 'k'},
        {"json", no_argument, NULL, 'j'},          {NULL, 0, NULL, 0}};
    struct sim_options options = {.seed = 1, .count = 1};
    int option = 0;
    while ((option = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
        switch (option) {
        case 's':
            if (!tool_number(optarg, &options.seed)) {
                return tool_misused("sim", "%s is no seed", optarg);
            }
            break;
        case 'n':
            if (!tool_number(optarg, &options.count) || options.count == 0) {
                return tool_misused("sim", "%s is no number of seeds", optarg);
            }
            break;
        case 'o':
            options.journal = optarg;
            break;
        case 'k':
            options.keeps_going = true;
            break;
        case 'j':
            options.is_json = true;
            break;
        default:
            return tool_misused("sim", "that is no option of it");
        }
    }
    if (optind == argc) {
        return tool_misused("sim", "a program is needed");
    }
    options.program = argv + optind;
    return run_all(&options);
}

const struct command command_sim = {
    .name = "sim",
    .about = "runs a program of the simulator with one seed or many",
    .help =
        "usage: orrery sim [--seed N] [--seeds COUNT] [--keep-going] [--journal FILE] [--json]\n"
        "                  [--] PROGRAM [ARGUMENTS]\n"
        "\n"
        "Runs a program that calls rt_sim_run with the given seed (1), or with COUNT seeds from\n"
        "there on until one fails. A run of one seed is the same each time.\n"
        "\n"
        "    --seed N         the first seed\n"
        "    --seeds COUNT    how many to try\n"
        "    --keep-going     go on after a failure\n"
        "    --journal FILE   keep the latest events of the (last) run: orrery journal FILE\n"
        "    --json           seed and status of each run as a JSON document\n"
        "\n"
        "Exit status: 0 every run ended with 0; 1 a run failed, and the command that repeats it\n"
        "is shown; 2 wrong usage; 3 the program cannot be started.\n",
    .run = run,
};
