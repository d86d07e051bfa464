/* few.h - softmax of many rows that have few elements each: a lane is a row.
 *
 * Included by float_body.h. Rows are transposed into a buffer, some vectors of rows at once, so
 * that loads do not wait for the stores before them. Elements join as the lanes of passes.h do:
 * every element has its own lane, and lanes without one would add zero.
 */
#ifndef TAKT_KERNEL_ROWS_FEW_H
#define TAKT_KERNEL_ROWS_FEW_H

#include "kernel/rows/passes.h"
#include "kernel/rows/rows.h"

enum { FEW = WIDE, ABREAST = 4 }; /* most elements of a row, and vectors of rows */

INLINE void few_transpose(T *to, const T *x, size_t stride, size_t n, size_t rows)
{
    for (size_t r = 0; r < rows; r++, x += stride)
        for (size_t i = 0; i < n; i++)
            to[i * ABREAST * LANES + r] = x[i];
}

INLINE void few_back(T *d, size_t stride, const T *from, size_t n, size_t rows)
{
    for (size_t r = 0; r < rows; r++, d += stride)
        for (size_t i = 0; i < n; i++)
            d[i] = from[i * ABREAST * LANES + r];
}

/* One vector of rows, whose elements lie ABREAST vectors apart. */
INLINE void few_softmax(T *at, size_t n)
{
    enum { STEP = ABREAST * LANES };
    vec most = VEC(load)(at), lane[FEW];
    for (size_t i = 1; i < n; i++)
        most = VEC(larger)(most, VEC(load)(at + i * STEP));
    for (size_t i = 0; i < n; i++) {
        lane[i] = exp_minus(VEC(load)(at + i * STEP), most);
        VEC(store)(at + i * STEP, lane[i]);
    }
    for (size_t half = FEW / 2, left = n; half > 0; half /= 2) {
        for (size_t i = half; i < left; i++)
            lane[i - half] = VEC(add)(lane[i - half], lane[i]);
        left = left < half ? left : half;
    }
    const vec scale = VEC(div)(VEC(set1)((T)1), lane[0]);
    for (size_t i = 0; i < n; i++)
        VEC(store)(at + i * STEP, VEC(mul)(VEC(load)(at + i * STEP), scale));
}

/* Whole vectors of rows; returns how many rows those are. 1 < n <= FEW. */
static size_t softmax_few(const takt_rows_step *r)
{
    T some[FEW * ABREAST * LANES];
    const size_t whole = r->rows - r->rows % LANES;
    for (size_t row = 0, count; row < whole; row += count) {
        count = whole - row < ABREAST * LANES ? whole - row : ABREAST * LANES;
        few_transpose(some, (const T *)r->src + row * r->src_stride, r->src_stride, r->n, count);
        for (size_t i = 0; i < count; i += LANES)
            few_softmax(some + i, r->n);
        few_back((T *)r->dst + row * r->dst_stride, r->dst_stride, some, r->n, count);
    }
    return whole;
}

#endif
