/* deform.c - deformable convolution: geometry and lowering. */
#include "op/util/deform.h"

#include "op/util/check.h"
#include "op/util/formula.h"
#include "op/util/make.h"

takt_deform takt_deform_of(const takt_attr *attr, const int64_t *x, const int64_t *w,
                           const int64_t *y)
{
    takt_deform d = {.groups = attr[TAKT_DEFORM_GROUPS].i64,
                     .offset_groups = attr[TAKT_DEFORM_OFFSET_GROUPS].i64,
                     .channels = x[1],
                     .kernel = {w[2], w[3]},
                     .taps = w[2] * w[3],
                     .out = {y[2], y[3]}};
    for (int i = 0; i < 2; i++) {
        d.stride[i] = attr[TAKT_DEFORM_STRIDE].count != 0 ? attr[TAKT_DEFORM_STRIDE].i64s[i] : 1;
        d.dilation[i] =
            attr[TAKT_DEFORM_DILATION].count != 0 ? attr[TAKT_DEFORM_DILATION].i64s[i] : 1;
    }
    for (int i = 0; i < 4; i++)
        d.pad[i] = attr[TAKT_DEFORM_PAD].count != 0 ? attr[TAKT_DEFORM_PAD].i64s[i] : 0;
    return d;
}

/* ---- inference ---- */

static takt_status check_attrs(takt_infer *in)
{
    TAKT_TRY(takt_check_list(in, TAKT_DEFORM_STRIDE, 2, "spatial axes"));
    TAKT_TRY(takt_check_list(in, TAKT_DEFORM_DILATION, 2, "spatial axes"));
    TAKT_TRY(takt_check_list(in, TAKT_DEFORM_PAD, 4, "sides"));
    TAKT_TRY(takt_check_range(in, TAKT_DEFORM_STRIDE, 1, TAKT_CHECK_BIG));
    TAKT_TRY(takt_check_range(in, TAKT_DEFORM_DILATION, 1, TAKT_CHECK_BIG));
    TAKT_TRY(takt_check_range(in, TAKT_DEFORM_PAD, 0, TAKT_CHECK_BIG));
    TAKT_TRY(takt_check_range(in, TAKT_DEFORM_GROUPS, 1, TAKT_CHECK_BIG));
    return takt_check_range(in, TAKT_DEFORM_OFFSET_GROUPS, 1, TAKT_CHECK_BIG);
}

/* Channels and kernel sizes must be numbers: they are cut into groups and iterated over. */
static takt_status check_numbers(takt_infer *in)
{
    const takt_type *x = in->type[0], *w = in->type[1];
    const int64_t groups = in->attr[TAKT_DEFORM_GROUPS].i64;
    const int64_t sets = in->attr[TAKT_DEFORM_OFFSET_GROUPS].i64;
    const bool numbers = takt_dim_is_number(x->dim[1]) && takt_dim_is_number(w->dim[0]) &&
                         takt_dim_is_number(w->dim[1]) && takt_dim_is_number(w->dim[2]) &&
                         takt_dim_is_number(w->dim[3]);
    if (!numbers)
        return takt_infer_fail(in, TAKT_E_SHAPE, "channels and the kernel must be numbers");
    if (x->dim[1] != groups * w->dim[1] || w->dim[0] % groups != 0 || x->dim[1] % sets != 0)
        return takt_infer_fail(in, TAKT_E_SHAPE,
                               "channels do not fit %lld groups, %lld groups of offsets",
                               (long long)groups, (long long)sets);
    if (w->dim[2] < 1 || w->dim[3] < 1 || w->dim[2] > 4096 || w->dim[3] > 4096)
        return takt_infer_fail(in, TAKT_E_SHAPE, "the kernel must have 1 to 4096 rows and columns");
    return TAKT_OK;
}

