/* plan.c - a plan as readable text: its steps in order, and its memory to the byte. */
#include <takt/plan.h>

#include <string.h>

#include "api/session/session.h"
#include "measure/report/report.h"
#include "os/pool.h"
#include "plan/backend.h"
#include "plan/finish.h"

/* Name of a buffer: "x", or the first value that it holds. */
static const char *buffer_name(const takt_plan *plan, const takt_buffer *b)
{
    const takt_graph *g = plan->graph;
    if (b->is_guest)
        return takt_node_label(&g->nodes[b->value]);
    switch (b->place) {
    case TAKT_PLACE_INPUT: return g->inputs[b->index].name;
    case TAKT_PLACE_OUTPUT: return g->outputs[b->index].name;
    case TAKT_PLACE_STATE:
    case TAKT_PLACE_NEXT: return g->slots[b->index].name;
    case TAKT_PLACE_FORM: return g->slots[plan->forms[b->index].slot].name;
    default: return b->value != TAKT_NONE ? takt_node_label(&g->nodes[b->value]) : "scratch";
    }
}

static const char *place_name(takt_place_kind place)
{
    static const char *const names[] = {
        [TAKT_PLACE_ARENA] = "arena",       [TAKT_PLACE_CONSTANT] = "constant",
        [TAKT_PLACE_INPUT] = "input",       [TAKT_PLACE_OUTPUT] = "output",
        [TAKT_PLACE_STATE] = "state",       [TAKT_PLACE_NEXT] = "next state",
        [TAKT_PLACE_FORM] = "packed state",
    };
    return names[place];
}

/* ---- text ---- */

static void step_row(takt_table *t, const takt_plan *plan, const takt_step *s, size_t index)
{
    char figure[TAKT_FIGURE_TEXT];
    size_t bytes = 0;
    for (size_t k = 0; k < s->out_count; k++)
        bytes += plan->buffers[s->out[k].buffer].bytes;
    takt_table_cell(t, "%zu", index);
    takt_table_cell(t, "%s", s->kind);
    takt_table_cell(t, "%s", s->name);
    takt_table_cell(t, "%s", s->kernel);
    takt_table_cell(t, "%zu", s->task_count);
    takt_table_cell(t, "%s", takt_figure(takt_whole(takt_step_cost(plan, s).flops), figure));
    takt_table_cell(t, "%s", takt_figure(bytes, figure));
    takt_table_cell(t, "%s", takt_figure(takt_step_room(s, plan->threads), figure));
}

/* ---- what is bound to a session ---- */

/* A move that a bound buffer costs, as a row among the steps. */
static void move_row(takt_table *t, const takt_session *s, size_t i)
{
    const takt_desc *desc;
    char figure[TAKT_FIGURE_TEXT];
    const takt_session_port *port = takt_report_port(s, i, &desc);
    if (!takt_port_moves(port))
        return;
    takt_table_cell(t, "-");
    takt_table_cell(t, "move");
    takt_table_cell(
        t, i < s->plan->graph->input_count ? "%s, as it is bound" : "%s, to where it is bound",
        desc->name);
    takt_table_cell(t, "copy");
    takt_table_cell(t, "1");
    takt_table_cell(t, "0");
    takt_table_cell(t, "%s", takt_figure(port->bytes, figure));
    takt_table_cell(t, "0");
}

static void strides_text(takt_report *r, const takt_tensor_view *v)
{
    takt_text_add(&r->text, "(strides");
    for (int d = 0; d < v->rank; d++)
        takt_text_add(&r->text, "%s %lld", d > 0 ? "," : "", (long long)v->strides[d]);
    takt_text_add(&r->text, ")");
}

/* Why input `i` is moved: the step that reads it dense, or NULL. */
static const takt_step *obstacle_of(const takt_session *s, size_t i)
{
    const takt_session_port *port = &s->inputs[i < s->plan->graph->input_count ? i : 0];
    if (i >= s->plan->graph->input_count || takt_view_is_dense(&port->strided))
        return NULL;
    return takt_session_obstacle(s, i, port->stride);
}

static void bindings_text(takt_report *r, const takt_session *s)
{
    for (size_t i = 0; s != NULL && i < takt_report_ports(s); i++) {
        const takt_desc *desc;
        const takt_session_port *port = takt_report_port(s, i, &desc);
        if (port->strided.data == NULL)
            continue;
        takt_text_add(&r->text, "  %s ", desc->name);
        strides_text(r, &port->strided);
        const takt_step *obstacle = port->is_view ? NULL : obstacle_of(s, i);
        char figure[TAKT_FIGURE_TEXT];
        if (port->is_view)
            takt_text_add(&r->text, " is read where it lies: 0 bytes are moved\n");
        else
            takt_text_add(
                &r->text, " is moved, %s bytes a run%s%s\n", takt_figure(port->bytes, figure),
                obstacle != NULL ? ": read dense by " : "", obstacle != NULL ? obstacle->name : "");
    }
}

