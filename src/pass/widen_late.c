/* widen_late.c - weights in 16 bits are widened where they are used, not before they are moved.
 *
 * Products read such weights directly; a transpose or a lookup in between would hide them. Moving
 * elements and widening them commute: no bit changes. */
#include "pass/match.h"
#include "pass/passes.h"

static bool is_half(takt_dtype dtype)
{
    return dtype == TAKT_F16 || dtype == TAKT_BF16;
}

/* The source of `id`, if that widens constant 16-bit floats; else TAKT_NONE. */
static takt_id widened(const takt_graph *g, takt_id id)
{
    const takt_node *n = takt_match_op(g, id, &takt_op_cast);
    if (n == NULL || !is_half(takt_type_of(g, n->in[0])->dtype) ||
        (n->type->dtype != TAKT_F32 && n->type->dtype != TAKT_F64))
        return TAKT_NONE;
    return takt_match_is_fixed(g, n->in[0]) ? n->in[0] : TAKT_NONE;
}

/* The same node on the narrow weights, then the cast. */
static takt_id move(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const takt_id narrow = widened(g, n->in[0]);
    if (narrow == TAKT_NONE)
        return TAKT_NONE;
    takt_id in[2] = {narrow, n->in_count > 1 ? n->in[1] : TAKT_NONE};
    const takt_id moved = takt_graph_append(g, n->op, n->in_count, in, n->attr);
    return takt_cast(g, moved, n->type->dtype);
}

static const takt_rule rules[] = {
    {&takt_op_transpose, "transpose(widen(w)) = widen(transpose(w))", move},
    {&takt_op_reshape, "reshape(widen(w)) = widen(reshape(w))", move},
    {&takt_op_slice, "slice(widen(w)) = widen(slice(w))", move},
    {&takt_op_gather, "gather(widen(w), i) = widen(gather(w, i))", move},
};

const takt_pass takt_pass_widen_late = {
    .name = "widen-late",
    .summary = "widen 16-bit weights where they are used",
    TAKT_RULES(rules),
};
