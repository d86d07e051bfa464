/* conv_finish.h - the epilogue of a product on rows that no product kernel wrote. */
#ifndef TAKT_BACKEND_CPU_CONV_FINISH_H
#define TAKT_BACKEND_CPU_CONV_FINISH_H

#include "kernel/gemm_f32/gemm_f32.h"

/* y[rows][columns] is rows [0, rows) of what `e` speaks about; in the order that gemm_f32.h says. */
void takt_conv_finish(const takt_epilogue_f32 *e, float *y, size_t rows, size_t columns);

#endif
