/* box.h - samples of ops at random points of random boxes, checked against the bounds of the
 * box. */
#ifndef TAKT_TESTS_UTIL_BOX_H
#define TAKT_TESTS_UTIL_BOX_H

#include "ir/op.h"

typedef struct takt_box_trial {
    takt_ctx *ctx;
    const takt_op *op;
    const char *text;  /* a sample of it */
    const takt_op *as; /* the record that bounds are made with; NULL: the op's own */
    size_t attr_index; /* with `attr`: an attribute that bounds see, instead of the node's own */
    const takt_attr *attr;
    size_t points; /* in each box */
    /* Results: */
    size_t boxes, tried;
    size_t known, all; /* elements with finite bounds, and all, in boxes of numbers */
    size_t violations; /* elements outside their bounds, and runs that failed */
    char first[400];   /* the first of them */
} takt_box_trial;

/* Points are run by the interpreter, by scalar kernels and by the machine's own. */
void takt_box_try(takt_box_trial *t);

#endif
