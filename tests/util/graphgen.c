/* graphgen.c - random valid graphs out of every op's samples. */
#include "util/graphgen.h"

#include <stdio.h>
#include <string.h>

#include "op/ops.h"

enum { MAX_VALUES = 1024, CALLS = 10 };

typedef struct maker {
    takt_gen *gen;
    takt_graph *g;
    takt_gen_options options;
    takt_random random;
    takt_id value[MAX_VALUES]; /* that later calls may use */
    size_t count;
} maker;

static void keep(maker *m, takt_id id)
{
    if (id != TAKT_NONE && m->count < MAX_VALUES)
        m->value[m->count++] = id;
}

/* ---- new values ---- */

static takt_id new_input(maker *m, const takt_type *type, const takt_sample_range *range)
{
    char name[24];
    takt_gen *gen = m->gen;
    if (gen->range_count == TAKT_GEN_INPUTS)
        return takt_graph_fail(
            m->g, takt_fail(m->g->ctx, TAKT_E_GRAPH_FULL, "more than %d inputs", TAKT_GEN_INPUTS));
    snprintf(name, sizeof name, "x%zu", gen->range_count);
    gen->ranges[gen->range_count++] = *range;
    return takt_graph_input(m->g, name, type);
}

static takt_id new_slot(maker *m, const takt_type *type)
{
    char name[24];
    snprintf(name, sizeof name, "s%zu", m->g->slot_count);
    const takt_init init = {.kind = TAKT_INIT_CONSTANT, .a = 0.5};
    return takt_graph_slot(m->g, name, type, &init, takt_random_below(&m->random, 2) == 0);
}

static takt_id new_constant(maker *m, const takt_type *type)
{
    takt_array array;
    takt_tensor tensor = {0};
    takt_id id = TAKT_NONE;
    takt_status status = takt_random_array(m->g->ctx, &m->random, type, NULL, &array);
    if (status == TAKT_OK)
        status = takt_array_to_tensor(m->g->ctx, &array, &tensor);
    if (status == TAKT_OK)
        id = takt_graph_constant(m->g, &tensor);
    takt_tensor_release(&tensor);
    takt_array_release(m->g->ctx, &array);
    return status == TAKT_OK ? id : takt_graph_fail(m->g, status);
}

static takt_id new_value(maker *m, const takt_type *type)
{
    const takt_sample_range none = {0};
    const size_t kind = takt_random_below(&m->random, 6);
    takt_id id;
    if (kind == 0)
        id = new_constant(m, type);
    else if (kind == 1 && m->g->slot_count < TAKT_GEN_SLOTS)
        id = new_slot(m, type);
    else
        id = new_input(m, type, &none);
    keep(m, id);
    return id;
}

/* ---- old values ---- */

/* `id` with another element type, cut and shaped; TAKT_NONE if it has too few elements. */
static takt_id fit(maker *m, takt_id id, const takt_type *want)
{
    size_t have, need;
    const takt_type *type = takt_type_of(m->g, id);
    if (!takt_type_count(type, &have) || !takt_type_count(want, &need) || have < need)
        return TAKT_NONE;
    if (takt_type_same(m->g->dims, type, want))
        return id;
    if (type->dtype != want->dtype)
        id = takt_cast(m->g, id, want->dtype);
    const takt_dim flat = (takt_dim)have;
    if (have != need) {
        id = takt_reshape(m->g, id, &flat, 1);
        id = takt_slice(m->g, id, 0, 0, (int64_t)need, 1);
    }
    return takt_reshape(m->g, id, want->dim, (size_t)want->rank);
}

static takt_id old_value(maker *m, const takt_type *want)
{
    for (int tries = 0; tries < 4 && m->count > 0; tries++) {
        const takt_id id = m->value[takt_random_below(&m->random, m->count)];
        const takt_id fitted = fit(m, id, want);
        if (fitted != TAKT_NONE || m->g->status != TAKT_OK)
            return fitted;
    }
    return TAKT_NONE;
}

static takt_id argument(maker *m, const takt_type *type, const takt_sample_range *range)
{
    if (range->is_set)
        return new_input(m, type, range);
    takt_id id = TAKT_NONE;
    if (takt_random_below(&m->random, 4) != 0)
        id = old_value(m, type);
    return id != TAKT_NONE || m->g->status != TAKT_OK ? id : new_value(m, type);
}

/* ---- calls ---- */

typedef struct call {
    const takt_op *op;
    takt_graph *sample;
    const takt_node *node;
    takt_sample_ranges ranges;
    takt_dtype dtype; /* for all inputs, or TAKT_DTYPE_COUNT: as the sample has it */
} call;

