/* cuda_body.h - all turns of a recurrent layer on a device, for one type of computation.
 *
 * Included after T, VEC(name), MATH(name), get, put, rounded, fresh_of and load4. Products have the
 * order of gemm_f32.h: chunks of 256 by fma, each with a thread of its own, added in order. What a
 * block needs of r stays in its shared memory for all turns, if it fits. States go from block to
 * block through memory: two arrays that are read and written alternately, with a barrier of the
 * group after every turn.
 */
#ifndef TAKT_KERNEL_RNN_CUDA_BODY_H
#define TAKT_KERNEL_RNN_CUDA_BODY_H

#include "kernel/rnn/cuda_cell.h"

/* Operands of later products are loaded while earlier ones are added up. */
#ifdef __CUDACC__
#define AHEAD _Pragma("unroll 8")
#else
#define AHEAD
#endif

/* Shared memory of a block. */
typedef struct memory {
    T *h;    /* [row_tile][units, rounded up to 4] */
    T *part; /* [chunks][row_tile][gates][unit_tile]: sums of products */
    T *x;    /* [row_tile][gates][unit_tile] */
    T *r;    /* [units][all gates][each], or not there */
} memory;

/* What is computed at once: rows and units of a half of a turn. Only a gru that resets before the
 * product has two halves. */
typedef struct piece {
    uint32_t turn, half;
    uint32_t row, rows, unit, n;
    uint32_t first_gate, gates;
} piece;

/* ---- a piece ---- */

/* One chain of products, of ROWS rows or of one. */
typedef struct chain {
    uint32_t column, chunk, row; /* column: of the piece; row: the first, of the tile */
    uint32_t first, end;         /* units that it multiplies */
    const T *near;               /* its column of r in shared memory, `step` apart */
    uint32_t step;
    int64_t far; /* or in r */
} chain;

DEVICE chain chain_of(const takt_cuda_rnn *a, const memory *m, const piece *p, uint32_t item,
                      uint32_t rows)
{
    const uint32_t columns = p->gates * p->n, chunks = chunks_of(a);
    chain c;
    c.column = item % columns;
    c.chunk = item / columns % chunks;
    c.row = item / columns / chunks * rows;
    c.first = c.chunk * CHUNK;
    c.end = least_of(c.first + CHUNK, a->units);
    const uint32_t gate = p->first_gate + c.column / p->n, unit = p->unit + c.column % p->n;
    c.near = m->r + gate * a->each + unit % a->each;
    c.step = gates_of(a) * a->each;
    c.far = ((int64_t)a->gate[gate] * a->units + unit) * a->r_col;
    return c;
}

DEVICE T right_of(const takt_cuda_rnn *a, const chain *c, uint32_t k, const bool is_staged)
{
    return is_staged ? c->near[k * c->step]
                     : get(a->dtype, a->r, (uint64_t)(k * a->r_row + c->far));
}

/* `rows` and `is_staged` are known to the compiler. */
DEVICE void run_chain(const takt_cuda_rnn *a, const memory *m, const piece *p, uint32_t item,
                      const int rows, const bool is_staged)
{
    const chain c = chain_of(a, m, p, item, (uint32_t)rows);
    const uint32_t stride = stride_of(a);
    const T *h = m->h + c.row * stride;
    T acc[ROWS] = {0};
    uint32_t k = c.first;
    AHEAD
    for (; k + 4 <= c.end; k += 4) {
        T left[ROWS][4], right[4];
        UNROLL
        for (uint32_t j = 0; j < 4; j++)
            right[j] = right_of(a, &c, k + j, is_staged);
        UNROLL
        for (int i = 0; i < rows; i++)
            load4(left[i], h + (uint32_t)i * stride + k);
        UNROLL
        for (int j = 0; j < 4; j++) {
            UNROLL
            for (int i = 0; i < rows; i++)
                acc[i] = FUSED(left[i][j], right[j], acc[i]);
        }
    }
    for (; k < c.end; k++) {
        const T right = right_of(a, &c, k, is_staged);
        UNROLL
        for (int i = 0; i < rows; i++)
            acc[i] = FUSED(h[(uint32_t)i * stride + k], right, acc[i]);
    }
    T *to = m->part + (c.column / p->n) * a->unit_tile + c.column % p->n;
    UNROLL
    for (int i = 0; i < rows; i++)
        to[(c.chunk * a->row_tile + c.row + (uint32_t)i) * p->gates * a->unit_tile] = acc[i];
}

