/* heads.c - attention in heads, and rotary positions. */
#include "io/onnx/heads.h"

#include <math.h>

takt_dim takt_heads_dim(takt_call *c, takt_dim_op op, takt_dim a, takt_dim b)
{
    takt_dim made = 1;
    const takt_status status = takt_dim_make(c->g->dims, op, a, b, &made);
    if (status != TAKT_OK && c->status == TAKT_OK)
        c->status = status;
    return made;
}

takt_id takt_heads_apart(takt_call *c, takt_id x, int64_t heads)
{
    if (x == TAKT_NONE)
        return x;
    const takt_type t = *takt_type_of(c->g, x);
    if (t.rank != 3 || heads < 1 || (takt_dim_is_number(t.dim[2]) && t.dim[2] % heads != 0)) {
        (void)takt_onnx_refuse(c, "rank %d and %lld heads do not fit", t.rank, (long long)heads);
        return TAKT_NONE;
    }
    const takt_dim size = takt_heads_dim(c, TAKT_DIM_FLOORDIV, t.dim[2], heads);
    return takt_reshape(c->g, x, (takt_dim[]){t.dim[0], t.dim[1], heads, size}, 4);
}

takt_id takt_heads_swap(takt_call *c, takt_id x)
{
    return x == TAKT_NONE ? x : takt_transpose(c->g, x, (int64_t[]){0, 2, 1, 3}, 4);
}

takt_id takt_heads_merge(takt_call *c, takt_id x)
{
    x = takt_heads_swap(c, x);
    if (x == TAKT_NONE)
        return x;
    const takt_type t = *takt_type_of(c->g, x);
    const takt_dim width = takt_heads_dim(c, TAKT_DIM_MUL, t.dim[2], t.dim[3]);
    return takt_reshape(c->g, x, (takt_dim[]){t.dim[0], t.dim[1], width}, 3);
}

takt_id takt_heads_count(takt_call *c, takt_dim n, int axis)
{
    takt_dim dims[4] = {1, 1, 1, 1};
    dims[axis] = n;
    const takt_named_attr attrs[] = {{"shape", takt_attr_shape(dims, 4)},
                                     {"axis", takt_attr_i64(axis)}};
    return takt_graph_call(c->g, &takt_op_iota, 0, NULL, 2, attrs);
}

takt_id takt_heads_bar(takt_call *c, takt_id seen, double value)
{
    if (seen == TAKT_NONE)
        return seen;
    return takt_select(c->g, seen, takt_onnx_scalar(c, TAKT_F32, 0),
                       takt_onnx_scalar(c, TAKT_F32, value));
}

takt_id takt_heads_sum(takt_call *c, takt_id a, takt_id b)
{
    if (a == TAKT_NONE || b == TAKT_NONE)
        return a == TAKT_NONE ? b : a;
    return takt_add(c->g, a, b);
}

takt_id takt_heads_repeat(takt_call *c, takt_id x, takt_dim heads)
{
    if (x == TAKT_NONE)
        return x;
    const takt_type t = *takt_type_of(c->g, x);
    takt_dim own = 0;
    takt_graph_fail_if(c->g, takt_dim_resolve(c->g->dims, t.dim[1], &own));
    takt_graph_fail_if(c->g, takt_dim_resolve(c->g->dims, heads, &heads));
    if (c->g->status != TAKT_OK)
        return TAKT_NONE;
    if (heads == own || own == 0 || (own == 1 && heads < 0)) /* one head serves any number */
        return x;
    if (!takt_dim_is_number(own) || !takt_dim_is_number(heads)) {
        (void)takt_onnx_refuse(c, "heads without a number");
        return TAKT_NONE;
    }
    x = takt_reshape(c->g, x, (takt_dim[]){t.dim[0], own, 1, t.dim[2], t.dim[3]}, 5);
    x = takt_broadcast(c->g, x, (takt_dim[]){t.dim[0], own, heads / own, t.dim[2], t.dim[3]}, 5);
    return takt_reshape(c->g, x, (takt_dim[]){t.dim[0], heads, t.dim[2], t.dim[3]}, 4);
}

