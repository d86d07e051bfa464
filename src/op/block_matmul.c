/* block_matmul.c - product of floats with weights of 2, 4 or 8 bits that have a scale per block.
 *
 * w = (b - zero) * scale, and a * w in f32 (compute = float); or each block of a row of a is itself
 * rounded to 8 bits, and the products are exact (compute = int8): docs/ops.md says how.
 */
#include "op/util/block.h"

#include "op/util/check.h"
#include "op/util/make.h"

static const char *const computes[] = {"float", "int8", NULL};

/* ---- inference ---- */

/* [n, blocks]. */
static takt_status check_blocks(takt_infer *in, size_t which, takt_dim n, takt_dim blocks)
{
    const takt_type *t = in->type[which];
    if (t->rank != 2 || t->dim[0] != n || t->dim[1] != blocks)
        return takt_infer_fail(in, TAKT_E_SHAPE, "%s must be [%lld, %lld], one for each block",
                               in->op->in_names[which], (long long)n, (long long)blocks);
    return TAKT_OK;
}

static takt_status check_zero(takt_infer *in, takt_dim n, takt_dim blocks)
{
    const takt_type *zero = in->type[TAKT_BLOCK_ZERO];
    const takt_dtype b = in->type[TAKT_BLOCK_B]->dtype;
    if (zero->dtype == TAKT_F32) {
        if (in->attr[TAKT_BLOCK_COMPUTE].i64 == TAKT_BLOCK_INT8 || takt_dtype_is_signed(b))
            return takt_infer_fail(in, TAKT_E_DTYPE,
                                   "zero may be f32 only with unsigned b and compute=float");
        return check_blocks(in, TAKT_BLOCK_ZERO, n, blocks);
    }
    if (zero->dtype != b)
        return takt_infer_fail(in, TAKT_E_DTYPE, "zero must be %s like b, or f32",
                               takt_dtype_name(b));
    return zero->rank == 0 ? TAKT_OK : check_blocks(in, TAKT_BLOCK_ZERO, n, blocks);
}

static takt_status infer(takt_infer *in)
{
    const takt_type *a = in->type[TAKT_BLOCK_A], *b = in->type[TAKT_BLOCK_B];
    TAKT_TRY(takt_infer_dtype(in, TAKT_BLOCK_A, TAKT_IN(TAKT_F32), "f32"));
    TAKT_TRY(takt_infer_dtype(in, TAKT_BLOCK_B, TAKT_BLOCK_LEVELS, "i2, u2, i4, u4, i8 or u8"));
    TAKT_TRY(takt_infer_dtype(in, TAKT_BLOCK_SCALE, TAKT_IN(TAKT_F32) | TAKT_IN(TAKT_F16),
                              "f32 or f16"));
    TAKT_TRY(takt_infer_rank(in, TAKT_BLOCK_A, 1, TAKT_MAX_RANK));
    TAKT_TRY(takt_infer_rank(in, TAKT_BLOCK_B, 2, 2));
    TAKT_TRY(takt_check_range(in, TAKT_BLOCK_SIZE, 16, TAKT_BLOCK_MOST));
    const int64_t block = in->attr[TAKT_BLOCK_SIZE].i64;
    if (block % 16 != 0)
        return takt_infer_fail(in, TAKT_E_ATTR, "block must be a multiple of 16, got %lld",
                               (long long)block);
    if (!takt_dim_is_number(b->dim[0]) || !takt_dim_is_number(b->dim[1]))
        return takt_infer_fail(in, TAKT_E_SHAPE, "the sizes of b must be numbers");
    TAKT_TRY(takt_check_dims(in, TAKT_BLOCK_A, a->rank - 1, TAKT_BLOCK_B, 1));
    const takt_dim n = b->dim[0], blocks = (b->dim[1] + block - 1) / block;
    TAKT_TRY(check_blocks(in, TAKT_BLOCK_SCALE, n, blocks));
    if (takt_infer_has(in, TAKT_BLOCK_ZERO))
        TAKT_TRY(check_zero(in, n, blocks));
    if (takt_infer_has(in, TAKT_BLOCK_BIAS)) {
        TAKT_TRY(takt_infer_dtype(in, TAKT_BLOCK_BIAS, TAKT_IN(TAKT_F32), "f32"));
        TAKT_TRY(takt_infer_vector(in, TAKT_BLOCK_BIAS, n));
    }
    in->out[0] = *a;
    in->out[0].dim[a->rank - 1] = n;
    return TAKT_OK;
}

