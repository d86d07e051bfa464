/* twins_sign.c - what steps see of the nodes of their groups. */
#include "base/hash.h"
#include "ir/attr.h"
#include "op/ops.h"
#include "plan/twins_fields.h"

/* The description of a node alone, without values of constants. */
static uint64_t sign_of(const takt_builder *b, const takt_graph *named, takt_id id)
{
    const takt_node *n = &named->nodes[id];
    const takt_id root = b->root[id];
    const uint32_t buffer = b->p.plan->buffer_of[root];
    uint64_t h = takt_hash_word(n->in_count, (uint64_t)(uintptr_t)n->op);
    for (size_t k = 0; n->op != &takt_op_constant && k < takt_op_attr_count(n->op); k++)
        h = n->attr[k].is_set ? takt_attr_hash(&n->op->attrs[k], &n->attr[k], h)
                              : takt_hash_word(h, k);
    for (uint32_t k = 0; k < n->out_count; k++) {
        h = takt_hash_word(h, (uint64_t)n->type[k].dtype);
        h = takt_hash_bytes(h, n->type[k].dim, (size_t)n->type[k].rank * sizeof *n->type[k].dim);
    }
    h = takt_hash_word(h, b->uses[id] > 1); /* steps only distinguish one reader from several */
    h = takt_hash_word(h, (uint64_t)b->is_constant[id] | (uint64_t)(root == id) << 1 |
                              (uint64_t)b->is_alias[id] << 2 |
                              (uint64_t)(b->output_of[root] != UINT32_MAX) << 3 |
                              (uint64_t)(b->group_index[id] < 0) << 4);
    return takt_hash_word(h, buffer == UINT32_MAX ? 99 : b->p.plan->buffers[buffer].place);
}

/* The properties of a value that a step sees without inspecting its producer. */
static uint64_t outside_of(const takt_builder *b, const takt_graph *named, takt_id id)
{
    const takt_type *type = takt_type_of(named, id);
    const uint64_t h = takt_hash_word((uint64_t)type->dtype, b->is_constant[id]);
    return takt_hash_bytes(h, type->dim, (size_t)type->rank * sizeof *type->dim);
}

/* Steps inspect their inputs, the operations that make those, and the types of their operands. */
void takt_twins_sign(takt_twins *t, const takt_builder *b, const takt_graph *named)
{
    for (size_t i = 0; i < named->count; i++) {
        const takt_node *n = &named->nodes[i];
        uint64_t h = sign_of(b, named, (takt_id)i);
        for (uint32_t k = 0; k < n->in_count; k++)
            h = takt_hash_word(h, n->in[k] == TAKT_NONE ? k : outside_of(b, named, n->in[k]));
        t->next[i] = h;
    }
    for (size_t i = 0; i < named->count; i++) {
        const takt_node *n = &named->nodes[i];
        uint64_t h = t->next[i];
        for (uint32_t k = 0; k < n->in_count; k++)
            h = takt_hash_word(h, n->in[k] == TAKT_NONE ? k : t->next[n->in[k]]);
        t->signs[i] = h;
    }
}
