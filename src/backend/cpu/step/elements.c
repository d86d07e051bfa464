/* elements.c - gather_elements and scatter_elements: every index names one element. */
#include "backend/cpu/combine.h"
#include "backend/cpu/element.h"
#include "backend/cpu/index.h"
#include "backend/cpu/pace.h"

typedef struct facts {
    int rank, axis;
    int64_t size;                  /* of the axis of x */
    int64_t dim[TAKT_MAX_RANK];    /* of index */
    int64_t stride[TAKT_MAX_RANK]; /* of x */
    size_t count;                  /* of indices */
    int bits;
    takt_combine combine; /* scatter */
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_op *op = g->nodes[node].op;
    return op == &takt_op_gather_elements || op == &takt_op_scatter_elements ? NULL : "";
}

/* Visits the positions of index; `at` is the position in x without the indexed axis. */
typedef struct walker {
    int64_t index[TAKT_MAX_RANK];
    int64_t at;
} walker;

static walker walk_from(const facts *f, size_t first)
{
    walker w = {.at = 0};
    for (int d = f->rank - 1; d >= 0 && first > 0; d--) {
        w.index[d] = (int64_t)(first % (size_t)f->dim[d]);
        first /= (size_t)f->dim[d];
        w.at += d == f->axis ? 0 : w.index[d] * f->stride[d];
    }
    return w;
}

/* `n` positions further, at most to the end of a row of index. */
static void walk_on(const facts *f, walker *w, int64_t n)
{
    for (int d = f->rank - 1; d >= 0; d--, n = 1) {
        const int64_t stride = d == f->axis ? 0 : f->stride[d];
        w->at += n * stride;
        w->index[d] += n;
        if (w->index[d] < f->dim[d])
            return;
        w->at -= stride * f->dim[d];
        w->index[d] = 0;
    }
}

/* Elements of x, `along` apart for each index and `next` for each place, to y. */
#define TAKE(type)                                                                                 \
    for (size_t k = 0; k < n; k++)                                                                 \
    ((type *)y)[k] = ((const type *)x)[at[k] * along + (int64_t)k * next]

static void take(const facts *f, const void *x, const int64_t *at, size_t n, void *y)
{
    const int64_t along = f->stride[f->axis];
    const int64_t next = f->axis == f->rank - 1 ? 0 : f->stride[f->rank - 1];
    switch (f->bits) {
    case 8: TAKE(uint8_t); return;
    case 16: TAKE(uint16_t); return;
    case 32: TAKE(uint32_t); return;
    default: TAKE(uint64_t);
    }
}

/* Elements of whole bytes: a part of a row of indices at a time. */
static void run_rows(const takt_step *s, const takt_task *t)
{
    enum { AT_ONCE = 256 };
    const facts *f = s->data;
    const char *x = takt_view_data(t, &s->in[0]);
    char *y = takt_view_data(t, &s->out[0]);
    const int64_t bytes = f->bits / 8;
    takt_index_reader index = takt_index_open(t, &s->in[1]);
    takt_pace pace = takt_pace_of(t);
    size_t first, end, n;
    takt_cpu_share(f->count, 64, t->index, s->task_count, &first, &end);
    walker w = walk_from(f, first);
    for (size_t i = first; i < end; i += n, walk_on(f, &w, (int64_t)n)) {
        int64_t at[AT_ONCE];
        const size_t left = (size_t)(f->dim[f->rank - 1] - w.index[f->rank - 1]);
        n = end - i < left ? end - i : left;
        n = n < AT_ONCE ? n : AT_ONCE;
        takt_index_list(&index, i, n, f->size, at);
        if (f->size > 0)
            take(f, x + w.at * bytes, at, n, y + (int64_t)i * bytes);
        if (takt_pace_stops(&pace, 2 * n))
            break;
    }
    takt_index_close(&index, t);
}

static void run_gather(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const void *x = takt_view_data(t, &s->in[0]);
    void *y = takt_view_data(t, &s->out[0]);
    takt_index_reader index = takt_index_open(t, &s->in[1]);
    size_t first, end;
    takt_cpu_share(f->count, 64, t->index, s->task_count, &first, &end);
    walker w = walk_from(f, first);
    takt_pace pace = takt_pace_of(t);
    for (size_t i = first; i < end && !takt_pace_stops(&pace, 4); i++, walk_on(f, &w, 1)) {
        const int64_t at = takt_index_next(&index, i, f->size);
        if (at >= 0)
            takt_copy_elements(f->bits, y, i, x, (size_t)(w.at + at * f->stride[f->axis]), 1);
    }
    takt_clear_tail(f->bits, y, f->count);
    takt_index_close(&index, t);
}

static void run_scatter(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const void *u = takt_view_data(t, &s->in[2]);
    takt_index_reader index = takt_index_open(t, &s->in[1]);
    void *to = takt_combine_begin(&f->combine, s, t);
    walker w = walk_from(f, 0);
    takt_pace pace = takt_pace_of(t);
    for (size_t i = 0; i < f->count && !takt_pace_stops(&pace, 4); i++, walk_on(f, &w, 1)) {
        const int64_t at = takt_index_next(&index, i, f->size);
        if (at >= 0)
            takt_combine_put(&f->combine, to, (size_t)(w.at + at * f->stride[f->axis]), u, i, 1);
    }
    takt_combine_end(&f->combine, s, t);
    takt_index_close(&index, t);
}

static void set_geometry(facts *f, const takt_node *n, const takt_step *s)
{
    const takt_view *x = &s->in[0], *index = &s->in[1];
    const int64_t axis = takt_node_int(n, "axis");
    f->rank = x->rank;
    f->axis = (int)(axis < 0 ? axis + x->rank : axis);
    f->size = x->dim[f->axis];
    f->bits = takt_dtype_bits(x->dtype);
    f->count = 1;
    for (int d = 0; d < x->rank; d++) {
        f->dim[d] = index->dim[d];
        f->stride[d] = x->stride[d];
        f->count *= (size_t)index->dim[d];
    }
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    size_t index;
    TAKT_TRY(takt_indexed_begin(p, n, f));
    set_geometry(f, n, p->step);
    if (n->op == &takt_op_scatter_elements) {
        p->step->run = run_scatter;
        return takt_combine_compile(p, (takt_scatter)takt_node_int(n, "reduce"), &f->combine);
    }
    TAKT_TRY(takt_planner_output(p, id, &index));
    p->step->run = f->bits >= 8 && f->bits <= 64 && f->rank > 0 ? run_rows : run_gather;
    p->step->task_count =
        takt_cpu_tasks(p, 0, 16.0 * (double)f->count, f->bits < 8 ? 1 : (f->count + 63) / 64);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_elements = {
    .is_steady = true, .name = "gather", .accepts = accepts, .compile = compile};
