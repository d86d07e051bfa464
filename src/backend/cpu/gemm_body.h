/* gemm_body.h - the step for matrix products of floats: packed weights, cut for threads.
 *
 * A constant right-hand side is packed when the plan is made. One that is computed is packed at the
 * start of the step: into shared scratch, by all threads, if there is one product, else by each
 * task for itself. Narrower types than the kernel's are widened in shared scratch, and the result
 * is rounded once.
 *
 * An including file defines
 *   real, REAL             the kernel's type and its dtype
 *   GEMM(x)                names of the kernel family: takt_gemm_f32##x
 *   FAMILY, AS_GEMM        "gemm_f32", takt_kernel_as_gemm_f32
 *   FORMATS                what packed constants are called: {rows apart, columns apart}
 *   fast_kernel(p, weights, mm, n)  another kernel with the same call, or NULL
 *   use_packed(g, n, data, columns, room)  makes g read packed weights, perhaps narrow (narrow.h)
 *   ending, ending_room    what follows the product, and one call's room for it, and
 *   ending_compile(p, columns, e), ending_scratch(e), ending_use(e, place, room)
 */
#ifndef TAKT_BACKEND_CPU_GEMM_BODY_H
#define TAKT_BACKEND_CPU_GEMM_BODY_H

#include "backend/cpu/cut.h"
#include "backend/cpu/narrow.h"
#include "backend/cpu/pace.h"
#include "backend/cpu/worth.h"
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
    takt_narrow narrow;  /* how it is packed */
    size_t packed_count; /* elements of one packed matrix */
    size_t a_count, b_count, c_count;
    size_t a_at, b_at, c_at; /* bytes into shared scratch, of widened operands and the result */
    takt_cut cut;            /* of one product; of several, each only by rows */
    bool is_shared;          /* all threads pack b before the tasks begin */
    size_t kernel_scratch;   /* bytes; the ending's registers follow, then a packed matrix */
    size_t register_bytes;
    takt_gemm_walk walk;
    bool is_walked; /* walk is set by the caller */
    size_t ways;    /* of L1, for the kernel */
} facts;

#include "backend/cpu/gemm_pack.h"

/* ---- running ---- */

static void before(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_convert how = {.to = REAL, .from = f->dtype};
    if (widens(f)) {
        takt_pace_convert(t, f->convert, &how, (char *)t->scratch + f->a_at,
                          takt_view_data(t, &s->in[f->a]), f->a_count);
        if (!f->is_packed && !packs_rounded(f))
            takt_pace_convert(t, f->convert, &how, (char *)t->scratch + f->b_at,
                              takt_view_data(t, &s->in[f->b]), f->b_count);
    }
}

static void after(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_convert how = {.to = f->dtype, .from = REAL};
    takt_pace_convert(t, f->convert, &how, takt_view_data(t, &s->out[0]),
                      (char *)t->scratch + f->c_at, f->c_count);
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
         .walk = f->is_walked ? &f->walk : NULL,
         .ways = f->ways,
         .poll = t->poll};
    use_packed(&g, &f->narrow, packed, takt_panels_columns(f->panels, mm->n), &stored);
    f->run(&g);
}

static void run_single(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t range[4];
    takt_cpu_share(f->mm.m, f->cut.grain, takt_cut_row(&f->cut, t->index), f->cut.rows, &range[0],
                   &range[1]);
    takt_panels_share(f->panels, f->mm.n, takt_cut_column(&f->cut, t->index), f->cut.columns,
                      &range[2], &range[3]);
    if (range[0] == range[1] || range[2] == range[3])
        return;
    product(s, t, 0, range, f->is_packed ? takt_view_data(t, &s->in[f->b]) : t->scratch);
}

