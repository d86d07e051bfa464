/* loop.c - a body run while a condition holds; carried values go back and forth between two places.
 */
#include <string.h>

#include "backend/cpu/child.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/element.h"
#include "base/ctx.h"

/* The loop's own values for the body, in scratch. */
typedef struct counter {
    int64_t number;
    unsigned char condition[2]; /* of this iteration, and the body's results for the next */
} counter;

typedef struct facts {
    takt_child body;
    size_t counter_at;
    takt_carried *carried;
    size_t carried_count;
    takt_lane *lanes; /* of scanned results */
    uint64_t most;    /* iterations */
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_loop ? NULL : "";
}

static void bind_iteration(const takt_step *s, const takt_task *t, const takt_child_room *room,
                           counter *c)
{
    const facts *f = s->data;
    const size_t iteration = (size_t)c->number;
    room->out[0] = &c->condition[1];
    for (size_t i = 0; i < f->carried_count; i++)
        room->out[1 + i] = takt_carried_target(&f->carried[i], s, t, iteration);
    for (size_t i = f->carried_count; i < s->out_count; i++)
        room->out[1 + i] = takt_lane_open(&f->lanes[i - f->carried_count], t,
                                          takt_view_data(t, &s->out[i]), iteration);
}

/* One iteration; false if it failed. */
static bool iterate(const takt_step *s, const takt_task *t, const takt_child_room *room, counter *c)
{
    const facts *f = s->data;
    if ((uint64_t)c->number >= f->most) {
        takt_child_fail(&f->body, t, TAKT_E_TRIP_COUNT,
                        "loop: more iterations than limits.trip_count allows", f->most);
        return false;
    }
    for (size_t i = f->carried_count; i < s->out_count; i++)
        if ((size_t)c->number >= f->lanes[i - f->carried_count].size) {
            takt_child_fail(&f->body, t, TAKT_E_TRIP_COUNT,
                            "loop: an iteration does not fit the length of the scanned results",
                            (uint64_t)c->number);
            return false;
        }
    bind_iteration(s, t, room, c);
    if (!takt_child_run(&f->body, room, t))
        return false;
    for (size_t i = 0; i < f->carried_count; i++)
        room->in[2 + i] = room->out[1 + i];
    for (size_t i = f->carried_count; i < s->out_count; i++)
        takt_lane_close(&f->lanes[i - f->carried_count], t, takt_view_data(t, &s->out[i]),
                        (size_t)c->number);
    c->condition[0] = c->condition[1];
    return true;
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_child_room room = takt_child_open(&f->body, t);
    counter *c = (counter *)(void *)((char *)t->scratch + f->counter_at);
    int64_t trip;
    memcpy(&trip, takt_view_data(t, &s->in[0]), sizeof trip);
    c->number = 0;
    c->condition[0] = *(const unsigned char *)takt_view_data(t, &s->in[1]);
    room.in[0] = &c->number;
    room.in[1] = &c->condition[0];
    for (size_t i = 2; i < s->in_count; i++)
        room.in[i] = takt_view_data(t, &s->in[i]);
    for (size_t i = f->carried_count; i < s->out_count; i++) { /* missing iterations give 0 */
        const takt_lane *l = &f->lanes[i - f->carried_count];
        memset(takt_view_data(t, &s->out[i]), 0,
               takt_element_bytes(l->bits, l->outer * l->size * l->inner));
    }
    bool is_good = true;
    if (!takt_child_begin(&f->body, t))
        return;
    for (; is_good && c->number < trip && c->condition[0] != 0; c->number++)
        is_good = iterate(s, t, &room, c);
    takt_child_end(&f->body);
    if (!is_good)
        return;
    for (size_t i = 0; i < f->carried_count; i++)
        takt_carried_close(&f->carried[i], s, t, room.in[2 + i]);
}

static takt_status add_ports(takt_planner *p, const takt_node *n, facts *f)
{
    const takt_id id = p->group->nodes[0];
    size_t index;
    TAKT_TRY(takt_planner_inputs(p, n));
    for (uint32_t k = 0; k < n->out_count; k++) {
        TAKT_TRY(takt_planner_result(p, id, k, &index));
        if (k < f->carried_count)
            TAKT_TRY(takt_carried_compile(p, 2 + k, index, &f->carried[k]));
        else
            TAKT_TRY(
                takt_lane_compile(p, &p->step->out[index], 0, &f->lanes[k - f->carried_count]));
    }
    return TAKT_OK;
}

static takt_status compile(takt_planner *p)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    facts *f = takt_planner_get(p, sizeof *f);
    takt_carried *carried = takt_planner_get(p, n->out_count * sizeof *carried);
    takt_lane *lanes = takt_planner_get(p, n->out_count * sizeof *lanes);
    if (f == NULL || carried == NULL || lanes == NULL)
        return TAKT_ERR_MEMORY;
    *f = (facts){.carried = carried,
                 .lanes = lanes,
                 .most = p->ctx->limits.trip_count,
                 .carried_count = (size_t)takt_node_int(n, "carried")};
    TAKT_TRY(add_ports(p, n, f));
    TAKT_TRY(takt_scratch_add(p, sizeof(counter), &f->counter_at));
    TAKT_TRY(takt_child_compile(p, takt_node_attr(n, "body")->graph, &f->body));
    p->step->run = run;
    p->step->data = f;
    p->step->can_fault = true;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_loop = {.name = "loop", .accepts = accepts, .compile = compile};
