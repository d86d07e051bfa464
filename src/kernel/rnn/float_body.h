/* float_body.h - recurrent cells of one float type.
 *
 * Included after T, vec, LANES, VEC(name), MATH(name) and round_to(x, rounding), which for other
 * roundings than TAKT_RNN_OWN is asked where ROUNDS is defined. A row is worked
 * off in tiles that stay in the nearest cache; only what is read from and written to the operands
 * has tails, arithmetic goes over whole vectors.
 */
#ifndef TAKT_KERNEL_RNN_FLOAT_BODY_H
#define TAKT_KERNEL_RNN_FLOAT_BODY_H

#include <string.h>

#include "kernel/rnn/rnn.h"

#define INLINE static inline __attribute__((always_inline))

enum { TILE = 64, FOUR = 4 * LANES <= TILE ? 4 * LANES : TILE };

/* Where one tile of one row is: `first` of its `n` units, `wide` with padding; `is_whole` says that
 * these are as many, to the compiler where it is known. */
typedef struct spot {
    const takt_rnn_turn *t;
    size_t row, first, n, wide;
    bool is_whole;
} spot;

/* Vector `i` of what the operands have at `p`; lanes beyond the last unit are zero. */
INLINE vec at(const spot *s, const T *p, size_t i)
{
    return s->is_whole || i + LANES <= s->n ? VEC(load)(p + i) : VEC(load_n)(p + i, s->n - i);
}

INLINE void put(const spot *s, T *p, size_t i, vec v)
{
    if (s->is_whole || i + LANES <= s->n)
        VEC(store)(p + i, v);
    else
        VEC(store_n)(p + i, v, s->n - i);
}

/* Four vectors a round: one alone would wait for itself. */
#define ACT(name, function)                                                                        \
    static void name(T *x, size_t wide)                                                            \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + FOUR <= wide; i += FOUR) {                                                      \
            vec y[FOUR / LANES];                                                                   \
            for (int k = 0; k < FOUR / LANES; k++)                                                 \
                y[k] = function(VEC(load)(x + i + k * LANES));                                     \
            for (int k = 0; k < FOUR / LANES; k++)                                                 \
                VEC(store)(x + i + k * LANES, y[k]);                                               \
        }                                                                                          \
        for (; i < wide; i += LANES)                                                               \
            VEC(store)(x + i, function(VEC(load)(x + i)));                                         \
    }
ACT(act_sigmoid, MATH(sigmoid))
ACT(act_tanh, MATH(tanh))
ACT(act_relu, VEC(relu))

/* Where kept value `which` goes; NULL: it is not kept. */
INLINE T *kept(const spot *s, int which)
{
    T *to = s->t->keep[which];
    return to != NULL ? to + s->row * s->t->keep_stride[which] + s->first : NULL;
}

INLINE void activate(const spot *s, T *x, int which, const takt_rnn_rounding rounding)
{
    T *keep = kept(s, which);
    switch (s->t->form->act[which]) {
    case TAKT_RNN_SIGMOID: act_sigmoid(x, s->wide); break;
    case TAKT_RNN_TANH: act_tanh(x, s->wide); break;
    default: act_relu(x, s->wide); break;
    }
    for (size_t i = 0; rounding != TAKT_RNN_OWN && i < s->wide; i += LANES)
        VEC(store)(x + i, round_to(VEC(load)(x + i), rounding));
    if (keep != NULL)
        memcpy(keep, x, s->n * sizeof *x);
}

INLINE vec clip(const spot *s, vec x)
{
    const takt_rnn_form *f = s->t->form;
    return f->clips ? VEC(max)(VEC(min)(x, VEC(set1)((T)f->hi)), VEC(set1)((T)f->lo)) : x;
}

INLINE vec clip_cell(const spot *s, vec c)
{
    const takt_rnn_form *f = s->t->form;
    return f->clips_cell ? VEC(max)(VEC(min)(c, VEC(set1)((T)f->cell_hi)), VEC(set1)((T)f->cell_lo))
                         : c;
}

/* The operations, each rounded. */
#define ADD(a, b) round_to(VEC(add)(a, b), rounding)
#define MUL(a, b) round_to(VEC(mul)(a, b), rounding)
#define ONE_MINUS(x) round_to(VEC(sub)(VEC(set1)(1), x), rounding)

/* Where the row of an operand begins, and where its state is and goes. */
#define GATE(p, gate) ((const T *)s->t->p[gate] + s->row * s->t->p##_stride + s->first)
#define VECTOR(p, which)                                                                           \
    (s->t->p[which] != NULL ? (const T *)s->t->p[which] + s->first : (const T *)NULL)
