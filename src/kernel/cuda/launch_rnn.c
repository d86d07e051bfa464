/* launch_rnn.c - how a recurrent layer is cut into blocks.
 *
 * Rows of the batch are independent, so groups of blocks that have them need not wait. Blocks of
 * one group wait for each other in every iteration, but each multiplies only its own columns of r,
 * which it may hold in shared memory. */
#include <takt/tensor.h>

#include "kernel/cuda/launch.h"
#include "kernel/rnn/rnn.h"

enum { LEAST_UNITS = 4, TILE_BYTES = 24 << 10 };

static uint32_t least_of(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

static uint32_t ceiling(uint64_t a, uint64_t b)
{
    return (uint32_t)((a + b - 1) / b);
}

static uint32_t gates_of(const takt_cuda_rnn *r)
{
    return r->kind == TAKT_RNN_PLAIN ? 1 : r->kind == TAKT_RNN_LSTM ? 4 : 3;
}

static uint32_t chunks_of(const takt_cuda_rnn *r)
{
    return ceiling(r->units, TAKT_CUDA_GEMM_CHUNK);
}

static uint64_t bytes_of(const takt_cuda_rnn *r)
{
    return r->dtype == TAKT_F64 ? sizeof(double) : sizeof(float);
}

/* Shared memory of a block without its part of r, and that part: `memory` of cuda_body.inc. */
static uint64_t shared_of(const takt_cuda_rnn *r)
{
    const uint64_t units = (r->units + 3) / 4 * 4;
    const uint64_t tile = (uint64_t)r->row_tile * gates_of(r) * r->unit_tile;
    return (r->row_tile * units + (chunks_of(r) + 1) * tile) * bytes_of(r);
}

static uint64_t staged_of(const takt_cuda_rnn *r)
{
    return (uint64_t)r->units * gates_of(r) * r->each * bytes_of(r);
}

/* The largest tiles that fit. */
static bool set_tiles(takt_cuda_rnn *r, const takt_cuda_block_room *has)
{
    static const uint32_t rows[] = {2 * TAKT_CUDA_RNN_ROWS, TAKT_CUDA_RNN_ROWS, 1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i] > 1 && r->rows <= rows[i] / 4) /* most of these rows do not exist */
            continue;
        r->row_tile = rows[i];
        const uint64_t of_unit =
            (chunks_of(r) + 1) * (uint64_t)r->row_tile * gates_of(r) * bytes_of(r);
        r->unit_tile = least_of(r->each, TILE_BYTES / of_unit + 1);
        if (shared_of(r) <= has->shared_bytes)
            return true;
    }
    return false;
}

/* Microseconds of an iteration, on an H200. Only for comparison. */
static double iteration_us(const takt_cuda_rnn *r)
{
    const double products = (double)r->rows * r->units * gates_of(r) * r->each;
    const double per_us = r->row_tile == 1 ? 4e4 : 9e4; /* products of a multiprocessor */
    const double far = r->is_staged ? 0 : 3 * products / per_us;
    const double barrier = r->parts > 1 ? 1.5 + 0.008 * r->parts : 0.1;
    return products / per_us + far + barrier;
}

bool takt_cuda_cut_rnn(takt_cuda_rnn *r, const takt_cuda_block_room *has)
{
    takt_cuda_rnn best = *r;
    double best_us = -1;
    const uint32_t most_parts = ceiling(r->units, LEAST_UNITS);
    for (uint32_t groups = 1; groups <= r->batch && groups <= has->processors; groups *= 2)
        for (uint32_t parts = 1; parts <= most_parts && groups * parts <= has->processors;
             parts += parts < 8 ? parts : 8) {
            takt_cuda_rnn now = *r;
            now.rows = ceiling(r->batch, groups);
            now.each = ceiling(r->units, parts);
            now.parts = ceiling(r->units, now.each);
            if (!set_tiles(&now, has))
                continue;
            now.is_staged = shared_of(&now) + staged_of(&now) <= has->shared_bytes;
            const double us = iteration_us(&now);
            if (best_us < 0 || us < best_us) {
                best = now;
                best_us = us;
            }
        }
    *r = best;
    return best_us >= 0;
}

uint64_t takt_cuda_rnn_scratch(const takt_cuda_rnn *r)
{
    const uint64_t arrays = r->kind == TAKT_RNN_LSTM ? 3 : r->kind == TAKT_RNN_GRU_RESET ? 4 : 2;
    return arrays * r->batch * r->units * bytes_of(r);
}

void takt_cuda_launch_rnn(const takt_cuda_rnn *r, takt_cuda_launch *l)
{
    enum { FEWEST = 64, WARP = 32 };
    const uint64_t sets = r->row_tile == 1 ? 1 : r->row_tile / TAKT_CUDA_RNN_ROWS;
    const uint64_t chains = sets * chunks_of(r) * gates_of(r) * r->unit_tile;
    const uint64_t copies = (uint64_t)r->row_tile * r->units / 2;
    const uint32_t wanted = ceiling(chains > copies ? chains : copies, WARP) * WARP;
    const uint32_t groups = ceiling(r->batch, r->rows);
    *l = (takt_cuda_launch){.kernel =
                                r->dtype == TAKT_F64 ? "takt_cuda_rnn_f64" : "takt_cuda_rnn_f32",
                            .grid = {groups * r->parts, 1, 1},
                            .tickets = TAKT_CUDA_RNN_TICKETS * groups,
                            .is_together = r->parts > 1,
                            .arg_bytes = sizeof *r};
    l->threads = wanted < FEWEST                  ? FEWEST
                 : wanted > TAKT_CUDA_RNN_THREADS ? TAKT_CUDA_RNN_THREADS
                                                  : wanted;
    l->shared_bytes = (uint32_t)(shared_of(r) + (r->is_staged ? staged_of(r) : 0));
    l->args.rnn = *r;
}
