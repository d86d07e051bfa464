/* ggml.c - floats of weights in ggml's block formats, and products with those that have no panels:
 * they stay the bytes that they are in a file (others: ggml_matmul.c).
 *
 * A product makes floats of some columns at a time, one chunk of k after the other, near enough to
 * be read from L1 or L2: few rows read them as they lie (direct_f32), more have them packed first
 * (gemm_f32). Sums of chunks are added in order, so the bits are those of the product with floats.
 */
#include "op/util/ggml.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/cut.h"
#include "backend/cpu/epilogue.h"
#include "backend/cpu/pace.h"
#include "kernel/direct_f32/direct_f32.h"
#include "kernel/gemm_f32/gemm_f32.h"
#include "kernel/ggml_panels/ggml_panels.h"
#include "kernel/pack/pack.h"

enum { CHUNK = TAKT_GEMM_CHUNK, FEW = 8, FEW_COLUMNS = 32, COLUMNS = 192, ROWS = 256 };

typedef struct facts {
    takt_ggml_f32_fn *decode;
    takt_direct_f32_fn *direct;
    takt_gemm_f32_fn *gemm;
    takt_pack_fn *pack;
    takt_panels panels;
    takt_ggml_format format;
    size_t m, n, k, row_bytes;
    size_t blocks;                      /* dequantise: of all rows */
    size_t columns;                     /* of a strip */
    size_t packed_at, sums_at, gemm_at; /* in scratch, behind floats [columns][CHUNK] */
    takt_cut cut;
    takt_cpu_epilogue ending;
    size_t registers_at; /* of the epilogue's program, in scratch */
} facts;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    (void)g;
    return n->op == &takt_op_ggml_matmul && !takt_ggml_has_panels(takt_ggml_of(n));
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    return keeps(g, n) || n->op == &takt_op_ggml_dequantize ? NULL : "";
}

static const char *absorbs(const takt_graph *g, takt_id anchor, takt_id node)
{
    return g->nodes[anchor].op == &takt_op_ggml_matmul ? takt_epilogue_absorbs(g, anchor, node)
                                                       : "rows of tables are finished elsewhere";
}

/* ---- floats ---- */

static void run_dequantize(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_ggml_info *info = &takt_ggml_formats[f->format];
    size_t first, end;
    takt_cpu_share(f->blocks, 1, t->index, s->task_count, &first, &end);
    const size_t most = takt_pace_piece(info->weights, 1);
    for (size_t n; first < end && !takt_poll_stops(t->poll); first += n) {
        n = end - first < most ? end - first : most;
        const takt_ggml_f32 g = {
            .format = f->format,
            .blocks = n,
            .src = (const uint8_t *)takt_view_data(t, &s->in[0]) + first * info->bytes,
            .dst = (float *)takt_view_data(t, &s->out[0]) + first * info->weights};
        f->decode(&g);
    }
}

/* ---- products ---- */

/* A part of the result: rows by columns of a strip. */
typedef struct part {
    const float *a;
    const uint8_t *b;
    float *c;
    size_t m, n;
    char *scratch;
    const takt_poll *poll;
} part;

/* Weights [k, k + deep) of the strip's columns, CHUNK apart. */
static float *decode(const facts *f, const part *o, size_t k, size_t deep)
{
    const takt_ggml_info *info = &takt_ggml_formats[f->format];
    float *floats = (float *)(void *)o->scratch;
    for (size_t j = 0; j < o->n; j++) {
        const takt_ggml_f32 g = {.format = f->format,
                                 .blocks = deep / info->weights,
                                 .src = o->b + j * f->row_bytes + k / info->weights * info->bytes,
                                 .dst = floats + j * CHUNK};
        f->decode(&g);
    }
    return floats;
}

static void multiply(const facts *f, const part *o, size_t k, size_t deep, float *sums)
{
    float *floats = decode(f, o, k, deep);
    if (f->direct != NULL) {
        const takt_direct_f32 g = {.m = o->m,
                                   .n = o->n,
                                   .k = deep,
                                   .a = o->a + k,
                                   .a_row = f->k,
                                   .b = floats,
                                   .b_row = 1,
                                   .b_col = CHUNK,
                                   .c = sums,
                                   .ldc = o->n};
        f->direct(&g);
        return;
    }
    const takt_pack pack = {.k = deep,
                            .n = o->n,
                            .src = floats,
                            .row = 1,
                            .col = CHUNK,
                            .dst = o->scratch + f->packed_at,
                            .bytes = sizeof *floats,
                            .panels = f->panels};
    const takt_gemm_f32 g = {.m = o->m,
                             .n = o->n,
                             .k = deep,
                             .a = o->a + k,
                             .a_row = f->k,
                             .a_col = 1,
                             .b = pack.dst,
                             .b_n = o->n,
                             .c = sums,
                             .ldc = o->n,
                             .scratch = (float *)(void *)(o->scratch + f->gemm_at)};
    f->pack(&pack);
    f->gemm(&g);
}

