/* memory.c - the memory of a plan to the byte, and how a session's bindings change it.
 */
#include <takt/plan.h>

#include <stdio.h>

#include "api/cache.h"
#include "api/session/session.h"
#include "ir/held.h"
#include "measure/report/report.h"
#include "plan/basis.h"

const takt_session_port *takt_report_port(const takt_session *s, size_t i, const takt_desc **desc)
{
    const size_t inputs = s->plan->graph->input_count;
    *desc = i < inputs ? &s->input_descs[i] : &s->output_descs[i - inputs];
    return i < inputs ? &s->inputs[i] : &s->outputs[i - inputs];
}

size_t takt_report_ports(const takt_session *s)
{
    return s->plan->graph->input_count + s->plan->graph->output_count;
}

static void memory_row(takt_table *t, const char *what, uint64_t bytes, const char *note)
{
    char figure[TAKT_FIGURE_TEXT];
    takt_table_cell(t, "%s", what);
    takt_table_cell(t, "%s", takt_figure(bytes, figure));
    takt_table_cell(t, "%s", note);
}

/* Inputs and outputs in the session's own memory, and those of them that bound buffers are moved
 * to or from. */
static uint64_t own_bytes(const takt_session *s, uint64_t *moved)
{
    uint64_t own = 0;
    *moved = 0;
    for (size_t i = 0; i < takt_report_ports(s); i++) {
        const takt_desc *desc;
        const takt_session_port *port = takt_report_port(s, i, &desc);
        const bool is_bound = port->view.data != NULL && port->view.data != port->own;
        own += is_bound ? 0 : port->own_bytes;
        *moved += takt_port_moves(port) ? port->own_bytes : 0;
    }
    return own;
}

static void io_row(takt_table *t, const takt_session *s, takt_plan_info *info)
{
    char note[96], figure[TAKT_FIGURE_TEXT];
    uint64_t moved;
    if (s == NULL) {
        memory_row(t, "inputs, outputs", info->io, "none of it where the caller binds buffers");
        return;
    }
    const uint64_t own = own_bytes(s, &moved);
    info->peak = info->peak - info->io + own;
    if (moved > 0)
        (void)snprintf(note, sizeof note, "per session, %s of it for buffers that are moved",
                       takt_figure(moved, figure));
    else
        (void)snprintf(note, sizeof note, "per session; what is bound is the caller's");
    memory_row(t, "inputs, outputs", own, note);
}

/* Bytes of the plan that are neither weights nor packed weights; equal constants are shared, so it
 * may be less than their sum. */
static uint64_t tables_of(const takt_plan_info *info)
{
    const uint64_t weights = info->weights + info->packed;
    return info->held > weights ? info->held - weights : 0;
}

/* Bytes from which plans of other sizes are made; 0: the plan has one size. */
static uint64_t kept_of(const takt_plan *plan)
{
    if (plan->ranges == NULL)
        return 0;
    takt_cache_lock(plan->ctx);
    takt_tally t = {.tick = ++plan->ctx->tick};
    const uint64_t kept = takt_tally_kept(&t, plan);
    takt_cache_unlock(plan->ctx);
    return kept;
}

/* The most scratch that a step has on the stack of its thread. */
static uint64_t stack_of(const takt_plan *plan)
{
    uint64_t most = 0;
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *s = &plan->steps[i];
        const uint64_t room = takt_step_is_stacked(s) ? takt_step_room(s, 1) : 0;
        most = room > most ? room : most;
    }
    return most;
}

static void memory_text(takt_report *r, const takt_plan *plan, const takt_session *s,
                        size_t minimum)
{
    char figure[TAKT_FIGURE_TEXT];
    takt_plan_info info;
    takt_table t;
    takt_plan_query(plan, &info);
    const double gap =
        info.lower_bound > 0 ? 100.0 * ((double)info.arena / (double)info.lower_bound - 1) : 0;
    takt_table_init(&t, r->ctx, "lrl");
    memory_row(&t, "weights", info.weights, "shared by all sessions");
    memory_row(&t, "packed weights", info.packed, "in the form the kernels read; shared");
    memory_row(&t, "state", info.state, "per session, outlives runs");
    io_row(&t, s, &info);
    memory_row(&t, "arena", info.arena, "per session: activations and scratch");
    takt_table_rule(&t);
    memory_row(&t, "peak", info.peak, "bytes, known before the run");
    takt_text_add(&r->text, "memory in bytes\n");
    takt_table_print(&t, &r->text);
    takt_table_deinit(&t);
    takt_text_add(&r->text, "  arena: lower bound of this order %s, ",
                  takt_figure(info.lower_bound, figure));
    takt_text_add(&r->text, "gap %.1f %%; largest scratch of a step %s", gap,
                  takt_figure(info.scratch, figure));
    takt_text_add(&r->text, ", on the stack %s\n", takt_figure(stack_of(plan), figure));
    if (minimum > 0 || info.arena == 0)
        takt_text_add(&r->text, "  arena: minimum %s (best order, cheap values made twice), ",
                      takt_figure(minimum, figure));
    else
        takt_text_add(&r->text, "  arena: ");
    takt_text_add(&r->text, "planned %s, ", takt_figure(info.arena, figure));
    takt_text_add(&r->text, "maximum %s (no reuse)\n", takt_figure(info.unshared, figure));
    takt_text_add(&r->text, "  tables: plan %s, ", takt_figure(tables_of(&info), figure));
    takt_text_add(&r->text, "each session %s\n", takt_figure(info.session + info.pool, figure));
    if (plan->ranges != NULL)
        takt_text_add(
            &r->text,
            "  of the plan's %s are for plans of other sizes: the graph, and weights to pack\n",
            takt_figure(kept_of(plan), figure));
    takt_text_add(&r->text, "  loading and planning: at most %s at once\n",
                  takt_figure(info.planning_peak, figure));
}

static void memory_json(takt_report *r, const takt_plan *plan, const takt_session *s,
                        size_t minimum)
{
    takt_plan_info info;
    uint64_t moved;
    takt_plan_query(plan, &info);
    takt_json_put_open(&r->json, "memory", '{');
    takt_report_count(r, "weights", info.weights);
    takt_report_count(r, "packed", info.packed);
    takt_report_count(r, "state", info.state);
    takt_report_count(r, "io", info.io);
    takt_report_count(r, "arena", info.arena);
    takt_report_count(r, "scratch", info.scratch);
    takt_report_count(r, "stack", stack_of(plan));
    takt_report_count(r, "peak", info.peak);
    takt_report_count(r, "lower_bound", info.lower_bound);
    takt_report_count(r, "unshared", info.unshared);
    takt_report_count(r, "minimum", minimum);
    takt_report_count(r, "planned", info.arena);
    takt_report_count(r, "maximum", info.unshared);
    takt_report_count(r, "held", info.held);
    takt_report_count(r, "session", info.session);
    takt_report_count(r, "pool", info.pool);
    takt_report_count(r, "planning_peak", info.planning_peak);
    if (plan->ranges != NULL)
        takt_report_count(r, "kept", kept_of(plan));
    if (s != NULL) {
        const uint64_t own = own_bytes(s, &moved);
        takt_report_count(r, "session_io", own);
        takt_report_count(r, "session_moved", moved);
        takt_report_count(r, "session_peak", info.peak - info.io + own);
    }
    takt_json_close(&r->json, '}');
}

void takt_report_memory(takt_report *r, const takt_plan *plan, const takt_session *s,
                        size_t minimum)
{
    if (r->is_json)
        memory_json(r, plan, s, minimum);
    else
        memory_text(r, plan, s, minimum);
}
