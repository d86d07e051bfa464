/* assign.c - which backend runs which node, and the reason if it is not the one that the plan
 * requests.
 *
 * Composites are decided before they are lowered, nodes before they are grouped, so that a group
 * has one backend. If the preferred backend has its own memory, its nodes form islands in a graph
 * that is otherwise computed on the host; an island whose copies cost more than it saves is given
 * up, unless nothing else would be left and the caller has named the backend. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "ir/leaves.h"
#include "op/ops.h"
#include "pass/pass.h"
#include "plan/auto.h"
#include "plan/finish.h"
#include "plan/fusion.h"

/* ---- composites ---- */

static bool keeps(const takt_backend *backend, const takt_graph *g, const takt_node *n)
{
    return backend->keeps != NULL && backend->keeps(g, n);
}

enum { MOST_INPUTS = 16 }; /* of a composite being examined */

/* A graph of only the node; constants that it reads stay constants. */
static takt_status isolate(const takt_graph *g, const takt_node *n, takt_graph **out)
{
    takt_id in[MOST_INPUTS];
    if (n->in_count > MOST_INPUTS)
        return TAKT_ERR_UNSUPPORTED;
    TAKT_TRY(takt_graph_create(g->ctx, g, out));
    for (uint32_t k = 0; k < n->in_count; k++) {
        char name[16];
        if (n->in[k] == TAKT_NONE) {
            in[k] = TAKT_NONE;
            continue;
        }
        const takt_node *from = &g->nodes[n->in[k]];
        snprintf(name, sizeof name, "x%u", k);
        in[k] = from->op == &takt_op_constant
                    ? takt_graph_append(*out, from->op, 0, NULL, from->attr)
                    : takt_graph_input(*out, name, takt_type_of(g, n->in[k]));
    }
    takt_graph_output(*out, "y", takt_graph_append(*out, n->op, n->in_count, in, n->attr));
    return (*out)->status;
}

/* The backend can run part of the composite. One that claims nothing in particular claims all. */
static bool wants_parts(const takt_backend *backend, const takt_graph *g, const takt_node *n)
{
    takt_graph *whole = NULL, *lowered = NULL;
    if (backend->claims == NULL)
        return true;
    const takt_error before = g->ctx->error;
    takt_status status = isolate(g, n, &whole);
    if (status == TAKT_OK)
        status = takt_graph_lower(whole, NULL, NULL, &lowered);
    bool is_wanted = status != TAKT_OK;
    for (size_t i = 0; status == TAKT_OK && i < lowered->count && !is_wanted; i++)
        is_wanted = backend->claims(lowered, (takt_id)i);
    if (status != TAKT_OK)
        g->ctx->error = before; /* it is lowered, as it would be by default */
    takt_graph_destroy(whole);
    takt_graph_destroy(lowered);
    return is_wanted;
}

bool takt_plan_keeps(void *user, const takt_graph *g, const takt_node *n)
{
    const takt_plan_settings *s = user;
    if ((n->op->traits & TAKT_WHOLE) != 0)
        return true;
    if (s->lower_all)
        return false;
    if (keeps(s->backend, g, n))
        return true;
    return s->backend != s->fallback && keeps(s->fallback, g, n) && !wants_parts(s->backend, g, n);
}

/* ---- islands ---- */

typedef struct island {
    double here, there; /* microseconds on the fallback, and on the backend with its copies */
    size_t nodes;
} island;

typedef struct survey {
    takt_builder *b;
    const takt_machine *home, *away;
    uint32_t *parent;  /* per node: next towards the first of its island */
    island *islands;   /* at that first node */
    uint32_t *counted; /* per value: the island that it was last copied for, plus 1 */
    size_t nodes;      /* nodes computed in a run, on any backend */
    size_t away_nodes; /* of them */
} survey;

static bool is_away(const takt_builder *b, takt_id node)
{
    return b->space_of[node] != TAKT_HOST;
}

/* A node that a step will compute in every run. */
static bool is_computed(const takt_builder *b, takt_id node)
{
    const takt_op *op = b->p.graph->nodes[node].op;
    return b->live[node] && !b->is_constant[node] && !b->is_alias[node] &&
           (op->traits & TAKT_LEAF) == 0 && op != &takt_op_get;
}

static takt_id origin(const takt_builder *b, takt_id value)
{
    const takt_id root = b->root[value];
    const takt_node *n = &b->p.graph->nodes[root];
    return n->op == &takt_op_get ? n->in[0] : root;
}

static uint32_t first_of(survey *s, uint32_t node)
{
    while (s->parent[node] != node) {
        s->parent[node] = s->parent[s->parent[node]];
        node = s->parent[node];
    }
    return node;
}

