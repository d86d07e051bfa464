/* basis.h - the part that plans of a model share whatever their sizes: the graph after all passes,
 * its dimensions still names, and the constants made from it.
 *
 * A basis lives as long as a plan uses it. A list refers to it without holding it, so that plans of
 * other sizes find it; lists are guarded by the context, because a basis may outlive its model. */
#ifndef TAKT_PLAN_BASIS_H
#define TAKT_PLAN_BASIS_H

#include "base/inner.h"
#include "pass/template.h"
#include "plan/packs.h"

struct takt_basis {
    takt_ctx *ctx;
    uint32_t references;          /* under the lock of the context's plan cache, as all up to key */
    takt_basis *next, **previous; /* in its list; previous NULL: in none */
    takt_basis **list;            /* the list that contains it, if any */
    takt_plan *plans;             /* that were made from it, linked by basis_next */
    uint64_t counted;             /* its memory has been counted in this tick (ir/held.h) */
    uint32_t pins;                /* number of users that will read its constants again */
    bool is_bare; /* constants that no step reads have been freed, and so has everything below */
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

/* The one with that key, retained, or NULL. */
takt_basis *takt_basis_find(takt_ctx *ctx, takt_basis **list, const char *key);
/* Looks in its packs, then in those of others in its list that were made with the same options for
 * other sizes. If true, the tensor must be released. */
bool takt_basis_find_pack(takt_basis *b, const takt_pack_name *name, takt_tensor *tensor);
/* Makes it visible to others. */
void takt_basis_list(takt_basis *b, takt_basis **list);
/* Empties a list; plans keep the data that their steps read, and the rest is freed unless
 * pinned. */
void takt_basis_forget(takt_ctx *ctx, takt_basis **list);
/* Between the two calls, constants that no step reads are kept; false: they have been freed
 * already. */
bool takt_basis_pin(takt_basis *b);
void takt_basis_unpin(takt_basis *b);
/* Sets `*at` to `b`, unless it is set already: then `b` is released. Returns `*at`. */
takt_basis *takt_basis_publish(takt_basis **at, takt_basis *b);
/* What `at` points to, so far. */
takt_basis *takt_basis_peek(takt_ctx *ctx, takt_basis *const *at);
/* Registers a plan made from its basis, and removes it. */
void takt_basis_join(takt_plan *plan);
void takt_basis_leave(takt_plan *plan);
/* Whether the constants of a basis have one user, which may free them while planning. */
bool takt_basis_is_single(takt_basis *b);

/* Data that a plan holds only for making plans of other sizes: graphs, and the weights that these
 * are packed from. With a fresh count, under the lock of the plan cache. */
TAKT_INNER uint64_t takt_tally_kept(struct takt_tally *t, const takt_plan *plan);

#endif
