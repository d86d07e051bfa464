/* Place.c - Col2Im, MaxUnpool, ReverseSequence and TensorScatter: elements placed by an index. */
#include "base/size.h"
#include "io/onnx/lengths.h"
#include "io/onnx/spatial.h"

static takt_id filled(takt_call *c, takt_dtype dtype, const takt_dim *dims, size_t rank)
{
    return takt_broadcast(c->g, takt_onnx_scalar(c, dtype, 0), dims, rank);
}

static takt_id scatter(takt_call *c, takt_id x, takt_id index, takt_id u, bool adds, int64_t axis)
{
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(axis)},
                                     {"reduce", takt_attr_i64(adds ? 1 : 0)}};
    if (x == TAKT_NONE || index == TAKT_NONE || u == TAKT_NONE)
        return TAKT_NONE;
    return takt_graph_call(c->g, &takt_op_scatter_elements, 3, (takt_id[]){x, index, u}, 2, attrs);
}

/* Columns [N, C * kernel, positions] are windows of the picture, added up. */
static takt_status col2im(takt_call *c)
{
    size_t axes, count;
    if (takt_onnx_peek(c, 1) == NULL || takt_onnx_peek(c, 2) == NULL) {
        const takt_id sizes = takt_onnx_vector(c, 1, &axes),
                      windows = takt_onnx_vector(c, 2, &count);
        if (sizes != TAKT_NONE && windows != TAKT_NONE && axes == count)
            return takt_col2im_found(c, sizes, windows, count);
    }
    const takt_ints image = takt_onnx_known_ints(c, 1), block = takt_onnx_known_ints(c, 2);
    const takt_type t = *takt_onnx_type(c, 0);
    takt_type picture = {.dtype = t.dtype, .rank = 2 + (int)image.count};
    takt_spatial s;
    if (c->status != TAKT_OK)
        return c->status;
    if (t.rank != 3 || image.count != block.count || image.count > TAKT_ONNX_SPATIAL)
        return takt_onnx_refuse(c, "rank %d", t.rank);
    int64_t elements = 1, size = 1, out[TAKT_ONNX_SPATIAL];
    picture.dim[0] = t.dim[0];
    for (size_t i = 0; i < image.count; i++) {
        picture.dim[i + 2] = image.at[i];
        if (image.at[i] < 0 || block.at[i] < 1 || !takt_i64_mul(elements, block.at[i], &elements) ||
            !takt_i64_mul(size, image.at[i], &size))
            return takt_onnx_refuse(c, "windows of %lld in %lld", (long long)block.at[i],
                                    (long long)image.at[i]);
    }
    if (!takt_dim_is_number(t.dim[1]))
        return takt_onnx_refuse(c, "a number of columns that is not known");
    picture.dim[1] = t.dim[1] / elements;
    TAKT_TRY(takt_spatial_read(c, &picture, block.at, block.count, &s));
    const takt_id zero = filled(c, t.dtype, picture.dim, (size_t)picture.rank);
    takt_id flat = TAKT_NONE;
    (void)takt_spatial_unfold(c, zero, &s, 0, out, &flat); /* for its indices */
    if (flat == TAKT_NONE)
        return takt_onnx_done(c, flat);
    /* Index -1, the padding, reads one extra element, which is removed afterwards. */
    const takt_dim positions = takt_type_of(c->g, flat)->dim[0];
    takt_dim rows, columns;
    TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MUL, t.dim[0], picture.dim[1], &rows));
    TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MUL, elements, positions, &columns));
    const takt_dim wide[3] = {rows, elements, positions};
    takt_id index = takt_transpose(c->g, flat, (int64_t[]){1, 0}, 2);
    index =
        takt_reshape(c->g, takt_broadcast(c->g, index, wide, 3), (takt_dim[]){rows, columns}, 2);
    const takt_id u = takt_reshape(c->g, takt_onnx_in(c, 0), (takt_dim[]){rows, columns}, 2);
    const takt_id base = filled(c, t.dtype, (takt_dim[]){rows, size + 1}, 2);
    takt_id y = scatter(c, base, index, u, true, 1);
    y = takt_slice(c->g, y, 1, 0, size, 1);
    return takt_onnx_done(c, takt_reshape(c->g, y, picture.dim, (size_t)picture.rank));
}

