/* trace.c - a profile for other programs: Chrome's trace format, and folded stacks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/session/measure.h"

static void event(takt_json_writer *w, const char *name, const char *category, size_t thread,
                  double from_ns, double ns)
{
    takt_json_open(w, '{');
    takt_json_put_string(w, "name", name);
    takt_json_put_string(w, "cat", category);
    takt_json_put_string(w, "ph", "X");
    takt_json_put_number(w, "ts", from_ns * 1e-3);
    takt_json_put_number(w, "dur", ns * 1e-3);
    takt_json_put_integer(w, "pid", 1);
    takt_json_put_unsigned(w, "tid", thread);
}

/* What Perfetto calls a process or a thread. */
static void name_event(takt_json_writer *w, const char *what, size_t thread, const char *name)
{
    takt_json_open(w, '{');
    takt_json_put_string(w, "name", what);
    takt_json_put_string(w, "ph", "M");
    takt_json_put_integer(w, "pid", 1);
    takt_json_put_unsigned(w, "tid", thread);
    takt_json_put_open(w, "args", '{');
    takt_json_put_string(w, "name", name);
    takt_json_close(w, '}');
    takt_json_close(w, '}');
}

static void name_events(const takt_profile *p, takt_json_writer *w)
{
    char name[64];
    name_event(w, "process_name", 1, p->model != NULL ? p->model : "takt");
    name_event(w, "thread_name", 1, "steps");
    for (int t = 0; p->plan->threads > 1 && t < p->plan->threads; t++) {
        snprintf(name, sizeof name, t == 0 ? "work of thread %d (the caller)" : "work of thread %d",
                 t);
        name_event(w, "thread_name", (size_t)t + 2, name);
    }
}

/* When every thread began its first task of a shared step, and ended its last. */
static void thread_events(const takt_profile *p, takt_json_writer *w, size_t run, size_t step)
{
    const size_t threads = (size_t)p->plan->threads, steps = p->plan->step_count;
    if (p->rows[step].step->task_count <= 1)
        return;
    for (size_t t = 0; threads > 1 && t < threads; t++) {
        const uint64_t *bar = &p->bars[2 * ((run * steps + step) * threads + t)];
        if (bar[1] == 0)
            continue;
        event(w, p->rows[step].step->name, "work", t + 2, (double)(bar[0] - p->starts[0]),
              (double)(bar[1] - bar[0]));
        takt_json_close(w, '}');
    }
}

static void step_event(takt_json_writer *w, const takt_profile_row *row, double from, double ns)
{
    event(w, row->step->name, row->step->kind, 1, from, ns);
    takt_json_put_open(w, "args", '{');
    takt_json_put_string(w, "kernel", row->step->kernel != NULL ? row->step->kernel : "generic");
    takt_json_put_number(w, "flops", row->roof.flops);
    takt_json_put_number(w, "bytes", row->roof.bytes);
    if (row->bound != NULL) {
        takt_json_put_string(w, "bound", row->bound);
        takt_json_put_number(w, "pct_of_ceiling", row->percent);
    }
    takt_json_close(w, '}');
    takt_json_close(w, '}');
}

/* Bytes of the arena that hold something while each step runs; NULL if out of memory. */
static size_t *live_bytes(const takt_plan *plan, takt_arena *arena)
{
    size_t *bytes = takt_arena_array(arena, plan->step_count + 1, sizeof *bytes);
    if (bytes == NULL)
        return NULL;
    for (size_t i = 0; i < plan->buffer_count; i++) { /* changes from step to step, modulo 2^64 */
        const takt_buffer *b = &plan->buffers[i];
        const size_t first = b->first < 0 ? 0 : (size_t)b->first;
        if (b->place != TAKT_PLACE_ARENA || b->space != TAKT_HOST || first >= plan->step_count)
            continue;
        bytes[first] += b->bytes;
        if (b->last + 1 >= 0 && (size_t)(b->last + 1) < plan->step_count)
            bytes[b->last + 1] -= b->bytes;
    }
    for (size_t i = 1; i < plan->step_count; i++)
        bytes[i] += bytes[i - 1];
    for (size_t i = 0; i < plan->step_count; i++)
        bytes[i] += takt_step_scratch(&plan->steps[i], plan->threads);
    return bytes;
}

/* A separate track: how full the arena is. */
static void memory_event(takt_json_writer *w, double at_ns, size_t bytes)
{
    takt_json_open(w, '{');
    takt_json_put_string(w, "name", "arena in use");
    takt_json_put_string(w, "ph", "C");
    takt_json_put_number(w, "ts", at_ns * 1e-3);
    takt_json_put_integer(w, "pid", 1);
    takt_json_put_open(w, "args", '{');
    takt_json_put_unsigned(w, "bytes", bytes);
    takt_json_close(w, '}');
    takt_json_close(w, '}');
}

takt_status takt_profile_trace(const takt_profile *p, takt_sink_fn *sink, void *user)
{
    const size_t steps = p->plan->step_count;
    takt_arena arena;
    takt_text text;
    takt_json_writer w;
    takt_arena_init(&arena, p->ctx);
    const size_t *live = live_bytes(p->plan, &arena);
    if (live == NULL)
        return TAKT_ERR_MEMORY;
    takt_text_init(&text, p->ctx);
    takt_json_begin(&w, &text, false);
    takt_json_open(&w, '{');
    takt_json_put_string(&w, "displayTimeUnit", "ns");
    takt_json_put_open(&w, "traceEvents", '[');
    name_events(p, &w);
    for (size_t run = 0; run < p->trace_runs && steps > 0; run++) {
        const uint64_t *at = &p->starts[2 * run * steps], origin = p->starts[0];
        event(&w, "run", "run", 1, (double)(at[0] - origin), (double)(at[2 * steps - 1] - at[0]));
        takt_json_close(&w, '}');
        for (size_t i = 0; i < steps; i++) {
            step_event(&w, &p->rows[i], (double)(at[2 * i] - origin),
                       (double)(at[2 * i + 1] - at[2 * i]));
            thread_events(p, &w, run, i);
            memory_event(&w, (double)(at[2 * i] - origin), live[i]);
        }
        memory_event(&w, (double)(at[2 * steps - 1] - origin), 0);
    }
    takt_json_close(&w, ']');
    takt_json_close(&w, '}');
    takt_text_put(&text, "\n", 1);
    takt_arena_deinit(&arena);
    return takt_sink_text(p->ctx, &text, sink, user);
}

/* "model;layer;step nanoseconds": semicolons and line ends in names would break the format. */
static void add_frame(takt_text *text, const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char c = name[i] == ';' || name[i] == '\n' ? ',' : name[i];
        takt_text_put(text, &c, 1);
    }
}

takt_status takt_profile_folded(const takt_profile *p, takt_sink_fn *sink, void *user)
{
    takt_text text;
    takt_text_init(&text, p->ctx);
    for (size_t i = 0; i < p->plan->step_count; i++) {
        const takt_profile_row *row = &p->rows[i];
        const char *name;
        const size_t length = takt_step_layer(row->step, &name);
        takt_text_add(&text, "run;");
        add_frame(&text, name, length);
        takt_text_add(&text, ";");
        add_frame(&text, name, strlen(name));
        takt_text_add(&text, " %.0f\n", fmax(1, row->median_ns));
    }
    return takt_sink_text(p->ctx, &text, sink, user);
}
