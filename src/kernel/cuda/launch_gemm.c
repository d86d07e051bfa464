/* launch_gemm.c - which tile a product or convolution is cut into, and whether k is cut too. */
#include <math.h>

#include "kernel/cuda/launch.h"

enum {
    CHUNK = TAKT_CUDA_GEMM_CHUNK,
    GRID_Z = 65535,
    COLS = TAKT_CUDA_GEMM_FEW_COLS,
    FEW_WARPS = 16
};

static uint32_t blocks_of(uint64_t count, uint64_t each)
{
    return (uint32_t)((count + each - 1) / each);
}

/* Tiles as gemm_f32_cuda.cu and conv_f32_cuda.cu make them. Fitted to what was measured on an H200
 * (`scripts/gpu sweep`), where the tile of least estimated time took 1.2 % more than the best one
 * on average over 66 products: `rate`, GFLOP/s of a multiprocessor that is full of them; `alone`,
 * of one that has one; `begin`, us before the first product and after the last; `block`, us that
 * each block of a full one adds. */
typedef struct tile {
    const char *product, *convolution; /* or NULL */
    uint32_t rows, cols, threads, depth, stages, keeps;
    bool is_lined; /* A is transposed (cuda_lines.inc) */
    double rate, alone, begin, block;
} tile;

static const tile tiles[] = {
    {"takt_cuda_gemm_f32_128w", "takt_cuda_conv_f32_128w", 128, 128, 128, 16, 2, 1, false, 342, 371,
     3.2, 1.79},
    {"takt_cuda_gemm_f32_128", NULL, 128, 128, 256, 16, 2, 1, false, 339, 291, 1.0, 2.47},
    {"takt_cuda_gemm_f32_64w", NULL, 64, 64, 64, 16, 2, 1, false, 293, 130, 2.1, 0.58},
    {"takt_cuda_gemm_f32_64", "takt_cuda_conv_f32_64", 64, 64, 128, 16, 3, 0, false, 273, 207, 1.9,
     0.47},
    {"takt_cuda_gemm_f32_64x32", "takt_cuda_conv_f32_64x32", 64, 32, 128, 32, 3, 0, false, 297, 200,
     1.8, 0.56},
    {"takt_cuda_gemm_f32_32x64", "takt_cuda_conv_f32_32x64", 32, 64, 128, 32, 3, 0, false, 307, 230,
     1.6, 0.48},
    {"takt_cuda_gemm_f32_32", "takt_cuda_conv_f32_32", 32, 32, 128, 64, 4, 0, false, 253, 150, 1.5,
     0.55},
    {"takt_cuda_gemm_f32_16x64", "takt_cuda_conv_f32_16x64", 16, 64, 128, 64, 4, 0, false, 181, 108,
     0.9, 0.63},
    {"takt_cuda_gemm_f32_64l", NULL, 64, 128, 64, 8, 3, 1, true, 405, 178, 3.0, 3.8},
};

enum { TILES = sizeof tiles / sizeof *tiles };

static uint32_t chunks_of(const takt_cuda_gemm *g)
{
    return blocks_of(g->k, CHUNK);
}

/* ---- few rows ---- */

/* Kernels that take a product column by column, some rows a block: `chain`, us that a warp takes
 * for a chunk of k; `each`, us that it keeps a scheduler. Products of more than FEW_MOST rows are
 * not left to them: alone they were faster than tiles at 49 and 196 rows, between other nodes of
 * MobileNetV2 they took 1.6 us more each. */
static const struct few {
    const char *kernel, *soft; /* without and with a softmax of the rows at the end */
    uint32_t rows;
    double chain, each;
} few[] = {
    {"takt_cuda_gemm_f32_row", "takt_cuda_gemm_f32_row_soft", 1, 1.7, 0.73},
    {"takt_cuda_gemm_f32_four", "takt_cuda_gemm_f32_four_soft", 4, 2.7, 2.1},
    {"takt_cuda_gemm_f32_few", "takt_cuda_gemm_f32_few_soft", TAKT_CUDA_GEMM_FEW, 4.6, 3.2},
};

enum { FEW = sizeof few / sizeof *few, FEW_MOST = 32 };

static uint32_t few_warps(const takt_cuda_gemm *g)
{
    const uint32_t chunks = chunks_of(g);
    return chunks < 1 ? 1 : chunks < FEW_WARPS ? chunks : FEW_WARPS;
}

static uint64_t few_bytes(const takt_cuda_gemm *g, const struct few *f)
{
    const uint64_t each = (uint64_t)few_warps(g) * CHUNK + (uint64_t)chunks_of(g) * COLS;
    return each * f->rows * sizeof(float);
}