/* ---- lowering ---- */

typedef struct work {
    takt_graph *g;
    takt_dim n, k, block, blocks;
} work;

/* [n, blocks] to [n, k]; a scalar stays one. */
static takt_id spread(const work *w, takt_id x)
{
    if (x == TAKT_NONE || takt_type_of(w->g, x)->rank == 0)
        return x;
    x = takt_reshape(w->g, x, (takt_dim[]){w->n, w->blocks, 1}, 3);
    x = takt_broadcast(w->g, x, (takt_dim[]){w->n, w->blocks, w->block}, 3);
    x = takt_reshape(w->g, x, (takt_dim[]){w->n, w->blocks * w->block}, 2);
    return takt_slice(w->g, x, 1, 0, w->k, 1);
}

/* b - zero, in `dtype`. */
static takt_id shifted(const work *w, const takt_node *n, takt_dtype dtype)
{
    const takt_id b = takt_cast(w->g, n->in[TAKT_BLOCK_B], dtype);
    const takt_id zero = takt_block_input(n, TAKT_BLOCK_ZERO);
    return zero == TAKT_NONE ? b : takt_sub(w->g, b, spread(w, takt_cast(w->g, zero, dtype)));
}

/* [rows, k] to [blocks, rows, block], zero-padded. */
static takt_id by_blocks(const work *w, takt_id x, takt_dim rows)
{
    const takt_dim more = w->blocks * w->block - w->k;
    const int64_t before[2] = {0, 0};
    const takt_dim after[2] = {0, more};
    const takt_named_attr attrs[] = {{"before", takt_attr_i64s(before, 2)},
                                     {"after", takt_attr_shape(after, 2)}};
    if (more > 0)
        x = takt_graph_call(w->g, &takt_op_pad, 1, &x, 2, attrs);
    x = takt_reshape(w->g, x, (takt_dim[]){rows, w->blocks, w->block}, 3);
    return takt_transpose(w->g, x, (const int64_t[]){1, 0, 2}, 3);
}

/* The sum over blocks of (scale * dx) * dot, each [blocks, rows, n], by a contraction. */
static takt_id combined(const work *w, takt_id by, takt_id dot, takt_dim rows)
{
    static const int64_t last[] = {1, 2, 0};
    by = takt_reshape(w->g, takt_transpose(w->g, by, last, 3),
                      (takt_dim[]){rows, w->n, 1, w->blocks}, 4);
    dot = takt_reshape(w->g, takt_transpose(w->g, dot, last, 3),
                       (takt_dim[]){rows, w->n, w->blocks, 1}, 4);
    return takt_matmul(w->g, by, dot, false, false);
}

