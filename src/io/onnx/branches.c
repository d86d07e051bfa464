/* branches.c - branches of an If whose results differ in size.
 *
 * Each branch returns its elements as a flat row, padded to the length of the larger one, and its
 * sizes; the sizes of the results are found at run time, after the If.
 */
#include "io/onnx/branches.h"

#include "io/onnx/lengths.h"
#include "pass/copier.h"

static takt_dim product(takt_call *c, const takt_type *t)
{
    takt_dim all = 1;
    for (int d = 0; d < t->rank && c->status == TAKT_OK; d++)
        c->status = takt_dim_make(c->g->dims, TAKT_DIM_MUL, all, t->dim[d], &all);
    return all;
}

static takt_dim larger(takt_call *c, takt_dim a, takt_dim b)
{
    takt_dim out = 0;
    if (c->status == TAKT_OK)
        c->status = takt_dim_make(c->g->dims, TAKT_DIM_MAX, a, b, &out);
    return out;
}

bool takt_branches_same(takt_call *c, const takt_type *a, const takt_type *b)
{
    bool same = a->rank == b->rank;
    for (int d = 0; d < a->rank && same; d++)
        same = takt_dim_same(c->g->dims, a->dim[d], b->dim[d]);
    return same;
}

takt_status takt_branches_alike(takt_call *c, const takt_type *a, const takt_type *b)
{
    char x[TAKT_TYPE_TEXT], y[TAKT_TYPE_TEXT];
    if (a->dtype == b->dtype && a->rank == b->rank)
        return TAKT_OK;
    c->im->has_other_ranks = true;
    return takt_onnx_refuse(c, "a result is %s in one branch and %s in the other",
                            takt_type_text(c->g->dims, a, x), takt_type_text(c->g->dims, b, y));
}

takt_dim takt_branches_wide(takt_call *c, const takt_type *a, const takt_type *b)
{
    return larger(c, product(c, a), product(c, b));
}

bool takt_branches_differ(takt_call *c, const takt_graph *a, const takt_graph *b)
{
    bool some = false;
    size_t sizes = 0;
    for (size_t i = 0; i < a->output_count; i++) {
        const takt_type *x = takt_type_of(a, a->outputs[i].id),
                        *y = takt_type_of(b, b->outputs[i].id);
        if (x->dtype != y->dtype || x->rank != y->rank || takt_dtype_bits(x->dtype) < 8)
            return false;
        some = some || !takt_branches_same(c, x, y);
        sizes += takt_branches_same(c, x, y) ? 0 : (size_t)x->rank;
    }
    return some && takt_onnx_may_find(c) && a->output_count < TAKT_MAX_OUTPUTS && sizes > 0;
}

/* ---- a branch ---- */

takt_id takt_branches_row(takt_call *c, takt_graph *g, takt_id x, takt_dim wide)
{
    const takt_type t = *takt_type_of(g, x);
    const takt_dim all = product(c, &t);
    takt_dim more = 0;
    if (c->status == TAKT_OK)
        c->status = takt_dim_make(g->dims, TAKT_DIM_SUB, wide, all, &more);
    const takt_id flat = takt_reshape(g, x, &all, 1);
    if (flat == TAKT_NONE || more == 0)
        return flat;
    const int64_t none = 0;
    const takt_named_attr attrs[] = {{"before", takt_attr_i64s(&none, 1)},
                                     {"after", takt_attr_shape(&more, 1)}};
    return takt_graph_call(g, &takt_op_pad, 1, &flat, 2, attrs);
}

static takt_id size_of(takt_graph *g, takt_id x, int axis)
{
    const takt_dim one = 1, size = takt_type_of(g, x)->dim[axis];
    const takt_named_attr attr = {"axis", takt_attr_i64(axis)};
    const takt_id n = takt_dim_is_number(size) ? takt_scalar_i64(g, size)
                                               : takt_graph_call(g, &takt_op_dim, 1, &x, 1, &attr);
    return n == TAKT_NONE ? n : takt_reshape(g, n, &one, 1);
}

