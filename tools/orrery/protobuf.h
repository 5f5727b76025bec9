/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_TOOL_PROTOBUF_H
#define ORRERY_TOOL_PROTOBUF_H

/* Writes messages in the wire format of protocol buffers: fields with a number and a kind, nested
 * messages as fields of bytes. A nested message is begun, filled and ended; its length is put in
 * front of it when it is known. */

#include "orrery.h"

struct protobuf {
    unsigned char *bytes;
    size_t length;
    size_t room;
};

void protobuf_free(struct protobuf *buffer);

void protobuf_number(struct protobuf *buffer, uint32_t field, uint64_t value);
void protobuf_fixed64(struct protobuf *buffer, uint32_t field, uint64_t value);
void protobuf_text(struct protobuf *buffer, uint32_t field, const char *text);

/* Begins a nested message; what it gives is for the end. */
size_t protobuf_begin(struct protobuf *buffer, uint32_t field);
void protobuf_end(struct protobuf *buffer, size_t begun);

#endif