static void bindings_json(takt_report *r, const takt_session *s)
{
    takt_json_put_open(&r->json, "bindings", '[');
    for (size_t i = 0; i < takt_report_ports(s); i++) {
        const takt_desc *desc;
        const takt_session_port *port = takt_report_port(s, i, &desc);
        if (port->strided.data == NULL)
            continue;
        const takt_step *obstacle = port->is_view ? NULL : obstacle_of(s, i);
        takt_json_open(&r->json, '{');
        takt_report_pair(r, "name", desc->name);
        takt_report_pair(r, "how", port->is_view ? "view" : "move");
        takt_report_count(r, "moved_bytes", port->is_view ? 0 : port->bytes);
        takt_report_pair(r, "read_dense_by", obstacle != NULL ? obstacle->name : NULL);
        takt_json_close(&r->json, '}');
    }
    takt_json_close(&r->json, ']');
}

static void steps_text(takt_report *r, const takt_plan *plan, const takt_session *s)
{
    static const char *const heads[] = {"#",     "step",  "what",    "kernel",
                                        "tasks", "flops", "results", "scratch"};
    takt_table t;
    takt_table_init(&t, r->ctx, "rlllrrrr");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        takt_table_cell(&t, "%s", heads[i]);
    takt_table_rule(&t);
    for (size_t i = 0; s != NULL && i < plan->graph->input_count; i++)
        move_row(&t, s, i);
    for (size_t i = 0; i < plan->step_count; i++)
        step_row(&t, plan, &plan->steps[i], i);
    for (size_t i = plan->graph->input_count; s != NULL && i < takt_report_ports(s); i++)
        move_row(&t, s, i);
    takt_table_print(&t, &r->text);
    takt_table_deinit(&t);
}

/* ---- what the hint did ---- */

static const char *hint_of(const takt_plan *plan)
{
    static const char *const names[] = {[TAKT_HINT_LATENCY] = "latency",
                                        [TAKT_HINT_THROUGHPUT] = "throughput",
                                        [TAKT_HINT_MEMORY] = "memory"};
    return names[plan->settings.hint];
}

static void hint_text(takt_report *r, const takt_plan *plan)
{
    takt_plan_info info;
    char a[TAKT_FIGURE_TEXT], b[TAKT_FIGURE_TEXT];
    const int usual = takt_pool_default_threads();
    takt_text_add(&r->text, "hint %s: work is split for %d thread%s", hint_of(plan), plan->threads,
                  plan->threads == 1 ? "" : "s");
    if (plan->settings.hint == TAKT_HINT_THROUGHPUT)
        takt_text_add(&r->text, " a session; this machine takes %d such session%s at once", usual,
                      usual == 1 ? "" : "s");
    if (plan->given_bytes > 0)
        takt_text_add(&r->text,
                      "; other orders were tried: %zu step%s in another place, %zu run twice, "
                      "%zu on one thread, "
                      "arena %s bytes instead of %s",
                      plan->moved_steps, plan->moved_steps == 1 ? "" : "s", plan->repeated_steps,
                      plan->single_threaded_steps, takt_figure(plan->arena_bytes, a),
                      takt_figure(plan->given_bytes, b));
    takt_plan_query(plan, &info);
    if (info.direct_convs > 0)
        takt_text_add(&r->text,
                      "; %zu convolution%s without Winograd, which changes their bits (licence: "
                      "Winograd)",
                      info.direct_convs, info.direct_convs == 1 ? "" : "s");
    if (plan->settings.donated != NULL)
        takt_text_add(&r->text, "; values may lie in donated inputs: %s", plan->settings.donated);
    takt_text_add(&r->text, "\n");
}

static void hint_json(takt_report *r, const takt_plan *plan)
{
    takt_plan_info info;
    takt_json_put_open(&r->json, "hint", '{');
    takt_report_pair(r, "name", hint_of(plan));
    takt_report_count(r, "threads", (uint64_t)plan->threads);
    takt_report_count(r, "moved_steps", plan->moved_steps);
    takt_report_count(r, "repeated_steps", plan->repeated_steps);
    takt_plan_query(plan, &info);
    takt_report_count(r, "direct_convs", info.direct_convs);
    takt_report_count(r, "single_thread_steps", plan->single_threaded_steps);
    takt_report_count(r, "arena_in_given_order",
                      plan->given_bytes > 0 ? plan->given_bytes : plan->arena_bytes);
    takt_report_pair(r, "donated", plan->settings.donated);
    takt_json_close(&r->json, '}');
}

