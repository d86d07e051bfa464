/* float_body.h - softmax and norms over rows of one float type.
 *
 * Included after T, vec, LANES, VEC(name) and MATH(name); MATH(exp_down) is exp of x <= 0. A row
 * stays in cache between its passes.
 */
#ifndef TAKT_KERNEL_ROWS_FLOAT_BODY_H
#define TAKT_KERNEL_ROWS_FLOAT_BODY_H

#include "kernel/rows/few.h"
#include "kernel/rows/passes.h"
#include "kernel/rows/rows.h"

INLINE stretch stretch_of(const takt_rows_step *r, const T *x)
{
    return (stretch){x, r->n, r->poll};
}

/* d[i] *= scale, from the end: what was written last is still near. */
INLINE void scale_near(T *d, size_t n, vec scale)
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

INLINE void scale_down(T *d, size_t n, vec scale, const takt_poll *poll)
{
    for (; n > POLLED; n -= POLLED) {
        scale_near(d + n - POLLED, POLLED, scale);
        if (takt_poll_stops(poll))
            return;
    }
    scale_near(d, n, scale);
}

/* The rest of the previous row that the rounds did not finish: the end of every chunk. CHUNK is a
 * whole number of rounds. */
static void finish_before(const place *to, size_t n)
{
    const size_t done = n - n % (ROUNDS * WIDE);
    scale_near(to->before + done, n - done, to->scale);
}

/* Stores a row in `to->keep`, not yet divided by its sum; returns the factor for that. */
static T softmax_begin(const takt_rows_step *r, const place *to, const T *x, T most)
{
    const T sum = pass(TAKT_REDUCE_SUM, exp_minus, most, stretch_of(r, x), to);
    if (to->before != NULL)
        finish_before(to, r->n);
    return (T)1 / sum;
}

/* The largest element of the next row; if PIPED, a pass has covered its whole rounds already. */
static T largest_next(const place *to, size_t n)
{
    if (!PIPED)
        return largest_near(to->next_x, n);
    const size_t done = n - n % (ROUNDS * WIDE);
    return largest_of(to->next_x, done, n, VEC(larger)(to->top[0], to->top[1]));
}

/* Short rows: vectors of them, and the rest one after the other. */
static void softmax_apart(const takt_rows_step *r)
{
    const size_t done = LANES > 1 && r->n > 1 && r->n <= FEW ? softmax_few(r) : 0;
    if (done == r->rows)
        return;
    const T *x = (const T *)r->src + done * r->src_stride;
    T *d = (T *)r->dst + done * r->dst_stride, most = largest_near(x, r->n);
    for (size_t i = done + 1;; i++, d += r->dst_stride) {
        const place to = {.keep = d, .next_d = d};
        const T sum = pass(TAKT_REDUCE_SUM, exp_minus, most, stretch_of(r, x), &to);
        scale_near(d, r->n, VEC(set1)((T)1 / sum));
        if (i == r->rows)
            return;
        x += r->src_stride;
        most = largest_near(x, r->n);
    }
}

/* A row is finished while the next one is taken: by itself that would wait for memory. */
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
    T *d = (T *)r->dst + first * r->dst_stride, *before = NULL, scale = 0;
    T most = largest(stretch_of(r, x));
    for (size_t left = r->rows;; left--) {
        vec top[2] = {VEC(set1)(-(T)INFINITY), VEC(set1)(-(T)INFINITY)};
        const place to = {.keep = d,
                          .before = before,
                          .scale = VEC(set1)(scale),
                          .next_x = left > 1 ? x + x_step : NULL,
                          .next_d = left > 1 ? d + d_step : d,
                          .top = top};
        scale = softmax_begin(r, &to, x, most);
        if (left == 1)
            break;
        most = largest_next(&to, r->n);
        before = d;
        x = to.next_x;
        d = to.next_d;
    }
    scale_down(d, r->n, VEC(set1)(scale), r->poll);
}

