/* agree.h - compares plans with the interpreter, step by step, and with each other, bit by bit.
 *
 * Every step of an unfused plan is checked on the inputs that it really had, so errors do not add
 * up and discontinuities do not matter; every other plan of the same graph must then give the same
 * bits, which settles fused steps, vector code and threads.
 */
#ifndef TAKT_TESTS_BACKEND_AGREE_H
#define TAKT_TESTS_BACKEND_AGREE_H

#include <math.h>
#include <string.h>

#include "api/model.h"
#include "api/session/session.h"
#include "backend/bound.h"
#include "backend/spread.h"
#include "interp/interp.h"
#include "op/ops.h"
#include "plan/backend.h"
#include "test.h"
#include "util/inject.h"
#include "util/random_array.h"

#include <takt/plan.h>

/* The subject of the check, for messages. */
typedef struct agree_subject {
    const char *what;
    takt_ctx *ctx;
    const takt_inject *inject;
    takt_model model;
    const takt_array *in; /* values of the inputs */
    const char *backend;
    bool may_fall_back; /* steps of the interpreter are not failures */
    bool spreads;       /* inputs are bound as slices and in Fortran order */
} agree_subject;

enum { AGREE_RUNS = 2 }; /* the second sees the state that the first left */

typedef struct agree_result {
    takt_status status[AGREE_RUNS];
    size_t count; /* outputs and slots of each run, copied */
    takt_array *value;
} agree_result;

/* ---- checking steps ---- */

typedef struct agree_check {
    const agree_subject *subject;
    const takt_session *session;
    takt_array in[TAKT_SAMPLE_INPUTS];
    bool is_loaded;
} agree_check;

static takt_status agree_load(takt_ctx *ctx, const takt_view *v, const void *data, takt_array *out)
{
    takt_type type = {.dtype = v->dtype, .rank = v->rank};
    memcpy(type.dim, v->dim, sizeof v->dim);
    TAKT_TRY(takt_array_create(ctx, &type, out));
    for (size_t i = 0; i < out->count; i++)
        if (out->f != NULL)
            out->f[i] = takt_dtype_get_f(v->dtype, data, i);
        else
            out->i[i] = takt_dtype_get_i(v->dtype, data, i);
    return TAKT_OK;
}

/* The current value of node `id` in the session; false if it is not accessible. */
static bool agree_value(const agree_check *c, takt_id id, takt_array *out)
{
    const takt_plan *plan = c->session->plan;
    const takt_node *n = &plan->graph->nodes[id];
    if (n->op == &takt_op_constant)
        return takt_array_from_tensor(c->subject->ctx, n->attr[0].tensor, out) == TAKT_OK;
    for (size_t i = 0; i < plan->graph->slot_count;
         i++) /* the plan's last view of it may be a copy */
        if (plan->graph->slots[i].value == id)
            return takt_array_from_tensor(c->subject->ctx, &c->session->state[i], out) == TAKT_OK;
    const uint32_t buffer = plan->buffer_of[id];
    if (buffer == UINT32_MAX || c->session->base[buffer] == NULL)
        return false;
    const takt_view *v = &plan->view_of[id];
    if (v->rank != n->type->rank || v->dtype != n->type->dtype) /* no step requested it */
        return false;
    const char *data = (const char *)c->session->base[v->buffer] + v->offset;
    return agree_load(c->subject->ctx, v, data, out) == TAKT_OK;
}

static void agree_forget(agree_check *c)
{
    for (size_t i = 0; i < TAKT_SAMPLE_INPUTS; i++)
        takt_array_release(c->subject->ctx, &c->in[i]);
    memset(c->in, 0, sizeof c->in);
    c->is_loaded = false;
}

