/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of responses of examples/machine_http: what it makes of good and of bad ones, in one
 * piece, cut at every byte, byte by byte, and cut at random; and of bytes that are changed. */
#include "../../examples/machine_http/response.c"

#include "base/rng.h"
#include "support/test.h"

#define CAPACITY 64

struct sample {
    const char *name;
    const char *bytes;
    enum response_error error;
    int status;
    const char *body;
    bool can_be_followed;
    bool has_end; /* the connection ends behind the bytes */
    size_t rest;  /* bytes behind the response */
};

#define OK "HTTP/1.1 200 OK\r\n"
#define TE "Transfer-Encoding: chunked\r\n"

static const struct sample samples[] = {
    {.name = "length",
     .bytes = OK "Content-Length: 5\r\n\r\nhello",
     .body = "hello",
     .status = 200,
     .can_be_followed = true},
    {.name = "no body",
     .bytes = OK "content-LENGTH:0\r\n\r\n",
     .status = 200,
     .can_be_followed = true},
    {.name = "two equal lengths",
     .bytes = OK "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab",
     .body = "ab",
     .status = 200,
     .can_be_followed = true},
    {.name = "spaces around a value",
     .bytes = OK "Content-Length: \t 2 \t\r\n\r\nab",
     .body = "ab",
     .status = 200,
     .can_be_followed = true},
    {.name = "chunks",
     .bytes = OK TE "\r\n5\r\nhello\r\n6;x=\"y\"\r\n world\r\n0\r\n\r\n",
     .body = "hello world",
     .status = 200,
     .can_be_followed = true},
    {.name = "a chunk in hexadecimal",
     .bytes = OK TE "\r\n0A\r\n0123456789\r\na \r\n0123456789\r\n000\r\n\r\n",
     .body = "01234567890123456789",
     .status = 200,
     .can_be_followed = true},
    {.name = "fields behind the chunks",
     .bytes = OK TE "\r\n1\r\nx\r\n0\r\nContent-Length: 99\r\nX: y\r\n\r\n",
     .body = "x",
     .status = 200,
     .can_be_followed = true},
    {.name = "only the last chunk",
     .bytes = OK TE "\r\n0\r\n\r\n",
     .status = 200,
     .can_be_followed = true},
    {.name = "to the end",
     .bytes = OK "\r\nall of it",
     .body = "all of it",
     .status = 200,
     .has_end = true},
    {.name = "close",
     .bytes = OK "Connection: close\r\nContent-Length: 1\r\n\r\nx",
     .body = "x",
     .status = 200},
    {.name = "close in a list",
     .bytes = OK "Connection: te , Close\r\nContent-Length: 1\r\n\r\nx",
     .body = "x",
     .status = 200},
    {.name = "1.0",
     .bytes = "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx",
     .body = "x",
     .status = 200},
    {.name = "1.0 that goes on",
     .bytes = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
     .body = "x",
     .status = 200,
     .can_be_followed = true},
    {.name = "no reason",
     .bytes = "HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n",
     .status = 404,
     .can_be_followed = true},
    {.name = "no content",
     .bytes = "HTTP/1.1 204 No Content\r\n\r\n",
     .status = 204,
     .can_be_followed = true},
    {.name = "an interim first",
     .bytes = "HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" OK "Content-Length: 2\r\n\r\nab",
     .body = "ab",
     .status = 200,
     .can_be_followed = true},
    {.name = "more behind it",
     .bytes = OK "Content-Length: 1\r\n\r\nxHTTP",
     .body = "x",
     .status = 200,
     .can_be_followed = true,
     .rest = 4},
    {.name = "full body",
     .bytes = OK
     "Content-Length: 64\r\n\r\n0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
     .body = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
     .status = 200,
     .can_be_followed = true},

    {.name = "another protocol", .bytes = "SSH-2.0-OpenSSH\r\n", .error = RESPONSE_BAD_STATUS_LINE},
    {.name = "another version", .bytes = "HTTP/2.0 200 OK\r\n", .error = RESPONSE_BAD_STATUS_LINE},
    {.name = "status of two digits",
     .bytes = "HTTP/1.1 20 OK\r\n",
     .error = RESPONSE_BAD_STATUS_LINE},
    {.name = "status of four digits",
     .bytes = "HTTP/1.1 2000 OK\r\n",
     .error = RESPONSE_BAD_STATUS_LINE},
    {.name = "status 600", .bytes = "HTTP/1.1 600 OK\r\n", .error = RESPONSE_BAD_STATUS_LINE},
    {.name = "line feed alone",
     .bytes = "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
     .error = RESPONSE_BAD_STATUS_LINE},
    {.name = "carriage return alone", .bytes = OK "X: a\rb\r\n", .error = RESPONSE_BAD_FIELD},
    {.name = "folded", .bytes = OK "X: a\r\n b\r\n\r\n", .error = RESPONSE_BAD_FIELD},
    {.name = "space before the colon",
     .bytes = OK "Content-Length : 1\r\n\r\nx",
     .error = RESPONSE_BAD_FIELD},
    {.name = "no name", .bytes = OK ": 1\r\n", .error = RESPONSE_BAD_FIELD},
    {.name = "a control in a value", .bytes = OK "X: \x01\r\n", .error = RESPONSE_BAD_FIELD},
    {.name = "two lengths",
     .bytes = OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
     .error = RESPONSE_BAD_LENGTH},
    {.name = "a list of lengths",
     .bytes = OK "Content-Length: 1, 1\r\n\r\n",
     .error = RESPONSE_BAD_LENGTH},
    {.name = "negative length",
     .bytes = OK "Content-Length: -1\r\n\r\n",
     .error = RESPONSE_BAD_LENGTH},
    {.name = "empty length", .bytes = OK "Content-Length:\r\n\r\n", .error = RESPONSE_BAD_LENGTH},
    {.name = "length that wraps",
     .bytes = OK "Content-Length: 18446744073709551617\r\n\r\n",
     .error = RESPONSE_BAD_LENGTH},
    {.name = "length and chunks",
     .bytes = OK "Content-Length: 1\r\n" TE "\r\n",
     .error = RESPONSE_BAD_LENGTH},
    {.name = "length too long to keep",
     .bytes =
         OK "Connection: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n",
     .error = RESPONSE_BAD_FIELD},
    {.name = "another coding",
     .bytes = OK "Transfer-Encoding: gzip, chunked\r\n\r\n",
     .error = RESPONSE_UNKNOWN_CODING},
    {.name = "chunked twice", .bytes = OK TE TE "\r\n", .error = RESPONSE_UNKNOWN_CODING},
    {.name = "a chunk without a size", .bytes = OK TE "\r\n\r\n", .error = RESPONSE_BAD_CHUNK},
    {.name = "a chunk of no number", .bytes = OK TE "\r\nxyz\r\n", .error = RESPONSE_BAD_CHUNK},
    {.name = "a chunk longer than it says",
     .bytes = OK TE "\r\n1\r\nab\r\n0\r\n\r\n",
     .error = RESPONSE_BAD_CHUNK},
    {.name = "a chunk whose size wraps",
     .bytes = OK TE "\r\n10000000000000001\r\n",
     .error = RESPONSE_BAD_CHUNK},
    {.name = "a chunk with a line feed alone",
     .bytes = OK TE "\r\n1\nx\r\n0\r\n\r\n",
     .error = RESPONSE_BAD_CHUNK},
    {.name = "an upgrade",
     .bytes = "HTTP/1.1 101 Switching\r\n\r\n",
     .error = RESPONSE_UNWANTED_UPGRADE},
    {.name = "body too long",
     .bytes = OK "Content-Length: 65\r\n\r\n",
     .error = RESPONSE_BODY_TOO_LONG},
    {.name = "chunks too long",
     .bytes = OK TE
     "\r\n40\r\n0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\r\n1\r\n",
     .error = RESPONSE_BODY_TOO_LONG},
    {.name = "to the end too long",
     .bytes = OK "\r\n0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef!",
     .error = RESPONSE_BODY_TOO_LONG},
    {.name = "cut in the head",
     .bytes = OK "Content-",
     .error = RESPONSE_CUT_SHORT,
     .has_end = true},
    {.name = "cut in the body",
     .bytes = OK "Content-Length: 5\r\n\r\nhell",
     .error = RESPONSE_CUT_SHORT,
     .has_end = true},
    {.name = "cut behind the last chunk",
     .bytes = OK TE "\r\n1\r\nx\r\n0\r\n",
     .error = RESPONSE_CUT_SHORT,
     .has_end = true},
    {.name = "nothing", .bytes = "", .error = RESPONSE_CUT_SHORT, .has_end = true},
};