static void log_softmax(const takt_rows_step *r, T *d, const T *x)
{
    const size_t n = r->n;
    const T most = largest(stretch_of(r, x));
    const vec top = VEC(set1)(most);
    const T sum = pass(TAKT_REDUCE_SUM, exp_minus, most, stretch_of(r, x), NULL);
    const vec log_sum = MATH(log)(VEC(set1)(sum));
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        if (i % POLLED == 0 && i > 0 && takt_poll_stops(r->poll))
            return;
        VEC(store)(d + i, VEC(sub)(VEC(sub)(VEC(load)(x + i), top), log_sum));
    }
    VEC(store_n)(d + i, VEC(sub)(VEC(sub)(VEC(load_n)(x + i, n - i), top), log_sum), n - i);
}

/* y = (x - mean) * scale, without the subtraction if `mean` is NULL; then gamma and beta. */
INLINE vec scaled(vec x, const T *mean, T scale)
{
    return VEC(mul)(mean != NULL ? VEC(sub)(x, VEC(set1)(*mean)) : x, VEC(set1)(scale));
}

INLINE void apply_both(T *d, const T *x, size_t n, const T *mean, T scale, const takt_rows_step *r)
{
    const T *gamma = r->gamma, *beta = r->beta;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const vec y = VEC(mul)(scaled(VEC(load)(x + i), mean, scale), VEC(load)(gamma + i));
        VEC(store)(d + i, VEC(add)(y, VEC(load)(beta + i)));
    }
    const size_t m = n - i;
    const vec y = VEC(mul)(scaled(VEC(load_n)(x + i, m), mean, scale), VEC(load_n)(gamma + i, m));
    VEC(store_n)(d + i, VEC(add)(y, VEC(load_n)(beta + i, m)), m);
}

