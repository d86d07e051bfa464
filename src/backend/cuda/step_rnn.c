/* step_rnn.c - recurrent layers: a scan whose body is a plain, LSTM or GRU cell, as one kernel
 * (kernel/rnn/cuda_body.inc). The body is recognised as on the cpu. */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/rnn/match.h"
#include "backend/cuda/step.h"
#include "op/ops.h"

static void set_form(const takt_rnn_match *m, takt_cuda_rnn *r)
{
    r->batch = (uint32_t)m->batch;
    r->units = (uint32_t)m->units;
    r->kind = m->form.kind;
    r->rounds = m->form.rounding != TAKT_RNN_OWN;
    r->clips = m->form.clips;
    r->couples = m->form.couples;
    r->clips_cell = m->form.clips_cell;
    r->lo = m->form.lo;
    r->hi = m->form.hi;
    r->cell_lo = m->form.cell_lo;
    r->cell_hi = m->form.cell_hi;
    for (int k = 0; k < TAKT_RNN_ACTIVATIONS; k++)
        r->act[k] = m->form.act[k];
    for (int k = 0; k < TAKT_RNN_GATES; k++)
        r->gate[k] = (uint32_t)m->gate[k];
    for (int k = 0; k < TAKT_RNN_PEEPHOLES; k++)
        r->eye[k] = m->peephole >= 0 ? m->eye[k] : -1;
}

/* A block that holds one row and one unit: less than this fits nowhere. */
static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    takt_rnn_match m;
    if (n->op != &takt_op_scan)
        return "";
    const char *why = takt_rnn_find_near(n, &m);
    if (why != NULL)
        return why[0] != '\0' ? why : "the body of a scan has no device code";
    if (m.is_bytes)
        return "a recurrent cell with weights of bytes";
    const takt_type *x = takt_type_of(g, n->in[m.x]);
    const size_t batch = (size_t)takt_type_of(g, n->in[m.h])->dim[0];
    const int64_t length = x->dim[takt_rnn_sequence_axis(n, m.x)];
    if (batch == 0 || batch > INT32_MAX || length > INT32_MAX / 2)
        return "there are no sequences, or more than a device step counts";
    enum { OLDEST_BYTES = 48 << 10 };
    takt_cuda_rnn r = {.dtype = (uint32_t)x->dtype};
    const takt_cuda_block_room least = {OLDEST_BYTES, 1};
    set_form(&m, &r);
    r.batch = (uint32_t)batch;
    return m.units <= INT32_MAX / 8 && takt_cuda_cut_rnn(&r, &least)
               ? NULL
               : "more units than the memory of a block holds";
}

/* ---- operands ---- */

static takt_status fill_vector(void *user, const void *from, void *to)
{
    memcpy(to, from, *(const size_t *)user);
    return TAKT_OK;
}

/* Recurrent weights with the units that are multiplied as rows, or back. */
typedef struct transposed {
    size_t rows, columns, bytes; /* as stored; of an element */
} transposed;

static takt_status fill_transposed(void *user, const void *from, void *to)
{
    const transposed *t = user;
    for (size_t i = 0; i < t->rows; i++)
        for (size_t k = 0; k < t->columns; k++)
            memcpy((char *)to + (k * t->rows + i) * t->bytes,
                   (const char *)from + (i * t->columns + k) * t->bytes, t->bytes);
    return TAKT_OK;
}

/* Input `number` of the scan, or a constant of its body; NULL: there is none. */
static takt_status add_input(takt_planner *p, const takt_node *n, int number, const void **to)
{
    size_t index;
    if (number < 0)
        return TAKT_OK;
    if (number < TAKT_RNN_INNER) {
        TAKT_TRY(takt_planner_input(p, n->in[number], &index));
    } else {
        const takt_tensor *from = takt_rnn_inner(n, number);
        size_t bytes = takt_tensor_bytes(from);
        TAKT_TRY(takt_planner_inner(p, from, "", bytes, fill_vector, &bytes, &index));
    }
    *to = takt_cuda_in(index);
    return TAKT_OK;
}

/* Constant weights are stored so that neighbouring threads read neighbours. */
static takt_status add_r(takt_planner *p, const takt_node *n, const takt_rnn_match *m,
                         takt_cuda_rnn *r)
{
    enum { FORMAT = 64 };
    char format[FORMAT];
    const size_t wide = m->gates * m->units;
    const bool is_inner = m->r >= TAKT_RNN_INNER;
    transposed *t = takt_planner_get(p, sizeof *t);
    size_t index;
    if (t == NULL)
        return TAKT_ERR_MEMORY;
    *t = (transposed){wide, m->units, (size_t)takt_dtype_bits((takt_dtype)r->dtype) / 8};
    r->r_row = (int64_t)wide;
    r->r_col = 1;
    if (!m->is_transposed)
        return add_input(p, n, m->r, &r->r);
    if (!is_inner && !takt_planner_is_constant(p, n->in[m->r])) {
        r->r_row = 1;
        r->r_col = (int64_t)m->units;
        return add_input(p, n, m->r, &r->r);
    }
    const size_t bytes = wide * m->units * t->bytes;
    snprintf(format, sizeof format, "transposed-%zux%zux%zu", wide, m->units, t->bytes);
    TAKT_TRY(is_inner
                 ? takt_planner_inner(p, takt_rnn_inner(n, m->r), format, bytes, fill_transposed, t,
                                      &index)
                 : takt_planner_packed(p, n->in[m->r], format, bytes, fill_transposed, t, &index));
    r->r = takt_cuda_in(index);
    return TAKT_OK;
}

