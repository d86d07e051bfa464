/* integer_matmul.c - products of 8-bit matrices on integer kernels. */
#include "backend/cpu/cut.h"
#include "backend/cpu/integer.h"
#include "op/util/make.h"

typedef struct facts {
    takt_integer integer;
    size_t m;
    takt_cut cut;
    size_t zeros_at; /* offset in a worker's scratch; the kernel's comes first */
} facts;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    (void)g;
    return n->op == &takt_op_integer_matmul;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

static void before(const takt_step *s, const takt_task *t)
{
    takt_integer_pack(&((const facts *)s->data)->integer, s, t);
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_integer *i = &f->integer;
    size_t row, row_end, column, column_end;
    takt_cpu_share(f->m, f->cut.grain, takt_quotient(t->index, f->cut.columns), f->cut.rows, &row,
                   &row_end);
    takt_cpu_share(i->n, 16, takt_remainder(t->index, f->cut.columns), f->cut.columns, &column,
                   &column_end);
    if (row == row_end || column == column_end)
        return;
    const takt_integer_block b = {
        .step = s,
        .task = t,
        .a = (const char *)takt_view_data(t, &s->in[i->in[TAKT_INTEGER_A]]) + row * i->k,
        .a_row = i->k,
        .rows = row_end - row,
        .column = column,
        .columns = column_end - column,
        .c = (char *)takt_view_data(t, &s->out[0]) + (row * i->n + column) * i->result_bytes,
        .ldc = i->n,
        .scratch = t->scratch_own,
        .zeros = (int32_t *)(void *)((char *)t->scratch_own + f->zeros_at)};
    takt_integer_product(i, &b);
}

/* The most that any share of the rows needs. */
static size_t kernel_bytes(const facts *f)
{
    size_t most = 0, first, end;
    for (size_t i = 0; i < f->cut.rows; i++) {
        takt_cpu_share(f->m, f->cut.grain, i, f->cut.rows, &first, &end);
        const takt_gemm_i8 g = {.m = end - first, .n = f->integer.n, .k = f->integer.k};
        const size_t bytes = f->integer.info->scratch_bytes(&g);
        most = bytes > most ? bytes : most;
    }
    return takt_cpu_aligned(most);
}

static void set_tasks(takt_planner *p, void *facts_of)
{
    facts *f = facts_of;
    f->zeros_at = kernel_bytes(f);
    p->step->scratch_each = f->zeros_at + takt_integer_zeros_bytes(&f->integer, f->integer.n);
    p->step->task_count = f->cut.rows * f->cut.columns;
}

static takt_status compile(takt_planner *p)
{
    takt_step *s = p->step;
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    const takt_type *b = takt_type_of(p->graph, n->in[TAKT_INTEGER_B]);
    takt_integer *i = &f->integer;
    *i = (takt_integer){.n = (size_t)b->dim[1],
                        .k = (size_t)b->dim[0],
                        .groups = 1,
                        .row = (size_t)b->dim[1],
                        .col = 1};
    f->m = 1;
    for (int d = 0; d + 1 < n->type->rank; d++)
        f->m *= (size_t)n->type->dim[d];
    TAKT_TRY(takt_integer_compile(p, i, true));
    const double operations = 2.0 * (double)f->m * (double)i->n * (double)i->k;
    const takt_cut_work work = {f->m, (i->n + 15) / 16, i->info->rows, 2};
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    f->cut = takt_cpu_cut(&work,
                          takt_cpu_tasks(p, operations / 4, (double)i->n * (double)i->k, threads));
    takt_cpu_fit(p, &f->cut, f->m, set_tasks, f);
    s->data = f;
    s->run = run;
    s->before = i->is_packed ? NULL : before;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_integer_matmul = {.name = "integer_matmul",
                                               .family = TAKT_FAMILY_GEMM,
                                               .accepts = accepts,
                                               .absorbs = takt_integer_absorbs,
                                               .keeps = keeps,
                                               .compile = compile};
