/* heads.c - shared by attention and its gradient: attributes, checks, splitting heads. */
#include "op/util/heads.h"

#include <math.h>

#include "op/util/check.h"
#include "op/util/make.h"

enum { BLOCK_SIZE = 32, BLOCK_BYTES = 34 }; /* of q8_0 */

int64_t takt_kv_heads(const takt_attr *attr)
{
    return attr[TAKT_KV_HEADS].i64 == 0 ? attr[TAKT_HEADS].i64 : attr[TAKT_KV_HEADS].i64;
}

static takt_status mismatch(takt_infer *in, const char *what)
{
    char q[TAKT_TYPE_TEXT], k[TAKT_TYPE_TEXT], v[TAKT_TYPE_TEXT];
    return takt_fail(in->ctx, TAKT_E_SHAPE,
                     "%s: %s: q is %s, k is %s, v is %s, %lld heads, "
                     "%lld of them for k and v",
                     in->op->name, what, takt_type_text(in->dims, in->type[0], q),
                     takt_type_text(in->dims, in->type[1], k),
                     takt_type_text(in->dims, in->type[2], v), (long long)in->attr[TAKT_HEADS].i64,
                     (long long)takt_kv_heads(in->attr));
}

takt_dim takt_kv_width(const takt_type *t)
{
    return t->dtype == TAKT_U8 ? t->dim[2] / BLOCK_BYTES * BLOCK_SIZE : t->dim[2];
}

static bool are_whole_blocks(const takt_infer *in)
{
    bool are_whole = true;
    for (size_t i = 1; i < 3; i++)
        if (in->type[i]->dtype == TAKT_U8)
            are_whole &= in->type[i]->dim[2] % BLOCK_BYTES == 0 &&
                         takt_kv_width(in->type[i]) % (BLOCK_SIZE * takt_kv_heads(in->attr)) == 0;
    return are_whole;
}

static takt_status check_counts(takt_infer *in)
{
    TAKT_TRY(takt_check_range(in, TAKT_HEADS, 1, TAKT_CHECK_BIG));
    TAKT_TRY(takt_check_range(in, TAKT_KV_HEADS, 0, TAKT_CHECK_BIG));
    const int64_t heads = in->attr[TAKT_HEADS].i64, shared = takt_kv_heads(in->attr);
    if (heads % shared != 0)
        return takt_fail(in->ctx, TAKT_E_ATTR, "%s: kv_heads %lld does not divide heads %lld",
                         in->op->name, (long long)shared, (long long)heads);
    for (size_t i = 0; i < 3; i++)
        if (!takt_dim_is_number(in->type[i]->dim[2]))
            return mismatch(in, "the last dimensions must be numbers");
    if (!are_whole_blocks(in))
        return mismatch(in, "bytes are blocks of q8_0, and heads whole blocks of 32 numbers");
    const takt_dim q = in->type[0]->dim[2], k = takt_kv_width(in->type[1]);
    const takt_dim v = takt_kv_width(in->type[2]);
    if (q % heads != 0 || k % shared != 0 || v % shared != 0)
        return mismatch(in, "the last dimensions must be multiples of the heads");
    return q / heads == k / shared ? TAKT_OK : mismatch(in, "heads of q and k differ in size");
}

/* A cache of 16-bit numbers or 8-bit blocks, with queries in f32. */
static bool are_fewer_bits(const takt_op *op, takt_dtype q, takt_dtype kv)
{
    return op == &takt_op_attention && q == TAKT_F32 &&
           (kv == TAKT_F16 || kv == TAKT_BF16 || kv == TAKT_U8);
}

static takt_status check_floats(takt_infer *in)
{
    const takt_dtype dtype = in->type[0]->dtype;
    if (!takt_dtype_is_float(dtype))
        return takt_fail(in->ctx, TAKT_E_DTYPE, "%s: input 0 is %s, which it does not take",
                         in->op->name, takt_dtype_name(dtype));
    for (size_t i = 1; i < 3; i++)
        if (!are_fewer_bits(in->op, dtype, in->type[i]->dtype))
            TAKT_TRY(takt_check_same_dtype(in, 0, i));
    return TAKT_OK;
}

takt_status takt_check_heads(takt_infer *in)
{
    TAKT_TRY(check_floats(in));
    for (size_t i = 0; i < 3; i++)
        TAKT_TRY(takt_infer_rank(in, i, 3, 3));
    const takt_dim queries = in->type[0]->dim[1], keys = in->type[1]->dim[1];
    TAKT_TRY(takt_check_dims(in, 0, 0, 1, 0));
    TAKT_TRY(takt_check_dims(in, 0, 0, 2, 0));
    TAKT_TRY(takt_check_dims(in, 1, 1, 2, 1));
    TAKT_TRY(check_counts(in));
    if (in->attr[TAKT_CAUSAL].boolean && takt_dim_is_number(queries) && takt_dim_is_number(keys) &&
        queries > keys)
        return mismatch(in, "causal needs at least as many keys as queries");
    return TAKT_OK;
}

takt_type takt_heads_out(const takt_infer *in)
{
    takt_type out = *in->type[0];
    out.dim[2] = in->attr[TAKT_HEADS].i64 * (takt_kv_width(in->type[2]) / takt_kv_heads(in->attr));
    return out;
}

double takt_attention_scale(const takt_graph *g, const takt_node *n)
{
    const takt_dim width = takt_type_of(g, n->in[0])->dim[2];
    return n->attr[TAKT_SCALE].is_set ? n->attr[TAKT_SCALE].f64
                                      : 1 / sqrt((double)(width / n->attr[TAKT_HEADS].i64));
}

takt_id takt_split_heads(takt_graph *g, takt_id x, int64_t outer, int64_t inner)
{
    const takt_dim *d = takt_type_of(g, x)->dim;
    const takt_dim apart[5] = {d[0], d[1], outer, inner, d[2] / (outer * inner)};
    return takt_transpose(g, takt_reshape(g, x, apart, 5), (const int64_t[]){0, 2, 3, 1, 4}, 5);
}

takt_id takt_keys_before(takt_graph *g, const takt_node *n)
{
    return takt_sub(g, takt_make_axis(g, &takt_op_dim, 1, &n->in[1], 1),
                    takt_make_axis(g, &takt_op_dim, 1, &n->in[0], 1));
}

takt_id takt_keys_seen(takt_graph *g, const takt_node *n, const takt_dim *dims)
{
    const takt_id row = takt_make_iota(g, dims, 2, 0), column = takt_make_iota(g, dims, 2, 1);
    return takt_binary(g, &takt_op_le, takt_sub(g, column, row), takt_keys_before(g, n));
}