static bool few_fits(const takt_cuda_gemm *g, uint32_t batches, uint64_t most, const struct few *f)
{
    return !g->is_conv && !g->adds_zero && g->m <= FEW_MOST && batches <= GRID_Z &&
           few_bytes(g, f) <= most;
}

/* B is read once for every group of rows, from L2. */
static double few_time(const takt_cuda_gemm *g, uint32_t batches, uint32_t processors,
                       const struct few *f)
{
    const double begin = 1.9, bytes_per_us = 21e6, schedulers = 4.0 * processors;
    const uint32_t groups = blocks_of(g->m, f->rows), warps = few_warps(g);
    const double all = (double)groups * blocks_of(g->n, COLS) * batches * warps;
    const double busy = ceil(all / schedulers) * f->each;
    return begin + blocks_of(chunks_of(g), warps) * (busy > f->chain ? busy : f->chain) +
           4.0 * groups * g->k * g->n * batches / bytes_per_us;
}

static void launch_few(const takt_cuda_gemm *g, uint32_t batches, const struct few *f,
                       takt_cuda_launch *l)
{
    *l = (takt_cuda_launch){.kernel = g->is_softmax ? f->soft : f->kernel,
                            .grid = {blocks_of(g->n, COLS), blocks_of(g->m, f->rows), batches},
                            .threads = few_warps(g) * COLS,
                            .shared_bytes = (uint32_t)few_bytes(g, f),
                            .arg_bytes = sizeof *g};
    l->args.gemm = *g;
}

/* ---- all of k in shared memory ---- */

/* Small products: `each`, threads of a chunk; `issue`, cycles that a warp keeps its scheduler for
 * one k. */
static const struct whole {
    const char *kernel;
    uint32_t rows, cols, each;
    double issue;
} whole[] = {
    {"takt_cuda_gemm_f32_whole_row", 1, 8, 8, 2},
    {"takt_cuda_gemm_f32_whole_8", 8, 8, 32, 4},
    {"takt_cuda_gemm_f32_whole_16", 16, 16, 64, 7},
};

enum { WHOLE = sizeof whole / sizeof *whole, WHOLE_LEAST = 256, WHOLE_THREADS = 512 };

static uint32_t whole_threads(const takt_cuda_gemm *g, const struct whole *w)
{
    const uint32_t threads = (chunks_of(g) * w->each + 31) / 32 * 32;
    return threads > WHOLE_LEAST ? threads : WHOLE_LEAST;
}

static uint64_t whole_bytes(const takt_cuda_gemm *g, const struct whole *w)
{
    const uint64_t b = ((uint64_t)g->k + chunks_of(g)) * w->cols;
    const uint64_t a = (uint64_t)w->rows * TAKT_CUDA_GEMM_WHOLE_LINE((uint64_t)g->k);
    const uint64_t sums = (uint64_t)chunks_of(g) * w->rows * w->cols;
    return (a + b + sums) * sizeof(float);
}

static uint64_t whole_blocks(const takt_cuda_gemm *g, uint32_t batches, const struct whole *w)
{
    return (uint64_t)blocks_of(g->m, w->rows) * blocks_of(g->n, w->cols) * batches;
}

static bool whole_fits(const takt_cuda_gemm *g, uint32_t batches, uint64_t most,
                       const struct whole *w)
{
    return !g->is_conv && !g->adds_zero && !g->is_softmax && batches <= GRID_Z &&
           blocks_of(g->m, w->rows) <= GRID_Z && whole_threads(g, w) <= WHOLE_THREADS &&
           whole_bytes(g, w) <= most;
}

/* Operands come first, then a chain has four cycles for each k at least. Measured like the tiles.
 */
static double whole_time(const takt_cuda_gemm *g, uint32_t batches, uint32_t processors,
                         const struct whole *w)
{
    const double begin = 2.6, bytes_per_us = 5e4, cycles_per_us = 1980, schedulers = 4;
    const double share = ceil((double)whole_blocks(g, batches, w) / processors);
    const double warps = ceil(share * chunks_of(g) * w->each / (32 * schedulers));
    const double each = warps * w->issue > 4 ? warps * w->issue : 4;
    return begin + share * (double)whole_bytes(g, w) / bytes_per_us +
           (g->k < CHUNK ? g->k : CHUNK) * each / cycles_per_us;
}

static void launch_whole(const takt_cuda_gemm *g, uint32_t batches, const struct whole *w,
                         takt_cuda_launch *l)
{
    *l = (takt_cuda_launch){.kernel = w->kernel,
                            .grid = {blocks_of(g->n, w->cols), blocks_of(g->m, w->rows), batches},
                            .threads = whole_threads(g, w),
                            .shared_bytes = (uint32_t)whole_bytes(g, w),
                            .arg_bytes = sizeof *g};
    l->args.gemm = *g;
}

/* ---- tiles ---- */

