/* gemm_body.h - the step for matrix products of floats: packed weights, cut for threads.
 *
 * A constant right-hand side is packed when the plan is made. One that is computed is packed at the
 * start of the step: into shared scratch, by all threads, if there is one product, else by each
 * task for itself. Narrower types than the kernel's are widened in shared scratch, and the result
 * is rounded once.
 *
 * Whoever includes it defines
 *   real, REAL             the kernel's type and its dtype
 *   GEMM(x)                names of the kernel family: takt_gemm_f32##x
 *   FAMILY, AS_GEMM        "gemm_f32", takt_kernel_as_gemm_f32
 *   FORMATS                what packed constants are called: {rows apart, columns apart}
 *   fast_kernel(p, weights, rows, n)  another kernel with the same call, or NULL
 *   use_packed(g, n, data, columns, room)  makes g read packed weights, perhaps narrow (narrow.h)
 *   ending, ending_room    what follows the product, and one call's room for it, and
 *   ending_compile(p, columns, e), ending_scratch(e), ending_use(e, place, room)
 */
#ifndef TAKT_BACKEND_CPU_GEMM_BODY_H
#define TAKT_BACKEND_CPU_GEMM_BODY_H

#include "backend/cpu/cut.h"
#include "backend/cpu/narrow.h"
#include "base/mem.h"
#include "base/size.h"
#include "plan/execute.h"

typedef struct facts {
    takt_product mm;
    ending end;
    GEMM(_fn) * run;
    const GEMM(_info) * info;
    bool transposes_a;
    takt_pack_fn *pack;
    takt_panels panels;
    takt_convert_fn *convert;
    takt_ctx *ctx;       /* for packing at plan time */
    takt_dtype dtype;    /* of the operands */
    size_t a, b;         /* indices into step->in */
    bool is_packed;      /* b is packed already */
    takt_narrow narrow;  /* what it is packed as */
    size_t packed_count; /* elements of one packed matrix */
    size_t a_count, b_count, c_count;
    size_t a_at, b_at, c_at; /* bytes into shared scratch, of widened operands and the result */
    size_t row_tasks;        /* tasks = row_tasks * column_tasks, or one product after another */
    size_t column_tasks;
    size_t row_grain;
    size_t kernel_scratch; /* bytes; the ending's registers follow, then a packed matrix */
    size_t register_bytes;
    takt_gemm_walk walk;
    bool is_walked; /* as the caller said */
} facts;

static bool widens(const facts *f)
{
    return f->dtype != REAL;
}

