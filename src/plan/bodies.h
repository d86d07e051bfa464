/* bodies.h - subgraphs of the graph that plans of all sizes are made from.
 *
 * The passes run over a subgraph once, on names, when a plan first needs it; the result is a basis
 * like that of the whole graph. A plan for another size substitutes numbers, runs no pass and packs
 * no weight. */
#ifndef TAKT_PLAN_BODIES_H
#define TAKT_PLAN_BODIES_H

#include "plan/backend.h"
#include "plan/basis.h"

typedef struct takt_body {
    takt_id node;      /* that the subgraph is an attribute of */
    uint32_t attr;     /* which one */
    takt_basis *basis; /* NULL: no plan has needed it yet */
} takt_body;

/* Lists the subgraphs of `b`, whose template exists. */
TAKT_MUST_USE takt_status takt_bodies_create(takt_basis *b);
void takt_bodies_destroy(takt_basis *b);
/* The basis of the plan of subgraph `g` of the step's node; NULL: it is made from `g`. */
TAKT_MUST_USE takt_status takt_bodies_get(const takt_planner *p, const takt_graph *g,
                                          takt_basis **basis);

/* The settings of a subgraph's plan. */
takt_plan_settings takt_child_settings(const takt_plan_settings *parent);
/* All passes over a subgraph. */
TAKT_MUST_USE takt_status takt_child_prepare(takt_ctx *ctx, const takt_plan_settings *s,
                                             const takt_graph *from, takt_graph **out);

#endif