static void agree_before(void *user, size_t step)
{
    agree_check *c = user;
    const takt_plan *plan = c->session->plan;
    const takt_step *s = &plan->steps[step];
    agree_forget(c);
    if (s->node_count != 1)
        return;
    const takt_node *n = &plan->graph->nodes[s->nodes[0]];
    if (n->in_count > TAKT_SAMPLE_INPUTS)
        return;
    for (uint32_t k = 0; k < n->in_count; k++) {
        c->in[k] = (takt_array){.rank = -1};
        if (n->in[k] == TAKT_NONE)
            continue;
        /* The step's own view, if it has one per input: state that other values take over had moved
         * when the plan's own list of views was finished. */
        const takt_view *v = s->in_count == n->in_count ? &s->in[k] : NULL;
        const takt_type *type = takt_type_of(plan->graph, n->in[k]);
        if (v != NULL && plan->buffers[v->buffer].place == TAKT_PLACE_FORM &&
            plan->graph->nodes[n->in[k]].op != &takt_op_state)
            return; /* made from a state and packed: the value itself may be gone */
        if (v != NULL && v->dtype == type->dtype && v->rank == type->rank) {
            const char *data = (const char *)c->session->base[v->buffer] + v->offset;
            if (agree_load(c->subject->ctx, v, data, &c->in[k]) != TAKT_OK)
                return;
        } else if (plan->space_count > 1 || !agree_value(c, n->in[k], &c->in[k])) {
            return; /* with two memories a value has two copies, and the plan lists only one */
        }
    }
    c->is_loaded = true;
}

static void agree_compare(const agree_check *c, const takt_step *s, uint32_t k,
                          const takt_array *want, const takt_array *magnitude)
{
    const takt_node *n = &c->session->plan->graph->nodes[s->nodes[0]];
    const takt_view *v = &s->out[k];
    takt_array got = {0};
    if (agree_load(c->subject->ctx, v, (const char *)c->session->base[v->buffer] + v->offset,
                   &got) != TAKT_OK)
        return;
    const double allowed = agree_rounding(n, c->in);
    size_t at = 0;
    const bool good = agree_within(&got, want, magnitude, allowed, &at);
    EXPECT(good, "%s: step %s (%s %s), result %u, element %zu: %.17g instead of %.17g",
           c->subject->what, s->name, s->kind, s->kernel, k, at,
           got.f != NULL ? got.f[at] : (double)got.i[at],
           want->f != NULL ? want->f[at] : (double)want->i[at]);
    takt_array_release(c->subject->ctx, &got);
}

/* One magnitude for every element of the results: the largest of all operands and results. */
static bool agree_level(const agree_check *c, const takt_node *n, const takt_array *want,
                        takt_array *magnitude)
{
    double most = 1;
    for (uint32_t k = 0; k < n->in_count; k++)
        most = agree_largest(&c->in[k], most);
    for (uint32_t k = 0; k < n->out_count; k++)
        most = agree_largest(&want[k], most);
    if (takt_interpret_node(c->subject->ctx, c->session->plan->graph, n, c->in, magnitude) !=
        TAKT_OK)
        return false;
    for (uint32_t k = 0; k < n->out_count; k++)
        for (size_t i = 0; magnitude[k].f != NULL && i < magnitude[k].count; i++)
            magnitude[k].f[i] = most;
    return true;
}

static void agree_after(void *user, size_t step)
{
    agree_check *c = user;
    takt_ctx *ctx = c->subject->ctx;
    const takt_plan *plan = c->session->plan;
    const takt_step *s = &plan->steps[step];
    if (!c->is_loaded || s->node_count != 1)
        return;
    const takt_node *n = &plan->graph->nodes[s->nodes[0]];
    takt_array want[TAKT_MAX_OUTPUTS] = {0}, magnitude[TAKT_MAX_OUTPUTS] = {0};
    if (takt_interpret_node(ctx, plan->graph, n, c->in, want) == TAKT_OK) {
        const bool sums = agree_is_sum(n);
        const bool is_gelu = n->op == &takt_op_gelu; /* its error is measured by |x| */
        if (sums) {
            /* x of max_pool_dx is unchanged: it determines which elements the others are added
             * to. */
            for (uint32_t k = n->op == &takt_op_max_pool_dx; k < n->in_count; k++)
                for (size_t i = 0; c->in[k].f != NULL && i < c->in[k].count; i++)
                    c->in[k].f[i] = fabs(c->in[k].f[i]);
            if (takt_interpret_node(ctx, plan->graph, n, c->in, magnitude) == TAKT_OK)
                agree_spread(n, &magnitude[0]);
        }
        const bool recurs = agree_is_recurrent(n) && agree_level(c, n, want, magnitude);
        for (uint32_t k = 0; k < n->out_count; k++)
            agree_compare(c, s, k, &want[k],
                          sums || recurs ? &magnitude[k]
                          : is_gelu      ? &c->in[0]
                                         : NULL);
    }
    for (uint32_t k = 0; k < n->out_count; k++) {
        takt_array_release(ctx, &want[k]);
        takt_array_release(ctx, &magnitude[k]);
    }
    agree_forget(c);
}

