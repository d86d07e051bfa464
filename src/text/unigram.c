/* unigram.c - splits a text into the tokens with the best total score (Viterbi): each position
 * stores the best path to it. Characters that no token begins with are unknown, at a penalty. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

/* The best path to a position in the text. */
typedef struct place {
    double score;
    uint32_t from;
    int32_t id; /* -1: an unknown character; -2: no path leads here */
} place;

enum { UNKNOWN = -1, NOWHERE = -2 };
enum { LONGEST = 512 }; /* longest piece: every position tries pieces up to it */
#define PRICE 10.0      /* of an unknown character, below the worst token */

static void offer(place *to, double score, size_t from, int32_t id)
{
    if (to->id != NOWHERE && !(score > to->score))
        return;
    *to = (place){score, (uint32_t)from, id};
}

static size_t step_of(takt_span text, size_t at)
{
    size_t bytes;
    (void)takt_unicode_take(text.at + at, text.length - at, &bytes);
    return bytes;
}

/* Ties depend on it: SentencePiece adds floats, Hugging Face and llama.cpp doubles. */
static double sum(const takt_tokenizer *t, double score, double weight)
{
    return t->adds_floats ? (double)((float)score + (float)weight) : score + weight;
}

/* Tries every token that begins at `at`, and the character itself if no token equals it. */
static void look(const takt_tokenizer *t, takt_span text, size_t at, place *places)
{
    const size_t first = step_of(text, at);
    bool is_known = false;
    for (size_t end = at + first; end - at <= t->longest; end += step_of(text, end)) {
        const uint32_t id = takt_spans_find(&t->index, (takt_span){text.at + at, end - at});
        if (id != UINT32_MAX && !isnan(t->weights[id])) {
            offer(&places[end], sum(t, places[at].score, t->weights[id]), at, (int32_t)id);
            is_known = is_known || end == at + first;
        }
        if (end >= text.length)
            break;
    }
    if (!is_known)
        offer(&places[at + first], sum(t, places[at].score, t->worst - PRICE), at, UNKNOWN);
}

/* Bytes of the text that no token covers: one byte token each, or a single unknown token. */
static void spell(const takt_tokenizer *t, takt_span text, takt_ids *ids)
{
    bool has_bytes = true;
    for (size_t i = 0; i < text.length; i++)
        has_bytes = has_bytes && t->bytes[(unsigned char)text.at[i]] >= 0;
    for (size_t i = 0; has_bytes && i < text.length; i++)
        takt_ids_add(ids, t->bytes[(unsigned char)text.at[i]]);
    if (!has_bytes)
        takt_ids_add_unknown(t, ids);
}

/* Reverses the path in place: `from` becomes the end of the next token. */
static void reverse_path(place *places, size_t length)
{
    size_t at = length;
    uint32_t next = (uint32_t)length;
    int32_t id = NOWHERE;
    for (;;) {
        const place here = places[at];
        places[at].from = next;
        places[at].id = id;
        if (at == 0)
            return;
        next = (uint32_t)at;
        id = here.id;
        at = here.from;
    }
}

static void tell(const takt_tokenizer *t, takt_span text, const place *places, takt_ids *ids)
{
    for (size_t at = 0; at < text.length;) {
        size_t end = places[at].from;
        if (places[at].id != UNKNOWN) {
            takt_ids_add(ids, places[at].id);
        } else {
            while (end < text.length && places[end].id == UNKNOWN)
                end = places[end].from;
            spell(t, (takt_span){text.at + at, end - at}, ids);
        }
        at = end;
    }
}

void takt_unigram(const takt_tokenizer *t, takt_span text, takt_ids *ids)
{
    void *block;
    if (text.length == 0 || ids->status != TAKT_OK)
        return;
    ids->status =
        text.length < UINT32_MAX / 4
            ? takt_mem_zero(t->ctx, text.length + 1, sizeof(place), "a text", &block)
            : takt_fail(t->ctx, TAKT_E_OVERFLOW, "a text of %zu bytes is too long", text.length);
    if (ids->status != TAKT_OK)
        return;
    place *places = block;
    for (size_t i = 1; i <= text.length; i++)
        places[i].id = NOWHERE;
    for (size_t at = 0; at < text.length; at += step_of(text, at))
        look(t, text, at, places);
    reverse_path(places, text.length);
    tell(t, text, places, ids);
    takt_mem_put(t->ctx, block, (text.length + 1) * sizeof *places);
}

takt_status takt_unigram_check(const takt_tokenizer *t)
{
    return t->longest <= LONGEST
               ? TAKT_OK
               : takt_tokenizer_fail(t, TAKT_E_TOKENIZER_UNSUPPORTED,
                                     "a piece has %zu bytes; up to %d are possible", t->longest,
                                     LONGEST);
}

takt_status takt_unigram_init(takt_tokenizer *t)
{
    TAKT_TRY(takt_unigram_check(t));
    t->weights = takt_arena_array(&t->arena, t->count, sizeof *t->weights);
    if (t->weights == NULL)
        return TAKT_ERR_MEMORY;
    t->worst = 0;
    for (size_t i = 0; i < t->count; i++) {
        const bool is_piece = t->kinds[i] == TAKT_TOKEN_NORMAL && t->texts[i].length > 0;
        t->weights[i] = is_piece ? (double)t->scores[i] : (double)NAN;
        if (is_piece && t->weights[i] < t->worst)
            t->worst = t->weights[i];
    }
    return TAKT_OK;
}
