/* gather_sum_f32_body.h - every variant of gather_sum_f32 is this, compiled for its ISA.
 *
 * Single elements are gathered for VF places at a time, whose indices and weights stay in registers
 * for all planes; up to four taps are added at once, and further ones to that sum. Where an index
 * names several neighbours, each place is a sum of rows.
 */
#include "kernel/gather_sum_f32/gather_sum_f32.h"
#include "kernel/simd/simd.h"

#define INLINE static inline __attribute__((always_inline))

enum { AT_ONCE = 4 }; /* taps */

/* The indices of VF places. */
#if TAKT_SIMD_SET == 4
typedef __m512i spots;
INLINE spots spots_at(const int32_t *at)
{
    return _mm512_loadu_si512(at);
}
INLINE vf gathered(const float *x, const spots *s)
{
    return _mm512_i32gather_ps(*s, x, 4);
}
#else
typedef struct spots {
    int32_t at[VF];
} spots;
INLINE spots spots_at(const int32_t *at)
{
    spots s;
    memcpy(s.at, at, sizeof s);
    return s;
}
INLINE vf gathered(const float *x, const spots *s)
{
#if TAKT_SIMD_SET == 3
    return _mm256_setr_ps(x[s->at[0]], x[s->at[1]], x[s->at[2]], x[s->at[3]], x[s->at[4]],
                          x[s->at[5]], x[s->at[6]], x[s->at[7]]);
#elif TAKT_SIMD_SET == 2
    return (vf){x[s->at[0]], x[s->at[1]], x[s->at[2]], x[s->at[3]]};
#else
    return vf_load(x + s->at[0]);
#endif
}
#endif

/* `count` taps from `first` on, for VF places from `p` on. */
INLINE void planes_at(const takt_gather_sum_f32 *g, size_t p, size_t first, size_t count,
                      bool is_masked)
{
    spots at[AT_ONCE];
    vf weight[AT_ONCE];
    vi inside[AT_ONCE];
    for (size_t k = 0; k < count; k++) {
        at[k] = spots_at(g->at + (first + k) * g->at_tap + p);
        weight[k] = vf_load(g->weight + (first + k) * g->weight_tap + p);
        if (is_masked)
            inside[k] = vi_load(g->inside + (first + k) * g->at_tap + p);
    }
    const float *x = g->x;
    float *y = g->y + p;
    for (size_t r = 0; r < g->planes; r++, x += g->x_plane, y += g->y_plane) {
        vf sum = vf_zero();
        for (size_t k = 0; k < count; k++) {
            vf v = gathered(x, &at[k]);
            if (is_masked)
                v = vi_as_vf(vi_and(vf_as_vi(v), inside[k]));
            v = vf_mul(v, weight[k]);
            sum = k > 0 ? vf_add(sum, v) : first > 0 ? vf_add(vf_load(y), v) : v;
        }
        vf_store(y, sum);
    }
}

INLINE size_t singles(const takt_gather_sum_f32 *g, bool is_masked)
{
    size_t p = 0;
    for (; p + VF <= g->places; p += VF) {
        size_t k = 0;
        for (; k + AT_ONCE <= g->taps; k += AT_ONCE)
            planes_at(g, p, k, AT_ONCE, is_masked);
        if (k + 2 <= g->taps) {
            planes_at(g, p, k, 2, is_masked);
            k += 2;
        }
        if (k < g->taps)
            planes_at(g, p, k, 1, is_masked);
    }
    return p;
}

INLINE float single(const takt_gather_sum_f32 *g, size_t r, size_t k, size_t p, size_t i)
{
    union {
        float f;
        int32_t bits;
    } v = {g->x[r * g->x_plane + (size_t)g->at[k * g->at_tap + p] * g->x_row + i]};
    if (g->inside != NULL)
        v.bits &= g->inside[k * g->at_tap + p];
    return v.f * g->weight[k * g->weight_tap + p];
}

/* The part of a place that whole vectors do not cover. */
INLINE void rest(const takt_gather_sum_f32 *g, size_t r, size_t p, size_t first)
{
    for (size_t i = first; i < g->inner; i++) {
        float sum = single(g, r, 0, p, i);
        for (size_t k = 1; k < g->taps; k++)
            sum += single(g, r, k, p, i);
        g->y[r * g->y_plane + p * g->y_row + i] = sum;
    }
}

INLINE vf row_term(const takt_gather_sum_f32 *g, const float *x, size_t k, size_t p, bool is_masked)
{
    vf v = vf_load(x + (size_t)g->at[k * g->at_tap + p] * g->x_row);
    if (is_masked)
        v = vi_as_vf(vi_and(vf_as_vi(v), vi_set1(g->inside[k * g->at_tap + p])));
    return vf_mul(v, vf_set1(g->weight[k * g->weight_tap + p]));
}

/* Two rows without a mask, whose weights and places stay in registers. */
INLINE size_t two_rows(const takt_gather_sum_f32 *g, size_t r, size_t p)
{
    const float *x = g->x + r * g->x_plane;
    const float *a = x + (size_t)g->at[p] * g->x_row;
    const float *b = x + (size_t)g->at[g->at_tap + p] * g->x_row;
    float *y = g->y + r * g->y_plane + p * g->y_row;
    const vf first = vf_set1(g->weight[p]), second = vf_set1(g->weight[g->weight_tap + p]);
    const size_t inner = g->inner;
    size_t i = 0;
    for (; i + VF <= inner; i += VF)
        vf_store(y + i, vf_add(vf_mul(vf_load(a + i), first), vf_mul(vf_load(b + i), second)));
    return i;
}

INLINE size_t rows_at(const takt_gather_sum_f32 *g, size_t r, size_t p, bool is_masked)
{
    const float *x = g->x + r * g->x_plane;
    size_t i = 0;
    for (; i + VF <= g->inner; i += VF) {
        vf sum = row_term(g, x + i, 0, p, is_masked);
        for (size_t k = 1; k < g->taps; k++)
            sum = vf_add(sum, row_term(g, x + i, k, p, is_masked));
        vf_store(g->y + r * g->y_plane + p * g->y_row + i, sum);
    }
    return i;
}

static void rows(const takt_gather_sum_f32 *g)
{
    for (size_t r = 0; r < g->planes; r++)
        for (size_t p = 0; p < g->places; p++)
            rest(g, r, p,
                 g->inside != NULL ? rows_at(g, r, p, true)
                 : g->taps == 2    ? two_rows(g, r, p)
                                   : rows_at(g, r, p, false));
}

static void run(const takt_gather_sum_f32 *given)
{
    const takt_gather_sum_f32 g = *given;
    if (g.inner != 1 || g.x_row != 1 || g.y_row != 1) {
        rows(&g);
        return;
    }
    const size_t first = g.inside != NULL ? singles(&g, true) : singles(&g, false);
    for (size_t r = 0; r < g.planes; r++)
        for (size_t p = first; p < g.places; p++)
            rest(&g, r, p, 0);
}

TAKT_KERNELS(gather_sum_f32, TAKT_KERNEL(gather_sum_f32, SIMD_NAME, SIMD_RANK, run, NULL));
