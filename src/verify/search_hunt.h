/* search_hunt.h - the data of a search: pending parts, and the threads' working memory. */
#ifndef TAKT_VERIFY_SEARCH_HUNT_H
#define TAKT_VERIFY_SEARCH_HUNT_H

#include "verify/alpha.h"
#include "verify/joint.h"
#include "verify/leaf.h"
#include "verify/points.h"
#include "verify/search.h"

/* A relu that may be split, and the loss of its lines. */
typedef struct takt_candidate {
    uint32_t relu, element;
    double loss, left, pull, slope; /* left: its slope below 0; pull: its coefficient in the row */
} takt_candidate;

enum { TAKT_BRANCH_TRIED = 8 };

typedef struct takt_branch {
    takt_candidate at[TAKT_BRANCH_TRIED]; /* the largest loss first */
    size_t count;
} takt_branch;

/* A part that is pending, or being bounded: a box, or a side of relus over the whole box. */
typedef struct takt_job {
    uint32_t split;       /* its place in the group's tree */
    uint32_t relu, input; /* where to split it */
    size_t open_count, proved_count;
    double bound, sure;      /* of cases that were open; of those that are proved */
    bool is_done, is_broken; /* it was bounded; x violates case `broken` in the net */
    bool is_hollow; /* its sides cancel the row: it can be proved only by showing that it is
                     * empty */
    uint32_t broken;
    takt_candidate split_at; /* of relu and input */
    double *lo, *hi, *x;
    double *nodes;           /* bounds of nodes over the parent part */
    double *slopes, *beta;   /* of relus, if these are split: the initial values for its halves */
    uint32_t *open, *proved; /* cases */
} takt_job;

enum { TAKT_HUNT_BATCH = 64 };

typedef struct takt_hunt {
    const takt_net *net;
    const takt_property *p;
    const takt_property *given; /* the same, with boxes as stated: for attacks */
    const takt_search_options *o;
    takt_search *s;
    takt_group *group;
    uint64_t end_ns;
    takt_region *regions; /* one per thread */
    takt_goal **goals;    /* one per thread and case */
    double **scores, **outputs;
    bool is_whole; /* the first region has the bounds of the group's whole box */
    int threads;
    takt_job **stack;
    size_t count, capacity;
    takt_job *batch[TAKT_HUNT_BATCH];
    size_t batch_count;
    size_t undecided; /* parts too narrow to split */
    /* Splits of inputs. */
    takt_joint *joints;   /* one per thread; NULL: half-spaces are handled one by one */
    takt_points *samples; /* one per thread; NULL: none */
    bool has_reach;       /* regions record how far inputs move nodes */
    size_t node_count;    /* elements whose bounds halves inherit */
    /* Splits of relus. */
    bool by_relus, in_tree; /* they are split; they are being split */
    uint64_t box_end_ns;    /* for slopes of the whole box */
    bool has_base;          /* bounds of the whole box are kept: */
    takt_region base;       /* lo, hi, error */
    double **products;      /* per node: the result of takt_products_kept; NULL: nothing */
    takt_alpha **alphas;    /* one per thread; NULL until the first split */
    double ***warm;         /* per thread and node: slopes of the current part */
    takt_side **sides;      /* per thread */
    takt_leaf *leaves;      /* per thread */
    size_t slope_count;     /* elements of all relus */
} takt_hunt;

/* Whether the time is over, or the search was cancelled; `user` is the hunt. */
bool takt_hunt_is_late(const void *user);
/* Decides the cases of h->group, if it can. */
TAKT_MUST_USE takt_status takt_hunt_group(takt_hunt *h, bool *is_over);
/* Bounds part `task` of the batch; the hunt is `user`. */
void takt_hunt_bound(void *user, size_t task, int thread);
/* The threads' data for splits of inputs: halves inherit bounds, and half-spaces are handled
 * jointly, unless a certificate is written: its checker bounds each box alone. */
TAKT_MUST_USE takt_status takt_hunt_boxes(takt_hunt *h);
/* Memory for the effect of inputs on the bounded nodes of a region. */
TAKT_MUST_USE takt_status takt_hunt_reach(const takt_hunt *h, takt_region *r);
/* The bounds of the whole box: from `r`, or from both. */
TAKT_MUST_USE takt_status takt_hunt_keep(takt_hunt *h, const takt_region *r);
/* Whether splitting relus suffices: nothing else bends, inputs are a box, and each case has one
 * half-space. Otherwise an undecided part needs splits of inputs. */
bool takt_hunt_has_few(const takt_hunt *h);
/* The threads' data for splits of relus. */
TAKT_MUST_USE takt_status takt_hunt_relus(takt_hunt *h);
/* Sets the region of a thread to the part: the whole box, and relus on one side. */
void takt_hunt_enter(takt_hunt *h, takt_job *j, int thread);
/* Chooses the split of the part and the initial values of its halves, from the row that was bounded
 * last. A part that turns out to be hollow is bounded again. */
void takt_hunt_leave(takt_hunt *h, takt_job *j, takt_goal *goal, int thread);
/* The relus of the row that lose most. */
void takt_branch_find(const takt_region *r, size_t row, takt_branch *b);
/* The one of them to split, in j->relu: UINT32_MAX if there is none. The part has its slopes and
 * multipliers, and the region its sides. */
void takt_branch_choose(takt_hunt *h, takt_job *j, const takt_goal *goal, const takt_branch *b,
                        int thread);
/* The multiplier that gives a half the line that the part had below the relu, so that no half
 * begins with a worse bound. */
double takt_branch_beta(const takt_candidate *c, int side);
/* Bounds the first open case of a part that has no relu left to split, with the best
 * multipliers. */
void takt_hunt_leaf(takt_hunt *h, takt_job *j, takt_goal *goal, int thread);
/* Keeps the slopes and multipliers that prove the part, for a certificate. */
TAKT_MUST_USE takt_status takt_hunt_record(takt_hunt *h, const takt_job *j, takt_split *s);
/* Splits on the way to the part. */
size_t takt_hunt_depth(const takt_group *g, uint32_t split);

#endif
