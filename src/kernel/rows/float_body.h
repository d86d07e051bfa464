/* float_body.h - softmax and norms over rows of one float type.
 *
 * Included after T, vec, LANES, VEC(name) and MATH(name); MATH(exp_down) is exp of x <= 0. A row
 * stays in cache between its passes.
 */
#ifndef TAKT_KERNEL_ROWS_FLOAT_BODY_H
#define TAKT_KERNEL_ROWS_FLOAT_BODY_H

#include "kernel/reduce/lanes.h"
#include "kernel/rows/rows.h"

/* The vectors that a pass works out side by side: whole rounds of lanes, at least four. */
enum { ROUNDS = REGS < 4 ? 4 / REGS : 1, SIDE = ROUNDS * REGS };

/* What a pass makes of an element before it joins its lane. */
typedef vec element_fn(vec x, vec parameter);

INLINE vec minus(vec x, vec m)
{
    return VEC(sub)(x, m);
}
INLINE vec exp_minus(vec x, vec m)
{
    return MATH(exp_down)(VEC(sub)(x, m));
}

#if TAKT_SIMD_SET == 3 || TAKT_SIMD_SET == 4
enum { PIPED = 1 };
#else
enum { PIPED = 0 };
#endif

/* Where a pass leaves f(x), and what else it does for two other rows: memory would be idle. That
 * before is finished: its elements are multiplied by `scale`. That which comes next is asked for;
 * on x86-64, where asking leaves the reading to be waited for, its largest elements are found. */
typedef struct place {
    T *keep;
    T *before; /* NULL: none */
    vec scale;
    const T *next_x; /* NULL: none */
    T *next_d;
    vec *top; /* two, of the largest elements, if PIPED */
} place;

INLINE void begin_next(const place *to, size_t i)
{
    enum { AHEAD = 1024 / sizeof(T) };
    for (size_t k = 0; k < ROUNDS * WIDE; k += 64 / sizeof(T)) {
        __builtin_prefetch(to->next_x + i + k + (PIPED ? AHEAD : 0), 0, PIPED ? 3 : 2);
        if (!PIPED)
            __builtin_prefetch(to->next_d + i + k, 1, 2);
    }
    for (size_t k = 0; PIPED && k < SIDE; k++)
        to->top[k % 2] = VEC(larger)(to->top[k % 2], VEC(load)(to->next_x + i + k * LANES));
}

INLINE void end_before(const place *to, size_t i)
{
    T *d = to->before + i;
    for (size_t k = 0; k < SIDE; k++, d += LANES)
        VEC(store)(d, VEC(mul)(VEC(load)(d), to->scale));
}

/* lane = join(f(x)) over one chunk; if there is a place for f(x), it is left there. The vectors of
 * a round are worked out side by side, before any is stored: one after the other, each would wait
 * for itself.
 */
INLINE T pass_chunk(takt_reduce_op op, element_fn *f, vec p, const T *x, size_t n, const place *to)
{
    const bool keeps = to != NULL;
    T lane[WIDE];
    vec acc[REGS], y[SIDE];
    for (int k = 0; k < REGS; k++)
        acc[k] = VEC(zero)();
    size_t i = 0;
    for (; i + ROUNDS * WIDE <= n; i += ROUNDS * WIDE) {
        if (keeps && to->next_x != NULL)
            begin_next(to, i);
        if (keeps && to->before != NULL)
            end_before(to, i);
        for (int k = 0; k < SIDE; k++)
            y[k] = f(VEC(load)(x + i + k * LANES), p);
        for (int k = 0; keeps && k < SIDE; k++)
            VEC(store)(to->keep + i + k * LANES, y[k]);
        for (int k = 0; k < SIDE; k++)
            acc[k % REGS] = join(op, acc[k % REGS], y[k]);
    }
    /* Lanes without an element join a zero: f of one would not be zero. */
    for (int k = 0; i < n; k = (k + 1) % REGS, i += LANES) {
        const size_t m = n - i < LANES ? n - i : LANES;
        const vec z = f(VEC(load_n)(x + i, m), p);
        T tail[LANES] = {0};
        VEC(store_n)(tail, z, m);
        if (keeps)
            VEC(store_n)(to->keep + i, z, m);
        acc[k] = join(op, acc[k], VEC(load)(tail));
    }
    for (int k = 0; k < REGS; k++)
        VEC(store)(lane + k * LANES, acc[k]);
    return fold(op, lane);
}

