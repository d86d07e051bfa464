/* gemm_pack.h - packing the right-hand side of a product: when the plan is made, or in a step.
 *
 * A part of gemm_body.h.
 */
#ifndef TAKT_BACKEND_CPU_GEMM_PACK_H
#define TAKT_BACKEND_CPU_GEMM_PACK_H

static bool widens(const facts *f)
{
    return f->dtype != REAL;
}

/* A computed factor is bf16 already and stays so: it is packed as it is. */
static bool packs_rounded(const facts *f)
{
    return f->dtype == TAKT_BF16 && f->narrow.fast != NULL && !f->narrow.is_fast_f16 &&
           !f->is_packed;
}

/* Matrix `i` of a computed factor. */
static const void *matrix_of(const facts *f, const void *b, size_t i)
{
    return (const char *)b +
           i * f->mm.k * f->mm.n * (packs_rounded(f) ? sizeof(uint16_t) : sizeof(real));
}

static void pack_one(const facts *f, const void *b, void *to)
{
    if (packs_rounded(f)) {
        const takt_gemm_bf16_rounded m = {f->mm.k, f->mm.n, b, f->mm.b_row, f->mm.b_col};
        takt_gemm_bf16_pack_rounded(takt_narrow_bf16(&f->narrow), &m, to);
        return;
    }
    if (f->narrow.fast != NULL) {
        const takt_gemm_bf16_matrix m = {f->mm.k, f->mm.n, b, f->mm.b_row, f->mm.b_col};
        takt_narrow_pack_computed(&f->narrow, f->convert, &m, to);
        return;
    }
    const takt_pack p = {.k = f->mm.k,
                         .n = f->mm.n,
                         .src = b,
                         .row = f->mm.b_row,
                         .col = f->mm.b_col,
                         .dst = to,
                         .bytes = f->narrow.bytes,
                         .panels = f->panels};
    f->pack(&p);
}

static void pack_all(const facts *f, const void *from, void *to)
{
    const size_t bytes = f->narrow.bytes;
    for (size_t i = 0; i < f->mm.b_matrices; i++)
        pack_one(f, (const char *)from + i * f->mm.k * f->mm.n * bytes,
                 (char *)to + i * f->packed_count * bytes);
}

static takt_status pack_constant(void *user, const void *from, void *to)
{
    const facts *f = user;
    if (f->narrow.fast != NULL) {
        const takt_product *mm = &f->mm;
        const takt_narrow_job job = {.ctx = f->ctx, .count = f->b_count};
        const takt_fast_weights w = {mm->b_matrices, mm->k,     mm->n,
                                     mm->b_row,      mm->b_col, mm->k * mm->n};
        return takt_narrow_pack_fast(&job, &f->narrow, &w, from, to);
    }
    TAKT_TRY(takt_narrow_check(f->ctx, &f->narrow, from, f->b_count));
    if (!widens(f) || takt_is_narrow(&f->narrow)) {
        pack_all(f, from, to);
        return TAKT_OK;
    }
    void *wide;
    const takt_convert how = {.to = REAL, .from = f->dtype};
    TAKT_TRY(takt_mem_get(f->ctx, f->b_count * sizeof(real), "weights to pack", &wide));
    f->convert(&how, wide, from, f->b_count);
    pack_all(f, wide, to);
    takt_mem_put(f->ctx, wide, f->b_count * sizeof(real));
    return TAKT_OK;
}

/* ---- in a step ---- */

static const real *operand(const takt_step *s, const takt_task *t, size_t index, size_t at)
{
    const facts *f = s->data;
    const bool is_wide = widens(f) && !(index == f->b && (f->is_packed || packs_rounded(f)));
    return is_wide ? (const real *)(const void *)((char *)t->scratch + at)
                   : takt_view_data(t, &s->in[index]);
}

/* Share `index` of `count` of the panels of a matrix, chunk by chunk of k. */
static void pack_part(const facts *f, const takt_poll *poll, const real *b, real *to, size_t index,
                      size_t count)
{
    const takt_product *mm = &f->mm;
    const size_t columns = takt_panels_columns(f->panels, mm->n);
    size_t first, end;
    takt_panels_share(f->panels, mm->n, index, count, &first, &end);
    for (size_t p = 0, rows; first < end && p < mm->k && !takt_poll_stops(poll); p += rows) {
        rows = mm->k - p < TAKT_GEMM_CHUNK ? mm->k - p : TAKT_GEMM_CHUNK;
        const takt_pack part = {.k = rows,
                                .n = end - first,
                                .src = b + p * mm->b_row + first * mm->b_col,
                                .row = mm->b_row,
                                .col = mm->b_col,
                                .dst = to + p * columns + first * rows,
                                .bytes = sizeof *b,
                                .panels = f->panels};
        f->pack(&part);
    }
}

/* The same share of a task, in parts of few enough columns for a chunk to take little time. */
static void pack_share(const facts *f, const takt_task *t, const real *b, real *to, size_t count)
{
    enum { COLUMNS = 1024 };
    const size_t each = 1 + f->mm.n / count / COLUMNS;
    for (size_t i = 0; i < each; i++)
        pack_part(f, t->poll, b, to, t->index * each + i, count * each);
}

/* The same while the plan is made, of constants that are copied as they are. */
static void pack_constant_part(const void *user, const void *from, void *to, size_t index,
                               size_t count)
{
    const facts *f = user;
    for (size_t i = 0; i < f->mm.b_matrices; i++)
        pack_part(f, NULL, (const real *)from + i * f->mm.k * f->mm.n,
                  (real *)to + i * f->packed_count, index, count);
}

static takt_fill_part_fn *by_parts(const facts *f)
{
    const bool is_plain = !widens(f) && f->narrow.fast == NULL && !takt_is_narrow(&f->narrow);
    return is_plain ? pack_constant_part : NULL;
}

static void prepare(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    pack_share(f, t, operand(s, t, f->b, f->b_at), t->scratch, s->prepare_count);
}

/* The same for a matrix that is state: a separate step, after it has changed. */
static void pack_state(const takt_step *s, const takt_task *t)
{
    pack_share(s->data, t, takt_view_data(t, &s->in[0]), takt_view_data(t, &s->out[0]),
               s->task_count);
}

/* The same for 16 bits: one task, which widens it first. */
static void pack_narrow_state(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_convert how = {.to = REAL, .from = f->dtype};
    f->convert(&how, t->scratch, takt_view_data(t, &s->in[0]), f->b_count);
    pack_share(f, t, t->scratch, takt_view_data(t, &s->out[0]), 1);
}

/* Some of several computed matrices, each as a whole. */
static void prepare_many(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const real *b = operand(s, t, f->b, f->b_at);
    size_t first, end;
    takt_cpu_share(f->mm.b_matrices, 1, t->index, s->prepare_count, &first, &end);
    for (size_t i = first; i < end && !takt_poll_stops(t->poll); i++)
        pack_one(f, matrix_of(f, b, i), (real *)t->scratch + i * f->packed_count);
}

#endif
