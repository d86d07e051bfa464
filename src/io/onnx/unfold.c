/* unfold.c - an If whose branches have data-dependent sizes.
 *
 * A run finds such sizes between the steps of the model, not inside those of a branch. So both
 * branches become part of the enclosing graph, and results are selected: the elements of either as
 * a flat row, as long as the larger one, and its sizes. Sizes found in the branch that is not taken
 * are 0, which leaves little to compute there. Nothing in it may fail (untaken.c) or require other
 * sizes.
 */
#include "io/onnx/branches.h"
#include "io/onnx/control.h"
#include "io/onnx/lengths.h"

/* ---- an attempt that reports no errors ---- */

takt_onnx_attempt takt_onnx_try(takt_call *c)
{
    const takt_source *s = c->im->source;
    takt_onnx_attempt a = {.has_failed = c->im->has_failed,
                           .first = c->im->first,
                           .error = c->ctx->error,
                           .repeats = c->im->repeats,
                           .wanted = c->im->is_wanted_inside};
    if (s->complaints != NULL)
        a.length = s->complaints->length;
    if (s->refusals != NULL)
        a.refusals = *s->refusals;
    c->im->is_wanted_inside = false;
    return a;
}

void takt_onnx_untry(takt_call *c, const takt_onnx_attempt *a)
{
    const takt_source *s = c->im->source;
    c->im->has_failed = a->has_failed;
    c->im->first = a->first;
    c->im->repeats = a->repeats;
    c->ctx->error = a->error;
    c->status = TAKT_OK;
    if (s->complaints != NULL)
        s->complaints->length = a->length;
    if (s->complaints != NULL && s->complaints->at != NULL)
        s->complaints->at[a->length] = '\0';
    if (s->refusals != NULL) {
        *s->refusals = a->refusals;
        if (s->refusals->last != NULL)
            s->refusals->last->next = NULL;
    }
}

bool takt_onnx_tried(takt_call *c, const takt_onnx_attempt *a, takt_status status)
{
    const bool is_wanted = c->im->is_wanted_inside;
    c->im->is_wanted_inside = is_wanted || a->wanted;
    if (status == TAKT_OK || status == TAKT_ERR_MEMORY || !is_wanted || c->im->is_hopeless ||
        !c->scope->room->may_find)
        return false;
    takt_onnx_untry(c, a);
    return true;
}

/* ---- both ---- */

/* The branch inlined into this graph; it is taken where `gate` holds. */
static takt_status unfold(takt_call *c, takt_id gate, const takt_pb_graph *graph,
                          takt_onnx_value *out)
{
    const takt_scope before = *c->scope;
    const size_t asked = takt_dims_bound(c->g->dims) + takt_dims_assumed(c->g->dims);
    c->scope->has_gate = true;
    c->scope->gate = before.has_gate ? takt_binary(c->g, &takt_op_and, before.gate, gate) : gate;
    const size_t held = takt_dims_hold(c->g->dims);
    const takt_status status =
        c->scope->gate != TAKT_NONE ? takt_subgraph_inline(c, graph, NULL, 0, out) : c->g->status;
    takt_dims_let_go(c->g->dims, held);
    c->scope->has_gate = before.has_gate;
    c->scope->gate = before.gate;
    if (status == TAKT_OK && takt_dims_bound(c->g->dims) + takt_dims_assumed(c->g->dims) > asked)
        return takt_onnx_refuse(c, "a size that values decide inside a branch or a loop");
    return status;
}

static takt_status check(takt_call *c, const takt_onnx_value *a, const takt_onnx_value *b)
{
    if (a->kind == TAKT_ONNX_POISON || b->kind == TAKT_ONNX_POISON)
        return takt_onnx_refuse(c, "a node of a branch is refused");
    if (a->kind != TAKT_ONNX_TENSOR || b->kind != TAKT_ONNX_TENSOR)
        return takt_onnx_refuse(c, "a result of a branch is not a tensor");
    return takt_branches_alike(c, takt_type_of(c->g, a->id), takt_type_of(c->g, b->id));
}

static takt_id sizes_in(takt_call *c, takt_id x)
{
    takt_id sizes[TAKT_MAX_RANK];
    takt_onnx_sizes(c, x, sizes);
    return takt_onnx_pack(c, sizes, (size_t)takt_type_of(c->g, x)->rank);
}

takt_id takt_branches_choose(takt_call *c, takt_id condition, takt_id a, takt_id b)
{
    const takt_type x = *takt_type_of(c->g, a), y = *takt_type_of(c->g, b);
    if (a == b)
        return a;
    if (takt_branches_same(c, &x, &y))
        return takt_select(c->g, condition, a, b);
    size_t at = 0;
    const takt_id sizes = takt_select(c->g, condition, sizes_in(c, a), sizes_in(c, b));
    const takt_dim wide = takt_branches_wide(c, &x, &y);
    const takt_id row = takt_select(c->g, condition, takt_branches_row(c, c->g, a, wide),
                                    takt_branches_row(c, c->g, b, wide));
    return row != TAKT_NONE && sizes != TAKT_NONE ? takt_branches_narrow(c, row, sizes, &at, &x, &y)
                                                  : TAKT_NONE;
}

takt_status takt_onnx_unfold_if(takt_call *c, takt_id condition, const takt_pb_graph *yes,
                                const takt_pb_graph *no)
{
    takt_onnx_value *a = takt_onnx_get(c, c->out_count + 1, sizeof *a);
    takt_onnx_value *b = takt_onnx_get(c, c->out_count + 1, sizeof *b);
    const takt_id is_not = takt_unary(c->g, &takt_op_not, condition);
    if (a == NULL || b == NULL || is_not == TAKT_NONE)
        return c->status != TAKT_OK ? c->status : c->g->status;
    TAKT_TRY(unfold(c, condition, yes, a));
    TAKT_TRY(unfold(c, is_not, no, b));
    for (size_t i = 0; i < c->out_count && c->status == TAKT_OK; i++) {
        TAKT_TRY(check(c, &a[i], &b[i]));
        takt_onnx_set(c, i, takt_branches_choose(c, condition, a[i].id, b[i].id));
    }
    return c->status;
}
