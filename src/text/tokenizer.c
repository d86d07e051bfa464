/* tokenizer.c - creating and freeing tokenizers, and queries about tokens. */
#include "text/tokenizer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "io/file.h"
#include "io/gguf/gguf.h"
#include "io/skim.h"
#include "io/takt/taktp.h"

/* ---- life ---- */

takt_status takt_tokenizer_fail(const takt_tokenizer *t, takt_error_id id, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text[takt_utf8_cut(text, sizeof text - 1)] = '\0';
    (void)takt_fail(t->ctx, id, "%s: %s", t->file, text);
    return id == TAKT_E_TOKENIZER
               ? takt_fail_hint(t->ctx,
                                "write the tokenizer again with the program that made it, or "
                                "take the file from another source")
               : t->ctx->error.status;
}

static takt_status create(takt_ctx *ctx, const char *name, takt_tokenizer **tokenizer)
{
    void *block;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof **tokenizer, "a tokenizer", &block));
    takt_tokenizer *t = block;
    t->ctx = ctx;
    t->file = name;
    takt_arena_init(&t->arena, ctx);
    for (size_t i = 0; i < TAKT_TOKEN_ROLES; i++)
        t->roles[i] = -1;
    for (size_t i = 0; i < 256; i++)
        t->bytes[i] = -1;
    *tokenizer = t;
    return TAKT_OK;
}

void takt_tokenizer_destroy(takt_tokenizer *t)
{
    if (t == NULL)
        return;
    takt_arena_deinit(&t->arena);
    takt_mem_put(t->ctx, t, sizeof *t);
}

takt_status takt_tokenizer_reserve(takt_tokenizer *t, size_t count)
{
    if (count == 0 || count > INT32_MAX / 2)
        return takt_tokenizer_fail(t, TAKT_E_TOKENIZER, "a vocabulary of %zu tokens is impossible",
                                   count);
    t->count = count;
    t->texts = takt_arena_array(&t->arena, count, sizeof *t->texts);
    t->kinds = takt_arena_array(&t->arena, count, sizeof *t->kinds);
    t->scores = takt_arena_array(&t->arena, count, sizeof *t->scores);
    if (t->texts == NULL || t->kinds == NULL || t->scores == NULL)
        return TAKT_ERR_MEMORY;
    memset(t->kinds, TAKT_TOKEN_NORMAL, count);
    return TAKT_OK;
}

int takt_token_byte_named(takt_span text)
{
    unsigned value = 0;
    if (text.length != 6 || memcmp(text.at, "<0x", 3) != 0 || text.at[5] != '>')
        return -1;
    for (size_t i = 3; i < 5; i++) {
        const char c = text.at[i];
        const bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && !(c >= 'A' && c <= 'F'))
            return -1;
        value = value << 4 | (unsigned)(is_digit ? c - '0' : c - 'A' + 10);
    }
    return (int)value;
}

static void find_bytes(takt_tokenizer *t)
{
    for (size_t i = 0; t->model != TAKT_TOKENIZER_BYTES && i < t->count; i++) {
        const int byte = takt_token_byte_named(t->texts[i]);
        if (byte < 0 || t->model == TAKT_TOKENIZER_WORDS)
            continue;
        t->bytes[byte] = (int32_t)i;
        t->kinds[i] = TAKT_TOKEN_BYTE;
    }
    for (int b = 0; t->model == TAKT_TOKENIZER_BYTES && b < 256; b++) {
        const char c = (char)b;
        t->bytes[b] = (int32_t)takt_spans_find(&t->index, (takt_span){&c, 1});
    }
}

/* Whether merges never cross the place before a mark that follows another character. */
static bool marks_begin(const takt_tokenizer *t)
{
    const takt_span mark = {TAKT_TOKEN_MARK, TAKT_TOKEN_MARK_BYTES};
    if (t->model != TAKT_TOKENIZER_SCORES && t->model != TAKT_TOKENIZER_CHARS)
        return false;
    for (size_t i = 0; i < t->count; i++)
        if (takt_span_mark(t->texts[i], 0) < t->texts[i].length)
            return false;
    return takt_spans_find(&t->index, mark) != UINT32_MAX;
}

static bool is_separate(const takt_tokenizer *t, size_t i)
{
    return t->kinds[i] == TAKT_TOKEN_USER || t->kinds[i] == TAKT_TOKEN_CONTROL;
}

/* Added tokens are found by the trie, so one of them may repeat a token of the model, which comes
 * second and takes the text over. */