static void unite(survey *s, takt_id a, takt_id b)
{
    const uint32_t x = first_of(s, a), y = first_of(s, b);
    s->parent[x < y ? y : x] = x < y ? x : y;
}

/* A value that crosses the border of an island, counted once per island. */
static void count_copy(survey *s, takt_id value, uint32_t first)
{
    const takt_id root = s->b->root[value];
    size_t bytes;
    if (s->counted[root] == first + 1 ||
        !takt_type_bytes(takt_type_of(s->b->p.graph, root), &bytes))
        return;
    s->counted[root] = first + 1;
    const double per_us = s->away->copied_per_us;
    s->islands[first].there += s->away->copy_us + (per_us > 0 ? (double)bytes / per_us : 0);
}

/* State is stored in the space that makes its next value, so values that an island makes itself are
 * already there. */
static bool is_state_of_island(const survey *s, takt_id value)
{
    const takt_builder *b = s->b;
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; g->nodes[b->root[value]].op == &takt_op_state && i < g->slot_count; i++)
        if (g->slots[i].value == b->root[value])
            return g->slots[i].next == TAKT_NONE || b->root[g->slots[i].next] == b->root[value] ||
                   is_away(b, origin(b, g->slots[i].next));
    return false;
}

static void connect(survey *s)
{
    const takt_builder *b = s->b;
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; i < g->count; i++) {
        s->parent[i] = (uint32_t)i;
        if (!is_computed(b, (takt_id)i))
            continue;
        s->nodes++;
        s->away_nodes += is_away(b, (takt_id)i);
        for (uint32_t k = 0; is_away(b, (takt_id)i) && k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE && is_away(b, origin(b, g->nodes[i].in[k])))
                unite(s, (takt_id)i, origin(b, g->nodes[i].in[k]));
    }
}

/* Elements that a scan iterates over; 0 for other nodes. */
static double iterations_of(const takt_graph *g, const takt_node *n)
{
    if (n->op != &takt_op_scan)
        return 0;
    const takt_type *x = takt_type_of(g, n->in[takt_node_int(n, "carried")]);
    const takt_attr *axes = takt_node_attr(n, "axes");
    const int64_t axis = axes->count > 0 ? axes->i64s[0] : 0;
    return (double)x->dim[axis < 0 ? axis + x->rank : axis];
}

/* Operations of bodies count too, those of a scan for every element. Their memory traffic does not:
 * it stays in near memory. */
static void add_cost(const takt_graph *g, takt_id id, takt_cost *cost)
{
    const takt_node *n = &g->nodes[id];
    const double iterations = iterations_of(g, n);
    takt_add_cost(g, id, cost);
    for (uint32_t k = 0; k < takt_op_attr_count(n->op); k++) {
        if (!n->attr[k].is_set || n->op->attrs[k].type != TAKT_ATTR_GRAPH)
            continue;
        takt_cost own = {0};
        for (size_t i = 0; i < n->attr[k].graph->count; i++)
            add_cost(n->attr[k].graph, (takt_id)i, &own); /* nested to a limited depth */
        cost->flops += (iterations > 0 ? iterations : 1) * own.flops;
    }
}

static void weigh(survey *s)
{
    const takt_builder *b = s->b;
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; i < g->count; i++) {
        if (!is_computed(b, (takt_id)i))
            continue;
        const uint32_t own = is_away(b, (takt_id)i) ? first_of(s, (uint32_t)i) : UINT32_MAX;
        if (own != UINT32_MAX) {
            takt_cost cost = {0};
            add_cost(g, (takt_id)i, &cost);
            /* An iteration takes as long as a step to begin; on a device it waits for all blocks of
             * the previous one, or for the host, which takes as long as a segment. */
            const double iterations = iterations_of(g, &g->nodes[i]);
            s->islands[own].here += takt_machine_us(s->home, &cost) + iterations * s->home->step_us;
            s->islands[own].there +=
                takt_machine_us(s->away, &cost) + iterations * s->away->segment_us;
            s->islands[own].nodes++;
        }
        for (uint32_t k = 0; k < g->nodes[i].in_count; k++) {
            const takt_id in = g->nodes[i].in[k];
            if (in == TAKT_NONE || b->is_constant[in])
                continue;
            const takt_id from = origin(b, in);
            if (own != UINT32_MAX && !is_away(b, from) && !is_state_of_island(s, in))
                count_copy(s, in, own);
            else if (own == UINT32_MAX && is_away(b, from))
                count_copy(s, in, first_of(s, from));
        }
    }
    for (size_t i = 0; i < g->output_count; i++)
        if (is_away(b, origin(b, g->outputs[i].id)))
            count_copy(s, g->outputs[i].id, first_of(s, origin(b, g->outputs[i].id)));
}