DEVICE void multiply(const takt_cuda_rnn *a, const memory *m, const piece *p SELF_PARAMETER)
{
    const bool is_one = a->row_tile == 1;
    const uint32_t sets = is_one ? 1 : (p->rows + ROWS - 1) / ROWS;
    const uint32_t chains = p->gates * p->n * chunks_of(a) * sets;
    for (uint32_t i = LANE; i < chains; i += LANES)
        if (is_one && a->is_staged)
            run_chain(a, m, p, i, 1, true);
        else if (is_one)
            run_chain(a, m, p, i, 1, false);
        else if (a->is_staged)
            run_chain(a, m, p, i, ROWS, true);
        else
            run_chain(a, m, p, i, ROWS, false);
}

DEVICE void run_cells(const takt_cuda_rnn *a, const memory *m, const piece *p SELF_PARAMETER)
{
    for (uint32_t i = LANE; i < p->rows * p->n; i += LANES) {
        const uint32_t row = i / p->n, unit = i % p->n, at = row * p->gates * a->unit_tile + unit;
        spot s;
        s.a = a;
        s.x = m->x + at;
        s.part = m->part + at;
        s.h = m->h + row * stride_of(a) + p->unit + unit;
        s.turn = p->turn;
        s.row = p->row + row;
        s.unit = p->unit + unit;
        s.first_gate = p->first_gate;
        s.step = a->unit_tile;
        s.chunk = a->row_tile * p->gates * a->unit_tile;
        run_spot(&s, p->half);
    }
}

/* ---- shared memory ---- */

DEVICE void stage_r(const takt_cuda_rnn *a, const memory *m, uint32_t first,
                    uint32_t end SELF_PARAMETER)
{
    const uint32_t gates = gates_of(a), n = end - first;
    for (uint32_t i = LANE; i < a->units * gates * n; i += LANES) {
        const uint32_t k = i / (gates * n), gate = i / n % gates, unit = i % n;
        const int64_t column = (int64_t)a->gate[gate] * a->units + first + unit;
        m->r[(k * gates + gate) * a->each + unit] =
            get(a->dtype, a->r, (uint64_t)(k * a->r_row + column * a->r_col));
    }
}

DEVICE void stage_x(const takt_cuda_rnn *a, const memory *m, const piece *p SELF_PARAMETER)
{
    const uint64_t element = element_of(a, p->turn);
    for (uint32_t i = LANE; i < p->rows * p->gates * p->n; i += LANES) {
        const uint32_t unit = i % p->n, gate = i / p->n % p->gates, row = i / p->n / p->gates;
        m->x[(row * p->gates + gate) * a->unit_tile + unit] =
            get(a->dtype, a->x,
                element * a->x_lane.turn + (p->row + row) * a->x_lane.row +
                    (uint64_t)a->gate[p->first_gate + gate] * a->units + p->unit + unit);
    }
}

/* What the products of a half multiply. Rows and units beyond the last are zero, and not used. */
DEVICE void stage_h(const takt_cuda_rnn *a, const memory *m, const piece *p SELF_PARAMETER)
{
    const uint32_t stride = stride_of(a);
    for (uint32_t i = LANE; i < a->row_tile * stride; i += LANES) {
        const uint32_t row = i / stride, unit = i % stride;
        const uint64_t at = (uint64_t)(p->row + row) * a->units + unit;
        const bool is_there = row < p->rows && unit < a->units;
        m->h[i] = !is_there      ? (T)0
                  : p->half == 1 ? fresh_of(reset_of(a) + at)
                                 : before(a, p->turn, at);
    }
}

/* ---- all of it ---- */

/* Which piece follows; false: none. `row`, `end` and `unit`, `last` bound what the block has. */
typedef struct bounds {
    uint32_t row, end, unit, last;
} bounds;

