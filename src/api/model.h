/* model.h - what a model holds. */
#ifndef TAKT_API_MODEL_H
#define TAKT_API_MODEL_H

#include <takt/model.h>

#include "base/inner.h"
#include "io/read.h"
#include "ir/graph.h"
#include "plan/plan.h"

struct takt_model {
    takt_ctx *ctx;
    takt_arena arena;
    takt_graph *graph;
    takt_graph *training; /* the same in training mode, if it was loaded for that; or NULL */
    takt_tensor *slots;   /* the value of each slot of the graph */
    takt_desc *inputs, *outputs;
    uint64_t seed;            /* of the slots' random initial values */
    bool maps;                /* files of weights are mapped */
    _Atomic uint64_t key;     /* digest of all of it; 0: not computed yet */
    const char *lineage;      /* of a compiled model, in the arena; or NULL */
    struct takt_basis *bases; /* shared data of plans of other sizes, while they live: basis.h */
};

/* The initial value of a slot; none for a type that is not concrete. */
TAKT_MUST_USE takt_status takt_slot_fill(takt_ctx *ctx, const takt_slot *slot, uint64_t seed,
                                         takt_tensor *out);
/* A digest of the graph and all values of its slots, computed once; 0 if out of memory. */
uint64_t takt_model_digest(const takt_model *model);
/* A model of a graph, whose ownership is taken even on failure. On failure `*model` is NULL. */
TAKT_MUST_USE takt_status takt_model_make(takt_ctx *ctx, takt_graph *graph, uint64_t seed,
                                          takt_model **model);
/* A model of `graph`, whose ownership is taken even on failure: slots that `from` has, with the
 * same type, get its values, others their initial ones. */
TAKT_MUST_USE takt_status takt_model_derive(const takt_model *from, takt_graph *graph,
                                            takt_model **out);
/* takt_model_batch with an input "active": samples whose state advances (pass/pass.h). */
TAKT_MUST_USE takt_status takt_model_batch_active(const takt_model *model, const char *dim,
                                                  takt_model **batched);
/* takt_model_load that also lists the nodes that are refused; `refusals` may be NULL. */
TAKT_INNER TAKT_MUST_USE takt_status takt_model_load_listing(takt_ctx *ctx, const char *path,
                                                             const takt_load_options *options,
                                                             takt_refusals *refusals,
                                                             takt_model **model);
/* "batch=8,seq=128" into sizes by index of dims' names; -1 where nothing is given. `*sizes` is in
 * `arena`. Ranges are refused. */
TAKT_INNER TAKT_MUST_USE takt_status takt_parse_sizes(takt_ctx *ctx, takt_arena *arena,
                                                      const takt_dims *dims, const char *text,
                                                      int64_t **sizes, size_t *count);
/* The same with ranges, "seq=1..512"; -1 at both ends where none is given. */
TAKT_MUST_USE takt_status takt_parse_ranges(takt_arena *arena, const takt_dims *dims,
                                            const char *text, takt_size_range **ranges,
                                            size_t *count);
/* Adds the ranges of sizes that depend on values; `bounds` are the caller's limits for them. */
TAKT_MUST_USE takt_status takt_lengths_range(const takt_model *m, const char *bounds,
                                             takt_arena *arena, takt_size_range *ranges,
                                             size_t count);
/* Descriptions of ports, in `arena`. */
TAKT_MUST_USE takt_status takt_describe_ports(takt_arena *arena, const takt_graph *g,
                                              const takt_port *ports, size_t count,
                                              takt_desc **out);
/* "a,b" as names in `arena`; NULL is an empty list. */
TAKT_MUST_USE takt_status takt_split_names(takt_arena *arena, const char *text,
                                           const char *const **names, size_t *count);
#endif
