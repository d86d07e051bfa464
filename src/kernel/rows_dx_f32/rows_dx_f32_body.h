/* rows_dx_f32_body.h - every variant of rows_dx_f32 is this, compiled for its ISA. */
#include "kernel/math_f32/exp_f32.h"
#include "kernel/math_f32/log_f32.h"

#define T float
#define LANES VF
#define VEC(name) vf_##name
#define MATH(name) name##_f32

typedef vf vec;

#include "kernel/rows/passes.h"
#include "kernel/rows_dx_f32/rows_dx_f32.h"

/* One row and what is known of it. */
typedef struct line {
    const float *x, *dy, *gamma;
    float *dx;
    size_t n;
    bool is_centred;
    float mean, scale;
    const takt_poll *poll;
} line;

INLINE bool stops(const line *w, size_t i)
{
    return i % POLLED == 0 && i > 0 && takt_poll_stops(w->poll);
}

INLINE stretch all_of(const line *w)
{
    return (stretch){w->x, w->n, w->poll};
}

INLINE vec load(const float *from, size_t i, size_t m)
{
    return m == LANES ? VEC(load)(from + i) : VEC(load_n)(from + i, m);
}

INLINE void store(float *to, size_t i, vec v, size_t m)
{
    if (m == LANES)
        VEC(store)(to + i, v);
    else
        VEC(store_n)(to + i, v, m);
}

/* Elements [i, i + m) of what a pass sums. */
typedef vec value_fn(const line *w, size_t i, size_t m);

INLINE vec product(const line *w, size_t i, size_t m)
{
    return VEC(mul)(load(w->dy, i, m), load(w->x, i, m));
}

INLINE vec normal(const line *w, size_t i, size_t m)
{
    vec c = load(w->x, i, m);
    if (w->is_centred)
        c = VEC(sub)(c, VEC(set1)(w->mean));
    return VEC(mul)(c, VEC(set1)(w->scale));
}

INLINE vec scaled(const line *w, size_t i, size_t m)
{
    const vec dy = load(w->dy, i, m);
    return w->gamma != NULL ? VEC(mul)(dy, load(w->gamma, i, m)) : dy;
}

INLINE vec scaled_normal(const line *w, size_t i, size_t m)
{
    return VEC(mul)(scaled(w, i, m), normal(w, i, m));
}

/* Lanes without an element take a zero: the function of a zero need not be zero. */
INLINE float sum_chunk(value_fn *f, const line *w, size_t from, size_t n)
{
    float lane[WIDE];
    vec acc[REGS];
    size_t i = 0;
    for (int k = 0; k < REGS; k++)
        acc[k] = VEC(zero)();
    for (; i + WIDE <= n; i += WIDE)
        for (size_t k = 0; k < REGS; k++)
            acc[k] = VEC(add)(acc[k], f(w, from + i + k * LANES, LANES));
    for (int k = 0; i < n; k++, i += LANES) {
        const size_t m = n - i < LANES ? n - i : LANES;
        float tail[LANES] = {0};
        VEC(store_n)(tail, f(w, from + i, m), m);
        acc[k] = VEC(add)(acc[k], VEC(load)(tail));
    }
    for (int k = 0; k < REGS; k++)
        VEC(store)(lane + k * LANES, acc[k]);
    return fold(TAKT_REDUCE_SUM, lane);
}

INLINE float sum(value_fn *f, const line *w)
{
    float total = 0;
    for (size_t i = 0; i < w->n && !stops(w, i); i += CHUNK) {
        const float part = sum_chunk(f, w, i, w->n - i < CHUNK ? w->n - i : CHUNK);
        total = i == 0 ? part : total + part;
    }
    return total;
}

static void softmax_dx(const line *w)
{
    const vec s = VEC(set1)(sum(product, w));
    for (size_t i = 0; i < w->n && !stops(w, i); i += LANES) {
        const size_t m = w->n - i < LANES ? w->n - i : LANES;
        const vec rest = VEC(sub)(load(w->dy, i, m), s);
        store(w->dx, i, VEC(mul)(load(w->x, i, m), rest), m);
    }
}

