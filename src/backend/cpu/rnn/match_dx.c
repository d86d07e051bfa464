/* match_dx.c - recognising the gradient of a recurrent cell in the body of a scan.
 *
 * The gates' gradients are written as expressions over a few leaves. They are compared with the
 * body node by node, sums and products in either order; a leaf is bound to the first input in its
 * place and must be the same from then on.
 */
#include "backend/cpu/rnn/match_dx.h"

#include <string.h>

/* Leaves: the incoming gradient, the cell's gradient, 1, the initial values of the step, kept
 * values. */
enum { D, DC, ONE, START, KEPT, LEAVES = KEPT + TAKT_RNN_DX_KEPT };

/* Expressions are numbered from LEAVES on. */
typedef struct expression {
    const takt_op *op;
    int a, b;
} expression;

typedef struct form {
    takt_rnn_dx_kind kind;
    const expression *list;
    int gates, gate[TAKT_RNN_DX_GATES];
    int input; /* which of the gradients of inputs gate 2 is */
    int next;  /* of gru: the addend of the product; of lstm: the cell's next gradient */
} form;

#define E(n) (LEAVES + (n))

/* z, q, m, b are kept. */
static const expression gru[] = {
    {&takt_op_mul, D, KEPT},            /* 0 d * z */
    {&takt_op_sub, ONE, KEPT},          /* 1 1 - z */
    {&takt_op_mul, D, START},           /* 2 d * h */
    {&takt_op_mul, D, KEPT + 2},        /* 3 d * m */
    {&takt_op_neg, E(3), E(3)},         /* 4 */
    {&takt_op_add, E(2), E(4)},         /* 5 */
    {&takt_op_mul, KEPT, E(1)},         /* 6 */
    {&takt_op_mul, E(5), E(6)},         /* 7 dz */
    {&takt_op_mul, D, E(1)},            /* 8 */
    {&takt_op_mul, KEPT + 2, KEPT + 2}, /* 9 */
    {&takt_op_sub, ONE, E(9)},          /* 10 */
    {&takt_op_mul, E(8), E(10)},        /* 11 dm */
    {&takt_op_mul, E(11), KEPT + 1},    /* 12 db */
    {&takt_op_mul, E(11), KEPT + 3},    /* 13 */
    {&takt_op_sub, ONE, KEPT + 1},      /* 14 */
    {&takt_op_mul, KEPT + 1, E(14)},    /* 15 */
    {&takt_op_mul, E(13), E(15)},       /* 16 dq */
};

/* i, f, g, o, t are kept. */
static const expression lstm[] = {
    {&takt_op_mul, D, KEPT + 3},        /* 0 d * o */
    {&takt_op_mul, KEPT + 4, KEPT + 4}, /* 1 */
    {&takt_op_sub, ONE, E(1)},          /* 2 */
    {&takt_op_mul, E(0), E(2)},         /* 3 */
    {&takt_op_add, DC, E(3)},           /* 4 e */
    {&takt_op_mul, E(4), KEPT + 1},     /* 5 e * f */
    {&takt_op_mul, D, KEPT + 4},        /* 6 */
    {&takt_op_sub, ONE, KEPT + 3},      /* 7 */
    {&takt_op_mul, KEPT + 3, E(7)},     /* 8 */
    {&takt_op_mul, E(6), E(8)},         /* 9 do */
    {&takt_op_sub, ONE, KEPT + 1},      /* 10 */
    {&takt_op_mul, KEPT + 1, E(10)},    /* 11 */
    {&takt_op_mul, E(4), START},        /* 12 */
    {&takt_op_mul, E(12), E(11)},       /* 13 df */
    {&takt_op_mul, KEPT + 2, KEPT + 2}, /* 14 */
    {&takt_op_sub, ONE, E(14)},         /* 15 */
    {&takt_op_mul, E(4), KEPT},         /* 16 */
    {&takt_op_mul, E(16), E(15)},       /* 17 dg */
    {&takt_op_sub, ONE, KEPT},          /* 18 */
    {&takt_op_mul, KEPT, E(18)},        /* 19 */
    {&takt_op_mul, E(4), KEPT + 2},     /* 20 */
    {&takt_op_mul, E(20), E(19)},       /* 21 di */
};

static const form forms[TAKT_RNN_DX_KINDS] = {
    {TAKT_RNN_DX_GRU, gru, 3, {E(7), E(16), E(12)}, E(11), E(0)},
    {TAKT_RNN_DX_LSTM, lstm, 4, {E(21), E(13), E(17), E(9)}, E(17), E(5)},
};