/* The size of the result along each axis: `small`, or the value of input 2, known or found at run
 * time. */
static takt_status read_shape(takt_call *c, const takt_dim *small, int rank, takt_dim *dims)
{
    size_t count = 0;
    takt_onnx_bound bounds[TAKT_MAX_RANK];
    const bool is_found = takt_onnx_has(c, 2) && takt_onnx_peek(c, 2) == NULL;
    const takt_id found = is_found ? takt_onnx_vector(c, 2, &count) : TAKT_NONE;
    if (found != TAKT_NONE && count == (size_t)rank) {
        for (size_t i = 0; i < count; i++)
            bounds[i] = takt_onnx_at_most(i < 2 ? small[i] : TAKT_LENGTH_OPEN);
        takt_onnx_lengths(c, found, bounds, count, dims);
        return c->status;
    }
    const takt_ints given = takt_onnx_known_ints(c, 2);
    for (int i = 0; i < rank && c->status == TAKT_OK; i++) {
        dims[i] = given.is_set && (size_t)i < given.count ? given.at[i] : small[i];
        if (dims[i] < small[i])
            return takt_onnx_refuse(c, "output_shape is smaller than the picture");
    }
    return c->status;
}

/* Zeros after the last elements; sizes below the existing ones fail the run. */
static takt_id extended(takt_call *c, takt_id y, const takt_dim *small, const takt_dim *dims)
{
    const int64_t before[TAKT_MAX_RANK] = {0};
    takt_dim after[TAKT_MAX_RANK] = {0};
    const int rank = takt_type_of(c->g, y)->rank;
    for (int i = 0; i < rank && c->status == TAKT_OK; i++)
        c->status = takt_dim_make(c->g->dims, TAKT_DIM_SUB, dims[i], small[i], &after[i]);
    const takt_named_attr attrs[] = {{"before", takt_attr_i64s(before, (size_t)rank)},
                                     {"after", takt_attr_shape(after, (size_t)rank)}};
    return c->status == TAKT_OK ? takt_onnx_op1(c, &takt_op_pad, y, 2, attrs) : TAKT_NONE;
}

static takt_status unpool(takt_call *c)
{
    const takt_type t = *takt_onnx_type(c, 0);
    const takt_ints kernel = takt_onnx_ints(c, "kernel_shape");
    takt_spatial s;
    takt_dim dims[TAKT_MAX_RANK] = {t.dim[0], t.dim[1]}, all = 1, inner = 1;
    if (c->status != TAKT_OK)
        return c->status;
    TAKT_TRY(takt_spatial_read(c, &t, kernel.at, kernel.count, &s));
    takt_dim small[TAKT_MAX_RANK] = {t.dim[0], t.dim[1]}; /* the size that the indices refer to */
    for (int i = 0; i < t.rank; i++) {
        const int k = i - 2;
        if (!takt_dim_is_number(t.dim[i]))
            return takt_onnx_refuse(c, "a dimension without a number");
        if (k >= 0) /* below 2^31 each: takt_spatial_read */
            small[i] =
                (t.dim[i] - 1) * s.stride[k] + s.kernel[k] - s.pad[k] - s.pad[(int)s.count + k];
        if (small[i] < 0)
            return takt_onnx_refuse(c, "%lld elements on axis %d", (long long)small[i], i);
        TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MUL, all, small[i], &all));
        TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MUL, inner, t.dim[i], &inner));
    }
    TAKT_TRY(read_shape(c, small, t.rank, dims));
    const takt_id u = takt_reshape(c->g, takt_onnx_in(c, 0), &inner, 1);
    const takt_id index = takt_reshape(c->g, takt_onnx_in(c, 1), &inner, 1);
    takt_id y = scatter(c, filled(c, t.dtype, &all, 1), index, u, false, 0);
    if (y == TAKT_NONE)
        return takt_onnx_done(c, y);
    y = takt_reshape(c->g, y, small, (size_t)t.rank);
    return takt_onnx_done(c,
                          takt_onnx_has(c, 2) && y != TAKT_NONE ? extended(c, y, small, dims) : y);
}

