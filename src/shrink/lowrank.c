/* lowrank.c - weights as the product of two thin matrices, if that measures faster. */
#include <math.h>
#include <string.h>

#include "base/options.h"
#include "op/ops.h"
#include "op/util/conv.h"
#include "pass/copier.h"
#include "shrink/base.h"
#include "shrink/lowrank.h"
#include "shrink/svd.h"
#include "shrink/time.h"

/* ---- progress ---- */

/* Multiplications of a decomposition, up to a factor. */
static double cost_of(const takt_shrink_layer *l)
{
    return (double)l->rows * (double)l->inner * (double)(l->rows < l->inner ? l->rows : l->inner);
}

/* Singular values are most of the time; measuring is counted with the layer. */
static void watch(void *user, double part)
{
    enum { STEPS = 1000 };
    const takt_lowrank *w = user;
    if (w->o.progress != NULL && w->cost > 0)
        w->o.progress(w->o.progress_user, "factoring",
                      (uint64_t)(STEPS * (w->done + part * w->layer) / w->cost), STEPS);
}

/* ---- one layer ---- */

static void choose_rank(const takt_lowrank *w, const takt_svd *svd, takt_factors *f)
{
    f->rank = w->o.rank > 0 ? w->o.rank : takt_svd_rank(svd, w->o.energy);
    f->rank = f->rank < svd->count ? f->rank : svd->count;
    f->error = takt_svd_error(svd, f->rank);
}

static bool is_smaller(const takt_shrink_layer *l, const takt_factors *f)
{
    return f->rank * (l->rows + l->inner) < l->rows * l->inner;
}

/* The rank by singular values alone: most layers need no more to be left as they are. */
static takt_status judge_rank(takt_lowrank *w, const takt_shrink_layer *l, const double *a,
                              takt_factors *f)
{
    takt_arena room;
    takt_svd svd;
    takt_arena_init(&room, w->ctx);
    const takt_status status = takt_svd_values(&room, a, l->rows, l->inner, &svd);
    if (status == TAKT_OK)
        choose_rank(w, &svd, f);
    takt_arena_deinit(&room);
    return status;
}

/* u diag(s) v' split in the middle: both factors get the root of s, so that neither is large. */
static takt_status factor(takt_lowrank *w, size_t index)
{
    const takt_shrink_layer *l = &w->layers.at[index];
    const takt_svd_watch watcher = {watch, w};
    takt_factors *f = &w->of[index];
    takt_arena room;
    takt_svd svd = {0};
    takt_arena_init(&room, w->ctx);
    double *a = takt_arena_array(&room, (size_t)(l->rows * l->inner), sizeof *a);
    takt_status status = a != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    if (status == TAKT_OK) {
        takt_shrink_weights(w->base, l, a);
        status = judge_rank(w, l, a, f);
    }
    if (status != TAKT_OK || !is_smaller(l, f)) {
        takt_arena_deinit(&room);
        return status;
    }
    status = takt_svd_make(&room, a, l->rows, l->inner, &watcher, &svd);
    if (status == TAKT_OK) {
        choose_rank(w, &svd, f);
        f->first = takt_arena_array(&w->arena, (size_t)(f->rank * l->inner), sizeof *f->first);
        f->second = takt_arena_array(&w->arena, (size_t)(l->rows * f->rank), sizeof *f->second);
        if (f->first == NULL || f->second == NULL)
            status = TAKT_ERR_MEMORY;
    }
    for (int64_t r = 0; status == TAKT_OK && r < f->rank; r++) {
        const double root = sqrt(svd.s[r]);
        for (int64_t k = 0; k < l->inner; k++)
            f->first[r * l->inner + k] = root * svd.v[k * svd.count + r];
        for (int64_t k = 0; k < l->rows; k++)
            f->second[k * f->rank + r] = root * svd.u[k * svd.count + r];
    }
    takt_arena_deinit(&room);
    return status;
}

