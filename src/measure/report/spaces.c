/* spaces.c - for a plan in several memories: its segments, copies, and what each needs. */
#include "measure/report/report.h"
#include "plan/backend.h"
#include "plan/finish.h"

typedef struct copies {
    size_t up, down;               /* steps */
    uint64_t up_bytes, down_bytes; /* a run */
} copies;

static copies copies_of(const takt_plan *plan, const takt_segment *g)
{
    copies c = {0};
    for (size_t i = g->first; i < g->end; i++) {
        const takt_transfer *t = &plan->steps[i].transfer;
        c.up += t->way == TAKT_COPY_UP;
        c.down += t->way == TAKT_COPY_DOWN;
        c.up_bytes += t->way == TAKT_COPY_UP ? t->bytes : 0;
        c.down_bytes += t->way == TAKT_COPY_DOWN ? t->bytes : 0;
    }
    return c;
}

static const char *name_of(const takt_plan *plan, const takt_segment *g)
{
    return g->space == TAKT_HOST ? "host" : plan->space[g->space].backend->name;
}

/* The longest time between two checks of cancel and deadline on a device, by the estimate. */
static double granularity(const takt_plan *plan)
{
    double most = 0;
    for (size_t i = 0; i < plan->segment_count; i++) {
        const double us = takt_segment_us(plan, &plan->segments[i]);
        most = us > most ? us : most;
    }
    return most;
}

static void segments_text(takt_report *r, const takt_plan *plan)
{
    char figure[TAKT_FIGURE_TEXT];
    takt_text_add(&r->text, "segments\n");
    for (size_t i = 0; i < plan->segment_count; i++) {
        const takt_segment *g = &plan->segments[i];
        const copies c = copies_of(plan, g);
        takt_text_add(&r->text, "  %s: steps %zu to %zu", name_of(plan, g), g->first, g->end - 1);
        if (c.up > 0)
            takt_text_add(&r->text, ", %zu up with %s bytes", c.up,
                          takt_figure(c.up_bytes, figure));
        if (c.down > 0)
            takt_text_add(&r->text, ", %zu down with %s bytes", c.down,
                          takt_figure(c.down_bytes, figure));
        if (g->space != TAKT_HOST)
            takt_text_add(&r->text, ", about %.3g us", takt_segment_us(plan, g));
        takt_text_add(&r->text, "%s%s\n", takt_segment_goes_on(plan, i) ? ", cut" : "",
                      g->is_commit ? ", commits state" : "");
    }
    takt_text_add(
        &r->text,
        "deadline and cancellation are checked before each segment, at most about %.3g us "
        "apart on a device; not in a run on the caller's stream\n",
        granularity(plan));
}

static void segments_json(takt_report *r, const takt_plan *plan)
{
    takt_json_put_open(&r->json, "segments", '[');
    for (size_t i = 0; i < plan->segment_count; i++) {
        const takt_segment *g = &plan->segments[i];
        const copies c = copies_of(plan, g);
        takt_json_open(&r->json, '{');
        takt_report_pair(r, "space", name_of(plan, g));
        takt_report_count(r, "first", g->first);
        takt_report_count(r, "end", g->end);
        takt_report_count(r, "uploads", c.up);
        takt_report_count(r, "upload_bytes", c.up_bytes);
        takt_report_count(r, "downloads", c.down);
        takt_report_count(r, "download_bytes", c.down_bytes);
        takt_report_count(r, "ns", takt_whole(1e3 * takt_segment_us(plan, g)));
        takt_json_close(&r->json, '}');
    }
    takt_json_close(&r->json, ']');
}

static void memory_text(takt_report *r, const takt_plan_space *s, takt_session_memory m)
{
    char figure[TAKT_FIGURE_TEXT];
    takt_text_add(&r->text, "memory of %s: constants %s, ", s->backend->name,
                  takt_figure(s->constants, figure));
    takt_text_add(&r->text, "state %s, ", takt_figure(s->state, figure));
    takt_text_add(&r->text, "arena %s ", takt_figure(s->arena, figure));
    takt_text_add(&r->text, "(lower bound %s), ", takt_figure(s->lower_bound, figure));
    takt_text_add(&r->text, "counters %s, ", takt_figure(m.counters, figure));
    takt_text_add(&r->text, "together %s bytes",
                  takt_figure((uint64_t)s->constants + s->state + s->arena + m.counters, figure));
    if (s->limit > 0)
        takt_text_add(&r->text, " of %s", takt_figure(s->limit, figure));
    takt_text_add(&r->text, "\n");
    if (m.pinned == 0 && m.bodies == 0)
        return;
    takt_text_add(&r->text, "memory of the host for %s: pinned %s bytes", s->backend->name,
                  takt_figure(m.pinned, figure));
    if (m.bodies > 0)
        takt_text_add(&r->text, ", bodies %s bytes", takt_figure(m.bodies, figure));
    takt_text_add(&r->text, "\n");
}

static void memory_json(takt_report *r, const takt_plan_space *s, takt_session_memory m)
{
    takt_json_open(&r->json, '{');
    takt_report_pair(r, "name", s->backend->name);
    takt_report_count(r, "constants", s->constants);
    takt_report_count(r, "state", s->state);
    takt_report_count(r, "arena", s->arena);
    takt_report_count(r, "lower_bound", s->lower_bound);
    takt_report_count(r, "unshared", s->unshared);
    takt_report_count(r, "counters", m.counters);
    takt_report_count(r, "pinned", m.pinned);
    takt_report_count(r, "bodies", m.bodies);
    if (s->limit > 0)
        takt_report_count(r, "limit", s->limit);
    takt_json_close(&r->json, '}');
}

void takt_report_spaces(takt_report *r, const takt_plan *plan)
{
    if (plan->space_count < 2)
        return;
    if (r->is_json) {
        segments_json(r, plan);
        takt_json_put_open(&r->json, "spaces", '[');
    } else {
        segments_text(r, plan);
    }
    for (size_t i = 1; i < plan->space_count; i++)
        if (r->is_json)
            memory_json(r, &plan->space[i], takt_session_memory_of(plan, (takt_space)i));
        else
            memory_text(r, &plan->space[i], takt_session_memory_of(plan, (takt_space)i));
    if (r->is_json)
        takt_json_close(&r->json, ']');
}
