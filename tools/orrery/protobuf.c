/* SPDX-License-Identifier: Apache-2.0 */
#include "protobuf.h"

#include <stdlib.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

/* A length is written with this many bytes, so that its place is known before its value. */
#define LENGTH_BYTES 5

void protobuf_free(struct protobuf *buffer)
{
    free(buffer->bytes);
    *buffer = (struct protobuf){.bytes = NULL};
}

static void put(struct protobuf *buffer, const void *bytes, size_t count)
{
    if (buffer->room - buffer->length < count) {
        buffer->room = (buffer->room + count) * 2;
        buffer->bytes = tool_realloc(buffer->bytes, buffer->room, 1);
    }
    memcpy(buffer->bytes + buffer->length, bytes, count);
    buffer->length += count;
}

static void put_varint(struct protobuf *buffer, uint64_t value)
{
    unsigned char bytes[10];
    size_t count = 0;
    do {
        bytes[count] = (unsigned char)(value & 0x7f);
        value >>= 7;
        bytes[count] |= value != 0 ? 0x80 : 0;
        count++;
    } while (value != 0);
    put(buffer, bytes, count);
}

static void put_key(struct protobuf *buffer, uint32_t field, uint32_t wire)
{
    put_varint(buffer, (uint64_t)field << 3 | wire);
}

void protobuf_number(struct protobuf *buffer, uint32_t field, uint64_t value)
{
    put_key(buffer, field, WIRE_VARINT);
    put_varint(buffer, value);
}

void protobuf_fixed64(struct protobuf *buffer, uint32_t field, uint64_t value)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (unsigned char)(value >> (8 * i));
    }
    put_key(buffer, field, WIRE_FIXED64);
    put(buffer, bytes, sizeof(bytes));
}

void protobuf_text(struct protobuf *buffer, uint32_t field, const char *text)
{
    size_t length = strlen(text);
    put_key(buffer, field, WIRE_BYTES);
    put_varint(buffer, length);
    put(buffer, text, length);
}

size_t protobuf_begin(struct protobuf *buffer, uint32_t field)
{
    static const unsigned char nothing[LENGTH_BYTES] = {0};
    put_key(buffer, field, WIRE_BYTES);
    put(buffer, nothing, sizeof(nothing));
    return buffer->length;
}

void protobuf_end(struct protobuf *buffer, size_t begun)
{
    uint64_t length = buffer->length - begun;
    unsigned char *place = buffer->bytes + begun - LENGTH_BYTES;
    for (size_t i = 0; i < LENGTH_BYTES; i++) {
        place[i] = (unsigned char)((length >> (7 * i)) & 0x7f);
        place[i] |= i + 1 < LENGTH_BYTES ? 0x80 : 0;
    }
}
