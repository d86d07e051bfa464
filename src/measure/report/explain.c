/* explain.c - what fused with what, what did not, and why. */
#include <takt/plan.h>

#include <string.h>

#include "base/near.h"
#include "measure/report/report.h"
#include "plan/finish.h"

/* True if the step computes a node of that name, or one that comes from it. */
static bool concerns(const takt_plan *plan, const takt_step *s, const char *node)
{
    if (node == NULL)
        return true;
    for (size_t i = 0; i < s->node_count; i++) {
        const takt_node *n = &plan->graph->nodes[s->nodes[i]];
        if (n->name != NULL && strcmp(n->name, node) == 0)
            return true;
        for (const takt_origin *o = n->origin; o != NULL; o = o->next)
            if (strcmp(o->name, node) == 0)
                return true;
    }
    return strcmp(s->name, node) == 0;
}

static size_t steps_about(const takt_plan *plan, const char *node)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->step_count; i++)
        count += concerns(plan, &plan->steps[i], node);
    return count;
}

static bool is_called(const takt_plan *plan, takt_id id, const char *name)
{
    const takt_node *n = &plan->graph->nodes[id];
    if (strcmp(takt_node_label(n), name) == 0)
        return true;
    for (const takt_origin *o = n->origin; o != NULL; o = o->next)
        if (strcmp(o->name, name) == 0)
            return true;
    return false;
}

/* ---- fusions ---- */

static bool is_about(const takt_plan *plan, const takt_fusion *f, const char *node)
{
    return node == NULL || is_called(plan, f->node, node) || is_called(plan, f->from, node);
}

static void fusion_row(takt_table *t, const takt_plan *plan, const takt_fusion *f)
{
    char figure[TAKT_FIGURE_TEXT];
    const takt_node *n = &plan->graph->nodes[f->node], *from = &plan->graph->nodes[f->from];
    takt_table_cell(t, "%s", f->refused == NULL ? "+" : "-");
    takt_table_cell(t, "%s (%s)", takt_node_label(n), n->op->name);
    takt_table_cell(t, "%s (%s)", takt_node_label(from), from->op->name);
    takt_table_cell(t, "%.2f", f->gain);
    takt_table_cell(t, "%s", takt_figure(takt_whole(f->bytes), figure));
    takt_table_cell(t, "%s", f->refused == NULL ? "fused" : f->refused);
}

static void fusions_text(takt_report *r, const takt_plan *plan, const char *node)
{
    static const char *const heads[] = {"", "node", "after", "gain", "bytes saved", ""};
    takt_table t;
    size_t count = 0;
    takt_table_init(&t, r->ctx, "lllrrl");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        takt_table_cell(&t, "%s", heads[i]);
    takt_table_rule(&t);
    for (size_t i = 0; i < plan->fusion_count; i++)
        if (is_about(plan, &plan->fusions[i], node)) {
            fusion_row(&t, plan, &plan->fusions[i]);
            count++;
        }
    takt_text_add(&r->text,
                  "%zu fusion%s possible; gain: estimated time apart over time together\n", count,
                  count == 1 ? "" : "s");
    if (count > 0)
        takt_table_print(&t, &r->text);
    takt_table_deinit(&t);
}

static void fusions_json(takt_report *r, const takt_plan *plan, const char *node)
{
    takt_json_put_open(&r->json, "fusions", '[');
    for (size_t i = 0; i < plan->fusion_count; i++) {
        const takt_fusion *f = &plan->fusions[i];
        if (!is_about(plan, f, node))
            continue;
        takt_json_open(&r->json, '{');
        takt_report_pair(r, "node", takt_node_label(&plan->graph->nodes[f->node]));
        takt_report_pair(r, "op", plan->graph->nodes[f->node].op->name);
        takt_report_pair(r, "after", takt_node_label(&plan->graph->nodes[f->from]));
        takt_report_pair(r, "after_op", plan->graph->nodes[f->from].op->name);
        takt_json_put_number(&r->json, "gain", f->gain);
        takt_report_count(r, "bytes_saved", takt_whole(f->bytes));
        takt_json_put_bool(&r->json, "fused", f->refused == NULL);
        takt_report_pair(r, "refused", f->refused);
        takt_json_close(&r->json, '}');
    }
    takt_json_close(&r->json, ']');
}

