/* read_gguf.c - the vocabulary of a GGUF file: tokenizer.ggml.*. */
#include <math.h>
#include <string.h>

#include "io/gguf/gguf.h"
#include "text/tokenizer.h"

typedef struct reader {
    takt_tokenizer *t;
    const takt_gguf *g;
    const takt_gguf_value *tokens;
} reader;

static takt_status refuse(const reader *r, const takt_gguf_value *v, const char *why)
{
    return takt_gguf_fail(r->g, TAKT_E_TOKENIZER, v->offset, "%s %s", v->key, why);
}

/* ---- tables ---- */

static takt_status read_tokens(const reader *r)
{
    takt_tokenizer *t = r->t;
    const takt_gguf_value *v = r->tokens;
    if (!v->is_array || v->kind != TAKT_GGUF_STRING)
        return refuse(r, v, "is not a list of texts");
    TAKT_TRY(takt_tokenizer_reserve(t, v->count));
    for (size_t i = 0; i < v->count; i++) {
        const takt_span text = v->texts[i];
        if (t->model == TAKT_TOKENIZER_BYTES) {
            TAKT_TRY(takt_tokenizer_unmap(t, text, &t->texts[i]));
            continue;
        }
        const char *copy = takt_arena_text(&t->arena, text.at, text.length);
        if (copy == NULL)
            return TAKT_ERR_MEMORY;
        t->texts[i] = (takt_span){copy, text.length};
    }
    return TAKT_OK;
}

static takt_status read_scores(const reader *r)
{
    const takt_gguf_value *v = takt_gguf_find(r->g, "tokenizer.ggml.scores");
    if (v == NULL)
        return r->t->model != TAKT_TOKENIZER_BYTES
                   ? refuse(r, r->tokens, "comes without tokenizer.ggml.scores")
                   : TAKT_OK;
    if (!v->is_array || v->kind != TAKT_GGUF_F32 || v->count != r->t->count)
        return refuse(r, v, "is not one number for each token");
    for (size_t i = 0; i < v->count; i++) {
        r->t->scores[i] = (float)takt_gguf_number(v, i);
        if (isnan(r->t->scores[i]))
            return refuse(r, v, "holds NaN");
    }
    return TAKT_OK;
}

static takt_status read_kinds(const reader *r)
{
    const takt_gguf_value *v = takt_gguf_find(r->g, "tokenizer.ggml.token_type");
    if (v == NULL)
        return TAKT_OK;
    if (!v->is_array || !takt_gguf_is_number(v) || v->count != r->t->count)
        return refuse(r, v, "is not one number for each token");
    for (size_t i = 0; i < v->count; i++) {
        int64_t kind = 0;
        if (!takt_gguf_integer(v, i, &kind) || kind < 0 || kind > TAKT_TOKEN_BYTE)
            return refuse(r, v, "holds an unknown type of token");
        r->t->kinds[i] = (uint8_t)(kind != 0 ? kind : TAKT_TOKEN_NORMAL);
    }
    return TAKT_OK;
}

/* "a b": the first space that is not the first character separates them. */
static takt_status read_merges(const reader *r)
{
    takt_tokenizer *t = r->t;
    const takt_gguf_value *v = takt_gguf_find(r->g, "tokenizer.ggml.merges");
    if (v == NULL)
        return refuse(r, r->tokens, "comes without tokenizer.ggml.merges");
    if (!v->is_array || v->kind != TAKT_GGUF_STRING)
        return refuse(r, v, "is not a list of texts");
    TAKT_TRY(takt_merges_init(&t->merges, &t->arena, v->count));
    for (size_t i = 0; i < v->count; i++) {
        const takt_span text = v->texts[i];
        const char *space = text.length > 2 ? memchr(text.at + 1, ' ', text.length - 1) : NULL;
        takt_span left, right;
        if (space == NULL)
            return refuse(r, v, "holds a merge that is not a pair");
        const size_t first = (size_t)(space - text.at);
        left = (takt_span){text.at, first};
        right = (takt_span){space + 1, text.length - first - 1};
        if (t->model == TAKT_TOKENIZER_BYTES) {
            TAKT_TRY(takt_tokenizer_unmap(t, left, &left));
            TAKT_TRY(takt_tokenizer_unmap(t, right, &right));
        }
        TAKT_TRY(takt_tokenizer_merge(t, left, right, (uint32_t)i));
    }
    return TAKT_OK;
}

