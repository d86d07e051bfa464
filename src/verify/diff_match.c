/* diff_match.c - matches the nodes of two graphs. */
#include <string.h>

#include "op/ops.h"
#include "plan/finish.h"
#include "verify/diff.h"

static bool same_shape(const takt_array *a, const takt_array *b)
{
    if (a->rank != b->rank || a->count != b->count)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->dim[d] != b->dim[d])
            return false;
    return true;
}

static bool is_value(const takt_diff_side *s, size_t i)
{
    return s->live[i] && s->values[i].rank >= 0 && s->graph->nodes[i].op != &takt_op_constant &&
           takt_dtype_is_float(s->values[i].dtype);
}

/* The reference's node with this label; `op` NULL: any, if there is only one. */
static takt_id by_name(const takt_diff_work *w, size_t i, bool with_op)
{
    const takt_node *n = &w->own.graph->nodes[i];
    const char *label = takt_node_label(n);
    takt_id found = TAKT_NONE;
    for (size_t k = 0; k < w->ref.graph->count; k++) {
        const takt_node *r = &w->ref.graph->nodes[k];
        if (!is_value(&w->ref, k) || strcmp(takt_node_label(r), label) != 0)
            continue;
        if (with_op && (r->op != n->op || w->ref.same[k] != w->own.same[i]))
            continue;
        if (found != TAKT_NONE)
            return TAKT_NONE;
        found = (takt_id)k;
    }
    return found;
}

/* A name stands for the last node that it was given to. */
static bool is_last(const takt_diff_side *s, size_t i)
{
    const char *label = takt_node_label(&s->graph->nodes[i]);
    for (size_t k = i + 1; k < s->graph->count; k++)
        if (is_value(s, k) && strcmp(takt_node_label(&s->graph->nodes[k]), label) == 0)
            return false;
    return true;
}

static bool matches_inputs(const takt_diff_work *w, const takt_node *n, const takt_node *r)
{
    if (n->op != r->op || n->in_count != r->in_count)
        return false;
    for (uint32_t k = 0; k < n->in_count; k++) {
        if ((n->in[k] == TAKT_NONE) != (r->in[k] == TAKT_NONE))
            return false;
        if (n->in[k] == TAKT_NONE)
            continue;
        const bool constants = w->own.graph->nodes[n->in[k]].op == &takt_op_constant &&
                               w->ref.graph->nodes[r->in[k]].op == &takt_op_constant;
        if (!constants && w->match[n->in[k]] != r->in[k])
            return false;
    }
    return true;
}

static takt_id by_structure(const takt_diff_work *w, size_t i, const bool *taken)
{
    const takt_node *n = &w->own.graph->nodes[i];
    for (size_t k = 0; k < w->ref.graph->count; k++)
        if (is_value(&w->ref, k) && !taken[k] && matches_inputs(w, n, &w->ref.graph->nodes[k]) &&
            same_shape(&w->own.values[i], &w->ref.values[k]))
            return (takt_id)k;
    return TAKT_NONE;
}

/* The same numbers within a hundredth, whatever the nodes' names. */
static takt_id by_value(const takt_diff_work *w, size_t i, const bool *taken)
{
    const takt_array *a = &w->own.values[i];
    for (size_t k = 0; k < w->ref.graph->count; k++) {
        const takt_array *b = &w->ref.values[k];
        double error = 0, size = 0;
        if (!is_value(&w->ref, k) || taken[k] || !same_shape(a, b) || a->count < 4)
            continue;
        for (size_t e = 0; e < a->count; e++) {
            error += (a->f[e] - b->f[e]) * (a->f[e] - b->f[e]);
            size += b->f[e] * b->f[e];
        }
        if (size > 0 && error <= 1e-4 * size)
            return (takt_id)k;
    }
    return TAKT_NONE;
}

static void count_same(const takt_diff_side *s)
{
    for (size_t i = 0; i < s->graph->count; i++) {
        const takt_node *n = &s->graph->nodes[i];
        s->same[i] = 0;
        for (size_t k = 0; k < i; k++)
            s->same[i] += s->graph->nodes[k].op == n->op &&
                          strcmp(takt_node_label(&s->graph->nodes[k]), takt_node_label(n)) == 0;
    }
}

static takt_id input_of(const takt_diff_work *w, takt_id id)
{
    const takt_graph *g = w->own.graph, *r = w->ref.graph;
    for (size_t i = 0; i < g->input_count; i++) {
        if (g->inputs[i].id != id)
            continue;
        for (size_t k = 0; k < r->input_count; k++)
            if (strcmp(r->inputs[k].name, g->inputs[i].name) == 0)
                return r->inputs[k].id;
        return i < r->input_count ? r->inputs[i].id : TAKT_NONE;
    }
    return TAKT_NONE;
}

/* Results of the same name are counterparts, whatever computes them. */
static void match_outputs(takt_diff_work *w, bool *taken)
{
    const takt_graph *g = w->own.graph, *r = w->ref.graph;
    for (size_t i = 0; i < g->output_count; i++)
        for (size_t k = 0; k < r->output_count; k++) {
            const takt_id id = g->outputs[i].id, there = r->outputs[k].id;
            if (strcmp(g->outputs[i].name, r->outputs[k].name) != 0 || taken[there] ||
                !is_value(&w->own, id) || !is_value(&w->ref, there) || w->match[id] != TAKT_NONE ||
                !same_shape(&w->own.values[id], &w->ref.values[there]))
                continue;
            w->match[id] = there;
            taken[there] = true;
        }
}

void takt_diff_match(takt_diff_work *w)
{
    bool *taken = takt_arena_array(&w->arena, w->ref.graph->count + 1, sizeof *taken);
    count_same(&w->ref);
    count_same(&w->own);
    for (size_t i = 0; i < w->own.graph->count; i++)
        w->match[i] =
            w->own.graph->nodes[i].op == &takt_op_input ? input_of(w, (takt_id)i) : TAKT_NONE;
    if (taken != NULL)
        match_outputs(w, taken);
    for (size_t i = 0; taken != NULL && i < w->own.graph->count; i++) {
        if (!is_value(&w->own, i) || w->match[i] != TAKT_NONE)
            continue;
        takt_id found = by_name(w, i, true);
        if (found == TAKT_NONE || taken[found])
            found = by_structure(w, i, taken);
        if (found == TAKT_NONE && is_last(&w->own, i))
            found = by_name(w, i, false);
        if (found == TAKT_NONE || taken[found])
            found = by_value(w, i, taken);
        if (found == TAKT_NONE)
            continue;
        w->match[i] = found;
        taken[found] = true;
    }
}
