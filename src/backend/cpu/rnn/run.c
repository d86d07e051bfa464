/* run.c - runs a recurrent cell over a sequence. */
#include "backend/cpu/rnn/bytes.h"

#include <string.h>

#include "plan/execute.h"

/* One call: rows [first, end) of the batch. */
typedef struct call {
    const takt_rnn_facts *f;
    const takt_step *s;
    const takt_task *t;
    takt_crew *crew;
    size_t first, end;
} call;

static char *shared(const takt_task *t, size_t at)
{
    return (char *)t->scratch + at;
}

/* ---- state ---- */

/* Where the state after an iteration is; the last one is the step's result. */
static char *state_after(const call *c, size_t iteration)
{
    const takt_rnn_facts *f = c->f;
    const size_t which = (f->length - 1 - iteration) % 2;
    if (which == 0 && !takt_rnn_widens(f))
        return takt_view_data(c->t, &c->s->out[f->m.h_out]);
    return shared(c->t, f->state_at[which]);
}

static const char *state_before(const call *c, size_t iteration)
{
    if (iteration > 0)
        return state_after(c, iteration - 1);
    return takt_rnn_widens(c->f) ? shared(c->t, c->f->state_at[c->f->length % 2])
                                 : takt_view_data(c->t, &c->s->in[c->f->m.h]);
}

static char *cell_of(const call *c)
{
    return takt_rnn_widens(c->f) ? shared(c->t, c->f->cell_at)
                                 : takt_view_data(c->t, &c->s->out[c->f->m.c_out]);
}

static void open_vectors(const call *c)
{
    const takt_rnn_facts *f = c->f;
    const size_t count = f->m.batch * f->m.units;
    const takt_view *in = c->s->in;
    if (takt_rnn_widens(f)) {
        takt_rnn_widen(f, shared(c->t, f->state_at[f->length % 2]),
                       takt_view_data(c->t, &in[f->m.h]), count);
        if (f->m.bias >= 0)
            takt_rnn_widen(f, shared(c->t, f->bias_at), takt_view_data(c->t, &in[f->m.bias]),
                           f->m.gates * f->m.units);
        if (f->m.peephole >= 0)
            takt_rnn_widen(f, shared(c->t, f->peephole_at),
                           takt_view_data(c->t, &in[f->m.peephole]),
                           TAKT_RNN_PEEPHOLES * f->m.units);
        if (f->m.c >= 0)
            takt_rnn_widen(f, cell_of(c), takt_view_data(c->t, &in[f->m.c]), count);
    } else if (f->m.c >= 0) {
        memcpy(cell_of(c), takt_view_data(c->t, &in[f->m.c]), count * f->size);
    }
}

void takt_rnn_before(const takt_step *s, const takt_task *t)
{
    const takt_rnn_facts *f = s->data;
    const call c = {.f = f, .s = s, .t = t};
    if (!f->is_packed)
        takt_rnn_pack(f, takt_view_data(t, &s->in[f->m.r]), shared(t, f->ordered_at),
                      shared(t, f->packed_at));
    if (f->m.is_bytes)
        takt_rnn_bytes_open(f, s, t);
    open_vectors(&c);
    takt_crew_open((takt_crew *)(void *)shared(t, f->crew_at), f->parts, f->length * f->halves);
}

void takt_rnn_after(const takt_step *s, const takt_task *t)
{
    const takt_rnn_facts *f = s->data;
    const call c = {.f = f, .s = s, .t = t};
    const size_t count = f->m.batch * f->m.units;
    takt_crew_close((takt_crew *)(void *)shared(t, f->crew_at));
    if (takt_rnn_widens(f)) {
        takt_rnn_narrow(f, takt_view_data(t, &s->out[f->m.h_out]), shared(t, f->state_at[0]),
                        count);
        if (f->m.c >= 0)
            takt_rnn_narrow(f, takt_view_data(t, &s->out[f->m.c_out]), cell_of(&c), count);
    } else if (f->length == 0) {
        memcpy(takt_view_data(t, &s->out[f->m.h_out]), takt_view_data(t, &s->in[f->m.h]),
               count * f->size);
    }
}

/* ---- one iteration ---- */

/* Rows [row, row + rows) of block `block` in half `half` of an iteration. */
typedef struct piece {
    size_t iteration, half, block, row, rows;
    size_t first, n; /* units */
} piece;

