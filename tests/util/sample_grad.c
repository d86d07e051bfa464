/* sample_grad.c - gradients of samples, and gradients of these, against central differences. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "grad/grad.h"
#include "util/sample.h"

enum { MAX_CHECKED = 24 }; /* elements of one input that are moved */

bool takt_sample_is_smooth(const takt_sample *s)
{
    bool has_input = false, has_output = false;
    for (size_t i = 0; i < s->graph->count; i++) {
        const takt_node *n = &s->graph->nodes[i];
        for (uint32_t k = 0; k < n->out_count; k++) {
            const bool is_float = takt_dtype_is_float(n->type[k].dtype);
            if (is_float && n->type[k].dtype != TAKT_F64)
                return false;
            has_input = has_input || (is_float && n->in_count == 0);
            has_output = has_output || (is_float && n->in_count > 0);
        }
    }
    return has_input && has_output;
}

/* Whether the op sends no gradient there by agreement. */
static bool is_stopped(const takt_sample *s, takt_id input)
{
    const takt_node *n = takt_node_at(s->graph, s->node);
    for (uint32_t k = 0; k < n->in_count && k < 32; k++)
        if (n->in[k] == input && (n->op->grad_stops >> k & 1) != 0)
            return true;
    return false;
}

/* The sum of all f64 results, each times a weight: w0, w1, … are further inputs of the graph, and
 * the gradients become further outputs. */
typedef struct task {
    takt_sample *s;
    size_t out_count, in_count;
    takt_id out[TAKT_MAX_OUTPUTS], seed[TAKT_MAX_OUTPUTS];
    takt_array weight[TAKT_MAX_OUTPUTS];
    uint32_t result[TAKT_MAX_OUTPUTS]; /* index of the node's result that out[i] is */
    takt_id in[TAKT_SAMPLE_INPUTS], gradient[TAKT_SAMPLE_INPUTS];
    size_t which[TAKT_SAMPLE_INPUTS]; /* index of the input that in[i] is */
} task;

static takt_status append_outputs(task *t)
{
    takt_graph *g = t->s->graph;
    takt_random random = {.state = 42};
    const uint32_t count = takt_node_at(g, t->s->node)->out_count;
    for (uint32_t i = 0; i < count; i++) {
        char name[24];
        const takt_type type = takt_node_at(g, t->s->node)->type[i];
        const size_t k = t->out_count;
        if (type.dtype != TAKT_F64)
            continue;
        snprintf(name, sizeof name, "w%u", i);
        t->out[k] = takt_graph_get(g, t->s->node, i);
        t->seed[k] = takt_graph_input(g, name, &type);
        t->result[k] = i;
        TAKT_TRY(g->status);
        TAKT_TRY(takt_random_array(t->s->ctx, &random, &type, NULL, &t->weight[k]));
        t->out_count++;
    }
    return TAKT_OK;
}

static takt_status append_gradients(task *t)
{
    takt_graph *g = t->s->graph;
    TAKT_TRY(append_outputs(t));
    for (size_t i = 0; i < t->s->count; i++)
        if (takt_type_of(g, g->inputs[i].id)->dtype == TAKT_F64 &&
            !is_stopped(t->s, g->inputs[i].id)) {
            t->which[t->in_count] = i;
            t->in[t->in_count++] = g->inputs[i].id;
        }
    const takt_grad_request request = {.out_count = t->out_count,
                                       .out = t->out,
                                       .seed = t->seed,
                                       .in_count = t->in_count,
                                       .in = t->in,
                                       .result = t->gradient};
    TAKT_TRY(takt_grad_append(g, &request));
    for (size_t i = 0; i < t->in_count; i++) {
        char name[24];
        snprintf(name, sizeof name, "g%zu", i);
        takt_graph_output(g, name, t->gradient[i]);
    }
    return g->status;
}

static takt_status weighted_sum(const task *t, double *sum)
{
    takt_array out[TAKT_MAX_OUTPUTS];
    const takt_node *n = takt_node_at(t->s->graph, t->s->node);
    TAKT_TRY(takt_interpret_node(t->s->ctx, t->s->graph, n, t->s->args, out));
    *sum = 0;
    for (size_t i = 0; i < t->out_count; i++)
        for (size_t k = 0; k < t->weight[i].count; k++)
            *sum += out[t->result[i]].f[k] * t->weight[i].f[k];
    for (uint32_t i = 0; i < n->out_count; i++)
        takt_array_release(t->s->ctx, &out[i]);
    return TAKT_OK;
}