/* `s`: a session whose bindings are reported too, or NULL. */
static void write_text(takt_report *r, const takt_plan *plan, const takt_session *s, size_t minimum)
{
    char figure[TAKT_FIGURE_TEXT];
    double flops = 0;
    for (size_t i = 0; i < plan->step_count; i++)
        flops += takt_step_cost(plan, &plan->steps[i]).flops;
    takt_text_add(&r->text, "plan of %s: %zu step%s, %d thread%s, %s operations per run\n",
                  plan->graph->name, plan->step_count, plan->step_count == 1 ? "" : "s",
                  plan->threads, plan->threads == 1 ? "" : "s",
                  takt_figure(takt_whole(flops), figure));
    hint_text(r, plan);
    char about[256];
    takt_plan_backend(plan, about, sizeof about);
    if (strcmp(about, plan->settings.fallback->name) != 0)
        takt_text_add(&r->text, "backend %s\n", about);
    takt_report_config(r, plan);
    steps_text(r, plan, s);
    bindings_text(r, s);
    takt_report_stops(r, plan);
    takt_report_memory(r, plan, s, minimum);
    takt_report_spaces(r, plan);
    takt_report_training(r, plan);
}

/* ---- JSON ---- */

static void views_json(takt_report *r, const char *key, const takt_view *views, size_t count)
{
    takt_json_put_open(&r->json, key, '[');
    for (size_t i = 0; i < count; i++)
        takt_json_unsigned(&r->json, views[i].buffer);
    takt_json_close(&r->json, ']');
}

static void step_json(takt_report *r, const takt_plan *plan, const takt_step *s)
{
    takt_json_open(&r->json, '{');
    takt_report_pair(r, "kind", s->kind);
    takt_report_pair(r, "name", s->name);
    takt_report_pair(r, "kernel", s->kernel);
    takt_report_pair(r, "weights", takt_step_weights(plan, s));
    takt_report_pair(r, "backend", s->backend != NULL ? s->backend->name : NULL);
    takt_report_count(r, "tasks", s->task_count);
    const takt_cost cost = takt_step_cost(plan, s);
    takt_report_count(r, "flops", takt_whole(cost.flops));
    takt_report_count(r, "bytes", takt_whole(cost.bytes));
    takt_report_count(r, "scratch", s->scratch_bytes);
    takt_report_count(r, "scratch_per_thread", s->scratch_each);
    views_json(r, "reads", s->in, s->in_count);
    views_json(r, "writes", s->out, s->out_count);
    takt_json_close(&r->json, '}');
}

static void buffer_json(takt_report *r, const takt_plan *plan, size_t index)
{
    const takt_buffer *b = &plan->buffers[index];
    takt_json_open(&r->json, '{');
    takt_report_pair(r, "name", buffer_name(plan, b));
    takt_report_pair(r, "place", place_name(b->place));
    takt_report_count(r, "bytes", b->bytes);
    if (b->space != TAKT_HOST)
        takt_report_pair(r, "space", plan->space[b->space].backend->name);
    if (b->place == TAKT_PLACE_ARENA)
        takt_report_count(r, "offset", b->offset);
    takt_json_put_integer(&r->json, "first", b->first);
    takt_json_put_integer(&r->json, "last", b->last);
    takt_json_close(&r->json, '}');
}

static void write_json(takt_report *r, const takt_plan *plan, const takt_session *s, size_t minimum)
{
    takt_report_pair(r, "model", plan->graph->name);
    takt_report_count(r, "threads", (uint64_t)plan->threads);
    char about[256];
    takt_plan_backend(plan, about, sizeof about);
    takt_report_pair(r, "backend", about);
    takt_report_config(r, plan);
    hint_json(r, plan);
    takt_report_stops(r, plan);
    takt_report_memory(r, plan, s, minimum);
    takt_report_spaces(r, plan);
    takt_report_training(r, plan);
    takt_json_put_open(&r->json, "steps", '[');
    for (size_t i = 0; i < plan->step_count; i++)
        step_json(r, plan, &plan->steps[i]);
    takt_json_close(&r->json, ']');
    if (s != NULL)
        bindings_json(r, s);
    takt_json_put_open(&r->json, "buffers", '[');
    for (size_t i = 0; i < plan->buffer_count; i++)
        buffer_json(r, plan, i);
    takt_json_close(&r->json, ']');
}

static takt_status describe(const takt_plan *plan, const takt_session *s, takt_format format,
                            takt_sink_fn *sink, void *user)
{
    takt_report r;
    size_t minimum;
    TAKT_TRY(takt_plan_minimum(plan, &minimum));
    takt_report_begin(&r, plan->ctx, format);
    if (r.is_json)
        write_json(&r, plan, s, minimum);
    else
        write_text(&r, plan, s, minimum);
    return takt_report_end(&r, takt_report_ranges(&r, plan), sink, user);
}

takt_status takt_plan_describe(const takt_plan *plan, takt_format format, takt_sink_fn *sink,
                               void *user)
{
    TAKT_NEED(NULL, plan);
    TAKT_NEED(NULL, sink);
    return describe(plan, NULL, format, sink, user);
}

takt_status takt_session_describe(const takt_session *s, takt_format format, takt_sink_fn *sink,
                                  void *user)
{
    TAKT_NEED(NULL, s);
    TAKT_NEED(NULL, sink);
    return describe(s->plan, s, format, sink, user);
}