/* ---- settings ---- */

static takt_status read_roles(const reader *r)
{
    static const struct {
        const char *key;
        takt_token_role role;
    } keys[] = {
        {"tokenizer.ggml.bos_token_id", TAKT_TOKEN_BOS},
        {"tokenizer.ggml.eos_token_id", TAKT_TOKEN_EOS},
        {"tokenizer.ggml.eot_token_id", TAKT_TOKEN_EOT},
        {"tokenizer.ggml.unknown_token_id", TAKT_TOKEN_UNK},
        {"tokenizer.ggml.padding_token_id", TAKT_TOKEN_PAD},
        {"tokenizer.ggml.cls_token_id", TAKT_TOKEN_CLS},
        {"tokenizer.ggml.seperator_token_id", TAKT_TOKEN_SEP}, /* the format's own spelling */
        {"tokenizer.ggml.mask_token_id", TAKT_TOKEN_MASK},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        int64_t id = -1;
        TAKT_TRY(takt_gguf_get_integer(r->g, keys[i].key, &id));
        if (id == -1 || id == UINT32_MAX) /* how writers say "none" */
            continue;
        if (id < 0 || (uint64_t)id >= r->t->count)
            return takt_gguf_fail(r->g, TAKT_E_TOKENIZER, takt_gguf_find(r->g, keys[i].key)->offset,
                                  "%s is %lld; the vocabulary has %zu tokens", keys[i].key,
                                  (long long)id, r->t->count);
        r->t->roles[keys[i].role] = (int32_t)id;
    }
    return TAKT_OK;
}

/* Tokens around a text; the default depends on the model unless the file sets it. */
static takt_status read_affixes(const reader *r, bool adds_bos, bool adds_eos)
{
    takt_tokenizer *t = r->t;
    const bool is_bert = t->model == TAKT_TOKENIZER_WORDS;
    TAKT_TRY(takt_gguf_get_bool(r->g, "tokenizer.ggml.add_bos_token", &adds_bos));
    TAKT_TRY(takt_gguf_get_bool(r->g, "tokenizer.ggml.add_eos_token", &adds_eos));
    int32_t first = t->roles[is_bert ? TAKT_TOKEN_CLS : TAKT_TOKEN_BOS];
    int32_t last = t->roles[is_bert ? TAKT_TOKEN_SEP : TAKT_TOKEN_EOS];
    first = first >= 0 ? first : t->roles[TAKT_TOKEN_BOS];
    last = last >= 0 ? last : t->roles[TAKT_TOKEN_EOS];
    if (adds_bos && first >= 0)
        t->prefix[t->prefix_count++] = first;
    if (adds_eos && last >= 0)
        t->suffix[t->suffix_count++] = last;
    return TAKT_OK;
}

static takt_status add_special(takt_tokenizer *t)
{
    takt_trie *trie = &t->trie;
    trie->added = takt_arena_array(&t->arena, t->count, sizeof *trie->added);
    if (trie->added == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < t->count; i++) {
        const takt_token_kind kind = (takt_token_kind)t->kinds[i];
        const bool is_command = kind == TAKT_TOKEN_CONTROL || kind == TAKT_TOKEN_UNKNOWN;
        if ((is_command || kind == TAKT_TOKEN_USER) && t->texts[i].length > 0)
            trie->added[trie->added_count++] =
                (takt_added){.id = (int32_t)i, .is_control = is_command};
    }
    return takt_trie_build(t);
}

/* ---- models ---- */

static takt_normal normal(takt_normal_kind kind, const char *a, const char *b)
{
    return (takt_normal){kind, takt_span_of(a), takt_span_of(b), NULL};
}

