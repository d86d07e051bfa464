/* plan.c - from a model to a plan: sizes, weights, passes, lowering, and then the planner. */
#include <takt/plan.h>

#include <string.h>

#include "api/backends.h"
#include "api/cache.h"
#include "api/fixed.h"
#include "api/limit.h"
#include "api/model.h"
#include "api/opts.h"
#include "api/plan_options.h"
#include "api/require.h"
#include "api/session/session.h"
#include "api/size_hint.h"
#include "base/mem.h"
#include "base/options.h"
#include "ir/held.h"
#include "ir/late.h"
#include "op/ops.h"
#include "os/pool.h"
#include "pass/pass.h"
#include "pass/passes.h"
#include "plan/backend.h"
#include "plan/basis.h"
#include "plan/finish.h"
#include "plan/rematerialise.h"

/* ---- stages ---- */

/* Replaces *g by the result of a stage, or by NULL on failure. The pointer is read only after the
 * stage has run, whatever order the compiler evaluates arguments in. */
static takt_status advance(takt_graph **g, takt_status status, takt_graph *const *next)
{
    takt_graph_destroy(*g);
    *g = *next;
    return status;
}

/* The order in which an einsum contracts decides its bits, so it is settled while the sizes that a
 * caller may choose are still names. */
static bool is_no_einsum(void *user, const takt_graph *g, const takt_node *n)
{
    (void)user;
    (void)g;
    return n->op != &takt_op_einsum;
}

takt_status takt_plan_ranges(const takt_model *m, const takt_plan_options *o, takt_arena *arena,
                             takt_size_range **ranges, size_t *count)
{
    TAKT_TRY(takt_parse_ranges(arena, m->graph->dims, o->sizes, ranges, count));
    for (size_t i = 0; i < *count; i++)
        if ((*ranges)[i].high < 0)
            (*ranges)[i] = (takt_size_range){1, 1, 1, false};
    return takt_lengths_range(m, o->bounds, arena, *ranges, *count);
}

/* Only what the requested outputs need. */
static takt_status choose(const takt_model *m, const char *outputs, takt_graph **g)
{
    takt_arena arena;
    takt_cut cut = {.keep_inputs = true};
    takt_arena_init(&arena, m->ctx);
    takt_status status = takt_split_names(&arena, outputs, &cut.to, &cut.to_count);
    if (status == TAKT_OK && outputs != NULL && cut.to_count == 0)
        status = takt_fail(m->ctx, TAKT_E_NAME, "no output is asked for");
    if (status == TAKT_OK)
        status = takt_graph_extract(m->graph, &cut, g);
    takt_arena_deinit(&arena);
    return status;
}

/* The slots of `g` are some of the model's. */
static takt_status freeze(const takt_model *m, const takt_graph *g, takt_graph **next)
{
    takt_arena arena;
    *next = NULL;
    takt_arena_init(&arena, m->ctx);
    takt_tensor *values = takt_arena_array(&arena, g->slot_count, sizeof *values);
    takt_status status = values != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    for (size_t i = 0; status == TAKT_OK && i < g->slot_count; i++)
        values[i] = m->slots[takt_graph_find_slot(m->graph, g->slots[i].name) - m->graph->slots];
    if (status == TAKT_OK)
        status = takt_graph_freeze(g, values, next);
    takt_arena_deinit(&arena);
    return status;
}

