/* update_slice.c - replaces part of an axis of x by u, in place if nothing reads the old x.
 *
 * If x is state and the result its next value, the state is updated in place; the old elements are
 * kept until the run has succeeded, unless they are beyond what is read of it.
 */
#include "backend/cpu/axis.h"
#include "backend/cpu/element.h"
#include "backend/cpu/index.h"
#include "backend/cpu/pace.h"

/* The values that an update of state overwrote: the starts, then the old elements at `kept_at`
 * bytes. */
typedef struct old_part {
    bool is_changed;
    size_t start[];
} old_part;

typedef struct facts {
    takt_axis_split x;
    size_t part;   /* elements of u along the axis */
    size_t starts; /* 1, or one for each element of the first dimension */
    int bits;
    size_t kept; /* index into step->out of the values that undoing needs */
    size_t kept_at;
    bool has_undo;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_update_slice ? NULL : "";
}

static size_t place(const facts *f, size_t o, size_t start)
{
    return (o * f->x.size + start) * f->x.inner;
}

/* Elements that have start `i`: [first, end) of the outer ones. */
static void range_of(const facts *f, size_t i, size_t *first, size_t *end)
{
    const size_t each = f->starts > 0 ? f->x.outer / f->starts : 0;
    *first = each * i;
    *end = each * (i + 1);
}

static void keep(const facts *f, old_part *old, size_t i, const void *x, size_t start)
{
    const size_t run = f->part * f->x.inner;
    size_t o, end;
    range_of(f, i, &o, &end);
    for (old->start[i] = start; o < end; o++)
        takt_copy_elements(f->bits, (char *)old + f->kept_at, o * run, x, place(f, o, start), run);
}

/* Nothing is written unless all starts can be. */
static bool check_starts(const facts *f, const takt_task *t, takt_index_reader *index)
{
    for (size_t i = 0; i < f->starts; i++)
        (void)takt_index_start(index, i, f->x.size, f->part);
    takt_index_close(index, t);
    return index->fault.index == TAKT_FAULT_NONE;
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const void *x = takt_view_data(t, &s->in[0]), *u = takt_view_data(t, &s->in[1]);
    void *y = takt_view_data(t, &s->out[0]);
    const size_t run = f->part * f->x.inner;
    takt_index_reader index = takt_index_open(t, &s->in[2]);
    old_part *old = f->has_undo ? takt_view_data(t, &s->out[f->kept]) : NULL;
    if (old != NULL)
        old->is_changed = false;
    if (!check_starts(f, t, &index))
        return;
    for (size_t i = 0; old != NULL && i < f->starts; i++)
        keep(f, old, i, x, takt_index_start(&index, i, f->x.size, f->part));
    if (old != NULL)
        old->is_changed = true;
    if (x != y)
        takt_pace_copy(t, y, x, takt_element_bytes(f->bits, f->x.outer * f->x.size * f->x.inner));
    takt_pace pace = takt_pace_bits(t, f->bits);
    for (size_t i = 0, o, end; i < f->starts; i++) {
        const size_t start = takt_index_start(&index, i, f->x.size, f->part);
        for (range_of(f, i, &o, &end); o < end; o++)
            if (!takt_pace_elements(&pace, y, place(f, o, start), u, o * run, run))
                return;
    }
}

static void undo(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const old_part *old = takt_view_data(t, &s->out[f->kept]);
    void *y = takt_view_data(t, &s->out[0]);
    const size_t run = f->part * f->x.inner;
    for (size_t i = 0, o, end; i < f->starts && old->is_changed; i++)
        for (range_of(f, i, &o, &end); o < end; o++)
            takt_copy_elements(f->bits, y, place(f, o, old->start[i]),
                               (const char *)old + f->kept_at, o * run, run);
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_planner_inputs(p, n));
    f->x = takt_axis_split_of(n->type, takt_node_int(n, "axis"));
    f->part = takt_axis_split_of(takt_type_of(p->graph, n->in[1]), takt_node_int(n, "axis")).size;
    f->bits = takt_dtype_bits(n->type->dtype);
    const takt_type *start = takt_type_of(p->graph, n->in[2]);
    const size_t bytes = takt_element_bytes(f->bits, f->x.outer * f->part * f->x.inner);
    f->starts = bytes == 0 ? 0 : start->rank == 0 ? 1 : (size_t)start->dim[0];
    f->kept_at = takt_cpu_aligned(sizeof(old_part) + f->starts * sizeof(size_t));
    bool is_state;
    TAKT_TRY(takt_planner_output_state(p, id, 0, f->kept_at + bytes, &f->kept, &is_state));
    f->has_undo = is_state && f->kept != SIZE_MAX;
    p->step->run = run;
    p->step->undo = f->has_undo ? undo : NULL;
    p->step->data = f;
    p->step->can_fault = true;
    p->step->fault_id = TAKT_E_INDEX;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_update_slice = {
    .name = "update", .accepts = accepts, .compile = compile};
