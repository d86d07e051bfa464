/* unicode_forms.c - the normal forms NFD, NFC, NFKD and NFKC.
 *
 * Characters are gathered up to the next one that combines with nothing before it, sorted, and
 * written. A run of marks longer than GATHERED is split, so that any text takes linear time.
 */
#include "base/utf8.h"
#include "text/unicode.h"
#include "text/unicode_tables.h"

enum { GATHERED = 64 };

typedef struct form {
    takt_text *to;
    bool composes;
    size_t count;
    uint32_t at[GATHERED];
} form;

static void put(form *f, uint32_t c)
{
    char utf8[4];
    takt_text_put(f->to, utf8, takt_utf8_put(c, utf8));
}

/* Sorts marks by class, stable within a class. */
static void arrange(form *f)
{
    for (size_t i = 1; i < f->count; i++) {
        const uint32_t c = f->at[i];
        const int order = takt_unicode_order(c);
        size_t k = i;
        for (; order != 0 && k > 0 && takt_unicode_order(f->at[k - 1]) > order; k--)
            f->at[k] = f->at[k - 1];
        f->at[k] = c;
    }
}

/* Composes marks with the first character where possible; a mark after another of its class is
 * blocked. */
static void compose(form *f)
{
    size_t kept = 1;
    int last = -1;
    for (size_t i = 1; i < f->count; i++) {
        const int order = takt_unicode_order(f->at[i]);
        const uint32_t whole =
            last < order || last == -1 ? takt_unicode_join(f->at[0], f->at[i]) : 0;
        if (whole != 0) {
            f->at[0] = whole;
            continue;
        }
        last = order;
        f->at[kept++] = f->at[i];
    }
    f->count = kept;
}

static void flush(form *f)
{
    arrange(f);
    if (f->composes && f->count > 1)
        compose(f);
    for (size_t i = 0; i < f->count; i++)
        put(f, f->at[i]);
    f->count = 0;
}

/* A starter ends the gathered sequence, unless it composes with a single starter before it. */
static void gather(form *f, uint32_t c)
{
    const bool is_starter = takt_unicode_order(c) == 0;
    if (is_starter && f->count > 0) {
        if (f->composes) {
            arrange(f);
            compose(f);
        }
        const uint32_t whole = f->composes && f->count == 1 ? takt_unicode_join(f->at[0], c) : 0;
        if (whole != 0) {
            f->at[0] = whole;
            return;
        }
        flush(f);
    } else if (f->count == GATHERED) {
        flush(f);
    }
    f->at[f->count++] = c;
}

static void decompose(form *f, uint32_t c)
{
    uint32_t stack[8], parts[2];
    size_t depth = 0;
    stack[depth++] = c;
    while (depth > 0) {
        c = stack[--depth];
        if (depth + 2 > sizeof stack / sizeof *stack || !takt_unicode_split(c, parts)) {
            gather(f, c);
            continue;
        }
        if (parts[1] != 0)
            stack[depth++] = parts[1];
        stack[depth++] = parts[0];
    }
}

/* Compatibility characters become their usual equivalents. */
static void decompose_compatible(form *f, uint32_t c)
{
    const uint32_t *parts = NULL;
    const size_t count = takt_unicode_compatible(c, &parts);
    for (size_t i = 0; i < count; i++)
        gather(f, parts[i]);
    if (count == 0)
        decompose(f, c);
}

void takt_unicode_form(takt_span text, unsigned kind, takt_text *to)
{
    form f = {.to = to, .composes = (kind & TAKT_U_COMPOSED) != 0};
    for (size_t i = 0, bytes; i < text.length; i += bytes) {
        const uint32_t c = takt_unicode_take(text.at + i, text.length - i, &bytes);
        if (c == TAKT_U_BAD) { /* bytes that are not characters are unchanged */
            flush(&f);
            takt_text_put(to, text.at + i, bytes);
        } else if ((kind & TAKT_U_COMPATIBLE) != 0) {
            decompose_compatible(&f, c);
        } else {
            decompose(&f, c);
        }
    }
    flush(&f);
}
