/* ggml_matmul.c - products with weights in ggml's block formats, as panels of sixteen columns.
 *
 * Rows rounded to bytes are multiplied by integer levels (ggml_i8). For a few exact rows, weights
 * are converted to floats in registers (ggml_few); for more, some columns are converted one chunk
 * of k at a time, which stays in L2 (ggml_fill), and multiplied by gemm_f32. Sums of chunks are
 * added in order, so the bits are those of the product with floats.
 */
#include "backend/cpu/conv/run.h"
#include "backend/cpu/cut.h"
#include "backend/cpu/epilogue.h"
#include "backend/cpu/ggml_pack.h"
#include "backend/cpu/pace.h"
#include "kernel/gemm_f32/gemm_f32.h"
#include "kernel/ggml_few/ggml_few.h"
#include "kernel/ggml_fill/ggml_fill.h"
#include "kernel/ggml_i8/ggml_i8.h"
#include "kernel/pack/pack.h"
#include "op/util/ggml.h"

enum { CHUNK = TAKT_GEMM_CHUNK, COLUMNS = 192, ROWS = 256, PANEL = TAKT_GGML_PANEL };

typedef enum way { BYTES, FEW_ROWS, FLOATS } way;

typedef struct facts {
    way way;
    size_t m, n, k;
    takt_ggml_operand b;
    takt_ggml_i8_fn *bytes;
    const takt_ggml_i8_info *bytes_info;
    takt_ggml_few_fn *few;
    takt_ggml_fill_fn *fill;
    takt_gemm_f32_fn *gemm;
    takt_pack_fn *pack;
    takt_panels panels;
    size_t packed_at, sums_at, gemm_at; /* in scratch, behind floats [CHUNK][COLUMNS] */
    takt_cut cut;
    bool is_rounded_once; /* A, to bytes, before all tasks instead of by each */
    size_t rounded_at;    /* in shared scratch */
    takt_cpu_epilogue ending;
    size_t registers_at; /* of the epilogue's program, in a task's own scratch */
} facts;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    (void)g;
    return n->op == &takt_op_ggml_matmul && takt_ggml_has_panels(takt_ggml_of(n));
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    return keeps(g, n) || n->op == &takt_op_ggml_matmul_i8 ? NULL : "";
}

/* ---- running ---- */

/* A part of the result: rows by columns. */
typedef struct part {
    const float *a;
    const uint8_t *b;
    float *c;
    size_t m, n;
    char *scratch;
} part;

static takt_ggml_round rounding(const facts *f, size_t m, const float *a, void *to)
{
    return (takt_ggml_round){.format = f->b.rows.format,
                             .m = m,
                             .blocks = f->b.rows.blocks,
                             .end = m,
                             .a = a,
                             .a_row = f->k,
                             .to = to};
}

/* A part of the rows to bytes, for all tasks. */
static void round_rows(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    takt_ggml_round r =
        rounding(f, f->m, takt_view_data(t, &s->in[0]), (char *)t->scratch + f->rounded_at);
    takt_cpu_share(f->m, 1, t->index, s->prepare_count, &r.first, &r.end);
    f->bytes_info->round(&r);
}

enum { FAST = 8 }; /* products in the time of an element (pace.h) */

static void run_bytes(const facts *f, const takt_task *t, const part *o)
{
    takt_ggml_i8 g = {.format = f->b.rows.format,
                      .m = o->m,
                      .n = o->n,
                      .blocks = f->b.rows.blocks,
                      .panels = o->b,
                      .rounded = (const char *)t->scratch + f->rounded_at,
                      .c = o->c,
                      .ldc = f->n};
    if (!f->is_rounded_once) {
        const takt_ggml_round r = rounding(f, o->m, o->a, o->scratch);
        f->bytes_info->round(&r);
        g.rounded = o->scratch;
    }
    /* Columns in pieces of a few hundred microseconds. */
    const size_t most = takt_pace_piece(o->m * f->k / FAST, PANEL);
    const size_t panel = g.blocks * takt_ggml_panel_block(g.format);
    for (size_t at = 0; at < o->n && !takt_poll_stops(t->poll); at += g.n) {
        g.n = o->n - at < most ? o->n - at : most;
        g.panels = o->b + at / PANEL * panel;
        g.c = o->c + at;
        f->bytes(&g);
    }
}

