/* transpose.c - axes in another order. */
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/index.h"
#include "op/util/stops.h"

enum { PERM };

/* Axis of x that becomes axis i; an empty perm reverses. */
static int source(const takt_attr *attr, int rank, int i)
{
    return attr[PERM].count == 0 ? rank - 1 - i : (int)attr[PERM].i64s[i];
}

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    bool seen[TAKT_MAX_RANK] = {0};
    TAKT_TRY(takt_check_list(in, PERM, x->rank, "axes"));
    in->out[0] = *x;
    for (int i = 0; i < x->rank; i++) {
        if (in->attr[PERM].count > 0 &&
            (in->attr[PERM].i64s[i] < 0 || in->attr[PERM].i64s[i] >= x->rank))
            return takt_fail(in->ctx, TAKT_E_ATTR,
                             "transpose: perm names axis %lld of a tensor of "
                             "rank %d",
                             (long long)in->attr[PERM].i64s[i], x->rank);
        const int from = source(in->attr, x->rank, i);
        if (seen[from])
            return takt_fail(in->ctx, TAKT_E_ATTR,
                             "transpose: perm names axis %d twice; it must "
                             "be a permutation",
                             from);
        seen[from] = true;
        in->out[0].dim[i] = x->dim[from];
    }
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    takt_array *out = &e->out[0];
    int64_t to[TAKT_MAX_RANK] = {0}, from[TAKT_MAX_RANK] = {0};
    for (size_t i = 0; i < out->count && !takt_eval_stops(e, 1); i++) {
        takt_index_at(out, i, to);
        for (int d = 0; d < x->rank; d++)
            from[source(e->attr, x->rank, d)] = to[d];
        takt_index_move(out, i, x, takt_index_flat(x, from));
    }
    return TAKT_OK;
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node *n = takt_node_at(g, id);
    const int rank = n->type[0].rank;
    int64_t inverse[TAKT_MAX_RANK] = {0};
    for (int i = 0; i < rank; i++)
        inverse[source(n->attr, rank, i)] = i;
    dx[0] = takt_transpose(g, dy[0], inverse, (size_t)rank);
}

const takt_op takt_op_transpose = {
    .name = "transpose",
    .summary = "axes in another order",
    .onnx = {{"Transpose", 1, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[PERM] = {.name = "perm",
                        .type = TAKT_ATTR_I64S,
                        .summary =
                            "for each axis of the result, the axis of x; reversed if empty"}},
    .traits = TAKT_PRIMITIVE | TAKT_VIEW,
    .dtypes = TAKT_ANY,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .bound = takt_bound_exact,
    .affine = 1,
    .samples = {"transpose(f32[2, 3])", "transpose(f32[2, 3, 4, 5], perm=[0, 2, 3, 1])",
                "transpose(i16[3, 1, 2], perm=[2, 0, 1])", "transpose(f64[])",
                "transpose(u8[4, 2], perm=[0, 1])"},
};
