/* diff_run.c - one side of a comparison: its nodes in order, each value freed after its last
 * reader.
 *
 * What needs constants alone, such as weights and their casts, is computed for each reader and
 * freed after it: graphs list all weights first. */
#include <math.h>
#include <string.h>

#include "base/philox.h"
#include "interp/interp.h"
#include "op/ops.h"
#include "verify/diff.h"

/* ---- inputs ---- */

static const takt_known_input *data_of(const takt_diff_options *o, size_t input, const char *name)
{
    for (size_t i = 0; i < o->data_count; i++)
        if (o->data[i].name == NULL ? i == input : strcmp(o->data[i].name, name) == 0)
            return &o->data[i];
    return NULL;
}

static takt_status fill_given(takt_ctx *ctx, const takt_known_input *known, const char *name,
                              takt_array *a)
{
    const takt_tensor_view *v = &known->view;
    bool good = v->rank == a->rank;
    for (int d = 1; good && d < a->rank; d++)
        good = v->dims[d] == a->dim[d];
    if (!good || (a->rank > 0 && v->dims[0] < a->dim[0]))
        return takt_fail(ctx, TAKT_E_BINDING, "the data for %s does not have its shape", name);
    for (size_t i = 0; i < a->count; i++) {
        const double x =
            takt_dtype_is_float(v->dtype)
                ? takt_dtype_get_f(v->dtype, v->data, i)
                : takt_dtype_to_double(v->dtype, takt_dtype_get_i(v->dtype, v->data, i));
        if (a->f != NULL)
            a->f[i] = takt_dtype_round(a->dtype, x);
        else
            a->i[i] = takt_dtype_from_double(a->dtype, x);
    }
    return TAKT_OK;
}

static void fill_random(takt_array *a, size_t input)
{
    const takt_philox_at at = {.seed = 0, .step = 0, .stream = (uint32_t)input};
    for (size_t i = 0; i < a->count; i++) {
        const double x = 2 * takt_philox_uniform(takt_philox_word(&at, i)) - 1;
        if (a->f != NULL)
            a->f[i] = takt_dtype_round(a->dtype, x);
        else
            a->i[i] = x > 0;
    }
}

static takt_status fill_input(takt_diff_work *w, const takt_diff_side *s, size_t i)
{
    const takt_port *p = &s->graph->inputs[i];
    takt_array *a = &s->values[p->id];
    if (a->rank >= 0)
        return TAKT_OK;
    TAKT_TRY(takt_array_create(w->ctx, takt_type_of(s->graph, p->id), a));
    const takt_known_input *known = data_of(w->o, i, p->name);
    if (known != NULL)
        return fill_given(w->ctx, known, p->name, a);
    fill_random(a, i);
    return TAKT_OK;
}

/* ---- one side ---- */

/* Late nodes are computed by a recursion, which `deepest` limits. */
static void mark_late(const takt_diff_side *s, unsigned char deepest)
{
    for (size_t i = 0; i < s->graph->count; i++) {
        const takt_node *n = &s->graph->nodes[i];
        unsigned char depth = n->op == &takt_op_constant ? 1 : 0;
        for (uint32_t k = 0; k < n->in_count && n->out_count == 1; k++) {
            const unsigned char in = n->in[k] != TAKT_NONE ? s->late[n->in[k]] : 1;
            if (in == 0 || in == deepest) {
                depth = 0;
                break;
            }
            depth = in >= depth ? (unsigned char)(in + 1) : depth;
        }
        s->late[i] = depth;
    }
}

takt_status takt_diff_side_init(takt_diff_work *w, unsigned char deepest, takt_diff_side *s)
{
    const takt_graph *g = s->graph;
    s->live = takt_arena_array(&w->arena, g->count + 1, 1);
    s->late = takt_arena_array(&w->arena, g->count + 1, 1);
    s->values = takt_arena_array(&w->arena, g->count + 1, sizeof *s->values);
    s->several = takt_arena_array(&w->arena, g->count + 1, sizeof *s->several);
    s->readers = takt_arena_array(&w->arena, g->count + 1, sizeof *s->readers);
    s->same = takt_arena_array(&w->arena, g->count + 1, sizeof *s->same);
    s->samples = takt_arena_array(&w->arena, g->count + 1, sizeof *s->samples);
    if (s->live == NULL || s->late == NULL || s->values == NULL || s->several == NULL ||
        s->readers == NULL || s->same == NULL || s->samples == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->count; i++)
        s->values[i].rank = -1;
    if (g->slot_count > 0)
        return takt_fail(w->ctx, TAKT_E_STATE, "model %s has state: cut a part without it",
                         g->name);
    takt_graph_live(g, s->live);
    mark_late(s, deepest);
    return TAKT_OK;
}

static void free_value(takt_diff_work *w, takt_diff_side *s, size_t id)
{
    if (s->values[id].rank >= 0)
        takt_array_release(w->ctx, &s->values[id]);
    s->values[id] = (takt_array){.rank = -1};
    for (uint32_t k = 0; s->several[id] != NULL && k < s->graph->nodes[id].out_count; k++)
        takt_array_release(w->ctx, &s->several[id][k]);
    s->several[id] = NULL;
}

