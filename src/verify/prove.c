/* prove.c - from a model and a property to a verdict. */
#include "verify/prove.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/model.h"
#include "base/mem.h"
#include "verify/products.h"
#include "verify/program.h"

static takt_plan_options plan_options(const takt_prover *v)
{
    return (takt_plan_options){
        .sizes = v->o.sizes, .threads = v->o.threads, .checks = "off", .backend = "cpu"};
}

/* ---- runs of the model ---- */

static takt_status open_session(takt_prover *v)
{
    takt_plan_options options = plan_options(v);
    options.threads = 1;
    TAKT_TRY(takt_plan_create(v->model, &options, &v->plan));
    return takt_session_create(v->plan, NULL, &v->session);
}

static void fill(const takt_tensor_view *to, const double *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (to->dtype == TAKT_F64)
            ((double *)to->data)[i] = x[i];
        else
            ((float *)to->data)[i] = (float)x[i];
}

takt_status takt_prover_outputs(takt_prover *v, const double *x, double *y)
{
    const takt_graph *g = v->graph;
    for (size_t i = 0; i < g->input_count; i++) {
        const takt_tensor_view *to = takt_session_input(v->session, i);
        const size_t count = v->net.nodes[v->net.inputs[i]].count;
        if (to == NULL)
            return takt_session_error(v->session)->status;
        if (to->dtype != TAKT_F32 && to->dtype != TAKT_F64)
            return takt_fail(v->ctx, TAKT_E_VERIFY_MODEL, "inputs must be f32 or f64");
        fill(to, x, count);
        x += count;
    }
    TAKT_TRY(takt_session_run(v->session));
    for (size_t i = 0; i < g->output_count; i++) {
        const takt_tensor_view *from = takt_session_output(v->session, i);
        size_t count = 1;
        if (from == NULL || (from->dtype != TAKT_F32 && from->dtype != TAKT_F64))
            return takt_fail(v->ctx, TAKT_E_VERIFY_MODEL, "outputs must be f32 or f64");
        for (int k = 0; k < from->rank; k++)
            count *= (size_t)from->dims[k];
        for (size_t k = 0; k < count; k++)
            *y++ = from->dtype == TAKT_F64 ? ((const double *)from->data)[k]
                                           : (double)((const float *)from->data)[k];
    }
    return TAKT_OK;
}

static bool is_inside(const takt_prover *v, const takt_case *c, const double *x)
{
    const takt_property *p = &v->given;
    double squares = 0;
    for (size_t i = 0; i < p->input_count; i++) {
        const double f = (double)(float)x[i];
        /* A box without any f32 is replaced by the nearest one. */
        const bool is_near = f == (double)(float)c->lo[i] || f == (double)(float)c->hi[i];
        if (!(x[i] >= c->lo[i] && x[i] <= c->hi[i]) && !is_near)
            return false;
        if (p->center != NULL)
            squares += (x[i] - p->center[i]) * (x[i] - p->center[i]);
    }
    return p->center == NULL || sqrt(squares) <= p->radius;
}

static takt_status confirm(void *user, const takt_case *c, const double *x, double *y, bool *breaks)
{
    takt_prover *v = user;
    *breaks = false;
    if (!is_inside(v, c, x))
        return TAKT_OK;
    TAKT_TRY(takt_prover_outputs(v, x, y));
    *breaks = takt_goal_breaks(c, x, y);
    return TAKT_OK;
}

static bool is_cancelled(void *user)
{
    const takt_prover *v = user;
    return v->o.is_cancelled != NULL && v->o.is_cancelled(v->o.user);
}

/* ---- the property ---- */

/* Boxes for bounds: they contain every f32 that a point of the given box may be rounded to. */
static takt_status widen(takt_prover *v)
{
    const takt_property *from = &v->given;
    takt_property *to = &v->proved;
    *to = *from;
    takt_arena_init(&to->arena, v->ctx);
    to->cases = takt_arena_array(&to->arena, from->case_count, sizeof *to->cases);
    if (to->cases == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < from->case_count; i++) {
        to->cases[i] = from->cases[i];
        if (v->is_real)
            continue;
        if (i > 0 && from->cases[i].lo == from->cases[i - 1].lo) {
            to->cases[i].lo = to->cases[i - 1].lo;
            to->cases[i].hi = to->cases[i - 1].hi;
            continue;
        }
        double *lo = takt_arena_array(&to->arena, from->input_count, sizeof *lo);
        double *hi = takt_arena_array(&to->arena, from->input_count, sizeof *hi);
        if (lo == NULL || hi == NULL)
            return TAKT_ERR_MEMORY;
        for (size_t k = 0; k < from->input_count; k++) {
            lo[k] = fmin(from->cases[i].lo[k], (double)(float)from->cases[i].lo[k]);
            hi[k] = fmax(from->cases[i].hi[k], (double)(float)from->cases[i].hi[k]);
        }
        to->cases[i].lo = lo;
        to->cases[i].hi = hi;
    }
    return TAKT_OK;
}

