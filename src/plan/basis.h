/* basis.h - what the plans of a model have in common whatever their sizes: the graph after all
 * passes, its dimensions still names, and the constants made from it.
 *
 * A basis lives as long as a plan uses it. A list knows it without holding it, so that plans of
 * other sizes find it; lists are guarded by the context, because a basis may outlive its model.
 */
#ifndef TAKT_PLAN_BASIS_H
#define TAKT_PLAN_BASIS_H

#include "pass/template.h"
#include "plan/packs.h"

struct takt_basis {
    takt_ctx *ctx;
    uint32_t references;          /* under the lock of the context's plan cache, as all up to key */
    takt_basis *next, **previous; /* in its list; previous NULL: in none */
    takt_plan *plans;             /* that were made from it, linked by basis_next */
    uint64_t counted;             /* in the count of memory of this tick (ir/held.h) */
    uint32_t pins;                /* of those who will read its constants again */
    bool is_bare; /* constants that no step reads are gone, and all below with them */
    char *key;
    size_t key_bytes;
    takt_template *template;  /* NULL: of one size */
    takt_packs *packs;        /* or NULL */
    struct takt_body *bodies; /* subgraphs of its graph (bodies.h) */
    size_t body_count, body_capacity;
    bool is_body; /* it is the basis of a subgraph, and runs find sizes in it */
};

/* Retains `graph`, whose dimensions may be names. */
TAKT_MUST_USE takt_status takt_basis_create(takt_graph *graph, const char *key, takt_basis **basis);
/* One of a single plan, which brings its own graph. */
TAKT_MUST_USE takt_status takt_basis_single(takt_ctx *ctx, takt_basis **basis);
void takt_basis_retain(takt_basis *b);
void takt_basis_release(takt_basis *b); /* accepts NULL */

/* The one of that key, retained, or NULL. */
takt_basis *takt_basis_find(takt_ctx *ctx, takt_basis **list, const char *key);
/* Others find it from now on. */
void takt_basis_list(takt_basis *b, takt_basis **list);
/* Empties a list; plans keep what their steps read, and the rest is given back unless pinned. */
void takt_basis_forget(takt_ctx *ctx, takt_basis **list);
/* Between the two, constants stay that no step reads; false: they are gone already. */
bool takt_basis_pin(takt_basis *b);
void takt_basis_unpin(takt_basis *b);
/* A second pointer to it, unless there is one: what `at` points to then is `b` or the one that was
 * there before, and `b` is released. */
takt_basis *takt_basis_publish(takt_basis **at, takt_basis *b);
/* What `at` points to, by now. */
takt_basis *takt_basis_peek(takt_ctx *ctx, takt_basis *const *at);
/* A plan that was made from its basis, and the end of it. */
void takt_basis_join(takt_plan *plan);
void takt_basis_leave(takt_plan *plan);
/* Whether the constants of a basis have one user, who may give them back while planning. */
bool takt_basis_is_single(takt_basis *b);

/* What a plan holds so that plans of other sizes can be made, and its steps do not read: graphs,
 * and the weights that these are packed from. With a fresh count, under the lock of the plan cache.
 */
uint64_t takt_tally_kept(struct takt_tally *t, const takt_plan *plan);

#endif
