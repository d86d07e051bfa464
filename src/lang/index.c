/* index.c - x[:, 0], x[1:5, ..., -1], x[::2], x[rows]: slices of tensors, items of lists. */
#include <stdio.h>

#include "lang/elab.h"
#include "op/ops.h"

/* ---- lists and several results ---- */

static takt_value no_item(takt_frame *f, const takt_ast *a, int64_t index, uint32_t count)
{
    return takt_complain(f, a, TAKT_E_CALL, NULL, "there is no item %lld among %u",
                         (long long)index, count);
}

/* A bound of a slice: `fallback` if it is left out. False after a complaint. */
static bool bound(takt_frame *f, const takt_ast *a, int64_t fallback, int64_t *out)
{
    char text[TAKT_VALUE_TEXT];
    *out = fallback;
    if (a == NULL)
        return true;
    const takt_value v = takt_eval_expr(f, a);
    if (v.kind == TAKT_V_INT || (v.kind == TAKT_V_FLOAT && v.f == 0)) {
        *out = v.kind == TAKT_V_INT ? v.i : 0;
        return true;
    }
    if (v.kind == TAKT_V_DIM)
        takt_complain(
            f, a, TAKT_E_DIM, "count from the end with a negative number, or leave it out",
            "%s is not known while the model is built", takt_value_text(f->graph, &v, text));
    else if (v.kind != TAKT_V_POISON)
        takt_complain(f, a, TAKT_E_CALL, NULL, "bounds of a slice are integers, not %s",
                      takt_value_kind_text(&v));
    return false;
}

static int64_t clamp(int64_t i, int64_t count)
{
    i = i < 0 ? i + count : i;
    return i < 0 ? 0 : i > count ? count : i;
}

static takt_value list_slice(takt_frame *f, const takt_ast *a, const takt_value *list)
{
    int64_t start, stop, step;
    if (!bound(f, a->a, 0, &start) || !bound(f, a->b, list->count, &stop) ||
        !bound(f, a->c, 1, &step))
        return takt_value_poison();
    if (step != 1)
        return takt_complain(f, a, TAKT_E_CALL, NULL, "slices of lists have no step");
    start = clamp(start, list->count);
    stop = clamp(stop, list->count);
    return takt_frame_list(f, list->items + start, stop > start ? (size_t)(stop - start) : 0);
}

static takt_value item(takt_frame *f, const takt_ast *a, const takt_value *base)
{
    if (a->b == NULL || a->b->next != NULL)
        return takt_complain(f, a, TAKT_E_CALL, NULL, "%s has one index",
                             takt_value_kind_text(base));
    if (a->b->kind == TAKT_A_SLICE && base->kind == TAKT_V_LIST)
        return list_slice(f, a->b, base);
    const takt_value v = takt_eval_expr(f, a->b);
    if (v.kind == TAKT_V_POISON)
        return v;
    if (v.kind != TAKT_V_INT)
        return takt_complain(f, a->b, TAKT_E_CALL, NULL, "the index is an integer, not %s",
                             takt_value_kind_text(&v));
    const int64_t i = v.i < 0 ? v.i + base->count : v.i;
    if (i < 0 || i >= base->count)
        return no_item(f, a, v.i, base->count);
    if (base->kind == TAKT_V_LIST)
        return base->items[i];
    return takt_elab_result(f, a, base, (uint32_t)i);
}

/* ---- tensors ---- */

typedef struct cut {
    int64_t axes[TAKT_MAX_RANK], start[TAKT_MAX_RANK], stop[TAKT_MAX_RANK], step[TAKT_MAX_RANK];
    size_t count;
    bool drops[TAKT_MAX_RANK]; /* axes with a single index disappear */
    bool has_drop, has_step;
    bool is_picked[TAKT_MAX_RANK]; /* named axes too, but only the run knows whether they are long
                                    * enough */
    int64_t picks[TAKT_MAX_RANK];
    int gather_axis; /* -1: none */
    takt_value gather;
} cut;

static void add_cut(cut *c, int axis, int64_t start, int64_t stop, int64_t step)
{
    const size_t n = c->count++;
    c->axes[n] = axis;
    c->start[n] = start;
    c->stop[n] = stop;
    c->step[n] = step;
    c->has_step = c->has_step || step != 1;
}

static bool slice(takt_frame *f, const takt_ast *a, int axis, cut *c)
{
    int64_t start, stop, step;
    if (!bound(f, a->c, 1, &step))
        return false;
    const int64_t end = step < 0 ? -INT64_MAX : INT64_MAX;
    if (!bound(f, a->a, step < 0 ? -1 : 0, &start) || !bound(f, a->b, end, &stop))
        return false;
    if (start != 0 || stop != INT64_MAX || step != 1)
        add_cut(c, axis, start, stop, step);
    return true;
}

