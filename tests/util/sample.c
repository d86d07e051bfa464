/* sample.c - samples of op records with values for their inputs, and their gradients checked. */
#include "util/sample.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "grad/grad.h"

/* "f32[2]" as "f64[2]": only types of inputs have a bracket after them. */
static void widen_text(const char *text, char *to, size_t size)
{
    static const char *const narrow[] = {"bf16[", "f16[", "f32["};
    size_t length = 0;
    while (*text != '\0' && length + 8 < size) {
        size_t skip = 0;
        for (size_t i = 0; i < 3 && skip == 0; i++)
            if (strncmp(text, narrow[i], strlen(narrow[i])) == 0)
                skip = strlen(narrow[i]);
        if (skip != 0) {
            memcpy(to + length, "f64[", 4);
            length += 4;
            text += skip;
        } else {
            to[length++] = *text++;
        }
    }
    to[length] = '\0';
}

static takt_id find_call(const takt_graph *g, const takt_op *op)
{
    for (size_t i = g->count; i-- > 0;)
        if (g->nodes[i].op == op)
            return (takt_id)i;
    return TAKT_NONE;
}

/* Index of the graph's input that is node `id`; sample arguments are always inputs. */
static size_t input_index(const takt_graph *g, takt_id id)
{
    size_t i = 0;
    while (i < g->input_count && g->inputs[i].id != id)
        i++;
    return i;
}

static takt_status fill(takt_sample *s, const takt_op *op)
{
    const takt_graph *g = s->graph;
    takt_random random = {.state = takt_graph_digest(g)};
    s->node = find_call(g, op);
    if (s->node == TAKT_NONE || g->input_count > TAKT_SAMPLE_INPUTS)
        return takt_fail(s->ctx, TAKT_E_INTERNAL, "the sample has no call of %s", op->name);
    const takt_node *n = takt_node_at(g, s->node);
    s->in = takt_arena_array(&s->arena, g->input_count, sizeof *s->in);
    s->args = takt_arena_array(&s->arena, n->in_count, sizeof *s->args);
    if (s->in == NULL || s->args == NULL)
        return TAKT_ERR_MEMORY;
    for (; s->count < g->input_count; s->count++) {
        takt_type type = *takt_type_of(g, g->inputs[s->count].id);
        for (int d = 0; d < type.rank; d++)
            TAKT_TRY(takt_dim_resolve(g->dims, type.dim[d], &type.dim[d]));
        TAKT_TRY(
            takt_random_array(s->ctx, &random, &type, &s->ranges.at[s->count], &s->in[s->count]));
    }
    for (uint32_t i = 0; i < n->in_count; i++) {
        const size_t k = input_index(g, n->in[i]);
        if (n->in[i] != TAKT_NONE && k == g->input_count)
            return takt_fail(s->ctx, TAKT_E_INTERNAL, "argument %u is not an input", i);
        s->args[i] = n->in[i] == TAKT_NONE ? (takt_array){.rank = -1} : s->in[k];
    }
    return TAKT_OK;
}

takt_status takt_sample_init(takt_ctx *ctx, const takt_op *op, const char *text, bool widen,
                             takt_sample *s)
{
    char wide[2048];
    *s = (takt_sample){.ctx = ctx};
    takt_arena_init(&s->arena, ctx);
    if (widen)
        widen_text(text, wide, sizeof wide);
    TAKT_TRY(takt_sample_graph(ctx, op, widen ? wide : text, &s->graph, &s->ranges));
    const takt_status status = fill(s, op);
    if (status != TAKT_OK)
        takt_sample_deinit(s);
    return status;
}

void takt_sample_deinit(takt_sample *s)
{
    for (size_t i = 0; i < s->count; i++)
        takt_array_release(s->ctx, &s->in[i]);
    takt_graph_destroy(s->graph);
    takt_arena_deinit(&s->arena);
    *s = (takt_sample){0};
}

double takt_array_distance(const takt_array *a, const takt_array *b)
{
    double worst = 0;
    if (a->dtype != b->dtype || a->count != b->count)
        return INFINITY;
    for (size_t k = 0; k < a->count; k++) {
        double d = 0;
        if (a->f == NULL)
            d = a->i[k] == b->i[k] ? 0 : INFINITY;
        else if (a->f[k] != b->f[k] && !(isnan(a->f[k]) && isnan(b->f[k])))
            d = fabs(a->f[k] - b->f[k]) / (1 + fabs(a->f[k]));
        worst = d <= worst ? worst : isnan(d) ? INFINITY : d;
    }
    return worst;
}

/* ---- gradients ---- */

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