static takt_status read_llama(const reader *r)
{
    takt_tokenizer *t = r->t;
    bool spaced = true;
    t->model = TAKT_TOKENIZER_SCORES;
    TAKT_TRY(read_tokens(r));
    TAKT_TRY(read_scores(r));
    TAKT_TRY(read_kinds(r));
    TAKT_TRY(takt_tokenizer_index(t));
    /* SentencePiece's defaults, where the file sets nothing. */
    t->roles[TAKT_TOKEN_UNK] = t->count > 0 ? 0 : -1;
    t->roles[TAKT_TOKEN_BOS] = t->count > 1 ? 1 : -1;
    t->roles[TAKT_TOKEN_EOS] = t->count > 2 ? 2 : -1;
    TAKT_TRY(read_roles(r));
    TAKT_TRY(takt_gguf_get_bool(r->g, "tokenizer.ggml.add_space_prefix", &spaced));
    t->begins_spaced = spaced;
    if (spaced)
        t->normals[t->normal_count++] = normal(TAKT_NORMAL_PREPEND, " ", "");
    t->normals[t->normal_count++] = normal(TAKT_NORMAL_REPLACE, " ", TAKT_TOKEN_MARK);
    return read_affixes(r, true, false);
}

/* A scanner, or named patterns. */
static takt_status find_words(const reader *r, const takt_pre **pre)
{
    takt_tokenizer *t = r->t;
    takt_span name = takt_span_of(""), model = name;
    TAKT_TRY(takt_gguf_get_text(r->g, "tokenizer.ggml.pre", &name));
    TAKT_TRY(takt_gguf_get_text(r->g, "tokenizer.ggml.model", &model));
    if (!takt_span_is(model, "gpt2"))
        name = model; /* a kind with only one way to split */
    t->scan = takt_scan_named(name);
    *pre = takt_pre_named(name.length > 0 ? name : takt_span_of("default"));
    if (t->scan == NULL && name.length == 0)
        takt_log(t->ctx, TAKT_LOG_WARNING,
                 "%s does not say how texts are cut into words; taken as llama.cpp's default",
                 t->file);
    if (t->scan == NULL && *pre == NULL)
        return takt_tokenizer_fail(
            t, TAKT_E_TOKENIZER_UNSUPPORTED,
            "tokenizer.ggml.pre is %.*s, whose way to cut words Takt does not have",
            (int)(name.length < 60 ? name.length : 60), name.at);
    for (size_t i = 0; t->scan == NULL && (*pre)->patterns[i] != NULL; i++)
        TAKT_TRY(takt_cuts_add(t, takt_span_of((*pre)->patterns[i]), TAKT_CUT_ISOLATED, false));
    return t->scan == NULL ? takt_cuts_settle(t, 0) : TAKT_OK;
}

/* Byte-level BPE, or BPE on characters where the name says so. */
static takt_status read_gpt2(const reader *r)
{
    takt_tokenizer *t = r->t;
    const takt_pre *pre;
    t->model = TAKT_TOKENIZER_BYTES;
    TAKT_TRY(find_words(r, &pre));
    if (t->scan == NULL && (pre->is_plain || pre->is_words))
        t->model = TAKT_TOKENIZER_CHARS;
    if (t->scan == NULL && pre->is_plain)
        t->normals[t->normal_count++] = normal(TAKT_NORMAL_REPLACE, " ", TAKT_TOKEN_MARK);
    TAKT_TRY(read_tokens(r));
    TAKT_TRY(read_kinds(r));
    TAKT_TRY(takt_tokenizer_index(t));
    TAKT_TRY(read_merges(r));
    t->takes_whole = t->scan != NULL ? t->scan->takes_whole : pre->takes_whole;
    TAKT_TRY(read_roles(r));
    return read_affixes(r, t->scan != NULL ? t->scan->adds_first : pre->adds_first, false);
}