static const char *packed_of(const call *c, const piece *p)
{
    const takt_rnn_facts *f = c->f;
    const char *all =
        f->is_packed ? takt_view_data(c->t, &c->s->in[f->packed]) : shared(c->t, f->packed_at);
    const takt_rnn_product *product = &f->product[p->half];
    return all + f->packed_size * (product->at + p->block * product->block);
}

/* result[rows, gates * n] = state @ R. */
static void multiply(const call *c, const piece *p, const char *state, char *result)
{
    const takt_rnn_facts *f = c->f;
    const size_t n = f->product[p->half].count * p->n, units = f->m.units;
    const char *a = state + f->wide * p->row * units, *b = packed_of(c, p);
    if (f->m.is_bytes) {
        const takt_rnn_bytes_product g = {p->row, p->rows, p->block, n, b, (float *)(void *)result};
        takt_rnn_bytes_multiply(f, c->t, &g);
        return;
    }
    if (f->compute == TAKT_F64) {
        const takt_gemm_f64 g = {.m = p->rows,
                                 .n = n,
                                 .k = units,
                                 .a = (const double *)(const void *)a,
                                 .a_row = units,
                                 .a_col = 1,
                                 .reads_a = takt_rnn_reads_state(f),
                                 .b = (const double *)(const void *)b,
                                 .b_n = n,
                                 .c = (double *)(void *)result,
                                 .ldc = n,
                                 .scratch = c->t->scratch_own,
                                 .poll = c->t->poll};
        f->gemm_f64(&g);
        return;
    }
    const takt_gemm_f32 g = {.m = p->rows,
                             .n = n,
                             .k = units,
                             .a = (const float *)(const void *)a,
                             .a_row = units,
                             .a_col = 1,
                             .reads_a = takt_rnn_reads_state(f),
                             .b = (const float *)(const void *)b,
                             .b_n = n,
                             .c = (float *)(void *)result,
                             .ldc = n,
                             .scratch = c->t->scratch_own,
                             .poll = c->t->poll};
    f->gemm_f32(&g);
}

/* The element of the sequences that belongs to the iteration. */
static size_t element_of(const takt_rnn_facts *f, size_t iteration)
{
    return f->reverse ? f->length - 1 - iteration : iteration;
}

/* Inputs of the gates: in place, or widened in the task's own memory. */
static void set_x(const call *c, const piece *p, takt_rnn_args *args)
{
    const takt_rnn_facts *f = c->f;
    const takt_rnn_product *product = &f->product[p->half];
    const bool widens = takt_rnn_widens_x(f);
    const takt_convert how = {.to = f->compute, .from = f->given};
    const size_t size = widens ? sizeof(uint16_t) : f->wide;
    const char *x =
        (const char *)takt_view_data(c->t, &c->s->in[f->m.x]) +
        size * (element_of(f, p->iteration) * f->x.iteration + p->row * f->x.row + p->first);
    char *own = (char *)c->t->scratch_own + f->x_at;
    args->x_stride = widens ? product->count * p->n : f->x.row;
    for (size_t k = 0; k < product->count; k++) {
        const int gate = product->gates[k];
        const char *from = x + size * (size_t)f->m.gate[gate] * f->m.units;
        args->x[gate] = widens ? own + f->wide * k * p->n : from;
        for (size_t i = 0; widens && i < p->rows; i++)
            f->convert(&how, own + f->wide * (i * product->count + k) * p->n,
                       from + size * i * f->x.row, p->n);
    }
}

static const char *vector_of(const call *c, int input, size_t at)
{
    return takt_rnn_widens(c->f) ? shared(c->t, at) : takt_view_data(c->t, &c->s->in[input]);
}

