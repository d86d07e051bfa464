/* bytes.c - moves quantised values as bytes, and converts them between grids without floats.
 *
 * Each element is computed from the same one by the same operations, so no bit changes.
 */
#include "op/record/quantize_away.h"
#include "pass/match.h"
#include "pass/passes.h"

enum { MOST = 64 }; /* inputs of a concat that are examined */

static bool is_move(const takt_op *op)
{
    return op == &takt_op_reshape || op == &takt_op_transpose || op == &takt_op_concat;
}

static bool is_byte(takt_dtype dtype)
{
    return dtype == TAKT_I8 || dtype == TAKT_U8;
}

/* It has one scale, in f32. */
static bool is_plain(const takt_graph *g, const takt_node *n)
{
    const takt_type *scale = takt_type_of(g, n->in[1]);
    return scale->rank == 0 && scale->dtype == TAKT_F32;
}

/* The move may have several inputs, of which each is quantised by itself. */
static takt_id quantize_first(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const takt_node move = g->nodes[n->in[0]];
    if (!is_move(move.op) || takt_dtype_bits(n->type->dtype) > 8)
        return TAKT_NONE;
    if (!is_plain(g, n))
        return takt_refuse(r, n, "it has several scales, or they are not f32");
    if (!takt_match_single(r, 0))
        return takt_refuse(r, n, "what it quantises is used elsewhere too");
    if (move.in_count > MOST)
        return takt_refuse(r, n, "the concat before it has more than 64 inputs");
    takt_id in[MOST], own[3];
    for (uint32_t k = 1; k < n->in_count; k++)
        own[k] = n->in[k];
    for (uint32_t k = 0; k < move.in_count; k++) {
        own[0] = move.in[k];
        in[k] = takt_graph_append(g, n->op, n->in_count, own, n->attr);
    }
    return takt_graph_append(g, move.op, move.in_count, in, move.attr);
}

static takt_id dequantize_last(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const takt_node *wide = takt_match_op(g, n->in[0], &takt_op_dequantize);
    if (wide == NULL || takt_dtype_bits(takt_type_of(g, wide->in[0])->dtype) > 8)
        return TAKT_NONE;
    if (takt_match_is_fixed(g, wide->in[0]))
        return takt_refuse(r, n, "weights stay next to their dequantize");
    if (takt_type_of(g, wide->in[1])->rank != 0)
        return takt_refuse(r, n, "what it moves has several scales");
    const takt_node old = *wide;
    takt_id in[3] = {TAKT_NONE, old.in[1], old.in_count > 2 ? old.in[2] : TAKT_NONE};
    in[0] = takt_graph_append(g, n->op, 1, old.in, n->attr);
    return takt_graph_append(g, old.op, old.in_count, in, old.attr);
}

static takt_id zero_of(takt_graph *g, const takt_node *n, takt_dtype dtype)
{
    return n->in_count > 2 && n->in[2] != TAKT_NONE ? n->in[2]
                                                    : takt_cast(g, takt_scalar_i64(g, 0), dtype);
}

static takt_id without_floats(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const takt_node *wide = takt_match_op(g, n->in[0], &takt_op_dequantize);
    if (wide == NULL || !is_byte(n->type->dtype) || !is_byte(takt_type_of(g, wide->in[0])->dtype))
        return TAKT_NONE;
    if (wide->type->dtype != TAKT_F32 || !is_plain(g, n) || !is_plain(g, wide))
        return takt_refuse(r, n, "there are several scales, or they are not f32");
    const takt_node old = *wide;
    const takt_dtype from = takt_type_of(g, old.in[0])->dtype;
    const takt_id in[] = {old.in[0], old.in[1], n->in[1], zero_of(g, &old, from),
                          zero_of(g, n, n->type->dtype)};
    return takt_graph_append(g, &takt_op_requantize, 5, in, NULL);
}

/* ---- rows of a table of bytes ---- */

enum { DEEPEST = 8, SMALLEST = 256 /* elements of a table */ };

/* Element-wise, and each element of the result has one of `in` at the same place. */
static bool is_map(const takt_graph *g, const takt_node *n)
{
    if (n->op == &takt_op_dequantize)
        return takt_type_of(g, n->in[1])->rank == 0;
    return (n->op->traits & TAKT_ELEMENTWISE) != 0 && n->out_count == 1 && n->in_count <= 3;
}

/* Whether `id` is computed from a constant of bytes of the same shape, and from other constants. */
static bool is_table(const takt_graph *g, takt_id id, const takt_type *shape, int depth)
{
    const takt_node *n = &g->nodes[id];
    const takt_type *t = takt_type_of(g, id);
    bool is_same = t->rank == shape->rank;
    for (int d = 0; is_same && d < t->rank; d++)
        is_same = takt_dim_same(g->dims, t->dim[d], shape->dim[d]);
    if (n->op == &takt_op_constant)
        return is_same && takt_dtype_bits(t->dtype) <= 8;
    bool is_some = false;
    for (uint32_t k = 0; depth > 0 && is_same && is_map(g, n) && k < n->in_count; k++)
        is_some = is_some || (n->in[k] != TAKT_NONE && is_table(g, n->in[k], shape, depth - 1));
    return is_some;
}

