/* conv.c - convolutions, channels last: CONV_2D, DEPTHWISE_CONV_2D, CONV_3D, TRANSPOSE_CONV and
 * CONV_3D_TRANSPOSE. */
#include "op/util/conv.h"
#include "io/tflite/write/window.h"

enum { TRANSPOSE_CONV = 49, CONV_3D = 106 }; /* options of the schema */

static int64_t entry(const takt_attr *list, int i, int64_t fallback)
{
    return (uint32_t)i < list->count ? list->i64s[i] : fallback;
}

static takt_tflw_window window_of(const takt_node *n, const takt_type *x, const takt_type *k)
{
    takt_tflw_window v = {.axes = x->rank - 2};
    for (int i = 0; i < v.axes; i++) {
        v.in[i] = x->dim[1 + i];
        v.out[i] = n->type->dim[1 + i];
        v.kernel[i] = k->dim[1 + i];
        v.stride[i] = entry(&n->attr[TAKT_CONV_STRIDE], i, 1);
        v.dilation[i] = entry(&n->attr[TAKT_CONV_DILATION], i, 1);
        v.before[i] = entry(&n->attr[TAKT_CONV_PAD], i, 0);
        v.after[i] = entry(&n->attr[TAKT_CONV_PAD], v.axes + i, 0);
    }
    return v;
}

/* Weights of one spatial axis get a second one of size 1 before it. */
static void flat_weight(takt_tflw *w, int32_t weight, bool is_depthwise)
{
    if (weight < 0)
        return;
    takt_tflw_tensor *t = &w->tensors[weight];
    takt_type type = {.dtype = t->type.dtype, .rank = 4};
    type.dim[0] = t->type.dim[0];
    type.dim[1] = 1;
    type.dim[2] = t->type.dim[1];
    type.dim[3] = t->type.dim[2];
    t->type = type;
    t->grid.axis = t->grid.count > 1 && is_depthwise ? 3 : t->grid.axis;
}

/* Three spatial axes: weights [planes, rows, columns, in, out], floats only, and no groups. */
static bool volume(takt_tflw *w, const takt_node *n)
{
    static const int64_t perm[] = {1, 2, 3, 4, 0};
    const takt_type *x = takt_type_of(w->g, n->in[0]), *k = takt_type_of(w->g, n->in[1]);
    takt_tflw_window v = window_of(n, x, k);
    takt_tflw_product p;
    if (n->attr[TAKT_CONV_GROUPS].i64 != 1) {
        takt_tflw_fail(w, "TensorFlow Lite has no groups over three axes");
        return true;
    }
    if (!takt_tflw_product_of(w, n, perm, &p) || w->status != TAKT_OK)
        return true;
    if (p.bias < 0)
        p.bias = takt_tflw_no_bias(w, &p);
    const int padding = takt_tflw_window_pad(w, &v, &p.x, NULL);
    takt_tflw_op *op =
        takt_tflw_call(w, "CONV_3D", 3, (const int32_t[]){p.x, p.weight, p.bias}, p.y);
    const int64_t strides[] = {v.stride[0], v.stride[2], v.stride[1]},
                  dilations[] = {v.dilation[0], v.dilation[2], v.dilation[1]};
    takt_tflw_option(op, CONV_3D, 0, 1, padding);
    for (int i = 0; i < 3; i++)
        takt_tflw_option(op, CONV_3D, 1 + i, 4, strides[i]);
    takt_tflw_option(op, CONV_3D, 4, 1, p.activation);
    for (int i = 0; i < 3; i++)
        takt_tflw_option(op, CONV_3D, 5 + i, 4, dilations[i]);
    return true;
}

static bool conv(takt_tflw *w, const takt_node *n)
{
    static const int64_t deep[] = {3, 1, 2, 0}, deep_line[] = {2, 1, 0};
    const takt_type *x = takt_type_of(w->g, n->in[0]), *k = takt_type_of(w->g, n->in[1]);
    const int64_t groups = n->attr[TAKT_CONV_GROUPS].i64, channels = x->dim[x->rank - 1];
    const bool is_line = x->rank == 3, is_depthwise = groups > 1 && groups == channels;
    takt_tflw_constant c;
    takt_tflw_product p;
    if (n->attr[TAKT_CONV_LAYOUT].i64 != TAKT_NHWC || x->rank < 3 || x->rank > 5 ||
        x->dtype != TAKT_F32)
        return false;
    takt_tflw_window v = window_of(n, x, k);
    if (!takt_tflw_constant_of(w, n->in[1], &c)) {
        takt_tflw_fail(w, "its weights are computed when the model runs");
        return true;
    }
    if (x->rank == 5)
        return volume(w, n);
    const int64_t *perm = !is_depthwise ? NULL : is_line ? deep_line : deep;
    if (!takt_tflw_product_of(w, n, perm, &p) || w->status != TAKT_OK)
        return true;
    const int32_t before = w->tensors[p.weight].data != NULL ? p.weight : p.weight - 1;
    if (is_line) { /* dequantised weights have a tensor of their own after the integers */
        flat_weight(w, before, is_depthwise);
        if (before != p.weight)
            flat_weight(w, p.weight, is_depthwise);
        takt_tflw_widen(w, &v, &p.x);
    }
    if (p.bias < 0)
        p.bias = takt_tflw_no_bias(w, &p);
    const int padding = takt_tflw_window_pad(w, &v, &p.x, NULL);
    const int32_t y = is_line ? takt_tflw_widened(w, p.y) : p.y;
    takt_tflw_op *op = takt_tflw_call(w, is_depthwise ? "DEPTHWISE_CONV_2D" : "CONV_2D", 3,
                                      (const int32_t[]){p.x, p.weight, p.bias}, y);
    const int kind = is_depthwise ? 2 : 1, more = is_depthwise ? 1 : 0;
    takt_tflw_option(op, kind, 0, 1, padding);
    takt_tflw_option(op, kind, 1, 4, v.stride[1]);
    takt_tflw_option(op, kind, 2, 4, v.stride[0]);
    if (is_depthwise)
        takt_tflw_option(op, kind, 3, 4, takt_tflw_at(w, p.y)->type.dim[x->rank - 1] / channels);
    takt_tflw_option(op, kind, 3 + more, 1, p.activation);
    takt_tflw_option(op, kind, 4 + more, 4, v.dilation[1]);
    takt_tflw_option(op, kind, 5 + more, 4, v.dilation[0]);
    if (is_line)
        (void)takt_tflw_reshaped(w, y, takt_tflw_at(w, p.y)->type.dim, 3, p.y);
    return true;
}

