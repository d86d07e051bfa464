/* aware_model.c - from a model to one that is trained as integers, and on to the integers. */
#include <string.h>

#include "base/options.h"
#include "op/ops.h"
#include "pass/fold_node.h"
#include "pass/match.h"
#include "pass/pass.h"
#include "shrink/aware.h"
#include "shrink/quantize.h"

enum { BATCH = 8, SAMPLES = 256 /* initial values of ranges */ };

typedef struct work {
    takt_ctx *ctx;
    const takt_model *model;
    takt_aware_options o;
    const takt_quant_kind *kind;
    takt_arena arena;
    takt_graph *base;
    takt_shrink_layers layers;
    takt_feed feed;
    bool *taken, *wanted;
    takt_quant_weights *weights;
    takt_quant_grid *grids;
} work;

static takt_status find_layers(work *w)
{
    takt_arena *a = &w->arena;
    size_t taken = 0;
    TAKT_TRY(takt_shrink_trained_base(w->model, &w->base));
    TAKT_TRY(takt_shrink_layers_init(&w->layers, w->base));
    const size_t count = w->layers.count + 1;
    w->taken = takt_arena_array(a, count, sizeof *w->taken);
    w->weights = takt_arena_array(a, count, sizeof *w->weights);
    w->wanted = takt_arena_array(a, w->base->count + 1, sizeof *w->wanted);
    w->grids = takt_arena_array(a, w->base->count + 1, sizeof *w->grids);
    if (w->taken == NULL || w->weights == NULL || w->wanted == NULL || w->grids == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < w->layers.count; i++) {
        w->taken[i] = w->o.keeps == NULL || !w->o.keeps(w->o.keeps_user, w->layers.at[i].name);
        taken += w->taken[i];
    }
    return taken > 0 ? TAKT_OK : takt_shrink_no_layer(&w->layers);
}

static takt_status find_scales(work *w)
{
    for (size_t i = 0; i < w->layers.count; i++) {
        const takt_shrink_layer *l = &w->layers.at[i];
        takt_arena room;
        if (!w->taken[i])
            continue;
        takt_arena_init(&room, w->ctx);
        double *values = takt_arena_array(&room, (size_t)(l->rows * l->inner), sizeof *values);
        takt_status status = values != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
        if (status == TAKT_OK)
            takt_shrink_weights(w->base, l, values);
        if (status == TAKT_OK)
            status = takt_shrink_check(&w->layers, l, values);
        if (status == TAKT_OK)
            status =
                takt_quant_weights_make(&w->arena, w->base, l, w->kind, values, &w->weights[i]);
        takt_arena_deinit(&room);
        TAKT_TRY(status);
    }
    return TAKT_OK;
}

/* Ranges start as in post-training quantisation. */
static takt_status find_ranges(work *w)
{
    takt_arena room;
    if (w->kind->x_bits == 0)
        return TAKT_OK;
    if (w->o.calib == NULL) {
        takt_fail(w->ctx, TAKT_E_SHRINK_DATA, "%s needs data to find the ranges of activations",
                  w->kind->name);
        return takt_fail_hint(w->ctx, "give samples of what the model is trained on");
    }
    TAKT_TRY(takt_feed_init(&w->feed, w->model, w->o.calib, w->o.sizes, BATCH, SAMPLES));
    w->feed.threads = w->o.threads;
    TAKT_TRY(takt_qdq_wanted(&w->layers, w->taken, w->o.whole, w->wanted));
    takt_arena_init(&room, w->ctx);
    takt_range_seen **seen = takt_arena_array(&room, w->base->count, sizeof *seen);
    takt_status status = seen != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    if (status == TAKT_OK)
        status = takt_observe(&w->feed, w->base, w->wanted, &room, seen);
    for (size_t i = 0; status == TAKT_OK && i < w->base->count; i++)
        if (seen[i] != NULL)
            w->grids[i] =
                takt_range_grid(seen[i], TAKT_RANGE_MSE, 0, w->kind->x_bits, w->kind->is_symmetric);
    takt_arena_deinit(&room);
    return status;
}