static takt_status index_texts(takt_tokenizer *t, bool is_added)
{
    for (size_t i = 0; i < t->count; i++) {
        const takt_span text = t->texts[i];
        if (text.length == 0 || is_separate(t, i) != is_added)
            continue; /* empty: a gap in the numbering, no text maps to it */
        const uint32_t other = takt_spans_replace(&t->index, (uint32_t)i);
        if (other != UINT32_MAX && is_separate(t, other) == is_added)
            return takt_tokenizer_fail(t, TAKT_E_TOKENIZER, "token %zu is the same as token %u", i,
                                       other);
        if (text.length > t->longest)
            t->longest = text.length;
    }
    return TAKT_OK;
}

takt_status takt_tokenizer_index(takt_tokenizer *t)
{
    TAKT_TRY(takt_spans_init(&t->index, &t->arena, t->texts, t->count));
    TAKT_TRY(index_texts(t, true));
    TAKT_TRY(index_texts(t, false));
    find_bytes(t);
    t->marks_begin = marks_begin(t);
    return t->model == TAKT_TOKENIZER_WORDS ? takt_wordpiece_index(t) : TAKT_OK;
}

takt_status takt_tokenizer_merge(takt_tokenizer *t, takt_span left, takt_span right, uint32_t rank)
{
    const uint32_t a = takt_spans_find(&t->index, left), b = takt_spans_find(&t->index, right);
    if (takt_span_begins(right, t->piece_prefix)) /* the whole has only the left one's */
        right =
            (takt_span){right.at + t->piece_prefix.length, right.length - t->piece_prefix.length};
    char *both = takt_arena_get(&t->arena, left.length + right.length + 1);
    if (both == NULL)
        return TAKT_ERR_MEMORY;
    memcpy(both, left.at, left.length);
    memcpy(both + left.length, right.at, right.length);
    const uint32_t into = takt_spans_find(&t->index, (takt_span){both, left.length + right.length});
    if (a == UINT32_MAX || b == UINT32_MAX || into == UINT32_MAX)
        return takt_tokenizer_fail(t, TAKT_E_TOKENIZER,
                                   "merge %u names a token that is not in the vocabulary", rank);
    (void)takt_merges_add(&t->merges, &(takt_merge){(int32_t)a, (int32_t)b, (int32_t)into, rank});
    return TAKT_OK;
}

/* ---- reading ---- */

static takt_status read_gguf(takt_tokenizer *t, const uint8_t *bytes, size_t have, size_t length)
{
    takt_arena arena;
    takt_gguf g;
    takt_arena_init(&arena, t->ctx);
    takt_status status = takt_gguf_parse(&arena, t->file, bytes, have, length, &g);
    if (status == TAKT_OK && !g.is_cut)
        status = takt_tokenizer_read_gguf(t, &g);
    takt_arena_deinit(&arena);
    return status;
}

static takt_status read_any(takt_tokenizer *t, const uint8_t *bytes, size_t length)
{
    size_t i = 0;
    if (takt_gguf_recognises(bytes, length))
        return read_gguf(t, bytes, length, length);
    while (i < length && (bytes[i] == ' ' || bytes[i] == '\n' || bytes[i] == '\r'))
        i++;
    if (i < length && bytes[i] == '{')
        return takt_tokenizer_read_json(t, (const char *)bytes, length);
    if (takt_tiktoken_recognises(bytes, length))
        return takt_tokenizer_read_tiktoken(t, bytes, length);
    if (takt_spm_recognises(bytes, length))
        return takt_tokenizer_read_spm(t, bytes, length);
    (void)takt_tokenizer_fail(t, TAKT_E_TOKENIZER_MISSING, "there is no tokenizer in it");
    if (t->is_compiled)
        return takt_fail_hint(t->ctx, "compile it again from the GGUF file or the folder");
    return takt_fail_hint(
        t->ctx, "tokenizers come in GGUF files, as tokenizer.json, as tokenizer.model and as "
                "lists of tiktoken");
}

static takt_status finish(takt_tokenizer *t, takt_status status, takt_tokenizer **tokenizer)
{
    t->file = NULL;
    if (status == TAKT_OK)
        *tokenizer = t;
    else
        takt_tokenizer_destroy(t);
    return status;
}

takt_status takt_tokenizer_load_memory(takt_ctx *ctx, const char *name, const void *bytes,
                                       size_t length, takt_tokenizer **tokenizer)
{
    takt_tokenizer *t;
    TAKT_NEED(ctx, ctx);
    TAKT_NEED(ctx, tokenizer);
    *tokenizer = NULL;
    TAKT_NEED(ctx, name);
    TAKT_NEED(ctx, bytes);
    TAKT_TRY(create(ctx, name, &t));
    return finish(t, read_any(t, bytes, length), tokenizer);
}