typedef struct matcher {
    const takt_graph *g;
    const form *f;
    takt_id leaf[LEAVES];
} matcher;

static bool is_one(const takt_node *n)
{
    return n->op == &takt_op_constant && takt_tensor_count(n->attr[0].tensor) == 1 &&
           n->type->dtype == TAKT_F32 &&
           takt_dtype_get_f(TAKT_F32, takt_tensor_data(n->attr[0].tensor), 0) == 1;
}

static bool is_leaf(matcher *x, int leaf, takt_id id)
{
    if (leaf == ONE)
        return is_one(&x->g->nodes[id]);
    if (x->leaf[leaf] == TAKT_NONE && x->g->nodes[id].op == &takt_op_input)
        x->leaf[leaf] = id;
    return x->leaf[leaf] == id;
}

/* NOLINTNEXTLINE: expressions are a few levels deep */
static bool is(matcher *x, int what, takt_id id)
{
    if (what < LEAVES)
        return is_leaf(x, what, id);
    const expression *e = &x->f->list[what - LEAVES];
    const takt_node *n = &x->g->nodes[id];
    if (n->op != e->op)
        return false;
    if (n->in_count == 1)
        return is(x, e->a, n->in[0]);
    const matcher before = *x;
    for (int k = 0; k < (e->op == &takt_op_sub ? 1 : 2); k++) {
        if (is(x, e->a, n->in[k]) && is(x, e->b, n->in[1 - k]))
            return true;
        *x = before;
    }
    return false;
}

static int input_of(const matcher *x, takt_id id)
{
    for (size_t i = 0; id != TAKT_NONE && i < x->g->input_count; i++)
        if (x->g->inputs[i].id == id)
            return (int)i;
    return -1;
}

/* The incoming gradient: the carried one, or its sum with an element. */
static void find_arriving(matcher *x, takt_rnn_dx_match *m)
{
    const takt_id dh = x->g->inputs[m->dh].id;
    x->leaf[D] = dh;
    m->dy = -1;
    for (size_t i = 0; i < x->g->count && m->dy < 0; i++) {
        const takt_node *n = &x->g->nodes[i];
        for (int k = 0; n->op == &takt_op_add && k < 2; k++)
            if (n->in[k] == dh && (m->dy = input_of(x, n->in[1 - k])) >= 0)
                x->leaf[D] = (takt_id)i;
    }
}

/* ---- results ---- */

static const takt_node *parts_of(const matcher *x, takt_id id)
{
    const takt_node *n = &x->g->nodes[id];
    return n->op == &takt_op_concat && n->in_count == (uint32_t)x->f->gates && n->type->rank == 2 &&
                   takt_node_int(n, "axis") == 1
               ? n
               : NULL;
}

/* The part that each gate occupies. */
static bool find_gates(matcher *x, const takt_node *parts, takt_rnn_dx_match *m)
{
    for (int k = 0; k < x->f->gates; k++) {
        m->gate[k] = -1;
        for (int i = 0; i < x->f->gates && m->gate[k] < 0; i++) {
            const matcher before = *x;
            if (is(x, x->f->gate[k], parts->in[i]))
                m->gate[k] = i;
            else
                *x = before;
        }
        if (m->gate[k] < 0)
            return false;
    }
    return true;
}

/* Whether `id` joins the gradients of the gates by the inputs: all but one are those by the
 * state. */
static bool is_inputs(matcher *x, const takt_node *cut, takt_id id, const takt_rnn_dx_match *m)
{
    const takt_node *parts = parts_of(x, id);
    bool same = parts != NULL;
    for (int i = 0; same && i < x->f->gates; i++)
        same = i == m->gate[2] ? is(x, x->f->input, parts->in[i]) : parts->in[i] == cut->in[i];
    return same;
}

static bool find_results(matcher *x, const takt_node *cut, int carried, takt_rnn_dx_match *m)
{
    const takt_graph *g = x->g;
    m->to[0] = m->to[1] = -1;
    for (int k = carried; k < (int)g->output_count; k++) {
        const takt_id id = g->outputs[k].id;
        const int which = &g->nodes[id] == cut && m->to[1] < 0 ? 1 : 0;
        if (m->to[which] >= 0 || (which == 0 && !is_inputs(x, cut, id, m)))
            return false;
        m->to[which] = k;
    }
    return m->to[1] >= 0; /* the product reads it */
}