static takt_status output_size(takt_infer *in, const takt_deform *d, int axis, takt_dim *out)
{
    const int64_t span = (d->kernel[axis] - 1) * d->dilation[axis] + 1;
    takt_dim free;
    TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_ADD, in->type[0]->dim[2 + axis],
                           d->pad[axis] + d->pad[2 + axis], &free));
    if (takt_dim_is_number(free) && free < span)
        return takt_infer_fail(in, TAKT_E_SHAPE, "the kernel is larger than x");
    TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_SUB, free, span, &free));
    TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_FLOORDIV, free, d->stride[axis], &free));
    return takt_dim_make(in->dims, TAKT_DIM_ADD, free, 1, out);
}

takt_status takt_deform_infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    takt_type *y = &in->out[0];
    TAKT_TRY(takt_infer_rank(in, 0, 4, 4));
    TAKT_TRY(takt_infer_rank(in, 1, 4, 4));
    TAKT_TRY(check_attrs(in));
    TAKT_TRY(check_numbers(in));
    *y = (takt_type){.dtype = x->dtype, .rank = 4, .dim = {x->dim[0], in->type[1]->dim[0]}};
    const takt_deform d = takt_deform_of(in->attr, x->dim, in->type[1]->dim, y->dim);
    for (int i = 0; i < 2; i++)
        TAKT_TRY(output_size(in, &d, i, &y->dim[2 + i]));
    takt_type want = *y;
    want.dim[1] = 2 * d.taps * d.offset_groups;
    TAKT_TRY(takt_check_shape(in, 2, &want, "two numbers for each tap of each place"));
    want.dim[1] = d.taps * d.offset_groups;
    return takt_infer_has(in, 3)
               ? takt_check_shape(in, 3, &want, "one number for each tap of each place")
               : TAKT_OK;
}

/* ---- lowering ---- */

typedef struct work {
    takt_graph *g;
    takt_deform d;
    takt_id x;           /* [batch * sets, channels / sets, height * width] */
    takt_id like;        /* offsets, in the type used for positions */
    takt_id size[2];     /* of x, as numbers of that type */
    takt_dim rows, flat; /* batch * sets, taps * places */
    takt_id index_width; /* i64 */
} work;

static takt_id size_of(takt_graph *g, takt_id x, int64_t axis)
{
    return takt_make_axis(g, &takt_op_dim, 1, &x, axis);
}

/* Tap positions along `axis` without offsets: [taps, height, width] of the result. */
static takt_id usual(work *w, int axis)
{
    takt_graph *g = w->g;
    const takt_dim shape[4] = {w->d.kernel[0], w->d.kernel[1], w->d.out[0], w->d.out[1]};
    takt_id k = takt_make_iota(g, shape, 4, axis), at = takt_make_iota(g, shape, 4, 2 + axis);
    k = takt_mul(g, k, takt_scalar_i64(g, w->d.dilation[axis]));
    at = takt_mul(g, at, takt_scalar_i64(g, w->d.stride[axis]));
    at = takt_add(g, takt_add(g, at, k), takt_scalar_i64(g, -w->d.pad[axis]));
    at = takt_reshape(g, at, (takt_dim[]){w->flat}, 1);
    return takt_cast(g, at, takt_type_of(g, w->like)->dtype);
}

/* Positions along `axis`: [rows, taps * places]. */
static takt_id placed(work *w, takt_id offset, int axis)
{
    takt_graph *g = w->g;
    const takt_dim places = takt_make_dim(g, TAKT_DIM_MUL, w->d.out[0], w->d.out[1]);
    takt_id y = takt_reshape(g, offset, (takt_dim[]){w->rows, w->d.taps, 2, places}, 4);
    y = takt_slice(g, y, 2, axis, axis + 1, 1);
    y = takt_reshape(g, y, (takt_dim[]){w->rows, w->flat}, 2);
    return takt_add(g, y, usual(w, axis));
}

/* One of the two surrounding elements: its weight (0 outside) and an index that is always
 * inside. */
typedef struct corner {
    takt_id weight, at;
} corner;

