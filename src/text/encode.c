/* encode.c - a text to ids. */
#include <string.h>

#include "base/mem.h"
#include "text/tokenizer.h"

typedef struct encoding {
    const takt_tokenizer *t;
    takt_merging merging;
    takt_cutting cutting;
    takt_ids ids;
    bool begins; /* only an added token, or nothing, precedes it */
    bool is_first;
} encoding;

void takt_ids_add_unknown(const takt_tokenizer *t, takt_ids *ids)
{
    if (t->roles[TAKT_TOKEN_UNK] >= 0) {
        takt_ids_add(ids, t->roles[TAKT_TOKEN_UNK]);
    } else if (ids->status == TAKT_OK) {
        ids->status = takt_fail(ids->ctx, TAKT_E_TOKENIZER,
                                "the text has a word that is not in the vocabulary, and the "
                                "tokenizer has no token for unknown words");
        (void)takt_fail_hint(ids->ctx, "unk_token or unk_id of its model names that token");
    }
}

static void encode_word(void *user, takt_span word)
{
    encoding *e = user;
    const takt_tokenizer *t = e->t;
    if (t->model == TAKT_TOKENIZER_UNIGRAM) {
        takt_unigram(t, word, &e->ids);
    } else if (t->model == TAKT_TOKENIZER_WORDS) {
        takt_wordpiece_word(t, word, &e->ids);
    } else if (t->model == TAKT_TOKENIZER_WHOLE) {
        const uint32_t id = takt_spans_find(&t->index, word);
        if (id != UINT32_MAX)
            takt_ids_add(&e->ids, (int32_t)id);
        else
            takt_ids_add_unknown(t, &e->ids);
    } else {
        takt_merge_word(t, &e->merging, word, &e->ids);
    }
}

size_t takt_span_mark(takt_span text, size_t from)
{
    enum { BYTES = TAKT_TOKEN_MARK_BYTES };
    for (size_t at = from + 1; at + BYTES <= text.length; at++) {
        const char *found = memchr(text.at + at, TAKT_TOKEN_MARK[0], text.length - at);
        if (found == NULL)
            break;
        at = (size_t)(found - text.at);
        const bool is_mark =
            at + BYTES <= text.length && memcmp(found, TAKT_TOKEN_MARK, BYTES) == 0;
        const bool follows_mark = at >= BYTES && memcmp(found - BYTES, TAKT_TOKEN_MARK, BYTES) == 0;
        if (is_mark && !follows_mark)
            return at;
    }
    return text.length;
}

/* A text without words. Where no merge can cross a mark it is encoded up to there: short parts stay
 * in the cache. */
static void encode_marked(encoding *e, takt_span text)
{
    const takt_tokenizer *t = e->t;
    const bool is_cut = t->marks_begin && !t->takes_whole && t->piece_prefix.length == 0 &&
                        t->word_suffix.length == 0;
    for (size_t at = 0, end; at < text.length && e->ids.status == TAKT_OK; at = end) {
        end = is_cut ? takt_span_mark(text, at) : text.length;
        encode_word(e, (takt_span){text.at + at, end - at});
    }
}

static void encode_words(encoding *e, takt_span text)
{
    const takt_tokenizer *t = e->t;
    if (t->splits_as_bert) {
        takt_wordpiece(t, text, &e->ids);
        return;
    }
    if (t->cut_count > 0) {
        takt_cuts_run(&e->cutting, 0, text);
        if (e->ids.status == TAKT_OK)
            e->ids.status = e->cutting.status;
        return;
    }
    if (t->scan == NULL) {
        encode_marked(e, text);
        return;
    }
    for (size_t at = 0, end; at < text.length && e->ids.status == TAKT_OK; at = end) {
        end = takt_scan_word(t->scan, text, at);
        encode_word(e, (takt_span){text.at + at, end - at});
    }
}