static const takt_sample_range *range_of(const call *c, takt_id id)
{
    static const takt_sample_range none = {0};
    for (size_t i = 0; i < c->sample->input_count; i++)
        if (c->sample->inputs[i].id == id)
            return &c->ranges.at[i];
    return &none;
}

/* Element-wise ops without ranges work on any of their types. */
static void choose_dtype(maker *m, call *c)
{
    const bool is_free = (c->op->traits & TAKT_ELEMENTWISE) != 0 && !c->op->is_mixed;
    c->dtype = TAKT_DTYPE_COUNT;
    if (!is_free || c->node->in_count == 0 || takt_random_below(&m->random, 2) == 0)
        return;
    for (uint32_t i = 0; i < c->node->in_count; i++)
        if (c->node->in[i] == TAKT_NONE || range_of(c, c->node->in[i])->is_set)
            return;
    const takt_dtype dtype = (takt_dtype)takt_random_below(&m->random, TAKT_DTYPE_COUNT);
    if ((c->op->dtypes & ~m->options.avoid & TAKT_IN(dtype)) != 0)
        c->dtype = dtype;
}

static bool is_allowed(const maker *m, const call *c)
{
    for (size_t i = 0; i < c->sample->count; i++)
        for (uint32_t k = 0; k < c->sample->nodes[i].out_count; k++)
            if ((m->options.avoid & TAKT_IN(c->sample->nodes[i].type[k].dtype)) != 0)
                return false;
    return true;
}

/* A node of another graph with inputs of `to`. Subgraphs are made anew, because they share the
 * table of dimensions with the graph around them; samples have numbers only, so types carry over.
 * Nesting is as deep as somebody wrote a sample. */
static takt_id transplant(takt_graph *to, const takt_node *n, const takt_id *in);

static takt_graph *clone(takt_graph *like, const takt_graph *from)
{
    takt_graph *to;
    takt_id in[TAKT_SAMPLE_INPUTS];
    if (takt_graph_create(like->ctx, like, &to) != TAKT_OK)
        return NULL;
    takt_id *map = takt_arena_array(&to->arena, from->count, sizeof *map);
    takt_status status = map == NULL ? TAKT_ERR_MEMORY : takt_graph_begin_copy(from, to, map);
    for (size_t i = 0; i < from->count && status == TAKT_OK; i++) {
        const takt_node *n = &from->nodes[i];
        if (map[i] != TAKT_NONE)
            continue;
        for (uint32_t k = 0; k < n->in_count && k < TAKT_SAMPLE_INPUTS; k++)
            in[k] = n->in[k] == TAKT_NONE ? TAKT_NONE : map[n->in[k]];
        map[i] = transplant(to, n, in);
        status = to->status;
    }
    if (status == TAKT_OK)
        status = takt_graph_end_copy(from, to, map);
    takt_graph_fail_if(to, status);
    return to;
}

static takt_id transplant(takt_graph *to, const takt_node *n, const takt_id *in)
{
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_graph *made[TAKT_MAX_ATTRS] = {0};
    const size_t count = takt_op_attr_count(n->op);
    takt_status status = n->in_count <= TAKT_SAMPLE_INPUTS ? TAKT_OK : TAKT_ERR_LIMIT;
    for (size_t i = 0; i < count; i++) {
        attrs[i] = n->attr[i];
        if (n->op->attrs[i].type != TAKT_ATTR_GRAPH || !attrs[i].is_set)
            continue;
        attrs[i].graph = made[i] = clone(to, n->attr[i].graph);
        status = made[i] == NULL ? TAKT_ERR_MEMORY : status == TAKT_OK ? made[i]->status : status;
    }
    takt_graph_fail_if(to, status);
    const takt_id id = takt_graph_append(to, n->op, n->in_count, in, attrs);
    for (size_t i = 0; i < count; i++)
        takt_graph_destroy(made[i]);
    return id;
}

static takt_status append_call(maker *m, const call *c)
{
    const takt_node *n = c->node;
    takt_id in[TAKT_SAMPLE_INPUTS];
    for (uint32_t i = 0; i < n->in_count; i++) {
        in[i] = TAKT_NONE;
        if (n->in[i] == TAKT_NONE)
            continue;
        takt_type type = *takt_type_of(c->sample, n->in[i]);
        if (c->dtype != TAKT_DTYPE_COUNT)
            type.dtype = c->dtype;
        in[i] = argument(m, &type, range_of(c, n->in[i]));
    }
    TAKT_TRY(m->g->status);
    const takt_id id = transplant(m->g, n, in);
    TAKT_TRY(m->g->status);
    const uint32_t count = takt_node_at(m->g, id)->out_count;
    for (uint32_t i = 0; i < count; i++)
        keep(m, takt_graph_get(m->g, id, i));
    return m->g->status;
}

