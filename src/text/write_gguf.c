/* write_gguf.c - a tokenizer as the metadata of a GGUF file: tokenizer.ggml.*. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "io/gguf/gguf_write.h"
#include "text/tokenizer.h"

/* ---- texts of tokens ---- */

static bool is_added(const takt_tokenizer *t, size_t id)
{
    return t->kinds[id] != TAKT_TOKEN_NORMAL && t->kinds[id] != TAKT_TOKEN_BYTE;
}

/* The name of a token in the file. */
static void name_of(const takt_tokenizer *t, size_t id, takt_text *to)
{
    to->length = 0;
    if (id >= t->count || t->texts[id].length == 0) {
        takt_text_add(to, "[PAD%zu]", id);
        return;
    }
    const takt_span text = t->texts[id];
    if (t->model != TAKT_TOKENIZER_BYTES || is_added(t, id)) {
        takt_text_put(to, text.at, text.length);
        return;
    }
    takt_token_spell(text, to);
}

static void put_tokens(const takt_tokenizer *t, size_t count, takt_gguf_keys *k)
{
    takt_text name;
    takt_text_init(&name, t->ctx);
    takt_gguf_put_array(k, "tokenizer.ggml.tokens", TAKT_GGUF_STRING, count);
    for (size_t i = 0; i < count; i++) {
        name_of(t, i, &name);
        takt_gguf_put_span(k, (takt_span){takt_text_get(&name), name.length});
    }
    takt_gguf_put_array(k, "tokenizer.ggml.token_type", TAKT_GGUF_I32, count);
    for (size_t i = 0; i < count; i++)
        takt_gguf_put_word(k, i < t->count && t->texts[i].length > 0 ? t->kinds[i]
                                                                     : TAKT_TOKEN_UNUSED);
    if (name.status != TAKT_OK)
        k->text.status = name.status;
    takt_text_deinit(&name);
}

/* ---- merges ---- */

static bool by_rank(const void *a, const void *b)
{
    return ((const takt_merge *)a)->rank < ((const takt_merge *)b)->rank;
}

/* All of them in order; free `*at` with takt_mem_put. */
static takt_status sorted_merges(const takt_tokenizer *t, const void ***at, size_t *count)
{
    const size_t slots = t->merges.at != NULL ? t->merges.mask + 1 : 0;
    void *block = NULL;
    *count = 0;
    *at = NULL;
    TAKT_TRY(takt_mem_zero(t->ctx, slots + 1, sizeof **at, "merges", &block));
    *at = block;
    for (size_t i = 0; i < slots; i++)
        if (t->merges.at[i].left >= 0)
            (*at)[(*count)++] = &t->merges.at[i];
    takt_sort_pointers(*at, *count, by_rank);
    return TAKT_OK;
}

static void put_merges(const takt_tokenizer *t, const void **at, size_t count, takt_gguf_keys *k)
{
    takt_text left, right;
    takt_text_init(&left, t->ctx);
    takt_text_init(&right, t->ctx);
    takt_gguf_put_array(k, "tokenizer.ggml.merges", TAKT_GGUF_STRING, count);
    for (size_t i = 0; i < count; i++) {
        const takt_merge *m = at[i];
        name_of(t, (size_t)m->left, &left);
        name_of(t, (size_t)m->right, &right);
        takt_text_add(&left, " ");
        takt_text_put(&left, takt_text_get(&right), right.length);
        takt_gguf_put_span(k, (takt_span){takt_text_get(&left), left.length});
    }
    if (left.status != TAKT_OK || right.status != TAKT_OK)
        k->text.status = TAKT_ERR_MEMORY;
    takt_text_deinit(&left);
    takt_text_deinit(&right);
}

/* SentencePiece's scores. In a vocabulary with merges, tokens of earlier merges score higher. */
static takt_status put_scores(const takt_tokenizer *t, size_t count, const void **merges,
                              size_t merge_count, takt_gguf_keys *k)
{
    void *block;
    TAKT_TRY(takt_mem_zero(t->ctx, count + 1, sizeof(float), "scores", &block));
    float *scores = block;
    for (size_t i = 0; i < t->count && i < count; i++)
        scores[i] = t->scores[i];
    for (size_t i = merge_count; i > 0; i--) {
        const takt_merge *m = merges[i - 1];
        if ((size_t)m->into < count)
            scores[m->into] = -(float)m->rank;
    }
    takt_gguf_put_array(k, "tokenizer.ggml.scores", TAKT_GGUF_F32, count);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &scores[i], sizeof bits);
        takt_gguf_put_word(k, bits);
    }
    takt_mem_put(t->ctx, block, (count + 1) * sizeof *scores);
    return TAKT_OK;
}

/* ---- the rest ---- */

