/* launch.c - kernels, grids and shared memory of the device steps. */
#include "kernel/cuda/launch.h"

#include <string.h>

#include "kernel/reduce/reduce.h"
#include "kernel/rows/rows.h"

static uint32_t blocks_of(uint64_t count, uint64_t each)
{
    return (uint32_t)((count + each - 1) / each);
}

static takt_cuda_launch launch(const char *kernel, uint32_t blocks, uint32_t threads)
{
    return (takt_cuda_launch){.kernel = kernel, .grid = {blocks, 1, 1}, .threads = threads};
}

void takt_cuda_launch_map(const takt_cuda_map *m, takt_cuda_launch *l)
{
    uint32_t registers = 0;
    for (uint32_t k = 0; k < m->code_count; k++)
        registers = m->code[k].to + 1U > registers ? m->code[k].to + 1U : registers;
    *l = launch("takt_cuda_map_f32",
                blocks_of(m->count, (uint64_t)TAKT_CUDA_MAP_THREADS * TAKT_CUDA_MAP_EACH),
                TAKT_CUDA_MAP_THREADS);
    l->shared_bytes =
        registers * TAKT_CUDA_MAP_THREADS * TAKT_CUDA_MAP_EACH * (uint32_t)sizeof(float);
    l->args.map = *m;
    l->arg_bytes = sizeof *m;
}

void takt_cuda_launch_rows(const takt_cuda_rows *r, takt_cuda_launch *l)
{
    enum { SHORT = 512, LONG = 16384, MANY = 4096, WIDE = 16 };
    /* Sums leave most threads of a block idle; exponentials keep them busy. */
    const bool is_norm = r->op == TAKT_ROWS_LAYER_NORM || r->op == TAKT_ROWS_RMS_NORM;
    const bool is_narrow = r->n <= SHORT || (is_norm && r->n <= LONG && r->rows >= MANY);
    const uint32_t team = is_narrow ? WIDE : TAKT_CUDA_ROWS_THREADS;
    *l = launch("takt_cuda_rows_f32", blocks_of(r->rows, TAKT_CUDA_ROWS_THREADS / team),
                TAKT_CUDA_ROWS_THREADS);
    l->args.rows = *r;
    l->args.rows.team = team;
    l->arg_bytes = sizeof *r;
}

void takt_cuda_launch_move(const takt_cuda_move_args *m, takt_cuda_launch *l)
{
    *l = launch("takt_cuda_move", blocks_of(m->count, TAKT_CUDA_MOVE_THREADS),
                TAKT_CUDA_MOVE_THREADS);
    l->args.move = *m;
    l->arg_bytes = sizeof *m;
}

void takt_cuda_launch_gather(const takt_cuda_gather_args *g, takt_cuda_launch *l)
{
    *l = launch("takt_cuda_gather",
                blocks_of(g->outer * g->count * g->inner, TAKT_CUDA_MOVE_THREADS),
                TAKT_CUDA_MOVE_THREADS);
    l->args.gather = *g;
    l->arg_bytes = sizeof *g;
}

void takt_cuda_launch_window(const takt_cuda_window *w, takt_cuda_launch *l)
{
    *l = launch("takt_cuda_window_f32", blocks_of(w->count, TAKT_CUDA_WINDOW_THREADS),
                TAKT_CUDA_WINDOW_THREADS);
    l->args.window = *w;
    l->arg_bytes = sizeof *w;
}

/* ---- reductions ---- */

enum { GRID_Y = 65535, FEW_RESULTS = 256, FEW_CHUNKS = 2 };

static bool is_arg(uint32_t op)
{
    return op >= TAKT_REDUCE_ARGMAX;
}

static uint64_t chunks_of(const takt_cuda_reduce *r)
{
    return (r->n + TAKT_REDUCE_CHUNK - 1) / TAKT_REDUCE_CHUNK;
}

/* Whether chunks are computed apart: there are too few results to fill the device. */
static bool is_cut(const takt_cuda_reduce *r, uint32_t processors)
{
    const uint64_t chunks = chunks_of(r);
    return !is_arg(r->op) && chunks > 1 && chunks <= (uint64_t)GRID_Y * TAKT_CUDA_REDUCE_ROW &&
           r->count / TAKT_CUDA_REDUCE_RESULTS < 2 * (uint64_t)processors;
}

