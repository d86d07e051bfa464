/* launch_gemm.c - which tile a product or convolution is cut into, and whether k is cut too. */
#include <string.h>

#include "kernel/cuda/launch.h"

enum {
    CHUNK = TAKT_CUDA_GEMM_CHUNK,
    GRID_Z = 65535,
    COLS = TAKT_CUDA_GEMM_FEW_COLS,
    FEW_WARPS = 16,
    FEW_BYTES = 200 << 10 /* of shared memory */
};

static uint32_t blocks_of(uint64_t count, uint64_t each)
{
    return (uint32_t)((count + each - 1) / each);
}

/* Tiles as gemm_f32_cuda.cu and conv_f32_cuda.cu make them. Fitted to what was measured on an H200
 * (`scripts/gpu sweep`), where the tile of least estimated time took 1.6 % more than the best one
 * on average over 32 products: `rate`, GFLOP/s of a multiprocessor that is full of them; `alone`,
 * of one that has one; `begin`, us before the first product and after the last. */
typedef struct tile {
    const char *product, *convolution; /* or NULL */
    uint32_t rows, cols, threads, depth, stages, keeps;
    double rate, alone, begin;
} tile;

static const tile tiles[] = {
    {"takt_cuda_gemm_f32_128w", "takt_cuda_conv_f32_128w", 128, 128, 128, 16, 2, 1, 335, 403, 10.2},
    {"takt_cuda_gemm_f32_128", NULL, 128, 128, 256, 16, 2, 1, 325, 251, 2.6},
    {"takt_cuda_gemm_f32_64w", NULL, 64, 64, 64, 16, 2, 1, 292, 125, 2.4},
    {"takt_cuda_gemm_f32_64", "takt_cuda_conv_f32_64", 64, 64, 128, 16, 3, 0, 256, 186, 3.3},
    {"takt_cuda_gemm_f32_64x32", "takt_cuda_conv_f32_64x32", 64, 32, 128, 32, 3, 0, 262, 185, 2.8},
    {"takt_cuda_gemm_f32_32x64", "takt_cuda_conv_f32_32x64", 32, 64, 128, 32, 3, 0, 248, 169, 2.2},
    {"takt_cuda_gemm_f32_32", "takt_cuda_conv_f32_32", 32, 32, 128, 64, 4, 0, 194, 134, 2.5},
    {"takt_cuda_gemm_f32_16x64", "takt_cuda_conv_f32_16x64", 16, 64, 128, 64, 4, 0, 181, 120, 2.1},
};

enum { TILES = sizeof tiles / sizeof *tiles };

static uint32_t chunks_of(const takt_cuda_gemm *g)
{
    return blocks_of(g->k, CHUNK);
}

/* ---- few rows ---- */

static uint32_t few_warps(const takt_cuda_gemm *g)
{
    const uint32_t chunks = chunks_of(g);
    return chunks < 1 ? 1 : chunks < FEW_WARPS ? chunks : FEW_WARPS;
}

/* Rows that the kernel of a product of that many has room for. */
static uint32_t few_rows(const takt_cuda_gemm *g)
{
    return g->m <= 1 ? 1 : g->m <= 4 ? 4 : TAKT_CUDA_GEMM_FEW;
}

static uint64_t few_bytes(const takt_cuda_gemm *g)
{
    const uint64_t each = (uint64_t)few_warps(g) * CHUNK + (uint64_t)chunks_of(g) * COLS;
    return each * few_rows(g) * sizeof(float);
}

static bool is_few(const takt_cuda_gemm *g, uint32_t batches)
{
    return !g->is_conv && g->m <= TAKT_CUDA_GEMM_FEW && batches <= GRID_Z &&
           few_bytes(g) <= FEW_BYTES;
}

static void launch_few(const takt_cuda_gemm *g, uint32_t batches, takt_cuda_launch *l)
{
    const uint32_t rows = few_rows(g);
    *l = (takt_cuda_launch){.kernel = rows == 1   ? "takt_cuda_gemm_f32_row"
                                      : rows == 4 ? "takt_cuda_gemm_f32_four"
                                                  : "takt_cuda_gemm_f32_few",
                            .grid = {blocks_of(g->n, COLS), 1, batches},
                            .threads = few_warps(g) * COLS,
                            .shared_bytes = (uint32_t)few_bytes(g),
                            .arg_bytes = sizeof *g};
    l->args.gemm = *g;
}

/* ---- tiles ---- */

static uint64_t tiles_of(const takt_cuda_gemm *g, const tile *t)
{
    return (uint64_t)blocks_of(g->m, t->rows) * blocks_of(g->n, t->cols);
}

