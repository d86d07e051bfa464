/* end.h - what follows a convolution inside its step, beyond what every product knows.
 *
 * relu6 (relu, then an upper limit) and clip are as common after convolutions as relu: they are
 * recognised here. Programs run on as many whole rows at once as their tiles hold.
 */
#ifndef TAKT_BACKEND_CPU_CONV_END_H
#define TAKT_BACKEND_CPU_CONV_END_H

#include "backend/cpu/epilogue.h"

typedef struct takt_conv_end {
    takt_cpu_epilogue epilogue;
    float lo, hi; /* of TAKT_GEMM_ACT_CLIP */
    float limit;  /* minimum(x, limit) after everything else; infinite: no limit */
} takt_conv_end;

/* As takt_epilogue_compile. */
TAKT_MUST_USE takt_status takt_conv_end_compile(takt_planner *p, size_t columns, takt_conv_end *e);
/* As takt_epilogue_inner. */
TAKT_MUST_USE takt_status takt_conv_end_inner(takt_planner *p, size_t columns, takt_conv_end *e);
size_t takt_conv_end_scratch(const takt_conv_end *e);

/* One task's use of it, on the stack: `run` as in epilogue.h. */
typedef struct takt_conv_ending {
    takt_epilogue_run run;
    const takt_conv_end *end;
} takt_conv_ending;

/* That of results from (row, column) on, with `registers` at this offset of the task's scratch. */
takt_conv_ending takt_conv_end_at(const takt_conv_end *end, const takt_step *s, const takt_task *t,
                                  size_t registers, size_t row, size_t column);
/* As takt_epilogue_f32_for; everything, the limit too, is in `out`. */
bool takt_conv_end_for(takt_conv_ending *run, takt_epilogue_f32 *out);
/* For kernels with their own epilogue: bias, residual before relu, relu and the limit after it.
 * False if there is more: then they apply nothing, and `out` is applied to their results. If true,
 * only the tail of `out` is left. */
bool takt_conv_end_is_simple(const takt_conv_end *e);
/* The same for kernels that clip: bias, then minimum(maximum(x, lo), hi), and no more. */
bool takt_conv_end_clips(const takt_conv_end *e);

#endif
