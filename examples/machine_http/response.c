/* SPDX-License-Identifier: Apache-2.0 */
/* One byte, one step of a state machine; bytes of a body are taken many at a time. */
#include "response.h"

#include <string.h>

enum state {
    IN_VERSION, /* "HTTP/1." and a digit and a space, `digits` of it so far */
    IN_STATUS,
    BEFORE_REASON,
    IN_REASON,
    AFTER_STATUS_CR,
    AT_FIELD, /* the first byte of a line */
    IN_NAME,
    BEFORE_VALUE,
    IN_VALUE,
    AFTER_VALUE_CR,
    AFTER_LAST_CR,
    IN_BODY,
    IN_BODY_TO_THE_END,
    AT_CHUNK, /* the first digit of a chunk's size */
    IN_CHUNK_SIZE,
    IN_CHUNK_EXTENSION,
    AFTER_CHUNK_CR,
    IN_CHUNK,
    AFTER_CHUNK,
    AFTER_CHUNK_END_CR,
};

static void fail(struct response *self, enum response_error error)
{
    self->progress = RESPONSE_FAILED;
    self->error = error;
    self->can_be_followed = false;
}

static void begin_head(struct response *self)
{
    self->state = IN_VERSION;
    self->digits = 0;
    self->status = 0;
    self->has_length = false;
    self->is_chunked = false;
    self->has_close = false;
    self->has_keep_alive = false;
    self->is_trailer = false;
    self->head_size = 0;
    self->length = 0;
    self->left = 0;
}

void response_begin(struct response *self, void *body, size_t capacity)
{
    memset(self, 0, sizeof(*self));
    self->progress = RESPONSE_MORE;
    self->body = body;
    self->body_capacity = capacity;
    begin_head(self);
}

/* ---- characters ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_token(char c)
{
    return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

/* A byte that may stand in a value or a reason: no control but the tab. */
static bool is_text(char c)
{
    return c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f);
}

