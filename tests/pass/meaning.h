/* meaning.h - whether two graphs with the same inputs and slots compute the same. */
#ifndef TAKT_TESTS_PASS_MEANING_H
#define TAKT_TESTS_PASS_MEANING_H

#include <math.h>
#include <string.h>

#include "interp/interp.h"
#include "test.h"
#include "util/random_array.h"

enum { MEANING_MOST = 4096 };

/* All values that a run of a graph takes or gives. */
typedef struct meaning {
    takt_ctx *ctx;
    size_t count;
    takt_array at[MEANING_MOST];
} meaning;

static inline void meaning_deinit(meaning *m)
{
    for (size_t i = 0; i < m->count; i++)
        takt_array_release(m->ctx, &m->at[i]);
    m->count = 0;
}

/* Zeros of both signs, infinities and NaN, sprinkled over float inputs. */
static inline void meaning_spice(takt_random *r, takt_array *a)
{
    static const double odd[] = {0.0, -0.0, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; a->f != NULL && i < a->count; i++)
        if (takt_random_below(r, 3) == 0)
            a->f[i] = odd[takt_random_below(r, 5)];
    takt_array_round(a);
}

/* Random inputs, then slots. `ranges`: one per input, or NULL. */
static inline takt_status meaning_draw(takt_ctx *ctx, const takt_graph *g, uint64_t seed,
                                       const takt_sample_range *ranges, bool spice, meaning *m)
{
    takt_random random = {seed};
    *m = (meaning){.ctx = ctx};
    if (g->input_count + g->slot_count > MEANING_MOST)
        return TAKT_ERR_LIMIT;
    for (size_t i = 0; i < g->input_count; i++) {
        const takt_sample_range *range = ranges != NULL ? &ranges[i] : NULL;
        TAKT_TRY(takt_random_array(ctx, &random, takt_type_of(g, g->inputs[i].id), range,
                                   &m->at[m->count]));
        if (spice && (range == NULL || !range->is_set))
            meaning_spice(&random, &m->at[m->count]);
        m->count++;
    }
    for (size_t i = 0; i < g->slot_count; i++, m->count++)
        TAKT_TRY(takt_random_array(ctx, &random, &g->slots[i].type, NULL, &m->at[m->count]));
    return TAKT_OK;
}

/* Outputs, then next values. */
static inline takt_status meaning_run(const takt_graph *g, const meaning *in, meaning *out)
{
    *out = (meaning){.ctx = in->ctx};
    if (g->output_count + g->slot_count > MEANING_MOST)
        return TAKT_ERR_LIMIT;
    TAKT_TRY(takt_interpret_arrays(in->ctx, g, in->at, in->at + g->input_count, out->at,
                                   out->at + g->output_count));
    out->count = g->output_count + g->slot_count;
    return TAKT_OK;
}

static inline bool meaning_same_element(const takt_array *a, const takt_array *b, size_t i,
                                        double bound)
{
    if (a->f == NULL)
        return a->i[i] == b->i[i];
    const double x = a->f[i], y = b->f[i];
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y);
    if (x == y)
        return bound > 0 || signbit(x) == signbit(y);
    return fabs(x - y) <= bound * (1 + fabs(x));
}

/* Bit for bit if `bound` is 0 (all NaNs are equal), else within bound * (1 + |x|); reports where
 * not.
 */
static inline bool meaning_same(const meaning *a, const meaning *b, double bound, const char *what)
{
    if (!EXPECT(a->count == b->count, "%s: %zu results became %zu", what, a->count, b->count))
        return false;
    for (size_t k = 0; k < a->count; k++) {
        const takt_array *x = &a->at[k], *y = &b->at[k];
        if (!EXPECT(x->dtype == y->dtype && x->count == y->count, "%s: result %zu is another type",
                    what, k))
            return false;
        for (size_t i = 0; i < x->count; i++)
            if (!EXPECT(meaning_same_element(x, y, i, bound),
                        "%s: result %zu[%zu]: %.17g, not %.17g", what, k, i,
                        y->f != NULL ? y->f[i] : (double)y->i[i],
                        x->f != NULL ? x->f[i] : (double)x->i[i]))
                return false;
    }
    return true;
}

/* print -> parse -> print is the identity. */
static inline void meaning_reads_back(const takt_graph *g, const char *what)
{
    takt_graph *again = NULL;
    takt_text first, second;
    takt_text_init(&first, g->ctx);
    takt_text_init(&second, g->ctx);
    takt_graph_print(g, NULL, &first);
    const char *text = takt_text_get(&first);
    if (EXPECT(takt_parse(g->ctx, what, text, strlen(text), NULL, &again) == TAKT_OK, "%s: %s\n%s",
               what, takt_last_error(g->ctx), text)) {
        takt_graph_print(again, NULL, &second);
        EXPECT(strcmp(text, takt_text_get(&second)) == 0, "%s:\n%s\nbecame\n%s", what, text,
               takt_text_get(&second));
    }
    takt_text_deinit(&first);
    takt_text_deinit(&second);
    takt_graph_destroy(again);
}

#endif
