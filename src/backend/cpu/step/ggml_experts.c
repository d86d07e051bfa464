/* ggml_experts.c - products with selected matrices in ggml's block formats.
 *
 * Rows that choose the same matrix are multiplied together, at most STRIP at a time, so a matrix is
 * read once for all of them. Tasks have columns of all matrices.
 */
#include <string.h>

#include "backend/cpu/conv/run.h"
#include "backend/cpu/ggml_pack.h"
#include "backend/cpu/index.h"
#include "backend/cpu/pace.h"
#include "base/size.h"
#include "kernel/ggml_i8/ggml_i8.h"
#include "op/util/ggml.h"

enum { STRIP = 64, COLUMNS = 256, PANEL = TAKT_GGML_PANEL };
enum { FAST = 8 }; /* products in the time of an element (pace.h) */

/* Rows of one matrix. */
typedef struct strip {
    size_t matrix, first, count; /* count of `order`, from `first` on */
    size_t at;                   /* of the rounded rows */
} strip;

/* In shared scratch. */
typedef struct table {
    size_t strips;
} table;

typedef struct facts {
    size_t rows, choices, n, k; /* rows of the index, choices of each */
    bool is_shared;             /* one row of a for all choices */
    bool is_one;                /* and there is no other: it is rounded once */
    size_t index;               /* into step->in */
    takt_ggml_operand b;
    takt_ggml_i8_fn *multiply;
    const takt_ggml_i8_info *info;
    size_t table_at, strips_at, order_at, ends_at, rounded_at; /* in shared scratch */
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_ggml_experts_i8 ? NULL : "";
}

static void *shared(const takt_task *t, size_t at)
{
    return (char *)t->scratch + at;
}

/* ---- rounding ---- */

static void round_strip(const facts *f, const takt_step *s, const takt_task *t, const strip *p)
{
    const size_t *order = shared(t, f->order_at);
    takt_ggml_round r = {.format = f->b.rows.format,
                         .m = p->count,
                         .blocks = f->b.rows.blocks,
                         .to = shared(t, f->rounded_at + p->at)};
    for (size_t i = 0; i < p->count; i++) {
        const size_t pair = order[p->first + i];
        const size_t row = f->is_shared ? pair / f->choices : pair;
        r.a = (const float *)takt_view_data(t, &s->in[0]) + row * f->k;
        r.first = i; /* rows may be anywhere: each is passed by itself, with a stride of 0 */
        r.end = i + 1;
        f->info->round(&r);
    }
}

static void round_all(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const table *all = shared(t, f->table_at);
    const strip *strips = shared(t, f->strips_at);
    size_t first, end;
    takt_cpu_share(all->strips, 1, t->index, s->prepare_count, &first, &end);
    for (size_t i = first; i < end && !takt_poll_stops(t->poll); i++)
        round_strip(f, s, t, &strips[i]);
}

/* ---- rows by matrix ---- */

/* ends[m]: where the pairs of matrix m end in `order`, which has them by matrix. */
static void sort_pairs(const facts *f, const takt_step *s, const takt_task *t)
{
    size_t *order = shared(t, f->order_at), *ends = shared(t, f->ends_at);
    const size_t pairs = f->rows * f->choices, matrices = f->b.matrices;
    takt_index_reader index = takt_index_open(t, &s->in[f->index]);
    memset(ends, 0, (matrices + 1) * sizeof *ends);
    for (size_t i = 0; i < pairs && matrices > 0; i++)
        ends[takt_index_next(&index, i, (int64_t)matrices) + 1]++;
    for (size_t m = 0; m < matrices; m++)
        ends[m + 1] += ends[m];
    for (size_t i = 0; i < pairs && matrices > 0; i++)
        order[ends[takt_index_next(&index, i, (int64_t)matrices)]++] = i;
    if (pairs > 0 && matrices == 0)
        (void)takt_index_next(&index, 0, 0);
    takt_index_close(&index, t);
}

static void make_strips(const facts *f, const takt_task *t)
{
    table *all = shared(t, f->table_at);
    strip *strips = shared(t, f->strips_at);
    const size_t *ends = shared(t, f->ends_at);
    size_t at = 0, count = 0, first = 0;
    for (size_t m = 0; m < f->b.matrices; m++)
        for (; first < ends[m]; first += strips[count++].count) {
            const size_t left = ends[m] - first, rows = left < STRIP ? left : STRIP;
            strips[count] =
                (strip){.matrix = m, .first = first, .count = f->is_one ? 1 : rows, .at = at};
            if (!f->is_one)
                at += takt_cpu_aligned(f->info->bytes(f->b.rows.format, rows, f->b.rows.blocks));
        }
    all->strips = count;
}

static void before(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const table *all = shared(t, f->table_at);
    const strip *strips = shared(t, f->strips_at);
    takt_ggml_operand_before(&f->b, s, t);
    sort_pairs(f, s, t);
    make_strips(f, t);
    if (s->prepare != NULL)
        return;
    for (size_t i = 0; i < (f->is_one && all->strips > 1 ? 1 : all->strips); i++)
        round_strip(f, s, t, &strips[i]);
}

/* ---- products ---- */