static takt_status make_call(maker *m, const takt_op *op)
{
    size_t samples = 0;
    while (samples < 10 && op->samples[samples] != NULL)
        samples++;
    if (samples == 0)
        return TAKT_OK; /* leaves come by themselves */
    const char *text = op->samples[takt_random_below(&m->random, samples)];
    call c = {.op = op};
    TAKT_TRY(takt_sample_graph(m->g->ctx, op, text, &c.sample, &c.ranges));
    for (size_t i = 0; i < c.sample->count; i++)
        if (c.sample->nodes[i].op == op)
            c.node = &c.sample->nodes[i];
    takt_status status = TAKT_OK;
    if (c.node != NULL && is_allowed(m, &c)) {
        choose_dtype(m, &c);
        status = append_call(m, &c);
    }
    takt_graph_destroy(c.sample);
    return status;
}

static const takt_op *draw(maker *m)
{
    const takt_op *op;
    do
        op = takt_ops[takt_random_below(&m->random, takt_op_count)];
    while (m->options.only_elementwise && (op->traits & TAKT_ELEMENTWISE) == 0);
    return op;
}

/* ---- the ends ---- */

/* A slot's next value is its own, through something that keeps the type. */
static void finish_slots(maker *m)
{
    for (size_t i = 0; i < m->g->slot_count; i++) {
        const takt_slot slot = m->g->slots[i];
        takt_id next = slot.value;
        if (takt_random_below(&m->random, 2) == 0)
            next = old_value(m, &slot.type);
        if (next != TAKT_NONE && !slot.is_trainable)
            takt_graph_set_next(m->g, slot.name, next);
    }
}

static takt_status finish(maker *m)
{
    takt_graph *g = m->g;
    finish_slots(m);
    unsigned char *used = takt_arena_array(&g->arena, g->count, 1);
    if (used == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE)
                used[g->nodes[i].in[k]] = 1;
    for (size_t i = 0; i < g->count; i++) {
        char name[24];
        if (used[i] || g->nodes[i].out_count != 1)
            continue;
        snprintf(name, sizeof name, "y%zu", g->output_count);
        takt_graph_output(g, name, (takt_id)i);
    }
    return g->status;
}

static takt_status build(maker *m, uint64_t seed)
{
    const size_t calls = m->options.calls != 0 ? m->options.calls : CALLS;
    const takt_op *op = takt_ops[seed % takt_op_count];
    if (m->options.only_elementwise)
        op = draw(m);
    for (size_t i = 0; i < calls; i++) {
        TAKT_TRY(make_call(m, op));
        op = draw(m);
    }
    return finish(m);
}

takt_status takt_gen_graph(takt_ctx *ctx, uint64_t seed, const takt_gen_options *options,
                           takt_gen *gen)
{
    *gen = (takt_gen){.ctx = ctx};
    TAKT_TRY(takt_graph_create(ctx, NULL, &gen->graph));
    maker m = {.gen = gen, .g = gen->graph, .random = {.state = seed}};
    if (options != NULL)
        m.options = *options;
    const takt_status status = build(&m, seed);
    if (status != TAKT_OK)
        takt_gen_deinit(gen);
    return status;
}

void takt_gen_deinit(takt_gen *gen)
{
    takt_graph_destroy(gen->graph);
    gen->graph = NULL;
}

takt_status takt_gen_values_init(const takt_gen *gen, uint64_t seed, takt_gen_values *values)
{
    const takt_graph *g = gen->graph;
    takt_random random = {.state = seed};
    *values = (takt_gen_values){0};
    for (; values->in_count < g->input_count; values->in_count++)
        TAKT_TRY(takt_random_array(gen->ctx, &random,
                                   takt_type_of(g, g->inputs[values->in_count].id),
                                   &gen->ranges[values->in_count], &values->in[values->in_count]));
    for (; values->slot_count < g->slot_count; values->slot_count++)
        TAKT_TRY(takt_random_array(gen->ctx, &random, &g->slots[values->slot_count].type, NULL,
                                   &values->slot[values->slot_count]));
    return TAKT_OK;
}

void takt_gen_values_deinit(const takt_gen *gen, takt_gen_values *values)
{
    for (size_t i = 0; i < values->in_count; i++)
        takt_array_release(gen->ctx, &values->in[i]);
    for (size_t i = 0; i < values->slot_count; i++)
        takt_array_release(gen->ctx, &values->slot[i]);
}
