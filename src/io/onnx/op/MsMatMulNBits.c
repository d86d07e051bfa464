/* MsMatMulNBits.c - com.microsoft's MatMulNBits: a product with weights of 2, 4 or 8 bits in
 * blocks.
 *
 * It becomes block_matmul, with 8-bit products if accuracy_level allows them. If g_idx scatters
 * blocks over k, the members of each are made contiguous: in the weights at import, in the input by
 * a gather. Block sizes that are not multiples of 16, which block_matmul lacks, f64 inputs and a
 * computed g_idx are dequantised to floats by a few ops.
 */
#include <string.h>

#include "io/onnx/adapt.h"
#include "op/util/block.h"

typedef struct work {
    takt_call *c;
    int64_t k, n, bits, block, blocks;
    /* A new order of k, by g_idx; NULL: unchanged. The index k is a placeholder that pads
     * blocks. */
    int64_t *order, *from; /* `from`: the scale of each block of `order` */
    int64_t ordered, ordered_blocks;
    bool has_gaps;
} work;

/* u8 [n, bytes] to [n, bytes * 8 / bits], low bits first, and the first `count` of each row. */
static takt_id unpacked(const work *w, takt_id x, int64_t bytes, int64_t count)
{
    takt_call *c = w->c;
    const int64_t parts = 8 / w->bits, mask = (INT64_C(1) << w->bits) - 1;
    takt_id each[4];
    x = takt_onnx_shape(c, x, (int64_t[]){w->n, bytes, 1}, 3);
    for (int64_t i = 0; i < parts; i++) {
        if (x == TAKT_NONE)
            return x;
        each[i] = i == 0 ? x
                         : takt_binary(c->g, &takt_op_shr, x,
                                       takt_onnx_scalar(c, TAKT_U8, (double)(i * w->bits)));
        if (parts > 1 && each[i] != TAKT_NONE)
            each[i] = takt_binary(c->g, &takt_op_and, each[i],
                                  takt_onnx_scalar(c, TAKT_U8, (double)mask));
        if (each[i] == TAKT_NONE)
            return TAKT_NONE;
    }
    x = parts > 1 ? takt_concat(c->g, each, (size_t)parts, 2) : x;
    x = takt_onnx_shape(c, x, (int64_t[]){w->n, bytes * parts}, 2);
    return x == TAKT_NONE ? x : takt_slice(c->g, x, 1, 0, count, 1);
}

/* [n, blocks] to [n, k]: by blocks, or by the block that g_idx gives for each. */
static takt_id spread(const work *w, takt_id x)
{
    takt_call *c = w->c;
    x = takt_onnx_shape(c, x, (int64_t[]){w->n, w->blocks}, 2);
    if (takt_onnx_has(c, 4))
        return takt_onnx_gather(c, x, takt_onnx_in(c, 4), 1);
    x = takt_onnx_unsqueeze(c, x, 2);
    if (x == TAKT_NONE)
        return x;
    x = takt_broadcast(c->g, x, (takt_dim[]){w->n, w->blocks, w->block}, 3);
    x = takt_onnx_shape(c, x, (int64_t[]){w->n, w->blocks * w->block}, 2);
    return x == TAKT_NONE ? x : takt_slice(c->g, x, 1, 0, w->k, 1);
}

static takt_id zeros(const work *w, takt_dtype dtype)
{
    takt_call *c = w->c;
    if (!takt_onnx_has(c, 3))
        return takt_onnx_scalar(c, dtype, (double)(INT64_C(1) << (w->bits - 1)));
    takt_id z = takt_onnx_in(c, 3);
    if (takt_type_of(c->g, z)->dtype == TAKT_U8)
        z = unpacked(w, z, (w->blocks * w->bits + 7) / 8, w->blocks);
    return spread(w, takt_onnx_cast(c, z, dtype));
}