/* ---- steps ---- */

static void node_text(takt_report *r, const takt_plan *plan, takt_id id)
{
    char type[TAKT_TYPE_TEXT];
    const takt_node *n = &plan->graph->nodes[id];
    takt_text_add(&r->text, "     %s: %s -> %s", takt_node_label(n), n->op->name,
                  takt_type_text(plan->graph->dims, n->type, type));
    if (n->origin != NULL && n->origin->line > 0)
        takt_text_add(&r->text, " (line %d)", n->origin->line);
    takt_text_add(&r->text, "\n");
}

static void write_text(takt_report *r, const takt_plan *plan, const char *node)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *s = &plan->steps[i];
        if (!concerns(plan, s, node))
            continue;
        takt_text_add(&r->text, "%zu  %s: %s step of %zu node%s\n", i, s->name, s->kind,
                      s->node_count, s->node_count == 1 ? "" : "s");
        for (size_t k = 0; k < s->node_count; k++)
            node_text(r, plan, s->nodes[k]);
        const char *weights = takt_step_weights(plan, s);
        if (weights != NULL)
            takt_text_add(&r->text, "     weights are stored in %s\n", weights);
        if (s->note != NULL)
            takt_text_add(&r->text, "     note: %s\n", s->note);
    }
    fusions_text(r, plan, node);
}

static void step_json(takt_report *r, const takt_plan *plan, size_t index)
{
    const takt_step *s = &plan->steps[index];
    takt_json_open(&r->json, '{');
    takt_report_count(r, "index", index);
    takt_report_pair(r, "name", s->name);
    takt_report_pair(r, "kind", s->kind);
    takt_report_pair(r, "weights", takt_step_weights(plan, s));
    takt_report_pair(r, "note", s->note);
    takt_json_put_open(&r->json, "nodes", '[');
    for (size_t k = 0; k < s->node_count; k++) {
        char type[TAKT_TYPE_TEXT];
        const takt_node *n = &plan->graph->nodes[s->nodes[k]];
        takt_json_open(&r->json, '{');
        takt_report_pair(r, "name", takt_node_label(n));
        takt_report_pair(r, "op", n->op->name);
        takt_report_pair(r, "type", takt_type_text(plan->graph->dims, n->type, type));
        takt_json_close(&r->json, '}');
    }
    takt_json_close(&r->json, ']');
    takt_json_close(&r->json, '}');
}

static void write_json(takt_report *r, const takt_plan *plan, const char *node)
{
    takt_json_put_open(&r->json, "steps", '[');
    for (size_t i = 0; i < plan->step_count; i++)
        if (concerns(plan, &plan->steps[i], node))
            step_json(r, plan, i);
    takt_json_close(&r->json, ']');
    fusions_json(r, plan, node);
}

static takt_status fail_unknown(const takt_plan *plan, const char *node)
{
    takt_nearest near = takt_nearest_to(node);
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *s = &plan->steps[i];
        takt_nearest_try(&near, s->name);
        for (size_t k = 0; k < s->node_count; k++)
            for (const takt_origin *o = plan->graph->nodes[s->nodes[k]].origin; o != NULL;
                 o = o->next)
                takt_nearest_try(&near, o->name);
    }
    takt_fail(plan->ctx, TAKT_E_NAME, "no step computes a node called %s", node);
    return near.best != NULL
               ? takt_fail_hint(plan->ctx, "did you mean %.100s?", near.best)
               : takt_fail_hint(plan->ctx, "without a name all steps and their nodes are listed");
}

takt_status takt_plan_explain(const takt_plan *plan, const char *node, takt_format format,
                              takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, plan);
    takt_report r;
    if (steps_about(plan, node) == 0 && node != NULL)
        return fail_unknown(plan, node);
    takt_report_begin(&r, plan->ctx, format);
    if (r.is_json)
        write_json(&r, plan, node);
    else
        write_text(&r, plan, node);
    return takt_report_end(&r, TAKT_OK, sink, user);
}
