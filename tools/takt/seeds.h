/* seeds.h - the figures that the performance guides state, compared with this machine. */
#ifndef TAKT_TOOL_SEEDS_H
#define TAKT_TOOL_SEEDS_H

#include "measure.h"

enum { SEED_CLAIMS = 3 };

typedef enum seed_verdict {
    SEED_MET,
    SEED_NOT_MET,
    SEED_IMPOSSIBLE,
    SEED_INCONCLUSIVE, /* the claim is within the interval */
} seed_verdict;

/* A model, and its times in microseconds according to a guide. */
typedef struct seed_claim {
    const char *name, *text, *sizes;
    const char *guide;
    struct {
        const char *who;
        double us;
    } claims[SEED_CLAIMS]; /* the strictest first */
} seed_claim;

extern const seed_claim seed_claims[];
extern const size_t seed_claim_count;
/* The element type that its model computes in. */
const char *seed_dtype(const seed_claim *c);
/* By name; never NULL for names of the table. */
const seed_claim *seed_find(const char *name);

/* One model as measured. */
typedef struct seed_row {
    takt_profile_summary s;
    takt_plan_info info;
    double load_ns, plan_ns, first_ns;
} seed_row;

typedef struct seed_job {
    takt_tool *t;
    takt_ceilings ceilings;
    uint64_t max_ns;
    int threads; /* 0: one per core */
    bool json;
    bool has_item; /* of a JSON list */
    size_t missed; /* figures that are possible here but not met */
} seed_job;

/* Measures `text` on a backend (NULL: cpu) with this many threads (0: one per core). */
int seed_measure(seed_job *j, const seed_claim *c, const char *backend, int threads, seed_row *r);
/* `code`; after an interrupt the open JSON list is closed, so that the output can be read */
int seed_close_list(const seed_job *j, int code);
/* By both ends of the interval; all in the unit of the claim. */
seed_verdict seed_judge(takt_interval measured, double floor, double claim);
/* A row against one of its claims. */
seed_verdict seed_judge_row(const seed_row *r, double claim_us);
/* "12.3 us". */
const char *seed_time(double ns, char to[32]);
const char *seed_verdict_name(seed_verdict v);

/* The parts of the report, each with its heading or JSON key. */
int seed_times(seed_job *j);
int seed_backends(seed_job *j);
int seed_batching(seed_job *j);
int seed_ladder(seed_job *j);
int seed_metrics(seed_job *j);
/* The user's own: Metric, Target, Achieved. */
int seed_targets(seed_job *j, const char *path);

#endif
