/* passes.h - passes over a row of one float type: sums of functions of its elements, the largest.
 *
 * Included after T, vec, LANES, VEC(name) and MATH(name); MATH(exp_down) is exp of x <= 0.
 */
#ifndef TAKT_KERNEL_ROWS_PASSES_H
#define TAKT_KERNEL_ROWS_PASSES_H

#include "kernel/reduce/lanes.h"

/* The vectors that a pass works out side by side: whole rounds of lanes, at least four. */
enum { ROUNDS = REGS < 4 ? 4 / REGS : 1, SIDE = ROUNDS * REGS };
enum { POLLED = 32 * CHUNK }; /* elements of a long row between two polls */

/* A row. */
typedef struct stretch {
    const T *x;
    size_t n;
    const takt_poll *poll; /* or NULL */
} stretch;

/* The function that a pass applies to an element before it joins its lane. */
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

/* Where a pass stores f(x), and what it does for two other rows while memory would be idle. The
 * previous row is finished: its elements are multiplied by `scale`. The next row is prefetched;
 * on x86-64, where a prefetch does not hide the whole latency, its largest elements are found
 * instead. */
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
 * a round are computed side by side, before any is stored: one after the other, latency would be
 * the limit. */
INLINE T pass_chunk(takt_reduce_op op, element_fn *f, vec p, const T *x, size_t n, const place *to)
{
    const bool keeps = to != NULL;
    T lane[WIDE];
    vec sum[REGS], acc[REGS], y[SIDE];
    for (int k = 0; k < REGS; k++)
        sum[k] = VEC(zero)();
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
            sum[k % REGS] = join(op, sum[k % REGS], y[k]);
    }
    /* A copy: the index below varies, which would keep the sums of the loop above in memory. */
    for (int k = 0; k < REGS; k++)
        acc[k] = sum[k];
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

INLINE T pass(takt_reduce_op op, element_fn *f, T p, stretch l, const place *to)
{
    const T *x = l.x;
    const size_t n = l.n;
    T total = 0;
    for (size_t i = 0; i < n; i += CHUNK) {
        if (i % POLLED == 0 && i > 0 && takt_poll_stops(l.poll))
            return total;
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

/* ---- two rows ---- */

INLINE vec itself(vec x, vec p)
{
    (void)p;
    return x;
}

/* The sums of one chunk of two rows at once: one row alone waits for its sixteen lanes. */
INLINE void pair_chunk(takt_reduce_op op, element_fn *f, const vec p[2], const T *const x[2],
                       size_t n, T out[2])
{
    vec acc[2][REGS];
    for (int s = 0; s < 2; s++)
        for (int k = 0; k < REGS; k++)
            acc[s][k] = VEC(zero)();
    size_t i = 0;
    for (; i + WIDE <= n; i += WIDE)
        for (int k = 0; k < REGS; k++)
            for (int s = 0; s < 2; s++)
                acc[s][k] = join(op, acc[s][k], f(VEC(load)(x[s] + i + k * LANES), p[s]));
    for (int s = 0; s < 2; s++) {
        T tail[WIDE] = {0}; /* lanes without an element join a zero */
        for (size_t k = i; k < n; k += LANES) {
            const size_t m = n - k < LANES ? n - k : LANES;
            VEC(store_n)(tail + (k - i), f(VEC(load_n)(x[s] + k, m), p[s]), m);
        }
        for (int k = 0; k < REGS; k++)
            acc[s][k] = join(op, acc[s][k], VEC(load)(tail + k * LANES));
        T lane[WIDE];
        for (int k = 0; k < REGS; k++)
            VEC(store)(lane + k * LANES, acc[s][k]);
        out[s] = fold(op, lane);
    }
}

/* What `pass` returns for each of two rows of n <= POLLED elements. */
INLINE void pass_pair(takt_reduce_op op, element_fn *f, const T p[2], const T *const x[2], size_t n,
                      T total[2])
{
    const vec all[2] = {VEC(set1)(p[0]), VEC(set1)(p[1])};
    total[0] = total[1] = 0;
    for (size_t i = 0; i < n; i += CHUNK) {
        const T *const from[2] = {x[0] + i, x[1] + i};
        T part[2];
        pair_chunk(op, f, all, from, n - i < CHUNK ? n - i : CHUNK, part);
        for (int s = 0; s < 2; s++)
            total[s] = i == 0 ? part[s] : merge_one(op, total[s], part[s]);
    }
}

/* ---- the largest ---- */

/* The largest of x[i..n) and of the lanes of `top`, any of several zeros; any number if there is a
 * NaN, which turns the sum of exponentials into NaN anyway. */
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

static T largest_near(const T *x, size_t n)
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

static T largest(stretch l)
{
    T most = largest_near(l.x, l.n < POLLED ? l.n : POLLED);
    for (size_t i = POLLED; i < l.n && !takt_poll_stops(l.poll); i += POLLED) {
        const T next = largest_near(l.x + i, l.n - i < POLLED ? l.n - i : POLLED);
        most = next > most ? next : most;
    }
    return most;
}

#endif
