/* sign.c - hashes of constants, from the leaves on. */
#include "plan/sign.h"

#include "base/hash.h"
#include "ir/attr.h"
#include "op/ops.h"

static takt_sign mix(takt_sign s, uint64_t word)
{
    return (takt_sign){takt_hash_word(s.a, word), takt_hash_word(s.b, word)};
}

/* Nodes that differ each time, have subgraphs, or read something from outside. */
static bool is_own(const takt_node *n)
{
    return (n->op->traits & (TAKT_UNIQUE | TAKT_CONTROL)) != 0 ||
           ((n->op->traits & TAKT_LEAF) != 0 && n->op != &takt_op_constant);
}

static takt_sign sign_of(const takt_node *n, const takt_sign *signs)
{
    takt_sign s = {1, 2};
    s = mix(s, (uint64_t)(uintptr_t)n->op);
    for (uint32_t k = 0; k < n->in_count; k++) {
        const takt_sign in = n->in[k] == TAKT_NONE ? s : signs[n->in[k]];
        if (takt_sign_is_none(in))
            return in;
        s = mix(mix(s, in.a), in.b);
    }
    for (size_t k = 0; k < takt_op_attr_count(n->op); k++) {
        const takt_attr_def *def = &n->op->attrs[k];
        s = mix(s, n->attr[k].is_set);
        if (n->attr[k].is_set)
            s = (takt_sign){takt_attr_hash(def, &n->attr[k], s.a),
                            takt_attr_hash(def, &n->attr[k], s.b)};
    }
    for (uint32_t k = 0; k < n->out_count; k++) {
        s = mix(mix(s, (uint64_t)n->type[k].dtype), (uint64_t)n->type[k].rank);
        for (int d = 0; d < n->type[k].rank; d++)
            s = mix(s, (uint64_t)n->type[k].dim[d]);
    }
    return s;
}

void takt_signs_of(const takt_graph *g, const unsigned char *is_sized, takt_sign *signs)
{
    for (size_t i = 0; i < g->count; i++)
        signs[i] =
            is_own(&g->nodes[i]) || is_sized[i] ? (takt_sign){0} : sign_of(&g->nodes[i], signs);
}
