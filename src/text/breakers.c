/* breakers.c - texts that end a repetition, as tokens: a token that contains the text; or one whose
 * end begins it, and the tokens of the rest. */
#include <string.h>

#include "base/mem.h"
#include "base/spans.h"
#include "text/sampler.h"

/* As in llama.cpp: limits on the text and on the rest. */
enum { TEXT_MOST = 40, TAIL_MOST = 20, PIECE_MOST = 512 };

typedef struct maker {
    takt_ctx *ctx;
    const takt_tokenizer *t;
    takt_breakers *b;
    size_t first; /* breaker of the current token */
} maker;

static bool holds(takt_span piece, takt_span text)
{
    for (size_t i = 0; i + text.length <= piece.length; i++)
        if (memcmp(piece.at + i, text.at, text.length) == 0)
            return true;
    return false;
}

/* Adds a breaker unless the token already has this tail. */
static takt_status add(maker *m, int32_t head, const int32_t *tail, size_t count)
{
    takt_breakers *b = m->b;
    void *array;
    for (size_t i = m->first; i < b->count; i++)
        if (b->at[i].tail_count == count &&
            (count == 0 || memcmp(b->tails + b->at[i].tail, tail, count * sizeof *tail) == 0))
            return TAKT_OK;
    array = b->at;
    TAKT_TRY(takt_mem_grow(m->ctx, &array, &b->room, b->count + 1, sizeof *b->at));
    b->at = array;
    array = b->tails;
    TAKT_TRY(takt_mem_grow(m->ctx, &array, &b->tail_room, b->tail_count + count, sizeof *b->tails));
    b->tails = array;
    b->at[b->count++] = (takt_breaker){head, (uint32_t)b->tail_count, (uint32_t)count};
    if (count > 0)
        memcpy(b->tails + b->tail_count, tail, count * sizeof *tail);
    b->tail_count += count;
    return TAKT_OK;
}

/* The rest of a breaker after the part that the token ends with. */
static takt_status add_rest(maker *m, int32_t head, takt_span rest)
{
    int32_t tail[TEXT_MOST * 4];
    takt_token_ids ids = {tail, sizeof tail / sizeof *tail, 0};
    TAKT_TRY(takt_tokenize(m->t, rest.at, rest.length, 0, &ids));
    const size_t count = ids.count < ids.capacity ? ids.count : ids.capacity;
    return add(m, head, tail, count < TAIL_MOST ? count : TAIL_MOST);
}

static takt_status add_text(maker *m, int32_t head, takt_span piece, takt_span text)
{
    if (holds(piece, text))
        return add(m, head, NULL, 0);
    for (size_t n = text.length < piece.length ? text.length : piece.length; n > 0; n--)
        if (n < text.length && memcmp(piece.at + piece.length - n, text.at, n) == 0)
            TAKT_TRY(add_rest(m, head, (takt_span){text.at + n, text.length - n}));
    return TAKT_OK;
}

static takt_span cut(const char *text)
{
    const takt_span whole = takt_span_of(text);
    return (takt_span){text, whole.length < TEXT_MOST ? whole.length : TEXT_MOST};
}

takt_status takt_breakers_make(takt_ctx *ctx, const takt_tokenizer *t, const takt_sampling *s,
                               takt_breakers *b)
{
    static const char *const usual[] = {"\n", ":", "\"", "*"};
    const char *const *texts = s->dry_breakers != NULL ? s->dry_breakers : usual;
    const size_t count =
        s->dry_breakers != NULL ? s->dry_breaker_count : sizeof usual / sizeof *usual;
    maker m = {.ctx = ctx, .t = t, .b = b};
    char bytes[PIECE_MOST];
    *b = (takt_breakers){0};
    for (size_t id = 0; id < takt_tokenizer_count(t); id++) {
        const int32_t head = (int32_t)id;
        takt_token_text text = {bytes, sizeof bytes, 0};
        TAKT_TRY(takt_detokenize(t, &head, 1, TAKT_DETOKENIZE_CONTINUE | TAKT_DETOKENIZE_CONTROL,
                                 &text));
        const takt_span piece = {bytes, text.length < sizeof bytes ? text.length : sizeof bytes};
        m.first = b->count;
        for (size_t i = 0; i < count; i++)
            if (texts[i] != NULL && *texts[i] != '\0')
                TAKT_TRY(add_text(&m, head, piece, cut(texts[i])));
    }
    return TAKT_OK;
}

void takt_breakers_free(takt_ctx *ctx, takt_breakers *b)
{
    takt_mem_put(ctx, b->at, b->room * sizeof *b->at);
    takt_mem_put(ctx, b->tails, b->tail_room * sizeof *b->tails);
    *b = (takt_breakers){0};
}
