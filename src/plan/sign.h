/* sign.h - identifies a constant in any graph of a model: by the stored weights that it is computed
 * from, and the operations on them. */
#ifndef TAKT_PLAN_SIGN_H
#define TAKT_PLAN_SIGN_H

#include "ir/graph.h"

/* Two hashes of all that. Weights count by their address: signs are comparable only while both
 * graphs hold them. */
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

/* Per node; none if it depends on inputs, state or, by `is_sized`, on sizes. */
void takt_signs_of(const takt_graph *g, const unsigned char *is_sized, takt_sign *signs);

#endif
