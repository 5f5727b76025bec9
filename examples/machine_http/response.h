/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESPONSE_H
#define RESPONSE_H

/* A reader of HTTP/1.1 responses that is fed bytes as they come, in pieces of any size, and keeps
 * nothing but its state, the few header fields it needs, and the body in memory of the caller's.
 *
 *     response_begin(&response, body, sizeof(body));
 *     while (response.progress == RESPONSE_MORE) {
 *         ... receive n bytes ...
 *         used = response_feed(&response, bytes, n);        n == 0: response_end(&response)
 *     }
 *
 * Bodies: by Content-Length, by chunks, or up to the end of the connection. It is strict where
 * leniency is known to be used for attacks: a line ends with CR LF and with nothing else, there is
 * no space before a colon, no folded field, no second Content-Length that differs, no
 * Content-Length beside chunks. Everything is limited: a head (all fields, those behind the last
 * chunk too), a chunk's size line, the body, and how many interim (1xx) responses may come first.
 *
 * Only ASCII and no locale; the meaning of a byte never depends on how the bytes were cut. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESPONSE_HEAD_MAX       8192
#define RESPONSE_CHUNK_LINE_MAX 256
#define RESPONSE_INTERIM_MAX    4
#define RESPONSE_NAME_MAX       24 /* longer names than the ones we know are not kept */
#define RESPONSE_VALUE_MAX      64

enum response_progress {
    RESPONSE_MORE, /* not all of it is there */
    RESPONSE_DONE,
    RESPONSE_FAILED, /* `error` says why */
};

enum response_error {
    RESPONSE_NO_ERROR,
    RESPONSE_BAD_STATUS_LINE,
    RESPONSE_BAD_FIELD,
    RESPONSE_BAD_LENGTH,
    RESPONSE_BAD_CHUNK,
    RESPONSE_UNKNOWN_CODING,    /* a Transfer-Encoding other than chunked */
    RESPONSE_UNWANTED_UPGRADE,  /* 101 */
    RESPONSE_TOO_MANY_INTERIMS, /* limits, from here on but the last */
    RESPONSE_HEAD_TOO_LONG,
    RESPONSE_BODY_TOO_LONG,
    RESPONSE_CUT_SHORT, /* the connection ended in the middle */
    RESPONSE_ERROR_COUNT
};

struct response {
    enum response_progress progress;
    enum response_error error;
    int status;              /* 200 */
    bool can_be_followed;    /* the connection may be used again */
    unsigned char *body;     /* the caller's */
    size_t body_capacity;    /* bytes of it */
    size_t body_size;        /* bytes that are there */
    uint64_t received_count; /* bytes that were fed */

    /* The reader's own. */
    uint8_t state;
    uint8_t minor_version;
    uint8_t digits;   /* of the status or the chunk size so far */
    uint8_t interims; /* 1xx so far */
    bool has_length;
    bool is_chunked;
    bool has_close;
    bool has_keep_alive;
    bool is_trailer;
    size_t head_size; /* bytes of this head so far */
    size_t line_size; /* of this chunk line */
    uint64_t length;  /* of the body as told */
    uint64_t left;    /* of the body or the chunk */
    size_t name_size;
    size_t value_size;
    char name[RESPONSE_NAME_MAX]; /* in lower case */
    char value[RESPONSE_VALUE_MAX];
};

/* Begins to read a response to GET; the body goes to `body`. */
void response_begin(struct response *response, void *body, size_t capacity);

/* Takes bytes. Returns how many it used: fewer than `size` if the response ended before. */
size_t response_feed(struct response *response, const void *bytes, size_t size);

/* The connection has ended. */
void response_end(struct response *response);

/* A sentence for an error. */
const char *response_error_text(enum response_error error);

#endif
