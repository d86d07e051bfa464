/* gemm.c - the step for f32 matrix products: packed weights, epilogue on the hot tile.
 *
 * A constant right-hand side is packed when the plan is made. One that is computed is packed at the
 * start of the step: into shared scratch if there is one product, else by each task for itself.
 */
#include <string.h>

#include "backend/cpu/epilogue.h"
#include "backend/cpu/matrix.h"
#include "base/size.h"
#include "kernel/pack/pack.h"

typedef struct facts {
    takt_product mm;
    takt_cpu_epilogue epilogue;
    takt_gemm_f32_fn *run;
    takt_pack_fn *pack;
    size_t a, b;          /* indices into step->in */
    bool is_packed;       /* b is packed already */
    size_t packed_floats; /* of one matrix */
    size_t row_tasks;     /* tasks = row_tasks * column_tasks, or one product after another */
    size_t column_tasks;
    size_t row_grain;
    size_t kernel_scratch; /* bytes; the epilogue's registers follow, then a packed matrix */
    size_t register_bytes;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    if (g->nodes[node].op != &takt_op_matmul)
        return "";
    return takt_type_of(g, node)->dtype == TAKT_F32 ? NULL : "";
}

static void pack_one(const facts *f, const float *b, float *to)
{
    const takt_pack p = {.k = f->mm.k, .n = f->mm.n, .src = b, .row = f->mm.b_row, .col = f->mm.b_col,
                         .dst = to, .bytes = sizeof *b};
    f->pack(&p);
}

static takt_status pack_constant(void *user, const void *from, void *to)
{
    const facts *f = user;
    for (size_t i = 0; i < f->mm.b_matrices; i++)
        pack_one(f, (const float *)from + i * f->mm.k * f->mm.n, (float *)to + i * f->packed_floats);
    return TAKT_OK;
}

static void pack_shared(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    pack_one(f, takt_view_data(t, &s->in[f->b]), t->scratch);
}

/* ---- running ---- */

/* Rows [r0, r1) and columns [c0, c1) of product `index`. */
static void product(const takt_step *s, const takt_task *t, size_t index, const size_t range[4],
                    const float *packed)
{
    const facts *f = s->data;
    const takt_product *mm = &f->mm;
    size_t a, b;
    takt_product_pair(mm, index, &a, &b);
    float *c = (float *)takt_view_data(t, &s->out[0]) + index * mm->m * mm->n;
    takt_epilogue_run run = {.epilogue = &f->epilogue, .step = s, .task = t,
                             .registers = (char *)t->scratch_own + f->kernel_scratch,
                             .row = index * mm->m + range[0], .column = range[2]};
    takt_epilogue_f32 epilogue;
    const bool ends = takt_epilogue_f32_for(&run, &epilogue);
    const takt_gemm_f32 g = {
        .m = range[1] - range[0], .n = range[3] - range[2], .k = mm->k,
        .a = (const float *)takt_view_data(t, &s->in[f->a]) + a * mm->m * mm->k + range[0] * mm->a_row,
        .a_row = mm->a_row, .a_col = mm->a_col,
        .b = packed + range[2] * mm->k, .b_panel = TAKT_P16 * mm->k,
        .c = c + range[0] * mm->n + range[2], .ldc = mm->n,
        .epilogue = ends ? &epilogue : NULL, .scratch = t->scratch_own};
    f->run(&g);
}

static void run_single(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t range[4];
    takt_cpu_share(f->mm.m, f->row_grain, t->index / f->column_tasks, f->row_tasks, &range[0], &range[1]);
    takt_cpu_share(f->mm.n, TAKT_P16, t->index % f->column_tasks, f->column_tasks, &range[2], &range[3]);
    if (range[0] == range[1] || range[2] == range[3])
        return;
    product(s, t, 0, range, f->is_packed ? takt_view_data(t, &s->in[f->b]) : t->scratch);
}

static void run_batch(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    float *own = (float *)((char *)t->scratch_own + f->kernel_scratch + f->register_bytes);
    const size_t range[4] = {0, f->mm.m, 0, f->mm.n};
    size_t first, end, held = SIZE_MAX;
    takt_cpu_share(f->mm.batch, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end; i++) {
        size_t a, b;
        takt_product_pair(&f->mm, i, &a, &b);
        const float *data = takt_view_data(t, &s->in[f->b]);
        if (!f->is_packed && b != held)
            pack_one(f, data + b * f->mm.k * f->mm.n, own);
        held = b;
        product(s, t, i, range, f->is_packed ? data + b * f->packed_floats : own);
    }
}

