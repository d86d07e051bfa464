/* plan.c - from a model to a plan: sizes, weights, passes, lowering, and then the planner. */
#include <takt/plan.h>

#include <stdlib.h>
#include <string.h>

#include "api/backends.h"
#include "api/model.h"
#include "api/session.h"
#include "base/mem.h"
#include "op/ops.h"
#include "os/pool.h"
#include "pass/pass.h"
#include "plan/backend.h"

/* ---- sizes ---- */

/* A name that the model itself has bound to a number takes no other. */
static takt_status check_size(takt_ctx *ctx, const takt_dims *dims, takt_span name, int64_t size)
{
    takt_dims *table = (takt_dims *)dims; /* the name exists, so looking it up changes nothing */
    takt_dim dim;
    TAKT_TRY(takt_dim_name(table, name, &dim));
    TAKT_TRY(takt_dim_resolve(table, dim, &dim));
    if (!takt_dim_is_number(dim) || dim == size)
        return TAKT_OK;
    return takt_fail(ctx, TAKT_E_OPTION, "%.*s=%lld: in this model %.*s is always %lld",
                     (int)name.length, name.at, (long long)size, (int)name.length, name.at,
                     (long long)dim);
}

static takt_status set_size(takt_ctx *ctx, const takt_dims *dims, takt_span name, takt_span value,
                            int64_t *sizes)
{
    int64_t size = 0;
    for (size_t i = 0; i < value.length; i++) {
        const char c = value.at[i];
        if (c < '0' || c > '9' || size > (INT64_MAX - 9) / 10)
            return takt_fail(ctx, TAKT_E_OPTION, "%.*s=%.*s: the size is no number",
                             (int)name.length, name.at, (int)value.length, value.at);
        size = 10 * size + (c - '0');
    }
    for (size_t i = 0; i < takt_dims_name_count(dims); i++)
        if (takt_span_is(name, takt_dims_name(dims, i))) {
            sizes[i] = size;
            return check_size(ctx, dims, name, size);
        }
    takt_fail(ctx, TAKT_E_NAME, "the model has no dimension called %.*s", (int)name.length,
              name.at);
    return takt_dims_name_count(dims) > 0
               ? takt_fail_hint(ctx, "its first one is %s", takt_dims_name(dims, 0))
               : takt_fail_hint(ctx, "all its dimensions are numbers");
}

takt_status takt_parse_sizes(takt_ctx *ctx, takt_arena *arena, const takt_dims *dims,
                             const char *text, int64_t **sizes, size_t *count)
{
    *count = takt_dims_name_count(dims);
    *sizes = takt_arena_array(arena, *count, sizeof **sizes);
    if (*sizes == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < *count; i++)
        (*sizes)[i] = -1;
    while (text != NULL && *text != '\0') {
        const size_t length = strcspn(text, ",");
        const char *equals = memchr(text, '=', length);
        if (equals == NULL || equals == text || equals + 1 == text + length)
            return takt_fail(ctx, TAKT_E_OPTION, "\"%.*s\" is not of the form name=size",
                             (int)length, text);
        const takt_span name = {text, (size_t)(equals - text)};
        const takt_span value = {equals + 1, length - name.length - 1};
        TAKT_TRY(set_size(ctx, dims, name, value, *sizes));
        text += length + (text[length] == ',');
    }
    return TAKT_OK;
}

/* ---- stages ---- */

/* Replaces *g by what a stage made of it; on failure there is none. The pointer is read only after
 * the stage has run, whatever order the compiler evaluates arguments in. */
static takt_status advance(takt_graph **g, takt_status status, takt_graph *const *next)
{
    takt_graph_destroy(*g);
    *g = *next;
    return status;
}

static bool keeps(void *user, const takt_graph *g, const takt_node *n)
{
    const takt_backend *backend = user;
    return backend->keeps != NULL && backend->keeps(g, n);
}

/* The order in which an einsum contracts decides its bits, so it is settled while the sizes that a
 * caller may choose are still names. */
static bool is_no_einsum(void *user, const takt_graph *g, const takt_node *n)
{
    (void)user;
    (void)g;
    return n->op != &takt_op_einsum;
}

static takt_status size_graph(const takt_model *m, const takt_graph *from, const char *text,
                              takt_graph **g)
{
    takt_arena arena;
    takt_arena_init(&arena, m->ctx);
    int64_t *sizes;
    size_t count;
    takt_status status = takt_parse_sizes(m->ctx, &arena, m->graph->dims, text, &sizes, &count);
    for (size_t i = 0; status == TAKT_OK && i < count; i++)
        sizes[i] = sizes[i] < 0 ? 1 : sizes[i];
    if (status == TAKT_OK)
        status = takt_graph_specialize(from, sizes, count, g);
    takt_arena_deinit(&arena);
    return status;
}

static takt_status choose_passes(takt_ctx *ctx, const takt_plan_options *o,
                                 takt_pass_choice *choice)
{
    if (o->level < 0)
        TAKT_TRY(takt_pass_choose(ctx, "-all", choice));
    return takt_pass_choose(ctx, o->passes, choice);
}

