/* finish.c - the epilogue of a product on rows that no product kernel wrote. */
#include "backend/cpu/conv/finish.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float elem;
typedef uint32_t word;
typedef takt_epilogue_f32 epilogue;

#include "kernel/gemm_f32/epilogue.inc"

void takt_conv_finish(const takt_epilogue_f32 *e, const takt_conv_block *b)
{
    const bool is_tail = e->bias == NULL && e->residual == NULL && e->act == TAKT_GEMM_ACT_NONE;
    for (size_t r = 0; r < b->rows && !is_tail; r++)
        finish_row(e, b->y + r * b->ld, b->row + r, 0, b->columns);
    if (e->tail != NULL)
        e->tail(e->user, b->y, b->ld, b->row, 0, b->rows, b->columns);
}
