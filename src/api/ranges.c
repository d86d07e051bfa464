/* ranges.c - a plan for another size of a range: the graph is sized again and steps are made from
 * it; passes, packed weights and everything else that does not depend on sizes are shared with the
 * largest plan. */
#include "api/ranges.h"

#include <string.h>

#include "api/cache.h"
#include "api/plan_options.h"
#include "base/mem.h"
#include "ir/late.h"
#include "plan/basis.h"
#include "plan/resize.h"

enum { VARIANTS = 16 }; /* that a plan keeps for reuse */

static bool is_for(const takt_plan *plan, const int64_t *sizes)
{
    return plan->name_count == 0 ||
           memcmp(plan->sizes, sizes, plan->name_count * sizeof *sizes) == 0;
}

takt_status takt_plan_holds(const takt_plan *top, const int64_t *sizes)
{
    for (size_t i = 0; i < top->name_count; i++) {
        const takt_size_range *r = &top->ranges[i];
        if (sizes[i] >= r->low && sizes[i] <= r->high)
            continue;
        const char *name = takt_dims_name(top->graph->dims, i);
        if (r->low == r->high)
            takt_fail(top->ctx, TAKT_E_BINDING, "%s is %lld, and the plan is for %lld alone", name,
                      (long long)sizes[i], (long long)r->high);
        else
            takt_fail(top->ctx, TAKT_E_BINDING, "%s is %lld, and the plan is for %lld to %lld",
                      name, (long long)sizes[i], (long long)r->low, (long long)r->high);
        return takt_fail_hint(top->ctx,
                              "takt_session_reshape makes a plan for another range: %s=%lld..%lld",
                              name, (long long)(r->low < sizes[i] ? r->low : sizes[i]),
                              (long long)(r->high > sizes[i] ? r->high : sizes[i]));
    }
    return TAKT_OK;
}

/* ---- the list ---- */

static takt_plan *find(takt_plan *top, const int64_t *sizes)
{
    takt_cache_lock(top->ctx);
    takt_plan **at = &top->variants;
    while (*at != NULL && !is_for(*at, sizes))
        at = &(*at)->variant;
    takt_plan *found = *at;
    if (found != NULL) {
        *at = found->variant;
        found->variant = top->variants;
        top->variants = found;
        takt_plan_retain_internal(found);
    }
    takt_cache_unlock(top->ctx);
    return found;
}

/* One reference goes to the list; the least recently used one leaves it if it is full. */
static void keep(takt_plan *top, takt_plan *plan)
{
    takt_plan *old = NULL;
    size_t count = 1;
    takt_plan_retain_internal(plan);
    takt_cache_lock(top->ctx);
    plan->variant = top->variants;
    top->variants = plan;
    if (top->made_peak < plan->made_peak)
        top->made_peak = plan->made_peak;
    for (takt_plan *at = plan; at != NULL; at = at->variant, count++)
        if (count == VARIANTS) {
            old = at->variant;
            at->variant = NULL;
        }
    takt_cache_unlock(top->ctx);
    takt_plan_release_internal(old);
}

/* ---- making one ---- */

/* Initial values of state; its shape does not depend on sizes, else it could not be kept. */
static takt_status keep_initial(const takt_plan *top, takt_plan *plan)
{
    const takt_graph *g = plan->graph;
    plan->initial = takt_arena_array(&plan->arena, g->slot_count, sizeof *plan->initial);
    if (plan->initial == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->slot_count; i++) {
        const takt_slot *slot = &g->slots[i];
        if (!takt_type_same(g->dims, &slot->type, &top->graph->slots[i].type))
            return takt_fail(plan->ctx, TAKT_E_RESHAPE, "the shape of state %s depends on sizes",
                             slot->name);
        plan->initial[i] = top->initial[i];
        if (plan->initial[i].storage != NULL)
            takt_storage_retain(plan->initial[i].storage);
    }
    return TAKT_OK;
}

static takt_status finish(const takt_plan *top, const int64_t *sizes, takt_plan *plan)
{
    TAKT_TRY(keep_initial(top, plan));
    TAKT_TRY(takt_plan_options_keep(&plan->arena, top->options, &plan->options));
    plan->settings.library = top->settings.library;
    plan->settings.donated = plan->options->donate;
    plan->name_count = top->name_count;
    plan->sizes = takt_arena_copy(&plan->arena, sizes, top->name_count * sizeof *sizes);
    return plan->sizes != NULL || top->name_count == 0 ? TAKT_OK : TAKT_ERR_MEMORY;
}