/* Floats of weights [k, k + deep) of a strip's columns, packed. */
static void *floats(const facts *f, const part *o, size_t k, size_t deep)
{
    const takt_ggml_rows *r = &f->b.rows;
    const size_t weights = takt_ggml_formats[r->format].weights;
    const takt_ggml_fill fill = {.format = r->format,
                                 .count = takt_ggml_panels(o->n),
                                 .blocks = r->blocks,
                                 .first = k / weights,
                                 .deep = deep / weights,
                                 .panels = o->b,
                                 .dst = (float *)(void *)o->scratch,
                                 .ld = COLUMNS};
    const takt_pack pack = {.k = deep,
                            .n = o->n,
                            .src = o->scratch,
                            .row = COLUMNS,
                            .col = 1,
                            .dst = o->scratch + f->packed_at,
                            .bytes = sizeof(float),
                            .panels = f->panels};
    f->fill(&fill);
    f->pack(&pack);
    return pack.dst;
}

static void add_sums(const facts *f, const part *o, bool adds)
{
    const float *sums = (const float *)(const void *)(o->scratch + f->sums_at);
    for (size_t r = 0; r < o->m; r++) {
        float *c = o->c + r * f->n;
        for (size_t j = 0; j < o->n; j++)
            c[j] = adds ? c[j] + sums[r * o->n + j] : sums[r * o->n + j];
    }
}

/* At most ROWS by COLUMNS. */
static void run_strip(const facts *f, const part *o)
{
    size_t k = 0;
    do {
        const size_t left = f->k - k, deep = left < CHUNK ? left : CHUNK;
        const takt_gemm_f32 g = {.m = o->m,
                                 .n = o->n,
                                 .k = deep,
                                 .a = o->a + k,
                                 .a_row = f->k,
                                 .a_col = 1,
                                 .b = floats(f, o, k, deep),
                                 .b_n = o->n,
                                 .c = (float *)(void *)(o->scratch + f->sums_at),
                                 .ldc = o->n,
                                 .scratch = (float *)(void *)(o->scratch + f->gemm_at)};
        f->gemm(&g);
        add_sums(f, o, k > 0);
        k += deep;
    } while (k < f->k);
}

/* The epilogue of the product, on complete rows and columns. */
static void finish(const takt_step *s, const takt_task *t, const part *o, size_t row, size_t column)
{
    const facts *f = s->data;
    takt_epilogue_run run = {.epilogue = &f->ending,
                             .step = s,
                             .task = t,
                             .registers = o->scratch + f->registers_at,
                             .row = row,
                             .column = column};
    const takt_conv_block block = {.y = o->c, .ld = f->n, .rows = o->m, .columns = o->n};
    takt_epilogue_finish(&run, &block);
}

/* Rows and columns from (row, column) on, as many as `most` says at a time. */
static part part_at(const takt_step *s, const takt_task *t, size_t row, size_t column)
{
    const facts *f = s->data;
    const size_t panel = f->b.rows.blocks * takt_ggml_panel_block(f->b.rows.format);
    return (part){.a = (const float *)takt_view_data(t, &s->in[0]) + row * f->k,
                  .b = takt_ggml_operand_at(&f->b, s, t) + column / PANEL * panel,
                  .c = (float *)takt_view_data(t, &s->out[0]) + row * f->n + column,
                  .scratch = t->scratch_own};
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t row, row_end, column, column_end;
    takt_cpu_share(f->m, f->cut.grain, takt_quotient(t->index, f->cut.columns), f->cut.rows, &row,
                   &row_end);
    takt_cpu_share(f->n, PANEL, takt_remainder(t->index, f->cut.columns), f->cut.columns, &column,
                   &column_end);
    const bool strips = f->way == FLOATS;
    const size_t rows = strips ? ROWS : row_end - row,
                 few = takt_pace_piece((row_end - row) * f->k / FAST, PANEL),
                 columns = strips               ? COLUMNS
                           : f->way == FEW_ROWS ? few
                                                : column_end - column;
    for (size_t i = row; i < row_end; i += rows)
        for (size_t j = column; j < column_end && !takt_poll_stops(t->poll); j += columns) {
            part o = part_at(s, t, i, j);
            o.m = row_end - i < rows ? row_end - i : rows;
            o.n = column_end - j < columns ? column_end - j : columns;
            if (f->way == BYTES) {
                run_bytes(f, t, &o);
            } else if (f->way == FEW_ROWS) {
                const takt_ggml_few g = {
                    f->b.rows.format, o.m, o.n, f->b.rows.blocks, o.a, f->k, o.b, o.c, f->n};
                f->few(&g);
            } else {
                run_strip(f, &o);
            }
            finish(s, t, &o, i, j);
        }
}

static void before(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    takt_ggml_operand_before(&f->b, s, t);
}

/* ---- planning ---- */

