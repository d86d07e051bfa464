/* unique.c - unique: numbers widened to 64 bits, and rows in order, in scratch. */
#include "op/util/unique.h"
#include "op/record/unique.h"

#include <string.h>

#include "backend/cpu/axis.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"

typedef struct facts {
    takt_axis_split x; /* `size` rows */
    size_t count;      /* elements */
    takt_dtype dtype;
    bool is_sorted;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_unique ? NULL : "";
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const bool is_float = takt_dtype_is_float(f->dtype);
    const void *x = takt_view_data(t, &s->in[0]);
    double *wide = t->scratch;
    int64_t *whole = t->scratch;
    takt_pace pace = takt_pace_of(t);
    for (size_t i = 0; i < f->count; i++) {
        if (takt_pace_stops(&pace, 4))
            return;
        if (is_float)
            wide[i] = takt_dtype_get_f(f->dtype, x, i);
        else
            whole[i] = takt_dtype_get_i(f->dtype, x, i);
    }
    const takt_unique u = {.f = is_float ? wide : NULL,
                           .i = whole,
                           .is_unsigned = f->dtype == TAKT_U64,
                           .count = f->x.size,
                           .outer = f->x.outer,
                           .inner = f->x.inner,
                           .is_sorted = f->is_sorted};
    takt_found_rows found = {.first = takt_view_data(t, &s->out[0]),
                             .of = takt_view_data(t, &s->out[1]),
                             .times = takt_view_data(t, &s->out[2])};
    memset(found.times, 0, f->x.size * sizeof *found.times);
    takt_unique_find(&u, whole + f->count, &found);
    memset(found.first + found.count, 0, (f->x.size - found.count) * sizeof *found.first);
    memset(found.times + found.count, 0, (f->x.size - found.count) * sizeof *found.times);
    *(int64_t *)takt_view_data(t, &s->out[3]) = (int64_t)found.count;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    const takt_type *type = takt_type_of(p->graph, n->in[0]);
    const takt_attr *axis = takt_node_attr(n, "axis");
    facts *f = takt_planner_get(p, sizeof *f);
    size_t index;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    for (uint32_t k = 0; k < 4; k++)
        TAKT_TRY(takt_planner_result(p, id, k, &index));
    (void)takt_type_count(type, &f->count);
    f->x = (takt_axis_split){1, f->count, 1};
    if (axis->is_set)
        f->x = takt_axis_split_of(type, axis->i64);
    f->dtype = type->dtype;
    f->is_sorted = takt_node_int(n, "sorted") != 0;
    p->step->scratch_bytes =
        takt_cpu_aligned(f->count * sizeof(int64_t) + takt_unique_bytes(f->x.size));
    p->step->run = run;
    p->step->data = f;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_unique = {.name = "unique",
                                       .family = TAKT_FAMILY_MOVE,
                                       .is_steady = true,
                                       .accepts = accepts,
                                       .compile = compile};