static takt_status run_stages(const takt_plan_request *r, const int64_t *sizes, size_t count,
                              takt_graph **g)
{
    const takt_model *m = r->model;
    const takt_plan_settings *s = r->settings;
    const takt_pipeline_options pipeline = {.choice.off = s->passes_off, .report = r->report};
    const takt_pipeline_options again = {
        .choice.off = s->passes_off, .report = r->report, .is_lowered = true};
    takt_graph *next = NULL;
    const takt_plan_options *o = r->options;
    bool checks;
    if (o->outputs != NULL)
        TAKT_TRY(choose(m, o->outputs, g));
    TAKT_TRY(takt_checks_of(m->ctx, o->checks, &checks));
    if (!checks && m->graph->check_count > 0)
        TAKT_TRY(advance(g, takt_graph_checks(*g != NULL ? *g : m->graph, false, &next), &next));
    TAKT_TRY(
        advance(g, takt_graph_lower(*g != NULL ? *g : m->graph, is_no_einsum, NULL, &next), &next));
    TAKT_TRY(advance(g, takt_graph_specialize(*g, sizes, count, &next), &next));
    if ((*g)->check_count > 0)
        TAKT_TRY(advance(g, takt_graph_checks(*g, true, &next), &next));
    if (o->fixed_count > 0)
        TAKT_TRY(advance(g, takt_fix_inputs(m, o, *g, &next), &next));
    TAKT_TRY(advance(g, freeze(m, *g, &next), &next));
    TAKT_TRY(advance(g, takt_pipeline_run(m->ctx, *g, &pipeline, &next), &next));
    TAKT_TRY(advance(g, takt_graph_lower(*g, takt_plan_keeps, (void *)(uintptr_t)s, &next), &next));
    /* Lowering uncovers reshapes and constants that the first round could not see. */
    TAKT_TRY(advance(g, takt_pipeline_run(m->ctx, *g, &again, &next), &next));
    if (s->precision != TAKT_F32)
        TAKT_TRY(advance(g, takt_graph_narrow(*g, s->precision, r->report, &next), &next));
    if (s->narrows_activations)
        TAKT_TRY(advance(g, takt_pass_apply(&takt_pass_narrow_activations, *g, r->report, &next),
                         &next));
    if (s->widens_activations && takt_widen_activations_suits(*g) && !takt_is_training_graph(*g))
        TAKT_TRY(
            advance(g, takt_pass_apply(&takt_pass_widen_activations, *g, r->report, &next), &next));
    return TAKT_OK;
}

takt_status takt_plan_stages(const takt_plan_request *r, const int64_t *sizes, size_t count,
                             takt_graph **g)
{
    *g = NULL;
    const takt_status status = run_stages(r, sizes, count, g);
    if (status != TAKT_OK) {
        takt_graph_destroy(*g);
        *g = NULL;
    }
    return status;
}

/* Initial values of the state that sessions will copy. */
static takt_status keep_initial(const takt_model *m, takt_plan *plan)
{
    const takt_graph *g = plan->graph;
    plan->initial = takt_arena_array(&plan->arena, g->slot_count, sizeof *plan->initial);
    if (plan->initial == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->slot_count; i++) {
        const takt_slot *slot = takt_graph_find_slot(m->graph, g->slots[i].name);
        const takt_tensor *value = slot != NULL ? &m->slots[slot - m->graph->slots] : NULL;
        const bool is_zeros = value != NULL && takt_storage_is_late(value->storage) &&
                              g->slots[i].init.kind == TAKT_INIT_CONSTANT;
        if (is_zeros)
            continue;
        if (value != NULL && value->storage != NULL) {
            plan->initial[i] = *value;
            takt_storage_retain(value->storage);
        } else if (g->slots[i].init.kind != TAKT_INIT_CONSTANT || g->slots[i].init.a != 0) {
            TAKT_TRY(takt_slot_fill(m->ctx, &g->slots[i], m->seed, &plan->initial[i]));
        }
    }
    return TAKT_OK;
}

/* For plans of other sizes, which are made in the same way. */
static takt_status keep_options(const takt_plan_options *o, takt_plan *plan)
{
    const takt_plan_options *kept;
    TAKT_TRY(takt_plan_options_keep(&plan->arena, o, &kept));
    plan->options = kept;
    const char *name = kept->backend != NULL ? kept->backend : plan->graph->backend;
    plan->settings.library = takt_backend_which(name, kept->blas);
    plan->settings.donated = kept->donate;
    return TAKT_OK;
}