static void pack_one(const facts *f, const void *b, void *to)
{
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

/* ---- running ---- */

static const real *operand(const takt_step *s, const takt_task *t, size_t index, size_t at)
{
    const facts *f = s->data;
    const bool is_wide = widens(f) && !(index == f->b && f->is_packed);
    return is_wide ? (const real *)(const void *)((char *)t->scratch + at)
                   : takt_view_data(t, &s->in[index]);
}

static void before(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_convert how = {.to = REAL, .from = f->dtype};
    if (widens(f)) {
        f->convert(&how, (char *)t->scratch + f->a_at, takt_view_data(t, &s->in[f->a]), f->a_count);
        if (!f->is_packed)
            f->convert(&how, (char *)t->scratch + f->b_at, takt_view_data(t, &s->in[f->b]),
                       f->b_count);
    }
}

/* Some panels of a computed matrix, chunk by chunk of k. */
static void prepare(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_product *mm = &f->mm;
    const real *b = operand(s, t, f->b, f->b_at);
    const size_t columns = takt_panels_columns(f->panels, mm->n);
    size_t first, end;
    takt_panels_share(f->panels, mm->n, t->index, s->prepare_count, &first, &end);
    for (size_t p = 0, rows; first < end && p < mm->k; p += rows) {
        rows = mm->k - p < TAKT_GEMM_CHUNK ? mm->k - p : TAKT_GEMM_CHUNK;
        const takt_pack part = {.k = rows,
                                .n = end - first,
                                .src = b + p * mm->b_row + first * mm->b_col,
                                .row = mm->b_row,
                                .col = mm->b_col,
                                .dst = (real *)t->scratch + p * columns + first * rows,
                                .bytes = sizeof *b,
                                .panels = f->panels};
        f->pack(&part);
    }
}

static void after(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_convert how = {.to = f->dtype, .from = REAL};
    f->convert(&how, takt_view_data(t, &s->out[0]), (char *)t->scratch + f->c_at, f->c_count);
}

/* Rows and columns of A as they are bound; false if rows do not have one stride. */
static bool bound_sides(const facts *f, const takt_view *v, const int64_t *stride, size_t *row,
                        size_t *col)
{
    const int last = v->rank - 1;
    const bool turned = f->transposes_a && last > 0;
    int64_t rows = 0, span = 0;
    bool found = false;
    for (int d = last - 1; d >= 0; d--) {
        if (v->dim[d] == 1)
            continue;
        if (found && (stride[d] != span || turned))
            return false;
        rows = found ? rows : stride[d];
        span = stride[d] * v->dim[d];
        found = true;
    }
    if (rows < 0 || stride[last] < 0)
        return false;
    *row = (size_t)(turned ? stride[last] : rows);
    *col = (size_t)(turned ? rows : stride[last]);
    return true;
}

/* Rows [range[0], range[1]) and columns [range[2], range[3]) of product `index`. */
static void product(const takt_step *s, const takt_task *t, size_t index, const size_t range[4],
                    const void *packed)
{
    const facts *f = s->data;
    const takt_product *mm = &f->mm;
    size_t a, b;
    takt_product_pair(mm, index, &a, &b);
    real *c =
        widens(f) ? (real *)(void *)((char *)t->scratch + f->c_at) : takt_view_data(t, &s->out[0]);
    const ending_place place = {.step = s,
                                .task = t,
                                .registers = (char *)t->scratch_own + f->kernel_scratch,
                                .row = index * mm->m + range[0],
                                .column = range[2]};
    ending_room room;
    size_t a_row = mm->a_row, a_col = mm->a_col;
    const int64_t *stride = takt_view_stride(t, &s->in[f->a]);
    if (stride != NULL)
        (void)bound_sides(f, &s->in[f->a], stride, &a_row, &a_col);
    takt_gemm_stored stored;
    GEMM()
    g = {.m = range[1] - range[0],
         .n = range[3] - range[2],
         .k = mm->k,
         .a = operand(s, t, f->a, f->a_at) + a * mm->m * mm->k + range[0] * a_row,
         .a_row = a_row,
         .a_col = a_col,
         .b_n = mm->n,
         .b_first = range[2],
         .c = c + (index * mm->m + range[0]) * mm->n + range[2],
         .ldc = mm->n,
         .epilogue = ending_use(&f->end, &place, &room),
         .scratch = t->scratch_own,
         .walk = f->is_walked ? &f->walk : NULL};
    use_packed(&g, &f->narrow, packed, takt_panels_columns(f->panels, mm->n), &stored);
    f->run(&g);
}

static void run_single(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t range[4];
    takt_cpu_share(f->mm.m, f->row_grain, t->index / f->column_tasks, f->row_tasks, &range[0],
                   &range[1]);
    takt_panels_share(f->panels, f->mm.n, t->index % f->column_tasks, f->column_tasks, &range[2],
                      &range[3]);
    if (range[0] == range[1] || range[2] == range[3])
        return;
    product(s, t, 0, range, f->is_packed ? takt_view_data(t, &s->in[f->b]) : t->scratch);
}

static void run_batch(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    void *own = (char *)t->scratch_own + f->kernel_scratch + f->register_bytes;
    const real *data = operand(s, t, f->b, f->b_at);
    const size_t packed_bytes = f->packed_count * f->narrow.bytes;
    const size_t range[4] = {0, f->mm.m, 0, f->mm.n};
    size_t first, end, held = SIZE_MAX;
    takt_cpu_share(f->mm.batch, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end; i++) {
        size_t a, b;
        takt_product_pair(&f->mm, i, &a, &b);
        if (!f->is_packed && b != held)
            pack_one(f, data + b * f->mm.k * f->mm.n, own);
        held = b;
        product(s, t, i, range,
                f->is_packed ? (const void *)((const char *)data + b * packed_bytes) : own);
    }
}

/* ---- compiling ---- */

static takt_status add_operands(takt_planner *p, facts *f)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    static const char *const formats[2] = FORMATS;
    TAKT_TRY(takt_planner_input(p, n->in[0], &f->a));
    size_t bytes;
    f->is_packed = takt_planner_is_constant(p, n->in[1]) && !takt_planner_in_prologue(p);
    const size_t k = f->mm.k + (f->narrow.fast != NULL ? TAKT_F16_HEAD : 0); /* padding */
    if (!takt_size_mul(takt_panels_columns(f->panels, f->mm.n), k, &f->packed_count) ||
        !takt_size_mul(f->packed_count, f->mm.b_matrices * sizeof(real), &bytes))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "a packed matrix is too large");
    (void)takt_type_count(takt_type_of(p->graph, n->in[0]), &f->a_count);
    (void)takt_type_count(takt_type_of(p->graph, n->in[1]), &f->b_count);
    (void)takt_type_count(n->type, &f->c_count);
    if (!f->is_packed)
        return takt_planner_input(p, n->in[1], &f->b);
    if (f->narrow.fast != NULL)
        f->packed_count = takt_narrow_count(&f->narrow, f->mm.k, f->mm.n);
    const char *format = takt_narrow_format(p, &f->narrow, formats[f->mm.b_col == 1 ? 0 : 1]);
    if (format == NULL)
        return TAKT_ERR_MEMORY;
    bytes = f->packed_count * f->mm.b_matrices * f->narrow.bytes;
    return takt_planner_packed(p, f->narrow.from, format, bytes, pack_constant, f, &f->b);
}