static takt_status fit(takt_prover *v)
{
    const takt_property *p = &v->given;
    if (p->input_count != v->net.input_count)
        return takt_fail(v->ctx, TAKT_E_PROPERTY_COUNT,
                         "the property is about %zu inputs, the model has %zu", p->input_count,
                         v->net.input_count);
    if (p->output_count != v->net.output_count)
        return takt_fail(v->ctx, TAKT_E_PROPERTY_COUNT,
                         "the property is about %zu outputs, the model has %zu", p->output_count,
                         v->net.output_count);
    return widen(v);
}

/* ---- the search ---- */

static takt_status search(takt_prover *v)
{
    const takt_search_options options = {.method = v->method,
                                         .deadline_s = v->o.timeout_s > 0 ? v->o.timeout_s : 60,
                                         .pool = v->pool,
                                         .keeps_slopes = v->o.certificate != NULL,
                                         .is_cancelled = is_cancelled,
                                         .confirm = confirm,
                                         .user = v};
    const uint64_t start = v->ctx->now_ns(v->ctx->clock_user);
    const takt_status status =
        takt_search_run(&v->net, &v->proved, &v->given, &options, &v->search);
    v->has_search = status == TAKT_OK;
    v->seconds = (double)(v->ctx->now_ns(v->ctx->clock_user) - start) * 1e-9;
    return status;
}

/* Copies of weights for products in f32 make them faster; without them they are in f64. */
static takt_status add_products(takt_prover *v)
{
    const takt_error before = v->ctx->error;
    takt_status status = TAKT_OK;
    if (v->method != TAKT_BY_IBP)
        status = takt_products_net(&v->net, v->method >= TAKT_BY_ALPHA);
    if (status != TAKT_ERR_MEMORY)
        return status;
    v->ctx->error = before;
    return TAKT_OK;
}

static void drop_runs(takt_prover *v)
{
    takt_pool_destroy(v->pool);
    takt_session_destroy(v->session);
    takt_plan_destroy(v->plan);
    v->pool = NULL;
    v->session = NULL;
    v->plan = NULL;
}

/* Linear bounds do not fit into memory: intervals of the box, with the room that runs of the model
 * needed. */
static takt_status search_short(takt_prover *v, const takt_error *before)
{
    drop_runs(v);
    v->ctx->error = *before;
    v->method = TAKT_BY_IBP;
    takt_status status = search(v);
    if (status == TAKT_ERR_MEMORY) {
        v->ctx->error = *before;
        v->search = (takt_search){.verdict = TAKT_PROOF_UNKNOWN, .bound = -INFINITY};
        status = TAKT_OK;
    }
    v->search.is_short = v->search.verdict == TAKT_PROOF_UNKNOWN;
    return status;
}

static takt_status decide(takt_prover *v)
{
    const takt_error before = v->ctx->error;
    TAKT_TRY(add_products(v));
    takt_status status = search(v);
    if (status == TAKT_ERR_MEMORY)
        status = search_short(v, &before);
    if (status == TAKT_OK && v->search.is_short)
        snprintf(v->note, sizeof v->note, "memory ran out before the end of the search");
    return status;
}

takt_status takt_prover_run(takt_prover *v)
{
    const takt_plan_options options = plan_options(v);
    TAKT_TRY(takt_program_graph(v->model, &options, &v->graph));
    if (v->o.check == NULL || v->o.property == NULL) {
        TAKT_TRY(takt_net_init(v->graph, v->is_real, &v->net));
        TAKT_TRY(open_session(v));
    }
    if (v->o.property != NULL)
        TAKT_TRY(takt_property_load(v->ctx, v->o.property, &v->given));
    else
        TAKT_TRY(takt_prover_around(v));
    if (v->o.check != NULL)
        return takt_prover_check(v);
    TAKT_TRY(fit(v));
    TAKT_TRY(takt_pool_create(v->ctx, v->o.threads, NULL, &v->pool));
    TAKT_TRY(decide(v));
    TAKT_TRY(takt_prover_certify(v));
    return takt_prover_files(v);
}

void takt_prover_deinit(takt_prover *v)
{
    if (v->has_search)
        takt_search_deinit(&v->search, v->ctx);
    if (v->proved.arena.ctx != NULL)
        takt_arena_deinit(&v->proved.arena);
    takt_property_deinit(&v->given);
    drop_runs(v);
    takt_net_deinit(&v->net);
    takt_graph_destroy(v->graph);
}
