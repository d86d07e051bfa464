/* circuit.c - decision diagrams to sums and products in the graph.
 *
 * A node's probability is the sum over its variable's values of the value's probability times that
 * of the child. Nodes are computed in layers, each after its children. Children and values are
 * gathered by constant indices, so a layer is a few ops however many nodes it has, lifted axes are
 * axes of all of them, and a gradient goes back through the same gathers. */
#include <string.h>

#include "logic/events.h"
#include "op/util/make.h"

typedef struct circuit {
    takt_lower *l;
    const takt_events *e;
    takt_arena own;
    takt_lifted_set set;
    takt_dim dims[TAKT_MOST_LIFTED + 2]; /* of the set */
    int rank;
    uint32_t *height; /* of every node: 0 for leaves and for nodes that no root needs */
    uint32_t *needed; /* the height after which a node is not read; UINT32_MAX for roots */
    uint32_t highest;
    uint32_t *place; /* of every node in the current values */
    size_t *weight;  /* of every variable: where its probabilities begin */
    size_t *other;   /* the same for the remaining case: false, or none of the group */
    takt_id values, weights;
    takt_dd *live; /* nodes of the current values, in their order */
    size_t live_count;
    int64_t *index;
} circuit;

/* ---- which nodes ---- */

/* Marks everything the roots need: children have smaller numbers than their parents. */
static void reach(const takt_dds *d, const takt_dd *roots, size_t count, uint32_t *mark)
{
    for (size_t i = 0; i < count; i++)
        mark[roots[i]] = 1;
    for (size_t n = d->count; n-- > TAKT_DD_TRUE + 1;) {
        const takt_dd_node *node = &d->nodes[n];
        for (uint32_t k = 0; mark[n] != 0 && k < d->values[node->variable]; k++)
            mark[d->children[node->first + k]] = 1;
    }
}

static size_t node_count(const takt_dds *d)
{
    return d->count > TAKT_DD_TRUE ? d->count : TAKT_DD_TRUE + 1;
}

void takt_circuit_axes(const takt_events *e, const takt_dd *roots, size_t count, takt_arena *own,
                       takt_lifted_set *any, takt_lifted_set *shared)
{
    const takt_dds *d = &e->dds;
    uint32_t *mark = takt_arena_array(own, node_count(d), sizeof *mark);
    *any = 0;
    *shared = ~(takt_lifted_set)0;
    if (mark == NULL)
        return;
    reach(d, roots, count, mark);
    for (size_t n = TAKT_DD_TRUE + 1; n < d->count; n++) {
        const takt_source *s = e->of[d->nodes[n].variable];
        takt_lifted_set has = 0;
        for (int i = 0; i < s->rank; i++)
            has |= s->lifted[i] >= 0 ? 1U << s->lifted[i] : 0;
        *any |= mark[n] != 0 ? has : 0;
        if (mark[n] != 0 && !s->is_crisp && !s->is_constant)
            *shared &= has;
    }
}

static bool measure(circuit *c, const takt_dd *roots, size_t count)
{
    const takt_dds *d = &c->e->dds;
    const size_t nodes = node_count(d);
    uint32_t *mark = takt_arena_array(&c->own, nodes, sizeof *mark);
    c->height = takt_arena_array(&c->own, nodes, sizeof *c->height);
    c->needed = takt_arena_array(&c->own, nodes, sizeof *c->needed);
    c->place = takt_arena_array(&c->own, nodes, sizeof *c->place);
    c->live = takt_arena_array(&c->own, nodes, sizeof *c->live);
    c->weight = takt_arena_array(&c->own, d->variable_count + 1, sizeof *c->weight);
    c->other = takt_arena_array(&c->own, d->variable_count + 1, sizeof *c->other);
    if (mark == NULL || c->height == NULL || c->needed == NULL || c->place == NULL ||
        c->live == NULL || c->weight == NULL || c->other == NULL)
        return false;
    reach(d, roots, count, mark);
    for (size_t n = TAKT_DD_TRUE + 1; n < d->count; n++) {
        const takt_dd_node *node = &d->nodes[n];
        for (uint32_t k = 0; mark[n] != 0 && k < d->values[node->variable]; k++) {
            const uint32_t below = c->height[d->children[node->first + k]] + 1;
            c->height[n] = below > c->height[n] ? below : c->height[n];
        }
        c->highest = c->height[n] > c->highest ? c->height[n] : c->highest;
        for (uint32_t k = 0; mark[n] != 0 && k < d->values[node->variable]; k++) {
            uint32_t *needed = &c->needed[d->children[node->first + k]];
            *needed = c->height[n] > *needed ? c->height[n] : *needed;
        }
    }
    for (size_t i = 0; i < count; i++)
        c->needed[roots[i]] = UINT32_MAX;
    c->needed[TAKT_DD_FALSE] = c->needed[TAKT_DD_TRUE] = UINT32_MAX;
    return true;
}