/* ---- compiling ---- */

static takt_status add_operands(takt_planner *p, facts *f)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    TAKT_TRY(takt_planner_input(p, n->in[0], &f->a));
    const size_t panels = (f->mm.n + TAKT_P16 - 1) / TAKT_P16;
    size_t bytes;
    if (!takt_size_mul(panels * TAKT_P16, f->mm.k, &f->packed_floats) ||
        !takt_size_mul(f->packed_floats, f->mm.b_matrices * sizeof(float), &bytes))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "a packed matrix is too large");
    f->is_packed = takt_planner_is_constant(p, n->in[1]) && !takt_planner_in_prologue(p);
    if (!f->is_packed)
        return takt_planner_input(p, n->in[1], &f->b);
    const char *format = f->mm.b_col == 1 ? "p16" : "p16t";
    return takt_planner_packed(p, n->in[1], format, bytes, pack_constant, f, &f->b);
}

/* Rows if there are plenty, so that each task packs its own part of A; else columns, so that each
 * reads its own part of the weights. */
static void cut(takt_planner *p, facts *f, const takt_gemm_f32_info *info)
{
    const double flops = 2.0 * (double)f->mm.m * (double)f->mm.n * (double)f->mm.k;
    const double bytes = 4.0 * (double)f->mm.n * (double)f->mm.k;
    const size_t panels = (f->mm.n + TAKT_P16 - 1) / TAKT_P16;
    f->row_grain = info->rows;
    f->row_tasks = f->column_tasks = 1;
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    const size_t most = f->mm.m >= 4 * threads * info->rows ? 2 * threads : threads;
    const size_t tasks = takt_cpu_tasks(p, flops, bytes, most);
    if (f->mm.m >= tasks * info->rows * 2)
        f->row_tasks = tasks;
    else
        f->column_tasks = tasks < panels ? tasks : panels > 0 ? panels : 1;
}

static void set_scratch(takt_step *s, facts *f, const takt_gemm_f32_info *info)
{
    takt_gemm_f32 g = {.m = f->mm.m, .n = f->mm.n, .k = f->mm.k, .a_row = f->mm.a_row,
                       .a_col = f->mm.a_col};
    f->kernel_scratch = (info->scratch_bytes(&g) + 63) & ~(size_t)63;
    const size_t rows = (f->mm.m + f->row_tasks - 1) / f->row_tasks + f->row_grain;
    g.m = rows < f->mm.m ? rows : f->mm.m;
    const size_t smaller = (info->scratch_bytes(&g) + 63) & ~(size_t)63;
    f->kernel_scratch = smaller > f->kernel_scratch ? smaller : f->kernel_scratch;
    f->register_bytes = takt_epilogue_scratch(&f->epilogue);
    s->scratch_each = f->kernel_scratch + f->register_bytes;
    if (f->is_packed)
        return;
    if (f->mm.batch > 1)
        s->scratch_each += f->packed_floats * sizeof(float);
    else
        s->scratch_bytes = f->packed_floats * sizeof(float);
}

static takt_status compile(takt_planner *p)
{
    takt_step *s = p->step;
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->mm = takt_product_of(p->graph, p->group->nodes[0]);
    const takt_kernel *gemm = takt_planner_kernel(p, "gemm_f32");
    const takt_kernel *pack = takt_kernel_find("pack", p->settings->isas, NULL, 0, NULL);
    f->run = takt_kernel_as_gemm_f32(gemm);
    f->pack = takt_kernel_as_pack(pack);
    TAKT_TRY(add_operands(p, f));
    TAKT_TRY(takt_epilogue_compile(p, f->mm.n, &f->epilogue));
    const takt_gemm_f32_info *info = gemm->info;
    cut(p, f, info);
    set_scratch(s, f, info);
    s->data = f;
    if (f->mm.batch == 1) {
        s->run = run_single;
        s->before = f->is_packed ? NULL : pack_shared;
        s->task_count = f->row_tasks * f->column_tasks;
    } else {
        s->run = run_batch;
        s->task_count = takt_cpu_tasks(p, 2.0 * (double)f->mm.batch * (double)f->mm.m * (double)f->mm.n *
                                              (double)f->mm.k, 0, f->mm.batch);
    }
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_gemm = {
    .name = "gemm", .accepts = accepts, .absorbs = takt_epilogue_absorbs, .compile = compile};
