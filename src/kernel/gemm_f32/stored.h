/* stored.h - B in a form other than f32, for the blocking of blocked.h.
 *
 * A template: a part of f32 variants. HALF_ROWS is 1 if they supply row_half and half_span, which
 * read the 16-bit types themselves.
 */
/* `count` elements as f32; whole panels. */
static void half_span(const uint16_t *from, size_t count, bool is_bf16_, elem *to);

static bool is_stored(const gemm *g)
{
    return g->stored != NULL;
}

static bool reads_half(const gemm *g)
{
    return HALF_ROWS && (g->stored->dtype == TAKT_F16 || g->stored->dtype == TAKT_BF16);
}

/* The 16-bit elements from packed index `at` on; NULL: B is nothing that row_half reads. */
static const uint16_t *half_at(const gemm *g, size_t at)
{
    const takt_gemm_stored *s = g->stored;
    return reads_half(g) ? (const uint16_t *)s->data + s->first * s->columns + at : NULL;
}

static void widen(const gemm *g, const takt_gemm_piece *piece, elem *to)
{
    const takt_gemm_stored *s = g->stored;
    const size_t at = piece->p * s->columns + piece->col * piece->k;
    const uint16_t *half = half_at(g, at);
    if (half)
        half_span(half, piece->cols * piece->k, s->dtype == TAKT_BF16, to);
    else
        s->widen(s, piece, to);
}

static bool is_bf16(const gemm *g)
{
    return g->stored->dtype == TAKT_BF16;
}
