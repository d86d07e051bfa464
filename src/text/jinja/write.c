/* write.c - values as text: as Python prints them, and as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "text/jinja/jinja.h"

/* The digits of a shortest decimal and the position of its point: 0.0125 is "125", -1. */
static size_t digits_of(const char *text, size_t length, char digits[32], int *point)
{
    size_t count = 0;
    int before = 0, exponent = 0, sign = 1;
    bool has_point = false, is_zero = true;
    for (size_t i = 0; i < length; i++) {
        const char c = text[i];
        if (c == 'e') {
            sign = text[i + 1] == '-' ? -1 : 1;
            for (i += text[i + 1] == '-' || text[i + 1] == '+' ? 2 : 1; i < length; i++)
                exponent = 10 * exponent + (text[i] - '0');
            break;
        }
        has_point = has_point || c == '.';
        if (c < '0' || c > '9')
            continue;
        is_zero = is_zero && c == '0';
        if (!is_zero && count < 31)
            digits[count++] = c;
        before += is_zero ? (has_point ? -1 : 0) : !has_point;
    }
    *point = before + sign * exponent;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    return count;
}

/* Python's repr: always has a point or an exponent; exponents from 1e16 and below 1e-4. */
static void write_float(takt_text *to, double value)
{
    char text[TAKT_NUMBER_TEXT], digits[32];
    int point = 0;
    if (!isfinite(value)) {
        takt_text_add(to, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    const size_t length = takt_number_write(fabs(value), text);
    const int count = (int)digits_of(text, length, digits, &point);
    takt_text_add(to, "%s", signbit(value) ? "-" : "");
    if (count == 0) {
        takt_text_add(to, "0.0");
    } else if (point > 16 || point < -3) {
        takt_text_add(to, "%c%s%.*se%c%02d", digits[0], count > 1 ? "." : "", count - 1, digits + 1,
                      point - 1 < 0 ? '-' : '+', point - 1 < 0 ? 1 - point : point - 1);
    } else if (point <= 0) {
        takt_text_add(to, "0.%.*s%.*s", -point, "000", count, digits);
    } else {
        for (int i = 0; i < point; i++)
            takt_text_add(to, "%c", i < count ? digits[i] : '0');
        takt_text_add(to, ".%.*s", point < count ? count - point : 1,
                      point < count ? digits + point : "0");
    }
}

static void write_quoted(takt_text *to, takt_span text)
{
    const bool has_single = text.length > 0 && memchr(text.at, '\'', text.length) != NULL;
    const bool has_double = text.length > 0 && memchr(text.at, '"', text.length) != NULL;
    const char quote = has_single && !has_double ? '"' : '\'';
    takt_text_put(to, &quote, 1);
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.at[i];
        if (c == '\n' || c == '\r' || c == '\t')
            takt_text_put(to, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t", 2);
        else if (c < 0x20 || c == 0x7F)
            takt_text_add(to, "\\x%02x", c);
        else if (c == '\\' || c == (unsigned char)quote)
            takt_text_add(to, "\\%c", c);
        else
            takt_text_put(to, &text.at[i], 1);
    }
    takt_text_put(to, &quote, 1);
}

static bool enter(takt_jrun *r, const takt_text *to)
{
    if (to->length > TAKT_JINJA_OUTPUT)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_LIMIT, "a text of more than %d bytes",
                        TAKT_JINJA_OUTPUT);
    if (++r->nested > TAKT_JINJA_NESTED)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_LIMIT, "values nest too deeply");
    return takt_jinja_step(r, 0);
}

static void write_list(takt_jrun *r, takt_text *to, const takt_jv_list *list)
{
    takt_text_put(to, list->is_tuple ? "(" : "[", 1);
    for (size_t i = 0; i < list->count && r->status == TAKT_OK; i++) {
        if (i > 0)
            takt_text_put(to, ", ", 2);
        takt_jv_write(r, to, list->at[i], true);
    }
    if (list->is_tuple && list->count == 1)
        takt_text_put(to, ",", 1);
    takt_text_put(to, list->is_tuple ? ")" : "]", 1);
}

