/* match.c - recognising a recurrent cell in the body of a scan.
 *
 * The body is read from its results backwards. Sums and products may have their sides swapped,
 * gates may be in any order and sliced before or after the sum: none of it changes a bit. Anything
 * that would, such as another order of addition, is not a cell.
 */
#include "backend/cpu/rnn/match.h"

#include <math.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/rnn/sum.h"

/* 1 - something; returns that something. */
static takt_id rest_of_one(const takt_rnn_matcher *x, takt_id id)
{
    double one = 0;
    const takt_node *n = takt_rnn_node(x, id, &takt_op_sub);
    return n != NULL && takt_rnn_scalar(x, n->in[0], &one) && one == 1 ? n->in[1] : TAKT_NONE;
}

/* ---- cells ---- */

static bool is_plain(takt_rnn_matcher *x, takt_id h)
{
    x->m.form.kind = TAKT_RNN_PLAIN;
    return takt_rnn_is_gate(x, h, 0);
}

/* c' = f * c + i * g. */
static bool is_cell(takt_rnn_matcher *x, takt_id f, takt_id i, takt_id g)
{
    x->m.form.couples = rest_of_one(x, f) == i;
    x->m.eye[1] = -1;
    return takt_rnn_is_peeping_gate(x, i, 0, 0, x->c) &&
           (x->m.form.couples || takt_rnn_is_peeping_gate(x, f, 1, 1, x->c)) &&
           takt_rnn_is_gate(x, g, 2);
}

/* One of two orders may fail after it has settled some names; the other starts over. */
static bool is_either_cell(takt_rnn_matcher *x, takt_id f, const takt_node *fresh)
{
    const takt_rnn_matcher before = *x;
    for (int k = 0; k < 2; k++) {
        if (is_cell(x, f, fresh->in[k], fresh->in[1 - k]))
            return true;
        *x = before;
    }
    return false;
}

/* The sum, or the sum between two numbers. */
static bool is_lstm_state(takt_rnn_matcher *x, takt_id c)
{
    takt_rnn_clip clip;
    x->bounded = c;
    x->m.form.clips_cell = takt_rnn_is_clip(x, c, &clip);
    x->m.form.cell_lo = clip.lo;
    x->m.form.cell_hi = clip.hi;
    const takt_node *sum = takt_rnn_node(x, clip.value, &takt_op_add);
    for (int k = 0; sum != NULL && k < 2; k++) {
        const takt_node *old = takt_rnn_node(x, sum->in[k], &takt_op_mul),
                        *fresh = takt_rnn_node(x, sum->in[1 - k], &takt_op_mul);
        for (int j = 0; old != NULL && fresh != NULL && j < 2; j++)
            if (old->in[j] == x->c)
                return is_either_cell(x, old->in[1 - j], fresh);
    }
    return false;
}

static bool is_lstm(takt_rnn_matcher *x, takt_id h, takt_id c)
{
    const takt_node *n = takt_rnn_node(x, h, &takt_op_mul);
    x->m.form.kind = TAKT_RNN_LSTM;
    if (n == NULL || !is_lstm_state(x, c))
        return false;
    for (int k = 0; k < 2; k++)
        if (takt_rnn_inside(x, n->in[k], 4) == c)
            return takt_rnn_is_peeping_gate(x, n->in[1 - k], 3, 2, c);
    return false;
}

/* (q * h) @ r + bias. */
static bool is_reset(takt_rnn_matcher *x, takt_id back, int gate)
{
    x->m.form.kind = TAKT_RNN_GRU_RESET;
    for (size_t i = 0; i < x->g->count; i++) {
        const takt_node *reset = takt_rnn_node(x, (takt_id)i, &takt_op_mul);
        for (int j = 0; reset != NULL && j < 2; j++) {
            int here = gate;
            if (reset->in[j] == x->h && takt_rnn_is_recurrent(x, back, (takt_id)i, &here))
                return takt_rnn_settle_gate(x, 2, here) && takt_rnn_is_gate(x, reset->in[1 - j], 1);
        }
    }
    return false;
}

