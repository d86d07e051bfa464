/* diff_match.c - matches the nodes of two graphs. */
#include <string.h>

#include "op/ops.h"
#include "plan/finish.h"
#include "verify/diff.h"

/* Of concrete types. */
static bool same_shape(const takt_diff_work *w, size_t own, size_t ref)
{
    const takt_type *a = takt_type_of(w->own.graph, (takt_id)own);
    const takt_type *b = takt_type_of(w->ref.graph, (takt_id)ref);
    if (a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->dim[d] != b->dim[d])
            return false;
    return true;
}

/* The reference's node with this label; `op` NULL: any, if there is only one. */
static takt_id by_name(const takt_diff_work *w, size_t i, bool with_op)
{
    const takt_node *n = &w->own.graph->nodes[i];
    const char *label = takt_node_label(n);
    takt_id found = TAKT_NONE;
    for (size_t k = 0; k < w->ref.graph->count; k++) {
        const takt_node *r = &w->ref.graph->nodes[k];
        if (!takt_diff_is_value(&w->ref, k) || strcmp(takt_node_label(r), label) != 0)
            continue;
        if (with_op && (r->op != n->op || w->ref.same[k] != w->own.same[i]))
            continue;
        if (found != TAKT_NONE)
            return TAKT_NONE;
        found = (takt_id)k;
    }
    return found;
}

/* A name refers to the last node that has it. */
static bool is_last(const takt_diff_side *s, size_t i)
{
    const char *label = takt_node_label(&s->graph->nodes[i]);
    for (size_t k = i + 1; k < s->graph->count; k++)
        if (takt_diff_is_value(s, k) && strcmp(takt_node_label(&s->graph->nodes[k]), label) == 0)
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
        if (takt_diff_is_value(&w->ref, k) && !taken[k] &&
            matches_inputs(w, n, &w->ref.graph->nodes[k]) && same_shape(w, i, k))
            return (takt_id)k;
    return TAKT_NONE;
}

static takt_status sample(takt_diff_work *w)
{
    if (w->is_sampled)
        return TAKT_OK;
    w->is_sampled = true;
    TAKT_TRY(takt_diff_sample(w, &w->ref));
    return takt_diff_sample(w, &w->own);
}

/* The same numbers within a hundredth, whatever the nodes' names. For large values a sample of
 * elements is compared. */
static takt_status by_value(takt_diff_work *w, size_t i, const bool *taken, takt_id *found)
{
    size_t count = 0;
    (void)takt_type_count(takt_type_of(w->own.graph, (takt_id)i), &count);
    *found = TAKT_NONE;
    for (size_t k = 0; k < w->ref.graph->count && count >= 4; k++) {
        double error = 0, size = 0;
        if (!takt_diff_is_value(&w->ref, k) || taken[k] || !same_shape(w, i, k))
            continue;
        TAKT_TRY(sample(w));
        const double *a = w->own.samples[i], *b = w->ref.samples[k];
        for (size_t e = 0; e < count && e < TAKT_DIFF_SAMPLES; e++) {
            error += (a[e] - b[e]) * (a[e] - b[e]);
            size += b[e] * b[e];
        }
        if (size > 0 && error <= 1e-4 * size) {
            *found = (takt_id)k;
            return TAKT_OK;
        }
    }
    return TAKT_OK;
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

/* Results of the same name are counterparts, however they are computed. */
static void match_outputs(takt_diff_work *w, bool *taken)
{
    const takt_graph *g = w->own.graph, *r = w->ref.graph;
    for (size_t i = 0; i < g->output_count; i++)
        for (size_t k = 0; k < r->output_count; k++) {
            const takt_id id = g->outputs[i].id, there = r->outputs[k].id;
            if (strcmp(g->outputs[i].name, r->outputs[k].name) != 0 || taken[there] ||
                !takt_diff_is_value(&w->own, id) || !takt_diff_is_value(&w->ref, there) ||
                w->match[id] != TAKT_NONE || !same_shape(w, id, there))
                continue;
            w->match[id] = there;
            taken[there] = true;
        }
}

static takt_status match_node(takt_diff_work *w, size_t i, bool *taken)
{
    takt_id found = by_name(w, i, true);
    if (found == TAKT_NONE || taken[found])
        found = by_structure(w, i, taken);
    if (found == TAKT_NONE && is_last(&w->own, i))
        found = by_name(w, i, false);
    if (found == TAKT_NONE || taken[found])
        TAKT_TRY(by_value(w, i, taken, &found));
    if (found == TAKT_NONE)
        return TAKT_OK;
    w->match[i] = found;
    taken[found] = true;
    return TAKT_OK;
}

takt_status takt_diff_match(takt_diff_work *w)
{
    bool *taken = takt_arena_array(&w->arena, w->ref.graph->count + 1, sizeof *taken);
    if (taken == NULL)
        return TAKT_ERR_MEMORY;
    count_same(&w->ref);
    count_same(&w->own);
    for (size_t i = 0; i < w->own.graph->count; i++)
        w->match[i] =
            w->own.graph->nodes[i].op == &takt_op_input ? input_of(w, (takt_id)i) : TAKT_NONE;
    match_outputs(w, taken);
    for (size_t i = 0; i < w->own.graph->count; i++)
        if (takt_diff_is_value(&w->own, i) && w->match[i] == TAKT_NONE)
            TAKT_TRY(match_node(w, i, taken));
    return TAKT_OK;
}