/* The element type of the levels. */
static takt_dtype levels_of(const work *w)
{
    return w->bits == 2 ? TAKT_U2 : w->bits == 4 ? TAKT_U4 : TAKT_U8;
}

/* [n, k] levels. Bytes of a constant are used unchanged: low bits come first there too. */
static takt_id levels(const work *w)
{
    takt_call *c = w->c;
    const takt_id b = takt_onnx_in(c, 1);
    const int64_t deep = w->blocks * w->block;
    const takt_node *n = b == TAKT_NONE ? NULL : takt_node_at(c->g, b);
    if (n == NULL || n->op != &takt_op_constant)
        return takt_onnx_cast(c, unpacked(w, b, deep / 8 * w->bits, w->k), levels_of(w));
    takt_tensor t = *n->attr[0].tensor;
    takt_graph_fail_if(c->g, takt_fold_bind(c->scope->room, b));
    t.type = (takt_type){.dtype = levels_of(w), .rank = 2, .dim = {w->n, deep}};
    const takt_id q = takt_graph_constant(c->g, &t);
    return deep == w->k || q == TAKT_NONE ? q : takt_slice(c->g, q, 1, 0, w->k, 1);
}

/* [n, blocks], or one for all. */
static takt_id block_zeros(const work *w)
{
    takt_call *c = w->c;
    const takt_dtype dtype = levels_of(w);
    if (!takt_onnx_has(c, 3))
        return takt_onnx_cast(
            c, takt_onnx_scalar(c, TAKT_U8, (double)(INT64_C(1) << (w->bits - 1))), dtype);
    takt_id z = takt_onnx_in(c, 3);
    if (takt_type_of(c->g, z)->dtype == TAKT_U8)
        z = takt_onnx_cast(c, unpacked(w, z, (w->blocks * w->bits + 7) / 8, w->blocks), dtype);
    else
        z = takt_onnx_cast(c, z, TAKT_F32);
    return takt_onnx_shape(c, z, (int64_t[]){w->n, w->blocks}, 2);
}

/* The size of the new order: group by group, each starting at a new block. */
static void measure_order(work *w, const int64_t *group, int64_t *counts)
{
    for (int64_t i = 0; i < w->k; i++)
        counts[group[i]]++;
    for (int64_t b = 0; b < w->blocks; b++) {
        if (counts[b] > 0)
            w->ordered = w->ordered_blocks * w->block + counts[b];
        w->ordered_blocks += (counts[b] + w->block - 1) / w->block;
    }
    w->has_gaps = w->ordered != w->k;
}

/* `at`: room for the positions where groups continue. */
static void put_in_order(work *w, const int64_t *group, const int64_t *counts, int64_t *at)
{
    int64_t end = 0;
    for (int64_t b = 0; b < w->blocks; b++) {
        at[b] = end * w->block;
        for (int64_t i = 0; i < counts[b]; i += w->block)
            w->from[end++] = b;
    }
    for (int64_t i = 0; i < w->ordered; i++)
        w->order[i] = w->k;
    for (int64_t i = 0; i < w->k; i++)
        w->order[at[group[i]]++] = i;
}

/* Reads g_idx, if it is known; if it is absent or equals the block order, nothing is moved. */
static takt_status read_order(work *w, bool *is_known)
{
    takt_call *c = w->c;
    const takt_array *g = takt_onnx_has(c, 4) ? takt_onnx_peek(c, 4) : NULL;
    *is_known = g != NULL || !takt_onnx_has(c, 4);
    if (g == NULL)
        return c->status;
    if (g->i == NULL || g->count < (size_t)w->k)
        return takt_onnx_refuse(c, "g_idx must be %lld whole numbers", (long long)w->k);
    bool is_plain = true;
    for (int64_t i = 0; i < w->k; i++) {
        if (g->i[i] < 0 || g->i[i] >= w->blocks)
            return takt_onnx_refuse(c, "g_idx has %lld, of %lld blocks", (long long)g->i[i],
                                    (long long)w->blocks);
        is_plain = is_plain && g->i[i] == i / w->block;
    }
    if (is_plain)
        return TAKT_OK;
    int64_t *counts = takt_onnx_get(c, (size_t)w->blocks, sizeof *counts);
    int64_t *at = takt_onnx_get(c, (size_t)w->blocks, sizeof *at);
    if (counts == NULL || at == NULL)
        return c->status;
    memset(counts, 0, (size_t)w->blocks * sizeof *counts);
    measure_order(w, g->i, counts);
    w->from = takt_onnx_get(c, (size_t)w->ordered_blocks, sizeof *w->from);
    w->order = takt_onnx_get(c, (size_t)w->ordered, sizeof *w->order);
    if (w->from != NULL && w->order != NULL)
        put_in_order(w, g->i, counts, at);
    return c->status;
}