static void cut_tasks(takt_planner *p, facts *f, const GEMM(_info) * info)
{
    const double flops = 2.0 * (double)f->mm.m * (double)f->mm.n * (double)f->mm.k;
    const double bytes = (double)f->narrow.bytes * (double)f->mm.n * (double)f->mm.k;
    const size_t panels = takt_panels_count(f->panels, f->mm.n);
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    const size_t most = threads * takt_cpu_tasks_each(f->mm.m, info->rows, threads, bytes);
    const size_t tasks = takt_cpu_tasks(p, flops, bytes, most);
    const takt_cut_work work = {f->mm.m, panels, info->rows, 2};
    const takt_cut cut = takt_cpu_cut_of(&work, tasks, bytes);
    f->row_tasks = cut.rows;
    f->column_tasks = cut.columns;
    f->row_grain = cut.grain;
}

/* Adds room for `count` elements to the shared scratch. */
static size_t share(takt_step *s, size_t count)
{
    const size_t at = (s->scratch_bytes + 63) & ~(size_t)63;
    s->scratch_bytes = at + count * sizeof(real);
    return at;
}

/* The most that any share of the rows needs; fewer rows may need more. */
static size_t kernel_bytes(const facts *f, const GEMM(_info) * info)
{
    size_t most = 0, first, end;
    for (size_t i = 0; i < f->row_tasks; i++) {
        takt_cpu_share(f->mm.m, f->row_grain, i, f->row_tasks, &first, &end);
        takt_gemm_stored stored;
        GEMM()
        g = {.m = f->mm.batch == 1 ? end - first : f->mm.m,
             .n = f->mm.n,
             .k = f->mm.k,
             .a_row = f->mm.a_row,
             .a_col = f->mm.a_col,
             .walk = f->is_walked ? &f->walk : NULL};
        use_packed(&g, &f->narrow, NULL, 0, &stored);
        const size_t bytes = info->scratch_bytes(&g);
        most = bytes > most ? bytes : most;
    }
    return (most + 63) & ~(size_t)63;
}

