/* rnn_dx_f32_body.h - every variant of rnn_dx_f32 is this, compiled for its ISA. */
#include "kernel/rnn_dx_f32/rnn_dx_f32.h"
#include "kernel/simd/simd.h"

#define INLINE static inline __attribute__((always_inline))

/* A vector of a row, or `n` floats of it; pointers are those of the row. */
typedef struct spot {
    const takt_rnn_dx_f32 *x;
    size_t at, n;
} spot;

INLINE vf get(const spot *s, const float *p)
{
    return s->n == VF ? vf_load(p + s->at) : vf_load_n(p + s->at, s->n);
}

INLINE void put(const spot *s, float *p, vf v)
{
    if (s->n == VF)
        vf_store(p + s->at, v);
    else
        vf_store_n(p + s->at, v, s->n);
}

INLINE vf kept(const spot *s, int k)
{
    return get(s, s->x->kept[k]);
}

INLINE void give(const spot *s, int which, int gate, vf v)
{
    if (s->x->to[which][gate] != NULL)
        put(s, s->x->to[which][gate], v);
}

INLINE void give_both(const spot *s, int gate, vf v)
{
    give(s, 0, gate, v);
    give(s, 1, gate, v);
}

/* 1 - x, x * (1 - x) and 1 - x * x. */
INLINE vf rest(vf x)
{
    return vf_sub(vf_set1(1), x);
}

INLINE vf bell(vf x)
{
    return vf_mul(x, rest(x));
}

INLINE vf square_rest(vf x)
{
    return rest(vf_mul(x, x));
}

INLINE vf arriving(const spot *s)
{
    const takt_rnn_dx_f32 *x = s->x;
    vf d = get(s, x->dh);
    if (x->more != NULL)
        d = vf_add(d, get(s, x->more));
    return x->dy != NULL ? vf_add(d, get(s, x->dy)) : d;
}

INLINE void gru(const spot *s)
{
    const takt_rnn_dx_f32 *x = s->x;
    const vf d = arriving(s), h = get(s, x->start);
    const vf z = kept(s, 0), q = kept(s, 1), m = kept(s, 2), b = kept(s, 3);
    const vf dm = vf_mul(vf_mul(d, rest(z)), square_rest(m));
    put(s, x->dh_next, vf_mul(d, z));
    give_both(s, 0, vf_mul(vf_sub(vf_mul(d, h), vf_mul(d, m)), bell(z)));
    give_both(s, 1, vf_mul(vf_mul(dm, b), bell(q)));
    give(s, 0, 2, dm);
    give(s, 1, 2, vf_mul(dm, q));
}

INLINE void lstm(const spot *s)
{
    const takt_rnn_dx_f32 *x = s->x;
    const vf d = arriving(s), c = get(s, x->start);
    const vf i = kept(s, 0), f = kept(s, 1), g = kept(s, 2), o = kept(s, 3), t = kept(s, 4);
    const vf e = vf_add(get(s, x->dc), vf_mul(vf_mul(d, o), square_rest(t)));
    put(s, x->dc_next, vf_mul(e, f));
    give_both(s, 0, vf_mul(vf_mul(e, g), bell(i)));
    give_both(s, 1, vf_mul(vf_mul(e, c), bell(f)));
    give_both(s, 2, vf_mul(vf_mul(e, i), square_rest(g)));
    give_both(s, 3, vf_mul(vf_mul(d, t), bell(o)));
}

INLINE const float *moved(const float *p, size_t stride)
{
    return p != NULL ? p + stride : NULL;
}

/* The pointers of the next row. */
INLINE void advance(takt_rnn_dx_f32 *x)
{
    x->dh += x->stride;
    x->more = moved(x->more, x->stride);
    x->dc = moved(x->dc, x->stride);
    x->dy = moved(x->dy, x->dy_stride);
    x->start += x->start_stride;
    for (int k = 0; k < TAKT_RNN_DX_KEPT; k++)
        x->kept[k] = moved(x->kept[k], x->kept_stride[k]);
    for (int i = 0; i < 2 * TAKT_RNN_DX_GATES; i++)
        if (x->to[i % 2][i / 2] != NULL)
            x->to[i % 2][i / 2] += x->to_stride[i % 2];
    x->dh_next = x->dh_next != NULL ? x->dh_next + x->stride : NULL;
    x->dc_next = x->dc_next != NULL ? x->dc_next + x->stride : NULL;
}

INLINE void rows(takt_rnn_dx_f32 x, void (*cell)(const spot *))
{
    for (size_t row = 0; row < x.rows; row++, advance(&x)) {
        size_t at = 0;
        for (; at + VF <= x.n; at += VF)
            cell(&(spot){&x, at, VF});
        if (at < x.n)
            cell(&(spot){&x, at, x.n - at});
    }
}

static void run(const takt_rnn_dx_f32 *x)
{
    if (x->kind == TAKT_RNN_DX_GRU)
        rows(*x, gru);
    else
        rows(*x, lstm);
}

TAKT_KERNELS(rnn_dx_f32, TAKT_KERNEL(rnn_dx_f32, SIMD_NAME, SIMD_RANK, run, NULL));
