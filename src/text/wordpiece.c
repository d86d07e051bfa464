/* wordpiece.c - BERT's words: white space ends them, punctuation and ideographs are words; each
 * word becomes the longest token that begins it, then the longest that continues it, or one unknown
 * token. */
#include <string.h>

#include "text/tokenizer.h"
#include "text/unicode.h"

static bool is_before(takt_span a, takt_span b)
{
    const size_t n = a.length < b.length ? a.length : b.length;
    const int order = memcmp(a.at, b.at, n);
    return order != 0 ? order < 0 : a.length < b.length;
}

/* A bottom-up merge sort: no vocabulary makes it slow. */
takt_status takt_wordpiece_index(takt_tokenizer *t)
{
    uint32_t *from = takt_arena_array(&t->arena, t->count, sizeof *from);
    uint32_t *to = takt_arena_array(&t->arena, t->count, sizeof *to);
    size_t n = 0;
    if (from == NULL || to == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < t->count; i++)
        if (t->texts[i].length > 0)
            from[n++] = (uint32_t)i;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            const size_t middle = low + width < n ? low + width : n;
            const size_t high = middle + width < n ? middle + width : n;
            size_t a = low, b = middle;
            for (size_t k = low; k < high; k++) {
                const bool right =
                    a == middle || (b < high && is_before(t->texts[from[b]], t->texts[from[a]]));
                to[k] = right ? from[b++] : from[a++];
            }
        }
        uint32_t *const other = from;
        from = to;
        to = other;
    }
    t->sorted = from;
    t->sorted_count = n;
    return TAKT_OK;
}

/* The first of sorted[low, high) whose byte `at` is not below `byte`; all agree before it. A token
 * that ends there comes before all others. */
static size_t bound(const takt_tokenizer *t, size_t low, size_t high, size_t at, int byte)
{
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const takt_span text = t->texts[t->sorted[middle]];
        const int own = text.length > at ? (unsigned char)text.at[at] : -1;
        if (own < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether a token equals the word's part [at, end) and ends at a character boundary. */
static bool is_part(const takt_tokenizer *t, uint32_t token, takt_span word, size_t at)
{
    const takt_span text = t->texts[token];
    const size_t end = at + text.length;
    return text.length <= word.length - at && memcmp(text.at, word.at + at, text.length) == 0 &&
           (end == word.length || ((unsigned char)word.at[end] & 0xC0) != 0x80) &&
           t->kinds[token] != TAKT_TOKEN_CONTROL;
}

/* The longest token of `word` from `at` on; 0: none. Byte by byte among the sorted tokens, so the
 * time is proportional to the longest token, whatever the vocabulary. */
static size_t longest_at(const takt_tokenizer *t, takt_span word, size_t at, int32_t *id)
{
    size_t low = 0, high = t->sorted_count, longest = 0;
    for (size_t i = 0; at + i < word.length && low < high; i++) {
        const int byte = (unsigned char)word.at[at + i];
        low = bound(t, low, high, i, byte);
        high = bound(t, low, high, i, byte + 1);
        const bool is_last = high - low == 1; /* more than one begins like this: the rest of it
                                               * decides */
        if (low < high && (is_last || t->texts[t->sorted[low]].length == i + 1) &&
            is_part(t, t->sorted[low], word, at)) {
            *id = (int32_t)t->sorted[low];
            longest = t->texts[t->sorted[low]].length;
        }
        if (is_last)
            break;
    }
    return longest;
}

static size_t characters(takt_span word)
{
    size_t count = 0;
    for (size_t i = 0; i < word.length; i++)
        count += ((unsigned char)word.at[i] & 0xC0) != 0x80;
    return count;
}

/* Whether the text itself has a mark at `at`, which no token matches: those with a mark begin a
 * word. In GGUF files it counts as the beginning of a word, as in llama.cpp. */
static bool is_own_mark(const takt_tokenizer *t, takt_span word, size_t at)
{
    return at > 0 && t->word_limit > 0 && word.length - at >= TAKT_TOKEN_MARK_BYTES &&
           memcmp(word.at + at, TAKT_TOKEN_MARK, TAKT_TOKEN_MARK_BYTES) == 0;
}

/* `word` begins with the mark. */
static void add_word(const takt_tokenizer *t, takt_span word, takt_ids *ids)
{
    const size_t count = ids->count;
    size_t at = t->word_limit > 0 && characters(word) > t->word_limit + 1 ? word.length : 0;
    bool is_known = at == 0;
    const uint32_t whole = is_known ? takt_spans_find(&t->index, word) : UINT32_MAX;
    if (whole != UINT32_MAX && t->kinds[whole] != TAKT_TOKEN_CONTROL) { /* like most words */
        takt_ids_add(ids, (int32_t)whole);
        return;
    }
    while (at < word.length && is_known && ids->status == TAKT_OK) {
        int32_t id = 0;
        const size_t length = is_own_mark(t, word, at) ? 0 : longest_at(t, word, at, &id);
        is_known = length > 0;
        if (is_known)
            takt_ids_add(ids, id);
        at += length;
    }
    if (is_known || ids->status != TAKT_OK)
        return;
    ids->count = count;
    takt_ids_add_unknown(t, ids);
}

static void end_word(const takt_tokenizer *t, takt_text *word, takt_ids *ids)
{
    if (word->status == TAKT_OK && word->length > TAKT_TOKEN_MARK_BYTES)
        add_word(t, (takt_span){word->at, word->length}, ids);
    else if (word->status != TAKT_OK)
        ids->status = word->status;
    word->length = 0;
    takt_text_put(word, TAKT_TOKEN_MARK, TAKT_TOKEN_MARK_BYTES);
}

void takt_wordpiece_word(const takt_tokenizer *t, takt_span text, takt_ids *ids)
{
    takt_text word;
    takt_text_init(&word, t->ctx);
    takt_text_put(&word, TAKT_TOKEN_MARK, TAKT_TOKEN_MARK_BYTES);
    takt_text_put(&word, text.at, text.length);
    end_word(t, &word, ids);
    takt_text_deinit(&word);
}

void takt_wordpiece(const takt_tokenizer *t, takt_span text, takt_ids *ids)
{
    takt_text word;
    takt_text_init(&word, t->ctx);
    takt_text_put(&word, TAKT_TOKEN_MARK, TAKT_TOKEN_MARK_BYTES);
    for (size_t i = 0, bytes; i < text.length && ids->status == TAKT_OK; i += bytes) {
        const uint32_t c = takt_unicode_take(text.at + i, text.length - i, &bytes);
        const bool is_space = takt_unicode_is_space(c);
        const bool is_one = takt_unicode_is_punctuation(c) || takt_unicode_is_ideograph(c);
        if (is_space || is_one)
            end_word(t, &word, ids);
        if (!is_space)
            takt_text_put(&word, text.at + i, bytes);
        if (is_one)
            end_word(t, &word, ids);
    }
    end_word(t, &word, ids);
    takt_text_deinit(&word);
}
