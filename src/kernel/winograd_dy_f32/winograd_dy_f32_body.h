/* winograd_dy_f32_body.h - every variant of winograd_dy_f32 is this, compiled for its ISA. */
#include "kernel/simd/simd.h"
#include "kernel/winograd_dy_f32/winograd_dy_f32.h"
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

/* A of four values, to six that lie `step` apart. */
INLINE void spread(const vf x[static OUT], vf *y, const size_t step)
{
    const vf two = vf_set1(2), four = vf_set1(4);
    const vf s = vf_add(x[0], x[2]), d = vf_add(x[1], x[3]);
    const vf e = vf_fma(four, x[2], x[0]), f = vf_fma(four, x[3], x[1]);
    y[0] = x[0];
    y[step] = vf_add(s, d);
    y[2 * step] = vf_sub(s, d);
    y[3 * step] = vf_fma(two, f, e);
    y[4 * step] = vf_fnma(two, f, e);
    y[5 * step] = x[3];
}

/* Column j of the tile, transformed, to t: [6][4]. */
INLINE void column(const takt_winograd_dy_f32 *w, size_t c, size_t n, const bool has_taps,
                   const size_t j, vf *t)
{
    vf x[OUT];
    for (size_t i = 0; i < OUT; i++)
        x[i] = load((has_taps ? w->taps[OUT * i + j] : w->dy + i * w->row + j * w->column) + c, n);
    spread(x, t + j, OUT);
}

INLINE void row(const takt_winograd_dy_f32 *w, size_t c, size_t n, const size_t i, const vf *t)
{
    vf y[IN];
    spread(t + OUT * i, y, 1);
    for (size_t j = 0; j < IN; j++)
        store(w->points + (IN * i + j) * w->point_stride + c, y[j], n);
}

/* Written out, since compilers do not unroll loops of this length. */
INLINE void vector(const takt_winograd_dy_f32 *w, size_t c, size_t n, const bool has_taps)
{
    vf t[IN * OUT];
    column(w, c, n, has_taps, 0, t);
    column(w, c, n, has_taps, 1, t);
    column(w, c, n, has_taps, 2, t);
    column(w, c, n, has_taps, 3, t);
    row(w, c, n, 0, t);
    row(w, c, n, 1, t);
    row(w, c, n, 2, t);
    row(w, c, n, 3, t);
    row(w, c, n, 4, t);
    row(w, c, n, 5, t);
}

/* A local copy of the job whose address does not escape: stores cannot change its fields. */
static void run(const takt_winograd_dy_f32 *given)
{
    const takt_winograd_dy_f32 w = *given;
    size_t c = 0;
    for (; w.taps != NULL && c + VF <= w.channels; c += VF)
        vector(&w, c, VF, true);
    for (; w.taps == NULL && c + VF <= w.channels; c += VF)
        vector(&w, c, VF, false);
    if (c < w.channels)
        vector(&w, c, w.channels - c, w.taps != NULL);
}

TAKT_KERNELS(winograd_dy_f32, TAKT_KERNEL(winograd_dy_f32, SIMD_NAME, SIMD_RANK, run, NULL));
