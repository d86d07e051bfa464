/* grad.h - reverse-mode differentiation, from graph to graph.
 *
 * Every op record gives its own gradient as nodes; one without is differentiated through its
 * lowering. Gradients that meet are added in the order in which reverse execution finds them, so
 * the result is the same every time. The gradient of a gradient is one more call.
 */
#ifndef TAKT_GRAD_GRAD_H
#define TAKT_GRAD_GRAD_H

#include "ir/graph.h"

typedef struct takt_grad_request {
    size_t out_count;
    const takt_id *out;  /* what is differentiated */
    const takt_id *seed; /* incoming gradient of each; NULL or TAKT_NONE: ones */
    size_t in_count;
    const takt_id *in; /* the nodes to differentiate with respect to, anywhere before */
    takt_id *result;   /* receives one gradient per `in`, of its type; zeros if there is none */
} takt_grad_request;

/* Appends the gradients to `g`. TAKT_ERR_UNSUPPORTED if an op on the way has none. */
TAKT_MUST_USE takt_status takt_grad_append(takt_graph *g, const takt_grad_request *request);

/* A copy of `g` with the outputs "grad.<name>" added: the gradient of the sum of `output` with
 * respect to inputs or slots by name; NULL and 0 for all trainable slots. */
TAKT_MUST_USE takt_status takt_grad(takt_ctx *ctx, const takt_graph *g, const char *output,
                                    const char *const *names, size_t name_count, takt_graph **out);

#endif
