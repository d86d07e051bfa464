/* Quantize.c - QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear. */
#include "io/onnx/adapt.h"

/* Scales per block for an axis `want` without a number: element i has the scale i / size. */
static takt_id spread_named(takt_call *c, takt_id s, int axis, int64_t size, takt_dim want)
{
    const takt_named_attr attrs[] = {{"shape", takt_attr_shape(&want, 1)}};
    const takt_id at = takt_graph_call(c->g, &takt_op_iota, 0, NULL, 1, attrs);
    return takt_onnx_gather(c, s, takt_div(c->g, at, takt_scalar_i64(c->g, size)), axis);
}

/* Scales per block: each repeated `size` times along the axis. */
static takt_id spread(takt_call *c, takt_id s, int axis, int64_t size, takt_dim want)
{
    if (s == TAKT_NONE)
        return s;
    takt_graph_fail_if(c->g, takt_dim_resolve(c->g->dims, want, &want));
    if (!takt_dim_is_number(want))
        return spread_named(c, s, axis, size, want);
    const takt_type t = *takt_type_of(c->g, s);
    takt_dim dims[TAKT_MAX_RANK + 1], flat[TAKT_MAX_RANK];
    for (int i = 0, to = 0; i < t.rank; i++) {
        dims[to++] = t.dim[i];
        flat[i] = t.dim[i];
        if (i == axis &&
            takt_dim_make(c->g->dims, TAKT_DIM_MUL, t.dim[i], size, &flat[i]) != TAKT_OK)
            return takt_graph_fail(c->g, TAKT_ERR_SHAPE);
        if (i == axis)
            dims[to++] = size;
    }
    s = takt_onnx_unsqueeze(c, s, axis + 1);
    s = takt_broadcast(c->g, s, dims, (size_t)t.rank + 1);
    s = takt_reshape(c->g, s, flat, (size_t)t.rank);
    return takt_slice(c->g, s, axis, 0, want, 1);
}

/* scale [n] to [1, n, 1…] explicitly, for forms that our quantize does not take. */
static takt_id aligned(takt_call *c, takt_id s, int axis, int rank)
{
    if (s == TAKT_NONE || takt_type_of(c->g, s)->rank != 1)
        return s;
    takt_dim dims[TAKT_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i] = i == axis ? takt_type_of(c->g, s)->dim[0] : 1;
    if (takt_type_of(c->g, s)->dim[0] == 1)
        return takt_reshape(c->g, s, NULL, 0);
    return takt_reshape(c->g, s, dims, (size_t)rank);
}

/* [1] as a scalar: other runtimes treat them as equal, even if the scale has one form and its zero
 * point the other. */
static takt_id single(takt_call *c, takt_id s)
{
    const takt_type *t = s != TAKT_NONE ? takt_type_of(c->g, s) : NULL;
    return t != NULL && t->rank == 1 && t->dim[0] == 1 ? takt_reshape(c->g, s, NULL, 0) : s;
}

static const struct {
    takt_dtype dtype;
    double low, high;
} ranges[] = {{TAKT_I8, -128, 127}, {TAKT_U8, 0, 255}, {TAKT_I16, -32768, 32767},
              {TAKT_U16, 0, 65535}, {TAKT_I4, -8, 7},  {TAKT_U4, 0, 15},
              {TAKT_I2, -2, 1},     {TAKT_U2, 0, 3},   {TAKT_I32, -2147483648.0, 2147483647.0}};

/* round(x / scale) + zero, saturated. */
static takt_id quantized(takt_call *c, takt_id x, takt_id scale, takt_id zero, takt_dtype to)
{
    takt_id q = takt_div(c->g, x, scale);
    if (q == TAKT_NONE || takt_dtype_is_float(to))
        return takt_onnx_cast(c, q, to);
    q = takt_onnx_cast(c, takt_unary(c->g, &takt_op_round, q), TAKT_F32);
    if (zero != TAKT_NONE)
        q = takt_add(c->g, q, takt_onnx_cast(c, takt_onnx_cast(c, zero, TAKT_I32), TAKT_F32));
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (ranges[i].dtype != to)
            continue;
        q = takt_binary(c->g, &takt_op_max, q, takt_scalar_like(c->g, q, ranges[i].low));
        q = takt_binary(c->g, &takt_op_min, q, takt_scalar_like(c->g, q, ranges[i].high));
    }
    return takt_onnx_cast(c, takt_onnx_cast(c, q, TAKT_I32), to);
}

