/* sign.h - what a constant is, whichever graph of a model it is a node of: the stored weights that
 * it is computed from, and the operations that do it. */
#ifndef TAKT_PLAN_SIGN_H
#define TAKT_PLAN_SIGN_H

#include "ir/graph.h"

/* Two hashes of all of it. Weights count by their address: equal signs are comparable only while
 * both graphs hold them. */
typedef struct takt_sign {
    uint64_t a, b;
} takt_sign;

static inline bool takt_sign_is_none(takt_sign s)
{
    return s.a == 0 && s.b == 0;
}

static inline bool takt_sign_same(takt_sign s, takt_sign t)
{
    return s.a == t.a && s.b == t.b;
}

/* Per node; none for what depends on inputs, state or, by `is_sized`, on sizes. */
void takt_signs_of(const takt_graph *g, const unsigned char *is_sized, takt_sign *signs);

#endif
