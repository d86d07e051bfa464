/* text.c - a growing text, shortest decimals, and the distance between names. */
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "base/size.h"

void takt_text_init(takt_text *text, takt_ctx *ctx)
{
    *text = (takt_text){.ctx = ctx, .status = TAKT_OK};
}

void takt_text_deinit(takt_text *text)
{
    takt_mem_put(text->ctx, text->at, text->capacity);
    *text = (takt_text){.ctx = text->ctx, .status = TAKT_OK};
}

/* Room for `more` characters and the terminator. */
static bool reserve(takt_text *text, size_t more)
{
    size_t need;
    if (text->status != TAKT_OK)
        return false;
    if (!takt_size_add(text->length, more, &need) || !takt_size_add(need, 1, &need)) {
        text->status = takt_fail_memory(text->ctx, "a text", more);
        return false;
    }
    void *at = text->at;
    text->status = takt_mem_grow(text->ctx, &at, &text->capacity, need, 1);
    text->at = at;
    return text->status == TAKT_OK;
}

void takt_text_put(takt_text *text, const char *bytes, size_t length)
{
    if (!reserve(text, length))
        return;
    if (length != 0)
        memcpy(text->at + text->length, bytes, length);
    text->length += length;
    text->at[text->length] = '\0';
}

void takt_text_addv(takt_text *text, const char *format, va_list args)
{
    char small[256];
    va_list again;
    va_copy(again, args);
    const int length = vsnprintf(small, sizeof small, format, args);
    if (length < 0) {
        if (text->status == TAKT_OK)
            text->status = takt_fail(text->ctx, TAKT_E_INTERNAL,
                                     "a text could not be formatted: \"%s\"", format);
    } else if ((size_t)length < sizeof small) {
        takt_text_put(text, small, (size_t)length);
    } else if (reserve(text, (size_t)length)) {
        vsnprintf(text->at + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void takt_text_add(takt_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    takt_text_addv(text, format, args);
    va_end(args);
}

const char *takt_text_get(const takt_text *text)
{
    return text->at != NULL ? text->at : "";
}

void takt_text_double(takt_text *text, double value)
{
    char digits[TAKT_NUMBER_TEXT];
    const size_t length = takt_number_write(value, digits);
    takt_text_put(text, digits, length);
}

bool takt_span_is(takt_span span, const char *text)
{
    return strlen(text) == span.length && memcmp(span.at, text, span.length) == 0;
}

takt_span takt_span_of(const char *text)
{
    return (takt_span){text, strlen(text)};
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

enum { LONGEST_NAME = 127 };

/* Damerau's distance in its restricted form: insert, delete, replace, swap two neighbours. */
size_t takt_name_distance(const char *a, const char *b, size_t limit)
{
    const size_t na = strlen(a), nb = strlen(b);
    if ((na > nb ? na - nb : nb - na) > limit)
        return limit + 1;
    if (na > LONGEST_NAME || nb > LONGEST_NAME)
        return strcmp(a, b) == 0 ? 0 : limit + 1;

    size_t rows[3][LONGEST_NAME + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= nb; j++)
        last[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t best = now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
            best = least(best, now[j]);
        }
        if (best > limit) /* a row's minimum never decreases, not even by a swap over the last
                           * row */
            return limit + 1;
        size_t *const free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return least(last[nb], limit + 1);
}

bool takt_same_letters(const char *a, const char *b)
{
    for (; *a != '\0' && *b != '\0'; a++, b++) {
        const char x = *a >= 'A' && *a <= 'Z' ? (char)(*a + 32) : *a;
        const char y = *b >= 'A' && *b <= 'Z' ? (char)(*b + 32) : *b;
        if (x != y)
            return false;
    }
    return *a == *b;
}
