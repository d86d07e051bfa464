/* requant.h - what follows the exact product, row by row; the same bits in every variant.
 *
 * Written so that a compiler turns it into vector code. Integers wrap: sums are made in uint32_t.
 */
#include <math.h>
#include <string.h>

typedef float elem;
typedef uint32_t word;
typedef takt_epilogue_f32 epilogue;

#include "kernel/gemm_f32/epilogue.h"
#include "kernel/gemm_i8/fixed.h"

/* x[n] += zero points and bias. `shift` is a_zero, less what the kernel added to A; row_sum the sum
 * of A's row less k * a_zero, needed only with b_zero. */
static inline void correct(const takt_gemm_i8 *g, uint32_t *x, size_t col, size_t n, uint32_t shift,
                           uint32_t row_sum)
{
    if (shift)
        for (size_t j = 0; j < n; j++)
            x[j] -= shift * (uint32_t)g->b_sum[col + j];
    if (g->b_zero)
        for (size_t j = 0; j < n; j++)
            x[j] -= row_sum * (uint32_t)g->b_zero[col + j];
    if (g->requant->bias)
        for (size_t j = 0; j < n; j++)
            x[j] += (uint32_t)g->requant->bias[col + j];
}

static inline __attribute__((always_inline)) void scaled(const takt_requant *q, const uint32_t *x,
                                                         size_t col, const size_t n, float *y)
{
    if (q->scale_per_column)
        for (size_t j = 0; j < n; j++)
            y[j] = (float)(int32_t)x[j] * q->scale[col + j];
    else
        for (size_t j = 0; j < n; j++)
            y[j] = (float)(int32_t)x[j] * q->scale[0];
}

/* Saturated before zero is added: bounds are small, so the sum is exact. */
static inline __attribute__((always_inline)) void narrow(const takt_requant *q, const float *y,
                                                         const size_t n, uint8_t *restrict c)
{
    const int32_t zero = q->zero;
    const float lo = (float)(q->lo - zero), hi = (float)(q->hi - zero);
    for (size_t j = 0; j < n; j++) {
        float r = rintf(y[j]);
        r = r == r ? r : 0;
        r = r < lo ? lo : r;
        r = r > hi ? hi : r;
        c[j] = (uint8_t)((int32_t)r + zero);
    }
}

/* The same for sums in fixed point; `each`: 1 if columns have their own multipliers, else 0. */
static inline __attribute__((always_inline)) void narrow_fixed(const takt_requant *q,
                                                               const uint32_t *x, size_t col,
                                                               const size_t n, uint8_t *restrict c,
                                                               const size_t each)
{
    const int32_t zero = q->zero, lo = q->lo - zero, hi = q->hi - zero;
    const int32_t *m = q->multiplier + each * col, *s = q->shift + each * col;
    for (size_t j = 0; j < n; j++) {
        const int32_t r = takt_fixed_scale(x[j], m[each * j], s[each * j]);
        const int32_t kept = r < lo ? lo : r > hi ? hi : r;
        c[j] = (uint8_t)(kept + zero);
    }
}

/* By a double: the fraction is exact, so only halves round away from zero. */
static inline __attribute__((always_inline)) void narrow_wide(const takt_requant *q,
                                                              const uint32_t *x, size_t col,
                                                              const size_t n, uint8_t *restrict c)
{
    const int32_t zero = q->zero;
    const double lo = (double)(q->lo - zero), hi = (double)(q->hi - zero);
    for (size_t j = 0; j < n; j++) {
        const double y = (double)(int32_t)x[j] * q->wide[q->scale_per_column ? col + j : 0];
        const double kept = y < lo ? lo : y > hi ? hi : y == y ? y : -zero; /* NaN: 0 */
        const int32_t whole = (int32_t)kept;
        const double rest = kept - (double)whole;
        c[j] = (uint8_t)(whole + (rest >= 0.5) - (rest <= -0.5) + zero);
    }
}

/* Bytes by a wide scale or in fixed point; false: there is only `scale`. */
static inline __attribute__((always_inline)) bool
narrow_otherwise(const takt_requant *q, const uint32_t *x, size_t col, const size_t n, uint8_t *c)
{
    if (q->wide != NULL)
        narrow_wide(q, x, col, n, c);
    else if (q->multiplier != NULL && q->scale_per_column)
        narrow_fixed(q, x, col, n, c, 1);
    else if (q->multiplier != NULL)
        narrow_fixed(q, x, col, n, c, 0);
    return q->wide != NULL || q->multiplier != NULL;
}

enum { REQUANT_COLS = 32 };

#define REQUANT_INLINE static inline __attribute__((always_inline))

REQUANT_INLINE void requant_cols(const takt_gemm_i8 *g, uint32_t *x, size_t row, size_t col,
                                 const size_t n)
{
    const takt_requant *q = g->requant;
    const size_t at = row * g->ldc + col;
    float y[REQUANT_COLS];
    if (q->to == TAKT_REQUANT_I32) {
        memcpy((int32_t *)g->c + at, x, n * sizeof *x);
        return;
    }
    if (q->to != TAKT_REQUANT_F32 && narrow_otherwise(q, x, col, n, (uint8_t *)g->c + at))
        return;
    scaled(q, x, col, n, y);
    if (q->to != TAKT_REQUANT_F32) {
        narrow(q, y, n, (uint8_t *)g->c + at);
        return;
    }
    if (q->epilogue)
        finish_row(q->epilogue, y, row, col, n);
    memcpy((float *)g->c + at, y, n * sizeof *y);
}

/* n <= REQUANT_COLS sums of one row, to C. A width known to the compiler is twice as fast. */
static inline void requant_row(const takt_gemm_i8 *g, uint32_t *x, size_t row, size_t col, size_t n)
{
    if (n == 32)
        requant_cols(g, x, row, col, 32);
    else if (n == 16)
        requant_cols(g, x, row, col, 16);
    else
        requant_cols(g, x, row, col, n);
}

static inline void requant_tail(const takt_gemm_i8 *g, size_t row, size_t col, size_t rows,
                                size_t cols)
{
    const takt_epilogue_f32 *e = g->requant->to == TAKT_REQUANT_F32 ? g->requant->epilogue : NULL;
    if (e && e->tail && rows && cols)
        e->tail(e->user, (float *)g->c + row * g->ldc + col, g->ldc, row, col, rows, cols);
}

static inline uint32_t sum_of_bytes(const uint8_t *a, size_t n, bool is_unsigned)
{
    int64_t sum = 0;
    if (is_unsigned)
        for (size_t p = 0; p < n; p++)
            sum += a[p];
    else
        for (size_t p = 0; p < n; p++)
            sum += (int8_t)a[p];
    return (uint32_t)sum;
}

/* Sum of a row of A, less k * a_zero. */
static inline uint32_t sum_of_row(const takt_gemm_i8 *g, size_t row)
{
    const takt_i8_image *m = g->image;
    uint32_t sum = 0;
    if (m == NULL)
        sum = sum_of_bytes((const uint8_t *)g->a + row * g->a_row, g->k, g->a_unsigned);
    for (size_t t = 0; m != NULL && t * m->channels < g->k; t++)
        sum += sum_of_bytes(takt_i8_image_row(m, row) + m->at[t], m->channels, g->a_unsigned);
    return sum - (uint32_t)g->k * (uint32_t)g->a_zero;
}
