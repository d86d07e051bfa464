/* pool.c - MAX_POOL_2D and AVERAGE_POOL_2D, channels last. */
#include <float.h>

#include "io/tflite/write/window.h"
#include "op/util/pool.h"

static takt_tflw_window window_of(const takt_node *n, const takt_type *x, bool *is_dilated)
{
    const takt_window p = takt_pool_window(n->attr, x->rank);
    takt_tflw_window v = {.axes = x->rank - 2};
    for (int i = 0; i < v.axes; i++) {
        v.in[i] = x->dim[1 + i];
        v.out[i] = n->type->dim[1 + i];
        v.kernel[i] = p.kernel[i];
        v.stride[i] = p.stride[i];
        v.dilation[i] = 1;
        v.before[i] = p.before[i];
        v.after[i] = p.after[i];
        *is_dilated = *is_dilated || p.dilation[i] != 1;
    }
    return v;
}

static void options(takt_tflw_op *op, const takt_tflw_window *v, int padding, int activation)
{
    takt_tflw_option(op, 5, 0, 1, padding);
    takt_tflw_option(op, 5, 1, 4, v->stride[1]);
    takt_tflw_option(op, 5, 2, 4, v->stride[0]);
    takt_tflw_option(op, 5, 3, 4, v->kernel[1]);
    takt_tflw_option(op, 5, 4, 4, v->kernel[0]);
    takt_tflw_option(op, 5, 5, 1, activation);
}

/* 0 or 1 of the schema; padding that counts in an average is zeros, and no padding to LiteRT. */
static int padding_of(takt_tflw *w, const takt_node *n, const takt_tflw_window *v, int32_t *x)
{
    const takt_dtype dtype = takt_tflw_at(w, *x)->type.dtype;
    const bool is_max = n->op == &takt_op_max_pool;
    const double least = dtype == TAKT_I8 ? -128 : dtype == TAKT_U8 ? 0 : -FLT_MAX;
    const int padding = takt_tflw_window_pad(w, v, x, is_max ? &least : NULL);
    if (is_max || !n->attr[TAKT_POOL_COUNT_PAD].boolean || padding == 1)
        return padding;
    takt_tflw_window_spread(w, v, x);
    return 1;
}

/* One pool of a volume that is seen as images [n, h, w, c]; its result is [n, h', w', c]. */
static int32_t pool_of(takt_tflw *w, const takt_node *n, const takt_tflw_window *v, int32_t x)
{
    const takt_tflw_tensor from = *takt_tflw_at(w, x);
    const takt_type type = {.dtype = from.type.dtype,
                            .rank = 4,
                            .dim = {from.type.dim[0], v->out[0], v->out[1], from.type.dim[3]}};
    const int padding = padding_of(w, n, v, &x);
    const int32_t y = takt_tflw_tensor_new(w, NULL, &type, &from.grid);
    options(takt_tflw_1(w, n->op == &takt_op_max_pool ? "MAX_POOL_2D" : "AVERAGE_POOL_2D", x, y), v,
            padding, 0);
    return y;
}

/* Axes `a` and `b` of a window as one of two axes. */
static takt_tflw_window two_of(const takt_tflw_window *v, int a, int b)
{
    takt_tflw_window two = {.axes = 2};
    const int at[] = {a, b};
    for (int i = 0; i < 2; i++) {
        two.in[i] = v->in[at[i]];
        two.out[i] = v->out[at[i]];
        two.kernel[i] = v->kernel[at[i]];
        two.stride[i] = v->stride[at[i]];
        two.dilation[i] = 1;
        two.before[i] = v->before[at[i]];
        two.after[i] = v->after[at[i]];
    }
    return two;
}

/* Over rows and columns of each plane first, then over planes: maxima, sums and counts are combined
 * from both. */
