/* prepare.c - the graph to write: sizes are numbers, parameters constants, channels last, and
 * operations without a TensorFlow Lite operator are decomposed. */
#include "io/tflite/write/emit.h"
#include "op/util/conv.h"
#include "pass/fold_node.h"
#include "pass/match.h"
#include "pass/pass.h"
#include "pass/passes.h"

enum { LARGEST = 1 << 20 }; /* bytes that a constant may grow by when it is computed now */

/* ---- weights ---- */

/* The index of entry `axis` of `from` in `to`, which has the same elements in the same order. */
static int moved_axis(const takt_type *from, const takt_type *to, int axis)
{
    int64_t before = 1, at = 1;
    for (int d = 0; d < axis; d++)
        before *= from->dim[d];
    for (int d = 0; d < to->rank; d++) {
        if (at == before && to->dim[d] == from->dim[axis])
            return d;
        at *= to->dim[d];
    }
    return -1;
}

/* move(dequantize(x)) = dequantize(move(x)): integers stay next to the layer that reads them. */
static takt_id swap(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const takt_node *half = takt_match_op(g, n->in[0], &takt_op_cast);
    if (half != NULL && takt_tflw_is_widened(g, half)) {
        const takt_id moved = takt_graph_append(g, n->op, 1, half->in, n->attr);
        return takt_cast(g, moved, TAKT_F32);
    }
    const takt_node *q = takt_match_op(g, n->in[0], &takt_op_dequantize);
    if (q == NULL)
        return TAKT_NONE;
    takt_id in[3] = {q->in[0], q->in[1], q->in_count > 2 ? q->in[2] : TAKT_NONE};
    const uint32_t count = q->in_count;
    takt_attr attrs[TAKT_MAX_ATTRS];
    const takt_type from = *takt_type_of(g, in[0]);
    const int at = takt_op_attr_index(q->op, "axis");
    int64_t axis = q->attr[at].i64;
    takt_node_attrs(q, attrs);
    if (takt_type_of(g, in[1])->rank > 0) {
        axis += axis < 0 ? from.rank : 0;
        int64_t to = -1;
        if (n->op == &takt_op_reshape)
            to = moved_axis(&from, n->type, (int)axis);
        for (int d = 0; n->op == &takt_op_transpose && d < n->type->rank; d++)
            to = n->attr[0].i64s[d] == axis ? d : to;
        if (to < 0)
            return TAKT_NONE;
        attrs[at] = takt_attr_i64(to);
    }
    in[0] = takt_graph_append(g, n->op, 1, in, n->attr);
    return takt_graph_append(g, &takt_op_dequantize, count, in, attrs);
}

/* Values of constants, except those that are kept as integers or f16. */
static takt_id known(takt_rewrite *r, const takt_node *n)
{
    size_t made, used = LARGEST;
    if (n->in_count > TAKT_FOLD_INPUTS || n->out_count != 1 || n->op == &takt_op_get ||
        (n->op->traits & (TAKT_CONTROL | TAKT_UNIQUE | TAKT_LEAF)) != 0 ||
        !takt_type_bytes(n->type, &made) ||
        (n->op == &takt_op_dequantize && takt_match_is_constant(r->out, n->in[0])) ||
        takt_tflw_is_widened(r->out, n))
        return TAKT_NONE;
    for (uint32_t k = 0; k < n->in_count; k++) {
        size_t bytes;
        if (n->in[k] == TAKT_NONE || !takt_match_is_constant(r->out, n->in[k]) ||
            !takt_type_bytes(takt_type_of(r->out, n->in[k]), &bytes))
            return TAKT_NONE;
        used += 2 * bytes;
    }
    return made <= used ? takt_fold_node(r, n) : TAKT_NONE;
}

static bool is_move(const takt_node *n)
{
    return n->op == &takt_op_reshape || n->op == &takt_op_transpose;
}

/* Rounding with one scale is placed before a move, next to the layer that it belongs to. */
static takt_id round_first(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    takt_id in[3] = {n->in[0], n->in[1], n->in_count > 2 ? n->in[2] : TAKT_NONE};
    const takt_node *x = takt_node_at(g, in[0]);
    takt_attr attrs[TAKT_MAX_ATTRS];
    if (x->op == &takt_op_dequantize && x->in_count == n->in_count && x->in[1] == in[1] &&
        (n->in_count < 3 || x->in[2] == in[2]) && takt_type_of(g, in[1])->rank == 0 &&
        takt_type_of(g, x->in[0])->dtype == n->type->dtype)
        return x->in[0];
    if (!is_move(x) || takt_type_of(g, in[1])->rank != 0)
        return TAKT_NONE;
    const takt_node move = *x;
    takt_node_attrs(&move, attrs);
    in[0] = move.in[0];
    const takt_id level = takt_graph_append(g, n->op, n->in_count, in, n->attr);
    return takt_graph_append(g, move.op, 1, &level, attrs);
}