#define AT(p) ((const T *)s->t->p + s->row * s->t->stride + s->first)
#define TO(p) ((T *)s->t->p + s->row * s->t->stride + s->first)

/* r[gate] + bias[gate]. */
INLINE vec recurrent(const spot *s, const T *r, const T *bias, size_t i,
                     const takt_rnn_rounding rounding)
{
    const vec v = round_to(at(s, r, i), rounding);
    return bias != NULL ? ADD(v, at(s, bias, i)) : v;
}

/* The gate's s[], with peephole `eye` (or none: -1) on the cell `c`; clipped, then activated. */
INLINE void gate_of(const spot *s, T *to, int gate, int eye, const T *c,
                    const takt_rnn_rounding rounding)
{
    const T *x = GATE(x, gate), *r = GATE(r, gate), *bias = VECTOR(bias, gate);
    const T *p = eye >= 0 ? VECTOR(peephole, eye) : NULL;
    for (size_t i = 0; i < s->wide; i += LANES) {
        vec v = ADD(at(s, x, i), recurrent(s, r, bias, i, rounding));
        if (p != NULL)
            v = ADD(v, MUL(at(s, p, i), VEC(load)(c + i)));
        VEC(store)(to + i, clip(s, v));
    }
    activate(s, to, gate, rounding);
}

INLINE void put_h(const spot *s, size_t i, vec h)
{
    put(s, TO(h_next), i, h);
    if (s->t->y != NULL)
        put(s, (T *)s->t->y + s->row * s->t->y_stride + s->first, i, h);
}

INLINE void plain(const spot *s, const takt_rnn_rounding rounding)
{
    T h[TILE];
    gate_of(s, h, 0, -1, NULL, rounding);
    for (size_t i = 0; i < s->wide; i += LANES)
        put_h(s, i, VEC(load)(h + i));
}

INLINE void lstm(const spot *s, const takt_rnn_rounding rounding)
{
    const bool couples = s->t->form->couples;
    T c[TILE], in[TILE], forget[TILE], fresh[TILE], out[TILE];
    for (size_t i = 0; i < s->wide; i += LANES)
        VEC(store)(c + i, at(s, AT(c), i));
    gate_of(s, in, 0, 0, c, rounding);
    if (!couples)
        gate_of(s, forget, 1, 1, c, rounding);
    gate_of(s, fresh, 2, -1, NULL, rounding);
    for (size_t i = 0; i < s->wide; i += LANES) {
        const vec j = VEC(load)(in + i);
        const vec f = couples ? ONE_MINUS(j) : VEC(load)(forget + i);
        const vec next = clip_cell(s, ADD(MUL(f, VEC(load)(c + i)), MUL(j, VEC(load)(fresh + i))));
        put(s, TO(c_next), i, next);
        VEC(store)(c + i, next);
        VEC(store)(fresh + i, clip(s, next));
    }
    activate(s, fresh, 4, rounding);
    gate_of(s, out, 3, 2, c, rounding);
    for (size_t i = 0; i < s->wide; i += LANES)
        put_h(s, i, MUL(VEC(load)(out + i), VEC(load)(fresh + i)));
}

/* h' = (1 - z) * m + z * h. */
INLINE void mix(const spot *s, const T *z, const T *m, const takt_rnn_rounding rounding)
{
    for (size_t i = 0; i < s->wide; i += LANES) {
        const vec v = VEC(load)(z + i);
        put_h(s, i, ADD(MUL(ONE_MINUS(v), VEC(load)(m + i)), MUL(v, at(s, AT(h), i))));
    }
}

INLINE void gru(const spot *s, const takt_rnn_rounding rounding)
{
    const T *x = GATE(x, 2), *r = GATE(r, 2), *bias = VECTOR(bias, 2);
    T z[TILE], q[TILE], m[TILE], b[TILE], *keep = kept(s, TAKT_RNN_BACK);
    gate_of(s, z, 0, -1, NULL, rounding);
    gate_of(s, q, 1, -1, NULL, rounding);
    for (size_t i = 0; i < s->wide; i += LANES) {
        const vec back = recurrent(s, r, bias, i, rounding);
        if (keep != NULL)
            VEC(store)(b + i, back);
        VEC(store)(m + i, clip(s, ADD(at(s, x, i), MUL(VEC(load)(q + i), back))));
    }
    if (keep != NULL)
        memcpy(keep, b, s->n * sizeof *b);
    activate(s, m, 2, rounding);
    mix(s, z, m, rounding);
}

