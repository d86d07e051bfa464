/* sum.c - the pieces of a recurrent cell's body: gates, sums, activations. */
#include "backend/cpu/rnn/sum.h"

#include <math.h>

#include "backend/cpu/cpu.h"

const takt_node *takt_rnn_node(const takt_rnn_matcher *x, takt_id id, const takt_op *op)
{
    return id != TAKT_NONE && x->g->nodes[id].op == op ? &x->g->nodes[id] : NULL;
}

/* The input of the body that `id` is, or -1. */
int takt_rnn_input(const takt_rnn_matcher *x, takt_id id)
{
    for (size_t i = 0; i < x->g->input_count; i++)
        if (x->g->inputs[i].id == id)
            return (int)i;
    return -1;
}

/* The same, or the index of a constant of the body that is not a scalar. */
int takt_rnn_weight(const takt_rnn_matcher *x, takt_id id)
{
    const takt_node *n = takt_rnn_node(x, id, &takt_op_constant);
    if (n == NULL || n->type->rank == 0 || (int)id >= TAKT_RNN_INNER)
        return takt_rnn_input(x, id);
    return TAKT_RNN_INNER | (int)id;
}

bool takt_rnn_scalar(const takt_rnn_matcher *x, takt_id id, double *value)
{
    const takt_node *n = takt_rnn_node(x, id, &takt_op_constant);
    if (n == NULL || takt_tensor_count(n->attr[0].tensor) != 1 ||
        !takt_dtype_is_float(n->type->dtype))
        return false;
    *value = takt_dtype_get_f(n->type->dtype, takt_tensor_data(n->attr[0].tensor), 0);
    return true;
}

/* ---- gates ---- */

static bool agree(int *gate, int found)
{
    if (*gate < 0)
        *gate = found;
    return *gate == found;
}

/* The value that `id` is a slice of along `axis`, and which slice; itself, if it is not a slice. */
static takt_id whole(const takt_rnn_matcher *x, takt_id id, int axis, int *gate)
{
    const takt_node *n = takt_rnn_node(x, id, &takt_op_slice);
    if (n == NULL)
        return id;
    const takt_type *from = takt_type_of(x->g, n->in[0]);
    const takt_attr *axes = takt_node_attr(n, "axes"), *start = takt_node_attr(n, "start"),
                    *step = takt_node_attr(n, "step");
    const int64_t units = (int64_t)x->m.units;
    if (start->count != 1 || (step->count == 1 && step->i64s[0] != 1))
        return TAKT_NONE;
    const int64_t at = axes->count == 0 ? 0 : axes->i64s[0];
    const int64_t first = start->i64s[0] < 0 ? start->i64s[0] + from->dim[axis] : start->i64s[0];
    if ((at < 0 ? at + from->rank : at) != axis || n->type->dim[axis] != units ||
        first % units != 0 || !agree(gate, (int)(first / units)))
        return TAKT_NONE;
    return n->in[0];
}

static takt_id whole_row(const takt_rnn_matcher *x, takt_id id, int *gate)
{
    const takt_type *t = takt_type_of(x->g, id);
    return t->rank == 0 ? id : whole(x, id, t->rank - 1, gate);
}

/* Adopts `found` as the one input of its kind. */
bool takt_rnn_settle(int *kept, int found)
{
    return found >= 0 && agree(kept, found);
}

bool takt_rnn_is_x(const takt_rnn_matcher *x, takt_id id, int *gate)
{
    return whole_row(x, id, gate) == x->x;
}

