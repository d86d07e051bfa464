/* finish.h - the epilogue of a product on rows that no product kernel wrote. */
#ifndef TAKT_BACKEND_CPU_CONV_FINISH_H
#define TAKT_BACKEND_CPU_CONV_FINISH_H

#include "kernel/gemm_f32/gemm_f32.h"

/* A block of rows at y, `ld` floats apart, that is [row, row + rows) by [0, columns) of the result
 * that `e` describes; in the order of gemm_f32.h. */
typedef struct takt_conv_block {
    float *y;
    size_t ld, row, rows, columns;
} takt_conv_block;
void takt_conv_finish(const takt_epilogue_f32 *e, const takt_conv_block *b);

#endif