#define SAMPLES (sizeof(samples) / sizeof(samples[0]))

static unsigned char body[CAPACITY + 1];
static struct response response;

static void begin(void)
{
    memset(body, 0xA5, sizeof(body));
    response_begin(&response, body, CAPACITY);
}

/* What is as it should be after all bytes. */
static void check(const struct sample *sample, size_t used)
{
    if (sample->has_end) {
        response_end(&response);
    }
    if (response.error != sample->error) {
        test_fail(__FILE__, __LINE__, "%s: %s", sample->name, response_error_text(response.error));
    }
    CHECK_EQ(body[CAPACITY], 0xA5);
    CHECK_EQ(response.received_count, used);
    if (sample->error != RESPONSE_NO_ERROR) {
        CHECK_EQ(response.progress, RESPONSE_FAILED);
        CHECK(!response.can_be_followed);
        return;
    }
    const char *wanted = sample->body == NULL ? "" : sample->body;
    CHECK_EQ(response.progress, RESPONSE_DONE);
    CHECK_EQ(response.status, sample->status);
    CHECK_EQ(response.can_be_followed, sample->can_be_followed);
    CHECK_EQ(response.body_size, strlen(wanted));
    CHECK(memcmp(body, wanted, response.body_size) == 0);
    CHECK_EQ(strlen(sample->bytes) - used, sample->rest);
}

