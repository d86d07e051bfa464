/* wordpiece.c - BERT's words: white space ends them, punctuation and ideographs are words; of each
 * word the longest token that begins it, then the longest that goes on, or one unknown token. */
#include <string.h>

#include "text/tokenizer.h"
#include "text/unicode.h"

/* The longest token of `word` from `at` on, at most t->longest bytes; 0: none. */
static size_t longest_at(const takt_tokenizer *t, takt_span word, size_t at, int32_t *id)
{
    size_t length = word.length - at < t->longest ? word.length - at : t->longest;
    for (; length > 0; length--) {
        const bool is_inside =
            at + length < word.length && ((unsigned char)word.at[at + length] & 0xC0) == 0x80;
        const uint32_t found =
            is_inside ? UINT32_MAX : takt_spans_find(&t->index, (takt_span){word.at + at, length});
        if (found == UINT32_MAX || t->kinds[found] == TAKT_TOKEN_CONTROL)
            continue;
        *id = (int32_t)found;
        return length;
    }
    return 0;
}

static size_t characters(takt_span word)
{
    size_t count = 0;
    for (size_t i = 0; i < word.length; i++)
        count += ((unsigned char)word.at[i] & 0xC0) != 0x80;
    return count;
}

/* `word` begins with the mark. */
static void add_word(const takt_tokenizer *t, takt_span word, takt_ids *ids)
{
    const size_t count = ids->count;
    size_t at = t->word_limit > 0 && characters(word) > t->word_limit + 1 ? word.length : 0;
    bool is_known = at == 0;
    while (at < word.length && is_known && ids->status == TAKT_OK) {
        int32_t id = 0;
        const size_t length = longest_at(t, word, at, &id);
        is_known = length > 0;
        if (is_known)
            takt_ids_add(ids, id);
        at += length;
    }
    if (is_known || ids->status != TAKT_OK)
        return;
    ids->count = count;
    if (t->roles[TAKT_TOKEN_UNK] >= 0)
        takt_ids_add(ids, t->roles[TAKT_TOKEN_UNK]);
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
