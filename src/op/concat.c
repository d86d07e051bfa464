/* concat.c - concatenates tensors along an axis. */
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/index.h"
#include "op/util/make.h"

enum { AXIS };

static takt_status infer(takt_infer *in)
{
    const takt_type *first = in->type[0];
    takt_type *out = &in->out[0];
    int axis = 0;
    TAKT_TRY(takt_check_axis(in, in->attr[AXIS].i64, first->rank, &axis));
    *out = *first;
    for (size_t i = 1; i < in->in_count; i++) {
        const takt_type *t = in->type[i];
        bool agree = t->rank == first->rank;
        for (int d = 0; agree && d < t->rank; d++)
            if (d != axis)
                TAKT_TRY(takt_check_agree(in, out->dim[d], t->dim[d], &agree));
        char a[TAKT_TYPE_TEXT], b[TAKT_TYPE_TEXT];
        if (!agree) {
            takt_fail(in->ctx, TAKT_E_SHAPE, "concat: input 0 is %s, but input %zu is %s",
                      takt_type_text(in->dims, first, a), i, takt_type_text(in->dims, t, b));
            return takt_fail_hint(in->ctx, "only axis %d may differ", axis);
        }
        TAKT_TRY(
            takt_dim_make(in->dims, TAKT_DIM_ADD, out->dim[axis], t->dim[axis], &out->dim[axis]));
    }
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    takt_array *out = &e->out[0];
    const int64_t given = e->attr[AXIS].i64;
    const int axis = (int)(given < 0 ? given + out->rank : given);
    const size_t outer = takt_index_span(out, 0, axis);
    const size_t stride = takt_index_span(out, axis, out->rank);
    size_t offset = 0;
    for (size_t i = 0; i < e->in_count; i++) {
        const takt_array *x = &e->in[i];
        const size_t run = takt_index_span(x, axis, x->rank);
        for (size_t o = 0; o < outer; o++)
            for (size_t k = 0; k < run; k++)
                takt_index_move(out, o * stride + offset + k, x, o * run + k);
        offset += run;
    }
    return TAKT_OK;
}

/* Offsets are numbers as long as all parts before have known sizes; after that they are computed
 * from the parts' dimensions at run time. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    const int64_t given = n.attr[AXIS].i64;
    const int axis = (int)(given < 0 ? given + n.type[0].rank : given);
    int64_t offset = 0;
    takt_id place = TAKT_NONE;
    for (uint32_t i = 0; i < n.in_count && g->status == TAKT_OK; i++) {
        const takt_dim size = takt_type_of(g, n.in[i])->dim[axis];
        if (place == TAKT_NONE && takt_dim_is_number(size)) {
            dx[i] = takt_slice(g, dy[0], axis, offset, offset + size, 1);
            offset += size;
            continue;
        }
        if (place == TAKT_NONE)
            place = takt_scalar_i64(g, offset);
        const takt_named_attr attrs[] = {{"axis", takt_attr_i64(axis)},
                                         {"size", takt_attr_shape(&size, 1)}};
        dx[i] = takt_graph_call(g, &takt_op_dynamic_slice, 2, (takt_id[]){dy[0], place}, 2, attrs);
        place = takt_add(g, place, takt_make_axis(g, &takt_op_dim, 1, &n.in[i], axis));
    }
}

const takt_op takt_op_concat = {
    .name = "concat",
    .summary = "tensors one after the other along an axis",
    .onnx = {{"Concat", 4, 0}},
    .in_min = 1,
    .in_max = TAKT_VARIADIC,
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = 0,
                        .summary = "the axis that grows"}},
    .traits = TAKT_PRIMITIVE | TAKT_AMP_CHOOSES,
    .dtypes = TAKT_ANY,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .bound = takt_bound_exact,
    .affine = UINT32_MAX,
    .samples = {"concat(f32[2, 3], f32[2, 1], f32[2, 4], axis=1)", "concat(f32[3])",
                "concat(f64[1, 2, 3], f64[4, 2, 3], axis=-3)", "concat(u8[2], u8[0], u8[5])"},
};