/* Mean and scale of the row. */
static void normalise(line *w, double epsilon)
{
    const float n = (float)w->n;
    w->mean = w->is_centred ? row(TAKT_REDUCE_SUM, w->x, w->n, w->poll) / n : 0;
    const float squares = w->is_centred ? pass(TAKT_REDUCE_SUMSQ, minus, w->mean, all_of(w), NULL)
                                        : row(TAKT_REDUCE_SUMSQ, w->x, w->n, w->poll);
    float root[LANES];
    VEC(store)(root, VEC(sqrt)(VEC(set1)(squares / n + (float)epsilon)));
    w->scale = 1.0f / root[0];
}

static void norm_dx(const line *w)
{
    const float n = (float)w->n;
    const vec along = VEC(set1)(sum(scaled_normal, w) / n);
    const vec level = VEC(set1)(w->is_centred ? sum(scaled, w) / n : 0);
    for (size_t i = 0; i < w->n && !stops(w, i); i += LANES) {
        const size_t m = w->n - i < LANES ? w->n - i : LANES;
        vec e = VEC(sub)(scaled(w, i, m), VEC(mul)(normal(w, i, m), along));
        if (w->is_centred)
            e = VEC(sub)(e, level);
        store(w->dx, i, VEC(mul)(VEC(set1)(w->scale), e), m);
    }
}

static void norm_product(const line *w)
{
    for (size_t i = 0; i < w->n && !stops(w, i); i += LANES) {
        const size_t m = w->n - i < LANES ? w->n - i : LANES;
        store(w->dx, i, VEC(mul)(load(w->dy, i, m), normal(w, i, m)), m);
    }
}

/* log of the sum of exp(x - most). */
static float log_sum(const line *w, float most)
{
    float value[LANES];
    VEC(store)
    (value, MATH(log)(VEC(set1)(pass(TAKT_REDUCE_SUM, exp_minus, most, all_of(w), NULL))));
    return value[0];
}

static void entropy(const line *w, size_t label)
{
    const float most = largest(all_of(w)), total = log_sum(w, most);
    const float shifted = w->x[label] - most;
    w->dx[0] = -(shifted - total);
}

static void entropy_dx(const line *w, size_t label, float seed)
{
    const float most = largest(all_of(w)), total = log_sum(w, most);
    const float own = label < w->n ? w->x[label] : 0; /* dx may be x */
    const vec top = VEC(set1)(most), all = VEC(set1)(total), factor = VEC(set1)(seed);
    for (size_t i = 0; i < w->n && !stops(w, i); i += LANES) {
        const size_t m = w->n - i < LANES ? w->n - i : LANES;
        const vec p = MATH(exp)(VEC(sub)(VEC(sub)(load(w->x, i, m), top), all));
        store(w->dx, i, VEC(mul)(p, factor), m);
    }
    if (label >= w->n)
        return;
    float p[LANES];
    VEC(store)(p, MATH(exp)(VEC(set1)((own - most) - total)));
    w->dx[label] = (p[0] - 1.0f) * seed;
}

static void rows_dx(const takt_rows_dx_f32 *r)
{
    for (size_t i = 0, done = 0; i < r->rows && r->n > 0; i++, done += r->n) {
        if (done >= POLLED) {
            done = 0;
            if (takt_poll_stops(r->poll))
                return;
        }
        line w = {.x = r->x + i * r->x_stride,
                  .dx = r->dx + i * r->dx_stride,
                  .gamma = r->gamma,
                  .n = r->n,
                  .poll = r->poll};
        w.dy = r->dy != NULL ? r->dy + i * r->dy_stride : NULL;
        w.is_centred = r->op == TAKT_ROWS_DX_LAYER_NORM || r->op == TAKT_ROWS_DX_LAYER_PRODUCT;
        switch (r->op) {
        case TAKT_ROWS_DX_SOFTMAX: softmax_dx(&w); break;
        case TAKT_ROWS_DX_ENTROPY: entropy(&w, r->label[i]); break;
        case TAKT_ROWS_DX_ENTROPY_DX: entropy_dx(&w, r->label[i], r->seed[i]); break;
        case TAKT_ROWS_DX_LAYER_NORM:
        case TAKT_ROWS_DX_RMS_NORM:
            normalise(&w, r->epsilon);
            norm_dx(&w);
            break;
        default:
            normalise(&w, r->epsilon);
            norm_product(&w);
            break;
        }
    }
}

TAKT_KERNELS(rows_dx_f32, TAKT_KERNEL(rows_dx_f32, SIMD_NAME, SIMD_RANK, rows_dx, NULL));
