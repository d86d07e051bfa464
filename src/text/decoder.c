/* decoder.c - the decoder of tokenizer.json: stages that each turn a list of pieces, at first the
 * tokens as the file has them, into another list. The last list, joined, is the text.
 *
 * Decoders that only replace marks by spaces do not need the list: decode.c writes those texts
 * token by token, without memory of its own. */
#include <string.h>

#include "base/json.h"
#include "text/decoder.h"
#include "text/tokenizer.h"

/* ---- reading ---- */

static takt_status read_replace(takt_tokenizer *t, const takt_json *stage, takt_decoder *d)
{
    const takt_json *pattern = takt_json_get(stage, "pattern");
    const takt_span regex = takt_stage_text(pattern, "Regex");
    d->a = takt_stage_text(pattern, "String");
    d->b = takt_stage_text(stage, "content");
    TAKT_TRY(
        takt_stage_grows(t, regex.length > 0 ? takt_span_of("") : d->a, d->b, &t->decoder_growth));
    if (regex.length == 0)
        return TAKT_OK;
    takt_regex *compiled = takt_arena_get(&t->arena, sizeof *compiled);
    if (compiled == NULL)
        return TAKT_ERR_MEMORY;
    d->regex = compiled;
    return takt_regex_compile(&t->arena, regex, 0, compiled);
}

static size_t number(const takt_json *stage, const char *key)
{
    const takt_json *v = takt_json_get(stage, key);
    const bool is_count = v != NULL && v->kind == TAKT_JSON_NUMBER && v->is_integer;
    return is_count && v->integer > 0 ? (size_t)v->integer : 0;
}

static takt_status read_strip(takt_tokenizer *t, const takt_json *stage, takt_decoder *d)
{
    d->a = takt_stage_text(stage, "content");
    d->begin = number(stage, "start");
    d->end = number(stage, "stop");
    return d->a.length > 0
               ? TAKT_OK
               : takt_tokenizer_fail(t, TAKT_E_TOKENIZER, "the decoder Strip has no content");
}

static takt_status read_metaspace(takt_tokenizer *t, const takt_json *stage, takt_decoder *d)
{
    const takt_span scheme = takt_stage_text(stage, "prepend_scheme");
    (void)t;
    d->a = takt_stage_text(stage, "replacement");
    d->flag = scheme.length > 0 ? !takt_span_is(scheme, "never")
                                : takt_stage_flag(stage, "add_prefix_space", true);
    return TAKT_OK;
}

static takt_status read_word_pieces(takt_tokenizer *t, const takt_json *stage, takt_decoder *d)
{
    (void)t;
    d->a = takt_stage_text(stage, "prefix");
    d->flag = takt_stage_flag(stage, "cleanup", true);
    return TAKT_OK;
}

static takt_status read_suffix(takt_tokenizer *t, const takt_json *stage, takt_decoder *d)
{
    (void)t;
    d->a = takt_stage_text(stage, "suffix");
    return TAKT_OK;
}

static takt_status read_ctc(takt_tokenizer *t, const takt_json *stage, takt_decoder *d)
{
    (void)t;
    d->a = takt_stage_text(stage, "pad_token");
    d->b = takt_stage_text(stage, "word_delimiter_token");
    d->flag = takt_stage_flag(stage, "cleanup", true);
    return TAKT_OK;
}

struct takt_decoder_kind {
    const char *type;
    takt_decode_fn *apply;
    takt_status (*read)(takt_tokenizer *t, const takt_json *stage, takt_decoder *d);
};

static const takt_decoder_kind kinds[] = {
    {"ByteLevel", takt_decode_byte_level, NULL},
    {"Replace", takt_decode_replace, read_replace},
    {"ByteFallback", takt_decode_byte_fallback, NULL},
    {"Fuse", takt_decode_fuse, NULL},
    {"Strip", takt_decode_strip, read_strip},
    {"Metaspace", takt_decode_metaspace, read_metaspace},
    {"WordPiece", takt_decode_word_pieces, read_word_pieces},
    {"BPEDecoder", takt_decode_words_with_ends, read_suffix},
    {"CTC", takt_decode_ctc, read_ctc},
};

/* Whole words without a decoder: spaces between them. */
static const takt_decoder_kind spaced = {"none", takt_decode_spaced, NULL};

/* Texts of the file, which is freed after reading. */
static takt_status keep(takt_tokenizer *t, takt_span *text)
{
    const char *copy = takt_arena_text(&t->arena, text->at, text->length);
    if (text->length > 0)
        text->at = copy;
    return copy != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

static takt_status add(takt_tokenizer *t, const takt_json *stage)
{
    const char *type = takt_stage_type(stage);
    const takt_decoder_kind *kind = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].type, type) == 0)
            kind = &kinds[i];
    if (kind == NULL || t->decoder_count == TAKT_DECODERS)
        return takt_tokenizer_fail(t, TAKT_E_TOKENIZER_UNSUPPORTED,
                                   kind == NULL ? "the decoder %.60s is not supported"
                                                : "%.60s is one decoder too many",
                                   *type != '\0' ? type : "(without a type)");
    takt_decoder *d = &t->decoders[t->decoder_count++];
    *d = (takt_decoder){.kind = kind, .a = takt_span_of(""), .b = takt_span_of("")};
    if (kind->read != NULL)
        TAKT_TRY(kind->read(t, stage, d));
    TAKT_TRY(keep(t, &d->a));
    return keep(t, &d->b);
}

