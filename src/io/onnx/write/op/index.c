/* index.c - gather, scatter and sort. */
#include "io/onnx/write/emit.h"

static int64_t axis_of(int64_t axis, int rank)
{
    return axis < 0 ? axis + rank : axis;
}

/* start, start + 1, ... with `size` entries. A negative start works too: the indices then count
 * from the end as well. */
static const char *counted(takt_emit *e, size_t start, takt_dim size)
{
    const char *from = takt_emit_in(e, start);
    if (takt_emit_type(e, start)->dtype != TAKT_I64)
        from = takt_emit_cast(e, takt_emit_fresh(e), from, TAKT_I64);
    const char *range = takt_emit_3(e, "Range", takt_emit_fresh(e), takt_emit_number(e, 0),
                                    takt_emit_dim(e, size, false), takt_emit_number(e, 1));
    return takt_emit_2(e, "Add", takt_emit_fresh(e), from, range);
}

static bool dynamic_slice(takt_emit *e, const takt_node *n)
{
    enum { AXIS, SIZE };
    const char *at = counted(e, 1, n->attr[SIZE].dims[0]);
    takt_emit_i(e, "axis", n->attr[AXIS].i64);
    takt_emit_2(e, "Gather", e->out, takt_emit_in(e, 0), at);
    return true;
}

static bool update_slice(takt_emit *e, const takt_node *n)
{
    const takt_type *u = takt_emit_type(e, 1);
    const int64_t axis = axis_of(n->attr[0].i64, u->rank);
    int64_t ones[TAKT_MAX_RANK];
    for (int i = 0; i < u->rank; i++)
        ones[i] = i == axis ? -1 : 1;
    if (takt_emit_type(e, 2)->rank > 0)
        return false;
    const char *at = counted(e, 2, u->dim[axis]);
    at = takt_emit_2(e, "Reshape", takt_emit_fresh(e), at,
                     takt_emit_vector(e, ones, (size_t)u->rank));
    at = takt_emit_2(e, "Expand", takt_emit_fresh(e), at,
                     takt_emit_shape(e, u->dim, (size_t)u->rank));
    takt_emit_i(e, "axis", axis);
    takt_emit_3(e, "ScatterElements", e->out, takt_emit_in(e, 0), at, takt_emit_in(e, 1));
    return true;
}

/* ScatterND adds along the first axes: the axis in question is moved there and back. */
static bool index_add(takt_emit *e, const takt_node *n)
{
    const takt_type *x = takt_emit_type(e, 0), *index = takt_emit_type(e, 1);
    const takt_type *u = takt_emit_type(e, 2);
    const int axis = (int)axis_of(n->attr[0].i64, x->rank);
    int64_t perm[TAKT_MAX_RANK], back[TAKT_MAX_RANK], u_perm[TAKT_MAX_RANK];
    if ((TAKT_NUMBERS & TAKT_IN(x->dtype)) == 0)
        return false;
    for (int i = 0; i < x->rank; i++) {
        perm[i] = i == 0 ? axis : i <= axis ? i - 1 : i;
        back[perm[i]] = i;
    }
    for (int i = 0; i < u->rank; i++)
        u_perm[i] = i < index->rank ? axis + i : i < axis + index->rank ? i - index->rank : i;
    const char *to = takt_emit_in(e, 0), *what = takt_emit_in(e, 2), *at = takt_emit_in(e, 1);
    if (axis > 0) {
        to = takt_emit_transpose(e, takt_emit_fresh(e), to, perm, x->rank);
        what = takt_emit_transpose(e, takt_emit_fresh(e), what, u_perm, u->rank);
    }
    if (index->dtype != TAKT_I64)
        at = takt_emit_cast(e, takt_emit_fresh(e), at, TAKT_I64);
    at = takt_emit_2(e, "Unsqueeze", takt_emit_fresh(e), at,
                     takt_emit_vector(e, (int64_t[]){-1}, 1));
    takt_emit_s(e, "reduction", "add");
    const char *y =
        takt_emit_3(e, "ScatterND", axis > 0 ? takt_emit_fresh(e) : e->out, to, at, what);
    if (axis > 0)
        takt_emit_transpose(e, e->out, y, back, x->rank);
    return true;
}

static const char *wide_index(takt_emit *e, size_t i)
{
    const char *at = takt_emit_in(e, i);
    return takt_emit_type(e, i)->dtype == TAKT_I64
               ? at
               : takt_emit_cast(e, takt_emit_fresh(e), at, TAKT_I64);
}

static bool nd(takt_emit *e, const takt_node *n)
{
    static const char *const reductions[] = {"none", "add", "mul", "max", "min"};
    if (n->op == &takt_op_gather_nd) {
        const char *at = wide_index(e, 1);
        takt_emit_i(e, "batch_dims", n->attr[0].i64);
        takt_emit_2(e, "GatherND", e->out, takt_emit_in(e, 0), at);
        return true;
    }
    if (n->attr[0].i64 != 0)
        return false;
    const char *at = wide_index(e, 1);
    takt_emit_s(e, "reduction", reductions[n->attr[1].i64]);
    takt_emit_3(e, "ScatterND", e->out, takt_emit_in(e, 0), at, takt_emit_in(e, 2));
    return true;
}

static bool order(takt_emit *e, const takt_node *n)
{
    enum { K, AXIS, LARGEST, SORTED };
    const takt_attr *a = n->attr;
    const takt_type *x = takt_emit_type(e, 0);
    const bool sorts = n->op == &takt_op_sort;
    if (x->dtype == TAKT_BOOL || x->rank == 0)
        return false;
    const int64_t axis = sorts ? a[0].i64 : a[AXIS].i64;
    const char *k = sorts ? takt_emit_dim(e, x->dim[axis_of(axis, x->rank)], true)
                          : takt_emit_vector(e, &a[K].i64, 1);
    takt_emit_i(e, "axis", axis);
    takt_emit_i(e, "largest", sorts ? a[1].boolean : a[LARGEST].boolean);
    takt_emit_i(e, "sorted", sorts ? 1 : a[SORTED].boolean);
    takt_emit_call_many(e, "TopK", "", (takt_emit_list){2, e->outs},
                        (takt_emit_list){2, (const char *const[]){takt_emit_in(e, 0), k}});
    return true;
}

static bool emit(takt_emit *e, const takt_node *n)
{
    if (n->op == &takt_op_dynamic_slice)
        return dynamic_slice(e, n);
    if (n->op == &takt_op_update_slice)
        return update_slice(e, n);
    if (n->op == &takt_op_index_add)
        return index_add(e, n);
    return n->op == &takt_op_sort || n->op == &takt_op_top_k ? order(e, n) : nd(e, n);
}

const takt_emitter takt_emit_op_index = {
    .ops = {&takt_op_dynamic_slice, &takt_op_update_slice, &takt_op_index_add, &takt_op_gather_nd,
            &takt_op_scatter_nd, &takt_op_sort, &takt_op_top_k},
    .emit = emit,
};
