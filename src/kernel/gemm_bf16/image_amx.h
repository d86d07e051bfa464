/* image_amx.h - rows of A read by AMX in place from an image; part of gemm_bf16_amx.c.
 *
 * Sixteen positions that follow each other are the rows of a tile, whichever tap it is for, so
 * there is nothing to pack. Positions between the rows of the image are multiplied too and left out
 * when sums are stored.
 */

/* One pass over the positions: all values of a chunk of k by one panel. */
typedef struct image_pass {
    const uint16_t *b;
    size_t p, k, col, width; /* width: columns of the panel */
    size_t positions;
    bool is_last; /* chunk */
} image_pass;

static inline __attribute__((always_inline)) void
image_product(const takt_bf16_image *m, const image_pass *o, size_t position, const bool two_rows,
              const bool two_panels)
{
    const size_t line = two_panels ? 128 : 64, step = m->channels * sizeof(uint16_t);
    const uint16_t *a = m->data + position * m->channels;
    size_t tap = o->p / m->channels, c = o->p % m->channels;
    const char *row = (const char *)(a + m->at[tap] + c), *b = (const char *)o->b;
    tile_step now = {row, row + 16 * step, b, b + 64, step, line};
    TILES_LOAD(now, two_rows, two_panels);
    for (size_t left = o->k - PIECE; left > 0; left -= PIECE) {
        c += PIECE;
        tap += c == m->channels;
        c = c == m->channels ? 0 : c;
        row = (const char *)(a + m->at[tap] + c);
        b += 16 * line;
        now = (tile_step){row, row + 16 * step, b, b + 64, step, line};
        TILES_MULTIPLY_LOADED(_tile_dpbf16ps, true, now, two_rows, two_panels);
    }
    TILES_MULTIPLY_LOADED(_tile_dpbf16ps, false, now, two_rows, two_panels);
}

/* `count` sums of positions from `position` on, to the rows of C that they belong to. */
static void put_image(const takt_gemm_f32 *g, const image_pass *o, size_t position, size_t count,
                      const float (*sums)[WIDE])
{
    const takt_bf16_image *m = g->image;
    const size_t cols = least(g->n - o->col, o->width);
    size_t x = position % m->pitch, first = position / m->pitch * m->width;
    for (size_t r = 0; r < count; r++, x++) {
        if (x == m->pitch) {
            x = 0;
            first += m->width;
        }
        if (x >= m->width)
            continue;
        float *c = g->c + (first + x) * g->ldc + o->col;
        for (size_t j = 0; j < cols; j += 16) {
            const __mmask16 there =
                cols - j >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << (cols - j)) - 1);
            __m512 sum = _mm512_loadu_ps(&sums[r][j]);
            if (o->p > 0)
                sum = _mm512_add_ps(_mm512_maskz_loadu_ps(there, c + j), sum);
            _mm512_mask_storeu_ps(c + j, there, sum);
        }
        if (o->is_last && g->epilogue)
            finish_row(g->epilogue, c, first + x, o->col, cols);
    }
}

static void pass(const takt_gemm_f32 *g, const image_pass *o)
{
    float sums[MR][WIDE];
    for (size_t q = 0; q < o->positions; q += MR) {
        const size_t count = least(o->positions - q, MR);
        tiles_clear();
        TILES_CALL(image_product, count > 16, o->width == WIDE, g->image, o, q);
        tiles_store(sums[0], sizeof sums[0], count > 16, o->width == WIDE);
        put_image(g, o, q, count, (const float(*)[WIDE])sums);
    }
}

/* All panels of one chunk of k. */
static void chunk_of_image(const takt_gemm_f32 *g, image_pass *o)
{
    const size_t wide = WIDE * takt_panels_wide(widths, g->b_n);
    const takt_epilogue_f32 *e = g->epilogue;
    o->b = (const uint16_t *)g->stored->data + o->p * takt_panels_columns(widths, g->b_n) +
           g->b_first * o->k;
    for (o->col = 0; o->col < g->n; o->col += o->width, o->b += o->width * o->k) {
        o->width = g->b_first + o->col < wide ? WIDE : NARROW;
        pass(g, o);
        if (o->is_last && e && e->tail)
            e->tail(e->user, g->c + o->col, g->ldc, 0, o->col, g->m,
                    least(g->n - o->col, o->width));
    }
}

static void run_image(const takt_gemm_f32 *g)
{
    const takt_bf16_image *m = g->image;
    if (g->m == 0 || g->n == 0)
        return;
    image_pass o = {.positions = (g->m - 1) / m->width * m->pitch + (g->m - 1) % m->width + 1};
    tiles_begin();
    TILES_WRITTEN(m->data);
    do {
        o.k = least(g->k - o.p, CHUNK);
        o.is_last = o.p + CHUNK >= g->k;
        chunk_of_image(g, &o);
        o.p += CHUNK;
    } while (o.p < g->k);
    tiles_end();
}
