/* sum_body.h - parts of a product whose k was split over threads, summed in order; for gemm_f32 and
 * gemm_f64.
 *
 * A template: elem, gemm (the call's type) and epilogue are defined; after epilogue.h.
 */
static void sum_parts(const gemm *g, const elem *partial, size_t count)
{
    for (size_t row = 0; row < g->m; row++) {
        elem *to = g->c + row * g->ldc;
        const elem *from = partial + row * g->n;
        for (size_t j = 0; j < g->n; j++)
            to[j] = from[j];
        for (size_t i = 1; i < count; i++)
            add_row(to, from + i * g->m * g->n, g->n);
        if (g->epilogue)
            finish_row(g->epilogue, to, row, 0, g->n);
    }
    const epilogue *e = g->epilogue;
    if (e && e->tail && g->m && g->n)
        e->tail(e->user, g->c, g->ldc, 0, 0, g->m, g->n);
}

/* Chunk `i` of k as a separate product, stored in `partial`, where chunk `first` is the first; B is
 * set elsewhere. */
static gemm part_of(const gemm *g, size_t i, size_t first, elem *partial)
{
    const size_t p = i * TAKT_GEMM_CHUNK, left = g->k - p;
    gemm one = *g;
    one.k = left < TAKT_GEMM_CHUNK ? left : TAKT_GEMM_CHUNK;
    one.a = g->a + p * g->a_col;
    one.c = partial + (i - first) * g->m * g->n;
    one.ldc = g->n;
    one.epilogue = NULL;
    return one;
}
