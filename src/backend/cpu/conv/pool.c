/* pool.c - pools and their gradients for every element type, one sample and channel at a time.
 *
 * Floats are held as double and rounded to f32 after every operation (f64: not at all): sums and
 * quotients of two f32 values come out as f32 arithmetic would give them. Narrower types are
 * rounded once, when the result is stored.
 */
#include "backend/cpu/conv/pool.h"

#include <math.h>

#include "backend/cpu/conv/shape.h"
#include "op/util/pool.h"

takt_pool_shape takt_pool_shape_of(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    const takt_type *first = takt_type_of(g, n->in[0]);
    const bool from_dy = n->op == &takt_op_avg_pool_dx;
    const takt_type *x = from_dy ? n->type : first;
    const takt_type *y = from_dy                         ? first
                         : n->op == &takt_op_max_pool_dx ? takt_type_of(g, n->in[1])
                                                         : n->type;
    const takt_window win = takt_pool_window(n->attr, x->rank);
    takt_pool_shape s = {.dtype = x->dtype,
                         .op = n->op,
                         .is_nhwc = win.first == 1,
                         .batch = (size_t)x->dim[0],
                         .channels = (size_t)x->dim[win.channel],
                         .area = 1,
                         .positions = 1};
    s.count_pad = n->op->attrs[TAKT_POOL_COUNT_PAD].type == TAKT_ATTR_BOOL &&
                  n->attr[TAKT_POOL_COUNT_PAD].boolean;
    for (int i = 0; i < 3; i++) {
        const int from = i - (3 - win.spatial);
        const bool is_used = from >= 0;
        s.in[i] = is_used ? (size_t)x->dim[win.first + from] : 1;
        s.out[i] = is_used ? (size_t)y->dim[win.first + from] : 1;
        s.kernel[i] = is_used ? (size_t)win.kernel[from] : 1;
        s.stride[i] = is_used ? (size_t)win.stride[from] : 1;
        s.dilation[i] = is_used ? (size_t)win.dilation[from] : 1;
        s.before[i] = is_used ? (size_t)win.before[from] : 0;
        s.after[i] = is_used ? (size_t)win.after[from] : 0;
        s.area *= s.in[i];
        s.positions *= s.out[i];
    }
    s.x_position = s.y_position = s.is_nhwc ? s.channels : 1;
    s.x_channel = s.is_nhwc ? 1 : s.area;
    s.y_channel = s.is_nhwc ? 1 : s.positions;
    s.x_sample = s.channels * s.area;
    s.y_sample = s.channels * s.positions;
    return s;
}

/* Taps of output `at` along `axis` that satisfy `limit`: below in[axis], or with the padding. */
static size_t taps_within(const takt_pool_shape *s, int axis, size_t at, bool with_pad)
{
    size_t count = 0;
    for (size_t j = 0; j < s->kernel[axis]; j++) {
        const size_t padded = at * s->stride[axis] + j * s->dilation[axis];
        const bool inside = padded >= s->before[axis] && padded - s->before[axis] < s->in[axis];
        count += inside || (with_pad && padded < s->before[axis] + s->in[axis] + s->after[axis]);
    }
    return count;
}

double takt_pool_divisor(const takt_pool_shape *s, const size_t at[3])
{
    double count = 1;
    for (int i = 0; i < 3; i++)
        count *= (double)taps_within(s, i, at[i], s->count_pad);
    return count;
}

takt_pool_f32 takt_pool_line(const takt_pool_shape *s, const float *const *x, const float *divisors)
{
    return (takt_pool_f32){.channels = s->channels,
                           .columns = s->out[2],
                           .width = s->in[2],
                           .rows = s->kernel[0] * s->kernel[1],
                           .taps = s->kernel[2],
                           .stride = s->stride[2],
                           .dilation = s->dilation[2],
                           .before = s->before[2],
                           .x = x,
                           .divisor = s->op == &takt_op_avg_pool ? divisors : NULL};
}

