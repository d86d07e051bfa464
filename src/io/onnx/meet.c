/* meet.c - sizes that values decide, where shapes broadcast.
 *
 * Names that meet become one elsewhere. Of two sizes that a run finds, either may be 1, which no
 * name tells: they stay two, the result has a third, which a `length` finds from both, and an
 * operand is spread over it by a gather (of row 0, or of its rows as they are). A second `length`
 * compares: what is neither 1 nor the third fails the run. Where the other size is a number, the
 * result has that number. */
#include <string.h>

#include "io/onnx/lengths.h"
#include "io/onnx/meet.h"

/* ---- the length that a name comes from ---- */

typedef struct source {
    takt_id in; /* of the `length` */
    uint32_t at;
    takt_dim most, top;
} source;

static bool source_of(takt_call *c, takt_dim d, source *out)
{
    size_t name, other;
    if (takt_dim_is_number(d) || !takt_dim_is_name(c->g->dims, d, &name))
        return false;
    for (size_t i = c->g->count; i > 0; i--) {
        const takt_node *n = &c->g->nodes[i - 1];
        for (uint32_t k = 0; n->op == &takt_op_length && k < n->attr[TAKT_LENGTH_NAMES].count; k++)
            if (takt_length_names(c->g, n, k, &other) && other == name) {
                const takt_dim most = n->attr[TAKT_LENGTH_BOUNDS].dims[k];
                const takt_dim top = n->attr[TAKT_LENGTH_TOPS].dims[k];
                *out = (source){n->in[0], k, most == TAKT_LENGTH_OPEN ? d : most,
                                top == TAKT_LENGTH_OPEN ? d : top};
                return true;
            }
    }
    return false;
}

/* ---- sizes that were broadcast before ---- */

static bool is_here(const takt_call *c, const takt_onnx_joint *j)
{
    return j->room == c->scope->room && j->has_gate == c->scope->has_gate &&
           (!j->has_gate || j->gate == c->scope->gate);
}

/* Whether `d` is `of`, or one of the sizes that `of` was made from, and hence 1 or equal to it. */
static bool is_part(takt_call *c, takt_dim d, takt_dim of)
{
    if (takt_dim_same(c->g->dims, d, of))
        return true;
    for (const takt_onnx_joint *j = c->im->joints; j != NULL; j = j->next)
        if (is_here(c, j) && takt_dim_same(c->g->dims, j->whole, of) &&
            (takt_dim_same(c->g->dims, d, j->part[0]) || takt_dim_same(c->g->dims, d, j->part[1])))
            return true;
    return false;
}

static takt_dim joint_of(takt_call *c, takt_dim a, takt_dim b)
{
    if (is_part(c, a, b))
        return b;
    if (is_part(c, b, a))
        return a;
    for (const takt_onnx_joint *j = c->im->joints; j != NULL; j = j->next)
        if (is_here(c, j) && is_part(c, a, j->whole) && is_part(c, b, j->whole))
            return j->whole;
    return 0;
}

/* ---- a third size ---- */

static takt_id is_one(takt_call *c, takt_id size)
{
    return takt_onnx_with(c, &takt_op_eq, size, 1);
}

static takt_dim larger(takt_call *c, takt_dim a, takt_dim b)
{
    takt_dim out = 0;
    if (c->status == TAKT_OK)
        c->status = takt_dim_make(c->g->dims, TAKT_DIM_MAX, a, b, &out);
    return out;
}

/* Fails the run unless `size`, at most `most`, is 1 or `whole`. */
static void compare(takt_call *c, takt_id size, takt_dim most, takt_id found, takt_dim whole)
{
    const takt_dim one = 1;
    takt_id is = takt_select(c->g, is_one(c, size), found, size);
    if (c->scope->has_gate)
        is = takt_select(c->g, c->scope->gate, is, found);
    if (is == TAKT_NONE)
        return;
    const takt_named_attr attrs[] = {{"names", takt_attr_shape(&whole, 1)},
                                     {"bounds", takt_attr_shape(&most, 1)},
                                     {"tops", takt_attr_shape(&whole, 1)}};
    (void)takt_onnx_op1(c, &takt_op_length, takt_reshape(c->g, is, &one, 1), 3, attrs);
}

static takt_dim join(takt_call *c, const takt_onnx_side *a, const takt_onnx_side *b)
{
    source from[2];
    if (!source_of(c, a->dim, &from[0]) || !source_of(c, b->dim, &from[1]))
        return 0;
    if (from[0].in == from[1].in && from[0].at == from[1].at)
        return 0; /* the same number found twice */
    takt_id found = takt_select(c->g, is_one(c, a->size), b->size, a->size);
    const takt_onnx_bound bound = {larger(c, from[0].most, from[1].most),
                                   larger(c, from[0].top, from[1].top)};
    const takt_dim whole = takt_onnx_length(c, found, bound);
    if (c->status != TAKT_OK || takt_dim_is_number(whole))
        return 0;
    if (c->scope->has_gate)
        found = takt_select(c->g, c->scope->gate, found, takt_scalar_i64(c->g, 0));
    compare(c, b->size, bound.most, found, whole);
    takt_onnx_joint *j = takt_onnx_get(c, 1, sizeof *j);
    if (j == NULL)
        return 0;
    *j = (takt_onnx_joint){.next = c->im->joints,
                           .room = c->scope->room,
                           .has_gate = c->scope->has_gate,
                           .gate = c->scope->gate,
                           .whole = whole,
                           .part = {a->dim, b->dim}};
    c->im->joints = j;
    return whole;
}

