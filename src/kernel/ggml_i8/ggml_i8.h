/* ggml_i8.h - contract of the product of floats, rounded to 8 bits by blocks, with panels of
 * weights in ggml's block formats.
 *
 *     most[m,b] = max |a| over the block
 *     qa[m,k] = a * (127 / most) rounded half to even, held to [-127, 127]; NaN gives 0
 *     dx[m,b] = most / 127
 *
 * A block has the weights of one block of the format, 32 to 256. Blocks of 32:
 *
 *     dot = sum of qa * (level - zero), sum = sum of qa, in integers
 *     acc = fma(scale * dx, (f32)dot, acc), and with a minimum acc = fma(min * dx, (f32)sum, acc)
 *
 * Super-blocks, whose parts have whole numbers as scales and minima:
 *
 *     dot = sum over parts of scale[part] * (sum of qa * (level - zero)), in integers
 *     sum = sum over parts of minimum[part] * (sum of qa)
 *     acc = fma(d * dx, (f32)dot, acc), and with minima acc = fma(-(least * dx), (f32)sum, acc)
 *
 * Formats without panels are super-blocks of 64 to 256 weights: levels of iq1, iq2 and iq3_xxs, and
 * with them d, are multiplied by a power of two that makes levels whole; parts of q1_0, q2_0, tq1_0
 * and tq2_0 have the scale 1. Parts of nvfp4 have floats as scales, and each its own sum:
 *
 *     acc[part] = fma(scale[part] * dx, (f32)(sum of qa * level), acc[part])
 *     C[m,n] = (acc[0] + acc[1]) + (acc[2] + acc[3])
 *
 *   order      acc begins at +0; b ascending; C[m,n] = acc
 *   bits       every variant equals scalar
 *   formats    all; those without panels are read as rows of a file
 *   NaN, inf   in a block of a row of A give NaN in that row of C
 *   reads      exactly what `round` wrote and the panels; writes exactly C[m,n]
 *   aliasing   C overlaps no other operand
 */
#ifndef TAKT_KERNEL_GGML_I8_H
#define TAKT_KERNEL_GGML_I8_H

#include "kernel/ggml_panels/ggml_panels.h"
#include "kernel/kernel.h"

typedef struct takt_ggml_i8 {
    takt_ggml_format format;
    size_t m, n, blocks; /* blocks: of a column */
    const void *panels;  /* of all n columns; or [n][blocks] as in a file */
    const void *rounded; /* all m rows, 64-byte aligned */
    float *c;
    size_t ldc;
} takt_ggml_i8;

typedef void takt_ggml_i8_fn(const takt_ggml_i8 *g);

/* Rows [first, end) of m; their floats begin at `a`, `a_row` floats apart. */
typedef struct takt_ggml_round {
    takt_ggml_format format;
    size_t m, blocks, first, end;
    const float *a;
    size_t a_row;
    void *to; /* takt_ggml_i8_info.bytes, for all m rows */
} takt_ggml_round;

typedef struct takt_ggml_i8_info {
    size_t rows; /* of a full tile */
    size_t (*bytes)(takt_ggml_format format, size_t m, size_t blocks);
    void (*round)(const takt_ggml_round *r);
} takt_ggml_i8_info;

TAKT_KERNEL_FAMILY(ggml_i8, takt_ggml_i8_fn)

#endif