/* The outputs of the copy: flat rows where sizes differ, and all those sizes. */
static void put_outputs(takt_call *c, const takt_graph *in, const takt_graph *other,
                        const takt_id *map, takt_graph *g)
{
    takt_id *sizes = takt_onnx_get(c, in->output_count * TAKT_MAX_RANK, sizeof *sizes);
    size_t count = 0;
    for (size_t i = 0; sizes != NULL && i < in->output_count; i++) {
        const takt_type x = *takt_type_of(in, in->outputs[i].id),
                        y = *takt_type_of(other, other->outputs[i].id);
        takt_id id = map[in->outputs[i].id];
        for (int d = 0; d < x.rank && !takt_branches_same(c, &x, &y); d++)
            sizes[count++] = size_of(g, id, d);
        if (!takt_branches_same(c, &x, &y))
            id = takt_branches_row(c, g, id, takt_branches_wide(c, &x, &y));
        if (id != TAKT_NONE)
            takt_graph_output(g, in->outputs[i].name, id);
    }
    const takt_id all = count > 1 ? takt_concat(g, sizes, count, 0) : sizes[0];
    if (all != TAKT_NONE)
        takt_graph_output(g, "sizes", all);
}

static takt_status widen(takt_call *c, const takt_graph *in, const takt_graph *other,
                         takt_graph **out)
{
    takt_copier copier;
    *out = NULL;
    takt_status status = takt_copier_init(&copier, in);
    if (status == TAKT_OK)
        status = takt_graph_begin_copy(in, copier.out, copier.map);
    for (size_t i = 0; i < in->count && status == TAKT_OK; i++) {
        if (!copier.live[i] || copier.map[i] != TAKT_NONE)
            continue;
        const takt_node n = takt_copier_node(&copier, (takt_id)i);
        copier.map[i] = takt_graph_append(copier.out, n.op, n.in_count, n.in, n.attr);
        status = copier.out->status;
    }
    if (status == TAKT_OK) {
        put_outputs(c, in, other, copier.map, copier.out);
        status = c->status != TAKT_OK ? c->status : copier.out->status;
    }
    takt_arena_deinit(&copier.arena);
    if (status != TAKT_OK)
        takt_graph_destroy(copier.out);
    else
        *out = copier.out;
    return status;
}

takt_status takt_branches_widen(takt_call *c, takt_graph **a, takt_graph **b)
{
    takt_graph *x = NULL, *y = NULL;
    TAKT_TRY(widen(c, *a, *b, &x));
    const takt_status status = widen(c, *b, *a, &y);
    if (status != TAKT_OK) {
        takt_graph_destroy(x);
        return status;
    }
    takt_graph_destroy(*a);
    takt_graph_destroy(*b);
    *a = x;
    *b = y;
    return TAKT_OK;
}

/* ---- after the If ---- */

static bool is_more(takt_dim a, takt_dim b)
{
    return takt_dim_is_number(a) && takt_dim_is_number(b) && a > b;
}

takt_id takt_branches_narrow(takt_call *c, takt_id row, takt_id sizes, size_t *at,
                             const takt_type *x, const takt_type *y)
{
    takt_onnx_bound bounds[TAKT_MAX_RANK];
    takt_dim dims[TAKT_MAX_RANK], found[TAKT_MAX_RANK], all = 1;
    takt_id asked[TAKT_MAX_RANK];
    size_t open = 0, k = 0;
    const bool is_first = is_more(product(c, x), product(c, y));
    for (int d = 0; d < x->rank && c->status == TAKT_OK; d++) {
        dims[d] = x->dim[d];
        if (takt_dim_same(c->g->dims, x->dim[d], y->dim[d]))
            continue;
        bounds[open] =
            (takt_onnx_bound){larger(c, x->dim[d], y->dim[d]), is_first ? x->dim[d] : y->dim[d]};
        asked[open++] = takt_onnx_item(c, sizes, *at + (size_t)d);
    }
    *at += (size_t)x->rank;
    takt_onnx_lengths(c, takt_onnx_pack(c, asked, open), bounds, open, found);
    for (int d = 0; d < x->rank && c->status == TAKT_OK; d++) {
        if (!takt_dim_same(c->g->dims, x->dim[d], y->dim[d]))
            dims[d] = found[k++];
        c->status = takt_dim_make(c->g->dims, TAKT_DIM_MUL, all, dims[d], &all);
    }
    const takt_id part = c->status == TAKT_OK ? takt_onnx_sized(c, row, all) : TAKT_NONE;
    return part == TAKT_NONE ? part : takt_reshape(c->g, part, dims, (size_t)x->rank);
}
