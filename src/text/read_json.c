/* read_json.c - Hugging Face's tokenizer.json: vocabulary, merges and added tokens. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "text/tokenizer.h"

#define REFUSE(t, ...) takt_tokenizer_fail((t), TAKT_E_TOKENIZER, __VA_ARGS__)

static const takt_json *member(const takt_json *object, const char *key, takt_json_kind kind)
{
    const takt_json *v =
        object != NULL && object->kind == TAKT_JSON_OBJECT ? takt_json_get(object, key) : NULL;
    return v != NULL && v->kind == kind ? v : NULL;
}

static bool is_on(const takt_json *object, const char *key)
{
    const takt_json *v = member(object, key, TAKT_JSON_BOOL);
    return v != NULL && v->boolean;
}

/* ---- tokens ---- */

/* Number of ids; gaps are allowed, but not enough of them that a small file takes much memory. */
static takt_status count_ids(takt_tokenizer *t, const takt_json *vocab, const takt_json *added,
                             size_t *count)
{
    const uint64_t most = 2 * ((uint64_t)vocab->count + (added != NULL ? added->count : 0)) + 1024;
    *count = 0;
    if (vocab->kind == TAKT_JSON_ARRAY)
        *count = vocab->count;
    for (const takt_json *v = *count == 0 ? takt_json_first(vocab) : NULL; v != NULL;
         v = takt_json_next(v)) {
        if (v->kind != TAKT_JSON_NUMBER || !v->is_integer || v->integer < 0 ||
            (uint64_t)v->integer >= most)
            return REFUSE(t, "the id of a token is not a number, or far beyond the others");
        if ((size_t)v->integer >= *count)
            *count = (size_t)v->integer + 1;
    }
    const takt_json *a = added != NULL ? takt_json_first(added) : NULL;
    for (; a != NULL; a = takt_json_next(a)) {
        const takt_json *id = member(a, "id", TAKT_JSON_NUMBER);
        if (id == NULL || !id->is_integer || id->integer < 0 || (uint64_t)id->integer >= most ||
            member(a, "content", TAKT_JSON_STRING) == NULL)
            return REFUSE(t, "an added token has no content, or no possible id");
        if ((size_t)id->integer >= *count)
            *count = (size_t)id->integer + 1;
    }
    return TAKT_OK;
}

/* The text of a word-piece: "##x" continues a word, "x" begins one. */
static takt_status keep_piece(takt_tokenizer *t, takt_span text, takt_span *out)
{
    const size_t prefix = t->piece_prefix.length;
    const bool goes_on = text.length > prefix && takt_span_begins(text, t->piece_prefix);
    char *copy =
        goes_on ? takt_arena_text(&t->arena, text.at + prefix, text.length - prefix)
                : takt_arena_format(&t->arena, TAKT_TOKEN_MARK "%.*s", (int)text.length, text.at);
    if (copy == NULL)
        return TAKT_ERR_MEMORY;
    *out = (takt_span){copy, goes_on ? text.length - prefix : text.length + TAKT_TOKEN_MARK_BYTES};
    return TAKT_OK;
}