static const takt_rule rules[] = {
    {&takt_op_quantize, "quantize(move(x)) = move(quantize(x)), of dequantize: x", round_first},
    {&takt_op_transpose, "transpose(dequantize(x)) = dequantize(transpose(x)), and cast", swap},
    {&takt_op_reshape, "reshape(dequantize(x)) = dequantize(reshape(x)), and cast", swap},
    {NULL, "a node of constants = its value", known},
};

static const takt_pass constants = {
    .name = "tflite-constants",
    .summary = "compute what is made of constants, weights of integers and f16 excepted",
    TAKT_RULES(rules),
};

/* ---- weights in blocks ---- */

/* Weights of a product with a scale for each block of a row: a row for each block, dequantised by
 * its scale, and then put together. */
static takt_id rows_of_blocks(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const takt_node *b = takt_match_op(g, n->in[1], &takt_op_block_dequantize);
    if (b == NULL || b->in_count != 2 || b->type->dtype != TAKT_F32 || b->type->rank != 2 ||
        !takt_match_is_constant(g, b->in[0]) || !takt_match_is_constant(g, b->in[1]))
        return TAKT_NONE;
    const takt_type w = *takt_type_of(g, b->in[0]), s = *takt_type_of(g, b->in[1]);
    const int64_t block = takt_node_int(b, "block"), axis = takt_node_int(b, "axis");
    if ((w.dtype != TAKT_I8 && w.dtype != TAKT_I4) || s.dtype != TAKT_F32 || s.rank != 2 ||
        w.rank != 2 || (axis != 1 && axis != -1) || block < 1 || w.dim[1] % block != 0 ||
        s.dim[1] != w.dim[1] / block)
        return TAKT_NONE;
    const takt_id from[] = {b->in[0], b->in[1]};
    const int64_t rows = s.dim[0] * s.dim[1];
    const takt_id levels = takt_reshape(g, from[0], (takt_dim[]){rows, block}, 2),
                  scales = takt_reshape(g, from[1], &rows, 1);
    const takt_named_attr first = {"axis", takt_attr_i64(0)};
    const takt_id real =
        takt_graph_call(g, &takt_op_dequantize, 2, (const takt_id[]){levels, scales}, 1, &first);
    const takt_id in[] = {n->in[0], takt_reshape(g, real, w.dim, 2)};
    return takt_graph_append(g, n->op, 2, in, n->attr);
}

static const takt_rule block_rules[] = {
    {&takt_op_matmul, "block_dequantize(w) = reshape(dequantize(reshape(w)))", rows_of_blocks},
};

static const takt_pass blocks = {
    .name = "tflite-blocks",
    .summary = "weights with a scale for each block as rows with a scale each",
    TAKT_RULES(block_rules),
};

/* ---- pools ---- */

/* Those that the layout pass leaves as they are. */
static takt_id last_channels(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const int at = takt_op_attr_index(n->op, "layout");
    const size_t rank = (size_t)n->type->rank;
    int64_t to[TAKT_MAX_RANK] = {0}, back[TAKT_MAX_RANK] = {0};
    takt_attr attrs[TAKT_MAX_ATTRS];
    if (n->attr[at].i64 != TAKT_NCHW)
        return TAKT_NONE;
    for (size_t d = 1; d < rank; d++) {
        to[d] = d + 1 < rank ? (int64_t)d + 1 : 1;
        back[d] = (int64_t)(d > 1 ? d - 1 : rank - 1);
    }
    takt_node_attrs(n, attrs);
    attrs[at].i64 = TAKT_NHWC;
    const takt_id x = takt_transpose(g, n->in[0], to, rank);
    return takt_transpose(g, takt_graph_append(g, n->op, 1, &x, attrs), back, rank);
}

static const takt_rule pool_rules[] = {
    {&takt_op_max_pool, "max_pool(x) = transpose(max_pool(transpose(x)))", last_channels},
    {&takt_op_avg_pool, "avg_pool(x) = transpose(avg_pool(transpose(x)))", last_channels},
};