DEVICE void set_piece(const takt_cuda_rnn *a, const bounds *b, piece *p)
{
    const bool is_cut = a->kind == TAKT_RNN_GRU_RESET;
    p->rows = least_of(a->row_tile, b->end - p->row);
    p->n = least_of(a->unit_tile, b->last - p->unit);
    p->first_gate = p->half == 1 ? 2 : 0;
    p->gates = !is_cut ? gates_of(a) : p->half == 1 ? 1 : 2;
}

/* False if p was the last of its half. */
DEVICE bool go_on(const takt_cuda_rnn *a, const bounds *b, piece *p)
{
    p->unit += a->unit_tile;
    if (p->unit >= b->last) {
        p->unit = b->unit;
        p->row += a->row_tile;
    }
    const bool is_same = p->row < b->end;
    if (!is_same) {
        p->row = b->row;
        p->turn += p->half == 1 || a->kind != TAKT_RNN_GRU_RESET;
        p->half = a->kind == TAKT_RNN_GRU_RESET ? 1 - p->half : 0;
    }
    set_piece(a, b, p);
    return is_same;
}

/* All blocks of the group come here, for the `number`th time. */
DEVICE void meet(const takt_cuda_rnn *a, uint32_t *count, uint32_t number SELF_PARAMETER)
{
    if (a->parts == 1)
        return;
    publish_near();
    SYNC();
    if (LANE == 0) {
        (void)add_some(count, 1);
        AWAIT(count, a->parts * number);
    }
}

DEVICE void run_turns(const takt_cuda_rnn *a, const memory *m, const bounds *b,
                      uint32_t *count SELF_PARAMETER)
{
    uint32_t halves = 0;
    piece p;
    p.turn = p.half = 0;
    p.row = b->row;
    p.unit = b->unit;
    set_piece(a, b, &p);
    stage_x(a, m, &p SELF);
    while (p.turn < a->length) {
        SYNC(); /* nobody reads m->h, and the state is there */
        if (p.unit == b->unit)
            stage_h(a, m, &p SELF);
        SYNC();
        multiply(a, m, &p SELF);
        SYNC();
        run_cells(a, m, &p SELF);
        SYNC();
        const bool is_same = go_on(a, b, &p);
        if (p.turn < a->length)
            stage_x(a, m, &p SELF); /* while others may still be at work on this turn */
        if (!is_same && p.turn < a->length)
            meet(a, count, ++halves SELF);
    }
}

DEVICE void run_layer(const takt_cuda_rnn *a SELF_PARAMETER)
{
    DYNAMIC(T, shared);
    const uint32_t group = BLOCK_X / a->parts, part = BLOCK_X % a->parts;
    const uint32_t gates = gates_of(a), tile = a->row_tile * gates * a->unit_tile;
    uint32_t *tickets = a->tickets + TAKT_CUDA_RNN_TICKETS * group;
    bounds b;
    memory m;
    b.row = group * a->rows;
    b.end = least_of(b.row + a->rows, a->batch);
    b.unit = part * a->each;
    b.last = least_of(b.unit + a->each, a->units);
    m.h = shared;
    m.part = m.h + a->row_tile * stride_of(a);
    m.x = m.part + chunks_of(a) * tile;
    m.r = m.x + tile;
    if (a->is_staged)
        stage_r(a, &m, b.unit, b.last SELF);
    if (a->length > 0)
        run_turns(a, &m, &b, tickets SELF);
    for (uint64_t i = LANE; a->length == 0 && i < (uint64_t)(b.end - b.row) * (b.last - b.unit);
         i += LANES) {
        const uint64_t at =
            (b.row + i / (b.last - b.unit)) * a->units + b.unit + i % (b.last - b.unit);
        put(a->dtype, a->h_out, at, get(a->dtype, a->h, at));
        if (a->c_out != NULL)
            put(a->dtype, a->c_out, at, get(a->dtype, a->c, at));
    }
    /* No block waits any more when the last one comes here. */
    if (a->parts > 1 && LANE == 0 && is_last(&tickets[1], a->parts - 1))
        tickets[0] = 0;
}

#endif