/* The sizes it was made for, and those it can be used with. */
static takt_status keep_ranges(const takt_model *m, const takt_plan_options *o, takt_plan *plan)
{
    takt_size_range *ranges;
    bool is_ranged = false;
    TAKT_TRY(takt_plan_ranges(m, o, &plan->arena, &ranges, &plan->name_count));
    int64_t *sizes = takt_arena_array(&plan->arena, plan->name_count, sizeof *sizes);
    if (sizes == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < plan->name_count; i++) {
        sizes[i] = ranges[i].top;
        is_ranged = is_ranged || ranges[i].low < ranges[i].high;
    }
    plan->sizes = sizes;
    plan->ranges = is_ranged ? ranges : NULL;
    plan->is_pinning = is_ranged && takt_basis_pin(plan->basis);
    return TAKT_OK;
}

/* Weights of a model that will not be planned again: those that are constants of the graph `g` now
 * belong only to that graph. Slots that stay state are read later. */
static void give_up_weights(takt_model *m, const takt_graph *g)
{
    for (size_t i = 0; i < m->graph->slot_count; i++)
        if (takt_graph_find_slot(g, m->graph->slots[i].name) == NULL)
            takt_tensor_release(&m->slots[i]);
    takt_graph_strip(m->graph);
    takt_graph_destroy(m->training);
    m->training = NULL;
}

/* One basis for every plan: without the model it holds nothing that no step reads. */
static takt_status get_basis(takt_model *m, takt_basis **basis)
{
    if (*basis != NULL)
        return TAKT_OK;
    TAKT_TRY(takt_basis_single(m->ctx, basis));
    takt_basis_list(*basis, &m->bases);
    return TAKT_OK;
}

/* Whether runs may need plans for value-dependent sizes. */
static bool has_lengths(const takt_graph *g)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i].op == &takt_op_length)
            return true;
    return false;
}

static bool changes_sizes(const takt_model *m, const takt_plan_options *o)
{
    return (o->sizes != NULL && strstr(o->sizes, "..") != NULL) || has_lengths(m->graph);
}

static bool may_consume(const takt_model *m, const takt_plan_options *o, takt_basis *basis)
{
    return o->memory_limit == 0 && !changes_sizes(m, o) && m->graph->check_count == 0 &&
           takt_basis_is_single(basis);
}