static uint64_t tiles_of(const takt_cuda_gemm *g, const tile *t)
{
    return (uint64_t)blocks_of(g->m, t->rows) * blocks_of(g->n, t->cols);
}

/* A in shared memory: large tiles have a line per k, others a line per row. */
static uint32_t tile_bytes(const tile *t)
{
    const uint32_t a = t->is_lined ? t->depth * t->rows
                       : t->keeps  ? t->depth * (t->rows + 4)
                                   : t->rows * (t->depth + 4);
    const uint32_t stage = a + t->depth * t->cols;
    return (t->stages * stage + t->keeps * t->rows * t->cols) * (uint32_t)sizeof(float);
}

static bool can_cut(const takt_cuda_gemm *g, uint32_t batches)
{
    return chunks_of(g) > 1 && (uint64_t)chunks_of(g) * batches <= GRID_Z;
}

/* Whether A and B come by quads along lines of each k, and k in whole stages. */
static bool is_lined(const takt_cuda_gemm *g, const tile *t)
{
    return !g->is_conv && g->is_aligned && (g->m | g->n) % 4 == 0 && g->k % t->depth == 0 &&
           g->a_row == 1 && g->a_col % 4 == 0 && g->b_col == 1 && g->b_row % 4 == 0;
}

/* Number of blocks of the busiest multiprocessor. Two large tiles, or four of half the threads, fit
 * on one and run together; the remaining ones go to the first free multiprocessors, as many at a
 * time. */
static double share_of(const tile *t, uint64_t blocks, uint64_t processors)
{
    enum { LARGE = 128, SUMS = 128 * 128 };
    const uint64_t at_once = SUMS / (t->rows * t->cols) * 2;
    if ((t->rows >= LARGE || t->is_lined) && blocks > at_once * processors)
        return (double)(at_once * ((blocks + at_once * processors - 1) / (at_once * processors)));
    return (double)((blocks + processors - 1) / processors);
}

/* Microseconds: the time of one block, or of all blocks of a multiprocessor; separate chunks go
 * through memory. */
static double time_of(const takt_cuda_gemm *g, uint32_t batches, uint32_t processors, const tile *t,
                      bool is_cut)
{
    const double bytes_per_us = 72e6, ticket = 2.3;
    const double k = is_cut ? CHUNK : g->k > 0 ? g->k : 1;
    const uint64_t blocks = tiles_of(g, t) * batches * (is_cut ? chunks_of(g) : 1);
    const double each = 2.0 * t->rows * t->cols * k / 1e3; /* thousands of operations */
    const double share = share_of(t, blocks, processors);
    /* A convolution whose channels are not a multiple of four loads its rows float by float. */
    const double gathered = g->is_conv && g->channels % 4 != 0 ? 3.8e-4 * t->rows * k : 0;
    const double one = each / t->alone + gathered;
    const double all = share * (each / t->rate + gathered + t->block);
    double us = t->begin + (one > all ? one : all);
    if (is_cut)
        us += ticket + 8.0 * g->m * g->n * batches * chunks_of(g) / bytes_per_us;
    return us;
}

enum { FIRST_FEW = 2 * TILES, FIRST_WHOLE = FIRST_FEW + FEW, WAYS = FIRST_WHOLE + WHOLE };

size_t takt_cuda_gemm_ways(void)
{
    return WAYS;
}

/* Whether way `index` computes the product at all, with `most` bytes of shared memory a block. The
 * corners of a convolution's rows lie there too. */
static bool fits(const takt_cuda_gemm *g, uint32_t batches, uint64_t most, size_t index)
{
    enum { CORNER = 12 };
    if (index >= FIRST_WHOLE)
        return whole_fits(g, batches, most, &whole[index - FIRST_WHOLE]);
    if (index >= FIRST_FEW)
        return few_fits(g, batches, most, &few[index - FIRST_FEW]);
    if (g->is_softmax)
        return false;
    const tile *t = &tiles[index / 2];
    const char *kernel = g->is_conv ? t->convolution : t->product;
    return kernel != NULL && tile_bytes(t) + (g->is_conv ? CORNER * t->rows : 0) <= most &&
           (!t->is_lined || is_lined(g, t)) && tiles_of(g, t) <= INT32_MAX && batches <= GRID_Z &&
           (index % 2 == 0 || can_cut(g, batches));
}

/* Whether the product is small enough for way `index`, if its blocks load all of k, which they do
 * not share. Other ways are always fine. */
static bool is_small(const takt_cuda_gemm *g, uint32_t batches, uint32_t processors, size_t index)
{
    return index < FIRST_WHOLE ||
           whole_blocks(g, batches, &whole[index - FIRST_WHOLE]) <= 2 * (uint64_t)processors;
}