/* A size found at run time and a number other than 1: the number. In a branch that is not taken
 * sizes are 0, which cannot broadcast, so there the two are unified. */
static takt_dim join_number(takt_call *c, const takt_onnx_side *a, takt_dim number)
{
    source from;
    if (number == 1 || c->scope->has_gate || !source_of(c, a->dim, &from))
        return 0;
    compare(c, a->size, from.most, takt_scalar_i64(c->g, number), number);
    return number;
}

takt_dim takt_onnx_join(takt_call *c, const takt_onnx_side *a, const takt_onnx_side *b)
{
    takt_dim x = 0, y = 0;
    if (c->status == TAKT_OK)
        c->status = takt_dim_resolve(c->g->dims, a->dim, &x);
    if (c->status == TAKT_OK)
        c->status = takt_dim_resolve(c->g->dims, b->dim, &y);
    if (c->status != TAKT_OK || x == y || !c->scope->room->may_find)
        return 0;
    if (takt_dim_is_number(x) || takt_dim_is_number(y))
        return takt_dim_is_number(x) ? join_number(c, b, x) : join_number(c, a, y);
    const takt_dim known = joint_of(c, x, y);
    return known != 0 ? known : join(c, a, b);
}

takt_id takt_onnx_stretch(takt_call *c, takt_id x, int axis, takt_dim whole)
{
    const takt_dim own = takt_type_of(c->g, x)->dim[axis];
    if (own == 1 || takt_dim_same(c->g->dims, own, whole))
        return x;
    const takt_id last = takt_onnx_with(c, &takt_op_sub, takt_onnx_size(c, x, axis), 1);
    const takt_id rows = takt_binary(c->g, &takt_op_min, takt_onnx_counted(c, whole), last);
    return rows == TAKT_NONE ? rows : takt_onnx_gather(c, x, rows, axis);
}

/* ---- element-wise operators ---- */

static bool broadcasts(const takt_call *c)
{
    static const char *const names[] = {"Add",        "Sub",       "Mul",        "Div",
                                        "Pow",        "Mod",       "And",        "Or",
                                        "Xor",        "Equal",     "Greater",    "Less",
                                        "Where",      "Min",       "Max",        "Sum",
                                        "Mean",       "PRelu",     "BitShift",   "GreaterOrEqual",
                                        "BitwiseAnd", "BitwiseOr", "BitwiseXor", "LessOrEqual"};
    if (c->node->domain.length > 0 && !takt_span_is(c->node->domain, "ai.onnx"))
        return false;
    for (size_t i = 0; c->opset >= 7 && i < sizeof names / sizeof *names; i++)
        if (takt_span_is(c->node->op, names[i]))
            return true;
    return false;
}

/* The size of axis `back` from the end in the shape that all inputs broadcast to; 0: the usual
 * rules for names apply. */
static takt_dim whole_of(takt_call *c, int back)
{
    takt_onnx_side so_far = {.size = TAKT_NONE};
    bool is_joint = false;
    for (size_t i = 0; i < c->in_count && c->status == TAKT_OK; i++) {
        const takt_type *t = takt_onnx_type(c, i);
        const int axis = t->rank - 1 - back;
        if (axis < 0 || t->dim[axis] == 1)
            continue;
        const takt_id x = takt_onnx_in(c, i);
        const takt_onnx_side side = {takt_onnx_size(c, x, axis), t->dim[axis]};
        const takt_dim both = so_far.size != TAKT_NONE ? takt_onnx_join(c, &so_far, &side) : 0;
        if (both != 0)
            so_far = (takt_onnx_side){takt_onnx_size(c, takt_onnx_stretch(c, x, axis, both), axis),
                                      both};
        else if (so_far.size == TAKT_NONE)
            so_far = side;
        is_joint = is_joint || both != 0;
    }
    return is_joint ? so_far.dim : 0;
}

static void put(takt_call *c, size_t i, takt_id id)
{
    takt_onnx_value *v = takt_onnx_get(c, 1, sizeof *v);
    if (v == NULL || id == TAKT_NONE)
        return;
    *v = *c->in[i];
    v->kind = TAKT_ONNX_TENSOR;
    v->id = id;
    c->in[i] = v;
}

takt_status takt_onnx_meet(takt_call *c)
{
    int rank = 0;
    if (!broadcasts(c))
        return TAKT_OK;
    for (size_t i = 0; i < c->in_count; i++) {
        if (!takt_onnx_has(c, i) || c->in[i]->kind != TAKT_ONNX_TENSOR)
            return TAKT_OK; /* the adapter says what is wrong */
        rank = takt_onnx_type(c, i)->rank > rank ? takt_onnx_type(c, i)->rank : rank;
    }
    for (int back = 0; back < rank; back++) {
        const takt_dim whole = whole_of(c, back);
        source from;
        for (size_t i = 0; whole != 0 && c->status == TAKT_OK && i < c->in_count; i++) {
            const takt_type *t = takt_onnx_type(c, i);
            const int axis = t->rank - 1 - back;
            if (axis >= 0 && source_of(c, t->dim[axis], &from)) /* all sizes found at run time took
                                                                 * part */
                put(c, i, takt_onnx_stretch(c, takt_onnx_in(c, i), axis, whole));
        }
    }
    return c->status;
}