static takt_id line(takt_call *c, takt_dim n, int axis, int rank)
{
    takt_dim dims[TAKT_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i] = i == axis ? n : 1;
    const takt_named_attr attrs[] = {{"shape", takt_attr_shape(dims, (size_t)rank)},
                                     {"axis", takt_attr_i64(axis)}};
    return takt_graph_call(c->g, &takt_op_iota, 0, NULL, 2, attrs);
}

/* Element t of a sequence of length n comes from n - 1 - t if t < n. */
static takt_status reverse(takt_call *c)
{
    const takt_type t = *takt_onnx_type(c, 0);
    const int time = takt_onnx_axis(c, takt_onnx_i(c, "time_axis", 0), t.rank);
    const int batch = takt_onnx_axis(c, takt_onnx_i(c, "batch_axis", 1), t.rank);
    takt_dim dims[TAKT_MAX_RANK];
    if (c->status != TAKT_OK || !takt_onnx_has(c, 1))
        return takt_onnx_refuse(c, "the lengths are missing");
    if (batch == time)
        return takt_onnx_refuse(c, "batch_axis and time_axis are both %d", time);
    for (int i = 0; i < t.rank; i++)
        dims[i] = i == batch ? t.dim[i] : 1;
    const takt_id length =
        takt_reshape(c->g, takt_onnx_cast(c, takt_onnx_in(c, 1), TAKT_I64), dims, (size_t)t.rank);
    const takt_id at = line(c, t.dim[time], time, t.rank);
    const takt_id back = takt_sub(c->g, takt_add_scalar(c->g, length, -1), at);
    takt_id index = takt_select(c->g, takt_binary(c->g, &takt_op_lt, at, length), back, at);
    index = index == TAKT_NONE ? index : takt_broadcast(c->g, index, t.dim, (size_t)t.rank);
    return takt_onnx_done(c, takt_onnx_op2(c, &takt_op_gather_elements, takt_onnx_in(c, 0), index,
                                           1, &(takt_named_attr){"axis", takt_attr_i64(time)}));
}

/* Writes new rows into a cache at a position per batch, wrapping around if it is circular. */
static takt_status tensor_scatter(takt_call *c)
{
    const takt_type t = *takt_onnx_type(c, 0), u = *takt_onnx_type(c, 1);
    static const char *const modes[] = {"linear", "circular", NULL};
    const bool wraps = takt_onnx_choice(c, "mode", "linear", modes) == 1;
    const int axis = takt_onnx_axis(c, takt_onnx_i(c, "axis", -2), t.rank);
    if (c->status != TAKT_OK)
        return c->status;
    if (axis == 0)
        return takt_onnx_refuse(c, "axis 0 is the batch");
    takt_id index = line(c, u.dim[axis], axis, u.rank);
    if (takt_onnx_has(c, 2)) {
        takt_dim dims[TAKT_MAX_RANK];
        for (int i = 0; i < t.rank; i++)
            dims[i] = i == 0 ? t.dim[0] : 1;
        index = takt_add(c->g, index, takt_reshape(c->g, takt_onnx_in(c, 2), dims, (size_t)t.rank));
    }
    if (wraps)
        index = takt_binary(c->g, &takt_op_mod, index, takt_onnx_size(c, takt_onnx_in(c, 0), axis));
    index = index == TAKT_NONE ? index : takt_broadcast(c->g, index, u.dim, (size_t)u.rank);
    return takt_onnx_done(c,
                          scatter(c, takt_onnx_in(c, 0), index, takt_onnx_in(c, 1), false, axis));
}

static takt_status adapt(takt_call *c)
{
    const takt_span op = c->node->op;
    return takt_span_is(op, "Col2Im")            ? col2im(c)
           : takt_span_is(op, "MaxUnpool")       ? unpool(c)
           : takt_span_is(op, "ReverseSequence") ? reverse(c)
                                                 : tensor_scatter(c);
}

const takt_onnx_op takt_onnx_Place = {
    .names = {"Col2Im", "MaxUnpool", "ReverseSequence", "TensorScatter"}, .adapt = adapt};