static takt_status keep(takt_tokenizer *t, takt_span text, bool is_added, takt_span *out)
{
    if (!is_added && t->model == TAKT_TOKENIZER_WORDS)
        return keep_piece(t, text, out);
    if (!is_added && t->model == TAKT_TOKENIZER_BYTES)
        return takt_tokenizer_unmap(t, text, out);
    const char *copy = takt_arena_text(&t->arena, text.at, text.length);
    *out = (takt_span){copy, text.length};
    return copy != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

/* Added tokens first: their contents are their texts. */
static takt_status read_added(takt_tokenizer *t, const takt_json *added)
{
    const size_t count = added != NULL ? added->count : 0;
    t->trie.added = takt_arena_array(&t->arena, count + 1, sizeof *t->trie.added);
    if (t->trie.added == NULL)
        return TAKT_ERR_MEMORY;
    for (const takt_json *a = count > 0 ? takt_json_first(added) : NULL; a != NULL;
         a = takt_json_next(a)) {
        const size_t id = (size_t)member(a, "id", TAKT_JSON_NUMBER)->integer;
        const takt_json *content = member(a, "content", TAKT_JSON_STRING);
        if (t->texts[id].at != NULL)
            return REFUSE(t, "two added tokens have the id %zu", id);
        if (content->text_length == 0)
            continue;
        TAKT_TRY(keep(t, (takt_span){content->text, content->text_length}, true, &t->texts[id]));
        t->kinds[id] = is_on(a, "special") ? TAKT_TOKEN_CONTROL : TAKT_TOKEN_USER;
        t->trie.added[t->trie.added_count++] = (takt_added){.id = (int32_t)id,
                                                            .is_control = is_on(a, "special"),
                                                            .strips_left = is_on(a, "lstrip"),
                                                            .strips_right = is_on(a, "rstrip"),
                                                            .is_word = is_on(a, "single_word")};
    }
    return TAKT_OK;
}

static bool is_added(const takt_tokenizer *t, size_t id, const char *text)
{
    return (t->kinds[id] == TAKT_TOKEN_CONTROL || t->kinds[id] == TAKT_TOKEN_USER) &&
           takt_span_is(t->texts[id], text);
}

static takt_status read_vocab(takt_tokenizer *t, const takt_json *vocab)
{
    for (const takt_json *v = takt_json_first(vocab); v != NULL; v = takt_json_next(v)) {
        const size_t id = (size_t)v->integer;
        if (is_added(t, id, v->key))
            continue;
        if (t->texts[id].at != NULL)
            return REFUSE(t, "two tokens have the id %zu", id);
        TAKT_TRY(keep(t, takt_span_of(v->key), false, &t->texts[id]));
    }
    return TAKT_OK;
}

/* ---- merges ---- */

/* "a b", or in newer files ["a", "b"]. */
static bool pair_of(const takt_json *v, takt_span pair[2])
{
    if (v->kind == TAKT_JSON_STRING) {
        const char *space = v->text_length > 2 ? strchr(v->text + 1, ' ') : NULL;
        if (space == NULL)
            return false;
        pair[0] = (takt_span){v->text, (size_t)(space - v->text)};
        pair[1] = takt_span_of(space + 1);
        return true;
    }
    const takt_json *a = v->kind == TAKT_JSON_ARRAY && v->count == 2 ? takt_json_first(v) : NULL;
    const takt_json *b = a != NULL ? takt_json_next(a) : NULL;
    if (b == NULL || a->kind != TAKT_JSON_STRING || b->kind != TAKT_JSON_STRING)
        return false;
    pair[0] = (takt_span){a->text, a->text_length};
    pair[1] = (takt_span){b->text, b->text_length};
    return true;
}

static takt_status read_merges(takt_tokenizer *t, const takt_json *merges)
{
    uint32_t rank = 0;
    if (merges == NULL)
        return REFUSE(t, "the model has no merges");
    TAKT_TRY(takt_merges_init(&t->merges, &t->arena, merges->count));
    for (const takt_json *v = takt_json_first(merges); v != NULL; v = takt_json_next(v), rank++) {
        takt_span pair[2];
        if (!pair_of(v, pair))
            return REFUSE(t, "merge %u is not a pair", rank);
        TAKT_TRY(keep(t, pair[0], false, &pair[0]));
        TAKT_TRY(keep(t, pair[1], false, &pair[1]));
        TAKT_TRY(takt_tokenizer_merge(t, pair[0], pair[1], rank));
    }
    return TAKT_OK;
}

/* ---- the model ---- */

/* What tokens within or at the end of a word have more than their text; "" if there is none. */
static takt_status read_affix(takt_tokenizer *t, const takt_json *model, const char *key,
                              takt_span *affix)
{
    const takt_json *v = member(model, key, TAKT_JSON_STRING);
    const size_t length = v != NULL ? v->text_length : 0;
    const char *copy = takt_arena_text(&t->arena, v != NULL ? v->text : "", length);
    *affix = (takt_span){copy, length};
    return copy != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

static takt_status find_model(takt_tokenizer *t, const takt_json *root, const takt_json *model)
{
    const takt_json *type = member(model, "type", TAKT_JSON_STRING);
    const char *name = type != NULL                             ? type->text
                       : takt_json_get(model, "merges") != NULL ? "BPE"
                                                                : "WordPiece";
    if (strcmp(name, "WordPiece") == 0) {
        const takt_json *limit = member(model, "max_input_chars_per_word", TAKT_JSON_NUMBER);
        t->model = TAKT_TOKENIZER_WORDS;
        t->word_limit = limit != NULL && limit->integer > 0 ? (size_t)limit->integer : 100;
        TAKT_TRY(read_affix(t, model, "continuing_subword_prefix", &t->piece_prefix));
        if (takt_json_get(model, "continuing_subword_prefix") == NULL)
            t->piece_prefix = takt_span_of("##");
        return t->piece_prefix.length > 0
                   ? TAKT_OK
                   : takt_tokenizer_fail(t, TAKT_E_TOKENIZER_UNSUPPORTED,
                                         "WordPiece without a prefix for pieces that go on");
    }
    if (strcmp(name, "Unigram") == 0) {
        t->model = TAKT_TOKENIZER_UNIGRAM;
        return TAKT_OK;
    }
    if (strcmp(name, "WordLevel") == 0) {
        t->model = TAKT_TOKENIZER_WHOLE;
        return TAKT_OK;
    }
    if (strcmp(name, "BPE") != 0)
        return takt_tokenizer_fail(
            t, TAKT_E_TOKENIZER_UNSUPPORTED,
            "the model is %.40s; BPE, WordPiece, WordLevel and Unigram are read", name);
    TAKT_TRY(read_affix(t, model, "continuing_subword_prefix", &t->piece_prefix));
    TAKT_TRY(read_affix(t, model, "end_of_word_suffix", &t->word_suffix));
    if (t->piece_prefix.length + t->word_suffix.length > TAKT_AFFIX_BYTES)
        return REFUSE(t, "prefix and suffix of tokens have more than %d bytes", TAKT_AFFIX_BYTES);
    const bool is_bytes =
        takt_tokenizer_has_stage(takt_json_get(root, "pre_tokenizer"), "ByteLevel") ||
        (takt_tokenizer_has_stage(takt_json_get(root, "decoder"), "ByteLevel") &&
         !takt_tokenizer_has_stage(takt_json_get(root, "normalizer"), "ByteLevel"));
    t->model = is_bytes ? TAKT_TOKENIZER_BYTES : TAKT_TOKENIZER_CHARS;
    t->takes_whole = is_on(model, "ignore_merges");
    t->joins_unknown = is_on(model, "fuse_unk");
    return TAKT_OK;
}

/* A token by its text in the file, or -1. Of WordPiece, one that is not added begins a word. */
static int32_t find_named(const takt_tokenizer *t, const char *name)
{
    char text[64];
    const int32_t id = (int32_t)takt_spans_find(&t->index, takt_span_of(name));
    if (id >= 0 || t->model != TAKT_TOKENIZER_WORDS ||
        strlen(name) >= sizeof text - TAKT_TOKEN_MARK_BYTES)
        return id;
    (void)snprintf(text, sizeof text, "%s%s", TAKT_TOKEN_MARK, name);
    return (int32_t)takt_spans_find(&t->index, takt_span_of(text));
}

/* By their common names. */
static void find_roles(takt_tokenizer *t, const takt_json *model)
{
    static const struct {
        takt_token_role role;
        const char *names[6];
    } known[] = {
        {TAKT_TOKEN_BOS, {"<s>", "<|begin_of_text|>", "<bos>", "<|startoftext|>", "[CLS]"}},
        {TAKT_TOKEN_EOS, {"</s>", "<|end_of_text|>", "<eos>", "<|endoftext|>", "[SEP]"}},
        {TAKT_TOKEN_UNK, {"<unk>", "[UNK]"}},
        {TAKT_TOKEN_PAD, {"<pad>", "[PAD]", "<|pad|>"}},
        {TAKT_TOKEN_CLS, {"[CLS]", "<s>"}},
        {TAKT_TOKEN_SEP, {"[SEP]", "</s>"}},
        {TAKT_TOKEN_MASK, {"[MASK]", "<mask>"}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (size_t k = 0; k < 6 && known[i].names[k] != NULL && t->roles[known[i].role] < 0; k++)
            t->roles[known[i].role] = find_named(t, known[i].names[k]);
    const takt_json *unknown = member(model, "unk_token", TAKT_JSON_STRING);
    if (unknown != NULL) {
        const int32_t id = find_named(t, unknown->text);
        t->roles[TAKT_TOKEN_UNK] = id >= 0 ? id : t->roles[TAKT_TOKEN_UNK];
    }
    takt_tokenizer_guess_roles(t);
}

static takt_status read_root(takt_tokenizer *t, const takt_json *root)
{
    const takt_json *model = member(root, "model", TAKT_JSON_OBJECT);
    const takt_json *vocab = NULL;
    const takt_json *added = member(root, "added_tokens", TAKT_JSON_ARRAY);
    size_t count;
    if (model == NULL)
        return takt_tokenizer_fail(t, TAKT_E_TOKENIZER_MISSING,
                                   "this JSON file holds no tokenizer: it has no model");
    TAKT_TRY(find_model(t, root, model));
    const bool is_list = t->model == TAKT_TOKENIZER_UNIGRAM;
    vocab = member(model, "vocab", is_list ? TAKT_JSON_ARRAY : TAKT_JSON_OBJECT);
    if (vocab == NULL)
        return REFUSE(t, "the model has no vocab");
    TAKT_TRY(count_ids(t, vocab, added, &count));
    TAKT_TRY(takt_tokenizer_reserve(t, count));
    TAKT_TRY(read_added(t, added));
    TAKT_TRY(is_list ? takt_tokenizer_read_unigram(t, model) : read_vocab(t, vocab));
    TAKT_TRY(takt_tokenizer_index(t));
    if (is_list)
        TAKT_TRY(takt_unigram_check(t));
    if (t->model == TAKT_TOKENIZER_BYTES || t->model == TAKT_TOKENIZER_CHARS)
        TAKT_TRY(read_merges(t, member(model, "merges", TAKT_JSON_ARRAY)));
    if ((t->model == TAKT_TOKENIZER_CHARS || is_list) && !is_on(model, "byte_fallback"))
        for (size_t b = 0; b < 256; b++)
            t->bytes[b] = -1;
    find_roles(t, model);
    const takt_json *unknown = is_list ? member(model, "unk_id", TAKT_JSON_NUMBER) : NULL;
    if (unknown != NULL &&
        (!unknown->is_integer || unknown->integer < 0 || (uint64_t)unknown->integer >= t->count))
        return REFUSE(t, "unk_id is not an id of the vocabulary, which has %zu tokens", t->count);
    if (unknown != NULL)
        t->roles[TAKT_TOKEN_UNK] = (int32_t)unknown->integer;
    TAKT_TRY(takt_tokenizer_read_stages(t, root));
    return takt_trie_build(t);
}

takt_status takt_tokenizer_read_json(takt_tokenizer *t, const char *bytes, size_t length)
{
    takt_arena arena;
    const takt_json *root;
    takt_arena_init(&arena, t->ctx);
    takt_status status = takt_json_parse(t->ctx, &arena, bytes, length, &root);
    if (status == TAKT_OK)
        status = read_root(t, root);
    takt_arena_deinit(&arena);
    return status;
}