/* left @ r, or the part of it for `gate`. */
static bool is_product(takt_rnn_matcher *x, takt_id id, takt_id left, int *gate)
{
    const takt_id all = whole_row(x, id, gate);
    if (takt_rnn_node(x, all, &takt_op_integer_matmul) != NULL)
        return left == x->h && takt_rnn_is_bytes_product(x, all);
    const takt_node *n = takt_rnn_node(x, all, &takt_op_matmul);
    if (n == NULL || n->in[0] != left || takt_node_int(n, "transpose_a") != 0)
        return false;
    const bool transposed = takt_node_int(n, "transpose_b") != 0;
    const takt_type *t = takt_type_of(x->g, n->in[1]);
    const takt_id r = t->rank != 2 ? TAKT_NONE : whole(x, n->in[1], transposed ? 0 : 1, gate);
    const bool is_first = x->m.r < 0;
    if (r == TAKT_NONE || !takt_rnn_settle(&x->m.r, takt_rnn_weight(x, r)))
        return false;
    if (is_first)
        x->m.is_transposed = transposed;
    return x->m.is_transposed == transposed;
}

static bool is_bias(takt_rnn_matcher *x, takt_id id, int *gate)
{
    const takt_id all = whole_row(x, id, gate);
    return all != TAKT_NONE && takt_rnn_settle(&x->m.bias, takt_rnn_weight(x, all));
}

/* left @ r + bias. */
bool takt_rnn_is_recurrent(takt_rnn_matcher *x, takt_id id, takt_id left, int *gate)
{
    const takt_node *n = takt_rnn_node(x, whole_row(x, id, gate), &takt_op_add);
    const bool had = x->m.bias >= 0;
    bool biased = false;
    for (int k = 0; n != NULL && !biased && k < 2; k++)
        biased = is_product(x, n->in[k], left, gate) && is_bias(x, n->in[1 - k], gate);
    if (x->knows_bias && biased != had)
        return false;
    x->knows_bias = true;
    return biased || is_product(x, id, left, gate);
}

/* If no gate is cut out, there is only one. */
bool takt_rnn_settle_gate(takt_rnn_matcher *x, int gate, int found)
{
    if (found < 0 && x->m.gates == 1)
        found = 0;
    x->m.gate[gate] = found;
    return found >= 0 && found < (int)x->m.gates;
}

/* x + (h @ r + bias). */
static bool is_sum(takt_rnn_matcher *x, takt_id id, int gate)
{
    int found = -1;
    const takt_node *n = takt_rnn_node(x, whole_row(x, id, &found), &takt_op_add);
    for (int k = 0; n != NULL && k < 2; k++) {
        int here = found;
        if (takt_rnn_is_x(x, n->in[k], &here) &&
            takt_rnn_is_recurrent(x, n->in[1 - k], x->h, &here))
            return takt_rnn_settle_gate(x, gate, here);
    }
    return false;
}

/* The sum of a gate, optionally with a peephole term `eye` on `cell`. */
static bool is_peeping_sum(takt_rnn_matcher *x, takt_id id, int gate, int eye, takt_id cell)
{
    const takt_node *n = takt_rnn_node(x, id, &takt_op_add);
    for (int k = 0; n != NULL && k < 2; k++) {
        const takt_node *look = takt_rnn_node(x, n->in[k], &takt_op_mul);
        for (int j = 0; look != NULL && j < 2; j++) {
            int found = -1;
            if (look->in[j] != cell)
                continue;
            const takt_id all = whole_row(x, look->in[1 - j], &found);
            if (all == TAKT_NONE || found < 0 ||
                !takt_rnn_settle(&x->m.peephole, takt_rnn_weight(x, all)))
                return false;
            x->m.eye[eye] = found;
            return is_sum(x, n->in[1 - k], gate);
        }
    }
    x->m.eye[eye] = -1;
    return is_sum(x, id, gate);
}

/* ---- activations ---- */

