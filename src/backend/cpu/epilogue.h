/* epilogue.h - operations after a product or convolution inside its step.
 *
 * The result is seen as rows of `columns` elements. The common forms (bias, residual, relu) run in
 * the kernel's registers, and a function of one value after them is called once for a hot tile;
 * everything else is a tile program run on it.
 */
#ifndef TAKT_BACKEND_CPU_EPILOGUE_H
#define TAKT_BACKEND_CPU_EPILOGUE_H

#include "backend/cpu/conv/finish.h"
#include "backend/cpu/map_program.h"
#include "kernel/gemm_f32/gemm_f32.h"

typedef struct takt_cpu_epilogue {
    int bias, residual; /* indices into step->in, or -1 */
    bool residual_last;
    takt_gemm_act act;
    takt_map_fn *last; /* hard_swish or another function of one value, after all of that; or NULL */
    int number;        /* the other operand of `last`, an index into step->in; -1: it has one */
    bool number_first;
    const takt_map_program *program; /* NULL: the fields above say everything */
    size_t columns;
} takt_cpu_epilogue;

/* NULL if element-wise `node` may be fused after `anchor`, whose result has the same shape. */
const char *takt_epilogue_absorbs(const takt_graph *g, takt_id anchor, takt_id node);
/* From p->group->nodes[1..]; adds their inputs to the step, and its one output. */
TAKT_MUST_USE takt_status takt_epilogue_compile(takt_planner *p, size_t columns,
                                                takt_cpu_epilogue *e);
/* The same for a value that stays inside the step: without the output. */
TAKT_MUST_USE takt_status takt_epilogue_inner(takt_planner *p, size_t columns,
                                              takt_cpu_epilogue *e);

/* One task's use of it, on the stack. */
typedef struct takt_epilogue_run {
    const takt_cpu_epilogue *epilogue;
    const takt_step *step;
    const takt_task *task;
    void *registers;    /* takt_epilogue_scratch() bytes */
    size_t row, column; /* of the result's element that the kernel calls (0, 0) */
} takt_epilogue_run;

size_t takt_epilogue_scratch(const takt_cpu_epilogue *e);
/* Arguments of a gemm_f32 kernel; `run` must outlive the call. False: nothing to do. */
bool takt_epilogue_f32_for(takt_epilogue_run *run, takt_epilogue_f32 *out);
/* The product with its epilogue, or with NULL. */
void takt_epilogue_product(takt_gemm_f32_fn *run, takt_gemm_f32 *g, const takt_epilogue_f32 *e);
/* The epilogue of a product whose kernel has none, on a block that is complete. */
void takt_epilogue_finish(takt_epilogue_run *run, const takt_conv_block *block);

#endif
