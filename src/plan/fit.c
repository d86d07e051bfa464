/* fit.c - plans of training steps: how much is rematerialised. */
#include <string.h>

#include "base/mem.h"
#include "op/ops.h"
#include "plan/basis.h"
#include "plan/builder.h"
#include "plan/rematerialise.h"

/* What is rematerialised by default: of a step that holds much memory, values that are large for
 * the time they take. Mixed precision is meant to save memory, so there values that cost little
 * are, too, where less is at stake. */
static const takt_remat_limit large = {.time = 1.066, .price = 0.5}, little = {.time = 1.01};
enum { LARGE_BYTES = 64 << 20, MIXED_BYTES = 4 << 20 };
enum { ROUNDS = 6 };

typedef struct fitting {
    takt_ctx *ctx;
    takt_graph *graph;
    takt_plan_settings dry, best; /* `best` with the rematerialisation that needs the least so
                                   * far */
    takt_plan *first;             /* dry, without rematerialisation */
    size_t least;
} fitting;

/* Plans with the result for `target`, and keeps it if it needs less. */
static takt_status attempt(fitting *f, size_t target, const takt_remat_limit *limit)
{
    takt_remat found;
    takt_plan *plan = NULL;
    takt_status status = takt_remat_find(f->first, target, limit, &found);
    f->dry.remat = found.remat;
    f->dry.remat_count = found.remat_count;
    if (status == TAKT_OK && found.remat_count > 0)
        status = takt_plan_build(f->ctx, f->graph, &f->dry, &plan);
    if (plan != NULL && plan->arena_bytes < f->least) {
        f->least = plan->arena_bytes;
        f->best.remat_count = found.remat_count;
        f->best.remat =
            takt_arena_copy(&f->first->arena, found.remat, found.remat_count * sizeof *found.remat);
        status = f->best.remat == NULL ? TAKT_ERR_MEMORY : TAKT_OK;
    }
    takt_plan_release_internal(plan);
    takt_remat_deinit(&found);
    return status;
}

/* The estimate may miss the plan slightly: then a smaller target is tried. */
static takt_status reach(fitting *f, size_t room)
{
    size_t target = room;
    for (int i = 0; i < ROUNDS && f->least > room; i++) {
        TAKT_TRY(attempt(f, target, NULL));
        const size_t missed = (f->least > room ? f->least - room : 0) + room / 64;
        target = target > missed ? target - missed : 0;
    }
    return TAKT_OK;
}

/* The point at `share` of the way from the least memory, 0, to the fastest plan, 1. */
static takt_status trade(fitting *f, double share)
{
    takt_remat found;
    size_t least = f->least;
    if (share >= 1)
        return TAKT_OK;
    const takt_status status = takt_remat_find(f->first, 0, NULL, &found);
    if (status == TAKT_OK && found.point_count > 0)
        least = found.points[found.point_count - 1].arena;
    takt_remat_deinit(&found);
    TAKT_TRY(status);
    const double more = f->least > least ? (double)(f->least - least) : 0;
    return attempt(f, least + (size_t)(share * more), NULL);
}

/* Whether values of 16 bits are widened. */
static bool is_mixed(const takt_graph *g)
{
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        if (n->op == &takt_op_cast && n->type->dtype == TAKT_F32 &&
            takt_dtype_bits(takt_type_of(g, n->in[0])->dtype) == 16)
            return true;
    }
    return false;
}

/* By default. */
static takt_status save(fitting *f)
{
    const size_t bytes = f->least;
    if (bytes >= MIXED_BYTES && is_mixed(f->graph))
        TAKT_TRY(attempt(f, 0, &little));
    return bytes >= LARGE_BYTES ? attempt(f, 0, &large) : TAKT_OK;
}

static takt_status search(fitting *f, const takt_plan_settings *settings)
{
    const takt_plan *p = f->first;
    const size_t fixed = p->weight_bytes + p->packed_bytes + p->state_bytes + p->io_bytes;
    const size_t limit = settings->memory_limit, room = limit > fixed ? limit - fixed : 0;
    f->least = p->arena_bytes;
    const size_t most = settings->activation_limit;
    if (settings->recomputes)
        return attempt(f, 0, NULL);
    if (settings->has_tradeoff)
        TAKT_TRY(trade(f, settings->tradeoff));
    else
        TAKT_TRY(save(f));
    if (most > 0 && f->least > most)
        TAKT_TRY(reach(f, most));
    if (most > 0 && f->least > most) {
        takt_fail(f->ctx, TAKT_E_PLAN_LIMIT,
                  "activations and scratch need %zu bytes, more than the %zu of the limit",
                  f->least, most);
        return takt_fail_hint(f->ctx, "give it more, a smaller batch, or more --shards");
    }
    return limit > 0 ? reach(f, room) : TAKT_OK;
}

static takt_status start(fitting *f, const takt_plan_settings *settings)
{
    f->dry = f->best = *settings;
    f->dry.is_dry = true;
    f->dry.memory_limit = 0;
    f->dry.remat_count = f->best.remat_count = 0;
    return takt_plan_build(f->ctx, f->graph, &f->dry, &f->first);
}

takt_status takt_plan_fit(takt_ctx *ctx, takt_graph *graph, const takt_plan_settings *settings,
                          takt_plan **plan)
{
    fitting f = {.ctx = ctx, .graph = graph};
    *plan = NULL;
    takt_status status = start(&f, settings);
    if (status == TAKT_OK)
        status = search(&f, settings);
    if (status == TAKT_OK)
        status = takt_plan_build(ctx, graph, &f.best, plan);
    if (status == TAKT_OK)
        (*plan)->given_bytes = f.first->arena_bytes;
    takt_plan_release_internal(f.first);
    return status;
}

/* Points at about equal distances in memory; the first and the last always. */
static size_t thin_out(const takt_remat *found, size_t most, takt_remat_point *points)
{
    const takt_remat_point *all = found->points;
    const size_t count = found->point_count;
    size_t kept = 0;
    if (count == 0 || most < 2)
        return 0;
    const double high = (double)all[0].arena, low = (double)all[count - 1].arena;
    for (size_t i = 0; i < count; i++) {
        const double next = high - (high - low) * (double)kept / (double)(most - 1);
        if (i + 1 == count || (kept + 1 < most && (double)all[i].arena <= next))
            points[kept++] = all[i];
    }
    return kept;
}

takt_status takt_plan_points(const takt_plan *plan, size_t most, takt_remat_point *points,
                             size_t *count)
{
    fitting f = {.ctx = plan->ctx, .graph = plan->graph};
    takt_remat found;
    *count = 0;
    const bool is_pinned = plan->basis != NULL && takt_basis_pin(plan->basis);
    if (plan->basis != NULL && !is_pinned && takt_plan_reads_constants(plan->graph))
        return TAKT_OK;
    takt_status status = start(&f, &plan->settings);
    if (status == TAKT_OK) {
        status = takt_remat_find(f.first, 0, NULL, &found);
        *count = status == TAKT_OK ? thin_out(&found, most, points) : 0;
        takt_remat_deinit(&found);
    }
    takt_plan_release_internal(f.first);
    if (is_pinned)
        takt_basis_unpin(plan->basis);
    return status;
}
