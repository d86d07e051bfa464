/* box.c - the box of inputs that a model's require clauses describe. */
#include "verify/box.h"

#include <math.h>
#include <string.h>

#include "op/ops.h"
#include "op/util/bound.h"

typedef struct side {
    size_t input; /* SIZE_MAX: no input */
    bool is_abs;
    bool is_constant;
    double least, greatest; /* of a constant's elements */
} side;

static bool read_constant(const takt_tensor *t, side *s)
{
    const size_t count = takt_tensor_count(t);
    const takt_dtype dtype = t->type.dtype;
    if (t->storage == NULL || count == 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        const double x =
            takt_dtype_is_float(dtype)
                ? takt_dtype_get_f(dtype, takt_tensor_data(t), i)
                : takt_dtype_to_double(dtype, takt_dtype_get_i(dtype, takt_tensor_data(t), i));
        s->least = i == 0 || x < s->least || isnan(x) ? x : s->least;
        s->greatest = i == 0 || x > s->greatest || isnan(x) ? x : s->greatest;
    }
    s->is_constant = !isnan(s->least) && !isnan(s->greatest);
    return s->is_constant;
}

static side read_side(const takt_graph *g, takt_id id)
{
    side s = {.input = SIZE_MAX};
    const takt_node *n = takt_node_at(g, id);
    while (n->op == &takt_op_broadcast || n->op == &takt_op_reshape)
        n = takt_node_at(g, n->in[0]);
    if (n->op == &takt_op_constant) {
        read_constant(n->attr[0].tensor, &s);
        return s;
    }
    s.is_abs = n->op == &takt_op_abs;
    const takt_node *inner = s.is_abs ? takt_node_at(g, n->in[0]) : n;
    for (size_t i = 0; i < g->input_count; i++)
        if (&g->nodes[g->inputs[i].id] == inner)
            s.input = i;
    return s;
}

/* A condition on every element narrows the box; one on an element of a slice would not, so only
 * whole inputs were accepted above. */
static void at_most(takt_box *box, double value, bool is_abs)
{
    box->hi = isnan(box->hi) || value < box->hi ? value : box->hi;
    if (is_abs)
        box->lo = isnan(box->lo) || -value > box->lo ? -value : box->lo;
    box->is_stated = true;
}

static void at_least(takt_box *box, double value, bool is_abs)
{
    if (is_abs)
        return; /* the hole in the middle is not a box */
    box->lo = isnan(box->lo) || value > box->lo ? value : box->lo;
    box->is_stated = true;
}

static void compare(const takt_graph *g, const takt_node *n, bool is_swapped, takt_box *boxes)
{
    const side a = read_side(g, n->in[is_swapped ? 1 : 0]),
               b = read_side(g, n->in[is_swapped ? 0 : 1]);
    if (a.input != SIZE_MAX && b.is_constant)
        at_most(&boxes[a.input], b.greatest, a.is_abs);
    else if (b.input != SIZE_MAX && a.is_constant)
        at_least(&boxes[b.input], a.least, b.is_abs);
}

/* Conditions joined by `and` nest as in the text, which is limited. */
static void read(const takt_graph *g, takt_id id, takt_box *boxes)
{
    const takt_node *n = takt_node_at(g, id);
    if (n->op == &takt_op_and) {
        read(g, n->in[0], boxes);
        read(g, n->in[1], boxes);
    } else if (n->op == &takt_op_le || n->op == &takt_op_lt) {
        compare(g, n, false, boxes);
    } else if (n->op == &takt_op_ge || n->op == &takt_op_gt) {
        compare(g, n, true, boxes);
    } else if (n->op == &takt_op_eq) {
        compare(g, n, false, boxes);
        compare(g, n, true, boxes);
    }
}

/* A one-sided bound says that the element is a number: the other side is the limit of its type. */
static void complete(takt_box *box, takt_dtype dtype)
{
    double least, greatest;
    if (takt_dtype_is_float(dtype)) {
        greatest = takt_grid_of(dtype).max;
        least = -greatest;
    } else {
        takt_bound_limits(dtype, &least, &greatest);
    }
    if (!box->is_stated && takt_dtype_is_float(dtype))
        return;
    box->lo = isnan(box->lo) || box->lo < least ? least : box->lo;
    box->hi = isnan(box->hi) || box->hi > greatest ? greatest : box->hi;
}

takt_status takt_box_read(const takt_graph *g, takt_box *boxes)
{
    for (size_t i = 0; i < g->input_count; i++)
        boxes[i] = (takt_box){.lo = NAN, .hi = NAN};
    for (size_t i = 0; i < g->check_count; i++)
        if (g->checks[i].is_require)
            read(g, g->checks[i].id, boxes);
    for (size_t i = 0; i < g->input_count; i++) {
        complete(&boxes[i], takt_type_of(g, g->inputs[i].id)->dtype);
        if (boxes[i].lo > boxes[i].hi) {
            takt_fail(g->ctx, TAKT_E_EMPTY_BOX, "no value of input %s keeps the require clauses",
                      g->inputs[i].name);
            return takt_fail_node(g->ctx, g->inputs[i].name);
        }
    }
    return TAKT_OK;
}
