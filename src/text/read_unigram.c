/* read_unigram.c - the vocabulary of a Unigram model in tokenizer.json: pieces with their scores.
 */
#include <math.h>

#include "base/json.h"
#include "text/tokenizer.h"

static takt_status refuse(const takt_tokenizer *t, size_t id)
{
    return takt_tokenizer_fail(t, TAKT_E_TOKENIZER, "piece %zu is not a pair of a text and a score",
                               id);
}

/* ["\u2581the", -3.2]: the id is its index. An added token keeps its text. */
static takt_status read_piece(takt_tokenizer *t, const takt_json *pair, size_t id)
{
    const takt_json *text =
        pair->kind == TAKT_JSON_ARRAY && pair->count == 2 ? takt_json_first(pair) : NULL;
    const takt_json *score = text != NULL ? takt_json_next(text) : NULL;
    if (score == NULL || text->kind != TAKT_JSON_STRING || score->kind != TAKT_JSON_NUMBER ||
        !isfinite(score->number))
        return refuse(t, id);
    if (score->number < t->worst)
        t->worst = score->number;
    if (t->texts[id].at != NULL)
        return TAKT_OK;
    const char *copy = takt_arena_text(&t->arena, text->text, text->text_length);
    if (copy == NULL)
        return TAKT_ERR_MEMORY;
    t->texts[id] = (takt_span){copy, text->text_length};
    t->weights[id] = score->number;
    t->scores[id] = (float)score->number;
    return TAKT_OK;
}

takt_status takt_tokenizer_read_unigram(takt_tokenizer *t, const takt_json *model)
{
    const takt_json *vocab = takt_json_get(model, "vocab");
    size_t id = 0;
    t->weights = takt_arena_array(&t->arena, t->count, sizeof *t->weights);
    if (t->weights == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < t->count; i++)
        t->weights[i] = (double)NAN;
    for (const takt_json *v = takt_json_first(vocab); v != NULL; v = takt_json_next(v))
        TAKT_TRY(read_piece(t, v, id++));
    return TAKT_OK;
}