/* ---- pieces ---- */

static takt_id index_constant(circuit *c, const int64_t *at, size_t count)
{
    takt_graph *g = c->l->g;
    const takt_type type = {.dtype = TAKT_I64, .rank = 1, .dim = {(takt_dim)count}};
    takt_tensor t;
    if (g->status != TAKT_OK)
        return TAKT_NONE;
    const takt_status status = takt_tensor_create(g->ctx, &type, &t);
    if (status != TAKT_OK)
        return takt_graph_fail(g, status);
    memcpy(takt_tensor_data(&t), at, count * sizeof *at);
    const takt_id id = takt_graph_constant(g, &t);
    takt_tensor_release(&t);
    return id;
}

/* Elements of the last axis. */
static takt_id gather(circuit *c, takt_id x, const int64_t *at, size_t count)
{
    const takt_id in[] = {x, index_constant(c, at, count)};
    return takt_make_axis(c->l->g, &takt_op_gather, 2, in, c->rank);
}

/* [..., count] in the full size of the lifted axes. */
static takt_id spread(circuit *c, takt_id x, size_t count)
{
    c->dims[c->rank] = (takt_dim)count;
    return c->rank > 0 ? takt_broadcast(c->l->g, x, c->dims, (size_t)c->rank + 1) : x;
}

/* ---- probabilities of values ---- */

typedef struct parts {
    takt_id *at;
    size_t count, elements;
} parts;

static void add_part(circuit *c, parts *p, takt_id id, size_t elements)
{
    p->at[p->count++] = spread(c, id, elements);
    p->elements += elements;
}

/* The variables of one source that are in use. */
static void weigh(circuit *c, const takt_source *s, const bool *is_used, parts *p)
{
    const size_t each = s->group >= 0 ? s->size[s->group] : 1;
    size_t used = 0;
    for (size_t u = 0; u < s->units; u++) {
        const uint32_t v = s->variable[u];
        if (v == 0 || !is_used[v - 1])
            continue;
        c->weight[v - 1] = p->elements + used * each;
        for (size_t k = 0; k < each; k++)
            c->index[used * each + k] = s->is_constant ? 0 : (int64_t)(u * each + k);
        used++;
    }
    if (used == 0)
        return;
    takt_graph *g = c->l->g;
    const takt_id id =
        gather(c, takt_events_arranged(c->l, c->e, s, c->set), c->index, used * each);
    add_part(c, p, id, used * each);
    if (s->group >= 0 && !s->has_rest)
        return;
    takt_id sum = id;
    if (s->group >= 0 && id != TAKT_NONE) { /* the probability of none of the group */
        takt_type type = *takt_type_of(g, id);
        const int64_t last = c->rank + 1;
        type.dim[c->rank] = (takt_dim)used;
        type.dim[c->rank + 1] = (takt_dim)each;
        sum = takt_reshape(g, id, type.dim, (size_t)c->rank + 2);
        sum = takt_reduce_over(g, &takt_op_reduce_sum, sum, &last, 1, false);
    }
    size_t at = p->elements;
    for (size_t u = 0; u < s->units; u++)
        if (s->variable[u] != 0 && is_used[s->variable[u] - 1])
            c->other[s->variable[u] - 1] = at++;
    add_part(c, p, takt_semantics_complement(g, sum), used);
}

