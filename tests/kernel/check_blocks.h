/* check_blocks.h - random block-quantised weights for the checks of the kernels that take them. */
#ifndef TAKT_TESTS_KERNEL_CHECK_BLOCKS_H
#define TAKT_TESTS_KERNEL_CHECK_BLOCKS_H

#include "check.h"
#include "kernel/blocks/blocks.h"

/* Slots that they use; a check uses others for the rest. */
enum { BLOCKS_WORDS, BLOCKS_SCALE, BLOCKS_ZERO, BLOCKS_PLAIN, BLOCKS_SLOTS };

typedef struct check_blocks_shape {
    size_t n, k, block;
    unsigned bits;
} check_blocks_shape;

enum {
    BLOCKS_F16 = 1,      /* scales of 16 bits */
    BLOCKS_ZEROS = 2,    /* a zero point for each block */
    BLOCKS_FLOATS = 4,   /* which is a float */
    BLOCKS_EXTREME = 8,  /* all levels are the highest, all zero points the lowest */
    BLOCKS_ODD = 16,     /* scales of all magnitudes, NaN and infinities among them */
    BLOCKS_MANNERS = 32, /* combinations of the above */
};

takt_blocks check_blocks(takt_check *c, check_blocks_shape s, unsigned manner);
/* Scales as models have them, from `least` on, for measuring. */
void check_blocks_usual(float *scale, size_t n, float least);

#endif
