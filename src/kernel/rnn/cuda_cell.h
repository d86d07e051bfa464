/* cuda_cell.h - the cell of a recurrent layer on a device: one unit of one row. Part of
 * cuda_body.h.
 */
#ifndef TAKT_KERNEL_RNN_CUDA_CELL_H
#define TAKT_KERNEL_RNN_CUDA_CELL_H

#include "kernel/rnn/rnn.h"

enum { CHUNK = TAKT_CUDA_GEMM_CHUNK, ROWS = TAKT_CUDA_RNN_ROWS };

DEVICE uint32_t least_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

DEVICE uint32_t gates_of(const takt_cuda_rnn *a)
{
    return a->kind == TAKT_RNN_PLAIN ? 1 : a->kind == TAKT_RNN_LSTM ? 4 : 3;
}

DEVICE uint32_t chunks_of(const takt_cuda_rnn *a)
{
    return (a->units + CHUNK - 1) / CHUNK;
}

/* Elements from row to row of memory.h. */
DEVICE uint32_t stride_of(const takt_cuda_rnn *a)
{
    return (a->units + 3) / 4 * 4;
}

DEVICE uint64_t states_of(const takt_cuda_rnn *a)
{
    return (uint64_t)a->batch * a->units;
}

/* The element of the sequences that belongs to the turn. */
DEVICE uint32_t element_of(const takt_cuda_rnn *a, uint32_t turn)
{
    return a->is_reverse ? a->length - 1 - turn : turn;
}

/* Parts of a->room. */
DEVICE T *state_of(const takt_cuda_rnn *a, uint32_t turn)
{
    return (T *)a->room + turn % 2 * states_of(a);
}
DEVICE T *cell_of(const takt_cuda_rnn *a)
{
    return (T *)a->room + 2 * states_of(a);
}
/* q * h of a gru that resets before the product; its z is where an lstm has its cell. */
DEVICE T *reset_of(const takt_cuda_rnn *a)
{
    return (T *)a->room + 3 * states_of(a);
}

/* h before the turn; `at` is in [batch, units]. */
DEVICE T before(const takt_cuda_rnn *a, uint32_t turn, uint64_t at)
{
    return turn == 0 ? get(a->dtype, a->h, at) : fresh_of(state_of(a, turn) + at);
}

DEVICE T limited(T x, double lo, double hi)
{
    return VEC(max)(VEC(min)(x, (T)hi), (T)lo);
}

DEVICE T activated(uint32_t act, T x)
{
    return act == TAKT_RNN_SIGMOID ? MATH(sigmoid)(x)
           : act == TAKT_RNN_TANH  ? MATH(tanh)(x)
                                   : VEC(relu)(x);
}

/* ---- the cell ---- */

/* One unit of one row. */
typedef struct spot {
    const takt_cuda_rnn *a;
    const T *x, *part; /* of the piece's first gate */
    const T *h;        /* what the products multiply */
    uint32_t turn, row, unit, first_gate;
    uint32_t step, chunk; /* between gates of x and part, and between chunks of part */
} spot;

#define ADD(p, q) rounded(s->a, (p) + (q))
#define MUL(p, q) rounded(s->a, (p) * (q))
#define ONE_MINUS(p) rounded(s->a, (T)1 - (p))

DEVICE T x_at(const spot *s, uint32_t gate)
{
    return s->x[(gate - s->first_gate) * s->step];
}

/* h @ r + bias. */
DEVICE T recurrent(const spot *s, uint32_t gate)
{
    const takt_cuda_rnn *a = s->a;
    const T *part = s->part + (gate - s->first_gate) * s->step;
    T sum = part[0];
    for (uint32_t k = 1; k < chunks_of(a); k++)
        sum = sum + part[k * s->chunk];
    sum = rounded(a, sum);
    if (a->bias == NULL)
        return sum;
    return ADD(sum, get(a->dtype, a->bias, (uint64_t)a->gate[gate] * a->units + s->unit));
}

DEVICE void keep_value(const spot *s, uint32_t which, T value)
{
    const takt_cuda_rnn *a = s->a;
    const takt_cuda_rnn_lane *lane = &a->keep_lane[which];
    if (a->keep[which] != NULL)
        put(a->dtype, a->keep[which],
            element_of(a, s->turn) * lane->turn + s->row * lane->row + s->unit, value);
}

/* Clipped, then activated. */
DEVICE T finished(const spot *s, uint32_t which, T v)
{
    const takt_cuda_rnn *a = s->a;
    if (a->clips)
        v = limited(v, a->lo, a->hi);
    v = rounded(a, activated(a->act[which], v));
    keep_value(s, which, v);
    return v;
}