static void put_roles(const takt_tokenizer *t, takt_gguf_keys *k)
{
    static const struct {
        const char *key;
        takt_token_role role;
    } keys[] = {
        {"tokenizer.ggml.bos_token_id", TAKT_TOKEN_BOS},
        {"tokenizer.ggml.eos_token_id", TAKT_TOKEN_EOS},
        {"tokenizer.ggml.unknown_token_id", TAKT_TOKEN_UNK},
        {"tokenizer.ggml.padding_token_id", TAKT_TOKEN_PAD},
        {"tokenizer.ggml.cls_token_id", TAKT_TOKEN_CLS},
        {"tokenizer.ggml.seperator_token_id", TAKT_TOKEN_SEP}, /* the format's own spelling */
        {"tokenizer.ggml.mask_token_id", TAKT_TOKEN_MASK},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (t->roles[keys[i].role] >= 0)
            takt_gguf_put_u32(k, keys[i].key, (uint32_t)t->roles[keys[i].role]);
    takt_gguf_put_bool(k, "tokenizer.ggml.add_bos_token", t->prefix_count > 0);
    takt_gguf_put_bool(k, "tokenizer.ggml.add_eos_token", t->suffix_count > 0);
    if (t->chat != NULL)
        takt_gguf_put_text(k, "tokenizer.chat_template", takt_span_of(t->chat));
}

/* The table of characters as read, and the handling of spaces. */
static void put_normal(const takt_tokenizer *t, takt_gguf_keys *k)
{
    const takt_charsmap *m = &t->charsmap;
    bool strips = false;
    for (size_t i = 0; i < t->normal_count; i++)
        strips = strips || t->normals[i].kind == TAKT_NORMAL_SPACES;
    takt_gguf_put_bool(k, "tokenizer.ggml.remove_extra_whitespaces", strips);
    if (m->count == 0)
        return;
    takt_gguf_put_array(k, "tokenizer.ggml.precompiled_charsmap", TAKT_GGUF_U8,
                        4 + 4 * m->count + m->length);
    takt_gguf_put_word(k, (uint32_t)(4 * m->count));
    for (size_t i = 0; i < m->count; i++)
        takt_gguf_put_word(k, m->units[i]);
    takt_text_put(&k->text, m->texts, m->length);
}

/* GGUF's name for the way texts are split; NULL: it has none. */
static const char *pre_of(const takt_tokenizer *t)
{
    if (t->cut_count > 0)
        return takt_pre_of(t->cuts, t->cut_count);
    return t->model == TAKT_TOKENIZER_BYTES && t->scan != NULL ? t->scan->name : "default";
}

/* Features of tokenizer.json that the format lacks: ids would be different. */
static bool has_more(const takt_tokenizer *t)
{
    const bool is_words = t->model == TAKT_TOKENIZER_WORDS;
    bool has = t->word_suffix.length > 0 || (!is_words && t->piece_prefix.length > 0) ||
               (is_words && !t->splits_as_bert);
    for (size_t i = 0; i < t->normal_count; i++) {
        const takt_normal_kind kind = t->normals[i].kind;
        has = has || kind == TAKT_NORMAL_NFKC || kind == TAKT_NORMAL_NFKD ||
              kind == TAKT_NORMAL_NMT || kind == TAKT_NORMAL_SPELL || kind == TAKT_NORMAL_PATTERN;
    }
    return has;
}

/* The format cannot express the normalisation that SentencePiece's BPE may need. */
static takt_status check(const takt_tokenizer *t)
{
    for (size_t i = 0; t->model == TAKT_TOKENIZER_SCORES && i < t->normal_count; i++)
        if (t->normals[i].kind == TAKT_NORMAL_CHARSMAP || t->normals[i].kind == TAKT_NORMAL_SPACES)
            return takt_fail(t->ctx, TAKT_E_TOKENIZER_UNSUPPORTED,
                             "GGUF files cannot say that a BPE of SentencePiece replaces "
                             "characters or removes spaces");
    if (t->model == TAKT_TOKENIZER_WHOLE || t->ranks_ids)
        return takt_fail(t->ctx, TAKT_E_TOKENIZER_UNSUPPORTED,
                         "GGUF files have no tokenizers of the kind %s without merges",
                         takt_tokenizer_kind(t));
    if (t->cut_count > 0 && (t->model != TAKT_TOKENIZER_BYTES || pre_of(t) == NULL))
        return takt_fail(t->ctx, TAKT_E_TOKENIZER_UNSUPPORTED,
                         "GGUF files have no name for the patterns that cut texts here");
    if (has_more(t))
        return takt_fail(t->ctx, TAKT_E_TOKENIZER_UNSUPPORTED,
                         "GGUF files cannot say how this tokenizer marks words or changes texts");
    return TAKT_OK;
}

takt_status takt_tokenizer_write_gguf(const takt_tokenizer *t, size_t count, takt_gguf_keys *k)
{
    static const char *const models[] = {"gpt2", "llama", "llama", "bert", "t5", ""};
    const void **merges;
    size_t merge_count;
    TAKT_TRY(check(t));
    TAKT_TRY(sorted_merges(t, &merges, &merge_count));
    takt_status status = TAKT_OK;
    count = count > t->count ? count : t->count;
    takt_gguf_put_text(k, "tokenizer.ggml.model", takt_span_of(models[t->model]));
    takt_gguf_put_text(k, "tokenizer.ggml.pre", takt_span_of(pre_of(t)));
    put_tokens(t, count, k);
    if (t->model == TAKT_TOKENIZER_BYTES)
        put_merges(t, merges, merge_count, k);
    if (t->model == TAKT_TOKENIZER_SCORES || t->model == TAKT_TOKENIZER_CHARS ||
        t->model == TAKT_TOKENIZER_UNIGRAM) {
        takt_gguf_put_bool(k, "tokenizer.ggml.add_space_prefix", t->begins_spaced);
        status = put_scores(t, count, merges, merge_count, k);
    }
    if (t->model == TAKT_TOKENIZER_UNIGRAM)
        put_normal(t, k);
    put_roles(t, k);
    takt_mem_put(t->ctx, merges,
                 ((t->merges.at != NULL ? t->merges.mask + 1 : 0) + 1) * sizeof *merges);
    return status;
}
