/* ranges.c - for a plan with ranges: the memory reserved, and the memory used at some sizes. */
#include <takt/plan.h>

#include <stdio.h>
#include <string.h>

#include "api/ranges.h"
#include "base/mem.h"
#include "measure/report/report.h"
#include "plan/basis.h"
#include "plan/resize.h"

enum { MOST_NAMES = 64, SHOWN = 5 /* sizes of a name */ };

/* Size `k` of SHOWN: both ends, and the largest powers of two between them. */
static int64_t shown(const takt_size_range *r, int k)
{
    int64_t size = r->high;
    if (k == 0)
        return r->low;
    for (; k < SHOWN - 1 && size > r->low; k++)
        size = size / 2 > r->low ? size / 2 : r->low;
    return size;
}

static void write_row(takt_report *r, takt_table *t, const takt_plan *plan, const char *what)
{
    char arena[TAKT_FIGURE_TEXT], io[TAKT_FIGURE_TEXT];
    if (r->is_json) {
        takt_json_open(&r->json, '{');
        takt_report_pair(r, "at", what);
        takt_report_count(r, "arena", plan->arena_bytes);
        takt_report_count(r, "inputs_outputs", plan->io_bytes);
        takt_report_count(r, "steps", plan->step_count);
        takt_json_close(&r->json, '}');
        return;
    }
    takt_table_cell(t, "%s", what);
    takt_table_cell(t, "%s", takt_figure(plan->arena_bytes, arena));
    takt_table_cell(t, "%s", takt_figure(plan->io_bytes, io));
    takt_table_cell(t, "%zu", plan->step_count);
}

/* One name takes all values of its range; the others are at their maximum. */
static takt_status write_name(takt_report *r, takt_table *t, takt_plan *top, size_t name,
                              int64_t *sizes)
{
    int64_t last = -1;
    char what[128];
    memcpy(sizes, top->sizes, top->name_count * sizeof *sizes);
    for (int k = 0; k < SHOWN; k++) {
        takt_plan *plan;
        sizes[name] = shown(&top->ranges[name], k);
        if (sizes[name] == last)
            continue;
        last = sizes[name];
        takt_plan_clamp(top, sizes, NULL, 0);
        TAKT_TRY(takt_plan_at(top, sizes, true, &plan));
        snprintf(what, sizeof what, "%.100s=%lld", takt_dims_name(top->graph->dims, name),
                 (long long)sizes[name]);
        write_row(r, t, plan, what);
        takt_plan_release_internal(plan);
    }
    return TAKT_OK;
}

/* ---- results whose size values decide ---- */

/* Dimension `d` at the highest sizes; `*is_found`: it depends on values. */
static int64_t highest(const takt_plan *plan, takt_dim d, bool *is_found)
{
    int64_t most[MOST_NAMES], least[MOST_NAMES];
    takt_dim high = 0, low = 0;
    for (size_t i = 0; i < plan->name_count; i++) {
        most[i] = plan->ranges[i].high;
        least[i] = plan->ranges[i].is_length ? 0 : most[i];
    }
    takt_dims *dims = plan->graph->dims;
    if (takt_dim_substitute(dims, d, most, plan->name_count, &high) != TAKT_OK ||
        takt_dim_substitute(dims, d, least, plan->name_count, &low) != TAKT_OK)
        low = high;
    *is_found = high != low;
    return high;
}

/* "y: i64[<= 8400, 3]" */
static void write_found(takt_report *r, const takt_plan *plan)
{
    const takt_graph *g = plan->basis->template->graph;
    for (size_t i = 0; plan->latest != NULL && i < g->output_count; i++) {
        const takt_type *type = takt_type_of(g, g->outputs[i].id);
        if (plan->latest[g->outputs[i].id] == 0)
            continue;
        takt_text_add(&r->text, "%s: %s[", g->outputs[i].name, takt_dtype_name(type->dtype));
        for (int d = 0; d < type->rank; d++) {
            bool is_found;
            const int64_t size = highest(plan, type->dim[d], &is_found);
            takt_text_add(&r->text, "%s%s%lld", d > 0 ? ", " : "", is_found ? "<= " : "",
                          (long long)size);
        }
        takt_text_add(&r->text, "], as large as a run finds it\n");
    }
}

static void write_heads(takt_report *r, takt_table *t, const takt_plan *plan)
{
    static const char *const heads[] = {"at", "arena", "inputs, outputs", "steps"};
    takt_text_add(&r->text, "sizes: ");
    for (size_t i = 0, count = 0; i < plan->name_count; i++)
        if (plan->ranges[i].low < plan->ranges[i].high)
            takt_text_add(&r->text, "%s%s %lld to %lld", count++ > 0 ? ", " : "",
                          takt_dims_name(plan->graph->dims, i), (long long)plan->ranges[i].low,
                          (long long)plan->ranges[i].high);
    takt_text_add(&r->text, "; the steps and the memory above are those of the largest, which is "
                            "reserved\n");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        takt_table_cell(t, "%s", heads[i]);
    takt_table_rule(t);
}

/* Memory that the plans for the sizes above add to that of the largest. */
static void write_tables(takt_report *r, const takt_plan *plan, const takt_plan_info *before)
{
    takt_plan_info after;
    char bytes[TAKT_FIGURE_TEXT], peak[TAKT_FIGURE_TEXT];
    takt_plan_query(plan, &after);
    const uint64_t more = after.held > before->held ? after.held - before->held : 0;
    if (r->is_json) {
        takt_report_count(r, "sizes_tables", more);
        takt_report_count(r, "sizes_planning_peak", after.planning_peak);
        return;
    }
    takt_text_add(&r->text,
                  "their tables: %s, kept with the plan; loading and planning with them: at most "
                  "%s at once\n",
                  takt_figure(more, bytes), takt_figure(after.planning_peak, peak));
}

takt_status takt_report_ranges(takt_report *r, const takt_plan *plan)
{
    takt_plan_info before;
    takt_plan *top = (takt_plan *)(uintptr_t)plan; /* its cache is not part of its value */
    takt_status status = TAKT_OK;
    takt_table t;
    void *cells;
    if (plan->ranges == NULL || plan->name_count > MOST_NAMES)
        return TAKT_OK;
    const size_t count = takt_sizes_cells(&plan->basis->template->sizes) + 1;
    TAKT_TRY(takt_mem_zero(r->ctx, count, sizeof(int64_t), "sizes", &cells));
    takt_table_init(&t, r->ctx, "lrrr");
    takt_plan_query(plan, &before);
    if (r->is_json)
        takt_json_put_open(&r->json, "sizes", '[');
    else
        write_heads(r, &t, plan);
    for (size_t i = 0; i < plan->name_count && status == TAKT_OK; i++)
        if (plan->ranges[i].low < plan->ranges[i].high && !plan->ranges[i].is_length)
            status = write_name(r, &t, top, i, cells);
    if (r->is_json)
        takt_json_close(&r->json, ']');
    else
        takt_table_print(&t, &r->text);
    write_tables(r, plan, &before);
    if (status == TAKT_OK)
        status = takt_report_touched(r, top, cells);
    if (status == TAKT_OK)
        status = takt_report_guards(r, top, cells);
    if (!r->is_json)
        write_found(r, plan);
    takt_table_deinit(&t);
    takt_mem_put(r->ctx, cells, count * sizeof(int64_t));
    return status;
}