static takt_status give_back(survey *s)
{
    takt_builder *b = s->b;
    const char *which = b->p.settings->library;
    const bool may_choose = which != NULL && strcmp(which, TAKT_DEVICE_AUTO) == 0;
    for (size_t i = 0; i < b->p.graph->count; i++) {
        if (!is_computed(b, (takt_id)i) || !is_away(b, (takt_id)i))
            continue;
        const uint32_t first = first_of(s, (uint32_t)i);
        const island *own = &s->islands[first];
        const double there = own->there + s->away->segment_us;
        if ((s->away_nodes == s->nodes && !may_choose) || there <= own->here)
            continue;
        if (first == i) {
            b->reason_of[i] = takt_arena_format(
                &b->p.plan->arena,
                "an island of %zu: about %.1f us on %s with its copies, %.1f us here", own->nodes,
                there, b->p.settings->backend->name, own->here);
            if (b->reason_of[i] == NULL)
                return TAKT_ERR_MEMORY;
        }
        b->reason_of[i] = b->reason_of[first];
        b->backend_of[i] = b->p.settings->fallback;
    }
    return TAKT_OK;
}

static takt_status judge(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    survey s = {.b = b, .away = takt_builder_machine(b, b->p.settings->backend)};
    s.home = takt_builder_machine(b, b->p.settings->fallback);
    s.parent = takt_arena_array(&b->scratch, g->count, sizeof *s.parent);
    s.islands = takt_arena_array(&b->scratch, g->count, sizeof *s.islands);
    s.counted = takt_arena_array(&b->scratch, g->count, sizeof *s.counted);
    if (s.parent == NULL || s.islands == NULL || s.counted == NULL)
        return TAKT_ERR_MEMORY;
    connect(&s);
    weigh(&s);
    return give_back(&s);
}

/* ---- the whole ---- */

const takt_machine *takt_builder_machine(const takt_builder *b, const takt_backend *backend)
{
    const takt_plan_settings *s = b->p.settings;
    if (backend->machine == NULL)
        backend = s->fallback;
    return backend->machine(backend == s->backend ? b->p.plan->backend_state : NULL, s->isas);
}

/* Where values are made. Constants are computed on the host, when the plan is made. */
static void find_spaces(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        if (!b->live[i] || (n->op->traits & TAKT_LEAF) != 0 || b->is_constant[i])
            b->space_of[i] = TAKT_HOST;
        else if (b->is_alias[i] || n->op == &takt_op_get)
            b->space_of[i] = b->space_of[n->op == &takt_op_get ? n->in[0] : b->root[i]];
        else
            b->space_of[i] = b->backend_of[i]->device != NULL ? TAKT_AWAY : TAKT_HOST;
    }
}

static void ask(takt_builder *b)
{
    const takt_plan_settings *s = b->p.settings;
    for (size_t i = 0; i < b->p.graph->count; i++) {
        b->backend_of[i] = s->fallback;
        if (!b->live[i] || (b->is_constant[i] && s->backend->device != NULL) ||
            (b->p.graph->nodes[i].op->traits & TAKT_LEAF) != 0)
            continue;
        b->reason_of[i] = s->backend->supports(b->p.graph, (takt_id)i);
        if (b->reason_of[i] == NULL)
            b->backend_of[i] = s->backend;
    }
}

takt_status takt_builder_assign(takt_builder *b)
{
    const size_t count = b->p.graph->count;
    const takt_plan_settings *s = b->p.settings;
    b->space_of = takt_arena_array(&b->scratch, count, sizeof *b->space_of);
    if (b->space_of == NULL)
        return TAKT_ERR_MEMORY;
    if (s->backend == s->fallback)
        return TAKT_OK;
    b->backend_of = takt_arena_array(&b->scratch, count, sizeof *b->backend_of);
    b->reason_of = takt_arena_array(&b->scratch, count, sizeof *b->reason_of);
    if (b->backend_of == NULL || b->reason_of == NULL)
        return TAKT_ERR_MEMORY;
    ask(b);
    find_spaces(b);
    if (s->backend->device == NULL)
        return TAKT_OK;
    if (s->backend->machine != NULL)
        TAKT_TRY(judge(b));
    find_spaces(b);
    for (size_t i = 0; i < b->p.plan->space_count; i++) {
        b->copy_in[i] = takt_arena_array(&b->scratch, count, sizeof *b->copy_in[i]);
        if (b->copy_in[i] == NULL)
            return TAKT_ERR_MEMORY;
        memset(b->copy_in[i], 0xff, count * sizeof *b->copy_in[i]);
    }
    return TAKT_OK;
}
