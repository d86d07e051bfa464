/* block_floats.c - converts weights to packed floats part by part, for products.
 *
 * Where the product's panels are whole panels of blocks, each piece is converted when it is
 * reached. Otherwise a strip of columns is converted one chunk of k at a time.
 */
#include "backend/cpu/block_floats.h"

#include "backend/cpu/cpu.h"

enum { STRIP = 384, ROWS_MOST = 256 }; /* columns and rows of a strip */
enum { PIECE = 32 };                   /* columns of a piece: a chunk of them stays in L1 */

static bool takes_pieces(const takt_block_floats *f)
{
    const takt_panels p = f->info->panels;
    return p.wide % TAKT_BLOCKS_PANEL == 0 && p.narrow % TAKT_BLOCKS_PANEL == 0;
}

/* ---- pieces ---- */

typedef struct piece_source {
    const takt_block_floats *f;
    const takt_blocks *b;
} piece_source;

static void piece_to_floats(const takt_gemm_stored *s, const takt_gemm_piece *piece, float *to)
{
    const piece_source *o = s->data;
    const size_t left = o->b->n - piece->col, n = left < piece->cols ? left : piece->cols;
    const takt_block_panels w = {takt_blocks_cut(o->b, piece->col, n), piece->p, piece->k,
                                 o->f->info->panels, to};
    o->f->panels(&w);
}

static void by_pieces(const takt_block_floats *f, const takt_block_part *o)
{
    const piece_source source = {f, &o->b};
    const takt_gemm_stored stored = {.widen = piece_to_floats,
                                     .data = &source,
                                     .dtype = TAKT_F32,
                                     .columns = takt_panels_columns(f->info->panels, o->b.n)};
    const takt_epilogue_f32 epilogue = {.bias = o->bias};
    const takt_gemm_blocking blocking = {.cols = PIECE};
    const takt_gemm_f32 g = {.m = o->m,
                             .n = o->b.n,
                             .k = o->b.k,
                             .a = o->a,
                             .a_row = o->b.k,
                             .a_col = 1,
                             .stored = &stored,
                             .b_n = o->b.n,
                             .c = o->c,
                             .ldc = o->ldc,
                             .epilogue = o->bias ? &epilogue : NULL,
                             .scratch = o->scratch,
                             .blocking = &blocking,
                             .poll = o->poll};
    f->gemm(&g);
}

static size_t pieces_scratch(const takt_block_floats *f, size_t m, const takt_blocks *b)
{
    const takt_gemm_stored stored = {.dtype = TAKT_F32};
    const takt_gemm_f32 g = {
        .m = m, .n = b->n, .k = b->k, .a_row = b->k, .a_col = 1, .stored = &stored, .b_n = b->n};
    return f->info->scratch_bytes(&g);
}

/* ---- strips ---- */

/* Sums of one chunk of k to C. */
static void add_chunk(const takt_block_part *o, const float *sums, bool adds, bool ends)
{
    const size_t n = o->b.n;
    for (size_t r = 0; r < o->m; r++, sums += n) {
        float *c = o->c + r * o->ldc;
        for (size_t j = 0; !adds && j < n; j++)
            c[j] = sums[j];
        for (size_t j = 0; adds && j < n; j++)
            c[j] += sums[j];
        for (size_t j = 0; ends && o->bias && j < n; j++)
            c[j] += o->bias[j];
    }
}

/* At most ROWS_MOST rows by STRIP columns: a chunk of the weights is converted to packed floats in
 * L2. */
static void strip(const takt_block_floats *f, const takt_block_part *o)
{
    float *floats = o->scratch, *sums = (float *)(void *)((char *)o->scratch + f->sums_at);
    size_t k = 0;
    do {
        const size_t left = o->b.k - k, deep = left < TAKT_GEMM_CHUNK ? left : TAKT_GEMM_CHUNK;
        const takt_block_panels w = {o->b, k, deep, f->info->panels, floats};
        const takt_gemm_f32 g = {.m = o->m,
                                 .n = o->b.n,
                                 .k = deep,
                                 .a = o->a + k,
                                 .a_row = o->b.k,
                                 .a_col = 1,
                                 .b = floats,
                                 .b_n = o->b.n,
                                 .c = sums,
                                 .ldc = o->b.n,
                                 .scratch = (float *)(void *)((char *)o->scratch + f->gemm_at)};
        f->panels(&w);
        f->gemm(&g);
        add_chunk(o, sums, k > 0, k + deep == o->b.k);
        k += deep;
    } while (k < o->b.k && !takt_poll_stops(o->poll));
}

static void by_strips(const takt_block_floats *f, const takt_block_part *all)
{
    for (size_t row = 0; row < all->m; row += ROWS_MOST)
        for (size_t column = 0; column < all->b.n && !takt_poll_stops(all->poll); column += STRIP) {
            const size_t rows = all->m - row, columns = all->b.n - column;
            takt_block_part o = *all;
            o.m = rows < ROWS_MOST ? rows : ROWS_MOST;
            o.b = takt_blocks_cut(&all->b, column, columns < STRIP ? columns : STRIP);
            o.a += row * all->b.k;
            o.c += row * all->ldc + column;
            o.bias = all->bias ? all->bias + column : NULL;
            strip(f, &o);
        }
}

static size_t strips_scratch(takt_block_floats *f, size_t m, const takt_blocks *b)
{
    const takt_gemm_f32 g = {.m = m < ROWS_MOST ? m : ROWS_MOST,
                             .n = STRIP,
                             .k = TAKT_GEMM_CHUNK,
                             .a_row = b->k,
                             .a_col = 1,
                             .b_n = STRIP};
    f->sums_at = takt_cpu_aligned((takt_panels_columns(f->info->panels, STRIP) + 32) *
                                  TAKT_GEMM_CHUNK * sizeof(float));
    f->gemm_at = f->sums_at + takt_cpu_aligned(ROWS_MOST * STRIP * sizeof(float));
    return f->gemm_at + f->info->scratch_bytes(&g);
}

size_t takt_block_floats_scratch(takt_block_floats *f, size_t m, const takt_blocks *b)
{
    return takes_pieces(f) ? pieces_scratch(f, m, b) : strips_scratch(f, m, b);
}

void takt_block_floats_run(const takt_block_floats *f, const takt_block_part *o)
{
    if (takes_pieces(f))
        by_pieces(f, o);
    else
        by_strips(f, o);
}