static bool can_cut(const takt_cuda_gemm *g, uint32_t batches)
{
    return chunks_of(g) > 1 && (uint64_t)chunks_of(g) * batches <= GRID_Z;
}

/* Microseconds: as long as one block takes, or all of a multiprocessor; chunks apart go through
 * memory. */
static double time_of(const takt_cuda_gemm *g, uint32_t batches, uint32_t processors, const tile *t,
                      bool is_cut)
{
    const double bytes_per_us = 22e6, ticket = 1.9;
    const double k = is_cut ? CHUNK : g->k > 0 ? g->k : 1;
    const uint64_t blocks = tiles_of(g, t) * batches * (is_cut ? chunks_of(g) : 1);
    const double each = 2.0 * t->rows * t->cols * k / 1e3; /* thousands of operations */
    const double share = (double)((blocks + processors - 1) / processors);
    const double one = each / t->alone, all = share * each / t->rate;
    double us = t->begin + (one > all ? one : all);
    if (is_cut)
        us += ticket + 8.0 * g->m * g->n * batches * chunks_of(g) / bytes_per_us;
    return us;
}

size_t takt_cuda_gemm_ways(void)
{
    return 2 * TILES;
}

/* Whether way `index` computes the product at all. */
static bool fits(const takt_cuda_gemm *g, uint32_t batches, size_t index)
{
    const tile *t = &tiles[index / 2];
    const char *kernel = g->is_conv ? t->convolution : t->product;
    return kernel != NULL && tiles_of(g, t) <= INT32_MAX && batches <= GRID_Z &&
           (index % 2 == 0 || can_cut(g, batches));
}

static size_t best_way(const takt_cuda_gemm *g, uint32_t batches, uint32_t processors)
{
    size_t best = SIZE_MAX;
    double least = 0;
    for (size_t i = 0; i < 2 * TILES; i++) {
        if (!fits(g, batches, i))
            continue;
        const double us = time_of(g, batches, processors, &tiles[i / 2], i % 2 != 0);
        if (best == SIZE_MAX || us < least) {
            best = i;
            least = us;
        }
    }
    return best;
}

takt_cuda_gemm_plan takt_cuda_gemm_plan_of(const takt_cuda_gemm *g, uint32_t batches,
                                           uint32_t processors, size_t way)
{
    takt_cuda_gemm_plan p = {.way = way};
    if (way == TAKT_CUDA_GEMM_ANY && is_few(g, batches))
        return p;
    if (way == TAKT_CUDA_GEMM_ANY)
        p.way = best_way(g, batches, processors);
    else if (way >= 2 * TILES || !fits(g, batches, way))
        p.way = SIZE_MAX;
    if (p.way == SIZE_MAX || p.way % 2 == 0)
        return p;
    const tile *t = &tiles[p.way / 2];
    p.tickets = (uint32_t)(tiles_of(g, t) * batches);
    p.scratch_bytes = (uint64_t)p.tickets * chunks_of(g) * t->rows * t->cols * sizeof(float);
    return p;
}

void takt_cuda_launch_gemm(const takt_cuda_gemm *g, uint32_t batches, const takt_cuda_gemm_plan *p,
                           float *scratch, uint32_t *tickets, takt_cuda_launch *l)
{
    if (p->way == TAKT_CUDA_GEMM_ANY) {
        launch_few(g, batches, l);
        return;
    }
    const tile *t = &tiles[p->way / 2];
    const uint32_t pieces = p->way % 2 != 0 ? chunks_of(g) : 1;
    /* A in shared memory: large tiles have a line per k, others a line per row. */
    const uint32_t a = t->keeps ? t->depth * (t->rows + 4) : t->rows * (t->depth + 4);
    const uint32_t stage = a + t->depth * t->cols;
    *l = (takt_cuda_launch){.kernel = g->is_conv ? t->convolution : t->product,
                            .grid = {(uint32_t)tiles_of(g, t), 1, batches * pieces},
                            .threads = t->threads,
                            .is_heavy = true,
                            .arg_bytes = sizeof *g};
    l->shared_bytes = (t->stages * stage + t->keeps * t->rows * t->cols) * (uint32_t)sizeof(float);
    l->args.gemm = *g;
    l->args.gemm.pieces = pieces;
    l->args.gemm.tiles = (uint32_t)tiles_of(g, t);
    l->args.gemm.partial = pieces > 1 ? scratch : NULL;
    l->args.gemm.tickets = pieces > 1 ? tickets : NULL;
    l->tickets = p->tickets;
}
