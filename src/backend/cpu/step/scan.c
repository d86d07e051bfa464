/* scan.c - a body run for each element of sequences; carried values go back and forth. */
#include "backend/cpu/child.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/element.h"
#include "backend/cpu/rnn/match.h"

typedef struct facts {
    takt_child body;
    takt_carried *carried;
    size_t carried_count, sequence_count;
    takt_lane *sequences, *results;
    bool reverse;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_scan ? NULL : "";
}

/* Iteration `number`, at element `at`; false if it failed. */
static bool iterate(const takt_step *s, const takt_task *t, const takt_child_room *room,
                    size_t number, size_t at)
{
    const facts *f = s->data;
    for (size_t i = 0; i < f->sequence_count; i++)
        room->in[f->carried_count + i] = takt_lane_take(
            &f->sequences[i], t, takt_view_data(t, &s->in[f->carried_count + i]), at);
    for (size_t i = 0; i < f->carried_count; i++)
        room->out[i] = takt_carried_target(&f->carried[i], s, t, number);
    for (size_t i = f->carried_count; i < s->out_count; i++)
        room->out[i] =
            takt_lane_open(&f->results[i - f->carried_count], t, takt_view_data(t, &s->out[i]), at);
    if (!takt_child_run(&f->body, room, t))
        return false;
    for (size_t i = 0; i < f->carried_count; i++)
        room->in[i] = room->out[i];
    for (size_t i = f->carried_count; i < s->out_count; i++)
        takt_lane_close(&f->results[i - f->carried_count], t, takt_view_data(t, &s->out[i]), at);
    return true;
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_child_room room = takt_child_open(&f->body, t);
    const size_t length = f->sequences[0].size;
    for (size_t i = 0; i < s->in_count; i++)
        room.in[i] = takt_view_data(t, &s->in[i]);
    bool is_good = true;
    if (!takt_child_begin(&f->body, t))
        return;
    for (size_t i = 0; i < length && is_good; i++)
        is_good = iterate(s, t, &room, i, f->reverse ? length - 1 - i : i);
    takt_child_end(&f->body);
    if (!is_good)
        return;
    for (size_t i = 0; i < f->carried_count; i++)
        takt_carried_close(&f->carried[i], s, t, room.in[i]);
    for (size_t i = f->carried_count; i < s->out_count; i++) {
        const takt_lane *l = &f->results[i - f->carried_count];
        takt_clear_tail(l->bits, takt_view_data(t, &s->out[i]), l->outer * l->size * l->inner);
    }
}

static int64_t axis_of(const takt_node *n, const char *name, size_t i)
{
    const takt_attr *list = takt_node_attr(n, name);
    return i < list->count ? list->i64s[i] : 0;
}

static takt_status add_ports(takt_planner *p, const takt_node *n, facts *f)
{
    const takt_id id = p->group->nodes[0];
    size_t index;
    for (uint32_t k = 0; k < n->in_count; k++) {
        TAKT_TRY(takt_planner_input(p, n->in[k], &index));
        const size_t i = k - f->carried_count;
        if (k >= f->carried_count && i < f->sequence_count)
            TAKT_TRY(
                takt_lane_compile(p, &p->step->in[index], axis_of(n, "axes", i), &f->sequences[i]));
    }
    for (uint32_t k = 0; k < n->out_count; k++) {
        TAKT_TRY(takt_planner_result(p, id, k, &index));
        const size_t i = k - f->carried_count;
        if (k < f->carried_count)
            TAKT_TRY(takt_carried_compile(p, k, index, &f->carried[k]));
        else
            TAKT_TRY(takt_lane_compile(p, &p->step->out[index], axis_of(n, "out_axes", i),
                                       &f->results[i]));
    }
    return TAKT_OK;
}

static takt_status compile(takt_planner *p)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    facts *f = takt_planner_get(p, sizeof *f);
    takt_carried *carried = takt_planner_get(p, n->out_count * sizeof *carried);
    takt_lane *lanes = takt_planner_get(p, (n->in_count + n->out_count) * sizeof *lanes);
    if (f == NULL || carried == NULL || lanes == NULL)
        return TAKT_ERR_MEMORY;
    *f = (facts){.carried = carried,
                 .sequences = lanes,
                 .results = lanes + n->in_count,
                 .carried_count = (size_t)takt_node_int(n, "carried"),
                 .sequence_count = (size_t)takt_node_int(n, "sequences"),
                 .reverse = takt_node_int(n, "reverse") != 0};
    TAKT_TRY(add_ports(p, n, f));
    TAKT_TRY(takt_child_compile(p, takt_node_attr(n, "body")->graph, &f->body));
    takt_rnn_match cell;
    const char *why = takt_rnn_find(n, &cell);
    if (why == NULL || why[0] != '\0')
        p->step->note = why != NULL ? why : "a recurrent cell whose units do not lie side by side";
    p->step->run = run;
    p->step->data = f;
    p->step->can_fault = true;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_scan = {.name = "scan", .accepts = accepts, .compile = compile};
