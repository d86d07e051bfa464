/* graphgen.c - random valid graphs out of every op's samples. */
#include "util/graphgen.h"

#include <stdio.h>
#include <string.h>

#include "op/ops.h"
#include "util/graphgen_call.h"
#include "util/graphgen_view.h"
#include "util/transplant.h"

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

/* Recent values more often than others: views of new values, used again. */
static takt_id any_value(maker *m)
{
    const size_t last = m->count < 4 ? m->count : 4;
    if (takt_random_below(&m->random, 2) == 0)
        return m->value[m->count - 1 - takt_random_below(&m->random, last)];
    return m->value[takt_random_below(&m->random, m->count)];
}

static takt_id old_value(maker *m, const takt_type *want)
{
    for (int tries = 0; tries < 4 && m->count > 0; tries++) {
        const takt_id id = takt_gen_fit(m->g, &m->random, any_value(m), want);
        if (id != TAKT_NONE || m->g->status != TAKT_OK)
            return id;
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

/* Input `i` of an element-wise call on the shape of `base`: base, a view of it, or another value.
 */
static takt_id operand(maker *m, const takt_gen_call *c, uint32_t i, takt_id base)
{
    takt_type type = *takt_type_of(m->g, base);
    takt_id id = base;
    const bool is_other = type.dtype != c->type[i].dtype;
    type.dtype = c->type[i].dtype;
    const size_t how = takt_random_below(&m->random, 5);
    if (c->range[i].is_set || how == 0)
        return argument(m, &type, &c->range[i]);
    if (how <= 2)
        id = takt_gen_operand(m->g, &m->random, id);
    return is_other ? takt_cast(m->g, id, type.dtype) : id;
}

static bool goes_with(const maker *m, const takt_gen_call *c, takt_id base)
{
    const takt_type *type = takt_type_of(m->g, base);
    if ((c->node->op->traits & TAKT_ELEMENTWISE) == 0)
        return false;
    for (uint32_t i = 0; i < c->node->in_count; i++)
        if (c->type[i].rank < 0)
            return false;
    size_t count;
    return takt_type_count(type, &count) && count > 0;
}

/* Element-wise calls use the type of their operand where possible, so that chains form without
 * casts. */
static void adopt_dtype(const maker *m, takt_gen_call *c, takt_id base)
{
    const takt_op *op = c->node->op;
    const takt_dtype dtype = takt_type_of(m->g, base)->dtype;
    for (uint32_t i = 0; i < c->node->in_count; i++)
        if (c->range[i].is_set)
            return;
    for (uint32_t i = 0; i < c->node->in_count; i++)
        if (!op->is_mixed && (op->dtypes & TAKT_IN(dtype)) != 0 && op->infer == NULL)
            c->type[i].dtype = dtype;
}

static takt_status append_call(maker *m, takt_gen_call *c)
{
    takt_id in[TAKT_SAMPLE_INPUTS];
    const takt_id base = m->count > 0 ? any_value(m) : TAKT_NONE;
    const bool together =
        base != TAKT_NONE && takt_random_below(&m->random, 4) != 0 && goes_with(m, c, base);
    if (together && !m->options.has_dtype)
        adopt_dtype(m, c, base);
    for (uint32_t i = 0; i < c->node->in_count; i++) {
        in[i] = TAKT_NONE;
        if (c->type[i].rank >= 0)
            in[i] = together ? operand(m, c, i, base) : argument(m, &c->type[i], &c->range[i]);
    }
    TAKT_TRY(m->g->status);
    const takt_id id = takt_transplant(m->g, c->node, in);
    TAKT_TRY(m->g->status);
    const uint32_t count = takt_node_at(m->g, id)->out_count;
    for (uint32_t i = 0; i < count; i++)
        keep(m, takt_graph_get(m->g, id, i));
    return m->g->status;
}

/* One of the element-wise ops that take any two values of the type. */
static const takt_op *draw_mixer(maker *m, takt_dtype dtype)
{
    static const takt_op *const numbers[] = {&takt_op_add, &takt_op_sub, &takt_op_mul, &takt_op_max,
                                             &takt_op_min};
    static const takt_op *const bits[] = {&takt_op_and, &takt_op_or, &takt_op_xor};
    return dtype == TAKT_BOOL ? bits[takt_random_below(&m->random, 3)]
                              : numbers[takt_random_below(&m->random, 5)];
}

/* A value of an element-wise step is combined with a view of itself, perhaps in the same step. */
static void mix(maker *m)
{
    takt_id y = any_value(m);
    const takt_type type = *takt_type_of(m->g, y);
    size_t count;
    if ((TAKT_COMPUTE & TAKT_IN(type.dtype)) == 0 || !takt_type_count(&type, &count) || count == 0)
        return;
    if (takt_random_below(&m->random, 3) != 0) {
        const takt_id other = old_value(m, &type);
        if (other != TAKT_NONE)
            y = takt_binary(m->g, draw_mixer(m, type.dtype), y, other);
    }
    if (m->g->status != TAKT_OK)
        return;
    keep(m, y);
    takt_id pair[2] = {y, takt_gen_operand(m->g, &m->random, y)};
    const size_t first = takt_random_below(&m->random, 3) == 0;
    keep(m, takt_binary(m->g, draw_mixer(m, type.dtype), pair[first], pair[1 - first]));
}

/* `op` must be in the graph, if it has samples; leaves are added automatically. */
static takt_status make_call(maker *m, const takt_op *op)
{
    takt_gen_call c;
    TAKT_TRY(takt_gen_call_init(m->g->ctx, &m->random, op, &m->options, &c));
    takt_status status = TAKT_OK;
    if (c.sample != NULL)
        status = append_call(m, &c);
    takt_gen_call_deinit(&c);
    if (status == TAKT_OK && m->count > 0 && !m->options.only_elementwise &&
        takt_random_below(&m->random, 2) == 0)
        keep(m, takt_gen_view(m->g, &m->random, any_value(m)));
    if (m->g->status == TAKT_OK && m->count > 0 && takt_random_below(&m->random, 2) == 0)
        mix(m);
    return m->g->status != TAKT_OK ? m->g->status : status;
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

/* More elements than one round of a step processes. */
static void large_input(maker *m)
{
    static const takt_type shapes[] = {
        {.rank = 1, .dim = {4096}},        {.rank = 3, .dim = {1, 6, 700}},
        {.rank = 2, .dim = {64, 64}},      {.rank = 2, .dim = {3, 1500}},
        {.rank = 4, .dim = {2, 3, 5, 50}},
    };
    const takt_sample_range none = {0};
    takt_type type = shapes[takt_random_below(&m->random, sizeof shapes / sizeof *shapes)];
    type.dtype = (takt_dtype)takt_random_below(&m->random, TAKT_DTYPE_COUNT);
    if ((TAKT_IN(type.dtype) & ~m->options.avoid & TAKT_COMPUTE) == 0)
        type.dtype = TAKT_F32;
    if ((TAKT_IN(type.dtype) & m->options.avoid) == 0)
        keep(m, new_input(m, &type, &none));
}

static takt_status build(maker *m, uint64_t seed)
{
    const size_t calls = m->options.calls != 0 ? m->options.calls : CALLS;
    const takt_op *op = takt_ops[seed % takt_op_count];
    if (m->options.op != NULL)
        op = m->options.op;
    else if (m->options.only_elementwise)
        op = draw(m);
    else if (takt_random_below(&m->random, 4) == 0)
        large_input(m);
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