/* Each piece lies in memory of its own size, so that a read behind it is seen by the sanitizers. */
static size_t feed(const char *bytes, size_t size)
{
    char piece[256];
    size_t used = 0;
    while (used < size && response.progress == RESPONSE_MORE) {
        size_t count = size - used < sizeof(piece) ? size - used : sizeof(piece);
        memcpy(piece + sizeof(piece) - count, bytes + used, count);
        used += response_feed(&response, piece + sizeof(piece) - count, count);
    }
    return used;
}

TEST(http_response_is_read_in_one_piece)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        begin();
        check(&samples[i], feed(samples[i].bytes, strlen(samples[i].bytes)));
    }
}

TEST(http_response_is_the_same_cut_at_every_byte)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        size_t size = strlen(samples[i].bytes);
        for (size_t cut = 0; cut <= size; cut++) {
            begin();
            size_t used = feed(samples[i].bytes, cut);
            check(&samples[i], used + feed(samples[i].bytes + used, size - used));
        }
    }
}

TEST(http_response_is_the_same_byte_by_byte)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        size_t used = 0;
        begin();
        while (samples[i].bytes[used] != '\0' && response.progress == RESPONSE_MORE) {
            used += feed(samples[i].bytes + used, 1);
        }
        check(&samples[i], used);
    }
}

/* A state that two ways of cutting bytes lead to. */
static void check_same(const struct response *one, const struct response *other)
{
    CHECK_EQ(one->progress, other->progress);
    CHECK_EQ(one->error, other->error);
    CHECK_EQ(one->status, other->status);
    CHECK_EQ(one->body_size, other->body_size);
    CHECK_EQ(one->can_be_followed, other->can_be_followed);
    CHECK_EQ(one->received_count, other->received_count);
}

/* Changes some bytes of a sample, or leaves some out. */
static size_t damage(struct rti_rng *rng, const char *bytes, char *damaged)
{
    static const char likely[] = "\r\n :;,0123456789abcdefxHTP/\t\x01\x7f\xff";
    size_t size = 0;
    for (size_t i = 0; bytes[i] != '\0'; i++) {
        uint64_t what = rti_rng_below(rng, 40);
        if (what == 0) {
            continue;
        }
        damaged[size++] = what == 1 ? likely[rti_rng_below(rng, sizeof(likely) - 1)] : bytes[i];
        if (what == 2) {
            damaged[size] = damaged[size - 1];
            size++;
        }
    }
    return size;
}

TEST(http_response_survives_damage_and_any_cut_gives_the_same)
{
    struct rti_rng rng;
    char damaged[512];
    unsigned done = 0;
    unsigned failed = 0;
    rti_rng_init(&rng, 1);
    for (unsigned i = 0; i < 20000; i++) {
        size_t size = damage(&rng, samples[rti_rng_below(&rng, SAMPLES)].bytes, damaged);
        begin();
        (void)feed(damaged, size);
        response_end(&response);
        struct response whole = response;
        begin();
        for (size_t used = 0; used < size && response.progress == RESPONSE_MORE;) {
            size_t rest = size - used;
            used += feed(damaged + used, 1 + (size_t)rti_rng_below(&rng, rest < 9 ? rest : 9));
        }
        response_end(&response);
        check_same(&whole, &response);
        CHECK(response.body_size <= CAPACITY && body[CAPACITY] == 0xA5);
        done += response.progress == RESPONSE_DONE;
        failed += response.progress == RESPONSE_FAILED;
    }
    CHECK(done > 1000 && failed > 1000);
    CHECK_EQ(done + failed, 20000);
}

TEST(http_response_limits_are_reached_and_not_passed)
{
    static const char field[] = "X-Fill: 0123456789012345678901234567890123456789\r\n";
    size_t used = 0;
    begin();
    used += feed(OK, strlen(OK));
    while (response.progress == RESPONSE_MORE) {
        used += feed(field, sizeof(field) - 1);
    }
    CHECK_EQ(response.error, RESPONSE_HEAD_TOO_LONG);
    CHECK_EQ(used, RESPONSE_HEAD_MAX + 1);
    begin();
    (void)feed(OK TE "\r\n1;", strlen(OK TE "\r\n1;"));
    for (used = 2; response.progress == RESPONSE_MORE; used++) {
        (void)feed("x", 1);
    }
    CHECK_EQ(response.error, RESPONSE_BAD_CHUNK);
    CHECK_EQ(used, RESPONSE_CHUNK_LINE_MAX + 2);
    begin();
    for (unsigned i = 0; i < RESPONSE_INTERIM_MAX; i++) {
        (void)feed("HTTP/1.1 103 Early\r\n\r\n", 22);
    }
    CHECK_EQ(response.progress, RESPONSE_MORE);
    (void)feed("HTTP/1.1 103 Early\r\n\r\n", 22);
    CHECK_EQ(response.error, RESPONSE_TOO_MANY_INTERIMS);
    for (unsigned i = 0; i <= RESPONSE_ERROR_COUNT; i++) {
        CHECK(response_error_text((enum response_error)i) != NULL);
    }
}