static takt_id dequantized(takt_call *c, takt_id q, takt_id scale, takt_id zero)
{
    const takt_dtype wide = takt_type_of(c->g, scale)->dtype;
    if (takt_dtype_is_float(takt_type_of(c->g, q)->dtype))
        return takt_mul(c->g, takt_onnx_cast(c, q, wide), scale);
    q = takt_onnx_cast(c, q, TAKT_I32);
    if (zero != TAKT_NONE)
        q = takt_sub(c->g, q, takt_onnx_cast(c, zero, TAKT_I32));
    return takt_mul(c->g, takt_onnx_cast(c, q, wide), scale);
}

/* The forms that become integer kernels: i8 and u8, per tensor or per axis, and i32, which is how
 * the bias of a sum is given. */
static bool is_plain(const takt_type *scale, takt_dtype q, takt_dtype x, bool is_quantize)
{
    return (q == TAKT_I8 || q == TAKT_U8 || (q == TAKT_I32 && !is_quantize)) && scale->rank <= 1 &&
           x == TAKT_F32 && scale->dtype == TAKT_F32;
}

static takt_status dynamic(takt_call *c)
{
    takt_id scale = TAKT_NONE, zero = TAKT_NONE;
    const takt_id q = takt_onnx_dynamic(c->g, takt_onnx_in(c, 0), &scale, &zero);
    takt_onnx_set(c, 1, scale);
    takt_onnx_set(c, 2, zero);
    return takt_onnx_done(c, q);
}

static takt_dtype result_of(takt_call *c, bool is_quantize, takt_dtype fallback)
{
    takt_dtype to = takt_onnx_to(c, "output_dtype", TAKT_DTYPE_COUNT);
    if (to == TAKT_DTYPE_COUNT && is_quantize && takt_onnx_has(c, 2))
        to = takt_onnx_type(c, 2)->dtype;
    return to == TAKT_DTYPE_COUNT ? fallback : to;
}

/* The quantised value has the type of the zero points: one of few bits, or i32. */
static takt_status check_types(takt_call *c, bool is_quantize, takt_dtype to)
{
    const takt_dtype q = is_quantize ? to : takt_onnx_type(c, 0)->dtype,
                     f = is_quantize ? takt_onnx_type(c, 0)->dtype : to;
    const bool is_narrow = takt_dtype_is_float(q) ? takt_dtype_bits(q) <= 8
                                                  : takt_dtype_bits(q) <= 16 || q == TAKT_I32;
    if (q == TAKT_BOOL || !is_narrow || (!takt_dtype_is_float(f) && f != TAKT_I32))
        return takt_onnx_refuse(c, "from %s to %s", takt_dtype_name(is_quantize ? f : q),
                                takt_dtype_name(is_quantize ? q : f));
    if (takt_onnx_has(c, 2) && takt_onnx_type(c, 2)->dtype != q)
        return takt_onnx_refuse(c, "zero points of %s for numbers of %s",
                                takt_dtype_name(takt_onnx_type(c, 2)->dtype), takt_dtype_name(q));
    return c->status;
}

/* Scales and zero points per block are like x, but along the axis each block has one. Sizes that
 * are names are not compared. */
