/* guards.c - for a plan with ranges: the sizes at which steps change how they compute.
 *
 * Plans of some sizes are compared; where two differ, the size where the change begins is found by
 * bisection. A change that reverts between two sizes is not seen.
 */
#include <stdio.h>
#include <string.h>

#include "api/ranges.h"
#include "measure/report/report.h"
#include "plan/resize.h"

enum { MOST_PLANS = 40, MOST_ROWS = 24 };

typedef struct walk {
    takt_report *r;
    takt_table *t;
    takt_plan *top;
    size_t name;
    int64_t *cells; /* of the size program */
    int plans, rows, left_out;
} walk;

static takt_status plan_at(walk *w, int64_t size, takt_plan **plan)
{
    memcpy(w->cells, w->top->sizes, w->top->name_count * sizeof *w->cells);
    w->cells[w->name] = size;
    w->plans++;
    takt_plan_clamp(w->top, w->cells, NULL, 0);
    return takt_plan_at(w->top, w->cells, true, plan);
}

static bool is_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_step(const takt_step *a, const takt_step *b)
{
    return is_text(a->name, b->name) && is_text(a->kind, b->kind) && is_text(a->kernel, b->kernel);
}

static bool same_plan(const takt_plan *a, const takt_plan *b)
{
    bool same = a->step_count == b->step_count;
    for (size_t i = 0; same && i < a->step_count; i++)
        same = same_step(&a->steps[i], &b->steps[i]);
    return same;
}

/* The step of that name; preferably the one at the same position. */
static const takt_step *find(const takt_plan *plan, const takt_step *like, size_t place)
{
    if (place < plan->step_count && is_text(plan->steps[place].name, like->name))
        return &plan->steps[place];
    for (size_t i = 0; i < plan->step_count; i++)
        if (is_text(plan->steps[i].name, like->name))
            return &plan->steps[i];
    return NULL;
}

static void write_change(walk *w, int64_t size, const takt_step *was, const takt_step *is)
{
    char at[140], old[100] = "-", now[100] = "-";
    if (++w->rows > MOST_ROWS) {
        w->left_out++;
        return;
    }
    snprintf(at, sizeof at, "%.100s=%lld", takt_dims_name(w->top->graph->dims, w->name),
             (long long)size);
    if (was != NULL)
        snprintf(old, sizeof old, "%.40s %.50s", was->kind, was->kernel);
    if (is != NULL)
        snprintf(now, sizeof now, "%.40s %.50s", is->kind, is->kernel);
    const char *name = is != NULL ? is->name : was->name;
    if (w->r->is_json) {
        takt_json_open(&w->r->json, '{');
        takt_report_pair(w->r, "from", at);
        takt_report_pair(w->r, "step", name != NULL ? name : "");
        takt_report_pair(w->r, "below", old);
        takt_report_pair(w->r, "is", now);
        takt_json_close(&w->r->json, '}');
        return;
    }
    takt_table_cell(w->t, "%s", at);
    takt_table_cell(w->t, "%s", name != NULL ? name : "");
    takt_table_cell(w->t, "%s", old);
    takt_table_cell(w->t, "%s", now);
}

static void write_changes(walk *w, int64_t size, const takt_plan *below, const takt_plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *was = find(below, &plan->steps[i], i);
        if (was == NULL || !same_step(was, &plan->steps[i]))
            write_change(w, size, was, &plan->steps[i]);
    }
    for (size_t i = 0; i < below->step_count; i++)
        if (find(plan, &below->steps[i], i) == NULL)
            write_change(w, size, &below->steps[i], NULL);
}

/* Finds where plans begin to differ; `a` is below `b`. */
static takt_status look_between(walk *w, int64_t a, takt_plan *low, int64_t b, takt_plan *high)
{
    takt_plan *held = low, *middle;
    takt_status status = TAKT_OK;
    takt_plan_retain_internal(held);
    while (b - a > 1 && w->plans < MOST_PLANS && status == TAKT_OK) {
        const int64_t half = a + (b - a) / 2;
        status = plan_at(w, half, &middle);
        if (status != TAKT_OK)
            break;
        if (same_plan(held, middle)) {
            takt_plan_release_internal(held);
            held = middle;
            a = half;
            continue;
        }
        if (!same_plan(middle, high)) /* there are several between the two */
            status = look_between(w, a, held, half, middle);
        if (status == TAKT_OK && same_plan(middle, high)) {
            b = half;
            takt_plan_release_internal(middle);
            continue;
        }
        takt_plan_release_internal(held);
        held = middle;
        a = half;
    }
    if (status == TAKT_OK)
        write_changes(w, b, held, high);
    takt_plan_release_internal(held);
    return status;
}

static takt_status look(walk *w)
{
    const takt_size_range *range = &w->top->ranges[w->name];
    takt_plan *before = NULL, *now;
    int64_t a = range->low;
    takt_status status = plan_at(w, a, &before);
    for (int64_t step = 1; status == TAKT_OK && a < range->high; step *= 2) {
        const int64_t b = range->high - a > step ? a + step : range->high;
        status = plan_at(w, b, &now);
        if (status != TAKT_OK)
            break;
        if (!same_plan(before, now))
            status = look_between(w, a, before, b, now);
        takt_plan_release_internal(before);
        before = now;
        a = b;
    }
    takt_plan_release_internal(before);
    return status;
}

takt_status takt_report_guards(takt_report *r, takt_plan *top, int64_t *cells)
{
    static const char *const heads[] = {"from", "step", "below", "from there on"};
    takt_status status = TAKT_OK;
    takt_table t;
    walk w = {.r = r, .t = &t, .top = top, .cells = cells};
    takt_table_init(&t, r->ctx, "llll");
    if (r->is_json)
        takt_json_put_open(&r->json, "changes", '[');
    for (size_t i = 0; !r->is_json && i < sizeof heads / sizeof *heads; i++)
        takt_table_cell(&t, "%s", heads[i]);
    if (!r->is_json)
        takt_table_rule(&t);
    for (size_t i = 0; i < top->name_count && status == TAKT_OK; i++) {
        w.name = i;
        w.plans = 0;
        if (top->ranges[i].low < top->ranges[i].high && !top->ranges[i].is_length)
            status = look(&w);
    }
    if (r->is_json)
        takt_json_close(&r->json, ']');
    else if (w.rows > 0) {
        takt_text_add(&r->text, "steps that change with sizes:\n");
        takt_table_print(&t, &r->text);
    }
    if (!r->is_json && w.left_out > 0)
        takt_text_add(&r->text, "and %d more\n", w.left_out);
    takt_table_deinit(&t);
    return status;
}