static void set_scratch(takt_step *s, facts *f, const GEMM(_info) * info)
{
    f->kernel_scratch = kernel_bytes(f, info);
    f->register_bytes = ending_scratch(&f->end);
    s->scratch_each = f->kernel_scratch + f->register_bytes;
    if (!f->is_packed && f->mm.batch > 1)
        s->scratch_each += f->packed_count * sizeof(real);
    else if (!f->is_packed)
        (void)share(s, f->packed_count);
    if (!widens(f))
        return;
    f->a_at = share(s, f->a_count);
    f->b_at = f->is_packed ? 0 : share(s, f->b_count);
    f->c_at = share(s, f->c_count);
}

/* One product whose rows lie in some other way, if the scratch that was planned is enough. */
static bool reads_view(const takt_step *s, size_t in, const int64_t *stride)
{
    facts f = *(const facts *)s->data;
    if (in != f.a || widens(&f) || f.mm.batch != 1 ||
        !bound_sides(&f, &s->in[in], stride, &f.mm.a_row, &f.mm.a_col))
        return false;
    const size_t planned = f.kernel_scratch;
    return kernel_bytes(&f, f.info) <= planned;
}

static takt_status compile(takt_planner *p)
{
    takt_step *s = p->step;
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->ctx = p->ctx;
    f->dtype = takt_type_of(p->graph, p->group->nodes[0])->dtype;
    f->mm = takt_product_of(p->graph, p->group->nodes[0]);
    const takt_id weights = p->graph->nodes[p->group->nodes[0]].in[1];
    f->narrow = takt_narrow_of(p, weights, sizeof(real));
    const takt_kernel *gemm = fast_kernel(p, weights, f->mm.m, &f->narrow);
    gemm = gemm != NULL ? gemm : takt_planner_kernel(p, FAMILY);
    const GEMM(_info) *info = gemm->info; /* a fast kernel's begins like it */
    f->run = AS_GEMM(gemm);
    f->info = info;
    const int transposes = takt_op_attr_index(&takt_op_matmul, "transpose_a", 11);
    f->transposes_a = p->graph->nodes[p->group->nodes[0]].attr[transposes].boolean;
    s->reads_view = reads_view;
    f->panels = info->panels;
    f->walk = p->settings->walk;
    f->is_walked = p->settings->is_walked;
    f->pack = takt_kernel_as_pack(takt_kernel_find("pack", p->step->isas, NULL, 0, NULL));
    f->convert = takt_kernel_as_convert(takt_kernel_find("convert", p->step->isas, NULL, 0, NULL));
    TAKT_TRY(add_operands(p, f));
    TAKT_TRY(ending_compile(p, f->mm.n, &f->end));
    cut_tasks(p, f, info);
    set_scratch(s, f, info);
    s->data = f;
    s->before = widens(f) ? before : NULL;
    s->prepare = !f->is_packed && f->mm.batch == 1 ? prepare : NULL;
    s->prepare_count = takt_cpu_tasks(p, 0, 2.0 * sizeof(real) * (double)f->packed_count,
                                      takt_panels_count(f->panels, f->mm.n));
    s->after = widens(f) ? after : NULL;
    s->run = f->mm.batch == 1 ? run_single : run_batch;
    s->task_count = f->row_tasks * f->column_tasks;
    if (f->mm.batch != 1)
        s->task_count = takt_cpu_tasks(
            p, 2.0 * (double)f->mm.batch * (double)f->mm.m * (double)f->mm.n * (double)f->mm.k, 0,
            f->mm.batch);
    return TAKT_OK;
}

#endif
