/* json_write.c - writing JSON: commas, escapes and indentation. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "base/utf8.h"

enum { DEEPEST = 255 }; /* has_item has a bit for 0 .. 255; deeper levels share the last bit */

void takt_json_begin(takt_json_writer *w, takt_text *text, bool pretty)
{
    *w = (takt_json_writer){.text = text, .pretty = pretty};
}

static int level(const takt_json_writer *w)
{
    return w->depth < 0 ? 0 : w->depth > DEEPEST ? DEEPEST : w->depth;
}

static bool has_item(const takt_json_writer *w)
{
    return w->has_item[level(w) / 64] >> (level(w) % 64) & 1;
}

static void set_item(takt_json_writer *w, bool value)
{
    const uint64_t bit = UINT64_C(1) << (level(w) % 64);
    uint64_t *word = &w->has_item[level(w) / 64];
    *word = value ? *word | bit : *word & ~bit;
}

static void new_line(takt_json_writer *w)
{
    if (!w->pretty || w->depth == 0)
        return;
    takt_text_put(w->text, "\n", 1);
    for (int i = 0; i < w->depth; i++)
        takt_text_put(w->text, "  ", 2);
}

/* Writes the separator and indentation before a key or value. */
static void lead(takt_json_writer *w)
{
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    if (has_item(w))
        takt_text_put(w->text, ",", 1);
    set_item(w, true);
    new_line(w);
}

void takt_json_open(takt_json_writer *w, char bracket)
{
    lead(w);
    takt_text_put(w->text, &bracket, 1);
    w->depth++;
    set_item(w, false);
}

void takt_json_close(takt_json_writer *w, char bracket)
{
    const bool was_empty = !has_item(w);
    w->depth--;
    if (!was_empty && w->pretty && w->depth == 0)
        takt_text_put(w->text, "\n", 1);
    else if (!was_empty)
        new_line(w);
    /* Either bracket of a pair is accepted, so that "close what '{' opened" works as well. */
    const char end = bracket == '{' || bracket == '}' ? '}' : ']';
    takt_text_put(w->text, &end, 1);
}

static void escaped(takt_text *text, unsigned char c)
{
    static const char names[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
    const char *found = strchr(names, c);
    if (c != '\0' && found != NULL)
        takt_text_add(text, "\\%c", letters[found - names]);
    else
        takt_text_add(text, "\\u%04x", c);
}

static void quoted(takt_text *text, const char *s)
{
    size_t left = strlen(s);
    takt_text_put(text, "\"", 1);
    while (left > 0) {
        const size_t step = takt_utf8_length(s, left);
        const unsigned char c = (unsigned char)*s;
        if (step == 0)
            takt_text_put(text, "\xEF\xBF\xBD", 3); /* not UTF-8: the replacement character */
        else if (c < 0x20 || c == '"' || c == '\\' || c == 0x7F)
            escaped(text, c);
        else if (step == 2 && c == 0xC2 && (unsigned char)s[1] < 0xA0)
            takt_text_add(text, "\\u%04x", (unsigned char)s[1]); /* C1: for terminals only */
        else
            takt_text_put(text, s, step);
        s += step != 0 ? step : 1;
        left -= step != 0 ? step : 1;
    }
    takt_text_put(text, "\"", 1);
}

void takt_json_key(takt_json_writer *w, const char *key)
{
    lead(w);
    quoted(w->text, key);
    takt_text_put(w->text, ": ", w->pretty ? 2 : 1);
    w->after_key = true;
}

void takt_json_string(takt_json_writer *w, const char *text)
{
    lead(w);
    quoted(w->text, text);
}

void takt_json_number(takt_json_writer *w, double value)
{
    lead(w);
    if (isfinite(value))
        takt_text_double(w->text, value);
    else
        takt_text_put(w->text, "null", 4);
}

void takt_json_real(takt_json_writer *w, double value)
{
    if (fabs(value) >= 1e15 || value != floor(value)) {
        takt_json_number(w, value);
        return;
    }
    lead(w);
    takt_text_add(w->text, "%lld.0", (long long)value);
}

void takt_json_integer(takt_json_writer *w, int64_t value)
{
    lead(w);
    takt_text_add(w->text, "%lld", (long long)value);
}

void takt_json_unsigned(takt_json_writer *w, uint64_t value)
{
    lead(w);
    takt_text_add(w->text, "%llu", (unsigned long long)value);
}

void takt_json_bool(takt_json_writer *w, bool value)
{
    lead(w);
    takt_text_add(w->text, "%s", value ? "true" : "false");
}

void takt_json_null(takt_json_writer *w)
{
    lead(w);
    takt_text_put(w->text, "null", 4);
}

void takt_json_put_string(takt_json_writer *w, const char *key, const char *text)
{
    takt_json_key(w, key);
    takt_json_string(w, text != NULL ? text : "");
}

void takt_json_put_number(takt_json_writer *w, const char *key, double value)
{
    takt_json_key(w, key);
    takt_json_number(w, value);
}

void takt_json_put_real(takt_json_writer *w, const char *key, double value)
{
    takt_json_key(w, key);
    takt_json_real(w, value);
}

void takt_json_put_integer(takt_json_writer *w, const char *key, int64_t value)
{
    takt_json_key(w, key);
    takt_json_integer(w, value);
}

void takt_json_put_unsigned(takt_json_writer *w, const char *key, uint64_t value)
{
    takt_json_key(w, key);
    takt_json_unsigned(w, value);
}

void takt_json_put_bool(takt_json_writer *w, const char *key, bool value)
{
    takt_json_key(w, key);
    takt_json_bool(w, value);
}

void takt_json_put_open(takt_json_writer *w, const char *key, char bracket)
{
    takt_json_key(w, key);
    takt_json_open(w, bracket);
}

void takt_json_value(takt_json_writer *w, const takt_json *v)
{
    const bool is_list = v->kind == TAKT_JSON_ARRAY;
    switch (v->kind) {
    case TAKT_JSON_NULL: takt_json_null(w); return;
    case TAKT_JSON_BOOL: takt_json_bool(w, v->boolean); return;
    case TAKT_JSON_STRING: takt_json_string(w, v->text); return;
    case TAKT_JSON_NUMBER:
        if (v->is_integer)
            takt_json_integer(w, v->integer);
        else
            takt_json_number(w, v->number);
        return;
    default: break;
    }
    takt_json_open(w, is_list ? '[' : '{');
    for (const takt_json *i = takt_json_first(v); i != NULL; i = takt_json_next(i)) {
        if (!is_list)
            takt_json_key(w, i->key);
        takt_json_value(w, i); /* as deep as the reader allows */
    }
    takt_json_close(w, is_list ? ']' : '}');
}
