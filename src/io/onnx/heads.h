/* heads.h - attention in heads, and rotary positions: shared by several families of operators. */
#ifndef TAKT_IO_ONNX_HEADS_H
#define TAKT_IO_ONNX_HEADS_H

#include "io/onnx/adapt.h"

/* a `op` b for dimensions, which may be named. */
takt_dim takt_heads_dim(takt_call *c, takt_dim_op op, takt_dim a, takt_dim b);
/* [batch, sequence, heads * size] to [batch, sequence, heads, size]. */
takt_id takt_heads_apart(takt_call *c, takt_id x, int64_t heads);
/* [batch, a, b, size] to [batch, b, a, size]. */
takt_id takt_heads_swap(takt_call *c, takt_id x);
/* [batch, heads, sequence, size] to [batch, sequence, heads * size]. */
takt_id takt_heads_merge(takt_call *c, takt_id x);
/* 0, 1, 2… along axis 2 or 3 of four. */
takt_id takt_heads_count(takt_call *c, takt_dim n, int axis);
/* 0 in f32 where `seen`, else `value`. */
takt_id takt_heads_bar(takt_call *c, takt_id seen, double value);
/* a + b, where each may be TAKT_NONE. */
takt_id takt_heads_sum(takt_call *c, takt_id a, takt_id b);

/* Repeats the heads of x [batch, heads, sequence, size] to `heads` query heads, each serving the
 * same number; refuses names without a known number. */
takt_id takt_heads_repeat(takt_call *c, takt_id x, takt_dim heads);
/* 1 / sqrt(size); refuses a name without a known number. */
double takt_heads_scale(takt_call *c, takt_dim size);

typedef struct takt_heads {
    takt_id q, k,
        v; /* [batch, heads, sequence, size]; the head count of k and v may divide that of q */
    takt_id added; /* f32, added to the scores; or TAKT_NONE */
    double scale;  /* 0: 1 / sqrt(size) */
    double cap;    /* cap * tanh(score / cap); 0: none */
} takt_heads;

/* softmax(q k' * scale + added) v, as [batch, heads, sequence, size of v]. The softmax is computed
 * in f32 or wider. */
takt_id takt_heads_attend(takt_call *c, const takt_heads *h);

/* x [batch, sequence, heads, size] with its first `width` numbers per head rotated by the angles
 * whose cosines and sines are [batch, sequence, 1, width / 2]. `crossed`: the pairs are neighbours
 * instead of halves. */
typedef struct takt_rotation {
    takt_id cosine, sine;
    int64_t width;
    bool crossed;
} takt_rotation;
takt_id takt_heads_rotate(takt_call *c, takt_id x, const takt_rotation *t);

#endif