DEVICE T gate_of(const spot *s, uint32_t gate)
{
    return finished(s, gate, ADD(x_at(s, gate), recurrent(s, gate)));
}

/* With peephole `eye` on `c`, if it has one. */
DEVICE T peeping_gate_of(const spot *s, uint32_t gate, uint32_t eye, T c)
{
    const takt_cuda_rnn *a = s->a;
    T v = ADD(x_at(s, gate), recurrent(s, gate));
    if (a->eye[eye] >= 0) {
        const uint64_t at = (uint64_t)a->eye[eye] * a->units + s->unit;
        v = ADD(v, MUL(get(a->dtype, a->peephole, at), c));
    }
    return finished(s, gate, v);
}

typedef struct states {
    T h, c;
} states;

DEVICE states lstm(const spot *s, T c)
{
    const takt_cuda_rnn *a = s->a;
    states next;
    const T in = peeping_gate_of(s, 0, 0, c);
    const T forget = a->couples ? ONE_MINUS(in) : peeping_gate_of(s, 1, 1, c);
    const T fresh = gate_of(s, 2);
    next.c = ADD(MUL(forget, c), MUL(in, fresh));
    if (a->clips_cell)
        next.c = limited(next.c, a->cell_lo, a->cell_hi);
    const T shown = finished(s, 4, next.c);
    next.h = MUL(peeping_gate_of(s, 3, 2, next.c), shown);
    return next;
}

/* h' = (1 - z) * m + z * h. */
DEVICE T mixed(const spot *s, T z, T m, T h)
{
    return ADD(MUL(ONE_MINUS(z), m), MUL(z, h));
}

DEVICE T gru(const spot *s, T h)
{
    const T z = gate_of(s, 0), q = gate_of(s, 1), back = recurrent(s, 2);
    keep_value(s, TAKT_RNN_BACK, back);
    return mixed(s, z, finished(s, 2, ADD(x_at(s, 2), MUL(q, back))), h);
}

/* The state after the turn, wherever it goes. A row that is not live keeps what it had. */
DEVICE void give_states(const spot *s, states old, states next)
{
    const takt_cuda_rnn *a = s->a;
    const uint64_t at = (uint64_t)s->row * a->units + s->unit, element = element_of(a, s->turn);
    const bool is_lstm = a->kind == TAKT_RNN_LSTM;
    const bool is_live =
        a->live == NULL || a->live[element * a->live_lane.turn + s->row * a->live_lane.row] != 0;
    if (!is_live)
        next = old;
    state_of(a, s->turn + 1)[at] = next.h;
    if (is_lstm)
        cell_of(a)[at] = next.c;
    if (a->y != NULL)
        put(a->dtype, a->y, element * a->y_lane.turn + s->row * a->y_lane.row + s->unit,
            is_live ? next.h : (T)0);
    if (s->turn + 1 < a->length)
        return;
    put(a->dtype, a->h_out, at, next.h);
    if (is_lstm)
        put(a->dtype, a->c_out, at, next.c);
}

DEVICE void give_starts(const spot *s, states old)
{
    const takt_cuda_rnn *a = s->a;
    for (int k = 0; k < TAKT_CUDA_RNN_STARTS; k++)
        if (a->start[k] != NULL)
            put(a->dtype, a->start[k],
                element_of(a, s->turn) * a->start_lane[k].turn + s->row * a->start_lane[k].row +
                    s->unit,
                k == 0 ? old.h : old.c);
}

DEVICE void run_spot(const spot *s, uint32_t half)
{
    const takt_cuda_rnn *a = s->a;
    const uint64_t at = (uint64_t)s->row * a->units + s->unit;
    states old, next;
    old.h = half == 0 ? *s->h : before(a, s->turn, at);
    old.c = 0;
    if (a->kind == TAKT_RNN_LSTM)
        old.c = s->turn == 0 ? get(a->dtype, a->c, at) : cell_of(a)[at];
    if (half == 0)
        give_starts(s, old);
    next.c = 0;
    if (a->kind == TAKT_RNN_LSTM) {
        next = lstm(s, old.c);
    } else if (a->kind == TAKT_RNN_PLAIN) {
        next.h = gate_of(s, 0);
    } else if (a->kind == TAKT_RNN_GRU) {
        next.h = gru(s, old.h);
    } else if (half == 0) {
        cell_of(a)[at] = gate_of(s, 0);
        reset_of(a)[at] = MUL(gate_of(s, 1), old.h);
        return;
    } else {
        next.h = mixed(s, cell_of(a)[at], gate_of(s, 2), old.h);
    }
    give_states(s, old, next);
}

#endif
