/* kind.h - the search for the kind of step that computes a node, for backends that have several. */
#ifndef TAKT_BACKEND_KIND_H
#define TAKT_BACKEND_KIND_H

#include <stddef.h>

#include "ir/graph.h"

/* NULL if a kind computes the node, else the reason; "" if it needs no explanation. */
typedef const char *takt_accepts_fn(const takt_graph *g, takt_id node);

/* The index of the first of `count` kinds that accepts the node; `accepts` gives the function of
 * each. SIZE_MAX if none does: `*why`, which the caller has set, is then the last reason that was
 * given. */
static inline size_t takt_kind_find(const takt_graph *g, takt_id node,
                                    takt_accepts_fn *accepts(size_t kind), size_t count,
                                    const char **why)
{
    for (size_t i = 0; i < count; i++) {
        const char *refusal = accepts(i)(g, node);
        if (refusal == NULL)
            return i;
        if (refusal[0] != '\0')
            *why = refusal;
    }
    return SIZE_MAX;
}

#endif
