/* SPDX-License-Identifier: Apache-2.0 */
/* Gives `orrery journal` and `orrery trace` files that nobody wrote on purpose: recordings and
 * journals with bytes changed, cut or repeated, and journals that are whole but tell nonsense. The
 * commands run in this process, compiled with sanitizers. Each file is either shown or refused.
 *
 * Usage: broken_files COUNT JOURNAL RECORDING SCRATCH */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <orrery/rt/journal.h>

#include "../../tools/orrery/orrery.h"
#include "base/journal.h"
#include "observe/journal_api.h"

#define FILE_MAX (1 << 20)

static uint64_t state = 1;
static unsigned shown;
static unsigned refused;
static int report;

static uint64_t draw(uint64_t below)
{
    state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t number = (state ^ state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return (number ^ number >> 31) % below;
}

static void run(const struct command *command, int argc, char **argv)
{
    optind = 0; /* the next command line is read from its beginning */
    int status = command->run(argc, argv);
    if (status != TOOL_FINE && status != TOOL_UNABLE) {
        dprintf(report, "%s: status %d\n", argv[0], status);
        exit(1);
    }
    shown += status == TOOL_FINE;
    refused += status == TOOL_UNABLE;
}

static void run_all(char *path)
{
    run(&command_journal, 2, (char *[]){"journal", path, NULL});
    run(&command_journal, 3, (char *[]){"journal", "--tree", path, NULL});
    run(&command_journal, 4, (char *[]){"journal", "--tree", "--json", path, NULL});
    run(&command_trace, 4, (char *[]){"trace", "-o", "/dev/null", path, NULL});
}

static size_t load(const char *path, unsigned char *bytes)
{
    FILE *file = fopen(path, "rb");
    size_t size = file == NULL ? 0 : fread(bytes, 1, FILE_MAX, file);
    if (size == 0 || fclose(file) != 0) {
        exit(1);
    }
    return size;
}

static void save(const char *path, const unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
        exit(1);
    }
}

/* Changes some bytes, cuts the end off, or repeats a piece; mostly where the head is. */
static size_t bend(unsigned char *bytes, size_t size)
{
    size_t reach = draw(2) == 0 && size > 400 ? 400 : size;
    for (uint64_t i = draw(6) + 1; i > 0; i--) {
        static const unsigned char telling[] = {0, 1, 0x7f, 0x80, 0xff, '\t', '\n', '9', '-'};
        bytes[draw(reach)] =
            draw(2) == 0 ? telling[draw(sizeof(telling))] : (unsigned char)draw(256);
    }
    if (draw(4) == 0) {
        return draw(size + 1);
    }
    if (draw(4) == 0) {
        size_t from = draw(reach);
        size_t to = draw(reach);
        size_t length = draw(64) + 1;
        if (from + length <= size && to + length <= size) {
            memmove(bytes + to, bytes + from, length);
        }
    }
    return size;
}

/* A number that is small, an edge, or anything. */
static uint64_t some_number(void)
{
    static const uint64_t edges[] = {0,          1,          UINT32_MAX, UINT64_MAX,
                                     1ULL << 31, 1ULL << 63, 0x80000001, UINT64_MAX - 1};
    uint64_t way = draw(8);
    return way < 6 ? draw(6) : way == 6 ? edges[draw(8)] : draw(UINT64_MAX);
}

static void save_nonsense(const char *path)
{
    static rt_journal journal;
    static uint64_t ring[RT_JOURNAL_BYTES(64) / 8];
    uint64_t time_ns = 0;
    if (RT_FAILED(rt_journal_init(&journal, ring, sizeof(ring)))) {
        exit(1);
    }
    for (uint64_t i = draw(100); i > 0; i--) {
        struct rti_journal_event event = {
            .kind = (uint8_t)draw(RTI_JOURNAL_KIND_COUNT),
            .task = (uint32_t)some_number(),
            .channel = (uint32_t)some_number(),
            .timer = (uint32_t)some_number(),
            .value = some_number(),
        };
        time_ns = draw(20) == 0 ? some_number() : time_ns + draw(1000);
        rti_journal_write(rti_journal_of(&journal), time_ns, &event);
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (RT_FAILED(rt_journal_save(&journal, fd)) || close(fd) != 0) {
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static unsigned char whole[2][FILE_MAX];
    static unsigned char bent[FILE_MAX];
    if (argc != 5) {
        return 2;
    }
    size_t sizes[2] = {load(argv[2], whole[0]), load(argv[3], whole[1])};
    /* What the commands print goes nowhere; what a sanitizer finds goes to the descriptor itself.
     */
    report = dup(STDOUT_FILENO);
    stderr = fopen("/dev/null", "w");
    if (report < 0 || stderr == NULL || freopen("/dev/null", "w", stdout) == NULL) {
        return 1;
    }
    unsigned long count = strtoul(argv[1], NULL, 10);
    for (unsigned long i = 0; i < count; i++) {
        if (i % 4 == 0) {
            save_nonsense(argv[4]);
        } else {
            size_t which = i % 4 != 1;
            memcpy(bent, whole[which], sizes[which]);
            save(argv[4], bent, bend(bent, sizes[which]));
        }
        run_all(argv[4]);
    }
    dprintf(report, "%lu files, %u shown, %u refused\n", count, shown, refused);
    return 0;
}