static void write_dict(takt_jrun *r, takt_text *to, const takt_jv_dict *dict)
{
    takt_text_put(to, "{", 1);
    for (size_t i = 0; i < dict->count && r->status == TAKT_OK; i++) {
        if (i > 0)
            takt_text_put(to, ", ", 2);
        takt_jv_write(r, to, dict->at[2 * i], true);
        takt_text_put(to, ": ", 2);
        takt_jv_write(r, to, dict->at[2 * i + 1], true);
    }
    takt_text_put(to, "}", 1);
}

void takt_jv_write(takt_jrun *r, takt_text *to, takt_jv v, bool quoted)
{
    if (!enter(r, to))
        return;
    switch (v.kind) {
    case TAKT_JV_UNDEFINED: takt_text_add(to, "%s", quoted ? "Undefined" : ""); break;
    case TAKT_JV_NONE: takt_text_add(to, "None"); break;
    case TAKT_JV_BOOL: takt_text_add(to, "%s", v.boolean ? "True" : "False"); break;
    case TAKT_JV_INT: takt_text_add(to, "%lld", (long long)v.integer); break;
    case TAKT_JV_FLOAT: write_float(to, v.number); break;
    case TAKT_JV_LIST: write_list(r, to, v.list); break;
    case TAKT_JV_DICT: write_dict(r, to, v.dict); break;
    case TAKT_JV_TEXT:
        (void)takt_jinja_step(r, v.text.length / 16);
        if (quoted)
            write_quoted(to, v.text);
        else
            takt_text_put(to, v.text.at, v.text.length);
        break;
    default: takt_text_add(to, "<%s>", takt_jv_kind_name(v)); break;
    }
    if (to->status != TAKT_OK && r->status == TAKT_OK)
        r->status = to->status;
    r->nested--;
}

takt_jv takt_jv_to_text(takt_jrun *r, takt_jv v)
{
    takt_text text;
    if (v.kind == TAKT_JV_TEXT)
        return v;
    takt_text_init(&text, r->ctx);
    takt_jv_write(r, &text, v, false);
    return takt_jv_gathered(r, &text);
}

/* ---- JSON ---- */

static uint32_t value_of(const char *at, size_t bytes)
{
    static const unsigned char first[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t value = (unsigned char)at[0] & first[bytes];
    for (size_t i = 1; i < bytes; i++)
        value = value << 6 | ((unsigned char)at[i] & 0x3F);
    return value;
}

/* A character as \uXXXX, beyond the first plane as two; returns its length. */
static size_t write_escaped(takt_text *to, takt_span rest)
{
    const size_t n = takt_utf8_length(rest.at, rest.length);
    const uint32_t c = n > 0 ? value_of(rest.at, n) : 0xFFFD;
    if (c < 0x10000)
        takt_text_add(to, "\\u%04x", (unsigned)c);
    else
        takt_text_add(to, "\\u%04x\\u%04x", (unsigned)(0xD7C0 + (c >> 10)),
                      (unsigned)(0xDC00 + (c & 0x3FF)));
    return n > 0 ? n : 1;
}

static void write_json_text(takt_text *to, takt_span text, bool is_ascii)
{
    static const char escapes[] = "\"\\\n\r\t\b\f", names[] = "\"\\nrtbf";
    takt_text_put(to, "\"", 1);
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.at[i];
        const char *known = c != '\0' ? strchr(escapes, c) : NULL;
        if (known != NULL)
            takt_text_add(to, "\\%c", names[known - escapes]);
        else if ((unsigned char)c < 0x20)
            takt_text_add(to, "\\u%04x", (unsigned)c);
        else if (is_ascii && (unsigned char)c >= 0x7F)
            i += write_escaped(to, (takt_span){text.at + i, text.length - i}) - 1;
        else
            takt_text_put(to, &c, 1);
    }
    takt_text_put(to, "\"", 1);
}