INLINE void apply(const takt_rows_step *r, T *d, const T *x, const T *mean, T scale)
{
    const T *gamma = r->gamma, *beta = r->beta;
    if (gamma != NULL && beta != NULL && r->n <= POLLED) {
        apply_both(d, x, r->n, mean, scale, r);
        return;
    }
    for (size_t i = 0; i < r->n; i += LANES) {
        if (i % POLLED == 0 && i > 0 && takt_poll_stops(r->poll))
            return;
        const size_t m = r->n - i < LANES ? r->n - i : LANES;
        vec y = scaled(m == LANES ? VEC(load)(x + i) : VEC(load_n)(x + i, m), mean, scale);
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

/* y = (x - shift) * scale * gamma + beta, all of them the same for `n` elements. */
typedef struct line {
    T shift, scale, gamma, beta;
} line;

INLINE void apply_line(T *d, const T *x, size_t n, const line *l)
{
    const vec shift = VEC(set1)(l->shift), scale = VEC(set1)(l->scale);
    const vec gamma = VEC(set1)(l->gamma), beta = VEC(set1)(l->beta);
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        vec y[4];
        for (int k = 0; k < 4; k++)
            y[k] = VEC(mul)(VEC(sub)(VEC(load)(x + i + k * LANES), shift), scale);
        for (int k = 0; k < 4; k++)
            VEC(store)(d + i + k * LANES, VEC(add)(VEC(mul)(y[k], gamma), beta));
    }
    for (; i < n; i += LANES) {
        const size_t m = n - i < LANES ? n - i : LANES;
        const vec y = VEC(mul)(VEC(sub)(VEC(load_n)(x + i, m), shift), scale);
        VEC(store_n)(d + i, VEC(add)(VEC(mul)(y, gamma), beta), m);
    }
}

/* One element of gamma and of beta for each plane. Times 1 and plus -0 change no bit. */
static void apply_planes(const takt_rows_step *r, T *d, const T *x, line l, size_t row)
{
    const T *gamma = r->gamma, *beta = r->beta;
    size_t channel = (r->first + row) * (r->n / r->plane) % r->channels;
    for (size_t at = 0; at < r->n; at += r->plane, channel++) {
        l.gamma = gamma != NULL ? gamma[channel] : (T)1;
        l.beta = beta != NULL ? beta[channel] : -(T)0;
        for (size_t i = 0; i < r->plane; i += POLLED) {
            if (i > 0 && takt_poll_stops(r->poll))
                return;
            const size_t left = r->plane - i;
            apply_line(d + at + i, x + at + i, left < POLLED ? left : POLLED, &l);
        }
    }
}

static T inverse_root(T square_sum, size_t n, double epsilon)
{
    T root[LANES];
    VEC(store)(root, VEC(sqrt)(VEC(set1)(square_sum / (T)n + (T)epsilon)));
    return (T)1 / root[0];
}

/* Row `at`, of which mean and sum of squares are known. */
static void normalise(const takt_rows_step *r, size_t at, T mean, T square_sum)
{
    const T scale = inverse_root(square_sum, r->n, r->epsilon);
    T *d = (T *)r->dst + at * r->dst_stride;
    const T *x = (const T *)r->src + at * r->src_stride;
    if (r->plane > 0)
        apply_planes(r, d, x, (line){.shift = mean, .scale = scale}, at);
    else
        apply(r, d, x, &mean, scale);
}

static void layer_norm_one(const takt_rows_step *r, size_t at)
{
    const T *x = (const T *)r->src + at * r->src_stride;
    const T mean = row(TAKT_REDUCE_SUM, x, r->n, r->poll) / (T)r->n;
    normalise(r, at, mean, pass(TAKT_REDUCE_SUMSQ, minus, mean, stretch_of(r, x), NULL));
}

static void layer_norm_two(const takt_rows_step *r, size_t at, size_t other)
{
    const T *const x[2] = {(const T *)r->src + at * r->src_stride,
                           (const T *)r->src + other * r->src_stride};
    T mean[2] = {0}, square_sum[2];
    pass_pair(TAKT_REDUCE_SUM, itself, mean, x, r->n, square_sum);
    for (int s = 0; s < 2; s++)
        mean[s] = square_sum[s] / (T)r->n;
    pass_pair(TAKT_REDUCE_SUMSQ, minus, mean, x, r->n, square_sum);
    normalise(r, at, mean[0], square_sum[0]);
    normalise(r, other, mean[1], square_sum[1]);
}

static void layer_norm(const takt_rows_step *r)
{
    size_t i = 0;
    for (; r->n <= POLLED && i + 2 <= r->rows; i += 2)
        layer_norm_two(r, r->is_back ? r->rows - 1 - i : i, r->is_back ? r->rows - 2 - i : i + 1);
    for (; i < r->rows; i++)
        layer_norm_one(r, r->is_back ? r->rows - 1 - i : i);
}

static void rms_norm(const takt_rows_step *r, T *d, const T *x)
{
    const T square_sum = row(TAKT_REDUCE_SUMSQ, x, r->n, r->poll);
    apply(r, d, x, NULL, inverse_root(square_sum, r->n, r->epsilon));
}

static void rows_run(const takt_rows_step *r)
{
    if (r->rows == 0 || r->n == 0)
        return;
    if (r->op == TAKT_ROWS_SOFTMAX) {
        softmax_rows(r);
        return;
    }
    if (r->op == TAKT_ROWS_LAYER_NORM) {
        layer_norm(r);
        return;
    }
    for (size_t i = 0; i < r->rows; i++) {
        const size_t row = r->is_back ? r->rows - 1 - i : i;
        T *d = (T *)r->dst + row * r->dst_stride;
        const T *x = (const T *)r->src + row * r->src_stride;
        if (r->op == TAKT_ROWS_LOG_SOFTMAX)
            log_softmax(r, d, x);
        else
            rms_norm(r, d, x);
    }
}

#endif