static void run_batch(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    void *own = (char *)t->scratch_own + f->kernel_scratch + f->register_bytes;
    const real *data = operand(s, t, f->b, f->b_at);
    const char *packed = f->is_packed ? (const void *)data : t->scratch;
    const size_t bytes = f->is_packed ? f->narrow.bytes : sizeof(real); /* room for rounding, too */
    const size_t packed_bytes = f->packed_count * bytes, parts = f->cut.rows;
    size_t first, end, held = SIZE_MAX, range[4] = {0, 0, 0, f->mm.n};
    takt_cpu_share(f->mm.batch * parts, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end && !takt_poll_stops(t->poll); i++) {
        const bool is_own = !f->is_packed && !f->is_shared;
        size_t a, b;
        takt_product_pair(&f->mm, i / parts, &a, &b);
        takt_cpu_share(f->mm.m, 1, i % parts, parts, &range[0], &range[1]);
        if (is_own && b != held)
            pack_one(f, matrix_of(f, data, b), own);
        held = b;
        product(s, t, i / parts, range, is_own ? own : packed + b * packed_bytes);
    }
}

/* ---- compiling ---- */

/* Number of tasks for packing. */
static size_t pack_parts(const takt_planner *p, const facts *f)
{
    return takt_cpu_tasks(
        p, 0, 2.0 * sizeof(real) * (double)f->packed_count * (double)f->mm.b_matrices,
        f->mm.b_matrices == 1 ? takt_panels_count(f->panels, f->mm.n) : f->mm.b_matrices);
}

static takt_status add_operands(takt_planner *p, facts *f)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    static const char *const formats[2] = FORMATS;
    TAKT_TRY(takt_planner_input(p, n->in[0], &f->a));
    size_t bytes;
    const bool is_plain = f->narrow.fast == NULL && f->narrow.bytes == sizeof(real);
    const bool is_constant = takt_planner_is_constant(p, n->in[1]);
    const bool may_fail = f->narrow.fast != NULL || (widens(f) && f->mm.b_matrices > 1);
    f->is_packed = takt_planner_is_kept(p, n->in[1]) && (is_constant || !may_fail) &&
                   !(is_plain && takt_product_keeps_one(p, n));
    const size_t k = f->mm.k + (f->narrow.fast != NULL ? TAKT_F16_HEAD : 0); /* padding */
    if (!takt_size_mul(takt_panels_columns(f->panels, f->mm.n), k, &f->packed_count) ||
        !takt_size_mul(f->packed_count, f->mm.b_matrices * sizeof(real), &bytes))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "a packed matrix is too large");
    (void)takt_type_count(takt_type_of(p->graph, n->in[0]), &f->a_count);
    (void)takt_type_count(takt_type_of(p->graph, n->in[1]), &f->b_count);
    (void)takt_type_count(n->type, &f->c_count);
    if (f->narrow.fast != NULL)
        f->packed_count = takt_narrow_count(&f->narrow, f->mm.k, f->mm.n);
    if (!f->is_packed)
        return takt_planner_input(p, n->in[1], &f->b);
    const char *format = takt_planner_same_text(
        p, "%s k=%zu n=%zu", formats[f->mm.b_col == 1 ? 0 : 1], f->mm.k, f->mm.n);
    format = format != NULL ? takt_narrow_format(p, &f->narrow, format) : NULL;
    if (format == NULL)
        return TAKT_ERR_MEMORY;
    bytes = f->packed_count * f->mm.b_matrices * f->narrow.bytes;
    takt_packer how = {.format = format, .bytes = bytes, .run = pack_state, .data = f};
    how.parts = widens(f) ? 1 : pack_parts(p, f);
    if (widens(f)) {
        how.run = pack_narrow_state;
        how.room = f->b_count * sizeof(real);
    }
    if (!is_constant && f->mm.b_matrices == 1)
        return takt_planner_form(p, n->in[1], &how, &f->b);
    const takt_filler filler = {format, bytes, pack_constant, by_parts(f)};
    return takt_planner_packed_by(p, f->narrow.from, &filler, f, &f->b);
}

/* Parts for one thread, which takes them alternately from both ends: of the weights for a single
 * row, of rows in 16 bits if all weights stay in cache. L3 does not limit products of f32. */
