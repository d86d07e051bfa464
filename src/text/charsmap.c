/* charsmap.c - SentencePiece's table of character replacements: a double-array trie whose leaves
 * are offsets into a list of NUL-terminated texts. The table comes from a file: every index is
 * checked. */
#include <string.h>

#include "base/cursor.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

/* A single character may become the longest of the texts. */
static takt_status limit_growth(takt_tokenizer *t, const takt_charsmap *m)
{
    takt_span longest = {m->texts, 0};
    for (size_t i = 0; i < m->length; i += strlen(m->texts + i) + 1)
        if (strlen(m->texts + i) > longest.length)
            longest = takt_span_of(m->texts + i);
    return takt_stage_grows(t, takt_span_of("c"), longest, &t->normal_growth);
}

takt_status takt_charsmap_read(takt_tokenizer *t, const uint8_t *bytes, size_t length)
{
    takt_cursor c = takt_cursor_of(bytes, length, 0);
    if (length == 0)
        return TAKT_OK;
    const uint32_t size = takt_cursor_u32le(&c);
    if (c.failed || size % 4 != 0 || size >= takt_cursor_left(&c) || size == 0)
        return takt_tokenizer_fail(t, TAKT_E_TOKENIZER, "the table of characters is damaged");
    takt_charsmap *m = &t->charsmap;
    uint32_t *units = takt_arena_array(&t->arena, size / 4, sizeof *units);
    if (units == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < size / 4; i++)
        units[i] = takt_cursor_u32le(&c);
    const size_t left = takt_cursor_left(&c);
    const uint8_t *texts = takt_cursor_take(&c, left);
    m->texts = takt_arena_text(&t->arena, (const char *)texts, left); /* ends with NUL */
    m->units = units;
    m->count = size / 4;
    m->length = left;
    return m->texts != NULL ? limit_growth(t, m) : TAKT_ERR_MEMORY;
}

static uint32_t offset_of(uint32_t unit)
{
    return unit >> 10 << ((unit & 512) >> 6);
}

/* The replacement of the longest prefix of `text` in the table, and the length of that prefix;
 * NULL: none. */
static const char *find(const takt_charsmap *m, takt_span text, size_t *taken)
{
    const char *found = NULL;
    uint64_t at = offset_of(m->units[0]);
    for (size_t i = 0; i < text.length; i++) {
        const uint8_t byte = (uint8_t)text.at[i];
        at ^= byte;
        if (byte == 0 || at >= m->count || (m->units[at] & 0x800000FF) != byte)
            break;
        const uint32_t unit = m->units[at];
        at ^= offset_of(unit);
        if ((unit & 256) == 0)
            continue;
        const uint32_t value = at < m->count ? m->units[at] & 0x7FFFFFFF : UINT32_MAX;
        if (value >= m->length)
            break;
        found = m->texts + value;
        *taken = i + 1;
    }
    return found;
}

void takt_charsmap_apply(const takt_charsmap *m, takt_span text, takt_text *to)
{
    for (size_t i = 0, bytes; i < text.length; i += bytes) {
        const takt_span rest = {text.at + i, text.length - i};
        const char *found = m->count > 0 ? find(m, rest, &bytes) : NULL;
        if (found != NULL) {
            takt_text_put(to, found, strlen(found));
            continue;
        }
        (void)takt_unicode_take(rest.at, rest.length, &bytes);
        takt_text_put(to, rest.at, bytes);
    }
}