/* ---- decoders that decode.c does alone ---- */

static bool is_kind(const takt_tokenizer *t, size_t i, const char *type)
{
    return i < t->decoder_count && strcmp(t->decoders[i].kind->type, type) == 0;
}

static bool is_mark_to_space(const takt_decoder *d)
{
    return d->regex == NULL && takt_span_is(d->a, TAKT_TOKEN_MARK) && takt_span_is(d->b, " ");
}

/* Sets what happens to the first mark, and returns whether the stages do nothing else. */
static bool is_plain(takt_tokenizer *t)
{
    const takt_decoder *d = t->decoders;
    const bool has_marks = t->model == TAKT_TOKENIZER_CHARS || t->model == TAKT_TOKENIZER_SCORES ||
                           t->model == TAKT_TOKENIZER_UNIGRAM;
    if (t->model == TAKT_TOKENIZER_BYTES)
        return t->decoder_count == 1 && is_kind(t, 0, "ByteLevel");
    if (has_marks && t->decoder_count == 1 && is_kind(t, 0, "Metaspace") &&
        takt_span_is(d->a, TAKT_TOKEN_MARK) && t->bytes[0] < 0) {
        t->first_marks = d->flag ? TAKT_MARKS_DROPPED : TAKT_MARKS_KEPT;
        return true;
    }
    if (!has_marks || t->decoder_count < 3 || !is_kind(t, 0, "Replace") || !is_mark_to_space(d) ||
        !is_kind(t, 1, "ByteFallback") || !is_kind(t, 2, "Fuse"))
        return false;
    t->first_marks = t->decoder_count > 3 ? TAKT_MARK_DROPPED : TAKT_MARKS_KEPT;
    return t->decoder_count == 3 || (t->decoder_count == 4 && is_kind(t, 3, "Strip") &&
                                     takt_span_is(d[3].a, " ") && d[3].begin == 1 && d[3].end == 0);
}

takt_status takt_decoders_read(takt_tokenizer *t, const takt_json *stage)
{
    if (stage == NULL || stage->kind == TAKT_JSON_NULL) {
        if (t->model == TAKT_TOKENIZER_WHOLE)
            t->decoders[t->decoder_count++] = (takt_decoder){.kind = &spaced};
        return TAKT_OK;
    }
    TAKT_TRY(takt_stage_each(t, stage, "decoders", add));
    if (is_plain(t))
        t->decoder_count = 0;
    return TAKT_OK;
}

/* ---- decoding ---- */

/* The token as in the file. */
static void put_token(const takt_tokenizer *t, int32_t id, takt_pieces *to)
{
    const takt_span text = t->texts[id];
    const bool is_added = t->kinds[id] == TAKT_TOKEN_CONTROL || t->kinds[id] == TAKT_TOKEN_USER;
    if (!is_added && t->model == TAKT_TOKENIZER_BYTES) {
        takt_token_spell(text, &to->bytes);
    } else if (!is_added && t->model == TAKT_TOKENIZER_WORDS) {
        const bool begins = takt_span_begins(text, takt_span_of(TAKT_TOKEN_MARK));
        takt_pieces_put(to, begins ? takt_span_of("") : t->piece_prefix);
        takt_pieces_put(to, begins ? (takt_span){text.at + TAKT_TOKEN_MARK_BYTES,
                                                 text.length - TAKT_TOKEN_MARK_BYTES}
                                   : text);
    } else {
        takt_pieces_put(to, text);
    }
    takt_pieces_end(to);
}

takt_status takt_decoders_run(const takt_tokenizer *t, const int32_t *ids, size_t count,
                              unsigned flags, takt_token_text *text)
{
    const bool continues = (flags & TAKT_DETOKENIZE_CONTINUE) != 0;
    takt_pieces now, next;
    takt_pieces_init(&now, t->ctx, continues);
    for (size_t i = 0; i < count; i++)
        if (t->kinds[ids[i]] != TAKT_TOKEN_CONTROL || (flags & TAKT_DETOKENIZE_CONTROL) != 0)
            put_token(t, ids[i], &now);
    for (size_t i = 0; i < t->decoder_count && now.bytes.status == TAKT_OK; i++) {
        takt_pieces_init(&next, t->ctx, continues);
        t->decoders[i].kind->apply(&t->decoders[i], &now, &next);
        takt_pieces_deinit(&now);
        now = next;
    }
    const takt_status status = now.bytes.status;
    if (status == TAKT_OK) {
        text->length = now.bytes.length;
        const size_t copied = text->length < text->capacity ? text->length : text->capacity;
        if (copied > 0)
            memcpy(text->at, takt_text_get(&now.bytes), copied);
    }
    takt_pieces_deinit(&now);
    return status;
}