static takt_status check_blocks(takt_call *c, size_t which, int axis, int64_t block)
{
    if (!takt_onnx_has(c, which))
        return TAKT_OK;
    takt_dims *dims = c->g->dims;
    takt_type want = *takt_onnx_type(c, 0), got = *takt_onnx_type(c, which);
    want.dtype = got.dtype;
    if (want.rank > 0)
        TAKT_TRY(takt_dim_make(dims, TAKT_DIM_CEILDIV, want.dim[axis], block, &want.dim[axis]));
    bool agree = got.rank == want.rank && want.rank > 0;
    for (int i = 0; agree && i < want.rank; i++) {
        TAKT_TRY(takt_dim_resolve(dims, want.dim[i], &want.dim[i]));
        TAKT_TRY(takt_dim_resolve(dims, got.dim[i], &got.dim[i]));
        agree = want.dim[i] == got.dim[i] || !takt_dim_is_number(want.dim[i]) ||
                !takt_dim_is_number(got.dim[i]);
    }
    char tg[TAKT_TYPE_TEXT], tw[TAKT_TYPE_TEXT];
    return agree ? TAKT_OK
                 : takt_onnx_refuse(c, "%s is %s, but one for each block of %lld needs %s",
                                    which == 1 ? "the scale" : "the zero point",
                                    takt_type_text(dims, &got, tg), (long long)block,
                                    takt_type_text(dims, &want, tw));
}

takt_status takt_onnx_quantizer(takt_call *c)
{
    if (takt_span_is(c->node->op, "DynamicQuantizeLinear"))
        return dynamic(c);
    const bool is_quantize = takt_span_is(c->node->op, "QuantizeLinear");
    takt_id x = takt_onnx_in(c, 0), scale = takt_onnx_in(c, 1), zero = takt_onnx_in(c, 2);
    const takt_type t = *takt_onnx_type(c, 0), s = *takt_onnx_type(c, 1);
    const int64_t block = takt_onnx_i(c, "block_size", 0);
    const takt_dtype to = result_of(c, is_quantize, is_quantize ? TAKT_U8 : s.dtype);
    if (c->status != TAKT_OK)
        return c->status;
    TAKT_TRY(check_types(c, is_quantize, to));
    const int axis =
        s.rank > 0 && t.rank > 1 ? takt_onnx_axis(c, takt_onnx_i(c, "axis", 1), t.rank) : 0;
    if (block < 0 || block > INT32_MAX || c->status != TAKT_OK)
        return takt_onnx_refuse(c, "a block of %lld", (long long)block);
    if (block == 0 &&
        is_plain(&s, is_quantize ? to : t.dtype, is_quantize ? t.dtype : to, is_quantize)) {
        const takt_named_attr attrs[] = {{"axis", takt_attr_i64(axis)},
                                         {"dtype", takt_attr_dtype(to)}};
        scale = single(c, scale);
        zero = single(c, zero);
        return takt_onnx_done(
            c, takt_graph_call(c->g, is_quantize ? &takt_op_quantize : &takt_op_dequantize,
                               zero == TAKT_NONE ? 2 : 3, (takt_id[]){x, scale, zero}, 2, attrs));
    }
    if (block > 0 && !is_quantize && takt_dtype_is_int(t.dtype) && to == s.dtype) {
        const takt_named_attr attrs[] = {{"axis", takt_attr_i64(axis)},
                                         {"block", takt_attr_i64(block)}};
        return takt_onnx_done(c, takt_graph_call(c->g, &takt_op_block_dequantize,
                                                 zero == TAKT_NONE ? 2 : 3,
                                                 (takt_id[]){x, scale, zero}, 2, attrs));
    }
    for (size_t i = 1; i <= 2 && block > 0; i++)
        TAKT_TRY(check_blocks(c, i, axis, block));
    const takt_dim size = t.rank > 0 ? t.dim[axis] : 1;
    scale = block > 0 ? spread(c, scale, axis, block, size) : aligned(c, scale, axis, t.rank);
    const bool has_zero = zero != TAKT_NONE;
    zero = block > 0 ? spread(c, zero, axis, block, size) : aligned(c, zero, axis, t.rank);
    if (x == TAKT_NONE || scale == TAKT_NONE || (has_zero && zero == TAKT_NONE))
        return takt_onnx_done(c, TAKT_NONE);
    if (is_quantize)
        return takt_onnx_done(
            c,
            quantized(c, takt_onnx_cast(c, x, takt_type_of(c->g, scale)->dtype), scale, zero, to));
    return takt_onnx_done(c, takt_onnx_cast(c, dequantized(c, x, scale, zero), to));
}

const takt_onnx_op takt_onnx_Quantize = {
    .names = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"},
    .adapt = takt_onnx_quantizer};