static void new_line(takt_text *to, int64_t indent, uint32_t level)
{
    if (indent < 0)
        return;
    takt_text_put(to, "\n", 1);
    for (int64_t i = 0; i < indent * (int64_t)level; i++)
        takt_text_put(to, " ", 1);
}

static void write_json(takt_jrun *r, takt_text *to, takt_jv v, takt_jv_json s);

static void separate(takt_text *to, size_t i, takt_jv_json s)
{
    if (i > 0)
        takt_text_put(to, s.comma.at, s.comma.length);
    new_line(to, s.indent, s.level + 1);
}

/* The index of the next pair by key, after `done` of them. */
static size_t next_key(takt_jrun *r, const takt_jv_dict *d, size_t done, size_t last)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < d->count && takt_jinja_step(r, 0); i++) {
        const bool is_later = done == 0 || takt_jv_order(r, d->at[2 * i], d->at[2 * last]) > 0;
        if (is_later && (best == SIZE_MAX || takt_jv_order(r, d->at[2 * i], d->at[2 * best]) < 0))
            best = i;
    }
    return best;
}

static void write_json_dict(takt_jrun *r, takt_text *to, const takt_jv_dict *d, takt_jv_json s)
{
    takt_jv_json inner = s;
    inner.level++;
    size_t last = 0;
    takt_text_put(to, "{", 1);
    for (size_t i = 0; i < d->count && r->status == TAKT_OK; i++) {
        last = s.sorts ? next_key(r, d, i, last) : i;
        if (last == SIZE_MAX)
            break;
        separate(to, i, s);
        const takt_jv key = takt_jv_to_text(r, d->at[2 * last]);
        if (r->status != TAKT_OK)
            break;
        write_json_text(to, key.text, s.is_ascii);
        takt_text_put(to, s.colon.at, s.colon.length);
        write_json(r, to, d->at[2 * last + 1], inner);
    }
    if (d->count > 0)
        new_line(to, s.indent, s.level);
    takt_text_put(to, "}", 1);
}

static void write_json_list(takt_jrun *r, takt_text *to, const takt_jv_list *l, takt_jv_json s)
{
    takt_jv_json inner = s;
    inner.level++;
    takt_text_put(to, "[", 1);
    for (size_t i = 0; i < l->count && r->status == TAKT_OK; i++) {
        separate(to, i, s);
        write_json(r, to, l->at[i], inner);
    }
    if (l->count > 0)
        new_line(to, s.indent, s.level);
    takt_text_put(to, "]", 1);
}

static void write_json(takt_jrun *r, takt_text *to, takt_jv v, takt_jv_json s)
{
    if (!enter(r, to))
        return;
    switch (v.kind) {
    case TAKT_JV_NONE: takt_text_add(to, "null"); break;
    case TAKT_JV_BOOL: takt_text_add(to, "%s", v.boolean ? "true" : "false"); break;
    case TAKT_JV_INT: takt_text_add(to, "%lld", (long long)v.integer); break;
    case TAKT_JV_FLOAT: write_float(to, v.number); break;
    case TAKT_JV_TEXT:
        (void)takt_jinja_step(r, v.text.length / 4);
        write_json_text(to, v.text, s.is_ascii);
        break;
    case TAKT_JV_LIST: write_json_list(r, to, v.list, s); break;
    case TAKT_JV_DICT: write_json_dict(r, to, v.dict, s); break;
    default:
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "%s cannot be written as JSON",
                        takt_jv_kind_name(v));
    }
    r->nested--;
}

void takt_jv_write_json(takt_jrun *r, takt_text *to, takt_jv v, takt_jv_json style)
{
    style.indent = style.indent > 64 ? 64 : style.indent;
    write_json(r, to, v, style);
    if (to->status != TAKT_OK && r->status == TAKT_OK)
        r->status = to->status;
}