static void set_vectors(const call *c, const piece *p, takt_rnn_args *args)
{
    const takt_rnn_facts *f = c->f;
    const takt_rnn_product *product = &f->product[p->half];
    for (size_t k = 0; f->m.bias >= 0 && k < product->count; k++) {
        const int gate = product->gates[k];
        args->bias[gate] = vector_of(c, f->m.bias, f->bias_at) +
                           f->wide * ((size_t)f->m.gate[gate] * f->m.units + p->first);
    }
    for (int k = 0; f->m.peephole >= 0 && k < TAKT_RNN_PEEPHOLES; k++)
        if (f->m.eye[k] >= 0)
            args->peephole[k] = vector_of(c, f->m.peephole, f->peephole_at) +
                                f->wide * ((size_t)f->m.eye[k] * f->m.units + p->first);
    if (f->m.live >= 0)
        args->live = (const unsigned char *)takt_view_data(c->t, &c->s->in[f->m.live]) +
                     element_of(f, p->iteration) * f->live.iteration + p->row * f->live.row;
    args->live_stride = f->live.row;
}

/* Where the first unit of the first row of scanned result `result` is. */
static char *scanned_at(const call *c, const piece *p, int result, const takt_rnn_lane *lane)
{
    const takt_rnn_facts *f = c->f;
    return (char *)takt_view_data(c->t, &c->s->out[result]) +
           f->size *
               (element_of(f, p->iteration) * lane->iteration + p->row * lane->row + p->first);
}

static char *own_keep(const call *c, size_t k)
{
    const takt_rnn_facts *f = c->f;
    return (char *)c->t->scratch_own + f->keep_at + k * takt_rnn_rows(f) * f->block * f->wide;
}

/* Inputs and outputs of an iteration; its two halves hand over the values in between. */
static void set_state(const call *c, const piece *p, takt_rnn_args *args)
{
    const takt_rnn_facts *f = c->f;
    const size_t at = f->wide * (p->row * f->m.units + p->first);
    const bool is_first_half = f->halves == 2 && p->half == 0;
    args->stride = f->m.units;
    args->h = state_before(c, p->iteration) + at;
    args->h_next = (is_first_half ? shared(c->t, f->reset_at) : state_after(c, p->iteration)) + at;
    if (f->m.c >= 0)
        args->c = args->c_next = cell_of(c) + at;
    else if (f->halves == 2)
        args->c = args->c_next = shared(c->t, f->update_at) + at;
    if (f->m.y >= 0 && !is_first_half) {
        args->y = takt_rnn_widens(f) ? (char *)c->t->scratch_own + f->y_at
                                     : scanned_at(c, p, f->m.y, &f->y);
        args->y_stride = takt_rnn_widens(f) ? p->n : f->y.row;
    }
}

/* Rows of a result that were computed in own memory. */
static void give(const call *c, const piece *p, int result, const takt_rnn_lane *lane,
                 const char *from, size_t stride)
{
    const takt_rnn_facts *f = c->f;
    char *to = scanned_at(c, p, result, lane);
    for (size_t i = 0; i < p->rows; i++, from += f->wide * stride, to += f->size * lane->row)
        if (takt_rnn_widens(f))
            takt_rnn_narrow(f, to, from, p->n);
        else
            memcpy(to, from, p->n * f->size);
}

/* State and cell at the beginning of the iteration. */
static void give_starts(const call *c, const piece *p)
{
    const takt_rnn_facts *f = c->f;
    const size_t at = f->wide * (p->row * f->m.units + p->first);
    if (f->m.start[0] >= 0)
        give(c, p, f->m.start[0], &f->start[0], state_before(c, p->iteration) + at, f->m.units);
    if (f->m.start[1] >= 0)
        give(c, p, f->m.start[1], &f->start[1], cell_of(c) + at, f->m.units);
}

/* Destinations of the kept values that this half of the iteration computes. */
static void set_keeps(const call *c, const piece *p, takt_rnn_args *args)
{
    const takt_rnn_facts *f = c->f;
    for (size_t k = 0; k < TAKT_RNN_KEEPS; k++) {
        const bool is_here = f->halves == 1 || (k == 2) == (p->half == 1);
        if (f->m.keep[k] < 0 || !is_here)
            continue;
        args->keep[k] =
            takt_rnn_widens(f) ? own_keep(c, k) : scanned_at(c, p, f->m.keep[k], &f->keep[k]);
        args->keep_stride[k] = takt_rnn_widens(f) ? p->n : f->keep[k].row;
    }
}

static void give_narrowed(const call *c, const piece *p, const takt_rnn_args *args)
{
    const takt_rnn_facts *f = c->f;
    if (args->y != NULL)
        give(c, p, f->m.y, &f->y, args->y, p->n);
    for (size_t k = 0; k < TAKT_RNN_KEEPS; k++)
        if (args->keep[k] != NULL)
            give(c, p, f->m.keep[k], &f->keep[k], args->keep[k], p->n);
}

