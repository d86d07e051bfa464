/* pool.h - a pool node as numbers and strides, and pools of every element type.
 *
 * As in shape.h, spatial axes are right-aligned in arrays of three.
 */
#ifndef TAKT_BACKEND_CPU_CONV_POOL_H
#define TAKT_BACKEND_CPU_CONV_POOL_H

#include <stdint.h>

#include "backend/cpu/cpu.h"
#include "kernel/pool_f32/pool_f32.h"

typedef struct takt_pool_shape {
    takt_dtype dtype;
    const takt_op *op;
    bool is_nhwc, count_pad;
    size_t batch, channels;
    size_t in[3], out[3], kernel[3], stride[3], dilation[3], before[3], after[3];
    size_t area, positions; /* of x and of y in one sample */
    /* In elements, x and y alike: */
    size_t x_sample, x_position, x_channel;
    size_t y_sample, y_position, y_channel;
} takt_pool_shape;

takt_pool_shape takt_pool_shape_of(const takt_graph *g, takt_id node);
/* The number of elements by which an average of output `at` is divided. */
double takt_pool_divisor(const takt_pool_shape *s, const size_t at[3]);
/* The same for a line of outputs, unless they are there: a line whose windows have as many rows,
 * which is returned, had `known`; -1: none. */
double takt_pool_divisors(const takt_pool_shape *s, const size_t at[2], double known,
                          float *divisors);
/* A line of outputs with channels last, but for `y`, from rows `x`, which may be padding; averages
 * by `divisors`. */
takt_pool_f32 takt_pool_line(const takt_pool_shape *s, const float *const *x,
                             const float *divisors);
/* Scratch bytes of the pointers to the rows of a window. */
size_t takt_pool_rows_bytes(const takt_pool_shape *s);
/* The rows of a sample with channels last under line at[1] of outputs at depth at[0]: NULL, those
 * in the padding. */
void takt_pool_find_rows(const takt_pool_shape *s, const float *sample, const size_t at[2],
                         const float **rows);
/* Any of the five ops on sample and channel number `plane`: `a` and `b` are its inputs (b NULL if
 * it has one), `sums` room for one double per position of x. */
void takt_pool_plane(const takt_pool_shape *s, size_t plane, const void *a, const void *b, void *to,
                     double *sums);
/* Line number `row` of the outputs of max_pool on bf16 with channels last; `line` has as many bytes
 * as the second function returns. */
void takt_pool_half(const takt_pool_shape *c, const uint16_t *x, uint16_t *y, size_t row,
                    int16_t *line);
size_t takt_pool_half_scratch(const takt_pool_shape *c);

/* Gradients in f32 with channels last (pool_dx.c): fills in p->step, whose views are set. */
bool takt_pool_has_dx(const takt_pool_shape *s);
TAKT_MUST_USE takt_status takt_pool_dx_compile(takt_planner *p, const takt_pool_shape *shape);
/* Largest values and averages of f32 with channels first (pool_lines.c): the same. */
bool takt_pool_has_lines(const takt_pool_shape *s);
TAKT_MUST_USE takt_status takt_pool_lines_compile(takt_planner *p, const takt_pool_shape *shape);
/* Such pools with short lines of outputs (pool_tiles.c): the same. */
bool takt_pool_has_tiles(const takt_pool_shape *s);
TAKT_MUST_USE takt_status takt_pool_tiles_compile(takt_planner *p, const takt_pool_shape *shape);
/* Any of four ops in 16 bits with channels last (pool_widened.c): the same. */
bool takt_pool_is_widened(const takt_pool_shape *s);
TAKT_MUST_USE takt_status takt_pool_widened_compile(takt_planner *p, const takt_pool_shape *shape);

#endif
