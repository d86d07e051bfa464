/* reduce_op.h - which kernels of reductions a node needs. */
#ifndef TAKT_BACKEND_CPU_REDUCE_OP_H
#define TAKT_BACKEND_CPU_REDUCE_OP_H

#include "ir/graph.h"
#include "kernel/reduce/reduce.h"

/* TAKT_REDUCE_OP_COUNT: the node is not a reduction. */
takt_reduce_op takt_reduce_op_of(const takt_node *n);
/* The type that elements are read in: narrow ones are widened. */
takt_dtype takt_reduce_compute(takt_dtype dtype);
/* The family of kernels that reads such elements. */
const char *takt_reduce_family(takt_dtype compute);

#endif