/* The part of `id`, which broadcasts into the table, for the requested rows. */
static takt_id rows_of(takt_graph *g, const takt_node *n, takt_id id, int depth)
{
    const takt_type *table = takt_type_of(g, n->in[0]), *t = takt_type_of(g, id);
    if (t->rank < table->rank || (t->dim[0] == 1 && table->dim[0] != 1))
        return id;
    const takt_node old = g->nodes[id];
    if (depth == 0 || old.op == &takt_op_constant || !is_map(g, &old)) {
        const takt_id in[2] = {id, n->in[1]};
        return takt_graph_append(g, n->op, 2, in, n->attr);
    }
    takt_id in[3] = {TAKT_NONE, TAKT_NONE, TAKT_NONE};
    for (uint32_t k = 0; k < old.in_count; k++)
        if (old.in[k] != TAKT_NONE)
            in[k] = rows_of(g, n, old.in[k], depth - 1);
    return takt_graph_append(g, old.op, old.in_count, in, old.attr);
}

static takt_id gather_bytes(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const takt_node *table = &g->nodes[n->in[0]];
    const takt_type *t = table->type, *index = takt_type_of(g, n->in[1]);
    size_t count = 0, asked = 0;
    if (table->op == &takt_op_constant || !is_map(g, table) || t->rank == 0 ||
        !is_table(g, n->in[0], t, DEEPEST))
        return TAKT_NONE;
    if (takt_node_int(n, "axis") != 0 || index->rank == 0)
        return takt_refuse(r, n, "it gathers no rows");
    if (!takt_match_is_fixed(g, n->in[0]))
        return takt_refuse(r, n, "the table is computed from other values, too");
    if (!takt_match_single(r, 0))
        return takt_refuse(r, n, "the table is used elsewhere too");
    if (!takt_type_count(t, &count) || count < SMALLEST ||
        (takt_type_count(n->type, &asked) && asked >= count))
        return takt_refuse(r, n, "the table has few elements");
    return rows_of(g, n, n->in[0], DEEPEST);
}

/* A small table of floats is put on the grid once instead of its rows in every run. */
static takt_id quantize_table(takt_rewrite *r, const takt_node *n)
{
    enum { MOST_ELEMENTS = 1 << 16 };
    takt_graph *g = r->out;
    const takt_node *rows = takt_match_op(g, n->in[0], &takt_op_gather);
    size_t count;
    if (rows == NULL || !takt_match_is_fixed(g, rows->in[0]) || takt_dtype_bits(n->type->dtype) > 8)
        return TAKT_NONE;
    for (uint32_t k = 1; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE && !takt_match_is_fixed(g, n->in[k]))
            return takt_refuse(r, n, "its grid is computed from other values");
    if (!is_plain(g, n))
        return takt_refuse(r, n, "it has several scales, or they are not f32");
    if (!takt_match_single(r, 0))
        return takt_refuse(r, n, "the rows are used elsewhere too");
    if (!takt_type_count(takt_type_of(g, rows->in[0]), &count) || count > MOST_ELEMENTS)
        return takt_refuse(r, n, "the table has many elements");
    const takt_node old = *rows;
    takt_id own[3];
    for (uint32_t k = 1; k < n->in_count; k++)
        own[k] = n->in[k];
    own[0] = old.in[0];
    const takt_id in[2] = {takt_graph_append(g, n->op, n->in_count, own, n->attr), old.in[1]};
    return takt_graph_append(g, &takt_op_gather, 2, in, old.attr);
}

static const takt_rule rules[] = {
    {&takt_op_gather, "gather(f(q), i) = f(gather(q, i))", gather_bytes},
    {&takt_op_quantize, "quantize(dequantize(q)) = requantize(q)", without_floats},
    {&takt_op_quantize, "quantize(move(x)) = move(quantize(x))", quantize_first},
    {&takt_op_quantize, "quantize(gather(table, i)) = gather(quantize(table), i)", quantize_table},
    {&takt_op_quantize_away, "round(gather(table, i)) = gather(round(table), i)", quantize_table},
    {&takt_op_transpose, "transpose(dequantize(q)) = dequantize(transpose(q))", dequantize_last},
    {&takt_op_reshape, "reshape(dequantize(q)) = dequantize(reshape(q))", dequantize_last},
};

const takt_pass takt_pass_bytes = {
    .name = "bytes",
    .summary = "move quantised values as bytes, and requantise them without floats",
    TAKT_RULES(rules),
};
