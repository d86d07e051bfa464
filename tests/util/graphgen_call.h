/* graphgen_call.h - a call drawn from an op's samples, in any element type that the op takes. */
#ifndef TAKT_TESTS_UTIL_GRAPHGEN_CALL_H
#define TAKT_TESTS_UTIL_GRAPHGEN_CALL_H

#include "util/graphgen.h"

typedef struct takt_gen_call {
    takt_graph *sample; /* NULL: the op has no sample that is allowed */
    const takt_node *node;
    takt_type type[TAKT_SAMPLE_INPUTS];          /* of the inputs, rank -1: left out */
    takt_sample_range range[TAKT_SAMPLE_INPUTS]; /* of their values */
} takt_gen_call;

/* Draws a sample and element types for it. `options`: what to avoid; its dtype, if set, must occur
 * among the inputs, or there is no call. */
TAKT_MUST_USE takt_status takt_gen_call_init(takt_ctx *ctx, takt_random *random, const takt_op *op,
                                             const takt_gen_options *options, takt_gen_call *call);
void takt_gen_call_deinit(takt_gen_call *call);

#endif