static takt_id factored_conv(takt_graph *g, const takt_graph *base, const takt_shrink_layer *l,
                             const takt_factors *f, takt_id x)
{
    const takt_node *n = &base->nodes[l->product];
    takt_type first = *takt_type_of(base, l->w), second = first;
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_node_attrs(n, attrs);
    first.dim[0] = f->rank;
    const takt_id in[] = {x, takt_shrink_constant(g, &first, f->first)};
    const takt_id h = takt_graph_append(g, n->op, 2, in, attrs);
    for (int d = 1; d < second.rank; d++)
        second.dim[d] = 1;
    second.dim[attrs[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC ? second.rank - 1 : 1] = f->rank;
    attrs[TAKT_CONV_STRIDE] = attrs[TAKT_CONV_DILATION] = attrs[TAKT_CONV_PAD] = (takt_attr){0};
    const takt_id next[] = {h, takt_shrink_constant(g, &second, f->second)};
    return takt_graph_append(g, n->op, 2, next, attrs);
}

/* Both weights are stored row by row, which is the transposed form of a product. */
static takt_id factored(takt_graph *g, const takt_graph *base, const takt_shrink_layer *l,
                        const takt_factors *f, takt_id x)
{
    if (l->is_conv)
        return factored_conv(g, base, l, f, x);
    const takt_type first = {TAKT_F32, 2, {f->rank, l->inner}};
    const takt_type second = {TAKT_F32, 2, {l->rows, f->rank}};
    const takt_id h = takt_matmul(g, x, takt_shrink_constant(g, &first, f->first), false, true);
    return takt_matmul(g, h, takt_shrink_constant(g, &second, f->second), false, true);
}

static takt_status time_layer(takt_lowrank *w, const takt_shrink_timer *timer, size_t index)
{
    const takt_shrink_layer *l = &w->layers.at[index];
    takt_graph *before, *after;
    TAKT_TRY(takt_shrink_layer_graph(w->base, l, &before));
    const takt_status status = takt_graph_create(w->ctx, w->base, &after);
    if (status != TAKT_OK) {
        takt_graph_destroy(before);
        return status;
    }
    const takt_id x = takt_graph_input(after, "x", takt_type_of(w->base, l->x));
    takt_id y = factored(after, w->base, l, &w->of[index], x);
    takt_graph_output(after, "y", takt_shrink_layer_end(after, w->base, l, y));
    return takt_shrink_time(timer, w->model, before, w->model, after, &w->of[index].time);
}

/* ---- choosing ---- */

static takt_status judge(takt_lowrank *w, const takt_shrink_timer *timer, size_t index)
{
    const takt_shrink_layer *l = &w->layers.at[index];
    takt_factors *f = &w->of[index];
    if (w->o.keeps != NULL && w->o.keeps(w->o.keeps_user, l->name)) {
        f->is_kept = true;
        f->why = "left: it is to be kept";
        return TAKT_OK;
    }
    if (l->groups > 1 || l->rows < 2 || l->inner < 2) {
        f->why = "left: it has groups, or is not a matrix";
        return TAKT_OK;
    }
    TAKT_TRY(factor(w, index));
    if (!is_smaller(l, f)) {
        f->why = "left: two factors of this rank are no smaller";
        return TAKT_OK;
    }
    TAKT_TRY(time_layer(w, timer, index));
    f->taken = f->time.verdict == TAKT_FASTER || w->o.size_first;
    f->why = f->time.verdict == TAKT_FASTER   ? "taken"
             : w->o.size_first                ? "taken: size comes first"
             : f->time.verdict == TAKT_SLOWER ? "left: slower"
             : f->time.verdict == TAKT_SAME   ? "left: as fast as it is"
                                              : "left: not clearly faster";
    return TAKT_OK;
}

static takt_status build(const takt_lowrank *w, takt_graph **out)
{
    takt_copier c;
    const takt_graph *base = w->base;
    takt_status status = takt_copier_init(&c, base);
    if (status == TAKT_OK)
        status = takt_graph_begin_copy(base, c.out, c.map);
    for (size_t i = 0; status == TAKT_OK && i < base->count; i++) {
        if (!c.live[i] || c.map[i] != TAKT_NONE)
            continue;
        const takt_node n = takt_copier_node(&c, (takt_id)i);
        for (size_t k = 0; k < w->layers.count && c.map[i] == TAKT_NONE; k++)
            if (w->of[k].taken && w->layers.at[k].product == i)
                c.map[i] = factored(c.out, base, &w->layers.at[k], &w->of[k], n.in[0]);
        if (c.map[i] == TAKT_NONE)
            c.map[i] = takt_graph_copy_node(c.out, &n, n.in);
        status = c.out->status;
    }
    return takt_copier_done(&c, status, out);
}

static takt_status finish(takt_lowrank *w, const takt_shrink_timer *timer, takt_model **out)
{
    static const takt_pass live = {.name = "live", .summary = "copy what is live"};
    takt_lowrank_summary *s = &w->summary;
    takt_graph *all, *g;
    for (size_t i = 0; i < w->layers.count; i++)
        s->taken += w->of[i].taken;
    s->layers = w->layers.count;
    s->parameters_before = s->parameters_after = takt_shrink_parameters(w->base);
    if (s->taken == 0)
        return TAKT_OK;
    TAKT_TRY(build(w, &all));
    const takt_status status = takt_pass_apply(&live, all, NULL, &g);
    takt_graph_destroy(all);
    if (status != TAKT_OK)
        return status;
    s->parameters_after = takt_shrink_parameters(g);
    TAKT_TRY(takt_model_derive(w->model, g, out));
    if (w->model->lineage != NULL)
        (*out)->lineage =
            takt_arena_text(&(*out)->arena, w->model->lineage, strlen(w->model->lineage));
    takt_graph_retain(w->base);
    takt_graph_retain(g);
    return takt_shrink_time(timer, w->model, w->base, w->model, g, &s->time);
}

static takt_status run(takt_lowrank *w, takt_model **out)
{
    const takt_shrink_timer timer = {.compare = w->o.compare,
                                     .user = w->o.compare_user,
                                     .max_ns = w->o.layer_ns > 0 ? w->o.layer_ns : 100000000,
                                     .sizes = w->o.sizes,
                                     .threads = w->o.threads};
    const bool by_rank = w->o.rank != 0, by_energy = w->o.energy != 0;
    if (by_rank == by_energy || w->o.rank < 0 || !(w->o.energy >= 0 && w->o.energy <= 1)) {
        takt_fail(w->ctx, TAKT_E_SHRINK_RANK, "a rank of %lld and an energy of %g %s",
                  (long long)w->o.rank, w->o.energy,
                  by_rank && by_energy ? "were given: only one of them can decide"
                                       : "keep nothing of a layer");
        return takt_fail_hint(w->ctx, "give a rank of at least 1, or an energy above 0 and at most "
                                      "1");
    }
    TAKT_TRY(takt_shrink_base(w->model, &w->base));
    TAKT_TRY(takt_shrink_layers_init(&w->layers, w->base));
    w->of = takt_arena_array(&w->arena, w->layers.count + 1, sizeof *w->of);
    if (w->of == NULL)
        return TAKT_ERR_MEMORY;
    if (w->layers.count == 0)
        return takt_shrink_no_layer(&w->layers);
    for (size_t i = 0; i < w->layers.count; i++)
        w->cost += cost_of(&w->layers.at[i]);
    for (size_t i = 0; i < w->layers.count; i++, w->done += w->layer) {
        w->layer = cost_of(&w->layers.at[i]);
        watch(w, 0);
        TAKT_TRY(judge(w, &timer, i));
    }
    return finish(w, &timer, out);
}

/* ---- the outcome ---- */

static takt_status nothing_taken(const takt_lowrank *w)
{
    size_t kept = 0, measured = 0;
    for (size_t i = 0; i < w->layers.count; i++) {
        kept += w->of[i].is_kept;
        measured += w->of[i].time.a_ns > 0;
    }
    if (kept == w->layers.count)
        return takt_shrink_no_layer(&w->layers);
    if (measured == 0) {
        takt_fail(w->ctx, TAKT_E_SHRINK_NOTHING, "no layer is smaller as two factors of this rank");
        return takt_fail_hint(w->ctx, "ask for a lower rank or energy");
    }
    takt_fail(w->ctx, TAKT_E_SHRINK_NOTHING, "no layer is measured faster as two factors here");
    return takt_fail_hint(w->ctx, "a lower rank or energy, or size_first (--size-first)");
}

/* Whether the result counts as a success; the report is written either way. */
static takt_status conclude(const takt_lowrank *w)
{
    if (w->summary.taken == 0)
        return nothing_taken(w);
    if (w->summary.time.verdict != TAKT_SLOWER || w->o.size_first)
        return TAKT_OK;
    takt_fail(w->ctx, TAKT_E_SHRINK_NOTHING, "the whole is measured slower, by a factor of %.2f",
              w->summary.time.ratio);
    return takt_fail_hint(w->ctx, "keep the layers that gain least (--keep), or size_first "
                                  "(--size-first)");
}

takt_status takt_model_lowrank(const takt_model *model, const takt_lowrank_options *options,
                               takt_format format, takt_sink_fn *sink, void *user,
                               takt_model **factored_model)
{
    takt_lowrank w = {.model = model};
    if (factored_model != NULL)
        *factored_model = NULL;
    if (model == NULL)
        return TAKT_ERR_ARGUMENT;
    w.ctx = model->ctx;
    if (factored_model == NULL || sink == NULL)
        return takt_fail(w.ctx, TAKT_E_ARGUMENT, "takt_model_lowrank: factored or sink is NULL");
    TAKT_TRY(takt_options_read(w.ctx, "takt_lowrank_options", options, &w.o, sizeof w.o));
    takt_arena_init(&w.arena, w.ctx);
    takt_status status = run(&w, factored_model);
    if (status == TAKT_OK)
        status = takt_lowrank_report(&w, format, sink, user);
    if (status == TAKT_OK && w.o.summary != NULL)
        *w.o.summary = w.summary;
    if (status == TAKT_OK)
        status = conclude(&w);
    if (status != TAKT_OK) {
        takt_model_destroy(*factored_model);
        *factored_model = NULL;
    }
    takt_shrink_layers_deinit(&w.layers);
    takt_graph_destroy(w.base);
    takt_arena_deinit(&w.arena);
    return status;
}
