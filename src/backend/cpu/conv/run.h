/* run.h - helpers that the convolution steps share: memory of a run, and narrow types.
 *
 * f16 and bf16 are widened to f32 in scratch when the step begins and the result is rounded once
 * when it ends; the arithmetic between is that of f32.
 */
#ifndef TAKT_BACKEND_CPU_CONV_RUN_H
#define TAKT_BACKEND_CPU_CONV_RUN_H

#include "backend/cpu/cpu.h"
#include "kernel/convert/convert.h"

/* Where the operands of a step are at run time: in their buffers, or widened in shared scratch. */
typedef struct takt_conv_memory {
    takt_convert_fn *convert; /* NULL: everything is f32 already */
    takt_dtype dtype;
    size_t in[2], out;             /* byte offsets of the widened forms */
    size_t in_count[2], out_count; /* elements; a count of 0 is not widened */
} takt_conv_memory;

/* For step->in[0], in[1] and out[0] of `dtype`; adds to step->scratch_bytes. `skip`: index of an
 * input that needs no widening (packed already), or -1. */
void takt_conv_memory_plan(takt_planner *p, takt_dtype dtype, int skip, takt_conv_memory *m);
/* The same for steps that round what they computed block by block: nothing is kept for out[0].
 * Input 0 is widened by takt_conv_widen_x unless `is_direct`, input 1 in `before` if not packed. */
void takt_conv_memory_blocks(takt_planner *p, takt_dtype dtype, bool is_direct, bool is_packed,
                             takt_conv_memory *m);
/* Share t->index of s->prepare_count of input 0, and all of input 1. */
void takt_conv_widen_x(const takt_conv_memory *m, const takt_step *s, const takt_task *t);
void takt_conv_widen_w(const takt_conv_memory *m, const takt_step *s, const takt_task *t);
/* Number of tasks for widening input 0. */
size_t takt_conv_widen_tasks(const takt_planner *p, const takt_conv_memory *m);
/* `rows` rows of `columns` floats to the result, from row `row` and column `column` of `width`. */
typedef struct takt_conv_rounded {
    const float *from;
    size_t rows, columns, row, column, width;
} takt_conv_rounded;
void takt_conv_round(const takt_conv_memory *m, const takt_step *s, const takt_task *t,
                     const takt_conv_rounded *r);
void takt_conv_widen(const takt_conv_memory *m, const takt_step *s, const takt_task *t);
void takt_conv_narrow(const takt_conv_memory *m, const takt_step *s, const takt_task *t);
const float *takt_conv_in(const takt_conv_memory *m, const takt_step *s, const takt_task *t, int k);
float *takt_conv_out(const takt_conv_memory *m, const takt_step *s, const takt_task *t);

/* Reserves 64-byte aligned shared scratch and returns its offset. */
size_t takt_conv_reserve(takt_step *s, size_t bytes);

static inline bool takt_conv_is_f32(takt_dtype dtype)
{
    return dtype == TAKT_F32 || dtype == TAKT_F16 || dtype == TAKT_BF16;
}

#endif