/* Columns [column, column + n) of a strip, at most COLUMNS unless it has one row. */
static void run_part(const takt_step *s, const takt_task *t, const strip *p, size_t column,
                     size_t n)
{
    const facts *f = s->data;
    const size_t *order = (const size_t *)shared(t, f->order_at) + p->first;
    float *y = takt_view_data(t, &s->out[0]);
    const size_t panel = f->b.rows.blocks * takt_ggml_panel_block(f->b.rows.format);
    const takt_ggml_i8 g = {.format = f->b.rows.format,
                            .m = p->count,
                            .n = n,
                            .blocks = f->b.rows.blocks,
                            .panels = takt_ggml_operand_at(&f->b, s, t) + p->matrix * f->b.each +
                                      column / PANEL * panel,
                            .rounded = shared(t, f->rounded_at + p->at),
                            .c = p->count == 1 ? y + order[0] * f->n + column : t->scratch_own,
                            .ldc = n};
    f->multiply(&g);
    for (size_t i = 0; i < p->count && p->count > 1; i++)
        memcpy(y + order[i] * f->n + column, g.c + i * n, n * sizeof *y);
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const table *all = shared(t, f->table_at);
    const strip *strips = shared(t, f->strips_at);
    size_t first, end;
    takt_cpu_share(f->n, PANEL, t->index, s->task_count, &first, &end);
    for (size_t i = 0; i < all->strips; i++) {
        const size_t paced = takt_pace_piece(strips[i].count * f->k / FAST, PANEL);
        const size_t most = strips[i].count > 1 && paced > COLUMNS ? COLUMNS : paced;
        for (size_t at = first; at < end && !takt_poll_stops(t->poll); at += most)
            run_part(s, t, &strips[i], at, end - at < most ? end - at : most);
    }
}

/* ---- planning ---- */

/* Bytes of rounded rows that no distribution of the pairs exceeds. */
static bool most_rounded(const facts *f, size_t pairs, size_t *bytes)
{
    size_t each = 0;
    for (size_t m = 1; m <= STRIP && m <= pairs; m++) {
        const size_t all = takt_cpu_aligned(f->info->bytes(f->b.rows.format, m, f->b.rows.blocks));
        const size_t share = (all + m - 1) / m;
        each = share > each ? share : each;
    }
    return takt_size_mul(each, f->is_one ? 1 : pairs, bytes);
}

static takt_status plan_memory(takt_planner *p, facts *f)
{
    const size_t pairs = f->rows * f->choices, some = f->b.matrices + pairs / STRIP;
    const size_t strips = f->is_one || pairs < some ? pairs : some;
    takt_step *s = p->step;
    size_t rounded;
    if (!most_rounded(f, pairs, &rounded))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "%zu products with rows of %zu are too large",
                         pairs, f->k);
    f->table_at = takt_conv_reserve(s, sizeof(table));
    f->strips_at = takt_conv_reserve(s, strips * sizeof(strip));
    f->order_at = takt_conv_reserve(s, pairs * sizeof(size_t));
    f->ends_at = takt_conv_reserve(s, (f->b.matrices + 1) * sizeof(size_t));
    f->rounded_at = takt_conv_reserve(s, rounded);
    const size_t deep = pairs < STRIP ? pairs : STRIP, wide = f->n < COLUMNS ? f->n : COLUMNS;
    s->scratch_each = f->is_one ? 0 : takt_cpu_aligned(sizeof(float) * deep * wide);
    return TAKT_OK;
}

static void plan_tasks(takt_planner *p, const facts *f)
{
    enum { LEAST = 32 << 10, EACH = 8 << 10, MANY_THREADS = 8 };
    const size_t pairs = f->rows * f->choices, panels = takt_ggml_panels(f->n);
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    const size_t most = threads * (threads < MANY_THREADS ? 1 : 4);
    const size_t chosen = pairs < f->b.matrices ? pairs : f->b.matrices;
    const double operations = 2.0 * (double)f->n * (double)f->k * (double)pairs;
    p->step->task_count = takt_cpu_tasks(p, operations / 4, (double)f->b.each * (double)chosen,
                                         panels < most ? (panels > 0 ? panels : 1) : most);
    if (f->is_one || pairs * f->k < LEAST)
        return; /* rounded at the beginning, by one thread */
    const size_t parts = pairs * f->k / EACH;
    p->step->prepare = round_all;
    p->step->prepare_count = parts < threads ? parts : threads;
}

static takt_status compile(takt_planner *p)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    const takt_type *a = takt_type_of(p->graph, n->in[0]), *out = n->type;
    facts *f = takt_planner_get(p, sizeof *f);
    size_t index;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    p->step->data = f;
    f->rows = 1;
    for (int d = 0; d + 2 < out->rank; d++)
        f->rows *= (size_t)out->dim[d];
    f->choices = (size_t)out->dim[out->rank - 2];
    f->is_shared = a->dim[a->rank - 2] == 1;
    f->is_one = f->is_shared && f->rows == 1;
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_ggml_operand_add(p, n->in[1], takt_ggml_of(n), true, &f->b));
    TAKT_TRY(takt_planner_input(p, n->in[2], &f->index));
    TAKT_TRY(takt_planner_output(p, p->group->nodes[0], &index));
    f->n = f->b.rows.n;
    f->k = f->b.rows.blocks * takt_ggml_formats[f->b.rows.format].weights;
    const takt_kernel *kernel = takt_planner_kernel(p, "ggml_i8");
    f->multiply = takt_kernel_as_ggml_i8(kernel);
    f->info = kernel->info;
    TAKT_TRY(plan_memory(p, f));
    plan_tasks(p, f);
    p->step->run = run;
    p->step->before = before;
    p->step->can_fault = true;
    p->step->fault_id = TAKT_E_INDEX;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_ggml_experts = {
    .name = "ggml_experts", .family = TAKT_FAMILY_GEMM, .accepts = accepts, .compile = compile};