static takt_status make(work *w, takt_model **out)
{
    takt_graph *plain, *training;
    TAKT_TRY(takt_quant_kind_read(w->ctx, w->o.type, &w->kind));
    TAKT_TRY(find_layers(w));
    TAKT_TRY(find_scales(w));
    TAKT_TRY(find_ranges(w));
    const takt_aware all = {&w->layers, w->kind, w->taken, w->wanted, w->weights, w->grids};
    TAKT_TRY(takt_aware_build(&all, false, &plain));
    takt_status status = takt_aware_build(&all, true, &training);
    if (status != TAKT_OK) {
        takt_graph_destroy(plain);
        return status;
    }
    status = takt_model_derive(w->model, plain, out);
    if (status != TAKT_OK) {
        takt_graph_destroy(training);
        return status;
    }
    (*out)->training = training;
    if (w->model->lineage != NULL)
        (*out)->lineage =
            takt_arena_text(&(*out)->arena, w->model->lineage, strlen(w->model->lineage));
    return TAKT_OK;
}

takt_status takt_model_aware(const takt_model *model, const takt_aware_options *options,
                             takt_model **aware)
{
    work w = {.model = model};
    if (aware != NULL)
        *aware = NULL;
    if (model == NULL)
        return TAKT_ERR_ARGUMENT;
    w.ctx = model->ctx;
    if (aware == NULL)
        return takt_fail(w.ctx, TAKT_E_ARGUMENT, "takt_model_aware: aware is NULL");
    TAKT_TRY(takt_options_read(w.ctx, "takt_aware_options", options, &w.o, sizeof w.o));
    takt_arena_init(&w.arena, w.ctx);
    const takt_status status = make(&w, aware);
    takt_feed_deinit(&w.feed);
    takt_shrink_layers_deinit(&w.layers);
    takt_graph_destroy(w.base);
    takt_arena_deinit(&w.arena);
    return status;
}

/* ---- integers ---- */

/* All nodes except those that dequantise: the result shows the integers. */
static takt_id known(takt_rewrite *r, const takt_node *n)
{
    if (n->in_count == 0 || n->in_count > TAKT_FOLD_INPUTS || n->out_count != 1 ||
        n->op == &takt_op_dequantize || n->op == &takt_op_block_dequantize ||
        (n->op->traits & (TAKT_CONTROL | TAKT_UNIQUE | TAKT_LEAF)) != 0 ||
        !takt_type_is_concrete(n->type))
        return TAKT_NONE;
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] == TAKT_NONE || !takt_match_is_constant(r->out, n->in[k]))
            return TAKT_NONE;
    return takt_fold_node(r, n);
}

static takt_status convert(const takt_model *aware, takt_model **out)
{
    static const takt_rule rules[] = {{NULL, "a node of constants = its value", known}};
    static const takt_pass fold = {.name = "fold-integers",
                                   .summary = "compute levels, scales and zeros now",
                                   TAKT_RULES(rules)};
    takt_graph *frozen, *g;
    TAKT_TRY(takt_graph_freeze(aware->graph, aware->slots, &frozen));
    const takt_status status = takt_pass_apply(&fold, frozen, NULL, &g);
    takt_graph_destroy(frozen);
    TAKT_TRY(status);
    TAKT_TRY(takt_model_derive(aware, g, out));
    if (aware->lineage != NULL)
        (*out)->lineage = takt_arena_text(&(*out)->arena, aware->lineage, strlen(aware->lineage));
    return TAKT_OK;
}

takt_status takt_model_aware_convert(const takt_model *aware, takt_model **integers)
{
    if (integers != NULL)
        *integers = NULL;
    if (aware == NULL)
        return TAKT_ERR_ARGUMENT;
    if (integers == NULL)
        return takt_fail(aware->ctx, TAKT_E_ARGUMENT, "takt_model_aware_convert: integers is NULL");
    for (size_t i = 0; i < aware->graph->slot_count; i++)
        if (strncmp(aware->graph->slots[i].name, TAKT_AWARE_SLOT, strlen(TAKT_AWARE_SLOT)) == 0)
            return convert(aware, integers);
    takt_fail(aware->ctx, TAKT_E_SHRINK_NOTHING, "%s was not made by takt_model_aware",
              takt_model_name(aware));
    return takt_fail_hint(aware->ctx, "takt_model_quantize makes integers of any model");
}
