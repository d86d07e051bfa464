/* converted.c - conversions between f32 and 16 bits that their readers make as they read.
 *
 * In mixed precision a value in 16 bits is widened for sums in f32, and weights in f32 are rounded
 * for products. Where every reader converts what it reads piece by piece, the conversion is not a
 * step and its result takes no memory: the node is a view of its input in the input's type.
 * Element-wise readers alone do not count: a conversion that only they read is fused into their
 * step. */
#include "ir/before.h"
#include "op/ops.h"
#include "plan/builder.h"
#include "plan/rematerialise.h"

static bool is_half(takt_dtype dtype)
{
    return dtype == TAKT_F16 || dtype == TAKT_BF16;
}

static bool is_conversion(const takt_builder *b, takt_id id)
{
    const takt_graph *g = b->p.graph;
    const takt_node *n = &g->nodes[id];
    if (n->op != &takt_op_cast || !b->live[id] || b->is_constant[id])
        return false;
    const takt_dtype to = n->type->dtype, from = takt_type_of(g, n->in[0])->dtype;
    const bool rounds = is_half(to) && from == TAKT_F32 && !b->p.settings->is_fast;
    return (rounds || (is_half(from) && to == TAKT_F32)) && !b->is_converted[n->in[0]];
}

enum { UNREAD, MAPPED, WORTHWHILE, REFUSED }; /* what the readers of a value say so far */

/* Readers of all conversions, by value; outputs and next states are stored. In the forward pass a
 * reader that is element-wise often follows much later, behind a sum of the same value. */
static void ask_readers(const takt_builder *b, const unsigned char *forward, unsigned char *said)
{
    const takt_graph *g = b->p.graph;
    const takt_backend *backend = b->p.settings->backend;
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; b->live[i] && k < g->nodes[i].in_count; k++) {
            const takt_id in = g->nodes[i].in[k];
            if (in == TAKT_NONE || g->nodes[in].op != &takt_op_cast || said[in] == REFUSED)
                continue;
            const bool is_map =
                (g->nodes[i].op->traits & TAKT_ELEMENTWISE) != 0 && !(forward[in] && forward[i]);
            if (!backend->converts(g, (takt_id)i, k))
                said[in] = REFUSED;
            else if (!is_map || said[in] == UNREAD)
                said[in] = is_map ? MAPPED : WORTHWHILE;
        }
    for (size_t i = 0; i < g->output_count; i++)
        said[g->outputs[i].id] = REFUSED;
    for (size_t i = 0; i < g->check_count; i++)
        said[g->checks[i].id] = REFUSED;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE)
            said[g->slots[i].next] = REFUSED;
}

takt_status takt_builder_find_converted(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    const takt_plan_settings *s = b->p.settings;
    if (b->is_converted != NULL) /* kept when sizes change */
        return TAKT_OK;
    b->is_converted = takt_arena_array(&b->scratch, g->count, 1);
    unsigned char *said = takt_arena_array(&b->scratch, g->count, 1);
    unsigned char *forward = takt_arena_array(&b->scratch, g->count, 1);
    if (b->is_converted == NULL || said == NULL || forward == NULL)
        return TAKT_ERR_MEMORY;
    if (s->backend != s->fallback || s->backend->converts == NULL || !s->fuse ||
        !takt_is_training_graph(g))
        return TAKT_OK;
    if (g->output_count > 0)
        takt_graph_before(g, g->outputs[0].id, forward);
    ask_readers(b, forward, said);
    for (size_t i = 0; i < g->count; i++)
        b->is_converted[i] = said[i] == WORTHWHILE && is_conversion(b, (takt_id)i);
    return TAKT_OK;
}