static const takt_pass pools = {
    .name = "tflite-pools",
    .summary = "pools with channels last",
    TAKT_RULES(pool_rules),
};

/* ---- sizes and forms ---- */

/* Named sizes of the inputs that have no number are 1, as when a model runs. */
static takt_status put_sizes(takt_arena *arena, const takt_graph *in, takt_graph **out)
{
    const size_t count = takt_dims_name_count(in->dims);
    int64_t *sizes = takt_arena_array(arena, count + 1, sizeof *sizes);
    if (sizes == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        sizes[i] = -1;
    for (size_t i = 0; i < in->input_count; i++) {
        const takt_type *t = takt_type_of(in, in->inputs[i].id);
        size_t index;
        for (int d = 0; d < t->rank; d++)
            if (takt_dim_is_name(in->dims, t->dim[d], &index) && index < count)
                sizes[index] = 1;
    }
    return takt_graph_specialize(in, sizes, count, out);
}

/* Values of the slots: those given by the caller, or their own. */
static const takt_tensor *slots_of(takt_arena *arena, const takt_graph *g, const takt_tensor *given)
{
    takt_tensor *slots = takt_arena_array(arena, g->slot_count + 1, sizeof *slots);
    for (size_t i = 0; slots != NULL && i < g->slot_count; i++) {
        if (given != NULL)
            slots[i] = given[i];
        if (slots[i].storage == NULL && g->slots[i].init.kind == TAKT_INIT_TENSOR)
            slots[i] = *g->slots[i].init.tensor;
    }
    return slots;
}

static bool is_written(void *user, const takt_graph *g, const takt_node *n)
{
    (void)user;
    (void)g;
    return n->op == &takt_op_custom
               ? takt_tflw_is_whole(n)
               : takt_tflw_emitter_of(n->op) != NULL || n->op == &takt_op_dequantize;
}

static bool is_no_einsum(void *user, const takt_graph *g, const takt_node *n)
{
    (void)user;
    (void)g;
    return n->op != &takt_op_einsum;
}

static takt_status advance(takt_graph **g, takt_status status, takt_graph **next)
{
    if (status != TAKT_OK)
        return status;
    takt_graph_destroy(*g);
    *g = *next;
    *next = NULL;
    return TAKT_OK;
}

static takt_status stages(takt_arena *arena, const takt_graph *in, const takt_tensor *given,
                          takt_graph **g)
{
    takt_pipeline_options pipeline = {0};
    takt_graph *next = NULL;
    TAKT_TRY(takt_pass_choose(
        in->ctx,
        "-tiny-weights,-bytes,-quantized,-siblings,-padded-taps,-winograd,-reduce-strength,"
        "-widen-late,-narrow-activations",
        &pipeline.choice));
    const takt_tensor *slots = slots_of(arena, in, given);
    if (slots == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(put_sizes(arena, in, g));
    TAKT_TRY(advance(g, takt_graph_checks(*g, false, &next), &next));
    TAKT_TRY(advance(g, takt_graph_freeze(*g, slots, &next), &next));
    TAKT_TRY(advance(g, takt_tflw_unroll(*g, &next), &next));
    TAKT_TRY(advance(g, takt_graph_lower(*g, is_no_einsum, NULL, &next), &next));
    TAKT_TRY(advance(g, takt_pipeline_run(in->ctx, *g, &pipeline, &next), &next));
    TAKT_TRY(advance(g, takt_pass_apply(&blocks, *g, NULL, &next), &next));
    TAKT_TRY(advance(g, takt_pass_apply(&pools, *g, NULL, &next), &next));
    TAKT_TRY(advance(g, takt_graph_lower(*g, is_written, NULL, &next), &next));
    pipeline.is_lowered = true;
    TAKT_TRY(advance(g, takt_pass_apply(&constants, *g, NULL, &next), &next));
    TAKT_TRY(advance(g, takt_pipeline_run(in->ctx, *g, &pipeline, &next), &next));
    return advance(g, takt_pass_apply(&constants, *g, NULL, &next), &next);
}

takt_status takt_tflw_prepare(const takt_graph *in, const takt_tensor *slots, takt_graph **out)
{
    takt_arena arena;
    *out = NULL;
    takt_arena_init(&arena, in->ctx);
    const takt_status status = stages(&arena, in, slots, out);
    takt_arena_deinit(&arena);
    if (status != TAKT_OK) {
        takt_graph_destroy(*out);
        *out = NULL;
    }
    return status;
}