static int hex_digit(char c)
{
    char lower = to_lower(c);
    if (is_digit(c)) {
        return c - '0';
    }
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* ---- the body ---- */

static void finish(struct response *self)
{
    self->progress = RESPONSE_DONE;
    bool is_kept = self->minor_version >= 1 ? true : self->has_keep_alive;
    self->can_be_followed =
        is_kept && !self->has_close && (self->has_length || self->is_chunked || self->left == 0);
}

static bool status_has_no_body(int status)
{
    return status == 204 || status == 304;
}

/* The head is read: what follows? */
static void begin_body(struct response *self)
{
    if (self->status < 200) {
        if (self->status == 101) {
            fail(self, RESPONSE_UNWANTED_UPGRADE);
        } else if (++self->interims > RESPONSE_INTERIM_MAX) {
            fail(self, RESPONSE_TOO_MANY_INTERIMS);
        } else {
            begin_head(self);
        }
    } else if (self->is_chunked && self->has_length) {
        fail(self, RESPONSE_BAD_LENGTH);
    } else if (status_has_no_body(self->status)) {
        finish(self);
    } else if (self->is_chunked) {
        self->state = AT_CHUNK;
    } else if (!self->has_length) {
        self->left = UINT64_MAX;
        self->state = IN_BODY_TO_THE_END;
    } else if (self->length > self->body_capacity) {
        fail(self, RESPONSE_BODY_TOO_LONG);
    } else if (self->length == 0) {
        finish(self);
    } else {
        self->left = self->length;
        self->state = IN_BODY;
    }
}

/* Takes bytes of the body; returns how many. */
static size_t take_body(struct response *self, const char *bytes, size_t size)
{
    size_t count = size < self->left ? size : (size_t)self->left;
    size_t room = self->body_capacity - self->body_size;
    bool is_too_long = count > room;
    count = is_too_long ? room : count;
    if (count > 0) {
        memcpy(self->body + self->body_size, bytes, count);
    }
    self->body_size += count;
    if (is_too_long) {
        fail(self, RESPONSE_BODY_TOO_LONG);
        return count;
    }
    if (self->state == IN_BODY_TO_THE_END) {
        return count;
    }
    self->left -= count;
    if (self->left == 0) {
        if (self->state == IN_CHUNK) {
            self->state = AFTER_CHUNK;
        } else {
            finish(self);
        }
    }
    return count;
}

/* ---- fields ---- */

static bool name_is(const struct response *self, const char *name)
{
    return self->name_size == strlen(name) && memcmp(self->name, name, self->name_size) == 0;
}

static void field_length(struct response *self)
{
    uint64_t length = 0;
    if (self->value_size == 0 || self->value_size > 19) {
        fail(self, RESPONSE_BAD_LENGTH);
        return;
    }
    for (size_t i = 0; i < self->value_size; i++) {
        if (!is_digit(self->value[i])) {
            fail(self, RESPONSE_BAD_LENGTH);
            return;
        }
        length = length * 10 + (uint64_t)(self->value[i] - '0'); /* 19 digits fit */
    }
    if (self->has_length && self->length != length) {
        fail(self, RESPONSE_BAD_LENGTH);
        return;
    }
    self->has_length = true;
    self->length = length;
}

/* Calls `take` for each element of a list of tokens: "close, te". */
static void field_list(struct response *self, void (*take)(struct response *, const char *, size_t))
{
    size_t begin = 0;
    for (size_t i = 0; i <= self->value_size; i++) {
        if (i < self->value_size && self->value[i] != ',') {
            continue;
        }
        size_t end = i;
        while (begin < end && (self->value[begin] == ' ' || self->value[begin] == '\t')) {
            begin++;
        }
        while (end > begin && (self->value[end - 1] == ' ' || self->value[end - 1] == '\t')) {
            end--;
        }
        if (end > begin) {
            take(self, self->value + begin, end - begin);
        }
        begin = i + 1;
    }
}

static bool token_is(const char *token, size_t size, const char *wanted)
{
    if (size != strlen(wanted)) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        if (to_lower(token[i]) != wanted[i]) {
            return false;
        }
    }
    return true;
}

static void take_coding(struct response *self, const char *token, size_t size)
{
    if (!token_is(token, size, "chunked") || self->is_chunked) {
        fail(self, RESPONSE_UNKNOWN_CODING);
    }
    self->is_chunked = true;
}

static void take_option(struct response *self, const char *token, size_t size)
{
    self->has_close = self->has_close || token_is(token, size, "close");
    self->has_keep_alive = self->has_keep_alive || token_is(token, size, "keep-alive");
}

/* A field is complete. Those behind the last chunk say nothing that counts. */
static void take_field(struct response *self)
{
    bool is_length = name_is(self, "content-length");
    bool is_coding = name_is(self, "transfer-encoding");
    bool is_connection = name_is(self, "connection");
    if (self->is_trailer || (!is_length && !is_coding && !is_connection)) {
        return;
    }
    if (self->value_size > RESPONSE_VALUE_MAX) {
        fail(self, RESPONSE_BAD_FIELD);
        return;
    }
    while (self->value_size > 0 && (self->value[self->value_size - 1] == ' ' ||
                                    self->value[self->value_size - 1] == '\t')) {
        self->value_size--;
    }
    if (is_length) {
        field_length(self);
    } else {
        field_list(self, is_coding ? take_coding : take_option);
    }
}

/* Keeps a byte of a name or a value; what is too long is counted and not kept. */
static void keep(char *memory, size_t capacity, size_t *size, char c)
{
    if (*size < capacity) {
        memory[*size] = c;
    }
    *size = *size <= capacity ? *size + 1 : *size;
}

/* ---- states ---- */

