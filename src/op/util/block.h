/* block.h - inputs and attributes of block_matmul. */
#ifndef TAKT_OP_UTIL_BLOCK_H
#define TAKT_OP_UTIL_BLOCK_H

#include "op/ops.h"

enum {
    TAKT_BLOCK_A,
    TAKT_BLOCK_B,     /* [n, k] */
    TAKT_BLOCK_SCALE, /* [n, blocks] */
    TAKT_BLOCK_ZERO,  /* the same with b's element type, or one for all, or f32; optional */
    TAKT_BLOCK_BIAS,  /* [n]; optional */
    TAKT_BLOCK_INPUTS
};
enum { TAKT_BLOCK_SIZE, TAKT_BLOCK_COMPUTE };
enum { TAKT_BLOCK_FLOAT, TAKT_BLOCK_INT8 };
/* Sums of this many products of 127 and 255 fit in 32 bits. */
enum { TAKT_BLOCK_MOST = 65536 };

#define TAKT_BLOCK_LEVELS                                                                          \
    (TAKT_IN(TAKT_I2) | TAKT_IN(TAKT_U2) | TAKT_IN(TAKT_I4) | TAKT_IN(TAKT_U4) |                   \
     TAKT_IN(TAKT_I8) | TAKT_IN(TAKT_U8))

static inline takt_id takt_block_input(const takt_node *n, size_t which)
{
    return which < n->in_count ? n->in[which] : TAKT_NONE;
}

#endif
