/* conv_finish.c - the epilogue of a product on rows that no product kernel wrote. */
#include "backend/cpu/conv_finish.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float elem;
typedef uint32_t word;
typedef takt_epilogue_f32 epilogue;

#include "kernel/gemm_f32/epilogue.h"

void takt_conv_finish(const takt_epilogue_f32 *e, float *y, size_t rows, size_t columns)
{
    for (size_t r = 0; r < rows; r++)
        finish_row(e, y + r * columns, r, 0, columns);
    if (e->tail != NULL)
        e->tail(e->user, y, columns, 0, 0, rows, columns);
}
