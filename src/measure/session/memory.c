/* memory.c - the memory of a run: its total, and what is live at every step. */
#include "measure/bench.h"
#include "measure/session/measure.h"
#include "os/facts.h"

enum { FIGURE = TAKT_FIGURE_TEXT, BAR = 40 };

/* Bytes of the arena that hold something while step `at` runs. */
static size_t live_at(const takt_plan *plan, size_t at)
{
    size_t bytes = 0;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const takt_buffer *b = &plan->buffers[i];
        if (b->place == TAKT_PLACE_ARENA && b->space == TAKT_HOST && b->first <= (int)at &&
            b->last >= (int)at)
            bytes += b->bytes;
    }
    const takt_step *s = &plan->steps[at];
    return bytes + (s->space == TAKT_HOST ? takt_step_scratch(s, plan->threads) : 0);
}

static uint64_t held(const takt_plan *plan)
{
    return (uint64_t)plan->weight_bytes + plan->packed_bytes + plan->state_bytes + plan->io_bytes;
}

static void json(const takt_profile *p, takt_report *r)
{
    const takt_plan *plan = p->plan;
    uint64_t resident, most;
    takt_process_memory(&resident, &most);
    takt_report_count(r, "allocations", (uint64_t)p->rest.allocations);
    takt_report_count(r, "resident_bytes", resident);
    takt_report_count(r, "resident_peak_bytes", most);
    takt_report_count(r, "total_bytes", held(plan) + plan->unshared_bytes);
    takt_report_count(r, "peak_bytes", held(plan) + plan->arena_bytes);
    takt_report_count(r, "weights", plan->weight_bytes);
    takt_report_count(r, "packed", plan->packed_bytes);
    takt_report_count(r, "state", plan->state_bytes);
    takt_report_count(r, "io", plan->io_bytes);
    takt_report_count(r, "arena", plan->arena_bytes);
    takt_json_put_open(&r->json, "timeline", '[');
    for (size_t i = 0; i < plan->step_count; i++) {
        takt_json_open(&r->json, '{');
        takt_report_pair(r, "step", plan->steps[i].name);
        takt_report_count(r, "live_bytes", live_at(plan, i));
        takt_json_close(&r->json, '}');
    }
    takt_json_close(&r->json, ']');
}

void takt_profile_memory(const takt_profile *p, takt_report *r)
{
    const takt_plan *plan = p->plan;
    char a[FIGURE], b[FIGURE], c[FIGURE], d[FIGURE];
    if (r->is_json) {
        json(p, r);
        return;
    }
    takt_text *text = &r->text;
    uint64_t resident, most;
    takt_process_memory(&resident, &most);
    takt_text_add(text, "Allocations: %.3g in a run%s\n", p->rest.allocations,
                  p->rest.allocations > 0 ? "" : "; all memory is planned before");
    takt_text_add(text, "Total memory: %s if no value shared memory with another\n",
                  takt_figure_bytes(held(plan) + plan->unshared_bytes, a));
    takt_text_add(text, "Peak memory: %s = weights %s + inputs and outputs %s + arena %s\n",
                  takt_figure_bytes(held(plan) + plan->arena_bytes, a),
                  takt_figure_bytes((uint64_t)plan->weight_bytes + plan->packed_bytes, b),
                  takt_figure_bytes((uint64_t)plan->io_bytes + plan->state_bytes, c),
                  takt_figure_bytes(plan->arena_bytes, d));
    if (most > 0)
        takt_text_add(text,
                      "Resident memory: %s now, %s at most: the whole process, with code, source "
                      "model and reports\n",
                      takt_figure_bytes(resident, a), takt_figure_bytes(most, b));
    takt_text_add(text, "\n");
    takt_table t;
    takt_table_init(&t, p->ctx, "lrl");
    takt_table_cell(&t, "step");
    takt_table_cell(&t, "live");
    takt_table_cell(&t, "of the arena");
    takt_table_rule(&t);
    for (size_t i = 0; i < plan->step_count; i++) {
        static const char bar[BAR + 1] = "########################################";
        const size_t live = live_at(plan, i);
        const double part = plan->arena_bytes > 0 ? (double)live / (double)plan->arena_bytes : 0;
        takt_table_cell(&t, "%s", plan->steps[i].name);
        takt_table_cell(&t, "%s", takt_figure_bytes(live, a));
        takt_table_cell(&t, "%.*s", (int)(part * BAR + 0.5), bar);
    }
    takt_table_print(&t, text);
    text->status = t.status != TAKT_OK ? t.status : text->status;
    takt_table_deinit(&t);
}