uint64_t takt_cuda_reduce_scratch(const takt_cuda_reduce *r, uint32_t processors)
{
    return is_cut(r, processors) ? chunks_of(r) * r->count * sizeof(float) : 0;
}

size_t takt_cuda_launch_reduce(const takt_cuda_reduce *r, uint32_t processors, float *scratch,
                               takt_cuda_launch *l)
{
    const bool cut = is_cut(r, processors);
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
    const bool is_few = r->count <= FEW_RESULTS && chunks > FEW_CHUNKS;
    l[1] = launch(is_few ? "takt_cuda_combine_few_f32" : "takt_cuda_combine_f32",
                  is_few ? (uint32_t)r->count : blocks_of(r->count, TAKT_CUDA_REDUCE_THREADS),
                  TAKT_CUDA_REDUCE_THREADS);
    l[1].args.combine = (takt_cuda_combine){r->dst, scratch, r->count, chunks_of(r), r->op};
    l[1].arg_bytes = sizeof l[1].args.combine;
    return 2;
}

/* ---- products ---- */

enum { FEW_BYTES = 96 << 10, FEW_WARPS = 32, LINE_GAP = 4, DEPTH = 16, STAGES = 3 };

static uint32_t gemm_chunks(const takt_cuda_gemm *g)
{
    return blocks_of(g->k, g->chunk);
}

static uint32_t few_bytes(const takt_cuda_gemm *g)
{
    return gemm_chunks(g) * g->m * TAKT_CUDA_GEMM_FEW_COLS * (uint32_t)sizeof(float);
}

static bool is_few(const takt_cuda_gemm *g)
{
    return !g->is_conv && g->m <= TAKT_CUDA_GEMM_FEW &&
           (uint64_t)gemm_chunks(g) * g->m * TAKT_CUDA_GEMM_FEW_COLS * sizeof(float) <= FEW_BYTES;
}

static uint64_t tiles_of(const takt_cuda_gemm *g, uint32_t side)
{
    return (uint64_t)blocks_of(g->m, side) * blocks_of(g->n, side);
}

/* The largest tile of which there are enough. */
static uint32_t side_of(const takt_cuda_gemm *g, uint32_t batches, uint32_t processors)
{
    if (tiles_of(g, 128) * batches >= processors)
        return 128;
    return tiles_of(g, 64) * batches >= processors ? 64 : 32;
}

static bool is_gemm_cut(const takt_cuda_gemm *g, uint32_t batches, uint32_t processors)
{
    return batches == 1 && !is_few(g) && gemm_chunks(g) > 1 && gemm_chunks(g) <= GRID_Y &&
           tiles_of(g, 32) < processors;
}

uint64_t takt_cuda_gemm_scratch(const takt_cuda_gemm *g, uint32_t batches, uint32_t processors)
{
    if (!is_gemm_cut(g, batches, processors))
        return 0;
    return (uint64_t)gemm_chunks(g) * g->m * g->n * sizeof(float);
}

static void launch_few(const takt_cuda_gemm *g, uint32_t batches, takt_cuda_launch *l)
{
    const uint32_t chunks = gemm_chunks(g);
    uint32_t warps = chunks < 1 ? 1 : chunks < FEW_WARPS ? chunks : FEW_WARPS;
    *l = launch(g->m == 1 ? "takt_cuda_gemm_f32_row" : "takt_cuda_gemm_f32_few",
                blocks_of(g->n, TAKT_CUDA_GEMM_FEW_COLS), warps * TAKT_CUDA_GEMM_FEW_COLS);
    l->grid[2] = batches;
    l->shared_bytes = few_bytes(g);
    l->args.gemm = *g;
    l->arg_bytes = sizeof *g;
}

