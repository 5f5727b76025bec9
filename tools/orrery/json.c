/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <inttypes.h>
#include <stdlib.h>

void json_init(struct json *json, FILE *out)
{
    *json = (struct json){.out = out};
}

static void put_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at != 0; at++) {
        if (*at == '"' || *at == '\\') {
            fprintf(out, "\\%c", *at);
        } else if (*at < 0x20 || *at == 0x7f) {
            fprintf(out, "\\u%04x", *at);
        } else if (*at >= 0x80) {
            /* Bytes of a name need not be UTF-8: each is shown as the character of its number. */
            fprintf(out, "\\u%04x", *at);
        } else {
            fputc(*at, out);
        }
    }
    fputc('"', out);
}

static void begin_item(struct json *json, const char *key)
{
    if (json->depth > 0) {
        if (json->has_items[json->depth - 1]) {
            fputc(',', json->out);
        }
        json->has_items[json->depth - 1] = true;
        fputc('\n', json->out);
        fprintf(json->out, "%*s", (int)json->depth * 2, "");
    }
    if (key != NULL) {
        put_quoted(json->out, key);
        fputs(": ", json->out);
    }
}

static void open_with(struct json *json, const char *key, char bracket)
{
    begin_item(json, key);
    if (json->depth == JSON_DEPTH_MAX) {
        abort(); /* a bug of the command that writes */
    }
    fputc(bracket, json->out);
    json->has_items[json->depth++] = false;
}

static void close_with(struct json *json, char bracket)
{
    if (json->depth == 0) {
        abort();
    }
    json->depth--;
    if (json->has_items[json->depth]) {
        fprintf(json->out, "\n%*s", (int)json->depth * 2, "");
    }
    fputc(bracket, json->out);
    if (json->depth == 0) {
        fputc('\n', json->out);
    }
}

void json_object(struct json *json, const char *key)
{
    open_with(json, key, '{');
}

void json_array(struct json *json, const char *key)
{
    open_with(json, key, '[');
}

void json_end_object(struct json *json)
{
    close_with(json, '}');
}

void json_end_array(struct json *json)
{
    close_with(json, ']');
}

void json_number(struct json *json, const char *key, uint64_t value)
{
    begin_item(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin_item(json, key);
    fputs(value ? "true" : "false", json->out);
}

void json_text(struct json *json, const char *key, const char *text)
{
    begin_item(json, key);
    if (text == NULL) {
        fputs("null", json->out);
    } else {
        put_quoted(json->out, text);
    }
}

void json_hex(struct json *json, const char *key, uint64_t value)
{
    begin_item(json, key);
    fprintf(json->out, "\"0x%016" PRIx64 "\"", value);
}