static bool volume(takt_tflw *w, const takt_node *n, const takt_tflw_window *v)
{
    const takt_type *x = takt_type_of(w->g, n->in[0]);
    const int64_t batch = x->dim[0], channels = x->dim[4];
    const takt_tflw_window flat = two_of(v, 1, 2);
    takt_tflw_window deep = two_of(v, 0, 0);
    deep.in[1] = deep.out[1] = v->out[1] * v->out[2];
    deep.kernel[1] = deep.stride[1] = 1;
    deep.before[1] = deep.after[1] = 0;
    int32_t y = takt_tflw_in(w, n, 0);
    y = takt_tflw_reshaped(w, y, (const int64_t[]){batch * v->in[0], v->in[1], v->in[2], channels},
                           4, -1);
    y = pool_of(w, n, &flat, y);
    y = takt_tflw_reshaped(w, y, (const int64_t[]){batch, v->in[0], deep.in[1], channels}, 4, -1);
    y = pool_of(w, n, &deep, y);
    const takt_tflw_grid grid = takt_tflw_at(w, y)->grid;
    (void)takt_tflw_reshaped(w, y, n->type->dim, 5, takt_tflw_result(w, w->id, &grid));
    return true;
}

/* Pools on the grid of the input, as LiteRT requires, then requantises to that of the result. */
static bool emit(takt_tflw *w, const takt_node *n)
{
    const takt_type *x = takt_type_of(w->g, n->in[0]);
    const bool is_max = n->op == &takt_op_max_pool, is_line = x->rank == 3,
               is_float = x->dtype == TAKT_F32;
    bool is_dilated = false;
    if (n->attr[TAKT_POOL_LAYOUT].i64 != TAKT_NHWC || x->rank < 3 || x->rank > 5)
        return false;
    takt_tflw_window v = window_of(n, x, &is_dilated);
    if (is_dilated ||
        (!is_max && !n->attr[TAKT_POOL_COUNT_PAD].boolean && takt_tflw_window_is_odd(&v)))
        return false;
    if (x->rank == 5)
        return volume(w, n, &v);
    takt_tflw_tail t;
    int32_t in;
    const bool is_integer = takt_tflw_integer_layer(w, n, true, &in, &t);
    if (!is_integer) {
        t = takt_tflw_tail_of(w, w->id, (takt_tflw_wish){false, is_float, false});
        in = takt_tflw_in(w, n, 0);
    }
    takt_tflw_take(w, w->id, &t);
    if (is_line)
        takt_tflw_widen(w, &v, &in);
    const int padding = padding_of(w, n, &v, &in);
    const takt_tflw_grid grid = takt_tflw_at(w, in)->grid;
    takt_type type = {.dtype = takt_tflw_at(w, in)->type.dtype,
                      .rank = 4,
                      .dim = {x->dim[0], v.out[0], v.out[1], x->dim[x->rank - 1]}};
    takt_tflw_grid to = grid;
    if (is_integer)
        (void)takt_tflw_grid_of(w, &w->g->nodes[t.quantize], &to);
    const bool is_moved = is_integer && !takt_tflw_same_grid(&grid, &to);
    const bool is_last = !is_line && !is_moved;
    int32_t y =
        is_last ? takt_tflw_result(w, t.end, &grid) : takt_tflw_tensor_new(w, NULL, &type, &grid);
    options(takt_tflw_1(w, is_max ? "MAX_POOL_2D" : "AVERAGE_POOL_2D", in, y), &v, padding,
            t.activation);
    if (is_last)
        return true;
    const int32_t end = takt_tflw_result(w, t.end, &to);
    if (end < 0)
        return true;
    if (is_line)
        y = takt_tflw_reshaped(w, y, n->type->dim, 3, is_moved ? -1 : end);
    if (is_moved)
        (void)takt_tflw_1(w, "QUANTIZE", y, end);
    return true;
}

const takt_tflw_emitter takt_tflw_op_pool = {{&takt_op_max_pool, &takt_op_avg_pool}, emit};