/* [.., k] in the new order. Padding of blocks is 0 in the input, and any weight. */
static takt_id ordered(const work *w, takt_id x, bool is_input)
{
    takt_call *c = w->c;
    if (w->order == NULL || x == TAKT_NONE)
        return x;
    int64_t *order = w->order;
    if (w->has_gaps && is_input) {
        const takt_type t = *takt_type_of(c->g, x);
        const int64_t before[TAKT_MAX_RANK] = {0};
        takt_dim after[TAKT_MAX_RANK] = {0};
        after[t.rank - 1] = 1;
        const takt_named_attr attrs[] = {{"before", takt_attr_i64s(before, (size_t)t.rank)},
                                         {"after", takt_attr_shape(after, (size_t)t.rank)}};
        x = takt_onnx_op1(c, &takt_op_pad, x, 2, attrs);
    } else if (w->has_gaps) {
        order = takt_onnx_get(c, (size_t)w->ordered, sizeof *order);
        for (int64_t i = 0; order != NULL && i < w->ordered; i++)
            order[i] = w->order[i] == w->k ? 0 : w->order[i];
    }
    return order == NULL ? TAKT_NONE
                         : takt_onnx_gather(c, x, takt_onnx_i64s(c, order, (size_t)w->ordered), -1);
}

/* [n, blocks] of the blocks in the new order. */
static takt_id ordered_blocks(const work *w, takt_id x)
{
    const size_t count = (size_t)w->ordered_blocks;
    if (w->order == NULL || x == TAKT_NONE || takt_type_of(w->c->g, x)->rank == 0)
        return x;
    return takt_onnx_gather(w->c, x, takt_onnx_i64s(w->c, w->from, count), 1);
}

static takt_status by_blocks(const work *w)
{
    takt_call *c = w->c;
    const takt_dtype dtype = takt_onnx_type(c, 0)->dtype;
    takt_id scale = takt_onnx_in(c, 2), bias = takt_onnx_in(c, 5);
    scale =
        takt_type_of(c->g, scale)->dtype == TAKT_F16 ? scale : takt_onnx_cast(c, scale, TAKT_F32);
    scale = ordered_blocks(w, takt_onnx_shape(c, scale, (int64_t[]){w->n, w->blocks}, 2));
    bias = bias == TAKT_NONE ? bias : takt_onnx_cast(c, bias, TAKT_F32);
    const takt_id zero = ordered_blocks(w, block_zeros(w));
    const takt_id a = ordered(w, takt_onnx_cast(c, takt_onnx_in(c, 0), TAKT_F32), true);
    const takt_id in[] = {a, ordered(w, levels(w), false), scale, zero, bias};
    if (a == TAKT_NONE || in[1] == TAKT_NONE || scale == TAKT_NONE || zero == TAKT_NONE)
        return takt_onnx_done(c, TAKT_NONE);
    const bool has_bytes = takt_type_of(c->g, zero)->dtype != TAKT_F32;
    const bool is_int8 = takt_onnx_i(c, "accuracy_level", 0) == 4 && has_bytes;
    const takt_named_attr attrs[] = {
        {"block", takt_attr_i64(w->block)},
        {"compute", takt_attr_i64(is_int8 ? TAKT_BLOCK_INT8 : TAKT_BLOCK_FLOAT)}};
    const takt_id y =
        takt_graph_call(c->g, &takt_op_block_matmul, bias == TAKT_NONE ? 4 : 5, in, 2, attrs);
    return takt_onnx_done(c, takt_onnx_cast(c, y, dtype));
}