static void run_piece(const call *c, const piece *p)
{
    const takt_rnn_facts *f = c->f;
    const takt_rnn_product *product = &f->product[p->half];
    char *result = (char *)c->t->scratch_own + f->result_at;
    takt_rnn_args args = {.form = &f->form[p->half], .rows = p->rows, .n = p->n};
    multiply(c, p, p->half == 0 ? state_before(c, p->iteration) : shared(c->t, f->reset_at),
             result);
    args.r_stride = product->count * p->n;
    for (size_t k = 0; k < product->count; k++)
        args.r[product->gates[k]] = result + f->wide * k * p->n;
    set_x(c, p, &args);
    set_vectors(c, p, &args);
    set_state(c, p, &args);
    set_keeps(c, p, &args);
    if (p->half == 0)
        give_starts(c, p);
    f->cell(&args);
    if (takt_rnn_widens(f))
        give_narrowed(c, p, &args);
}

static void run_blocks(const call *c, size_t step, size_t first, size_t end)
{
    const takt_rnn_facts *f = c->f;
    piece p = {.iteration = step / f->halves, .half = step % f->halves};
    if (f->m.is_bytes)
        takt_rnn_bytes_quantise(f, c->t, (const float *)(const void *)state_before(c, p.iteration));
    for (p.block = first; p.block < end; p.block++) {
        p.first = p.block * f->block;
        p.n = f->m.units - p.first < f->block ? f->m.units - p.first : f->block;
        for (p.row = c->first; p.row < c->end; p.row += p.rows) {
            p.rows = c->end - p.row < TAKT_RNN_ROWS ? c->end - p.row : TAKT_RNN_ROWS;
            run_piece(c, &p);
        }
    }
}

static void run_part(void *user, size_t step, size_t part)
{
    const call *c = user;
    size_t first, end;
    takt_cpu_share(c->f->blocks, 1, part, c->f->parts, &first, &end);
    run_blocks(c, step, first, end);
}

/* ---- all iterations ---- */

/* A run that is cancelled or late ends between two iterations, as it would between two steps. */
static bool goes_on(void *user, size_t step)
{
    enum {
        EVERY = 16,
        LONG = 1 << 16
    }; /* iterations between two readings of the clock; of few products */
    const call *c = user;
    const takt_execution *x = c->t->execution;
    const size_t units = c->f->m.units, every = c->f->m.batch * units * units < LONG ? EVERY : 1;
    if (x == NULL)
        return true;
    /* The caller's clock is read on the caller's thread, which always takes part. */
    const bool is_late = c->t->worker == 0 && step % every == 0 && takt_is_late(x);
    const bool is_cancelled = takt_is_cancelled(x);
    if (!is_late && !is_cancelled)
        return true;
    if (takt_crew_stop(c->crew)) {
        takt_error_set(x->error, is_cancelled ? TAKT_E_CANCELLED : TAKT_E_DEADLINE,
                       "%s at iteration %zu of %zu of %s",
                       is_cancelled ? "the run was cancelled" : "the deadline passed",
                       step / c->f->halves + 1, c->f->length, c->s->name);
        takt_fault_merge(c->t->fault, &(takt_fault){.index = 0});
    }
    return false;
}

static bool is_stopped(const call *c)
{
    return atomic_load_explicit(&c->crew->stopped, memory_order_relaxed) != 0;
}

void takt_rnn_run(const takt_step *s, const takt_task *t)
{
    const takt_rnn_facts *f = s->data;
    call c = {.f = f, .s = s, .t = t, .end = f->m.batch};
    c.crew = (takt_crew *)(void *)shared(t, f->crew_at);
    if (f->parts > 1) {
        const takt_crew_work work = {run_part, goes_on, &c};
        takt_crew_run(c.crew, t->index, &work);
        return;
    }
    takt_cpu_share(f->m.batch, 1, t->index, s->task_count, &c.first, &c.end);
    for (size_t i = 0; i < f->length * f->halves; i++) {
        if (is_stopped(&c) || !goes_on(&c, i))
            return;
        run_blocks(&c, i, 0, f->blocks);
    }
}
