/* batch.h - shared by the files of the pass that turns a model of one sample into one of many. */
#ifndef TAKT_PASS_BATCH_H
#define TAKT_PASS_BATCH_H

#include "pass/pass.h"

typedef struct takt_batcher {
    const takt_graph *in;
    takt_graph *out;
    takt_arena arena;
    takt_dim dim; /* the new one */
    bool wants_active;
    takt_id active;         /* which samples are active; TAKT_NONE: all */
    takt_id *map;           /* per node of `in` */
    unsigned char *is_many; /* per node of `in`: it has the new dimension in `out` */
} takt_batcher;

/* One node whose inputs are known; at least one of them has the new dimension. */
typedef struct takt_batch_node {
    takt_batcher *b;
    const takt_node *n; /* of `in` */
    const takt_id *in;  /* ids of `out`, TAKT_NONE where left out */
    const bool *many;   /* which of them have the new dimension */
} takt_batch_node;

/* The node for all samples at once, or TAKT_NONE if no rule knows it: then it runs once for each.
 */
takt_id takt_batch_rule(const takt_batch_node *x);
/* [dim] before the dimensions of `type`. */
takt_type takt_batch_type(const takt_batcher *b, const takt_type *type);

#endif
