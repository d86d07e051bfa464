/* find.c - find_true in one pass; and length, whose result is read as sizes after the step. */
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"
#include "op/record/find_true.h"

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_op *op = g->nodes[node].op;
    return op == &takt_op_find_true || op == &takt_op_length ? NULL : "";
}

static void run_find(const takt_step *s, const takt_task *t)
{
    const uint8_t *x = takt_view_data(t, &s->in[0]);
    int64_t *places = takt_view_data(t, &s->out[0]), *count = takt_view_data(t, &s->out[1]);
    const int64_t size = s->in[0].dim[0];
    int64_t found = 0;
    takt_pace pace = takt_pace_of(t);
    for (int64_t i = 0; i < size && !takt_pace_stops(&pace, 3); i++) {
        places[found] = i; /* overwritten unless it counts: found <= i */
        found += x[i] != 0;
    }
    memset(places + found, 0, (size_t)(size - found) * sizeof *places);
    *count = found;
}

static void run_length(const takt_step *s, const takt_task *t)
{
    takt_pace_copy(t, takt_view_data(t, &s->out[0]), takt_view_data(t, &s->in[0]),
                   (size_t)s->in[0].dim[0] * sizeof(int64_t));
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    size_t index;
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    if (n->op == &takt_op_length) {
        p->step->run = run_length;
        return takt_planner_output(p, id, &index);
    }
    p->step->run = run_find;
    TAKT_TRY(takt_planner_result(p, id, 0, &index));
    return takt_planner_result(p, id, 1, &index);
}

const takt_cpu_kind takt_cpu_find = {.name = "find",
                                     .family = TAKT_FAMILY_MOVE,
                                     .work = TAKT_WORK_MOVE,
                                     .is_steady = true,
                                     .accepts = accepts,
                                     .compile = compile};