/* ---- running ---- */

static void agree_put(const takt_array *from, void *data)
{
    for (size_t i = 0; i < from->count; i++)
        if (from->f != NULL)
            takt_dtype_put_f(from->dtype, data, i, from->f[i]);
        else
            takt_dtype_put_i(from->dtype, data, i, from->i[i]);
}

/* No step may be left to the interpreter. */
static void agree_notes(const agree_subject *a, const takt_plan *plan)
{
    for (size_t i = 0; i < plan->step_count && !a->may_fall_back; i++)
        EXPECT(strcmp(plan->steps[i].kind, "ref") != 0, "%s: step %s: %s", a->what,
               plan->steps[i].name, plan->steps[i].note != NULL ? plan->steps[i].note : "");
    for (const takt_plan *child = plan->child; child != NULL; child = child->sibling)
        agree_notes(a, child);
}

static void agree_keep(const agree_subject *a, takt_session *s, agree_result *r, size_t run)
{
    const takt_graph *g = s->plan->graph;
    takt_array *to = r->value + run * r->count;
    for (size_t i = 0; i < g->output_count; i++) {
        const takt_tensor_view *v = takt_session_output(s, i);
        takt_view view = {.dtype = v->dtype, .rank = v->rank};
        memcpy(view.dim, v->dims, sizeof view.dim);
        EXPECT_OK(a->ctx, agree_load(a->ctx, &view, v->data, &to[i]));
    }
    for (size_t i = 0; i < g->slot_count; i++)
        EXPECT_OK(a->ctx, takt_array_from_tensor(a->ctx, &s->state[i], &to[g->output_count + i]));
}

/* The inputs' values where the session reads them. */
static void agree_fill(const agree_subject *a, takt_session *s, spread_buffers *buffers)
{
    const takt_tensor_view own = {.data = NULL};
    spread_free(buffers);
    *buffers = (spread_buffers){0};
    for (size_t i = 0; i < s->plan->graph->input_count; i++) { /* donated ones are used up */
        if (a->spreads)
            EXPECT_OK(NULL, takt_session_bind(s, s->input_descs[i].name, &own));
        agree_put(&a->in[i], takt_session_input(s, i)->data);
        EXPECT(!a->spreads || spread_bind(s, i, buffers), "%s: %s", a->what,
               takt_session_error(s)->message);
    }
}

static void agree_run(const agree_subject *a, takt_session *s, bool checked, agree_result *r)
{
    spread_buffers buffers = {0};
    agree_check check = {.subject = a, .session = s};
    const takt_watch watch = {.before = agree_before, .after = agree_after, .user = &check};
    for (size_t i = 0; i < s->plan->graph->output_count; i++)
        EXPECT(takt_session_output(s, i) != NULL);
    for (size_t run = 0; run < AGREE_RUNS; run++) {
        agree_fill(a, s, &buffers);
        s->watch = checked ? &watch : NULL;
        const uint64_t gets = a->inject != NULL ? a->inject->gets : 0;
        r->status[run] = takt_session_run(s);
        if (a->inject != NULL && !checked && !a->may_fall_back)
            EXPECT(a->inject->gets == gets, "%s: a run took memory %llu times", a->what,
                   (unsigned long long)(a->inject->gets - gets));
        if (r->status[run] != TAKT_OK && r->status[run] != TAKT_ERR_RANGE)
            EXPECT(false, "%s: %s", a->what, takt_session_error(s)->message);
        agree_forget(&check);
        agree_keep(a, s, r, run);
    }
    spread_free(&buffers);
}

static void agree_release(const agree_subject *a, agree_result *r)
{
    for (size_t i = 0; i < AGREE_RUNS * r->count; i++)
        takt_array_release(a->ctx, &r->value[i]);
    free(r->value);
    *r = (agree_result){0};
}