static takt_cut cut_turns(const takt_planner *p, const facts *f, size_t rows, double bytes)
{
    enum { NEAR_BYTES = 1 << 20 };
    const double m = (double)f->mm.m, n = (double)f->mm.n, k = (double)f->mm.k;
    const double all = bytes + (double)sizeof(real) * m * (n + k);
    const size_t panels = takt_panels_count(f->panels, f->mm.n);
    takt_cut c = {1, 1, rows, false};
    if (f->mm.m == 1)
        c.columns = takt_cpu_turns(p, all, panels / 8);
    else if (f->narrow.fast != NULL && bytes <= NEAR_BYTES)
        c.rows = takt_cpu_turns(p, all, f->mm.m / (4 * rows));
    return c;
}

/* The same cut, if it is fine, with whole broad tiles in every task and no more rows than share one
 * pass over the weights: more would read them again. */
static takt_cut cut_broad(const facts *f, const GEMM(_info) * info, takt_cut c)
{
    const size_t m = f->mm.m, tall = info->broad, tasks = c.rows * c.columns;
    if (tall == 0 || !c.is_tall || takt_panels_count(f->panels, f->mm.n) <= 4 ||
        (m + c.rows - 1) / c.rows < 3 * tall)
        return c;
    const size_t fit = info->block_bytes / sizeof(real) / (f->mm.k + 1) / tall * tall;
    c.grain = tall;
    if (fit > 0 && (m + c.rows - 1) / c.rows > fit) {
        c.rows = (m + fit - 1) / fit;
        c.columns = tasks / c.rows > 1 ? tasks / c.rows : 1;
    }
    return c;
}

static void cut_tasks(takt_planner *p, facts *f, const GEMM(_info) * info)
{
    const double columns = (double)takt_panels_columns(f->panels, f->mm.n);
    const double flops = 2.0 * (double)f->mm.m * columns * (double)f->mm.k;
    const double bytes = (double)f->narrow.bytes * (double)f->mm.n * (double)f->mm.k;
    const size_t panels = takt_panels_count(f->panels, f->mm.n);
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    const size_t each = takt_cpu_tasks_each(f->mm.m, info->rows, threads, bytes);
    const takt_cut_work work = {f->mm.m, panels, info->rows, 2};
    const takt_cut_pace pace = {threads, flops / (f->narrow.fast != NULL ? TAKT_CUT_FASTER : 1),
                                bytes};
    const takt_worth *worth = takt_worth_of(p->step->isas);
    const size_t whole = (size_t)columns * sizeof(real) / sizeof(float) / worth->row_columns;
    const size_t most = takt_cpu_tasks_most(each, threads);
    const size_t tasks = takt_cpu_tasks(p, f->narrow.fast != NULL ? flops / worth->narrow : flops,
                                        bytes, f->mm.m == 1 && whole < most ? whole : most);
    if (f->mm.batch > 1) {
        f->cut = takt_cpu_cut_products(&work, f->mm.batch, &pace);
    } else {
        const bool is_tiles = f->narrow.fast != NULL && (p->step->isas >> TAKT_ISA_amx & 1) != 0;
        f->cut = tasks <= 1 ? cut_turns(p, f, info->rows, bytes)
                 : is_tiles ? takt_cpu_cut_tiles(&work, tasks, bytes)
                            : takt_cpu_cut_of(&work, tasks, bytes);
        if (tasks > 1 && tasks >= threads)
            f->cut = takt_cpu_cut_finer(&work, f->cut, &pace);
        f->cut = cut_broad(f, info, f->cut);
    }
}

/* Tasks of several products: one for each part of a product if they were cut. */
static size_t count_batch(const takt_planner *p, const facts *f)
{
    const double flops = 2.0 * (double)f->mm.m * (double)f->mm.n * (double)f->mm.k;
    const size_t tasks = takt_cpu_tasks(p, flops * (double)f->mm.batch, 0, f->mm.batch);
    return tasks > 1 ? tasks * f->cut.rows : 1;
}

/* Adds room for `count` elements to the shared scratch. */
static size_t share(takt_step *s, size_t count)
{
    const size_t at = takt_cpu_aligned(s->scratch_bytes);
    s->scratch_bytes = at + count * sizeof(real);
    return at;
}