/* The smallest kernel that takes all rows at once, or SIZE_MAX. */
static size_t few_way(const takt_cuda_gemm *g, uint32_t batches, const takt_cuda_block_room *has)
{
    for (size_t i = FIRST_WHOLE; i < WAYS; i++)
        if (g->m <= whole[i - FIRST_WHOLE].rows && g->m <= TAKT_CUDA_GEMM_FEW &&
            is_small(g, batches, has->processors, i) && fits(g, batches, has->shared_bytes, i))
            return i;
    for (size_t i = 0; i < FEW; i++)
        if (g->m <= few[i].rows)
            return few_fits(g, batches, has->shared_bytes, &few[i]) ? FIRST_FEW + i : SIZE_MAX;
    return SIZE_MAX;
}

static double time_of_way(const takt_cuda_gemm *g, uint32_t batches, uint32_t processors,
                          size_t index)
{
    if (index >= FIRST_WHOLE)
        return whole_time(g, batches, processors, &whole[index - FIRST_WHOLE]);
    if (index >= FIRST_FEW)
        return few_time(g, batches, processors, &few[index - FIRST_FEW]);
    return time_of(g, batches, processors, &tiles[index / 2], index % 2 != 0);
}

static size_t best_way(const takt_cuda_gemm *g, uint32_t batches, const takt_cuda_block_room *has)
{
    size_t best = SIZE_MAX;
    double least = 0;
    for (size_t i = 0; i < WAYS; i++) {
        if (!fits(g, batches, has->shared_bytes, i) || !is_small(g, batches, has->processors, i))
            continue;
        const double us = time_of_way(g, batches, has->processors, i);
        if (best == SIZE_MAX || us < least) {
            best = i;
            least = us;
        }
    }
    return best;
}

bool takt_cuda_gemm_lines(const takt_cuda_gemm *g, const takt_cuda_block_room *has,
                          takt_cuda_gemm *lined)
{
    const double begin = 1.6, bytes_per_us = 2.8e6;
    *lined = *g;
    lined->a_row = 1;
    lined->a_col = g->m;
    if (!g->is_aligned || g->a_row == 1)
        return false;
    const size_t as_it_is = best_way(g, 1, has), other = best_way(lined, 1, has);
    return other != SIZE_MAX && other < FIRST_FEW && tiles[other / 2].is_lined &&
           time_of_way(lined, 1, has->processors, other) + begin +
                   8.0 * g->m * g->k / bytes_per_us <
               time_of_way(g, 1, has->processors, as_it_is);
}

takt_cuda_gemm_plan takt_cuda_gemm_plan_of(const takt_cuda_gemm *g, uint32_t batches,
                                           const takt_cuda_block_room *has, size_t way)
{
    takt_cuda_gemm_plan p = {.way = way};
    if (way == TAKT_CUDA_GEMM_ANY)
        p.way = few_way(g, batches, has);
    if (way == TAKT_CUDA_GEMM_ANY && p.way == SIZE_MAX)
        p.way = best_way(g, batches, has);
    else if (p.way >= WAYS || !fits(g, batches, has->shared_bytes, p.way))
        p.way = SIZE_MAX;
    if (p.way >= FIRST_FEW || p.way % 2 == 0)
        return p;
    const tile *t = &tiles[p.way / 2];
    p.tickets = (uint32_t)(tiles_of(g, t) * batches);
    p.scratch_bytes = (uint64_t)p.tickets * chunks_of(g) * t->rows * t->cols * sizeof(float);
    return p;
}

void takt_cuda_launch_gemm(const takt_cuda_gemm *g, uint32_t batches, const takt_cuda_gemm_plan *p,
                           float *scratch, uint32_t *tickets, takt_cuda_launch *l)
{
    if (p->way >= FIRST_WHOLE) {
        launch_whole(g, batches, &whole[p->way - FIRST_WHOLE], l);
        return;
    }
    if (p->way >= FIRST_FEW) {
        launch_few(g, batches, &few[p->way - FIRST_FEW], l);
        return;
    }
    const tile *t = &tiles[p->way / 2];
    const uint32_t pieces = p->way % 2 != 0 ? chunks_of(g) : 1;
    *l = (takt_cuda_launch){.kernel = g->is_conv ? t->convolution : t->product,
                            .grid = {(uint32_t)tiles_of(g, t), 1, batches * pieces},
                            .threads = t->threads,
                            .is_heavy = true,
                            .arg_bytes = sizeof *g};
    l->shared_bytes = tile_bytes(t);
    l->args.gemm = *g;
    l->args.gemm.pieces = pieces;
    l->args.gemm.tiles = (uint32_t)tiles_of(g, t);
    l->args.gemm.partial = pieces > 1 ? scratch : NULL;
    l->args.gemm.tickets = pieces > 1 ? tickets : NULL;
    l->tickets = p->tickets;
}
