/* variants.h - plans of a loop's body for sizes that its own plan cannot be given (repeat.h).
 *
 * They are kept, and run in the arena of an iteration. One that needs a larger arena runs in one
 * that all of them share; if the model's plan has a memory limit, such sizes are refused
 * instead. */
#ifndef TAKT_PLAN_VARIANTS_H
#define TAKT_PLAN_VARIANTS_H

#include "plan/plan.h"

enum { TAKT_VARIANTS = 16 };

typedef struct takt_variant {
    takt_plan *plan;
    int64_t *sizes;
    void **base; /* room for pointers, one per buffer */
} takt_variant;

typedef struct takt_variants {
    const takt_plan *top; /* of the largest sizes: an iteration's arena has its size */
    takt_variant kept[TAKT_VARIANTS];
    size_t next;          /* the one to replace */
    unsigned char *spare; /* the shared arena, or NULL */
    size_t spare_bytes;
    bool is_limited;
} takt_variants;

void takt_variants_deinit(takt_variants *all);
/* The plan of these sizes, made if necessary; a failure is recorded in the context. */
TAKT_MUST_USE takt_status takt_variants_get(takt_variants *all, const int64_t *sizes,
                                            const takt_variant **out);
/* Where it runs: in `own`, the arena of the iteration, if that is large enough. */
TAKT_MUST_USE takt_status takt_variants_arena(takt_variants *all, const takt_variant *v,
                                              unsigned char *own, unsigned char **arena);

#endif