static takt_cuda_rnn_lane lane_of(const takt_view *v, int axis)
{
    const takt_rnn_lane lane = takt_rnn_lane_of(v, axis);
    return (takt_cuda_rnn_lane){lane.iteration, lane.row};
}

static takt_status add_inputs(takt_planner *p, const takt_node *n, const takt_rnn_match *m,
                              takt_cuda_rnn *r)
{
    const void *live = NULL;
    size_t index;
    TAKT_TRY(takt_planner_input(p, n->in[m->x], &index));
    r->x = takt_cuda_in(index);
    r->x_lane = lane_of(&p->step->in[index], takt_rnn_sequence_axis(n, m->x));
    if (m->live >= 0) {
        TAKT_TRY(takt_planner_input(p, n->in[m->live], &index));
        live = takt_cuda_in(index);
        r->live_lane = lane_of(&p->step->in[index], takt_rnn_sequence_axis(n, m->live));
    }
    r->live = live;
    TAKT_TRY(add_input(p, n, m->h, &r->h));
    TAKT_TRY(add_input(p, n, m->c, &r->c));
    TAKT_TRY(add_input(p, n, m->bias, &r->bias));
    TAKT_TRY(add_input(p, n, m->peephole, &r->peephole));
    return add_r(p, n, m, r);
}

/* Scanned result `number`, if there is one. */
static void *scanned(const takt_planner *p, const takt_node *n, int number,
                     takt_cuda_rnn_lane *lane)
{
    if (number < 0)
        return NULL;
    const size_t k = (size_t)number - (size_t)takt_node_int(n, "carried");
    *lane = lane_of(&p->step->out[number], takt_rnn_axis(n, "out_axes", k));
    return takt_cuda_out((size_t)number);
}

/* Results of the step have the numbers of the scan's. */
static takt_status add_results(takt_planner *p, const takt_node *n, const takt_rnn_match *m,
                               takt_cuda_rnn *r)
{
    TAKT_TRY(takt_planner_outputs(p, p->group->nodes[0]));
    r->h_out = takt_cuda_out((size_t)m->h_out);
    r->c_out = m->c_out >= 0 ? takt_cuda_out((size_t)m->c_out) : NULL;
    r->y = scanned(p, n, m->y, &r->y_lane);
    for (size_t k = 0; k < TAKT_RNN_STARTS; k++)
        r->start[k] = scanned(p, n, m->start[k], &r->start_lane[k]);
    for (size_t k = 0; k < TAKT_RNN_KEEPS; k++)
        r->keep[k] = scanned(p, n, m->keep[k], &r->keep_lane[k]);
    return TAKT_OK;
}

static takt_status compile(takt_planner *p)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    const takt_cuda_block_room has = takt_cuda_room(p);
    takt_rnn_match m;
    takt_cuda_step *s;
    (void)takt_rnn_find_near(n, &m);
    const takt_type *x = takt_type_of(p->graph, n->in[m.x]);
    takt_cuda_rnn r = {.room = takt_cuda_named(TAKT_CUDA_SCRATCH, 0),
                       .tickets = takt_cuda_named(TAKT_CUDA_TICKETS, 0),
                       .dtype = (uint32_t)x->dtype,
                       .length = (uint32_t)x->dim[takt_rnn_sequence_axis(n, m.x)],
                       .is_reverse = takt_node_int(n, "reverse") != 0};
    set_form(&m, &r);
    r.batch = (uint32_t)takt_type_of(p->graph, n->in[m.h])->dim[0]; /* of this size, as x is */
    TAKT_TRY(takt_cuda_step_get(p, 1, &s));
    TAKT_TRY(add_inputs(p, n, &m, &r));
    TAKT_TRY(add_results(p, n, &m, &r));
    (void)takt_cuda_cut_rnn(&r, &has);
    p->step->scratch_bytes = takt_cuda_rnn_scratch(&r);
    takt_cuda_launch_rnn(&r, &s->launches[0]);
    const double products = (double)r.batch * r.units * r.units * (double)m.gates;
    p->step->cost.flops = 2.0 * r.length * products;
    return TAKT_OK;
}

const takt_cuda_kind takt_cuda_rnn_kind = {.name = "rnn", .accepts = accepts, .compile = compile};