INLINE T pass(takt_reduce_op op, element_fn *f, T p, const T *x, size_t n, const place *to)
{
    T total = 0;
    for (size_t i = 0; i < n; i += CHUNK) {
        const size_t m = n - i < CHUNK ? n - i : CHUNK;
        T part;
        if (to != NULL) {
            const place here = {to->keep + i,   to->before != NULL ? to->before + i : NULL,
                                to->scale,      to->next_x != NULL ? to->next_x + i : NULL,
                                to->next_d + i, to->top};
            part = pass_chunk(op, f, VEC(set1)(p), x + i, m, &here);
        } else {
            part = pass_chunk(op, f, VEC(set1)(p), x + i, m, NULL);
        }
        total = i == 0 ? part : merge_one(op, total, part);
    }
    return total;
}

/* The largest of x[i..n) and of the lanes of `top`, of several zeros any; any number if there is a
 * NaN, which makes a NaN of the sum of exponentials anyhow. */
static T largest_of(const T *x, size_t i, size_t n, vec top)
{
    T lane[LANES], most = -(T)INFINITY;
    for (; i + LANES <= n; i += LANES)
        top = VEC(larger)(top, VEC(load)(x + i));
#ifdef SIMD_UPPER
    for (int half = LANES / 2; half > 0; half /= 2)
        top = VEC(larger)(top, VEC(upper)(top, half));
    VEC(store)(lane, top);
    most = lane[0] > most ? lane[0] : most;
#else
    VEC(store)(lane, top);
    for (int k = 0; k < LANES; k++)
        most = lane[k] > most ? lane[k] : most;
#endif
    for (; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

static T largest(const T *x, size_t n)
{
    T most = -(T)INFINITY;
    size_t i = 0;
    for (; n < LANES && i < n; i++)
        most = x[i] > most ? x[i] : most;
    if (n < LANES)
        return most;
    vec top[4];
    for (int k = 0; k < 4; k++)
        top[k] = VEC(set1)(most);
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        for (int k = 0; k < 4; k++)
            top[k] = VEC(larger)(top[k], VEC(load)(x + i + k * LANES));
    const vec low = VEC(larger)(top[0], top[1]), high = VEC(larger)(top[2], top[3]);
    return largest_of(x, i, n, VEC(larger)(low, high));
}

/* d[i] *= scale, from the end: what was written last is still near. */
INLINE void scale_down(T *d, size_t n, vec scale)
{
    enum { EACH = ROUNDS * WIDE }; /* at least four vectors */
    size_t i = n - n % LANES;
    VEC(store_n)(d + i, VEC(mul)(VEC(load_n)(d + i, n - i), scale), n - i);
    for (; i % EACH != 0; i -= LANES)
        VEC(store)(d + i - LANES, VEC(mul)(VEC(load)(d + i - LANES), scale));
    for (T *to = d + i; to != d; to -= EACH)
        for (size_t k = 0; k < EACH; k += LANES)
            VEC(store)(to - EACH + k, VEC(mul)(VEC(load)(to - EACH + k), scale));
}

/* What passes in rounds left of the row before: the end of every chunk. CHUNK is whole rounds. */
static void finish_before(const place *to, size_t n)
{
    const size_t done = n - n % (ROUNDS * WIDE);
    scale_down(to->before + done, n - done, to->scale);
}

/* A row to `to->keep`, not yet divided by its sum; returns what it is to be multiplied by. */
static T softmax_begin(const place *to, const T *x, T most, size_t n)
{
    const T sum = pass(TAKT_REDUCE_SUM, exp_minus, most, x, n, to);
    if (to->before != NULL)
        finish_before(to, n);
    return (T)1 / sum;
}

/* The largest element of the next row, whose whole rounds a pass has looked at if PIPED. */
static T largest_next(const place *to, size_t n)
{
    if (!PIPED)
        return largest(to->next_x, n);
    const size_t done = n - n % (ROUNDS * WIDE);
    return largest_of(to->next_x, done, n, VEC(larger)(to->top[0], to->top[1]));
}

/* Short rows, one after the other. */
static void softmax_apart(const takt_rows_step *r)
{
    const T *x = r->src;
    T *d = r->dst, most = largest(x, r->n);
    for (size_t i = 1;; i++, d += r->dst_stride) {
        const place to = {.keep = d, .next_d = d};
        const T sum = pass(TAKT_REDUCE_SUM, exp_minus, most, x, r->n, &to);
        scale_down(d, r->n, VEC(set1)((T)1 / sum));
        if (i == r->rows)
            return;
        x += r->src_stride;
        most = largest(x, r->n);
    }
}

/* A row is finished while the next one is taken: alone that would wait for memory. */
static void softmax_rows(const takt_rows_step *r)
{
    if (r->n < ROUNDS * WIDE) {
        softmax_apart(r);
        return;
    }
    const size_t first = r->is_back ? r->rows - 1 : 0;
    const ptrdiff_t way = r->is_back ? -1 : 1;
    const ptrdiff_t x_step = way * (ptrdiff_t)r->src_stride;
    const ptrdiff_t d_step = way * (ptrdiff_t)r->dst_stride;
    const T *x = (const T *)r->src + first * r->src_stride;
    T *d = (T *)r->dst + first * r->dst_stride, *before = NULL, most = largest(x, r->n), scale = 0;
    for (size_t left = r->rows;; left--) {
        vec top[2] = {VEC(set1)(-(T)INFINITY), VEC(set1)(-(T)INFINITY)};
        const place to = {.keep = d,
                          .before = before,
                          .scale = VEC(set1)(scale),
                          .next_x = left > 1 ? x + x_step : NULL,
                          .next_d = left > 1 ? d + d_step : d,
                          .top = top};
        scale = softmax_begin(&to, x, most, r->n);
        if (left == 1)
            break;
        most = largest_next(&to, r->n);
        before = d;
        x = to.next_x;
        d = to.next_d;
    }
    scale_down(d, r->n, VEC(set1)(scale));
}

static void log_softmax(T *d, const T *x, size_t n)
{
    const T most = largest(x, n);
    const vec top = VEC(set1)(most);
    const vec log_sum = MATH(log)(VEC(set1)(pass(TAKT_REDUCE_SUM, exp_minus, most, x, n, NULL)));
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        VEC(store)(d + i, VEC(sub)(VEC(sub)(VEC(load)(x + i), top), log_sum));
    VEC(store_n)(d + i, VEC(sub)(VEC(sub)(VEC(load_n)(x + i, n - i), top), log_sum), n - i);
}

/* y = (x - mean) * scale, without the subtraction if `mean` is NULL; then gamma and beta. */
INLINE void apply(const takt_rows_step *r, T *d, const T *x, const T *mean, T scale)
{
    const T *gamma = r->gamma, *beta = r->beta;
    const vec s = VEC(set1)(scale), shift = VEC(set1)(mean != NULL ? *mean : (T)0);
    for (size_t i = 0; i < r->n; i += LANES) {
        const size_t m = r->n - i < LANES ? r->n - i : LANES;
        vec y = m == LANES ? VEC(load)(x + i) : VEC(load_n)(x + i, m);
        if (mean != NULL)
            y = VEC(sub)(y, shift);
        y = VEC(mul)(y, s);
        if (gamma != NULL)
            y = VEC(mul)(y, m == LANES ? VEC(load)(gamma + i) : VEC(load_n)(gamma + i, m));
        if (beta != NULL)
            y = VEC(add)(y, m == LANES ? VEC(load)(beta + i) : VEC(load_n)(beta + i, m));
        if (m == LANES)
            VEC(store)(d + i, y);
        else
            VEC(store_n)(d + i, y, m);
    }
}

static T inverse_root(T square_sum, size_t n, double epsilon)
{
    T root[LANES];
    VEC(store)(root, VEC(sqrt)(VEC(set1)(square_sum / (T)n + (T)epsilon)));
    return (T)1 / root[0];
}

static void layer_norm(const takt_rows_step *r, T *d, const T *x)
{
    const T mean = row(TAKT_REDUCE_SUM, x, r->n) / (T)r->n;
    const T square_sum = pass(TAKT_REDUCE_SUMSQ, minus, mean, x, r->n, NULL);
    apply(r, d, x, &mean, inverse_root(square_sum, r->n, r->epsilon));
}

static void rms_norm(const takt_rows_step *r, T *d, const T *x)
{
    const T square_sum = row(TAKT_REDUCE_SUMSQ, x, r->n);
    apply(r, d, x, NULL, inverse_root(square_sum, r->n, r->epsilon));
}

static void rows_run(const takt_rows_step *r)
{
    if (r->op == TAKT_ROWS_SOFTMAX && r->rows > 0 && r->n > 0) {
        softmax_rows(r);
        return;
    }
    for (size_t i = 0; i < r->rows && r->n > 0; i++) {
        const size_t row = r->is_back ? r->rows - 1 - i : i;
        T *d = (T *)r->dst + row * r->dst_stride;
        const T *x = (const T *)r->src + row * r->src_stride;
        switch (r->op) {
        case TAKT_ROWS_LOG_SOFTMAX: log_softmax(d, x, r->n); break;
        case TAKT_ROWS_LAYER_NORM: layer_norm(r, d, x); break;
        default: rms_norm(r, d, x); break;
        }
    }
}

#endif