/* x + q * (h @ r + bias), or x + ((q * h) @ r + bias). */
static bool is_new(takt_rnn_matcher *x, takt_id id)
{
    const takt_node *sum = takt_rnn_node(x, id, &takt_op_add);
    for (int k = 0; sum != NULL && k < 2; k++) {
        int gate = -1;
        if (!takt_rnn_is_x(x, sum->in[k], &gate))
            continue;
        const takt_id back = sum->in[1 - k];
        const takt_node *product = takt_rnn_node(x, back, &takt_op_mul);
        for (int j = 0; product != NULL && j < 2; j++) {
            int here = gate;
            if (takt_rnn_is_recurrent(x, product->in[j], x->h, &here)) {
                x->m.form.kind = TAKT_RNN_GRU;
                x->kept[TAKT_RNN_BACK] = product->in[j];
                return takt_rnn_settle_gate(x, 2, here) &&
                       takt_rnn_is_gate(x, product->in[1 - j], 1);
            }
        }
        if (is_reset(x, back, gate))
            return true;
    }
    return false;
}

static bool is_gru(takt_rnn_matcher *x, takt_id h)
{
    const takt_node *sum = takt_rnn_node(x, h, &takt_op_add);
    for (int k = 0; sum != NULL && k < 2; k++) {
        const takt_node *fresh = takt_rnn_node(x, sum->in[k], &takt_op_mul),
                        *old = takt_rnn_node(x, sum->in[1 - k], &takt_op_mul);
        for (int j = 0; fresh != NULL && old != NULL && j < 4; j++) {
            const takt_id z = old->in[1 - j % 2];
            if (old->in[j % 2] != x->h || rest_of_one(x, fresh->in[j / 2]) != z)
                continue;
            const takt_id m = takt_rnn_inside(x, fresh->in[1 - j / 2], 2);
            return m != TAKT_NONE && takt_rnn_is_gate(x, z, 0) && is_new(x, m);
        }
    }
    return false;
}

/* ---- the body ---- */

/* The new value in select(live, new, old). */
static takt_id while_live(takt_rnn_matcher *x, takt_id id, takt_id old)
{
    const takt_node *n = takt_rnn_node(x, id, &takt_op_select);
    if (n == NULL)
        return id;
    return n->in[2] == old && takt_rnn_settle(&x->m.live, takt_rnn_input(x, n->in[0])) ? n->in[1]
                                                                                       : TAKT_NONE;
}

static bool is_result(const takt_rnn_matcher *x, takt_id id, takt_id h)
{
    double zero = 1;
    const takt_node *n = takt_rnn_node(x, id, &takt_op_select);
    if (x->m.live < 0)
        return id == h;
    return n != NULL && takt_rnn_input(x, n->in[0]) == x->m.live && n->in[1] == h &&
           takt_rnn_scalar(x, n->in[2], &zero) && zero == 0 && !signbit(zero);
}

/* Which of the first `count` of `ids` it is, unless an earlier result was it; -1: none. */
static int place_of(takt_id id, const takt_id *ids, const int *taken, int count)
{
    for (int i = 0; i < count; i++)
        if (ids[i] == id && ids[i] != TAKT_NONE && taken[i] < 0)
            return i;
    return -1;
}

/* Whether scanned result `k` is every state, every step's initial value, or a kept value. */
static bool is_given(takt_rnn_matcher *x, int k, takt_id h_new)
{
    const takt_id id = x->g->outputs[k].id, starts[TAKT_RNN_STARTS] = {x->h, x->c};
    takt_rnn_match *m = &x->m;
    if (m->y < 0 && is_result(x, id, h_new)) {
        m->y = k;
        return true;
    }
    const int start = place_of(id, starts, m->start, TAKT_RNN_STARTS),
              keep = place_of(id, x->kept, m->keep, TAKT_RNN_KEEPS);
    if (start >= 0)
        m->start[start] = k;
    else if (keep >= 0)
        m->keep[keep] = k;
    return start >= 0 || keep >= 0;
}

