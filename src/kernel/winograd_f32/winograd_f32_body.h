/* winograd_f32_body.h - every variant of winograd_f32 is this, compiled for its ISA. */
#include "kernel/simd/simd.h"
#include "kernel/winograd_f32/winograd_f32.h"

#define INLINE static inline __attribute__((always_inline))

enum { OUT = TAKT_WINOGRAD_OUT, IN = TAKT_WINOGRAD_IN };

INLINE vf load(const float *p, size_t n)
{
    return n == VF ? vf_load(p) : vf_load_n(p, n);
}

INLINE void store(float *p, vf v, size_t n)
{
    if (n == VF)
        vf_store(p, v);
    else
        vf_store_n(p, v, n);
}

/* Bt of six values. */
INLINE void into(const vf x[static IN], vf y[static IN])
{
    const vf two = vf_set1(2), four = vf_set1(4), five = vf_set1(5);
    const vf a = vf_fnma(four, x[2], x[4]), b = vf_fnma(four, x[1], x[3]);
    const vf c = vf_sub(x[4], x[2]), d = vf_sub(x[3], x[1]);
    y[0] = vf_fma(four, x[0], vf_fnma(five, x[2], x[4]));
    y[1] = vf_add(a, b);
    y[2] = vf_sub(a, b);
    y[3] = vf_fma(two, d, c);
    y[4] = vf_fnma(two, d, c);
    y[5] = vf_fma(four, x[1], vf_fnma(five, x[3], x[5]));
}

/* At of six values, to four that lie `step` apart. */
INLINE void back(const vf *m, vf *y, const size_t step)
{
    const vf s = vf_add(m[1], m[2]), d = vf_sub(m[1], m[2]);
    const vf t = vf_add(m[3], m[4]), e = vf_sub(m[3], m[4]);
    y[0] = vf_add(vf_add(m[0], s), t);
    y[step] = vf_fma(vf_set1(2), e, d);
    y[2 * step] = vf_fma(vf_set1(4), t, s);
    y[3 * step] = vf_add(vf_fma(vf_set1(8), e, d), m[5]);
}

/* Column j of the tile, transformed, to t. `has_taps`: w->taps is not NULL. */
INLINE void input_column(const takt_winograd_f32 *w, size_t c, size_t n, const bool has_taps,
                         const size_t j, vf *t)
{
    vf x[IN], y[IN];
    for (size_t i = 0; i < IN; i++)
        x[i] = load((has_taps ? w->taps[IN * i + j] : w->x + i * w->row + j * w->column) + c, n);
    into(x, y);
    for (size_t i = 0; i < IN; i++)
        t[IN * i + j] = y[i];
}

INLINE void input_row(const takt_winograd_f32 *w, size_t c, size_t n, const size_t i, const vf *t)
{
    vf y[IN];
    into(t + IN * i, y);
    for (size_t j = 0; j < IN; j++)
        store(w->points + (IN * i + j) * w->point_stride + c, y[j], n);
}

/* Written out, since compilers do not unroll loops of this length. */
INLINE void input_vector(const takt_winograd_f32 *w, size_t c, size_t n, const bool has_taps)
{
    vf t[IN * IN];
    input_column(w, c, n, has_taps, 0, t);
    input_column(w, c, n, has_taps, 1, t);
    input_column(w, c, n, has_taps, 2, t);
    input_column(w, c, n, has_taps, 3, t);
    input_column(w, c, n, has_taps, 4, t);
    input_column(w, c, n, has_taps, 5, t);
    input_row(w, c, n, 0, t);
    input_row(w, c, n, 1, t);
    input_row(w, c, n, 2, t);
    input_row(w, c, n, 3, t);
    input_row(w, c, n, 4, t);
    input_row(w, c, n, 5, t);
}

/* A compiler barrier between loads: without it compilers load all 36 products first and run out of
 * registers. */
#define SETTLE __asm__ volatile("" ::: "memory")

/* Column j of the products, transformed, to t. */
INLINE void output_column(const takt_winograd_f32 *w, size_t c, size_t n, const size_t j, vf *t)
{
    vf m[IN];
    for (size_t i = 0; i < IN; i++)
        m[i] = load(w->points + (IN * i + j) * w->point_stride + c, n);
    back(m, t + j, IN);
    SETTLE;
}

/* One row of outputs; `cols` of the four exist. */
INLINE void output_row(const takt_winograd_f32 *w, const vf *t, size_t at, size_t c, size_t n,
                       const size_t cols)
{
    vf y[OUT];
    back(t, y, 1);
    if (w->bias != NULL) {
        const vf bias = load(w->bias + c, n);
        for (size_t j = 0; j < OUT; j++)
            y[j] = vf_add(y[j], bias);
    }
    if (w->residual != NULL)
        for (size_t j = 0; j < cols; j++)
            y[j] = vf_add(y[j], load(w->residual + at + j * w->column, n));
    if (w->relu)
        for (size_t j = 0; j < OUT; j++)
            y[j] = vf_limit(vf_relu(y[j]), w->limit);
    for (size_t j = 0; j < cols; j++)
        store(w->y + at + j * w->column, y[j], n);
    SETTLE;
}

INLINE void output_vector(const takt_winograd_f32 *w, size_t c, size_t n)
{
    vf t[OUT * IN];
    output_column(w, c, n, 0, t);
    output_column(w, c, n, 1, t);
    output_column(w, c, n, 2, t);
    output_column(w, c, n, 3, t);
    output_column(w, c, n, 4, t);
    output_column(w, c, n, 5, t);
    if (w->rows == OUT && w->cols == OUT) {
        output_row(w, t, c, c, n, OUT);
        output_row(w, t + IN, w->row + c, c, n, OUT);
        output_row(w, t + 2 * IN, 2 * w->row + c, c, n, OUT);
        output_row(w, t + 3 * IN, 3 * w->row + c, c, n, OUT);
        return;
    }
    for (size_t i = 0; i < w->rows; i++)
        output_row(w, t + IN * i, i * w->row + c, c, n, w->cols);
}

/* A local copy of the job whose address does not escape: stores cannot change its fields. */
static void input(const takt_winograd_f32 *given)
{
    const takt_winograd_f32 w = *given;
    size_t c = 0;
    for (; w.taps != NULL && c + VF <= w.channels; c += VF)
        input_vector(&w, c, VF, true);
    for (; w.taps == NULL && c + VF <= w.channels; c += VF)
        input_vector(&w, c, VF, false);
    if (c < w.channels)
        input_vector(&w, c, w.channels - c, w.taps != NULL);
}

static void output(const takt_winograd_f32 *given)
{
    const takt_winograd_f32 w = *given;
    size_t c = 0;
    for (; c + VF <= w.channels; c += VF)
        output_vector(&w, c, VF);
    if (c < w.channels)
        output_vector(&w, c, w.channels - c);
}

static void run(const takt_winograd_f32 *w)
{
    if (w->is_output)
        output(w);
    else
        input(w);
}

TAKT_KERNELS(winograd_f32, TAKT_KERNEL(winograd_f32, SIMD_NAME, SIMD_RANK, run, NULL));