static takt_status by_floats(const work *w, takt_dtype dtype)
{
    takt_call *c = w->c;
    takt_id q = unpacked(w, takt_onnx_in(c, 1), w->blocks * w->block / 8 * w->bits, w->k);
    q = takt_onnx_cast(c, q, dtype);
    const takt_id zero = zeros(w, dtype), scale = spread(w, takt_onnx_in(c, 2));
    if (q == TAKT_NONE || zero == TAKT_NONE || scale == TAKT_NONE)
        return takt_onnx_done(c, TAKT_NONE);
    q = takt_mul(c->g, takt_sub(c->g, q, zero), scale);
    takt_id y = takt_matmul(c->g, takt_onnx_in(c, 0),
                            takt_onnx_cast(c, q, takt_onnx_type(c, 0)->dtype), false, true);
    if (takt_onnx_has(c, 5) && y != TAKT_NONE)
        y = takt_add(c->g, y, takt_onnx_in(c, 5));
    return takt_onnx_done(c, y);
}

static takt_status adapt(takt_call *c)
{
    work w = {.c = c,
              .k = takt_onnx_i(c, "K", 0),
              .n = takt_onnx_i(c, "N", 0),
              .bits = takt_onnx_i(c, "bits", 4),
              .block = takt_onnx_i(c, "block_size", 0)};
    const takt_type b = *takt_onnx_type(c, 1), s = *takt_onnx_type(c, 2);
    if (c->status != TAKT_OK)
        return c->status;
    if (w.bits != 2 && w.bits != 4 && w.bits != 8)
        return takt_onnx_refuse(c, "weights of %lld bits", (long long)w.bits);
    if (w.k < 1 || w.n < 1 || w.k > INT32_MAX || w.n > INT32_MAX || w.block < 8 ||
        w.block > INT32_MAX || w.block % 8 != 0)
        return takt_onnx_refuse(c, "K is %lld, N %lld, block_size %lld", (long long)w.k,
                                (long long)w.n, (long long)w.block);
    if (b.dtype != TAKT_U8 || !takt_dtype_is_float(s.dtype))
        return takt_onnx_refuse(c, "weights of %s with scales of %s", takt_dtype_name(b.dtype),
                                takt_dtype_name(s.dtype));
    w.blocks = (w.k + w.block - 1) / w.block;
    const takt_dtype a = takt_onnx_type(c, 0)->dtype;
    bool fits = w.block % 16 == 0 && w.block <= TAKT_BLOCK_MOST &&
                (a == TAKT_F32 || a == TAKT_F16 || a == TAKT_BF16);
    int64_t size = 1;
    for (int i = 0; i < b.rank; i++)
        size = size >= 0 && size <= UINT32_MAX && b.dim[i] >= 0 && b.dim[i] <= INT32_MAX
                   ? size * b.dim[i]
                   : -1;
    if (size != w.n * w.blocks * w.block / 8 * w.bits)
        return takt_onnx_refuse(c, "the weights are not [%lld, %lld, %lld]", (long long)w.n,
                                (long long)w.blocks, (long long)(w.block / 8 * w.bits));
    bool is_known;
    TAKT_TRY(read_order(&w, &is_known));
    fits = fits && is_known && takt_onnx_type(c, 0)->rank > 0;
    return fits ? by_blocks(&w) : by_floats(&w, s.dtype);
}

const takt_onnx_op takt_onnx_MsMatMulNBits = {
    .names = {"MatMulNBits"}, .domain = "com.microsoft", .adapt = adapt};