size_t takt_cuda_launch_gemm(const takt_cuda_gemm *g, uint32_t batches, uint32_t processors,
                             float *scratch, takt_cuda_launch *l)
{
    if (is_few(g)) {
        launch_few(g, batches, l);
        return 1;
    }
    const bool cut = is_gemm_cut(g, batches, processors);
    const uint32_t side = cut ? 32 : side_of(g, batches, processors);
    l[0] = launch(side == 128  ? "takt_cuda_gemm_f32_128"
                  : side == 64 ? "takt_cuda_gemm_f32_64"
                               : "takt_cuda_gemm_f32_32",
                  blocks_of(g->n, side), side == 32 ? 64 : 256);
    l[0].grid[1] = blocks_of(g->m, side);
    l[0].grid[2] = cut ? gemm_chunks(g) : batches;
    l[0].shared_bytes = STAGES * DEPTH * 2 * (side + LINE_GAP) * (uint32_t)sizeof(float);
    l[0].args.gemm = *g;
    l[0].args.gemm.is_cut = cut;
    l[0].arg_bytes = sizeof *g;
    if (!cut)
        return 1;
    l[0].args.gemm.c = scratch;
    l[1] = launch("takt_cuda_gemm_f32_sum", blocks_of((uint64_t)g->m * g->n, 256), 256);
    l[1].args.gemm_sum = (takt_cuda_gemm_sum){scratch, gemm_chunks(g), *g};
    l[1].arg_bytes = sizeof l[1].args.gemm_sum;
    return 2;
}

/* ---- pointers ---- */

static size_t add(size_t *offsets, size_t capacity, size_t count, size_t offset)
{
    if (count < capacity)
        offsets[count] = offset;
    return count + 1;
}

static size_t map_pointers(const takt_cuda_launch *l, size_t *offsets, size_t capacity)
{
    size_t count = 0;
    for (uint32_t k = 0; k < l->args.map.code_count; k++)
        if (l->args.map.code[k].is_output)
            count =
                add(offsets, capacity, count, offsetof(takt_cuda_map, out) + k * sizeof(void *));
    for (size_t k = 0; k < TAKT_CUDA_MAP_OPERANDS; k++)
        if (l->args.map.in[k].data != NULL)
            count = add(offsets, capacity, count,
                        offsetof(takt_cuda_map, in) + k * sizeof(takt_cuda_operand) +
                            offsetof(takt_cuda_operand, data));
    return count;
}

static const struct {
    const char *kernel; /* the name begins so: the first that fits */
    size_t offsets[6], count;
} fixed[] = {
    {"takt_cuda_gemm_f32_sum",
     {offsetof(takt_cuda_gemm_sum, partial),
      offsetof(takt_cuda_gemm_sum, g) + offsetof(takt_cuda_gemm, c),
      offsetof(takt_cuda_gemm_sum, g) + offsetof(takt_cuda_gemm, bias),
      offsetof(takt_cuda_gemm_sum, g) + offsetof(takt_cuda_gemm, residual)},
     4},
    {"takt_cuda_gemm_f32",
     {offsetof(takt_cuda_gemm, a), offsetof(takt_cuda_gemm, b), offsetof(takt_cuda_gemm, c),
      offsetof(takt_cuda_gemm, bias), offsetof(takt_cuda_gemm, residual)},
     5},
    {"takt_cuda_rows",
     {offsetof(takt_cuda_rows, dst), offsetof(takt_cuda_rows, src), offsetof(takt_cuda_rows, gamma),
      offsetof(takt_cuda_rows, beta)},
     4},
    {"takt_cuda_reduce", {offsetof(takt_cuda_reduce, dst), offsetof(takt_cuda_reduce, src)}, 2},
    {"takt_cuda_combine", {offsetof(takt_cuda_combine, dst), offsetof(takt_cuda_combine, src)}, 2},
    {"takt_cuda_move", {offsetof(takt_cuda_move_args, dst), offsetof(takt_cuda_move_args, src)}, 2},
    {"takt_cuda_window",
     {offsetof(takt_cuda_window, y), offsetof(takt_cuda_window, x), offsetof(takt_cuda_window, w)},
     3},
    {"takt_cuda_gather",
     {offsetof(takt_cuda_gather_args, dst), offsetof(takt_cuda_gather_args, src),
      offsetof(takt_cuda_gather_args, index), offsetof(takt_cuda_gather_args, fault)},
     4},
};

size_t takt_cuda_pointers(const takt_cuda_launch *l, size_t *offsets, size_t capacity)
{
    if (strcmp(l->kernel, "takt_cuda_map_f32") == 0)
        return map_pointers(l, offsets, capacity);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        if (strncmp(l->kernel, fixed[i].kernel, strlen(fixed[i].kernel)) != 0)
            continue;
        for (size_t k = 0; k < fixed[i].count; k++)
            add(offsets, capacity, k, fixed[i].offsets[k]);
        return fixed[i].count;
    }
    return 0;
}