/* The part of a compiled model that holds it. */
static takt_status find_compiled(takt_skim *s, takt_span *bytes)
{
    TAKT_TRY(takt_read_skimmed(s));
    const takt_source source = {
        .ctx = s->ctx, .name = s->path, .bytes = s->bytes, .length = s->length, .skim = s};
    return takt_taktp_tokens(&source, bytes);
}

/* Only the header of a GGUF file is read. */
static takt_status read_file(takt_tokenizer *t, const char *path)
{
    takt_skim s;
    TAKT_TRY(takt_skim_open(t->ctx, path, &s));
    takt_status status = TAKT_OK;
    takt_span bytes = {(const char *)s.bytes, s.length};
    t->is_compiled = takt_taktp_recognises(s.bytes, s.have);
    if (t->is_compiled)
        status = find_compiled(&s, &bytes);
    else if (takt_gguf_recognises(s.bytes, s.have))
        status = takt_gguf_skim(&s);
    else
        status = takt_skim_need(&s, s.length);
    if (status == TAKT_OK)
        status = read_any(t, (const uint8_t *)bytes.at, bytes.length);
    takt_skim_close(&s);
    return status;
}

takt_status takt_tokenizer_load(takt_ctx *ctx, const char *path, takt_tokenizer **tokenizer)
{
    takt_tokenizer *t;
    takt_text inside;
    TAKT_NEED(ctx, ctx);
    TAKT_NEED(ctx, tokenizer);
    *tokenizer = NULL;
    TAKT_NEED(ctx, path);
    takt_text_init(&inside, ctx);
    takt_status status = takt_tokenizer_inside(ctx, path, &inside);
    if (status == TAKT_OK)
        status = create(ctx, path, &t);
    if (status == TAKT_OK) {
        t->file = inside.length > 0 ? takt_text_get(&inside) : path;
        status = read_file(t, t->file);
        if (status == TAKT_OK && inside.length > 0)
            status = takt_tokenizer_read_config(t, path);
        status = finish(t, status, tokenizer);
    }
    takt_text_deinit(&inside);
    return status;
}

/* ---- questions ---- */

const char *takt_tokenizer_kind(const takt_tokenizer *t)
{
    static const char *const names[] = {"bpe",       "bpe-characters", "spm",
                                        "wordpiece", "unigram",        "wordlevel"};
    return t != NULL ? names[t->model] : "";
}

size_t takt_tokenizer_count(const takt_tokenizer *t)
{
    return t != NULL ? t->count : 0;
}

int32_t takt_token_of_role(const takt_tokenizer *t, takt_token_role role)
{
    return t != NULL && role < TAKT_TOKEN_ROLES ? t->roles[role] : -1;
}

int32_t takt_token_find(const takt_tokenizer *t, const char *bytes, size_t length)
{
    if (t == NULL || bytes == NULL || length == 0)
        return -1;
    return (int32_t)takt_spans_find(&t->index, (takt_span){bytes, length});
}

static bool is_id(const takt_tokenizer *t, int32_t id)
{
    return t != NULL && id >= 0 && (size_t)id < t->count;
}

const char *takt_token_bytes(const takt_tokenizer *t, int32_t id, size_t *length)
{
    if (length != NULL)
        *length = is_id(t, id) ? t->texts[id].length : 0;
    return !is_id(t, id) ? NULL : t->texts[id].at != NULL ? t->texts[id].at : "";
}

bool takt_token_is_control(const takt_tokenizer *t, int32_t id)
{
    return is_id(t, id) && t->kinds[id] == TAKT_TOKEN_CONTROL;
}

static const char *const ends[] = {
    "<|eot_id|>",      "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|eom_id|>",
    "<|end_of_text|>", "<|return|>", "<EOT>",   "</s>",          "<|eot|>"};

bool takt_token_is_end(const takt_tokenizer *t, int32_t id)
{
    if (!is_id(t, id))
        return false;
    if (id == t->roles[TAKT_TOKEN_EOS] || id == t->roles[TAKT_TOKEN_EOT])
        return true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (t->kinds[id] == TAKT_TOKEN_CONTROL && takt_span_is(t->texts[id], ends[i]))
            return true;
    return false;
}

void takt_tokenizer_guess_roles(takt_tokenizer *t)
{
    for (size_t i = 0; i < 4 && t->roles[TAKT_TOKEN_EOT] < 0; i++)
        t->roles[TAKT_TOKEN_EOT] = (int32_t)takt_spans_find(&t->index, takt_span_of(ends[i]));
}
