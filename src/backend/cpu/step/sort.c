/* sort.c - sort and top_k: each line along the axis is sorted, or its first few kept, in scratch.
 */
#include "backend/cpu/axis.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/order.h"
#include "backend/cpu/pace.h"
#include "base/size.h"

typedef struct facts {
    takt_axis_split x;
    size_t keep; /* of a line: all of it, or k */
    bool is_top, descending, is_sorted;
    takt_dtype dtype;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_op *op = g->nodes[node].op;
    return op == &takt_op_sort || op == &takt_op_top_k ? NULL : "";
}

/* False: the task must end. */
static bool order(const facts *f, const takt_order_line *line, takt_keyed *items,
                  const takt_poll *poll)
{
    if (!f->is_top)
        return takt_order_keys(line, items, poll) &&
               takt_order_sort(items, items + line->n, line->n, poll);
    return takt_order_select(line, items, f->keep, poll) &&
           (f->is_sorted || takt_order_by_place(items, f->keep, poll));
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const int bits = takt_dtype_bits(f->dtype);
    const char *x = takt_view_data(t, &s->in[0]);
    void *values = takt_view_data(t, &s->out[0]);
    int64_t *places = takt_view_data(t, &s->out[1]);
    takt_keyed *items = t->scratch_own;
    size_t first, end;
    takt_cpu_share(f->x.outer * f->x.inner, 1, t->index, s->task_count, &first, &end);
    takt_pace pace = takt_pace_of(t);
    for (size_t line = first; line < end && !takt_pace_stops(&pace, 4 * f->x.size); line++) {
        const size_t o = line / f->x.inner, i = line % f->x.inner;
        const size_t from = o * f->x.size * f->x.inner + i, to = o * f->keep * f->x.inner + i;
        const takt_order_line keys = {.dtype = f->dtype,
                                      .data = x + from * (size_t)bits / 8,
                                      .stride = f->x.inner,
                                      .n = f->x.size,
                                      .descending = f->descending};
        if (!order(f, &keys, items, t->poll))
            return;
        for (size_t k = 0; k < f->keep && !takt_pace_stops(&pace, 4); k++) {
            const size_t at = to + k * f->x.inner;
            takt_copy_elements(bits, values, at, x, from + items[k].place * f->x.inner, 1);
            places[at] = (int64_t)items[k].place;
        }
    }
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    size_t index;
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_planner_result(p, id, 0, &index));
    TAKT_TRY(takt_planner_result(p, id, 1, &index));
    f->x = takt_axis_split_of(takt_type_of(p->graph, n->in[0]), takt_node_int(n, "axis"));
    f->is_top = n->op == &takt_op_top_k;
    f->keep = f->is_top ? (size_t)takt_node_int(n, "k") : f->x.size;
    f->descending = takt_node_int(n, f->is_top ? "largest" : "descending") != 0;
    f->is_sorted = takt_node_int(n, "sorted") != 0;
    f->dtype = p->step->in[0].dtype;
    const size_t items = f->is_top ? takt_order_room(f->x.size, f->keep) : f->x.size;
    if (!takt_size_mul(items, (f->is_top ? 1 : 2) * sizeof(takt_keyed), &p->step->scratch_each))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "a line to sort is too long");
    p->step->run = run;
    p->step->data = f;
    const double count = (double)f->x.outer * (double)f->x.size * (double)f->x.inner;
    p->step->task_count =
        takt_cpu_tasks(p, (f->is_top ? 20 : 100) * count, 0, f->x.outer * f->x.inner);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_sort = {.name = "sort", .accepts = accepts, .compile = compile};
