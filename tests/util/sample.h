/* sample.h - a sample of an op record with values for its inputs, ready to be evaluated. */
#ifndef TAKT_TESTS_UTIL_SAMPLE_H
#define TAKT_TESTS_UTIL_SAMPLE_H

#include "interp/interp.h"
#include "util/random_array.h"

typedef struct takt_sample {
    takt_ctx *ctx;
    takt_graph *graph;
    takt_id node; /* the call itself */
    takt_sample_ranges ranges;
    takt_arena arena;
    size_t count;     /* of inputs */
    takt_array *in;   /* values of the graph's inputs */
    takt_array *args; /* the same in the order of the node's */
} takt_sample;

/* Builds the sample and draws its inputs. `widen`: with float inputs as f64. */
TAKT_MUST_USE takt_status takt_sample_init(takt_ctx *ctx, const takt_op *op, const char *text,
                                           bool widen, takt_sample *s);
void takt_sample_deinit(takt_sample *s);

/* The largest difference, in units of 1 + |a|; integers: infinite where they differ. NaNs are
 * equal. */
double takt_array_distance(const takt_array *a, const takt_array *b);

/* The greatest disagreement of the gradient with central differences, in units of 1 + |value|.
 * `*where` says where it is. The inputs and results must be f64 or no floats at all. */
enum { TAKT_WHERE = 64 };
TAKT_MUST_USE takt_status takt_sample_check_grad(takt_sample *s, double *distance,
                                                 char where[static TAKT_WHERE]);
/* The same for the gradient of the gradients, along one direction. TAKT_ERR_UNSUPPORTED if an op
 * that the gradient consists of has none. */
TAKT_MUST_USE takt_status takt_sample_check_second(takt_sample *s, double *distance);
/* Whether they make sense: some f64 input and result, and no narrower float. */
bool takt_sample_is_smooth(const takt_sample *s);

#endif
