/* stored.h - B is always f64: the answers to what kernel/gemm_f32/blocked.h queries about other
 * forms. */
enum { HALF_ROWS = 0 };

static bool is_stored(const gemm *g)
{
    (void)g;
    return false;
}

static void widen(const gemm *g, const takt_gemm_piece *piece, elem *to)
{
    (void)g;
    (void)piece;
    (void)to;
}

static const uint16_t *half_at(const gemm *g, size_t at)
{
    (void)g;
    (void)at;
    return NULL;
}

static bool reads_half(const gemm *g)
{
    (void)g;
    return false;
}

static bool is_bf16(const gemm *g)
{
    (void)g;
    return false;
}

static void row_half(const row_job *r, size_t count, size_t width)
{
    (void)r;
    (void)count;
    (void)width;
}