static bool weigh_all(circuit *c)
{
    const takt_dds *d = &c->e->dds;
    bool *is_used = takt_arena_array(&c->own, d->variable_count + 1, sizeof *is_used);
    size_t sources = 0, most = 2;
    for (const takt_source *s = c->e->sources; s != NULL; s = s->next)
        sources++;
    for (size_t v = 0; v < d->variable_count; v++)
        most += d->values[v];
    for (size_t n = 0; n < node_count(d); n++) /* children of a layer, rounded up */
        most += n > TAKT_DD_TRUE ? 2 * (size_t)d->values[d->nodes[n].variable] + 1 : 1;
    parts p = {.at = takt_arena_array(&c->own, 2 * sources + 1, sizeof *p.at)};
    c->index = takt_arena_array(&c->own, most, sizeof *c->index);
    if (is_used == NULL || p.at == NULL || c->index == NULL)
        return false;
    for (size_t n = TAKT_DD_TRUE + 1; n < d->count; n++)
        if (c->height[n] > 0)
            is_used[d->nodes[n].variable] = true;
    for (const takt_source *s = c->e->sources; s != NULL; s = s->next)
        weigh(c, s, is_used, &p);
    if (p.count > 0)
        c->weights = p.count > 1 ? takt_concat(c->l->g, p.at, p.count, c->rank) : p.at[0];
    return true;
}

static size_t weight_of(const circuit *c, uint32_t variable, uint32_t value)
{
    const takt_source *s = c->e->of[variable];
    if (s->group < 0)
        return value == 1 ? c->weight[variable] : c->other[variable];
    return value < s->size[s->group] ? c->weight[variable] + value : c->other[variable];
}

/* ---- layers ---- */

/* The number of children that are not plainly false. */
static uint32_t fan_of(const takt_dds *d, const takt_dd_node *node)
{
    uint32_t fan = 0;
    for (uint32_t k = 0; k < d->values[node->variable]; k++)
        fan += d->children[node->first + k] != TAKT_DD_FALSE;
    return fan;
}

/* Nodes of a layer with the same number of children, rounded up to a power of two: one sum of
 * products. Missing children are false. */
static takt_id sum_products(circuit *c, const takt_dd *nodes, size_t count, size_t width)
{
    const takt_dds *d = &c->e->dds;
    takt_graph *g = c->l->g;
    takt_id factor[2] = {TAKT_NONE, TAKT_NONE};
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < count; i++) {
            const takt_dd_node *node = &d->nodes[nodes[i]];
            size_t at = i * width;
            for (uint32_t k = 0; k < d->values[node->variable]; k++) {
                const takt_dd child = d->children[node->first + k];
                if (child == TAKT_DD_FALSE)
                    continue;
                c->index[at++] =
                    side == 0 ? (int64_t)weight_of(c, node->variable, k) : (int64_t)c->place[child];
            }
            for (; at < (i + 1) * width; at++)
                c->index[at] = 0; /* of the values: false */
        }
        factor[side] = gather(c, side == 0 ? c->weights : c->values, c->index, count * width);
    }
    takt_id id = takt_mul(g, factor[0], factor[1]);
    const int64_t last = c->rank + 1;
    if (width == 1)
        return id;
    c->dims[c->rank] = (takt_dim)count;
    c->dims[c->rank + 1] = (takt_dim)width;
    id = takt_reshape(g, id, c->dims, (size_t)c->rank + 2);
    return takt_reduce_over(g, &takt_op_reduce_sum, id, &last, 1, false);
}

/* The values that later layers still need, then the new nodes. */
static void next_values(circuit *c, uint32_t height, const takt_dd *fresh, size_t count,
                        takt_id *part, size_t part_count)
{
    size_t kept = 0;
    const size_t before = c->live_count;
    for (size_t i = 0; i < before; i++)
        if (c->needed[c->live[i]] > height) {
            c->index[kept] = (int64_t)i;
            c->live[kept++] = c->live[i];
        }
    part[0] = kept == before ? c->values : gather(c, c->values, c->index, kept);
    memcpy(c->live + kept, fresh, count * sizeof *fresh);
    c->live_count = kept + count;
    for (size_t i = 0; i < c->live_count; i++)
        c->place[c->live[i]] = (uint32_t)i;
    c->values = takt_concat(c->l->g, part, part_count, c->rank);
}

/* Nodes ordered by height, then by the width of their sum. */
typedef struct entry {
    uint32_t height, width; /* the width is 2 to that power */
    takt_dd node;
} entry;