static void strip(const facts *f, const part *o)
{
    float *sums = (float *)(void *)(o->scratch + f->sums_at);
    size_t k = 0;
    do {
        const size_t left = f->k - k, deep = left < CHUNK ? left : CHUNK;
        multiply(f, o, k, deep, sums);
        for (size_t r = 0; r < o->m; r++) {
            float *c = o->c + r * f->n;
            const float *sum = sums + r * o->n;
            for (size_t j = 0; k == 0 && j < o->n; j++)
                c[j] = sum[j];
            for (size_t j = 0; k > 0 && j < o->n; j++)
                c[j] += sum[j];
        }
        k += deep;
    } while (k < f->k && !takt_poll_stops(o->poll));
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

static void run_matmul(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t row, row_end, column, column_end;
    takt_cpu_share(f->m, f->cut.grain, takt_quotient(t->index, f->cut.columns), f->cut.rows, &row,
                   &row_end);
    takt_cpu_share(f->n, FEW_COLUMNS, takt_remainder(t->index, f->cut.columns), f->cut.columns,
                   &column, &column_end);
    const float *a = takt_view_data(t, &s->in[0]);
    const uint8_t *b = takt_view_data(t, &s->in[1]);
    float *c = takt_view_data(t, &s->out[0]);
    for (size_t i = row; i < row_end; i += ROWS)
        for (size_t j = column; j < column_end && !takt_poll_stops(t->poll); j += f->columns) {
            const size_t rows = row_end - i, columns = column_end - j;
            const part o = {.a = a + i * f->k,
                            .b = b + j * f->row_bytes,
                            .c = c + i * f->n + j,
                            .m = rows < ROWS ? rows : ROWS,
                            .n = columns < f->columns ? columns : f->columns,
                            .scratch = t->scratch_own,
                            .poll = t->poll};
            strip(f, &o);
            finish(s, t, &o, i, j);
        }
}

/* ---- compiling ---- */

static void set_products(takt_planner *p, facts *f)
{
    const size_t rows = f->m < ROWS ? f->m : ROWS;
    f->columns = f->m <= FEW ? FEW_COLUMNS : COLUMNS;
    const size_t floats = f->columns * CHUNK * sizeof(float);
    f->packed_at = takt_cpu_aligned(floats);
    f->sums_at = f->packed_at;
    if (f->m <= FEW) {
        f->direct = takt_kernel_as_direct_f32(takt_planner_kernel(p, "direct_f32"));
        f->gemm_at = f->sums_at + takt_cpu_aligned(rows * f->columns * sizeof(float));
        p->step->scratch_each = f->gemm_at;
        return;
    }
    const takt_kernel *gemm = takt_planner_kernel(p, "gemm_f32");
    const takt_gemm_f32_info *info = gemm->info;
    takt_gemm_f32 g = {
        .m = rows, .n = f->columns, .k = CHUNK, .a_row = f->k, .a_col = 1, .b_n = f->columns};
    const size_t whole = info->scratch_bytes(&g);
    g.k = f->k % CHUNK;
    const size_t last = info->scratch_bytes(&g);
    f->gemm = takt_kernel_as_gemm_f32(gemm);
    f->pack = takt_kernel_as_pack(takt_planner_find(p, "pack"));
    f->panels = info->panels;
    f->sums_at += takt_cpu_aligned((takt_panels_columns(f->panels, f->columns) + f->panels.wide) *
                                   CHUNK * sizeof(float));
    f->gemm_at = f->sums_at + takt_cpu_aligned(rows * f->columns * sizeof(float));
    p->step->scratch_each = f->gemm_at + takt_cpu_aligned(whole > last ? whole : last);
}

static void compile_matmul(takt_planner *p, const takt_node *n, facts *f)
{
    enum { DECODE = 8 }; /* operations for a weight to become a float */
    const takt_type *b = takt_type_of(p->graph, n->in[1]);
    f->m = 1;
    for (int d = 0; d + 1 < n->type->rank; d++)
        f->m *= (size_t)n->type->dim[d];
    f->n = (size_t)b->dim[0];
    f->row_bytes = (size_t)b->dim[1];
    f->k = f->row_bytes / takt_ggml_formats[f->format].bytes * takt_ggml_formats[f->format].weights;
    set_products(p, f);
    const double weights = (double)f->n * (double)f->k;
    const size_t strips = f->n > 0 ? (f->n + FEW_COLUMNS - 1) / FEW_COLUMNS : 1;
    const size_t tasks = takt_cpu_tasks(p, weights * (2.0 * (double)f->m + DECODE),
                                        (double)f->n * (double)f->row_bytes, strips);
    f->cut = (takt_cut){.rows = 1, .columns = tasks, .grain = f->m > 0 ? f->m : 1};
    p->step->task_count = tasks;
    p->step->run = run_matmul;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    size_t index, count;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    p->step->data = f;
    f->format = takt_ggml_of(n);
    TAKT_TRY(takt_planner_inputs(p, n));
    if (n->op == &takt_op_ggml_matmul) {
        f->decode = takt_kernel_as_ggml_f32(takt_planner_find(p, "ggml_f32"));
        compile_matmul(p, n, f);
        TAKT_TRY(takt_epilogue_compile(p, f->n, &f->ending));
        f->registers_at = p->step->scratch_each;
        p->step->scratch_each += takt_cpu_aligned(takt_epilogue_scratch(&f->ending));
        return TAKT_OK;
    }
    TAKT_TRY(takt_planner_output(p, id, &index));
    f->decode = takt_kernel_as_ggml_f32(takt_planner_kernel(p, "ggml_f32"));
    (void)takt_type_count(n->type, &count);
    f->blocks = count / takt_ggml_formats[f->format].weights;
    p->step->run = run_dequantize;
    p->step->task_count =
        takt_cpu_tasks(p, 4.0 * (double)count, 5.0 * (double)count, f->blocks > 0 ? f->blocks : 1);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_ggml = {.name = "ggml",
                                     .family = TAKT_FAMILY_GEMM,
                                     .accepts = accepts,
                                     .keeps = keeps,
                                     .absorbs = absorbs,
                                     .compile = compile};