double takt_pool_divisors(const takt_pool_shape *s, const size_t at[2], double known,
                          float *divisors)
{
    const double lines = (double)taps_within(s, 0, at[0], s->count_pad) *
                         (double)taps_within(s, 1, at[1], s->count_pad);
    if (lines == known)
        return known;
    const size_t span = (s->kernel[2] - 1) * s->dilation[2], end = s->before[2] + s->in[2];
    const float whole = (float)(lines * (double)s->kernel[2]);
    for (size_t q = 0; q < s->out[2]; q++) {
        const size_t from = q * s->stride[2];
        const bool is_whole = from >= s->before[2] && from + span < end;
        divisors[q] =
            is_whole ? whole : (float)(lines * (double)taps_within(s, 2, q, s->count_pad));
    }
    return lines;
}

size_t takt_pool_rows_bytes(const takt_pool_shape *s)
{
    return takt_cpu_aligned(s->kernel[0] * s->kernel[1] * sizeof(float *));
}

void takt_pool_find_rows(const takt_pool_shape *s, const float *sample, const size_t at[2],
                         const float **rows)
{
    for (size_t a = 0; a < s->kernel[0]; a++)
        for (size_t b = 0; b < s->kernel[1]; b++, rows++) {
            const size_t i = at[0] * s->stride[0] + a * s->dilation[0];
            const size_t j = at[1] * s->stride[1] + b * s->dilation[1];
            const bool inside = i >= s->before[0] && i - s->before[0] < s->in[0] &&
                                j >= s->before[1] && j - s->before[1] < s->in[1];
            *rows = inside ? sample + ((i - s->before[0]) * s->in[1] + j - s->before[1]) *
                                          s->in[2] * s->channels
                           : NULL;
        }
}

/* ---- one window ---- */

typedef struct window {
    const takt_pool_shape *s;
    size_t at[3], tap[3];
} window;

/* The next tap inside x, its position in `*flat`; false after the last. */
static bool next_tap(window *w, size_t *flat)
{
    const takt_pool_shape *s = w->s;
    for (; w->tap[0] < s->kernel[0]; w->tap[0]++, w->tap[1] = 0)
        for (; w->tap[1] < s->kernel[1]; w->tap[1]++, w->tap[2] = 0)
            while (w->tap[2] < s->kernel[2]) {
                bool inside = true;
                *flat = 0;
                for (int i = 0; i < 3; i++) {
                    const size_t p = w->at[i] * s->stride[i] + w->tap[i] * s->dilation[i];
                    inside = inside && p >= s->before[i] && p - s->before[i] < s->in[i];
                    *flat = *flat * s->in[i] + (inside ? p - s->before[i] : 0);
                }
                w->tap[2]++;
                if (inside)
                    return true;
            }
    return false;
}

static bool is_larger(takt_dtype dtype, const void *x, size_t a, size_t b)
{
    if (takt_dtype_is_float(dtype)) {
        const double p = takt_dtype_get_f(dtype, x, a), q = takt_dtype_get_f(dtype, x, b);
        return !isnan(q) && (isnan(p) || p > q);
    }
    const int64_t p = takt_dtype_get_i(dtype, x, a), q = takt_dtype_get_i(dtype, x, b);
    return takt_dtype_is_unsigned(dtype) ? (uint64_t)p > (uint64_t)q : p > q;
}

/* Position of the largest element of the window, the first of equals; false: it has none. */
static bool largest(const takt_pool_shape *s, const size_t at[3], const void *x, size_t base,
                    size_t *best)
{
    window w = {.s = s, .at = {at[0], at[1], at[2]}};
    bool any = false;
    for (size_t flat; next_tap(&w, &flat); any = true)
        if (!any ||
            is_larger(s->dtype, x, base + flat * s->x_position, base + *best * s->x_position))
            *best = flat;
    return any;
}

static double rounded(takt_dtype dtype, double x)
{
    return dtype == TAKT_F64 ? x : (double)(float)x;
}

static double average(const takt_pool_shape *s, const size_t at[3], const void *x, size_t base)
{
    window w = {.s = s, .at = {at[0], at[1], at[2]}};
    const double divisor = takt_pool_divisor(s, at);
    double sum = 0;
    for (size_t flat; next_tap(&w, &flat);)
        sum = rounded(s->dtype, sum + takt_dtype_get_f(s->dtype, x, base + flat * s->x_position));
    return divisor > 0 ? rounded(s->dtype, sum / divisor) : 0;
}