static bool single(takt_frame *f, const takt_ast *a, const takt_type *type, int axis, cut *c)
{
    const takt_value v = takt_eval_expr(f, a);
    char text[TAKT_TYPE_TEXT];
    if (v.kind == TAKT_V_TENSOR && c->gather_axis < 0) {
        c->gather_axis = axis;
        c->gather = v;
        return true;
    }
    if (v.kind != TAKT_V_INT && !(v.kind == TAKT_V_FLOAT && v.f == 0)) {
        if (v.kind == TAKT_V_TENSOR)
            takt_complain(f, a, TAKT_E_CALL, "use gather() for more", "one index may be a tensor");
        else if (v.kind != TAKT_V_POISON)
            takt_complain(f, a, TAKT_E_CALL, NULL,
                          "an index is an integer, a slice or a tensor of "
                          "integers, not %s",
                          takt_value_kind_text(&v));
        return false;
    }
    const int64_t i = v.kind == TAKT_V_INT ? v.i : 0, size = type->dim[axis];
    if (i == INT64_MAX || i == INT64_MIN ||
        (takt_dim_is_number(size) && (i < -size || i >= size))) {
        takt_complain(f, a, TAKT_E_DIM, NULL, "index %lld is outside axis %d of %s", (long long)i,
                      axis, takt_type_text(f->graph->dims, type, text));
        return false;
    }
    if (!takt_dim_is_number(size) && i >= 0) {
        c->is_picked[axis] = true;
        c->picks[axis] = i;
        return true;
    }
    add_cut(c, axis, i, i == -1 ? INT64_MAX : i + 1, 1);
    c->drops[axis] = c->has_drop = true;
    return true;
}

static bool read_items(takt_frame *f, const takt_ast *a, const takt_type *type, cut *c)
{
    char text[TAKT_TYPE_TEXT];
    int given = 0, axis = 0;
    bool has_dots = false;
    for (const takt_ast *i = a->b; i != NULL && given <= TAKT_MAX_RANK; i = i->next) {
        if (i->kind == TAKT_A_DOTS && has_dots) {
            takt_complain(f, i, TAKT_E_CALL, NULL, "an index has one ... at most");
            return false;
        }
        has_dots = has_dots || i->kind == TAKT_A_DOTS;
        given += i->kind != TAKT_A_DOTS;
    }
    if (given > type->rank) {
        takt_complain(f, a, TAKT_E_RANK, NULL, "%d indices are too many for %s", given,
                      takt_type_text(f->graph->dims, type, text));
        return false;
    }
    for (const takt_ast *i = a->b; i != NULL; i = i->next) {
        if (i->kind == TAKT_A_DOTS) {
            axis += type->rank - given;
            continue;
        }
        if (!(i->kind == TAKT_A_SLICE ? slice(f, i, axis, c) : single(f, i, type, axis, c)))
            return false;
        axis++;
    }
    return true;
}

static takt_id drop_axes(takt_graph *g, takt_id x, const cut *c)
{
    takt_dim dims[TAKT_MAX_RANK];
    size_t rank = 0;
    if (x == TAKT_NONE)
        return x;
    const takt_type *type = takt_type_of(g, x);
    for (int i = 0; i < type->rank; i++)
        if (!c->drops[i])
            dims[rank++] = type->dim[i];
    return takt_reshape(g, x, dims, rank);
}

/* Selects rows of `axis`, counted without dropped axes; `more`: number of new axes before it. */
static takt_id gather(takt_graph *g, takt_id x, const cut *c, int axis, int more, takt_id index)
{
    int64_t place = axis + more;
    for (int i = 0; i < axis; i++)
        place -= c->drops[i];
    const takt_id in[] = {x, index};
    const takt_named_attr attr = {"axis", takt_attr_i64(place)};
    if (x == TAKT_NONE || index == TAKT_NONE)
        return TAKT_NONE;
    return takt_graph_call(g, &takt_op_gather, 2, in, 1, &attr);
}

static takt_id cut_out(takt_graph *g, takt_id x, const cut *c)
{
    const takt_named_attr attrs[] = {{"axes", takt_attr_i64s(c->axes, c->count)},
                                     {"start", takt_attr_i64s(c->start, c->count)},
                                     {"stop", takt_attr_i64s(c->stop, c->count)},
                                     {"step", takt_attr_i64s(c->step, c->count)}};
    if (c->count > 0)
        x = takt_graph_call(g, &takt_op_slice, 1, &x, c->has_step ? 4 : 3, attrs);
    if (c->has_drop)
        x = drop_axes(g, x, c);
    if (c->gather_axis >= 0) /* before picked axes to its left are dropped */
        x = gather(g, x, c, c->gather_axis, 0, c->gather.id);
    for (int axis = TAKT_MAX_RANK - 1; axis >= 0 && x != TAKT_NONE; axis--) {
        const int more = c->gather_axis >= 0 && axis > c->gather_axis
                             ? takt_type_of(g, c->gather.id)->rank - 1
                             : 0;
        if (c->is_picked[axis])
            x = gather(g, x, c, axis, more, takt_scalar_i64(g, c->picks[axis]));
    }
    return x;
}

static takt_value of_tensor(takt_frame *f, const takt_ast *a, takt_id x)
{
    cut *c = takt_arena_array(&f->arena, 1, sizeof *c);
    if (c == NULL)
        return takt_out_of_memory(f);
    c->gather_axis = -1;
    const takt_type type = *takt_type_of(f->graph, x);
    if (!read_items(f, a, &type, c))
        return takt_value_poison();
    const takt_id id = cut_out(f->graph, x, c);
    return id != TAKT_NONE ? takt_value_tensor(id) : takt_complain_last(f, a);
}

takt_value takt_eval_index(takt_frame *f, const takt_ast *a, takt_value base)
{
    switch ((takt_value_kind)base.kind) {
    case TAKT_V_POISON: return base;
    case TAKT_V_DTYPE: return takt_eval_sizes(f, a, base.dtype);
    case TAKT_V_TENSOR: return of_tensor(f, a, base.id);
    case TAKT_V_LIST:
    case TAKT_V_TUPLE:
    case TAKT_V_RESULTS: return item(f, a, &base);
    default:
        return takt_complain(f, a, TAKT_E_CALL, NULL, "%s has no items",
                             takt_value_kind_text(&base));
    }
}
