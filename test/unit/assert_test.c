/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define RTI_MODULE "assert_test"
#include "base/assert.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port/port.h"
#include "support/test.h"

struct words {
    char text[2048];
    size_t length;
};

/* An emulator adds a line of its own when the program that it runs ends by a signal. */
static void words_drop_emulator(struct words *words)
{
    char *line = strstr(words->text, "\nqemu: ");
    if (line != NULL) {
        line[1] = '\0';
        words->length = strlen(words->text);
    }
}

/* Runs `body` in a child and gives what it wrote to standard error and how it ended. */
static int run_and_listen(void (*body)(void), struct words *words)
{
    int fds[2];
    CHECK_EQ(pipe(fds), 0);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        dup2(fds[1], STDERR_FILENO);
        body();
        _exit(0);
    }
    close(fds[1]);
    ssize_t got;
    words->length = 0;
    while ((got = read(fds[0], words->text + words->length,
                       sizeof(words->text) - 1 - words->length)) > 0) {
        words->length += (size_t)got;
    }
    words->text[words->length] = '\0';
    words_drop_emulator(words);
    close(fds[0]);
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
}

static void demand_last_words(void (*body)(void), const char *wanted)
{
    struct words words;
    int status = run_and_listen(body, &words);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGABRT);
    CHECK_STR(words.text, wanted);
}

static void panic_plainly(void)
{
    rti_panic("module", 17, "the sentence");
}

static void panic_at_zero(void)
{
    rti_panic("module", 0, NULL);
}

static void panic_at_the_least_number(void)
{
    rti_panic("module", INT32_MIN, "the sentence");
}

static void panic_at_length(void)
{
    static char sentence[4000];
    memset(sentence, 'a', sizeof(sentence) - 1);
    rti_panic("module", 1, sentence);
}

enum { FALSE_LINE = __LINE__ + 3 };
static void assert_what_is_false(void)
{
    RT_ASSERT(1 + 1 == 3);
}

static int counted;

static int count(void)
{
    counted++;
    return counted;
}

TEST(panic_writes_module_number_and_sentence_in_one_line)
{
    demand_last_words(panic_plainly, "orrery: panic: module:17: the sentence\n");
}

TEST(panic_without_a_sentence_still_says_that_it_is_one)
{
    demand_last_words(panic_at_zero, "orrery: panic: module:0: assertion failed\n");
}

TEST(panic_writes_the_least_number_there_is)
{
    demand_last_words(panic_at_the_least_number,
                      "orrery: panic: module:-2147483648: the sentence\n");
}

TEST(panic_with_an_endless_sentence_cuts_it_and_ends_the_line)
{
    struct words words;
    int status = run_and_listen(panic_at_length, &words);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGABRT);
    CHECK(words.length > 100);
    CHECK(words.length <= 512);
    CHECK_EQ(words.text[words.length - 1], '\n');
    CHECK_EQ(words.text[words.length - 2], 'a');
}

TEST(assert_names_the_module_the_line_and_the_condition)
{
    char wanted[128];
    snprintf(wanted, sizeof(wanted),
             "orrery: panic: assert_test:%d: assertion failed: 1 + 1 == 3\n", FALSE_LINE);
    demand_last_words(assert_what_is_false, wanted);
}

TEST(assert_evaluates_its_condition_once)
{
    RT_ASSERT(count() == 1);
    CHECK_EQ(counted, 1);
}

TEST(dear_checks_are_evaluated_only_in_a_checked_build)
{
    RT_DCHECK(count() > 0);
    RT_AUDIT(count());
    CHECK_EQ(counted, RT_CHECKS ? 2 : 0);
}

static void log_a_line(void)
{
    rti_port_log("a line");
}

TEST(log_writes_one_line_with_our_name_before_it)
{
    struct words words;
    CHECK_EQ(run_and_listen(log_a_line, &words), 0);
    CHECK_STR(words.text, "orrery: a line\n");
}