static corner corner_of(work *w, takt_id place, int axis, bool is_second)
{
    takt_graph *g = w->g;
    const takt_id base = takt_unary(g, &takt_op_floor, place), part = takt_sub(g, place, base);
    const takt_id one = takt_scalar_like(g, w->like, 1), zero = takt_scalar_like(g, w->like, 0);
    const takt_id at = is_second ? takt_add(g, base, one) : base;
    const takt_id last = takt_sub(g, w->size[axis], one);
    takt_id inside = takt_binary(g, &takt_op_max, takt_binary(g, &takt_op_min, at, last), zero);
    const takt_id is_inside = takt_binary(g, &takt_op_eq, inside, at);
    const takt_id weight = is_second ? part : takt_sub(g, one, part);
    return (corner){.weight = takt_select(g, is_inside, weight, zero),
                    .at = takt_cast(g, inside, TAKT_I64)};
}

/* The sum over four corners: [rows, channels / sets, taps * places]. One step for all of them: as
 * four gathers they were most of the time. */
static takt_id interpolate(work *w, takt_id offset)
{
    takt_graph *g = w->g;
    const takt_id y = placed(w, offset, 0), x = placed(w, offset, 1);
    const takt_dim thin[3] = {w->rows, 1, w->flat};
    takt_id at[4], weight[4];
    for (int k = 0; k < 4; k++) {
        const corner row = corner_of(w, y, 0, k / 2 != 0), column = corner_of(w, x, 1, k % 2 != 0);
        const takt_id index = takt_add(g, takt_mul(g, row.at, w->index_width), column.at);
        const takt_id product = takt_mul(g, row.weight, column.weight);
        at[k] = takt_reshape(g, index, thin, 3);
        weight[k] = takt_cast(g, takt_reshape(g, product, thin, 3), takt_type_of(g, w->x)->dtype);
        if (g->status != TAKT_OK)
            return TAKT_NONE;
    }
    const takt_id in[] = {w->x, takt_concat(g, at, 4, 1), takt_concat(g, weight, 4, 1)};
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(2)}, {"batch_dims", takt_attr_i64(1)}};
    return takt_graph_call(g, &takt_op_gather_sum, 3, in, 2, attrs);
}

static void begin(work *w, const takt_node *n)
{
    takt_graph *g = w->g;
    const takt_type x = *takt_type_of(g, n->in[0]);
    w->d = takt_deform_of(n->attr, x.dim, takt_type_of(g, n->in[1])->dim, n->type[0].dim);
    w->like = takt_widen(g, n->in[2]); /* positions need more digits than f16 has */
    w->rows = takt_make_dim(g, TAKT_DIM_MUL, x.dim[0], w->d.offset_groups);
    w->flat = takt_make_product(g, (takt_dim[]){w->d.taps, w->d.out[0], w->d.out[1]}, 3);
    const takt_dim plane = takt_make_dim(g, TAKT_DIM_MUL, x.dim[2], x.dim[3]);
    w->x = takt_reshape(g, n->in[0],
                        (takt_dim[]){w->rows, w->d.channels / w->d.offset_groups, plane}, 3);
    for (int i = 0; i < 2; i++)
        w->size[i] = takt_cast(g, size_of(g, n->in[0], 2 + i), takt_type_of(g, w->like)->dtype);
    w->index_width = size_of(g, n->in[0], 3);
}

void takt_deform_lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    work w = {.g = g};
    begin(&w, n);
    const takt_deform *d = &w.d;
    const takt_dim batch = n->type[0].dim[0];
    const takt_dim places = takt_make_dim(g, TAKT_DIM_MUL, d->out[0], d->out[1]);
    const int64_t inner = d->channels / d->groups * d->taps;
    const int64_t outer = n->type[0].dim[1] / d->groups;
    takt_id columns = interpolate(&w, w.like);
    if (n->in_count > 3 && n->in[3] != TAKT_NONE)
        columns =
            takt_mul(g, columns, takt_reshape(g, n->in[3], (takt_dim[]){w.rows, 1, w.flat}, 3));
    columns = takt_reshape(g, columns, (takt_dim[]){batch, d->groups, inner, places}, 4);
    const takt_id weights = takt_reshape(g, n->in[1], (takt_dim[]){d->groups, outer, inner}, 3);
    out[0] = takt_reshape(g, takt_matmul(g, weights, columns, false, false), n->type[0].dim, 4);
}
