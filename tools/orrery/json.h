/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_TOOL_JSON_H
#define ORRERY_TOOL_JSON_H

/* Writes JSON, one value after the other, with the commas where they belong.
 *
 * A key is NULL inside of an array and at the top. Numbers beyond 2^53 are written as they are:
 * readers that keep them in floating point lose digits, so ids and hashes are also given as text
 * where that matters. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH_MAX 16

struct json {
    FILE *out;
    unsigned depth;
    bool has_items[JSON_DEPTH_MAX];
};

void json_init(struct json *json, FILE *out);
void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_end_object(struct json *json);
void json_end_array(struct json *json);
void json_number(struct json *json, const char *key, uint64_t value);
void json_bool(struct json *json, const char *key, bool value);
/* NULL gives null. */
void json_text(struct json *json, const char *key, const char *text);
/* 64 bits as "0x0123456789abcdef". */
void json_hex(struct json *json, const char *key, uint64_t value);

#endif