static void move(takt_dtype dtype, void *to, size_t i, const void *from, size_t j)
{
    if (takt_dtype_is_float(dtype))
        takt_dtype_put_f(dtype, to, i, takt_dtype_get_f(dtype, from, j));
    else
        takt_dtype_put_i(dtype, to, i, takt_dtype_get_i(dtype, from, j));
}

/* +0 beats -0, as in the vector kernel: the first of equals is not the larger of zeros. */
static void store_largest(const takt_pool_shape *s, const size_t at[3], const void *x, size_t base,
                          void *to, size_t i)
{
    size_t best = 0, flat;
    if (!largest(s, at, x, base, &best)) {
        if (takt_dtype_is_float(s->dtype))
            takt_dtype_put_f(s->dtype, to, i, -INFINITY);
        else
            takt_dtype_put_i(s->dtype, to, i, takt_dtype_from_double(s->dtype, -INFINITY));
        return;
    }
    if (takt_dtype_is_float(s->dtype) &&
        takt_dtype_get_f(s->dtype, x, base + best * s->x_position) == 0) {
        window w = {.s = s, .at = {at[0], at[1], at[2]}};
        while (next_tap(&w, &flat)) {
            const double e = takt_dtype_get_f(s->dtype, x, base + flat * s->x_position);
            best = e == 0 && !signbit(e) ? flat : best;
        }
    }
    move(s->dtype, to, i, x, base + best * s->x_position);
}

/* ---- the ops ---- */

static void forward(const takt_pool_shape *s, const void *x, const void *t, size_t x_base,
                    size_t y_base, void *to)
{
    for (size_t p = 0; p < s->positions; p++) {
        size_t at[3], best = 0;
        takt_conv_unflatten(s->out, p, at);
        const size_t i = y_base + p * s->y_position;
        if (s->op == &takt_op_avg_pool)
            takt_dtype_put_f(s->dtype, to, i, average(s, at, x, x_base));
        else if (s->op == &takt_op_max_pool)
            store_largest(s, at, x, x_base, to, i);
        else if (largest(s, at, x, x_base, &best))
            move(s->dtype, to, i, t, x_base + best * s->x_position);
        else
            takt_dtype_put_f(s->dtype, to, i, 0);
    }
}

static void add(const takt_pool_shape *s, double *sums, size_t at, double value)
{
    sums[at] = rounded(s->dtype, sums[at] + value);
}

/* Windows in row-major order: that fixes the order in which an element's share adds up. */
static void backward(const takt_pool_shape *s, const void *x, const void *dy, size_t x_base,
                     size_t y_base, double *sums)
{
    for (size_t p = 0; p < s->positions; p++) {
        size_t at[3], flat = 0;
        takt_conv_unflatten(s->out, p, at);
        const double d = takt_dtype_get_f(s->dtype, dy, y_base + p * s->y_position);
        if (s->op == &takt_op_max_pool_dx) {
            if (largest(s, at, x, x_base, &flat))
                add(s, sums, flat, d);
            continue;
        }
        const double share = rounded(s->dtype, d / takt_pool_divisor(s, at));
        window w = {.s = s, .at = {at[0], at[1], at[2]}};
        while (next_tap(&w, &flat))
            add(s, sums, flat, share);
    }
}

void takt_pool_plane(const takt_pool_shape *s, size_t plane, const void *a, const void *b, void *to,
                     double *sums)
{
    const size_t n = plane / s->channels, c = plane % s->channels;
    const size_t x_base = n * s->x_sample + c * s->x_channel;
    const size_t y_base = n * s->y_sample + c * s->y_channel;
    const bool is_max = s->op == &takt_op_max_pool_dx;
    if (!is_max && s->op != &takt_op_avg_pool_dx) {
        forward(s, a, b, x_base, y_base, to);
        return;
    }
    for (size_t i = 0; i < s->area; i++)
        sums[i] = 0;
    backward(s, is_max ? a : NULL, is_max ? b : a, x_base, y_base, sums);
    for (size_t i = 0; i < s->area; i++)
        takt_dtype_put_f(s->dtype, to, x_base + i * s->x_position, sums[i]);
}