static bool has_shape(const takt_type *t, int rank, size_t rows, size_t columns)
{
    return t->rank == rank && (size_t)t->dim[rank - 1] == columns &&
           (rank < 2 || (size_t)t->dim[0] == rows);
}

static const takt_type *type_at(const takt_rnn_matcher *x, int number)
{
    return takt_type_of(x->g, number >= TAKT_RNN_INNER ? (takt_id)(number & (TAKT_RNN_INNER - 1))
                                                       : x->g->inputs[number].id);
}

/* The types of all values involved. */
static bool fits(const takt_rnn_matcher *x, const takt_node *scan)
{
    const takt_rnn_match *m = &x->m;
    const size_t wide = m->gates * m->units;
    const int first = (int)takt_node_int(scan, "carried"),
              rest = first + (int)takt_node_int(scan, "sequences");
    const bool has_cell = m->form.kind == TAKT_RNN_LSTM;
    if (m->r < rest || (m->bias >= 0 && m->bias < rest) ||
        (m->peephole >= 0 && m->peephole < rest) ||
        (m->live >= 0 && (m->live < first || m->live >= rest)))
        return false;
    return has_shape(type_at(x, m->r), 2, m->is_transposed ? wide : m->units,
                     m->is_transposed ? m->units : wide) &&
           (!has_cell || has_shape(type_at(x, m->c), 2, m->batch, m->units)) &&
           (m->bias < 0 || has_shape(type_at(x, m->bias), 1, 1, wide)) &&
           (m->peephole < 0 ||
            has_shape(type_at(x, m->peephole), 1, 1, TAKT_RNN_PEEPHOLES * m->units)) &&
           (m->live < 0 || has_shape(type_at(x, m->live), 2, m->batch, 1)) &&
           (!m->is_bytes || takt_rnn_bytes_fit(x, rest));
}

/* Carried value `h` is the state; a second one is the cell. Sequence `seq` has the inputs. */
static bool try_as(takt_rnn_matcher *x, const takt_node *scan, int h, int seq)
{
    const int carried = (int)takt_node_int(scan, "carried");
    const takt_port *in = x->g->inputs, *out = x->g->outputs;
    takt_rnn_match *m = &x->m;
    *m = (takt_rnn_match){.h = h,
                          .c = -1,
                          .x = carried + seq,
                          .live = -1,
                          .r = -1,
                          .bias = -1,
                          .peephole = -1,
                          .r_scale = -1,
                          .r_zero = -1,
                          .h_out = h,
                          .c_out = -1,
                          .y = -1,
                          .start = {-1, -1},
                          .keep = {-1, -1, -1, -1, -1, -1},
                          .eye = {-1, -1, -1}};
    x->knows_clip = x->knows_bias = false;
    x->bounded = TAKT_NONE;
    for (int i = 0; i < TAKT_RNN_KEEPS; i++)
        x->kept[i] = TAKT_NONE;
    if (carried == 2)
        m->c = m->c_out = 1 - h;
    const takt_type *ht = takt_type_of(x->g, in[h].id), *xt = takt_type_of(x->g, in[m->x].id);
    if (ht->rank != 2 || xt->rank != 2 || ht->dtype != xt->dtype || ht->dim[0] != xt->dim[0] ||
        ht->dim[1] < 1 || xt->dim[1] % ht->dim[1] != 0)
        return false;
    m->batch = (size_t)ht->dim[0];
    m->units = (size_t)ht->dim[1];
    m->gates = (size_t)(xt->dim[1] / ht->dim[1]);
    x->h = in[h].id;
    x->c = m->c >= 0 ? in[m->c].id : TAKT_NONE;
    x->x = in[m->x].id;
    const takt_id h_new = while_live(x, out[h].id, x->h);
    const takt_id c_new = m->c >= 0 ? while_live(x, out[m->c].id, x->c) : TAKT_NONE;
    if (h_new == TAKT_NONE || (m->c >= 0 && c_new == TAKT_NONE))
        return false;
    const bool found = m->c >= 0                                       ? is_lstm(x, h_new, c_new)
                       : takt_rnn_node(x, h_new, &takt_op_add) != NULL ? is_gru(x, h_new)
                                                                       : is_plain(x, h_new);
    if (!found || !fits(x, scan))
        return false;
    bool gives_known = true;
    for (int k = carried; k < (int)x->g->output_count && gives_known; k++)
        gives_known = is_given(x, k, h_new);
    x->gives_more |= !gives_known;
    return gives_known;
}

