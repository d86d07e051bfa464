/* graphgen_call.c - a call drawn from an op's samples, in any element type that the op takes. */
#include "util/graphgen_call.h"

#include "util/transplant.h"

enum { SAMPLES = 10 };

static void read_sample(takt_gen_call *c, const takt_sample_ranges *ranges)
{
    const takt_graph *g = c->sample;
    for (uint32_t i = 0; i < c->node->in_count; i++) {
        c->type[i] = (takt_type){.rank = -1};
        c->range[i] = (takt_sample_range){0};
        if (c->node->in[i] == TAKT_NONE)
            continue;
        c->type[i] = *takt_type_of(g, c->node->in[i]);
        for (size_t k = 0; k < g->input_count; k++)
            if (g->inputs[k].id == c->node->in[i])
                c->range[i] = ranges->at[k];
    }
}

/* Whether the op accepts these types, and none of them or of its results is excluded. */
static bool is_possible(takt_ctx *ctx, const takt_gen_call *c, takt_dtype_set avoid)
{
    takt_graph *g;
    takt_id in[TAKT_SAMPLE_INPUTS];
    bool good = takt_graph_create(ctx, NULL, &g) == TAKT_OK;
    for (uint32_t i = 0; i < c->node->in_count && good; i++) {
        in[i] = TAKT_NONE;
        if (c->type[i].rank < 0)
            continue;
        const char name[] = {(char)('a' + i % 26), (char)('a' + i / 26), '\0'};
        in[i] = takt_graph_input(g, name, &c->type[i]);
    }
    if (good)
        takt_transplant(g, c->node, in);
    good = good && g->status == TAKT_OK;
    for (size_t i = 0; good && i < g->count; i++)
        for (uint32_t k = 0; k < g->nodes[i].out_count; k++)
            good = good && (avoid & TAKT_IN(g->nodes[i].type[k].dtype)) == 0;
    takt_graph_destroy(g);
    return good;
}

/* Whether values of the range exist in another type. */
static bool holds(takt_dtype dtype, const takt_sample_range *range)
{
    if (!range->is_set || takt_dtype_is_float(dtype))
        return true;
    const double most = dtype == TAKT_I8 ? 127 : dtype == TAKT_U8 ? 255 : 32767;
    return dtype != TAKT_BOOL && range->high <= most &&
           (range->low >= 0 || (takt_dtype_is_signed(dtype) && range->low >= -most));
}

/* Gives all inputs with the type of input `of` another type. */
static bool retype(takt_ctx *ctx, takt_gen_call *c, uint32_t of, takt_dtype dtype,
                   takt_dtype_set avoid)
{
    const takt_gen_call old = *c;
    const takt_dtype from = c->type[of].dtype;
    bool good = true;
    for (uint32_t i = 0; i < c->node->in_count; i++) {
        if (c->type[i].rank < 0 || c->type[i].dtype != from)
            continue;
        c->type[i].dtype = dtype;
        good = good && holds(dtype, &c->range[i]);
    }
    if (good && is_possible(ctx, c, avoid))
        return true;
    *c = old;
    return false;
}

static bool has_dtype(const takt_gen_call *c, takt_dtype dtype)
{
    for (uint32_t i = 0; i < c->node->in_count; i++)
        if (c->type[i].rank >= 0 && c->type[i].dtype == dtype)
            return true;
    return false;
}

/* Subgraphs have their own types, so ops with subgraphs are left unchanged. */
static bool choose(takt_ctx *ctx, takt_random *random, const takt_gen_options *options,
                   takt_gen_call *c)
{
    const takt_op *op = c->node->op;
    const bool is_fixed = (op->traits & TAKT_CONTROL) != 0 || c->node->in_count == 0;
    if (options->has_dtype) {
        for (uint32_t i = 0; i < c->node->in_count && !is_fixed; i++)
            if (c->type[i].rank >= 0 && !has_dtype(c, options->dtype))
                retype(ctx, c, i, options->dtype, options->avoid);
        return has_dtype(c, options->dtype);
    }
    for (int tries = 0; tries < 3 && !is_fixed && takt_random_below(random, 2) == 0; tries++) {
        const takt_dtype dtype = (takt_dtype)takt_random_below(random, TAKT_DTYPE_COUNT);
        if ((op->dtypes & ~options->avoid & TAKT_IN(dtype)) != 0 && c->type[0].rank >= 0 &&
            retype(ctx, c, 0, dtype, options->avoid))
            return true;
    }
    return is_possible(ctx, c, options->avoid);
}

takt_status takt_gen_call_init(takt_ctx *ctx, takt_random *random, const takt_op *op,
                               const takt_gen_options *options, takt_gen_call *call)
{
    size_t samples = 0;
    *call = (takt_gen_call){0};
    while (samples < SAMPLES && op->samples[samples] != NULL)
        samples++;
    const size_t first = samples != 0 ? takt_random_below(random, samples) : 0;
    for (size_t i = 0; i < samples; i++) {
        takt_sample_ranges ranges;
        TAKT_TRY(
            takt_sample_graph(ctx, op, op->samples[(first + i) % samples], &call->sample, &ranges));
        call->node = NULL;
        for (size_t k = 0; k < call->sample->count; k++)
            if (call->sample->nodes[k].op == op)
                call->node = &call->sample->nodes[k];
        if (call->node != NULL && call->node->in_count <= TAKT_SAMPLE_INPUTS) {
            read_sample(call, &ranges);
            if (choose(ctx, random, options, call))
                return TAKT_OK;
        }
        takt_gen_call_deinit(call);
    }
    return TAKT_OK;
}

void takt_gen_call_deinit(takt_gen_call *call)
{
    takt_graph_destroy(call->sample);
    call->sample = NULL;
}