static takt_status prepare(const takt_model *m, const takt_plan_options *o,
                           const takt_plan_settings *s, takt_graph **g)
{
    const takt_pipeline_options pipeline = {.choice.off = s->passes_off};
    takt_graph *next = NULL;
    TAKT_TRY(takt_graph_lower(m->graph, is_no_einsum, NULL, g));
    TAKT_TRY(advance(g, size_graph(m, *g, o->sizes, &next), &next));
    TAKT_TRY(advance(g, takt_graph_freeze(*g, m->slots, &next), &next));
    TAKT_TRY(advance(g, takt_pipeline_run(m->ctx, *g, &pipeline, &next), &next));
    takt_keep_fn *keep = s->lower_all ? NULL : keeps;
    TAKT_TRY(advance(g, takt_graph_lower(*g, keep, (void *)s->backend, &next), &next));
    /* Lowering uncovers reshapes and constants that the first round could not see. */
    return advance(g, takt_pipeline_run(m->ctx, *g, &pipeline, &next), &next);
}

static takt_status settle(takt_ctx *ctx, const takt_plan_options *o, takt_plan_settings *s)
{
    TAKT_TRY(takt_backend_find(ctx, o->backend != NULL ? o->backend : "cpu", &s->backend));
    if (o->threads < 0 || o->threads > TAKT_POOL_MAX)
        return takt_fail(ctx, TAKT_E_OPTION, "%d threads: give 1 to %d", o->threads, TAKT_POOL_MAX);
    if (o->level < -1 || o->level > 3)
        return takt_fail(ctx, TAKT_E_OPTION, "there is no optimisation level %d", o->level);
    s->threads = o->threads > 0 ? o->threads : takt_pool_default_threads();
    s->isas = takt_isa_detect();
    const char *cap = o->isa != NULL ? o->isa : o->level < 0 ? "scalar" : NULL;
    if (cap != NULL && !takt_isa_cap(s->isas, cap, &s->isas))
        return takt_fail(ctx, TAKT_E_NAME, "there is no instruction set called %s", cap);
    s->fuse = o->level >= 0 && s->backend != &takt_backend_ref;
    s->library = o->blas;
    s->reuse = !o->no_reuse;
    s->memory_limit = (size_t)o->memory_limit;
    s->is_dry = o->dry;
    return TAKT_OK;
}

/* First values of the state that sessions will copy. */
static takt_status keep_initial(const takt_model *m, takt_plan *plan)
{
    const takt_graph *g = plan->graph;
    plan->initial = takt_arena_array(&plan->arena, g->slot_count, sizeof *plan->initial);
    if (plan->initial == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->slot_count; i++) {
        const takt_slot *slot = takt_graph_find_slot(m->graph, g->slots[i].name);
        const takt_tensor *value = slot != NULL ? &m->slots[slot - m->graph->slots] : NULL;
        if (value != NULL && value->storage != NULL) {
            plan->initial[i] = *value;
            takt_storage_retain(value->storage);
        } else {
            TAKT_TRY(takt_slot_fill(m->ctx, &g->slots[i], m->seed, &plan->initial[i]));
        }
    }
    return TAKT_OK;
}

static bool keep_text(takt_arena *arena, const char **text)
{
    if (*text != NULL)
        *text = takt_arena_text(arena, *text, strlen(*text));
    return *text != NULL;
}

/* For plans of other sizes, which are made in the same way. */
static takt_status keep_options(const takt_plan_options *o, takt_plan *plan)
{
    takt_plan_options *kept = takt_arena_copy(&plan->arena, o, sizeof *o);
    if (kept == NULL)
        return TAKT_ERR_MEMORY;
    const char **texts[] = {&kept->sizes, &kept->backend, &kept->blas, &kept->isa, &kept->passes};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*texts[i] != NULL && !keep_text(&plan->arena, texts[i]))
            return TAKT_ERR_MEMORY;
    plan->options = kept;
    return TAKT_OK;
}

takt_status takt_plan_create(const takt_model *m, const takt_plan_options *options,
                             takt_plan **plan)
{
    static const takt_plan_options defaults = {0};
    *plan = NULL;
    const takt_plan_options *o = options != NULL ? options : &defaults;
    takt_plan_settings settings = {0};
    TAKT_TRY(settle(m->ctx, o, &settings));
    takt_pass_choice choice = {0};
    TAKT_TRY(choose_passes(m->ctx, o, &choice));
    settings.passes_off = choice.off;
    settings.lower_all = o->level < 0 && settings.backend != &takt_backend_ref;
    takt_graph *g = NULL;
    takt_status status = prepare(m, o, &settings, &g);
    if (status == TAKT_OK)
        status = takt_plan_build(m->ctx, g, &settings, plan);
    takt_graph_destroy(g);
    if (status == TAKT_OK)
        status = keep_initial(m, *plan);
    if (status == TAKT_OK)
        status = keep_options(o, *plan);
    if (status != TAKT_OK) {
        takt_plan_release_internal(*plan);
        *plan = NULL;
    }
    return status;
}

void takt_plan_destroy(takt_plan *plan)
{
    takt_plan_release_internal(plan);
}

void takt_plan_query(const takt_plan *plan, takt_plan_info *info)
{
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
                             .session = takt_session_overhead(plan)};
    info->peak = info->weights + info->packed + info->state + info->arena + info->io;
    for (size_t i = 0; i < plan->step_count; i++)
        info->flops += plan->steps[i].cost.flops;
}
