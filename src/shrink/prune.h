/* prune.h - a pruning in progress: units, their value, and the graph without some of them. */
#ifndef TAKT_SHRINK_PRUNE_H
#define TAKT_SHRINK_PRUNE_H

#include <takt/shrink.h>

#include "api/model.h"
#include "shrink/groups.h"

/* Sets of channels that a layer is the first to produce. Layers that are concatenated share axes,
 * but each has its own sets. */
typedef struct takt_prune_group {
    const char *name;   /* of that layer */
    size_t axis, axes;  /* of the list of groups.h, where its sets are: the first, and how many */
    bool is_start;      /* these axes were reached from this layer */
    size_t units, gone; /* sets of channels, and those to remove */
} takt_prune_group;

typedef struct takt_pruning {
    takt_ctx *ctx;
    const takt_model *model;
    takt_prune_options o;
    takt_arena arena;
    takt_groups sets;
    takt_prune_group *groups;
    size_t group_count;
    double *importance; /* per element that represents its set */
    bool *is_gone;      /* likewise */
    uint32_t *owner;    /* likewise: its group + 1; 0: no layer produces it */
    takt_graph *pruned;
    takt_prune_summary summary;
} takt_pruning;

/* The value of a leaf: a constant, or a slot that no run changes or that has a first value; NULL if
 * it has none. */
const takt_tensor *takt_prune_value(const takt_pruning *p, takt_id id);
/* Fills `worth` by the criterion. */
TAKT_MUST_USE takt_status takt_prune_judge(takt_pruning *p);
/* The same by gradients on the data. */
TAKT_MUST_USE takt_status takt_prune_taylor(takt_pruning *p);
/* Marks the sets that go, by their value. */
TAKT_MUST_USE takt_status takt_prune_choose(takt_pruning *p);
/* Makes `pruned` without the removed channels. */
TAKT_MUST_USE takt_status takt_prune_build(takt_pruning *p);
/* Sets the smallest weights to zero instead: makes `pruned`, and counts them. */
TAKT_MUST_USE takt_status takt_prune_zeros(takt_pruning *p);
TAKT_MUST_USE takt_status takt_prune_report(takt_pruning *p, takt_format format, takt_sink_fn *sink,
                                            void *user);

#endif