/* A stable sort by one of the keys. */
static bool sort(circuit *c, const entry *from, entry *to, size_t count, bool by_width)
{
    const size_t keys = by_width ? 33 : (size_t)c->highest + 2;
    size_t *ends = takt_arena_array(&c->own, keys, sizeof *ends);
    if (ends == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        ends[(by_width ? from[i].width : from[i].height) + 1]++;
    for (size_t k = 1; k < keys; k++)
        ends[k] += ends[k - 1];
    for (size_t i = 0; i < count; i++)
        to[ends[by_width ? from[i].width : from[i].height]++] = from[i];
    return true;
}

static bool run_layers(circuit *c, size_t *nodes)
{
    enum { MOST_PARTS = 34 };
    const takt_dds *d = &c->e->dds;
    entry *all = takt_arena_array(&c->own, node_count(d), sizeof *all);
    entry *other = takt_arena_array(&c->own, node_count(d), sizeof *other);
    takt_dd *order = takt_arena_array(&c->own, node_count(d), sizeof *order);
    size_t count = 0;
    if (all == NULL || other == NULL || order == NULL)
        return false;
    for (size_t n = TAKT_DD_TRUE + 1; n < d->count; n++) {
        if (c->height[n] == 0)
            continue;
        const uint32_t fan = fan_of(d, &d->nodes[n]);
        uint32_t width = 0;
        while (UINT32_C(1) << width < fan)
            width++;
        all[count++] = (entry){c->height[n], width, (takt_dd)n};
    }
    *nodes = count;
    if (!sort(c, all, other, count, true) || !sort(c, other, all, count, false))
        return false;
    for (size_t i = 0; i < count; i++)
        order[i] = all[i].node;
    for (size_t i = 0; i < count && c->l->g->status == TAKT_OK;) {
        takt_id part[MOST_PARTS];
        size_t first = i, part_count = 1;
        while (i < count && all[i].height == all[first].height) {
            size_t end = i;
            while (end < count && all[end].height == all[i].height &&
                   all[end].width == all[i].width)
                end++;
            part[part_count++] = sum_products(c, order + i, end - i, (size_t)1 << all[i].width);
            i = end;
        }
        next_values(c, all[first].height, order + first, i - first, part, part_count);
    }
    return true;
}

/* False and true. */
static void start(circuit *c)
{
    takt_graph *g = c->l->g;
    const takt_type type = {.dtype = takt_lower_dtype(c->l), .rank = 1, .dim = {2}};
    takt_dim ones[TAKT_MOST_LIFTED + 1];
    takt_tensor t;
    if (g->status != TAKT_OK)
        return;
    const takt_status status = takt_tensor_create(g->ctx, &type, &t);
    if (status != TAKT_OK) {
        takt_graph_fail(g, status);
        return;
    }
    takt_dtype_put_f(type.dtype, takt_tensor_data(&t), 0, 0);
    takt_dtype_put_f(type.dtype, takt_tensor_data(&t), 1, 1);
    takt_id id = takt_graph_constant(g, &t);
    takt_tensor_release(&t);
    for (int i = 0; i <= c->rank; i++)
        ones[i] = i < c->rank ? 1 : 2;
    id = takt_reshape(g, id, ones, (size_t)c->rank + 1);
    c->values = spread(c, id, 2);
    c->live[0] = TAKT_DD_FALSE;
    c->live[1] = TAKT_DD_TRUE;
    c->live_count = 2;
    c->place[TAKT_DD_TRUE] = 1;
}

takt_id takt_circuit(takt_lower *l, const takt_events *e, const takt_dd *roots, size_t count,
                     takt_lifted_set set, size_t *nodes)
{
    circuit c = {.l = l, .e = e, .set = set, .values = TAKT_NONE, .weights = TAKT_NONE};
    takt_id out = TAKT_NONE;
    for (int i = 0; i < e->lifted_count; i++)
        if ((set >> i & 1) != 0)
            c.dims[c.rank++] = e->lifted[i];
    takt_arena_init(&c.own, l->program->ctx);
    bool is_good = measure(&c, roots, count) && weigh_all(&c);
    if (is_good)
        start(&c);
    is_good = is_good && run_layers(&c, nodes);
    int64_t *at = is_good ? takt_arena_array(&c.own, count + 1, sizeof *at) : NULL;
    if (at == NULL) {
        takt_graph_fail(l->g, TAKT_ERR_MEMORY);
    } else {
        for (size_t i = 0; i < count; i++)
            at[i] = c.place[roots[i]];
        out = gather(&c, c.values, at, count);
        /* Rounding may make the sum of a row exceed 1. */
        if (out != TAKT_NONE)
            out = takt_binary(l->g, &takt_op_min, out, takt_scalar_like(l->g, out, 1));
    }
    takt_arena_deinit(&c.own);
    return out;
}