/* Some carried value is the left side of a product, or quantised for one. */
static bool multiplies_state(const takt_graph *g, int carried)
{
    for (size_t i = 0; i < g->count; i++) {
        const takt_op *op = g->nodes[i].op;
        for (int k = 0; (op == &takt_op_matmul || op == &takt_op_quantize) && k < carried; k++)
            if (g->nodes[i].in[0] == g->inputs[k].id)
                return true;
    }
    return false;
}

const char *takt_rnn_find(const takt_node *scan, takt_rnn_match *match)
{
    const takt_graph *g = takt_node_attr(scan, "body")->graph;
    const int carried = (int)takt_node_int(scan, "carried"),
              sequences = (int)takt_node_int(scan, "sequences");
    if (!multiplies_state(g, carried))
        return "";
    takt_rnn_matcher x = {.g = g};
    const takt_dtype dtype = takt_type_of(g, g->inputs[0].id)->dtype;
    if (dtype != TAKT_F32 && dtype != TAKT_F64 && dtype != TAKT_F16 && dtype != TAKT_BF16)
        return "no recurrent cell has this element type";
    if (carried > 2 || sequences > 2 || g->output_count > (size_t)carried + TAKT_RNN_RESULTS)
        return "no recurrent cell carries, reads or gives that many values";
    for (int h = 0; h < carried; h++)
        for (int seq = 0; seq < sequences; seq++)
            if (try_as(&x, scan, h, seq)) {
                *match = x.m;
                match->form.rounding = dtype == TAKT_F16    ? TAKT_RNN_F16
                                       : dtype == TAKT_BF16 ? TAKT_RNN_BF16
                                                            : TAKT_RNN_OWN;
                return NULL;
            }
    return x.gives_more ? "a recurrent cell that also gives something else than every state"
                        : "no recurrent cell of a known form with sigmoid, tanh or relu";
}

/* ---- addresses of operands ---- */

int takt_rnn_axis(const takt_node *scan, const char *name, size_t i)
{
    const takt_attr *list = takt_node_attr(scan, name);
    const int64_t axis = i < list->count ? list->i64s[i] : 0;
    return (int)(axis < 0 ? axis + 3 : axis);
}

int takt_rnn_sequence_axis(const takt_node *scan, int input)
{
    return takt_rnn_axis(scan, "axes", (size_t)input - (size_t)takt_node_int(scan, "carried"));
}

takt_rnn_lane takt_rnn_lane_of(const takt_view *v, int axis)
{
    return (takt_rnn_lane){.iteration = (size_t)v->stride[axis],
                           .row = (size_t)v->stride[axis == 0 ? 1 : 0]};
}

const takt_tensor *takt_rnn_inner(const takt_node *scan, int number)
{
    const takt_graph *body = takt_node_attr(scan, "body")->graph;
    return body->nodes[number & (TAKT_RNN_INNER - 1)].attr[0].tensor;
}

const char *takt_rnn_find_near(const takt_node *scan, takt_rnn_match *match)
{
    const char *why = takt_rnn_find(scan, match);
    if (why != NULL)
        return why;
    bool is_apart = takt_rnn_sequence_axis(scan, match->x) == 2;
    for (size_t k = 0; k < scan->out_count - (size_t)takt_node_int(scan, "carried"); k++)
        is_apart |= takt_rnn_axis(scan, "out_axes", k) == 2;
    return is_apart ? "a recurrent cell whose units do not lie side by side" : NULL;
}