double takt_heads_scale(takt_call *c, takt_dim size)
{
    takt_graph_fail_if(c->g, takt_dim_resolve(c->g->dims, size, &size));
    if (!takt_dim_is_number(size))
        (void)takt_onnx_refuse(c, "heads whose size is without a number");
    return size > 0 ? 1 / sqrt((double)size) : 1;
}

/* Here the number of key heads is given, so a named dimension equals it. */
static takt_id served(takt_call *c, takt_id x, takt_dim heads)
{
    return takt_dim_is_number(takt_type_of(c->g, x)->dim[1]) ? takt_heads_repeat(c, x, heads) : x;
}

takt_id takt_heads_attend(takt_call *c, const takt_heads *h)
{
    takt_graph *g = c->g;
    if (h->q == TAKT_NONE || h->k == TAKT_NONE || h->v == TAKT_NONE)
        return TAKT_NONE;
    const takt_type q = *takt_type_of(g, h->q);
    const takt_dtype wide = takt_dtype_bits(q.dtype) < 32 ? TAKT_F32 : q.dtype;
    const double scale = h->scale != 0 ? h->scale : takt_heads_scale(c, q.dim[3]);
    const takt_id k = served(c, h->k, q.dim[1]);
    const takt_id v = served(c, h->v, q.dim[1]);
    if (c->status != TAKT_OK || k == TAKT_NONE || v == TAKT_NONE)
        return TAKT_NONE;
    takt_id s = takt_matmul(g, h->q, k, false, true);
    s = takt_onnx_cast(c, s, wide);
    if (s == TAKT_NONE)
        return s;
    s = takt_mul_scalar(g, s, h->cap != 0 ? scale / h->cap : scale);
    if (h->cap != 0 && s != TAKT_NONE)
        s = takt_mul_scalar(g, takt_unary(g, &takt_op_tanh, s), h->cap);
    if (h->added != TAKT_NONE && s != TAKT_NONE)
        s = takt_add(g, s, takt_onnx_cast(c, h->added, wide));
    s = takt_onnx_op1(c, &takt_op_softmax, s, 1, &(takt_named_attr){"axis", takt_attr_i64(-1)});
    s = takt_onnx_cast(c, s, q.dtype);
    return s == TAKT_NONE ? s : takt_matmul(g, s, v, false, false);
}

typedef struct pair {
    takt_id real, imaginary;
} pair;

static takt_id part(takt_call *c, takt_id x, int64_t start, int64_t stop, int64_t step)
{
    return takt_slice(c->g, x, 3, start, stop, step);
}

static pair rotated(takt_call *c, takt_id a, takt_id b, const takt_rotation *t)
{
    takt_graph *g = c->g;
    return (pair){takt_sub(g, takt_mul(g, t->cosine, a), takt_mul(g, t->sine, b)),
                  takt_add(g, takt_mul(g, t->sine, a), takt_mul(g, t->cosine, b))};
}

takt_id takt_heads_rotate(takt_call *c, takt_id x, const takt_rotation *t)
{
    const int64_t width = t->width, half = width / 2;
    if (x == TAKT_NONE || t->cosine == TAKT_NONE || t->sine == TAKT_NONE)
        return TAKT_NONE;
    const int64_t size = takt_type_of(c->g, x)->dim[3];
    const pair p = t->crossed ? rotated(c, part(c, x, 0, width, 2), part(c, x, 1, width, 2), t)
                              : rotated(c, part(c, x, 0, half, 1), part(c, x, half, width, 1), t);
    takt_id y;
    if (p.real == TAKT_NONE || p.imaginary == TAKT_NONE)
        return TAKT_NONE;
    if (t->crossed) {
        takt_type whole = *takt_type_of(c->g, p.real);
        whole.dim[3] = width;
        y = takt_concat(
            c->g,
            (takt_id[]){takt_onnx_unsqueeze(c, p.real, 4), takt_onnx_unsqueeze(c, p.imaginary, 4)},
            2, 4);
        y = takt_reshape(c->g, y, whole.dim, 4);
    } else {
        y = takt_concat(c->g, (takt_id[]){p.real, p.imaginary}, 2, 3);
    }
    if (width < size)
        y = takt_concat(c->g, (takt_id[]){y, part(c, x, width, size, 1)}, 2, 3);
    return y;
}