/* A part without added tokens. */
static void encode_part(encoding *e, takt_span text)
{
    const takt_tokenizer *t = e->t;
    takt_text normal;
    if (text.length == 0 || e->ids.status != TAKT_OK)
        return;
    if (t->normal_count == 0) {
        encode_words(e, text);
    } else {
        takt_text_init(&normal, t->ctx);
        takt_normalize(t, text, t->spaces_once ? e->is_first : e->begins, &normal);
        if (normal.status == TAKT_OK)
            encode_words(e, (takt_span){takt_text_get(&normal), normal.length});
        else
            e->ids.status = normal.status;
        takt_text_deinit(&normal);
    }
    e->begins = e->is_first = false;
}

static void encode(encoding *e, takt_span text, bool parses)
{
    takt_added_match match;
    size_t at = 0;
    while (at < text.length && e->ids.status == TAKT_OK &&
           takt_trie_next(e->t, text, at, parses, &match)) {
        encode_part(e, (takt_span){text.at + at, match.begin - at});
        takt_ids_add(&e->ids, match.added->id);
        e->begins = true;
        e->is_first = false;
        at = match.end;
    }
    encode_part(e, (takt_span){text.at + at, text.length - at});
}

static void add_all(encoding *e, const int32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        takt_ids_add(&e->ids, ids[i]);
}

takt_status takt_tokenize(const takt_tokenizer *t, const char *text, size_t length, unsigned flags,
                          takt_token_ids *ids)
{
    TAKT_NEED(NULL, t);
    TAKT_NEED(t->ctx, ids);
    ids->count = 0;
    if ((text == NULL && length > 0) || (ids->at == NULL && ids->capacity > 0))
        return takt_fail(t->ctx, TAKT_E_ARGUMENT, "takt_tokenize: text or ids->at is NULL");
    encoding e = {
        .t = t, .merging.ctx = t->ctx, .ids.ctx = t->ctx, .begins = true, .is_first = true};
    e.cutting = (takt_cutting){.t = t, .word = encode_word, .user = &e};
    const bool adds = (flags & TAKT_TOKENIZE_ADD) != 0;
    if (adds)
        add_all(&e, t->prefix, t->prefix_count);
    encode(&e, (takt_span){text, length}, (flags & TAKT_TOKENIZE_PARSE) != 0);
    if (adds)
        add_all(&e, t->suffix, t->suffix_count);
    if (e.ids.status == TAKT_OK) {
        ids->count = e.ids.count;
        const size_t copied = e.ids.count < ids->capacity ? e.ids.count : ids->capacity;
        if (copied > 0)
            memcpy(ids->at, e.ids.at, copied * sizeof *ids->at);
    }
    takt_mem_put(t->ctx, e.ids.at, e.ids.capacity * sizeof *e.ids.at);
    takt_merging_deinit(&e.merging);
    takt_cutting_deinit(&e.cutting);
    return e.ids.status;
}

/* ---- without tokenizing ---- */

static bool shrinks(const takt_normal *n)
{
    if (n->kind == TAKT_NORMAL_REPLACE)
        return n->b.length < n->a.length;
    return n->kind != TAKT_NORMAL_PREPEND && n->kind != TAKT_NORMAL_SPELL;
}

/* Whether every byte of a text is part of a token, and an unknown character a token by itself. */
static bool covers_texts(const takt_tokenizer *t)
{
    bool has_bytes = true;
    for (size_t b = 0; b < 256; b++)
        has_bytes = has_bytes && t->bytes[b] >= 0;
    for (size_t i = 0; i < t->normal_count; i++)
        if (shrinks(&t->normals[i]))
            return false;
    for (size_t i = 0; i < t->cut_count; i++)
        if (t->cuts[i].kind == TAKT_CUT_REMOVED)
            return false;
    for (size_t i = 0; i < t->trie.added_count; i++)
        if (t->trie.added[i].strips_left || t->trie.added[i].strips_right)
            return false;
    if (t->model == TAKT_TOKENIZER_SCORES)
        return (has_bytes || t->roles[TAKT_TOKEN_UNK] >= 0) && !t->joins_unknown;
    return t->model == TAKT_TOKENIZER_BYTES && has_bytes;
}

size_t takt_tokenizer_least(const takt_tokenizer *t, size_t length)
{
    enum { CHARACTER = 4 };
    return covers_texts(t) ? length / (t->longest > CHARACTER ? t->longest : CHARACTER) : 0;
}