/* Everything that the taps reach; padding is cut off afterwards. */
static bool transposed(takt_tflw *w, const takt_node *n)
{
    static const int64_t flat[] = {3, 1, 2, 0}, deep[] = {1, 2, 3, 4, 0};
    const takt_type *x = takt_type_of(w->g, n->in[0]), *k = takt_type_of(w->g, n->in[1]);
    const int axes = x->rank - 2;
    takt_tflw_constant c;
    if (n->attr[TAKT_CONV_LAYOUT].i64 != TAKT_NHWC || axes < 2 || axes > 3 ||
        x->dtype != TAKT_F32 || n->attr[TAKT_CONV_GROUPS].i64 != 1 ||
        !takt_tflw_constant_of(w, n->in[1], &c))
        return false;
    takt_type whole = *n->type;
    int64_t begin[5] = {0}, end[5], one[5] = {1, 1, 1, 1, 1}, stride[3];
    for (int i = 0; i < axes; i++) {
        if (entry(&n->attr[TAKT_CONV_DILATION], i, 1) != 1)
            return false;
        stride[i] = entry(&n->attr[TAKT_CONV_STRIDE], i, 1);
        begin[1 + i] = entry(&n->attr[TAKT_CONV_PAD], i, 0);
        const int64_t reach = (x->dim[1 + i] - 1) * stride[i] + k->dim[1 + i];
        const int64_t need = begin[1 + i] + n->type->dim[1 + i];
        whole.dim[1 + i] = reach > need ? reach : need;
    }
    const size_t rank = (size_t)x->rank;
    for (size_t d = 0; d < rank; d++)
        end[d] = begin[d] + n->type->dim[d];
    takt_tflw_permute(w, &c, axes == 2 ? flat : deep);
    const int32_t weight = takt_tflw_floats(w, &c), shape = takt_tflw_ints(w, whole.dim, rank);
    const bool is_whole = takt_type_same(w->g->dims, &whole, n->type);
    const int32_t in = takt_tflw_in(w, n, 0);
    const int32_t y =
        is_whole ? takt_tflw_result(w, w->id, NULL) : takt_tflw_tensor_new(w, NULL, &whole, NULL);
    takt_tflw_op *op = takt_tflw_call(w, axes == 2 ? "TRANSPOSE_CONV" : "CONV_3D_TRANSPOSE", 3,
                                      (const int32_t[]){shape, weight, in}, y);
    const int kind = axes == 2 ? TRANSPOSE_CONV : CONV_3D;
    takt_tflw_option(op, kind, 0, 1, 1);
    for (int i = 0; axes == 3 && i < 3; i++) /* planes, columns, rows */
        takt_tflw_option(op, kind, 1 + i, 4, stride[i == 0 ? 0 : 3 - i]);
    for (int i = 0; axes == 3 && i < 3; i++)
        takt_tflw_option(op, kind, 5 + i, 4, 1);
    for (int i = 0; axes == 2 && i < 2; i++)
        takt_tflw_option(op, kind, 1 + i, 4, stride[1 - i]);
    if (is_whole)
        return true;
    const int32_t cut[] = {y, takt_tflw_ints(w, begin, rank), takt_tflw_ints(w, end, rank),
                           takt_tflw_ints(w, one, rank)};
    (void)takt_tflw_call(w, "STRIDED_SLICE", 4, cut, takt_tflw_result(w, w->id, NULL));
    return true;
}

static bool emit(takt_tflw *w, const takt_node *n)
{
    return n->op == &takt_op_conv ? conv(w, n) : transposed(w, n);
}

const takt_tflw_emitter takt_tflw_op_conv = {{&takt_op_conv, &takt_op_conv_dx}, emit};