/* Scratch of the step that begins with `node`; 0: there is none. */
static size_t scratch_at(const takt_plan *plan, takt_id node)
{
    for (size_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].nodes != NULL && plan->steps[i].nodes[0] == node)
            return takt_step_scratch(&plan->steps[i], plan->threads);
    return 0;
}

/* The memory for the largest sizes is used for all: a step that needs more scratch at a smaller
 * size becomes one task, with scratch for one thread. */
static takt_status hold(const takt_plan *top, takt_graph *g, takt_plan_settings *settings,
                        takt_plan **plan)
{
    takt_plan *first = *plan, *again = NULL;
    const size_t bytes = (first->step_count + 1) * sizeof(takt_id);
    void *block;
    if (first->arena_bytes <= top->arena_bytes)
        return TAKT_OK;
    TAKT_TRY(takt_mem_get(top->ctx, bytes, "sizes", &block));
    takt_id *single = block;
    size_t count = 0;
    for (size_t i = 0; i < first->step_count; i++) {
        const takt_step *s = &first->steps[i];
        if (s->nodes != NULL && s->task_count > 1 &&
            takt_step_scratch(s, first->threads) > scratch_at(top, s->nodes[0]))
            single[count++] = s->nodes[0];
    }
    settings->single_threaded = single;
    settings->single_count = count;
    const takt_status status = count > 0 ? takt_plan_build(top->ctx, g, settings, &again) : TAKT_OK;
    takt_mem_put(top->ctx, block, bytes);
    if (again != NULL && again->arena_bytes < first->arena_bytes) {
        *plan = again;
        again = first;
    }
    takt_plan_release_internal(again);
    return status;
}

static takt_status make(takt_plan *top, const int64_t *sizes, takt_plan **plan)
{
    takt_ctx *ctx = top->ctx;
    takt_plan_settings settings = top->settings;
    takt_graph *g;
    const uint64_t start = ctx->now_ns(ctx->clock_user);
    settings.basis = top->basis;
    settings.rooms = top;
    settings.sizes = sizes;
    settings.size_count = top->name_count;
    TAKT_TRY(takt_template_size(top->basis->template, sizes, top->name_count, &g));
    takt_status status = takt_plan_search(ctx, g, &settings, plan);
    if (status == TAKT_OK)
        status = takt_late_check(ctx);
    if (status == TAKT_OK)
        status = hold(top, g, &settings, plan);
    takt_graph_destroy(g);
    if (status == TAKT_OK)
        status = finish(top, sizes, *plan);
    if (status != TAKT_OK) {
        takt_plan_release_internal(*plan);
        *plan = NULL;
        return status;
    }
    takt_basis_join(*plan);
    (*plan)->made_ns = ctx->now_ns(ctx->clock_user) - start;
    (*plan)->made_peak = atomic_load(&ctx->peak_bytes);
    return TAKT_OK;
}

takt_status takt_plan_resizer(const takt_plan *top, takt_resizer **out)
{
    TAKT_TRY(takt_resizer_create(top, out));
    if (*out == NULL)
        return TAKT_OK;
    takt_plan *plan = takt_resizer_plan(*out);
    const int64_t *sizes = plan->sizes; /* which change */
    const takt_status status = finish(top, sizes, plan);
    plan->sizes = sizes;
    if (status != TAKT_OK) {
        takt_resizer_destroy(*out);
        *out = NULL;
    }
    return status;
}

bool takt_plan_has_at(takt_plan *top, const int64_t *sizes)
{
    takt_cache_lock(top->ctx);
    const takt_plan *at = top->variants;
    while (at != NULL && !is_for(at, sizes))
        at = at->variant;
    takt_cache_unlock(top->ctx);
    return at != NULL;
}

takt_status takt_plan_at(takt_plan *top, const int64_t *sizes, bool may_make, takt_plan **plan)
{
    *plan = NULL;
    TAKT_TRY(takt_plan_holds(top, sizes));
    if (is_for(top, sizes)) {
        takt_plan_retain_internal(top);
        *plan = top;
        return TAKT_OK;
    }
    *plan = find(top, sizes);
    if (*plan != NULL)
        return TAKT_OK;
    if (!may_make)
        return takt_fail(top->ctx, TAKT_E_STATIC_SHAPES,
                         "there is no plan for these sizes so far, and shapes are static");
    TAKT_TRY(make(top, sizes, plan));
    keep(top, *plan);
    return TAKT_OK;
}