/* Plans and runs; false if there is nothing to compare. */
static bool agree_try(const agree_subject *a, const takt_plan_options *options, bool checked,
                      agree_result *r)
{
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    *r = (agree_result){0};
    takt_status status = takt_plan_create(&a->model, options, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &session);
    if (status == TAKT_OK) {
        r->count = plan->graph->output_count + plan->graph->slot_count;
        r->value = calloc(AGREE_RUNS * r->count + 1, sizeof *r->value);
        agree_notes(a, plan);
        agree_run(a, session, checked, r);
    } else if (status != TAKT_ERR_RANGE) { /* a constant expression that divides by zero */
        EXPECT(false, "%s: %s (%s)", a->what, takt_last_error(a->ctx),
               takt_last_error_info(a->ctx)->node);
    }
    takt_session_destroy(session);
    takt_plan_destroy(plan);
    return status == TAKT_OK;
}

static void agree_same(const agree_subject *a, const char *how, const agree_result *x,
                       const agree_result *y)
{
    if (!EXPECT(x->count == y->count, "%s, %s: %zu and %zu results", a->what, how, x->count,
                y->count))
        return;
    for (size_t run = 0; run < AGREE_RUNS; run++) {
        EXPECT(x->status[run] == y->status[run], "%s, %s: run %zu: status %d and %d", a->what, how,
               run, x->status[run], y->status[run]);
        for (size_t i = 0; i < x->count && x->status[run] == TAKT_OK; i++) {
            const takt_array *p = &x->value[run * x->count + i], *q = &y->value[run * x->count + i];
            size_t at = 0;
            EXPECT(agree_is_same(p, q, &at),
                   "%s, %s: run %zu, result %zu, element %zu: %.17g and %.17g", a->what, how, run,
                   i, at, p->f != NULL ? p->f[at] : (double)p->i[at],
                   q->f != NULL ? q->f[at] : (double)q->i[at]);
        }
    }
}

/* "x0,x1,...": all inputs. */
static void agree_inputs(const agree_subject *a, char *to, size_t size)
{
    to[0] = '\0';
    for (size_t i = 0, at = 0; i < a->model.graph->input_count; i++) {
        const char *name = a->model.graph->inputs[i].name;
        if (at + strlen(name) + 2 <= size)
            at += (size_t)snprintf(to + at, size - at, "%s%s", at > 0 ? "," : "", name);
    }
}

/* All plans of one graph: only passes without a licence, so that every bit must agree. */
static void agree_all(const agree_subject *a)
{
    static const char licensed[] = "-fold-weights,-quantized,-reduce-strength,-winograd";
    char donated[4096];
    agree_inputs(a, donated, sizeof donated);
    const struct {
        const char *how;
        takt_plan_options options;
    } plans[] = {
        {"default", {.threads = 1, .passes = licensed}},
        {"scalar", {.threads = 1, .isa = "scalar", .passes = licensed}},
        {"2 threads", {.threads = 2, .passes = licensed}},
        {"3 threads", {.threads = 3, .passes = licensed}},
        {"no reuse", {.threads = 1, .no_reuse = true, .passes = licensed}},
        {"-O3", {.threads = 1, .level = 3, .passes = licensed}},
        {"hint memory", {.threads = 2, .hint = "memory", .passes = licensed}},
        {"donated", {.threads = 1, .donate = donated, .passes = licensed}},
    };
    const takt_plan_options plain = {.threads = 1, .level = -1, .backend = a->backend};
    agree_result first, other;
    if (!agree_try(a, &plain, true, &first))
        return;
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        takt_plan_options options = plans[i].options;
        options.backend = a->backend;
        if (agree_try(a, &options, false, &other))
            agree_same(a, plans[i].how, &first, &other);
        agree_release(a, &other);
    }
    agree_subject spread = *a;
    const takt_plan_options two = {.threads = 2, .passes = licensed, .backend = a->backend};
    spread.spreads = true;
    if (agree_try(&spread, &two, false, &other))
        agree_same(a, "slices and Fortran order", &first, &other);
    agree_release(a, &other);
    agree_release(a, &first);
}

#endif