static void step_version(struct response *self, char c)
{
    static const char wanted[] = "HTTP/1.? ";
    if (wanted[self->digits] == '?') {
        self->minor_version = (uint8_t)(c - '0');
    }
    if (wanted[self->digits] == '?' ? !is_digit(c) : c != wanted[self->digits]) {
        fail(self, RESPONSE_BAD_STATUS_LINE);
        return;
    }
    if (++self->digits == sizeof(wanted) - 1) {
        self->digits = 0;
        self->state = IN_STATUS;
    }
}

static void step_status(struct response *self, char c)
{
    if (self->state == IN_STATUS) {
        if (!is_digit(c) || (self->digits == 0 && (c < '1' || c > '5'))) {
            fail(self, RESPONSE_BAD_STATUS_LINE);
            return;
        }
        self->status = self->status * 10 + (c - '0');
        if (++self->digits == 3) {
            self->state = BEFORE_REASON;
        }
    } else if (c == '\r') {
        self->state = AFTER_STATUS_CR;
    } else if (self->state == AFTER_STATUS_CR) {
        if (c != '\n') {
            fail(self, RESPONSE_BAD_STATUS_LINE);
        }
        self->state = AT_FIELD;
    } else if (!is_text(c) || (self->state == BEFORE_REASON && c != ' ')) {
        fail(self, RESPONSE_BAD_STATUS_LINE);
    } else {
        self->state = IN_REASON;
    }
}

static void step_name(struct response *self, char c)
{
    if (self->state == AT_FIELD && c == '\r') {
        self->state = AFTER_LAST_CR;
        return;
    }
    if (self->state == AT_FIELD) {
        self->name_size = 0;
        self->value_size = 0;
        self->state = IN_NAME;
    }
    if (c == ':' && self->name_size > 0) {
        self->state = BEFORE_VALUE;
    } else if (is_token(c)) {
        keep(self->name, RESPONSE_NAME_MAX, &self->name_size, to_lower(c));
    } else {
        fail(self, RESPONSE_BAD_FIELD);
    }
}

static void step_value(struct response *self, char c)
{
    if (self->state == AFTER_VALUE_CR) {
        self->state = AT_FIELD;
        if (c != '\n') {
            fail(self, RESPONSE_BAD_FIELD);
        } else {
            take_field(self);
        }
    } else if (c == '\r') {
        self->state = AFTER_VALUE_CR;
    } else if (!is_text(c)) {
        fail(self, RESPONSE_BAD_FIELD);
    } else if (self->state == IN_VALUE || (c != ' ' && c != '\t')) {
        self->state = IN_VALUE;
        keep(self->value, RESPONSE_VALUE_MAX, &self->value_size, c);
    }
}

static void step_head(struct response *self, char c)
{
    if (++self->head_size > RESPONSE_HEAD_MAX) {
        fail(self, RESPONSE_HEAD_TOO_LONG);
        return;
    }
    switch (self->state) {
    case IN_VERSION:
        step_version(self, c);
        break;
    case IN_STATUS:
    case BEFORE_REASON:
    case IN_REASON:
    case AFTER_STATUS_CR:
        step_status(self, c);
        break;
    case AT_FIELD:
    case IN_NAME:
        step_name(self, c);
        break;
    case AFTER_LAST_CR:
        if (c != '\n') {
            fail(self, RESPONSE_BAD_FIELD);
        } else if (self->is_trailer) {
            finish(self);
        } else {
            begin_body(self);
        }
        break;
    default:
        step_value(self, c);
        break;
    }
}

/* The line of a chunk's size is complete. */
static void begin_chunk(struct response *self)
{
    if (self->left == 0) {
        self->is_trailer = true;
        self->state = AT_FIELD;
    } else if (self->left > self->body_capacity - self->body_size) {
        fail(self, RESPONSE_BODY_TOO_LONG);
    } else {
        self->state = IN_CHUNK;
    }
}