/* The numerical slope along one element of one input, against the gradient. */
static takt_status check_element(const task *t, double *x, double got, double *distance)
{
    const double old = *x, step = 1e-5 * (1 + fabs(old));
    double high = 0, low = 0;
    *x = old + step;
    takt_status status = weighted_sum(t, &high);
    *x = old - step;
    if (status == TAKT_OK)
        status = weighted_sum(t, &low);
    *x = old;
    const double slope = (high - low) / (2 * step);
    *distance = fabs(slope - got) / (1 + fabs(slope));
    return status;
}

static takt_status check_input(const task *t, size_t i, const takt_array *gradient,
                               double *distance, char *where)
{
    const size_t stride = gradient->count > MAX_CHECKED ? gradient->count / MAX_CHECKED : 1;
    double *x = t->s->in[t->which[i]].f;
    for (size_t k = 0; k < gradient->count; k += stride) {
        double d;
        TAKT_TRY(check_element(t, &x[k], gradient->f[k], &d));
        if (!(d <= *distance)) { /* NaN is worse than anything */
            snprintf(where, TAKT_WHERE, "input %zu, element %zu, gradient %g", t->which[i], k,
                     gradient->f[k]);
            *distance = isnan(d) ? INFINITY : d;
        }
    }
    return TAKT_OK;
}

static takt_status check_gradients(const task *t, double *distance, char *where)
{
    const takt_graph *g = t->s->graph;
    takt_array *in = takt_arena_array(&t->s->arena, g->input_count, sizeof *in);
    takt_array *out = takt_arena_array(&t->s->arena, g->output_count, sizeof *out);
    if (in == NULL || out == NULL)
        return TAKT_ERR_MEMORY;
    memcpy(in, t->s->in, t->s->count * sizeof *in);
    memcpy(in + t->s->count, t->weight, t->out_count * sizeof *in);
    TAKT_TRY(takt_interpret_arrays(t->s->ctx, g, in, NULL, out, NULL));
    const takt_array *gradients = &out[g->output_count - t->in_count];
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < t->in_count && status == TAKT_OK; i++)
        status = check_input(t, i, &gradients[i], distance, where);
    for (size_t i = 0; i < g->output_count; i++)
        takt_array_release(t->s->ctx, &out[i]);
    return status;
}

takt_status takt_sample_check_grad(takt_sample *s, double *distance, char where[static TAKT_WHERE])
{
    task t = {.s = s};
    *distance = 0;
    where[0] = '\0';
    takt_status status = append_gradients(&t);
    if (status == TAKT_OK)
        status = check_gradients(&t, distance, where);
    for (size_t i = 0; i < t.out_count; i++)
        takt_array_release(s->ctx, &t.weight[i]);
    return status;
}

/* ---- second order ---- */

/* The sum of all gradients, each times a direction: the directions are further inputs, and the
 * gradients of that sum further outputs. */
typedef struct curved {
    task t;
    takt_array direction[TAKT_SAMPLE_INPUTS];
    takt_array *in, *out; /* of the whole graph */
} curved;

static takt_status append_second(curved *c)
{
    task *t = &c->t;
    takt_graph *g = t->s->graph;
    takt_random random = {.state = 43};
    takt_id seed[TAKT_SAMPLE_INPUTS], second[TAKT_SAMPLE_INPUTS];
    for (size_t i = 0; i < t->in_count; i++) {
        char name[24];
        const takt_type type = takt_array_type(&t->s->in[t->which[i]]);
        snprintf(name, sizeof name, "v%zu", i);
        seed[i] = takt_graph_input(g, name, &type);
        TAKT_TRY(takt_random_array(t->s->ctx, &random, &type, NULL, &c->direction[i]));
    }
    const takt_grad_request request = {.out_count = t->in_count,
                                       .out = t->gradient,
                                       .seed = seed,
                                       .in_count = t->in_count,
                                       .in = t->in,
                                       .result = second};
    TAKT_TRY(takt_grad_append(g, &request));
    for (size_t i = 0; i < t->in_count; i++) {
        char name[24];
        snprintf(name, sizeof name, "h%zu", i);
        takt_graph_output(g, name, second[i]);
    }
    return g->status;
}

