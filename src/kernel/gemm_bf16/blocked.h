/* blocked.h - blocking of a large product of bf16, shared by the vector variants.
 *
 * A template: a variant defines the constants of gemm_half/walk.h but for COPIES and A_PAD,
 * includes this file, and supplies tile and strip_elems of walk.h and the functions declared below.
 */
enum { COPIES = 1, A_PAD = PIECE };

#include "kernel/gemm_half/walk.h"

/* `rows` rows of A, k values each from `a` on, as tile wants them: strip_elems of 16 bits. */
static void pack_strip(const takt_gemm_f32 *g, const float *a, size_t rows, size_t k, uint16_t *to);
#ifndef IMAGE_IN_PLACE
/* The same for rows from `row` on in an image, values of k from p on. A variant that reads images
 * in place defines IMAGE_IN_PLACE. */
typedef struct strip {
    size_t row, rows, p, k;
} strip;
static void pack_image(const takt_bf16_image *m, const strip *s, uint16_t *to);
#endif
#ifndef WALKS_ITSELF
/* Before the first tile of a product, and after the last. */
static void begin(void);
static void end(void);
#endif

static const uint16_t *packed_b(const takt_gemm_f32 *g)
{
    return g->stored->data;
}

static size_t scratch_bytes(const takt_gemm_f32 *g)
{
    return g->m == 0 || g->n == 0 ? 0 : a_bytes(g) + edge_bytes();
}

#ifndef WALKS_ITSELF
static void pack_part(const takt_gemm_f32 *g, const block *o, size_t i, size_t rows, uint16_t *to)
{
#ifndef IMAGE_IN_PLACE
    if (g->image != NULL) {
        pack_image(g->image, &(strip){o->row + i, rows, o->p, o->k}, to);
        return;
    }
#endif
    pack_strip(g, g->a + (o->row + i) * g->a_row + o->p * g->a_col, rows, o->k, to);
}
#endif

static void begin_block(const takt_gemm_f32 *g, const block *o)
{
    (void)g;
    (void)o;
}

static void finish_columns(const takt_gemm_f32 *g, const block *o, size_t col, size_t cols)
{
    const takt_epilogue_f32 *e = g->epilogue;
    float *c = g->c + o->row * g->ldc + col;
    for (size_t i = 0; e && i < o->rows; i++)
        finish_row(e, c + i * g->ldc, o->row + i, col, cols);
    if (e && e->tail)
        e->tail(e->user, c, g->ldc, o->row, col, o->rows, cols);
}

#ifndef WALKS_ITSELF
static void run(const takt_gemm_f32 *g)
{
    if (g->m == 0 || g->n == 0)
        return;
    begin();
    walk(g, (block){.edge = (float *)(void *)((char *)g->scratch + a_bytes(g))});
    end();
}
#endif