static void step_chunk_size(struct response *self, char c)
{
    int digit = hex_digit(c);
    if (self->state == AT_CHUNK) {
        self->left = 0;
        self->digits = 0;
        self->line_size = 0;
        self->state = IN_CHUNK_SIZE;
    }
    if (digit >= 0) {
        if (++self->digits > 15) {
            fail(self, RESPONSE_BAD_CHUNK);
            return;
        }
        self->left = self->left * 16 + (uint64_t)digit;
    } else if (self->digits == 0) {
        fail(self, RESPONSE_BAD_CHUNK);
    } else if (c == '\r') {
        self->state = AFTER_CHUNK_CR;
    } else if (c == ';' || c == ' ' || c == '\t') {
        self->state = IN_CHUNK_EXTENSION;
    } else {
        fail(self, RESPONSE_BAD_CHUNK);
    }
}

/* A line end inside the chunks: `wanted`, and then `next`. */
static void step_line_end(struct response *self, char c, char wanted, enum state next)
{
    if (c != wanted) {
        fail(self, RESPONSE_BAD_CHUNK);
    }
    self->state = (uint8_t)next;
}

static void step_chunk(struct response *self, char c)
{
    if (++self->line_size > RESPONSE_CHUNK_LINE_MAX) {
        fail(self, RESPONSE_BAD_CHUNK);
        return;
    }
    switch (self->state) {
    case AT_CHUNK:
    case IN_CHUNK_SIZE:
        step_chunk_size(self, c);
        break;
    case IN_CHUNK_EXTENSION:
        if (c == '\r') {
            self->state = AFTER_CHUNK_CR;
        } else if (!is_text(c)) {
            fail(self, RESPONSE_BAD_CHUNK);
        }
        break;
    case AFTER_CHUNK_CR:
        if (c == '\n') {
            begin_chunk(self);
        } else {
            fail(self, RESPONSE_BAD_CHUNK);
        }
        break;
    case AFTER_CHUNK:
        step_line_end(self, c, '\r', AFTER_CHUNK_END_CR);
        break;
    default:
        step_line_end(self, c, '\n', AT_CHUNK);
        break;
    }
}

size_t response_feed(struct response *self, const void *bytes, size_t size)
{
    const char *at = bytes;
    size_t used = 0;
    while (used < size && self->progress == RESPONSE_MORE) {
        if (self->state == IN_BODY || self->state == IN_CHUNK ||
            self->state == IN_BODY_TO_THE_END) {
            used += take_body(self, at + used, size - used);
        } else if (self->state < IN_BODY) {
            step_head(self, at[used++]);
        } else {
            step_chunk(self, at[used++]);
        }
    }
    self->received_count += used;
    return used;
}

void response_end(struct response *self)
{
    if (self->progress != RESPONSE_MORE) {
        return;
    }
    if (self->state == IN_BODY_TO_THE_END) {
        finish(self);
    } else {
        fail(self, RESPONSE_CUT_SHORT);
    }
}

const char *response_error_text(enum response_error error)
{
    static const char *const texts[] = {
        [RESPONSE_NO_ERROR] = "no error",
        [RESPONSE_BAD_STATUS_LINE] = "the status line is none",
        [RESPONSE_BAD_FIELD] = "a header field is none",
        [RESPONSE_BAD_LENGTH] = "the length is no number, or there are two",
        [RESPONSE_BAD_CHUNK] = "a chunk is none",
        [RESPONSE_UNKNOWN_CODING] = "the transfer coding is not chunked",
        [RESPONSE_UNWANTED_UPGRADE] = "the server speaks another protocol now",
        [RESPONSE_TOO_MANY_INTERIMS] = "too many interim responses",
        [RESPONSE_HEAD_TOO_LONG] = "the head is too long",
        [RESPONSE_BODY_TOO_LONG] = "the body is too long",
        [RESPONSE_CUT_SHORT] = "the connection ended in the middle",
    };
    return (unsigned)error < RESPONSE_ERROR_COUNT ? texts[error] : "no such error";
}