takt_status takt_diff_begin(takt_diff_work *w, takt_diff_side *s, const takt_id *holds,
                            size_t hold_count)
{
    const takt_graph *g = s->graph;
    memset(s->readers, 0, g->count * sizeof *s->readers);
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; s->live[i] && k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE)
                s->readers[g->nodes[i].in[k]]++;
    for (size_t i = 0; i < hold_count; i++)
        if (holds[i] != TAKT_NONE)
            s->readers[holds[i]]++;
    s->next = 0;
    for (size_t i = 0; i < g->input_count; i++)
        TAKT_TRY(fill_input(w, s, i));
    return TAKT_OK;
}

bool takt_diff_leave(takt_diff_work *w, takt_diff_side *s, takt_id id)
{
    s->readers[id] -= s->readers[id] > 0;
    const bool is_last = s->late[id] || s->readers[id] == 0;
    if (is_last)
        free_value(w, s, id);
    return is_last;
}

/* ---- nodes ---- */

takt_status takt_diff_evaluate(takt_diff_work *w, const takt_diff_side *s, takt_id id,
                               const takt_array *const *inputs, takt_array *out)
{
    const takt_node *n = &s->graph->nodes[id];
    takt_array *in = takt_arena_array(&w->arena, n->in_count + 1, sizeof *in);
    if (in == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t k = 0; k < n->in_count; k++)
        in[k] = inputs[k] != NULL ? *inputs[k] : (takt_array){.rank = -1};
    return takt_interpret_node(w->ctx, s->graph, n, in, out);
}

static takt_status run_node(takt_diff_work *w, takt_diff_side *s, takt_id id)
{
    const takt_node *n = &s->graph->nodes[id];
    if (n->op == &takt_op_get)
        return takt_array_copy(w->ctx, &s->several[n->in[0]][n->attr[0].i64], &s->values[id]);
    const takt_array **inputs = takt_arena_array(&w->arena, n->in_count + 1, sizeof *inputs);
    if (inputs == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t k = 0; k < n->in_count; k++)
        inputs[k] = n->in[k] != TAKT_NONE ? &s->values[n->in[k]] : NULL;
    if (n->out_count == 1)
        return takt_diff_evaluate(w, s, id, inputs, &s->values[id]);
    takt_array *all = takt_arena_array(&w->arena, n->out_count + 1, sizeof *all);
    if (all == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_diff_evaluate(w, s, id, inputs, all));
    s->several[id] = all;
    return TAKT_OK;
}

static void leave_inputs(takt_diff_work *w, takt_diff_side *s, takt_id id)
{
    const takt_node *n = &s->graph->nodes[id];
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE)
            takt_diff_leave(w, s, n->in[k]);
}

takt_status takt_diff_late(takt_diff_work *w, takt_diff_side *s, takt_id id)
{
    const takt_node *n = &s->graph->nodes[id];
    if (s->values[id].rank >= 0)
        return TAKT_OK;
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE)
            TAKT_TRY(takt_diff_late(w, s, n->in[k]));
    TAKT_TRY(run_node(w, s, id));
    leave_inputs(w, s, id);
    return TAKT_OK;
}

takt_status takt_diff_run(takt_diff_work *w, takt_diff_side *s, takt_id id)
{
    const takt_node *n = &s->graph->nodes[id];
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE && s->late[n->in[k]])
            TAKT_TRY(takt_diff_late(w, s, n->in[k]));
    return n->op == &takt_op_input || s->values[id].rank >= 0 ? TAKT_OK : run_node(w, s, id);
}

takt_status takt_diff_reach(takt_diff_work *w, takt_diff_side *s, takt_id id)
{
    if (s->late[id])
        return takt_diff_late(w, s, id);
    for (; s->next <= (size_t)id; s->next++) {
        const takt_id at = (takt_id)s->next;
        if (!s->live[at] || s->late[at])
            continue;
        TAKT_TRY(takt_diff_run(w, s, at));
        leave_inputs(w, s, at);
        if (s->readers[at] == 0)
            free_value(w, s, at);
    }
    return TAKT_OK;
}

/* ---- samples ---- */

bool takt_diff_is_value(const takt_diff_side *s, size_t id)
{
    const takt_node *n = &s->graph->nodes[id];
    return s->live[id] && n->out_count == 1 && n->op != &takt_op_constant &&
           takt_dtype_is_float(n->type[0].dtype);
}

static takt_status keep_some(takt_diff_work *w, takt_diff_side *s, size_t id)
{
    const takt_array *a = &s->values[id];
    const size_t count = a->count < TAKT_DIFF_SAMPLES ? a->count : TAKT_DIFF_SAMPLES;
    s->samples[id] = takt_arena_array(&w->arena, count + 1, sizeof(double));
    if (s->samples[id] == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) /* evenly, from the first on */
        s->samples[id][i] = a->f[i * (a->count / count) + i * (a->count % count) / count];
    return TAKT_OK;
}

takt_status takt_diff_sample(takt_diff_work *w, takt_diff_side *s)
{
    TAKT_TRY(takt_diff_begin(w, s, NULL, 0));
    for (size_t i = 0; i < s->graph->count; i++) {
        const takt_id id = (takt_id)i;
        if (!s->live[i])
            continue;
        s->readers[i]++; /* this one */
        TAKT_TRY(takt_diff_reach(w, s, id));
        if (takt_diff_is_value(s, i))
            TAKT_TRY(keep_some(w, s, i));
        takt_diff_leave(w, s, id);
    }
    return TAKT_OK;
}

void takt_diff_side_release(takt_diff_work *w, takt_diff_side *s)
{
    for (size_t i = 0; s->graph != NULL && s->several != NULL && i < s->graph->count; i++)
        if (s->values != NULL)
            free_value(w, s, i);
    takt_graph_destroy(s->graph);
}
