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
    uint32_t references;          /* under the context's lock, as the next three */
    takt_basis *next, **previous; /* in its list; previous NULL: in none */
    char *key;
    size_t key_bytes;
    takt_template *template;
    takt_packs *packs;
};

/* Retains `graph`, whose dimensions may be names. */
TAKT_MUST_USE takt_status takt_basis_create(takt_graph *graph, const char *key, takt_basis **basis);
void takt_basis_retain(takt_basis *b);
void takt_basis_release(takt_basis *b); /* accepts NULL */

/* The one of that key, retained, or NULL. */
takt_basis *takt_basis_find(takt_ctx *ctx, takt_basis **list, const char *key);
/* Others find it from now on. */
void takt_basis_list(takt_basis *b, takt_basis **list);
/* Empties a list; plans keep what they use. */
void takt_basis_forget(takt_ctx *ctx, takt_basis **list);

#endif
