/* epilogue.h - what follows a product, element by element, for any element type.
 *
 * A template: before including it, define the types `elem`, `word` (as wide) and `epilogue`. Loops
 * are written so that a compiler turns them into vector code; each operation is rounded by itself.
 */
static void add_row(elem *x, const elem *y, size_t n)
{
    for (size_t j = 0; j < n; j++)
        x[j] = x[j] + y[j];
}

static void min_row(elem *x, size_t n, elem hi)
{
    if (hi == 0 && !signbit(hi))
        for (size_t j = 0; j < n; j++)
            x[j] = x[j] > hi ? hi : x[j];
    else
        for (size_t j = 0; j < n; j++)
            x[j] = x[j] >= hi ? hi : x[j];
}

/* maximum and minimum of IEEE 754-2019 for bounds that are not NaN: a NaN in x stays, and of two
 * zeros the bound's sign decides. */
static void clip_row(elem *x, size_t n, elem lo, elem hi)
{
    if (lo == 0 && signbit(lo))
        for (size_t j = 0; j < n; j++)
            x[j] = x[j] < lo ? lo : x[j];
    else
        for (size_t j = 0; j < n; j++)
            x[j] = x[j] <= lo ? lo : x[j];
    min_row(x, n, hi);
}

/* On bits: clang 14 for aarch64 makes fmax of x < 0 ? 0 : x, which loses the sign of -0. */
static void relu_row(elem *x, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        word bits;
        memcpy(&bits, x + j, sizeof bits);
        bits = x[j] < 0 ? 0 : bits;
        memcpy(x + j, &bits, sizeof bits);
    }
}

static void act_row(const epilogue *e, elem *x, size_t n)
{
    const elem slope = e->slope;
    switch (e->act) {
    case TAKT_GEMM_ACT_RELU: relu_row(x, n); break;
    case TAKT_GEMM_ACT_CLIP: clip_row(x, n, e->lo, e->hi); break;
    case TAKT_GEMM_ACT_RELU_MIN:
        relu_row(x, n);
        min_row(x, n, e->hi);
        break;
    case TAKT_GEMM_ACT_LEAKY:
        for (size_t j = 0; j < n; j++)
            x[j] = x[j] > 0 ? x[j] : slope * x[j];
        break;
    case TAKT_GEMM_ACT_NONE: break;
    }
}

/* Everything but the tail, on x[n], which belongs to C[row, col...]. */
static void finish_row(const epilogue *e, elem *x, size_t row, size_t col, size_t n)
{
    if (e->bias)
        add_row(x, e->bias + col, n);
    const elem *residual = e->residual ? e->residual + row * e->residual_stride + col : NULL;
    if (residual && !e->residual_last)
        add_row(x, residual, n);
    act_row(e, x, n);
    if (residual && e->residual_last)
        add_row(x, residual, n);
}
