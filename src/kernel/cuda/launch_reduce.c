/* launch_reduce.c - which kernel reduces, and on how many blocks. */
#include "kernel/cuda/launch.h"
#include "kernel/reduce/reduce.h"

static uint32_t blocks_of(uint64_t count, uint64_t each)
{
    return (uint32_t)((count + each - 1) / each);
}

static takt_cuda_launch launch(const char *kernel, uint32_t blocks, uint32_t threads)
{
    return (takt_cuda_launch){.kernel = kernel, .grid = {blocks, 1, 1}, .threads = threads};
}

enum { GRID_Y = 65535, ROW_THREADS = 128 };

static bool is_arg(uint32_t op)
{
    return op >= TAKT_REDUCE_ARGMAX;
}

static uint64_t chunks_of(const takt_cuda_reduce *r)
{
    return (r->n + TAKT_REDUCE_CHUNK - 1) / TAKT_REDUCE_CHUNK;
}

/* Neighbours, a block to a chunk; short rows leave most of it idle. */
static bool is_by_rows(const takt_cuda_reduce *r)
{
    enum { SHORT = 512 };
    return !is_arg(r->op) && r->step == 1 && r->run >= r->n && r->n >= SHORT &&
           chunks_of(r) * r->count <= INT32_MAX;
}

/* Whether chunks are computed separately: there are too few results to fill the device. */
static bool is_cut(const takt_cuda_reduce *r, uint32_t processors)
{
    const uint64_t chunks = chunks_of(r);
    return !is_arg(r->op) && chunks > 1 && chunks <= (uint64_t)GRID_Y * TAKT_CUDA_REDUCE_ROW &&
           r->count / TAKT_CUDA_REDUCE_RESULTS < 2 * (uint64_t)processors;
}

/* Rows whose chunks are added while others are computed, which takes shared memory; with fewer
 * chunks each is a block, and all loads are in flight at once. */
static bool is_long(const takt_cuda_reduce *r)
{
    enum { LONG = 1024 };
    return is_by_rows(r) && chunks_of(r) >= LONG;
}

static bool is_in_order(const takt_cuda_reduce *r, const takt_cuda_block_room *has)
{
    return is_by_rows(r) && (!is_long(r) || has->shared_bytes >= TAKT_CUDA_REDUCE_SHARED);
}

uint64_t takt_cuda_reduce_scratch(const takt_cuda_reduce *r, const takt_cuda_block_room *has)
{
    const bool is_apart =
        is_in_order(r, has) ? !is_long(r) && chunks_of(r) > 1 : is_cut(r, has->processors);
    return is_apart ? chunks_of(r) * r->count * sizeof(float) : 0;
}

uint32_t takt_cuda_reduce_tickets(const takt_cuda_reduce *r, const takt_cuda_block_room *has)
{
    if (!is_in_order(r, has) || chunks_of(r) == 1)
        return 0;
    return (uint32_t)(is_long(r) ? 2 * chunks_of(r) * r->count : r->count);
}

void takt_cuda_launch_reduce_long(const takt_cuda_reduce *r, const takt_cuda_block_room *has,
                                  uint32_t *tickets, takt_cuda_launch *l)
{
    const uint64_t items = (uint64_t)blocks_of(chunks_of(r), TAKT_CUDA_REDUCE_EACH) * r->count;
    const uint64_t fit = has->shared_bytes / TAKT_CUDA_REDUCE_SHARED * (uint64_t)has->processors;
    const uint64_t most = fit > 2 ? fit - 1 : 1; /* one adds */
    const uint32_t blocks = (uint32_t)(items < most ? items : most);
    *l = launch("takt_cuda_reduce_long_f32", blocks + 1, ROW_THREADS);
    l->args.reduce = *r;
    l->args.reduce.blocks = blocks;
    l->args.reduce.tickets = tickets;
    l->shared_bytes = TAKT_CUDA_REDUCE_SHARED;
    l->is_together = true;
    l->tickets = (uint32_t)(2 * chunks_of(r) * r->count);
    l->arg_bytes = sizeof *r;
}

static void launch_rows_of(const takt_cuda_reduce *r, float *scratch, uint32_t *tickets,
                           takt_cuda_launch *l)
{
    const uint64_t chunks = chunks_of(r);
    *l = launch("takt_cuda_reduce_row_f32", (uint32_t)(r->count * chunks), ROW_THREADS);
    l->args.reduce = *r;
    l->args.reduce.partial = chunks > 1 ? scratch : NULL;
    l->args.reduce.tickets = chunks > 1 ? tickets : NULL;
    l->tickets = chunks > 1 ? (uint32_t)r->count : 0;
    l->arg_bytes = sizeof *r;
}

size_t takt_cuda_launch_reduce(const takt_cuda_reduce *r, const takt_cuda_block_room *has,
                               float *scratch, uint32_t *tickets, takt_cuda_launch *l)
{
    const bool cut = is_cut(r, has->processors);
    if (is_in_order(r, has)) {
        if (is_long(r))
            takt_cuda_launch_reduce_long(r, has, tickets, l);
        else
            launch_rows_of(r, scratch, tickets, l);
        return 1;
    }
    l[0] = launch(is_arg(r->op) ? "takt_cuda_reduce_arg_f32" : "takt_cuda_reduce_f32",
                  blocks_of(r->count, TAKT_CUDA_REDUCE_RESULTS), TAKT_CUDA_REDUCE_THREADS);
    l[0].args.reduce = *r;
    l[0].args.reduce.is_row = r->step == 1;
    l[0].args.reduce.is_cut = cut;
    l[0].arg_bytes = sizeof *r;
    if (!cut)
        return 1;
    const uint64_t chunks = chunks_of(r);
    l[0].grid[1] = chunks < TAKT_CUDA_REDUCE_ROW ? (uint32_t)chunks : TAKT_CUDA_REDUCE_ROW;
    l[0].grid[2] = blocks_of(chunks, TAKT_CUDA_REDUCE_ROW);
    l[0].args.reduce.dst = scratch;
    l[1] = launch("takt_cuda_combine_f32", blocks_of(r->count, TAKT_CUDA_REDUCE_THREADS),
                  TAKT_CUDA_REDUCE_THREADS);
    l[1].args.combine = (takt_cuda_combine){r->dst, scratch, r->count, chunks_of(r), r->op};
    l[1].arg_bytes = sizeof l[1].args.combine;
    return 2;
}