INLINE void gru_reset(const spot *s, const takt_rnn_rounding rounding)
{
    T z[TILE], q[TILE];
    gate_of(s, z, 0, -1, NULL, rounding);
    gate_of(s, q, 1, -1, NULL, rounding);
    for (size_t i = 0; i < s->wide; i += LANES) {
        put(s, TO(c_next), i, VEC(load)(z + i));
        put(s, TO(h_next), i, MUL(VEC(load)(q + i), at(s, AT(h), i)));
    }
}

INLINE void gru_update(const spot *s, const takt_rnn_rounding rounding)
{
    T z[TILE], m[TILE];
    for (size_t i = 0; i < s->wide; i += LANES)
        VEC(store)(z + i, at(s, AT(c), i));
    gate_of(s, m, 2, -1, NULL, rounding);
    mix(s, z, m, rounding);
}

/* A sequence that has ended: its state stays, its result is zero. */
static void stay(const spot *s)
{
    for (size_t i = 0; i < s->wide; i += LANES) {
        put(s, TO(h_next), i, at(s, AT(h), i));
        if (s->t->form->kind == TAKT_RNN_LSTM)
            put(s, TO(c_next), i, at(s, AT(c), i));
        if (s->t->y != NULL)
            put(s, (T *)s->t->y + s->row * s->t->y_stride + s->first, i, VEC(zero)());
    }
}

INLINE void cell(const spot *s, const takt_rnn_rounding rounding)
{
    switch (s->t->form->kind) {
    case TAKT_RNN_PLAIN: plain(s, rounding); break;
    case TAKT_RNN_LSTM: lstm(s, rounding); break;
    case TAKT_RNN_GRU: gru(s, rounding); break;
    case TAKT_RNN_GRU_RESET: gru_reset(s, rounding); break;
    default: gru_update(s, rounding); break;
    }
}

static void cell_whole(const spot *s)
{
    const spot whole = {s->t, s->row, s->first, s->wide, s->wide, true};
    cell(&whole, TAKT_RNN_OWN);
}

static void cell_own(const spot *s)
{
    cell(s, TAKT_RNN_OWN);
}

#ifdef ROUNDS
static void cell_f16(const spot *s)
{
    cell(s, TAKT_RNN_F16);
}

static void cell_bf16(const spot *s)
{
    cell(s, TAKT_RNN_BF16);
}
#endif

static void cell_rounded(const spot *s)
{
#ifdef ROUNDS
    if (s->t->form->rounding == TAKT_RNN_F16)
        cell_f16(s);
    else if (s->t->form->rounding == TAKT_RNN_BF16)
        cell_bf16(s);
    else
#endif
        if (s->n == s->wide)
        cell_whole(s);
    else
        cell_own(s);
}

/* The same where something is kept: computed like any other row, then put back. */
static void stay_computed(const spot *s)
{
    const bool has_cell = s->t->form->kind == TAKT_RNN_LSTM;
    T h[TILE], c[TILE];
    for (size_t i = 0; i < s->wide; i += LANES) {
        VEC(store)(h + i, at(s, AT(h), i));
        if (has_cell)
            VEC(store)(c + i, at(s, AT(c), i));
    }
    cell_rounded(s);
    for (size_t i = 0; i < s->wide; i += LANES) {
        put(s, TO(h_next), i, VEC(load)(h + i));
        if (has_cell)
            put(s, TO(c_next), i, VEC(load)(c + i));
        if (s->t->y != NULL)
            put(s, (T *)s->t->y + s->row * s->t->y_stride + s->first, i, VEC(zero)());
    }
}

static bool keeps(const takt_rnn_turn *t)
{
    bool any = false;
    for (int k = 0; k < TAKT_RNN_KEEPS; k++)
        any |= t->keep[k] != NULL;
    return any;
}

static void rnn_run(const takt_rnn_turn *t)
{
    const bool computes = keeps(t);
    const bool asks = t->live != NULL && t->form->kind != TAKT_RNN_GRU_RESET;
    for (size_t row = 0; row < t->rows; row++)
        for (size_t first = 0; first < t->n; first += TILE) {
            const size_t left = t->n - first, n = left < TILE ? left : TILE;
            const spot s = {t, row, first, n, (n + LANES - 1) / LANES * LANES, false};
            if (!asks || t->live[row * t->live_stride] != 0)
                cell_rounded(&s);
            else if (computes)
                stay_computed(&s);
            else
                stay(&s);
        }
}

#endif
