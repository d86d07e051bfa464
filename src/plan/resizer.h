/* resizer.h - the fields of a resizer: resize.c makes one, resize_set.c gives it sizes. */
#ifndef TAKT_PLAN_RESIZER_H
#define TAKT_PLAN_RESIZER_H

#include "plan/answers.h"
#include "plan/builder.h"
#include "plan/kept.h"
#include "plan/reach.h"
#include "plan/resize.h"
#include "plan/twins.h"
#include "plan/visits.h"

struct takt_resizer {
    takt_ctx *ctx;
    takt_plan *plan;
    takt_plan_settings settings;
    takt_builder b;              /* lives on with the plan */
    takt_answers answers, sized; /* of steps; of constants that depend on sizes */
    void **bases;                /* of constants, per buffer */
    void *constant_scratch;      /* for steps that compute them */
    size_t constant_scratch_bytes;
    takt_id *root; /* as they are at the largest sizes: aliases stay what they are */
    unsigned char *is_alias;
    size_t *room, *scratch;      /* bytes per buffer, per step */
    int64_t *cells, *sizes;      /* of the size program; the sizes that are set */
    int64_t *wanted;             /* requested sizes of a subgraph */
    takt_kept *kept;             /* steps of sizes used before */
    const takt_names *reach;     /* per node: names that its step depends on */
    size_t *after, *sized_after; /* per step, per constant one: answers up to its end */
    takt_twins *twins;           /* steps that are copied from others; found once has_after */
    takt_visits visits;          /* likewise: steps by the sizes that they depend on */
    takt_names changed;          /* since the sizes that are set */
    bool has_after;              /* all of them */
    bool has_aliases;            /* the builder's offsets of aliases are those of these sizes */
    bool is_whole;               /* every step has the current sizes */
    uint64_t compiled;           /* steps so far */
};

static inline takt_kept_source takt_resizer_source(takt_resizer *r)
{
    return (takt_kept_source){r->plan, &r->answers, &r->sized};
}

/* Every step that it has can be replayed. */
static inline bool takt_resizer_is_sizable(const takt_resizer *r)
{
    return !r->answers.is_rigid && !r->sized.is_rigid;
}

#endif
