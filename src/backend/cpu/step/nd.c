/* nd.c - gather_nd and scatter_nd: every row of index names a block. */
#include "backend/cpu/combine.h"
#include "backend/cpu/element.h"
#include "backend/cpu/index.h"
#include "backend/cpu/pace.h"

typedef struct facts {
    size_t rows;                 /* of index */
    size_t rows_each;            /* that share the leading axes */
    int coordinates;             /* in a row */
    int64_t size[TAKT_MAX_RANK]; /* of the axes of x that they index */
    size_t block;                /* elements */
    int bits;
    takt_combine combine; /* scatter */
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_op *op = g->nodes[node].op;
    return op == &takt_op_gather_nd || op == &takt_op_scatter_nd ? NULL : "";
}

/* The first element of x that row `row` names, or -1. */
static int64_t find(const facts *f, takt_index_reader *index, size_t row)
{
    int64_t at = (int64_t)(row / f->rows_each);
    for (int i = 0; i < f->coordinates; i++) {
        const int64_t next =
            takt_index_next(index, row * (size_t)f->coordinates + (size_t)i, f->size[i]);
        if (next < 0)
            return -1;
        at = at * f->size[i] + next;
    }
    return at * (int64_t)f->block;
}

static void run_gather(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const void *x = takt_view_data(t, &s->in[0]);
    void *y = takt_view_data(t, &s->out[0]);
    takt_index_reader index = takt_index_open(t, &s->in[1]);
    size_t first, end;
    takt_cpu_share(f->rows, 1, t->index, s->task_count, &first, &end);
    takt_pace pace = takt_pace_bits(t, f->bits);
    for (size_t r = first; r < end && !takt_pace_stops(&pace, 4); r++) {
        const int64_t at = find(f, &index, r);
        if (at >= 0 && !takt_pace_elements(&pace, y, r * f->block, x, (size_t)at, f->block))
            break;
    }
    takt_clear_tail(f->bits, y, f->rows * f->block);
    takt_index_close(&index, t);
}

static void run_scatter(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const void *u = takt_view_data(t, &s->in[2]);
    takt_index_reader index = takt_index_open(t, &s->in[1]);
    void *to = takt_combine_begin(&f->combine, s, t);
    takt_pace pace = takt_pace_bits(t, f->bits);
    bool goes_on = true;
    for (size_t r = 0; r < f->rows && goes_on; r++) {
        const int64_t at = find(f, &index, r);
        if (at >= 0)
            goes_on = takt_combine_row(&f->combine, to, (size_t)at, u, r * f->block, &pace);
    }
    takt_combine_end(&f->combine, s, t);
    takt_index_close(&index, t);
}

static void set_geometry(facts *f, const takt_node *n, const takt_step *s)
{
    const takt_view *x = &s->in[0], *index = &s->in[1];
    const int batch = (int)takt_node_int(n, "batch");
    f->coordinates = (int)index->dim[index->rank - 1];
    f->rows = f->rows_each = f->block = 1;
    for (int d = 0; d + 1 < index->rank; d++) {
        f->rows *= (size_t)index->dim[d];
        f->rows_each *= d >= batch ? (size_t)index->dim[d] : 1;
    }
    for (int d = batch; d < x->rank; d++)
        if (d < batch + f->coordinates)
            f->size[d - batch] = x->dim[d];
        else
            f->block *= (size_t)x->dim[d];
    f->bits = takt_dtype_bits(x->dtype);
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    size_t index;
    TAKT_TRY(takt_indexed_begin(p, n, f));
    set_geometry(f, n, p->step);
    if (n->op == &takt_op_scatter_nd) {
        p->step->run = run_scatter;
        TAKT_TRY(takt_combine_compile(p, (takt_scatter)takt_node_int(n, "reduce"), &f->combine));
        f->combine.row = f->block;
        return TAKT_OK;
    }
    TAKT_TRY(takt_planner_output(p, id, &index));
    p->step->run = run_gather;
    p->step->task_count =
        takt_cpu_tasks(p, 0, (double)(f->rows * f->block) * f->bits / 4, f->bits < 8 ? 1 : f->rows);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_nd = {.name = "gather", .accepts = accepts, .compile = compile};
