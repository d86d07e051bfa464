/* entropy.h - the parts of cross_entropy. */
#ifndef TAKT_OP_UTIL_ENTROPY_H
#define TAKT_OP_UTIL_ENTROPY_H

#include "op/util/loss.h"
#include "op/util/reduce.h"

enum { TAKT_CE_SMOOTHING = TAKT_LOSS_REDUCTION + 1, TAKT_CE_IGNORE };

typedef struct takt_entropy {
    takt_reduction classes; /* the last axis, kept */
    takt_id log_p;          /* log_softmax of the widened logits */
    takt_id labels;         /* widened; ignored class numbers are replaced by 0 */
    takt_id counts;         /* bool per row, TAKT_NONE if none is ignored */
    double smoothing;
    bool is_soft; /* labels are distributions */
} takt_entropy;

/* For a node whose first inputs are logits and labels. */
takt_entropy takt_entropy_make(takt_graph *g, const takt_node *n, double smoothing,
                               const takt_attr *ignore);
/* The loss of every row, 0 where it is ignored. */
takt_id takt_entropy_rows(takt_graph *g, const takt_entropy *ce);
/* Number of rows that count, as a scalar of the dtype of `like`. */
takt_id takt_entropy_count(takt_graph *g, const takt_entropy *ce, takt_id like);
/* A gradient per row, or one for all, shaped to broadcast against the logits; 0 where ignored. */
takt_id takt_entropy_seed(takt_graph *g, const takt_entropy *ce, takt_id dy);
/* The distribution that the labels represent, smoothed, in the shape of the logits. */
takt_id takt_entropy_target(takt_graph *g, const takt_entropy *ce);
takt_status takt_entropy_eval(takt_eval *e);

#endif