static void release_outputs(const curved *c)
{
    for (size_t i = 0; i < c->t.s->graph->output_count; i++)
        takt_array_release(c->t.s->ctx, &c->out[i]);
}

/* `*sum` of the gradients at the present inputs; all outputs stay, to be released. */
static takt_status directed_sum(const curved *c, double *sum)
{
    const takt_graph *g = c->t.s->graph;
    const takt_array *gradient = &c->out[g->output_count - 2 * c->t.in_count];
    TAKT_TRY(takt_interpret_arrays(c->t.s->ctx, g, c->in, NULL, c->out, NULL));
    *sum = 0;
    for (size_t i = 0; i < c->t.in_count; i++)
        for (size_t k = 0; k < c->direction[i].count; k++)
            *sum += gradient[i].f[k] * c->direction[i].f[k];
    return TAKT_OK;
}

static takt_status check_curve(const curved *c, double *x, double got, double *distance)
{
    const double old = *x, step = 1e-5 * (1 + fabs(old));
    double sum[2] = {0, 0};
    takt_status status = TAKT_OK;
    for (int side = 0; side < 2 && status == TAKT_OK; side++) {
        *x = side == 0 ? old + step : old - step;
        status = directed_sum(c, &sum[side]);
        release_outputs(c);
    }
    *x = old;
    const double slope = (sum[0] - sum[1]) / (2 * step);
    const double off = fabs(slope - got) / (1 + fabs(slope));
    *distance = off <= *distance ? *distance : isnan(off) ? INFINITY : off;
    return status;
}

static takt_status check_second(curved *c, double *distance)
{
    enum { CHECKED = 5 }; /* elements of an input: each evaluates the whole graph twice */
    const task *t = &c->t;
    takt_array second[TAKT_SAMPLE_INPUTS];
    double sum;
    takt_status status = directed_sum(c, &sum);
    if (status != TAKT_OK)
        return status;
    for (size_t i = 0; i < t->in_count; i++) {
        takt_array *from = &c->out[t->s->graph->output_count - t->in_count + i];
        second[i] = *from;
        *from = (takt_array){0};
    }
    release_outputs(c);
    for (size_t i = 0; i < t->in_count; i++) {
        const size_t count = second[i].count, stride = count > CHECKED ? count / CHECKED : 1;
        double *x = t->s->in[t->which[i]].f;
        for (size_t k = 0; k < count && status == TAKT_OK; k += stride)
            status = check_curve(c, &x[k], second[i].f[k], distance);
        takt_array_release(t->s->ctx, &second[i]);
    }
    return status;
}

static takt_status evaluate_second(curved *c, double *distance)
{
    const task *t = &c->t;
    const takt_graph *g = t->s->graph;
    c->in = takt_arena_array(&t->s->arena, g->input_count, sizeof *c->in);
    c->out = takt_arena_array(&t->s->arena, g->output_count, sizeof *c->out);
    if (c->in == NULL || c->out == NULL)
        return TAKT_ERR_MEMORY;
    memcpy(c->in, t->s->in, t->s->count * sizeof *c->in);
    memcpy(c->in + t->s->count, t->weight, t->out_count * sizeof *c->in);
    memcpy(c->in + t->s->count + t->out_count, c->direction, t->in_count * sizeof *c->in);
    return check_second(c, distance);
}

takt_status takt_sample_check_second(takt_sample *s, double *distance)
{
    curved c = {.t = {.s = s}};
    *distance = 0;
    takt_status status = append_gradients(&c.t);
    if (status == TAKT_OK)
        status = append_second(&c);
    if (status == TAKT_OK)
        status = evaluate_second(&c, distance);
    for (size_t i = 0; i < c.t.out_count; i++)
        takt_array_release(s->ctx, &c.t.weight[i]);
    for (size_t i = 0; i < c.t.in_count; i++)
        takt_array_release(s->ctx, &c.direction[i]);
    return status;
}