/* The product with r whose result is `id`: its other factor. */
static const takt_node *product(matcher *x, takt_id id, takt_rnn_dx_match *m)
{
    const takt_node *n = &x->g->nodes[id];
    if (n->op != &takt_op_matmul || takt_node_int(n, "transpose_a") != 0)
        return NULL;
    m->r = input_of(x, n->in[1]);
    m->is_transposed = takt_node_int(n, "transpose_b") != 0;
    return m->r >= 0 ? parts_of(x, n->in[0]) : NULL;
}

static const takt_node *find_cut(matcher *x, takt_rnn_dx_match *m)
{
    const takt_graph *g = x->g;
    const takt_node *n = &g->nodes[g->outputs[m->dh_out].id];
    if (x->f->kind == TAKT_RNN_DX_LSTM)
        return is(x, x->f->next, g->outputs[m->dc_out].id) ? product(x, g->outputs[m->dh_out].id, m)
                                                           : NULL;
    for (int k = 0; n->op == &takt_op_add && k < 2; k++)
        if (is(x, x->f->next, n->in[k]))
            return product(x, n->in[1 - k], m);
    return NULL;
}

static bool has_type(const matcher *x, int input, int64_t rows, int64_t columns)
{
    const takt_type *t = takt_type_of(x->g, x->g->inputs[input].id);
    return t->dtype == TAKT_F32 && t->rank == 2 && t->dim[0] == rows && t->dim[1] == columns;
}

/* Whether sequences and r have the expected layout, and all types fit. */
static bool fits(const matcher *x, const takt_node *scan, const takt_rnn_dx_match *m)
{
    const int first = (int)takt_node_int(scan, "carried"),
              end = first + (int)takt_node_int(scan, "sequences");
    const int64_t rows = (int64_t)m->batch, units = (int64_t)m->units;
    const int64_t all = (int64_t)m->gates * units;
    const int kept = m->kind == TAKT_RNN_DX_GRU ? 4 : 5;
    bool good = m->r >= end && has_type(x, m->dh, rows, units) &&
                has_type(x, m->r, m->is_transposed ? units : all, m->is_transposed ? all : units);
    for (int k = -2; k < kept && good; k++) {
        const int input = k == -2 ? m->dy : k == -1 ? m->start : m->kept[k];
        if (k > -2 || input >= 0)
            good = input >= first && input < end && has_type(x, input, rows, units);
    }
    return good && (m->dc < 0 || has_type(x, m->dc, rows, units));
}

static bool try_as(matcher *x, const takt_node *scan, int h, takt_rnn_dx_match *m)
{
    const takt_graph *g = x->g;
    const int carried = (int)takt_node_int(scan, "carried");
    const takt_type *type = takt_type_of(g, g->inputs[h].id);
    *m = (takt_rnn_dx_match){.kind = x->f->kind,
                             .gates = (size_t)x->f->gates,
                             .dh = h,
                             .dh_out = h,
                             .dc = carried == 2 ? 1 - h : -1,
                             .dc_out = carried == 2 ? 1 - h : -1};
    if (type->rank != 2 || type->dtype != TAKT_F32)
        return false;
    m->batch = (size_t)type->dim[0];
    m->units = (size_t)type->dim[1];
    for (int i = 0; i < LEAVES; i++)
        x->leaf[i] = TAKT_NONE;
    find_arriving(x, m);
    if (m->dc >= 0)
        x->leaf[DC] = g->inputs[m->dc].id;
    const takt_node *cut = find_cut(x, m);
    if (cut == NULL || !find_gates(x, cut, m) || !find_results(x, cut, carried, m))
        return false;
    m->start = input_of(x, x->leaf[START]);
    for (int k = 0; k < TAKT_RNN_DX_KEPT; k++)
        m->kept[k] = input_of(x, x->leaf[KEPT + k]);
    return fits(x, scan, m);
}

bool takt_rnn_dx_find(const takt_node *scan, takt_rnn_dx_match *match)
{
    const int carried = (int)takt_node_int(scan, "carried");
    matcher x = {.g = takt_node_attr(scan, "body")->graph};
    if (carried < 1 || carried > 2 || x.g->output_count <= (size_t)carried)
        return false;
    x.f = &forms[carried == 1 ? TAKT_RNN_DX_GRU : TAKT_RNN_DX_LSTM];
    for (int h = 0; h < carried; h++)
        if (try_as(&x, scan, h, match))
            return true;
    return false;
}
