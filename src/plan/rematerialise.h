/* rematerialise.h - which steps run twice, so that their results need not be kept in between. */
#ifndef TAKT_PLAN_REMATERIALISE_H
#define TAKT_PLAN_REMATERIALISE_H

#include "base/inner.h"
#include "plan/plan.h"

/* A point of the trade-off between time and memory. */
typedef struct takt_remat_point {
    size_t arena; /* bytes, as estimated */
    double time;  /* estimated time of a run over that without repetitions */
    size_t steps; /* steps that run twice */
} takt_remat_point;

typedef struct takt_remat {
    takt_arena memory;
    takt_remat_step *remat; /* in the order of insertion; in `memory` */
    size_t remat_count;
    takt_remat_point *points; /* before the first repetition, and after each; in `memory` */
    size_t point_count;
} takt_remat;

/* Whether a graph updates trainable parameters. */
bool takt_is_training_graph(const takt_graph *g);
/* What repetitions may cost by the cost model; 0: no limit. */
typedef struct takt_remat_limit {
    double time;  /* of a step, over that of the plan */
    double price; /* share of the time for a share of the arena */
} takt_remat_limit;

/* Finds repetitions that bring the arena of a plan, which may be dry, down to `target` bytes, those
 * with the least cost per freed byte first; the target may not be reached. `limit` may be NULL.
 * Call _deinit even after a failure. */
TAKT_MUST_USE takt_status takt_remat_find(const takt_plan *plan, size_t target,
                                          const takt_remat_limit *limit, takt_remat *found);
void takt_remat_deinit(takt_remat *found);
/* A plan of a training step. Values that cost next to nothing to rematerialise are computed twice;
 * so are as many others as needed to meet the limit of the settings, and with `recomputes` to need
 * the least memory. */
TAKT_MUST_USE takt_status takt_plan_fit(takt_ctx *ctx, takt_graph *graph,
                                        const takt_plan_settings *settings, takt_plan **plan);
/* Whether planning reads large constants although none is packed: then it needs the model. */
bool takt_plan_reads_constants(const takt_graph *g);
/* Memory against time of a training step that is planned like `plan`, from the fastest to the
 * smallest, at most `most` points; none if that is no longer known. */
TAKT_INNER TAKT_MUST_USE takt_status takt_plan_points(const takt_plan *plan, size_t most,
                                                      takt_remat_point *points, size_t *count);

#endif