/* Unigram, as in SentencePiece. */
static takt_status read_t5(const reader *r)
{
    takt_tokenizer *t = r->t;
    const takt_gguf_value *map = takt_gguf_find(r->g, "tokenizer.ggml.precompiled_charsmap");
    bool spaced = true, strips = false;
    t->model = TAKT_TOKENIZER_UNIGRAM;
    TAKT_TRY(read_tokens(r));
    TAKT_TRY(read_scores(r));
    TAKT_TRY(read_kinds(r));
    TAKT_TRY(takt_tokenizer_index(t));
    TAKT_TRY(takt_unigram_init(t));
    t->roles[TAKT_TOKEN_UNK] = t->count > 2 ? 2 : -1;
    TAKT_TRY(read_roles(r));
    TAKT_TRY(takt_gguf_get_bool(r->g, "tokenizer.ggml.add_space_prefix", &spaced));
    TAKT_TRY(takt_gguf_get_bool(r->g, "tokenizer.ggml.remove_extra_whitespaces", &strips));
    if (map != NULL) {
        if (!map->is_array || (map->kind != TAKT_GGUF_U8 && map->kind != TAKT_GGUF_I8))
            return refuse(r, map, "is not a list of bytes");
        TAKT_TRY(takt_charsmap_read(t, map->bytes, map->count));
        t->normals[t->normal_count++] = normal(TAKT_NORMAL_CHARSMAP, "", "");
    }
    if (strips)
        t->normals[t->normal_count++] = normal(TAKT_NORMAL_SPACES, " ", "");
    t->begins_spaced = spaced;
    if (spaced)
        t->normals[t->normal_count++] = normal(TAKT_NORMAL_PREPEND, " ", "");
    t->normals[t->normal_count++] = normal(TAKT_NORMAL_REPLACE, " ", TAKT_TOKEN_MARK);
    return read_affixes(r, false, true);
}

static takt_status read_bert(const reader *r)
{
    takt_tokenizer *t = r->t;
    t->model = TAKT_TOKENIZER_WORDS;
    t->splits_as_bert = true;
    TAKT_TRY(read_tokens(r));
    TAKT_TRY(read_kinds(r));
    TAKT_TRY(takt_tokenizer_index(t));
    TAKT_TRY(read_roles(r));
    t->normals[t->normal_count++] = normal(TAKT_NORMAL_CLEAN, "", "");
    t->normals[t->normal_count++] = normal(TAKT_NORMAL_NFD, "", "");
    t->normals[t->normal_count++] = normal(TAKT_NORMAL_STRIP_MARKS, "", "");
    t->normals[t->normal_count++] = normal(TAKT_NORMAL_LOWER, "", "");
    return read_affixes(r, true, true);
}

static takt_status read_chat(const reader *r)
{
    takt_span chat = takt_span_of("");
    TAKT_TRY(takt_gguf_get_text(r->g, "tokenizer.chat_template", &chat));
    if (chat.length == 0)
        return TAKT_OK;
    r->t->chat = takt_arena_text(&r->t->arena, chat.at, chat.length);
    return r->t->chat != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

takt_status takt_tokenizer_read_gguf(takt_tokenizer *t, const takt_gguf *g)
{
    reader r = {t, g, takt_gguf_find(g, "tokenizer.ggml.tokens")};
    takt_span model = takt_span_of("");
    TAKT_TRY(takt_gguf_get_text(g, "tokenizer.ggml.model", &model));
    if (r.tokens == NULL || model.length == 0)
        return takt_tokenizer_fail(
            t, TAKT_E_TOKENIZER_MISSING, "the file has no tokenizer%s",
            takt_gguf_find(g, "split.no") != NULL ? "; of a split file the first part has it" : "");
    if (takt_span_is(model, "llama"))
        TAKT_TRY(read_llama(&r));
    else if (takt_span_is(model, "gpt2") || takt_span_is(model, "gemma4") ||
             takt_span_is(model, "whitespace"))
        TAKT_TRY(read_gpt2(&r));
    else if (takt_span_is(model, "bert"))
        TAKT_TRY(read_bert(&r));
    else if (takt_span_is(model, "t5"))
        TAKT_TRY(read_t5(&r));
    else
        return takt_tokenizer_fail(
            t, TAKT_E_TOKENIZER_UNSUPPORTED,
            "the tokenizer is of kind %.*s; llama, gpt2, bert and t5 are read",
            (int)(model.length < 60 ? model.length : 60), model.at);
    takt_tokenizer_guess_roles(t);
    TAKT_TRY(read_chat(&r));
    return add_special(t);
}