/* outer(inner(value, near), far), sides in any order. */
static bool is_bounded(const takt_rnn_matcher *x, takt_id id, const takt_op *const ops[2],
                       takt_rnn_clip *c)
{
    const takt_node *outer = takt_rnn_node(x, id, ops[0]);
    for (int k = 0; outer != NULL && k < 2; k++) {
        const takt_node *inner = takt_rnn_node(x, outer->in[k], ops[1]);
        double far, near;
        for (int j = 0; inner != NULL && j < 2; j++)
            if (takt_rnn_scalar(x, outer->in[1 - k], &far) &&
                takt_rnn_scalar(x, inner->in[1 - j], &near) && !isnan(far) && !isnan(near)) {
                const bool is_low = ops[0] == &takt_op_max;
                *c = (takt_rnn_clip){inner->in[j], is_low ? far : near, is_low ? near : far};
                return true;
            }
    }
    return false;
}

/* As in the op clip and its lowering, which test the lower bound first: the same where neither
 * bound is a zero. */
static bool is_low_first(const takt_rnn_matcher *x, takt_id id, takt_rnn_clip *c)
{
    static const takt_op *const ops[] = {&takt_op_min, &takt_op_max};
    enum { MIN, MAX };
    const takt_node *n = takt_rnn_node(x, id, &takt_op_clip);
    if (n != NULL && n->attr[MIN].is_set && n->attr[MAX].is_set)
        *c = (takt_rnn_clip){n->in[0], takt_dtype_round(n->type->dtype, n->attr[MIN].f64),
                             takt_dtype_round(n->type->dtype, n->attr[MAX].f64)};
    else if (!is_bounded(x, id, ops, c))
        return false;
    return c->lo <= c->hi && c->lo != 0 && c->hi != 0;
}

bool takt_rnn_is_clip(const takt_rnn_matcher *x, takt_id id, takt_rnn_clip *c)
{
    static const takt_op *const ops[] = {&takt_op_max, &takt_op_min};
    if (is_bounded(x, id, ops, c) || is_low_first(x, id, c))
        return true;
    *c = (takt_rnn_clip){id, 0, 0};
    return false;
}

/* The clipped value. All gates are clipped, or none. */
static takt_id unclipped(takt_rnn_matcher *x, takt_id id)
{
    takt_rnn_clip c;
    takt_rnn_form *f = &x->m.form;
    /* The state has its own bounds; if the gates' bounds are equal, they change nothing after
     * those. */
    if (id == x->bounded && f->clips_cell)
        return !f->clips || (f->lo == f->cell_lo && f->hi == f->cell_hi) ? id : TAKT_NONE;
    const bool clips = takt_rnn_is_clip(x, id, &c);
    if (x->knows_clip && (f->clips != clips || (clips && (f->lo != c.lo || f->hi != c.hi))))
        return TAKT_NONE;
    x->knows_clip = true;
    f->clips = clips;
    f->lo = c.lo;
    f->hi = c.hi;
    return c.value;
}

/* The argument of activation number `which`. */
takt_id takt_rnn_inside(takt_rnn_matcher *x, takt_id id, int which)
{
    static const takt_op *const ops[TAKT_RNN_ACTS] = {&takt_op_sigmoid, &takt_op_tanh,
                                                      &takt_op_relu};
    for (int i = 0; i < TAKT_RNN_ACTS; i++) {
        const takt_node *n = takt_rnn_node(x, id, ops[i]);
        x->m.form.act[which] = n != NULL ? (takt_rnn_act)i : x->m.form.act[which];
        x->kept[which] = n != NULL ? id : x->kept[which];
        if (n != NULL)
            return unclipped(x, n->in[0]);
    }
    return TAKT_NONE;
}

bool takt_rnn_is_gate(takt_rnn_matcher *x, takt_id id, int gate)
{
    const takt_id v = takt_rnn_inside(x, id, gate);
    return v != TAKT_NONE && is_sum(x, v, gate);
}

bool takt_rnn_is_peeping_gate(takt_rnn_matcher *x, takt_id id, int gate, int eye, takt_id cell)
{
    const takt_id v = takt_rnn_inside(x, id, gate);
    return v != TAKT_NONE && is_peeping_sum(x, v, gate, eye, cell);
}
