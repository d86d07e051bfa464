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

static void walk_on(const facts *f, walker *w)
{
    for (int d = f->rank - 1; d >= 0; d--) {
        const int64_t stride = d == f->axis ? 0 : f->stride[d];
        w->at += stride;
        if (++w->index[d] < f->dim[d])
            return;
        w->at -= stride * f->dim[d];
        w->index[d] = 0;
    }
}

/* Elements of 32 bits along the last axis: a part of a row of indices at a time. */
static void run_words(const takt_step *s, const takt_task *t)
{
    enum { AT_ONCE = 256 };
    const facts *f = s->data;
    const uint32_t *x = takt_view_data(t, &s->in[0]);
    uint32_t *y = takt_view_data(t, &s->out[0]);
    takt_index_reader index = takt_index_open(t, &s->in[1]);
    takt_pace pace = takt_pace_of(t);
    const size_t across = (size_t)f->dim[f->axis];
    size_t first, end, n;
    takt_cpu_share(f->count, 64, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end; i += n) {
        int64_t at[AT_ONCE];
        const size_t left = across - i % across;
        n = end - i < left ? end - i : left;
        n = n < AT_ONCE ? n : AT_ONCE;
        takt_index_list(&index, i, n, f->size, at);
        const uint32_t *row = x + walk_from(f, i).at;
        for (size_t k = 0; k < n && f->size > 0; k++)
            y[i + k] = row[at[k]];
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
    for (size_t i = first; i < end && !takt_pace_stops(&pace, 4); i++, walk_on(f, &w)) {
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
    for (size_t i = 0; i < f->count && !takt_pace_stops(&pace, 4); i++, walk_on(f, &w)) {
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
    p->step->run = f->bits == 32 && f->axis == f->rank - 1 ? run_words : run_gather;
    p->step->task_count =
        takt_cpu_tasks(p, 0, 16.0 * (double)f->count, f->bits < 8 ? 1 : (f->count + 63) / 64);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_elements = {
    .is_steady = true, .name = "gather", .accepts = accepts, .compile = compile};
