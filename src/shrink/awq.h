/* awq.h - scales up weights that multiply large inputs before they are rounded. */
#ifndef TAKT_SHRINK_AWQ_H
#define TAKT_SHRINK_AWQ_H

#include "shrink/gptq.h"

typedef struct takt_awq_request {
    const takt_quant_kind *kind;
    bool (*keeps)(void *user, const char *layer); /* layers that are not rounded; or NULL */
    void *keeps_user;
} takt_awq_request;

/* Channel j of a value (rescale.h) is divided by s = size(x_j)^alpha, and the weights that read it
 * are multiplied by it: their rounding errors count for less in the product (J. Lin and others,
 * 2023). The size is the root of the mean square on the data, and alpha the one of 0, 0.05 ... 1
 * that changes the results of the layers that read the value least. `*base` is replaced. */
TAKT_MUST_USE takt_status takt_shrink_awq(takt_feed *f, takt_graph **base,
                                          const takt_awq_request *request);

#endif