/* For subgraphs, whose plans also share the data of plans of other sizes. */
static takt_status keep_sizes(const takt_model *m, const takt_plan_options *o, takt_arena *arena,
                              takt_plan_settings *settings)
{
    takt_size_range *ranges;
    size_t count;
    if (settings->basis->body_count == 0)
        return TAKT_OK;
    TAKT_TRY(takt_plan_ranges(m, o, arena, &ranges, &count));
    int64_t *sizes = takt_arena_array(arena, count, sizeof *sizes);
    if (sizes == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        sizes[i] = ranges[i].top;
    settings->sizes = sizes;
    settings->size_count = count;
    return TAKT_OK;
}

static takt_status build(takt_model *m, const takt_plan_options *o, takt_plan_settings *settings,
                         bool consumes, takt_plan **plan)
{
    takt_graph *g = NULL;
    takt_arena arena;
    takt_arena_init(&arena, m->ctx);
    takt_status status = takt_plan_graph(
        &(takt_plan_request){.model = m, .options = o, .settings = settings}, &g, &settings->basis);
    if (status == TAKT_OK)
        status = get_basis(m, &settings->basis);
    if (status == TAKT_OK)
        status = keep_sizes(m, o, &arena, settings);
    if (status == TAKT_OK && consumes && may_consume(m, o, settings->basis)) {
        settings->consumes = true;
        give_up_weights(m, g);
    }
    if (status == TAKT_OK)
        status = takt_plan_search(m->ctx, g, settings, plan);
    takt_basis_release(settings->basis);
    takt_graph_destroy(g);
    takt_arena_deinit(&arena);
    settings->sizes = NULL;
    return status;
}

static takt_status create(takt_model *m, const takt_plan_options *options, bool consumes,
                          takt_plan **plan)
{
    takt_plan_options o;
    const uint64_t start = m->ctx->now_ns(m->ctx->clock_user);
    takt_plan_settings settings = {0};
    TAKT_TRY(takt_options_read(m->ctx, "takt_plan_options", options, &o, sizeof o));
    TAKT_TRY(takt_plan_settle(m, &o, &settings));
    settings.changes_sizes = changes_sizes(m, &o);
    takt_status status = build(m, &o, &settings, consumes, plan);
    if (status != TAKT_OK && m->ctx->error.id == TAKT_E_PLAN_LIMIT && status == TAKT_ERR_LIMIT &&
        o.activation_limit == 0)
        status = takt_limit_refuse(m, &o, settings.threads);
    if (status == TAKT_OK)
        status = takt_late_check(m->ctx);
    if (status == TAKT_OK)
        status = takt_require_plan(*plan, o.require);
    if (status == TAKT_OK)
        status = keep_initial(m, *plan);
    if (status == TAKT_OK)
        status = keep_options(&o, *plan);
    if (status == TAKT_OK)
        status = keep_ranges(m, &o, *plan);
    if (status != TAKT_OK) {
        takt_plan_release_internal(*plan);
        *plan = NULL;
        takt_size_hint(m, o.sizes);
        return status;
    }
    takt_basis_join(*plan);
    (*plan)->made_ns = m->ctx->now_ns(m->ctx->clock_user) - start;
    (*plan)->made_peak = atomic_load(&m->ctx->peak_bytes);
    takt_log(m->ctx, TAKT_LOG_INFO, "%s: a plan for %s was made in %.3f ms", takt_model_name(m),
             o.sizes != NULL && o.sizes[0] != '\0' ? o.sizes : "the default sizes",
             (double)(*plan)->made_ns / 1e6);
    return TAKT_OK;
}

takt_status takt_plan_create(const takt_model *m, const takt_plan_options *options,
                             takt_plan **plan)
{
    if (plan == NULL)
        return TAKT_ERR_ARGUMENT;
    *plan = NULL;
    /* A failed load has no context to report to. The cache of plans is writable although the model
     * is const. */
    return m == NULL ? TAKT_ERR_ARGUMENT : create((takt_model *)(uintptr_t)m, options, false, plan);
}

takt_status takt_plan_take(takt_model *m, const takt_plan_options *options, takt_plan **plan)
{
    takt_status status = TAKT_ERR_ARGUMENT;
    if (plan != NULL)
        *plan = NULL;
    if (m != NULL && plan != NULL)
        status = create(m, options, true, plan);
    takt_model_destroy(m);
    return status;
}

void takt_plan_destroy(takt_plan *plan)
{
    takt_plan_release_internal(plan);
}

/* Convolutions that would use Winograd if the hint did not forbid it. */
static size_t count_direct(const takt_plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; plan->settings.no_winograd && i < plan->graph->count; i++)
        count += takt_winograd_suits(plan->graph, &plan->graph->nodes[i]);
    return count;
}

void takt_plan_query(const takt_plan *plan, takt_plan_info *info)
{
    if (plan == NULL)
        return;
    if (info == NULL)
        return;
    *info = (takt_plan_info){.weights = plan->weight_bytes,
                             .packed = plan->packed_bytes,
                             .state = plan->state_bytes,
                             .arena = plan->arena_bytes,
                             .scratch = plan->scratch_bytes,
                             .io = plan->io_bytes,
                             .lower_bound = plan->lower_bound,
                             .unshared = plan->unshared_bytes,
                             .steps = plan->step_count,
                             .threads = plan->threads,
                             .session = takt_session_overhead(plan),
                             .plan_ns = plan->made_ns,
                             .planning_peak = plan->made_peak};
    if (plan->is_parallel && plan->threads > 1)
        info->pool = takt_pool_bytes(plan->ctx, plan->threads);
    info->peak = info->weights + info->packed + info->state + info->arena + info->io;
    info->direct_convs = count_direct(plan);
    for (const takt_plan *child = plan->child; child != NULL; child = child->sibling)
        info->direct_convs += count_direct(child);
    takt_cache_lock(plan->ctx);
    takt_tally t = {.tick = ++plan->ctx->tick};
    takt_tally_plan(&t, plan);
    takt_cache_unlock(plan->ctx);
    info->held = t.bytes;
    for (size_t i = 0; i < plan->step_count; i++)
        info->flops += takt_step_cost(plan, &plan->steps[i]).flops;
}