/* The most that any share of the rows needs; fewer rows may need more. */
static size_t kernel_bytes(const facts *f, const GEMM(_info) * info)
{
    size_t most = 0, first, end;
    for (size_t i = 0; i < f->cut.rows; i++) {
        takt_cpu_share(f->mm.m, f->cut.grain, i, f->cut.rows, &first, &end);
        takt_gemm_stored stored;
        GEMM()
        g = {.m = end - first,
             .n = f->mm.n,
             .k = f->mm.k,
             .a_row = f->mm.a_row,
             .a_col = f->mm.a_col,
             .walk = f->is_walked ? &f->walk : NULL};
        use_packed(&g, &f->narrow, NULL, 0, &stored);
        const size_t bytes = info->scratch_bytes(&g);
        most = bytes > most ? bytes : most;
    }
    return takt_cpu_aligned(most);
}

static void set_tasks(takt_planner *p, void *of)
{
    facts *f = of;
    takt_step *s = p->step;
    s->task_count = f->mm.batch == 1 ? f->cut.rows * f->cut.columns : count_batch(p, f);
    f->is_shared = !f->is_packed && (f->mm.batch == 1 || f->cut.rows > 1);
    f->kernel_scratch = kernel_bytes(f, f->info);
    f->register_bytes = ending_scratch(&f->end);
    s->scratch_each = f->kernel_scratch + f->register_bytes;
    if (f->is_shared)
        (void)share(s, f->packed_count * f->mm.b_matrices);
    else if (!f->is_packed)
        s->scratch_each += f->packed_count * sizeof(real);
    if (!widens(f))
        return;
    f->a_at = share(s, f->a_count);
    f->b_at = f->is_packed || packs_rounded(f) ? 0 : share(s, f->b_count);
    f->c_at = share(s, f->c_count);
}

/* One product with other row and column strides, if the planned scratch is large enough. */
static bool reads_view(const takt_step *s, size_t in, const int64_t *stride)
{
    facts f = *(const facts *)s->data;
    if (in != f.a || widens(&f) || f.mm.batch != 1 ||
        !bound_sides(&f, &s->in[in], stride, &f.mm.a_row, &f.mm.a_col))
        return false;
    return kernel_bytes(&f, f.info) <= f.kernel_scratch;
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
    const takt_kernel *gemm = fast_kernel(p, weights, &f->mm, &f->narrow);
    gemm = gemm != NULL ? gemm : takt_planner_kernel(p, FAMILY);
    const GEMM(_info) *info = gemm->info; /* a fast kernel's begins like it */
    f->run = AS_GEMM(gemm);
    f->info = info;
    const int transposes = takt_op_attr_index(&takt_op_matmul, "transpose_a");
    f->transposes_a = p->graph->nodes[p->group->nodes[0]].attr[transposes].boolean;
    s->reads_view = reads_view;
    f->panels = info->panels;
    f->walk = p->settings->walk;
    f->is_walked = p->settings->is_walked;
    f->ways = takt_cpu_ways(p);
    f->pack = takt_kernel_as_pack(takt_planner_find(p, "pack"));
    f->convert = takt_kernel_as_convert(takt_planner_find(p, "convert"));
    TAKT_TRY(add_operands(p, f));
    TAKT_TRY(ending_compile(p, f->mm.n, &f->end));
    cut_tasks(p, f, info);
    takt_cpu_fit(p, &f->cut, f->mm.m, set_tasks, f);
    s->data = f;
    s->before = widens(f) ? before : NULL;
    const bool by_panels = f->mm.batch == 1 && f->narrow.fast == NULL;
    s->prepare = !f->is_shared ? NULL : by_panels ? prepare : prepare_many;
    s->prepare_count = takt_cpu_tasks(
        p, 0, 2.0 * sizeof(real) * (double)f->packed_count * (double)f->mm.b_matrices,
        by_panels ? takt_panels_count(f->panels, f->mm.n) : f->mm.b_matrices);
    s->after = widens(f) ? after : NULL;
    s->run = f->mm.batch == 1 ? run_single : run_batch;
    return TAKT_OK;
}

#endif