static void choose_floats(takt_planner *p, facts *f)
{
    const size_t rows = f->m < ROWS ? f->m : ROWS;
    const takt_kernel *gemm = takt_planner_kernel(p, "gemm_f32");
    const takt_gemm_f32_info *info = gemm->info;
    takt_gemm_f32 g = {
        .m = rows, .n = COLUMNS, .k = CHUNK, .a_row = f->k, .a_col = 1, .b_n = COLUMNS};
    const size_t whole = info->scratch_bytes(&g);
    g.k = f->k % CHUNK;
    const size_t last = info->scratch_bytes(&g);
    f->fill = takt_kernel_as_ggml_fill(takt_planner_find(p, "ggml_fill"));
    f->gemm = takt_kernel_as_gemm_f32(gemm);
    f->pack = takt_kernel_as_pack(takt_planner_find(p, "pack"));
    f->panels = info->panels;
    f->packed_at = takt_cpu_aligned(sizeof(float) * CHUNK * COLUMNS);
    f->sums_at =
        f->packed_at + takt_cpu_aligned((takt_panels_columns(f->panels, COLUMNS) + f->panels.wide) *
                                        CHUNK * sizeof(float));
    f->gemm_at = f->sums_at + takt_cpu_aligned(rows * COLUMNS * sizeof(float));
    f->registers_at = f->gemm_at + takt_cpu_aligned(whole > last ? whole : last);
}

static void choose(takt_planner *p, facts *f)
{
    if (f->way == BYTES) {
        const takt_kernel *k = takt_planner_kernel(p, "ggml_i8");
        f->bytes = takt_kernel_as_ggml_i8(k);
        f->bytes_info = k->info;
    } else if (f->way == FEW_ROWS) {
        f->few = takt_kernel_as_ggml_few(takt_planner_kernel(p, "ggml_few"));
    } else {
        choose_floats(p, f);
    }
}

/* Rows that every task would round are rounded before, if that justifies a separate phase. */
static void plan_rounding(takt_step *s, facts *f, size_t threads)
{
    enum { LEAST = 32 << 10, EACH = 8 << 10 }; /* elements: some microseconds */
    const size_t bytes = f->bytes_info->bytes(f->b.rows.format, f->m, f->b.rows.blocks);
    f->is_rounded_once = f->cut.columns > 1 && f->m * f->k >= LEAST;
    if (!f->is_rounded_once) {
        f->registers_at = takt_cpu_aligned(bytes);
        return;
    }
    const size_t parts = f->m * f->k / EACH, most = threads < f->m ? threads : f->m;
    f->rounded_at = takt_conv_reserve(s, bytes);
    s->prepare = round_rows;
    s->prepare_count = parts < most ? parts : most;
}

static void plan_tasks(takt_planner *p, facts *f)
{
    enum { DECODE = 8, MANY_THREADS = 8 }; /* DECODE: operations for a weight to become a float */
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    const size_t most = threads * (threads < MANY_THREADS ? 1 : 4), panels = takt_ggml_panels(f->n);
    const double weights = (double)f->n * (double)f->k;
    const double operations = 2.0 * weights * (double)f->m;
    const double bytes =
        (double)f->n * (double)(f->b.rows.blocks * takt_ggml_formats[f->b.rows.format].bytes);
    const size_t tasks =
        takt_cpu_tasks(p, f->way == BYTES ? operations / 4 : operations + DECODE * weights, bytes,
                       panels < most ? (panels > 0 ? panels : 1) : most);
    f->cut = (takt_cut){.rows = 1, .columns = tasks, .grain = f->m > 0 ? f->m : 1};
    p->step->task_count = tasks;
    if (f->way == BYTES)
        plan_rounding(p->step, f, threads);
}

static takt_status compile(takt_planner *p)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    facts *f = takt_planner_get(p, sizeof *f);
    size_t index;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    p->step->data = f;
    f->m = 1;
    for (int d = 0; d + 1 < n->type->rank; d++)
        f->m *= (size_t)n->type->dim[d];
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_ggml_operand_add(p, n->in[1], takt_ggml_of(n), true, &f->b));
    f->n = f->b.rows.n;
    f->k = f->b.rows.blocks * takt_ggml_formats[f->b.rows.format].weights;
    f->way = n->op == &takt_op_ggml_matmul_i8    ? BYTES
             : f->m <= TAKT_GGML_FEW && f->k > 0 ? FEW_ROWS
                                                 : FLOATS;
    choose(p, f);
    plan_tasks(p, f);
    TAKT_TRY(takt_epilogue_compile(p, f->n, &f->ending));
    p->step->scratch_each = f->registers_at + takt_cpu_aligned(takt_epilogue_scratch(&f->ending));
    p->step->run = run;
    p->step->before = f->b.is_packed ? NULL : before;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_ggml_matmul = {.name = "ggml_matmul",
                                            .family = TAKT_FAMILY_GEMM,
                                            .accepts = accepts,
                                            .keeps = keeps,
                                            .absorbs = takt_epilogue_absorbs,
                                            .compile = compile};