static takt_id in_bytes(const work *w, const takt_node *n, takt_id a)
{
    takt_graph *g = w->g;
    const takt_type t = *takt_type_of(g, a);
    const takt_dim rows = takt_make_product(g, t.dim, t.rank - 1);
    const takt_id x = by_blocks(w, takt_reshape(g, a, (takt_dim[]){rows, w->k}, 2), rows);
    const takt_id most = takt_reduce_over(g, &takt_op_reduce_max, takt_unary(g, &takt_op_abs, x),
                                          (const int64_t[]){2}, 1, true);
    const takt_id limit = takt_scalar_like(g, x, 127), lower = takt_scalar_like(g, x, -127);
    takt_id q = takt_unary(g, &takt_op_round, takt_mul(g, x, takt_div(g, limit, most)));
    q = takt_binary(g, &takt_op_max, takt_binary(g, &takt_op_min, q, limit), lower);
    const takt_id levels = by_blocks(w, shifted(w, n, TAKT_I32), w->n);
    const takt_id dot = takt_matmul(g, takt_cast(g, q, TAKT_I32), levels, false, true);
    takt_id scale = takt_cast(g, n->in[TAKT_BLOCK_SCALE], TAKT_F32);
    scale = takt_transpose(g, scale, (const int64_t[]){1, 0}, 2);
    scale = takt_reshape(g, scale, (takt_dim[]){w->blocks, 1, w->n}, 3);
    const takt_id by = takt_mul(g, scale, takt_div(g, most, limit));
    return combined(w, by, takt_cast(g, dot, TAKT_F32), rows);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_type *b = takt_type_of(g, n->in[TAKT_BLOCK_B]);
    const takt_dim block = n->attr[TAKT_BLOCK_SIZE].i64;
    const work w = {g, b->dim[0], b->dim[1], block, (b->dim[1] + block - 1) / block};
    const takt_id a = n->in[TAKT_BLOCK_A], bias = takt_block_input(n, TAKT_BLOCK_BIAS);
    const takt_type result = n->type[0];
    takt_id y;
    if (n->attr[TAKT_BLOCK_COMPUTE].i64 == TAKT_BLOCK_INT8 && w.k > 0) {
        y = takt_reshape(g, in_bytes(&w, n, a), result.dim, (size_t)result.rank);
    } else {
        const takt_id scale = takt_cast(g, n->in[TAKT_BLOCK_SCALE], TAKT_F32);
        y = takt_matmul(g, a, takt_mul(g, shifted(&w, n, TAKT_F32), spread(&w, scale)), false,
                        true);
    }
    out[0] = bias == TAKT_NONE ? y : takt_add(g, y, bias);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    const takt_dim inner = takt_type_of(g, n->in[TAKT_BLOCK_B])->dim[1];
    cost->flops = 2 * takt_make_count(&n->type[0]) * (double)(inner > 0 ? inner : 0);
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_block_matmul = {
    .name = "block_matmul",
    .summary = "product with weights (b - zero) * scale, b of 2, 4 or 8 bits and [n, k], a scale "
               "for each `block` of k",
    .in_min = 3,
    .in_max = TAKT_BLOCK_INPUTS,
    .in_names = {"a", "b", "scale", "zero", "bias"},
    .attrs = {[TAKT_BLOCK_SIZE] = {.name = "block",
                                   .type = TAKT_ATTR_I64,
                                   .fallback.i64 = 32,
                                   .summary = "k of one block, a multiple of 16"},
              [TAKT_BLOCK_COMPUTE] =
                  {.name = "compute",
                   .type = TAKT_ATTR_ENUM,
                   .names = computes,
                   .summary = "float: weights become f32; int8: a is rounded to 8 bits by blocks, "
                              "to multiples of max |a| / 127, and products are exact"}},
    .traits = TAKT_CONTRACTS,
    .dtypes = TAKT_BLOCK_LEVELS | TAKT_IN(TAKT_F32) | TAKT_IN(TAKT_F16),
    .is_mixed = true,
    .infer = infer,
    .lower = lower,
    .cost = cost,
    .samples =
        {"block_matmul(f32[3, 40], i4[5, 40] in (-8, 7), f32[5, 3] in (0.01, 0.1), block=16)",
         "block_matmul(f32[2, 3, 64], u4[17, 64] in (0, 15), f32[17, 2] in (0.01, 0.1), "
         "u4[17, 2] in (0, 15), f32[17])",
         "block_matmul(f32[70], u8[4, 70] in (0, 255), f16[4, 3] in (0.01, 0.1), u8[] in "
         "(100, 150), block=32)",
         "block_matmul(f32[3, 48], u2[5, 48] in (0, 3), f32[5, 1] in (0.01, 0.1), f32[5, 1] "
         "in (0, 3), block=64)",
         "block_matmul(f32[5, 300], i8[20, 300] in (-128, 127), f32[20, 10] in (0.01, 0.1), "
         "none, f32[20])",
         "block_matmul(f32[4, 77], u4[5, 77] in (0, 15), f32[5, 3] in (0.01, 0.1), u4[5, 3] "
         "in (0, 15), f32[5], compute=int8)",
         "block_matmul(f32[70], i8[9, 70] in (-128, 127), f16[9, 1] in (0.01, 0.1), "
         "block=128, compute=int8)"},
};
