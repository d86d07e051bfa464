/* measure_advice.c - the sentences of a profile: one cause, one figure, one remedy, for the steps
 * that make 80 % of the time. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/measure.h"
#include "base/sort.h"

enum { FIGURE = TAKT_FIGURE_TEXT, MOST = 8 };

typedef struct finding {
    const char *cause;
    double gain; /* of the run, at most: 0 to 1 */
    char text[768];
} finding;

/* The element-wise step that reads what `row` writes, and might be fused with it; or NULL. */
static const takt_profile_row *follower(const takt_profile *p, const takt_profile_row *row)
{
    const size_t at = (size_t)(row - p->rows);
    for (size_t i = at + 1; i < p->plan->step_count; i++) {
        const takt_step *s = p->rows[i].step;
        if (strcmp(s->kind, "map") != 0)
            continue;
        for (size_t k = 0; k < s->in_count; k++)
            if (row->step->out_count > 0 && s->in[k].buffer == row->step->out[0].buffer)
                return &p->rows[i];
    }
    return NULL;
}

static double gain_of(const takt_profile_row *row)
{
    const double reachable = 1 - fmin(1, row->percent / 100);
    return row->share * reachable;
}

static void explain_compute(const takt_profile_row *row, finding *f)
{
    char a[FIGURE], b[FIGURE];
    f->cause = "arithmetic";
    f->gain = gain_of(row);
    snprintf(f->text, sizeof f->text,
             "%s: compute-bound at %.0f %% of this machine's %s on %d thread%s; at the ceiling it "
             "would take %s, which saves at most %.1f %% of the run%s",
             row->step->name, row->percent, takt_figure_scaled(row->roof.gflops * 1e9, "FLOP/s", a),
             row->roof.threads, row->roof.threads > 1 ? "s" : "",
             takt_figure_time(row->roof.floor_ns, b), 100 * f->gain,
             row->percent > 75 ? ": only less arithmetic (int8, pruning) helps much" : "");
}

static void explain_memory(const takt_profile *p, const takt_profile_row *row, finding *f)
{
    char a[FIGURE], b[FIGURE];
    const takt_profile_row *next = follower(p, row);
    f->cause = row->roof.level < TAKT_LEVELS - 1 ? "cache" : "bandwidth";
    f->gain = gain_of(row);
    const int length = snprintf(
        f->text, sizeof f->text,
        "%s: memory-bound (%s) at %.0f %% of this machine's %s; it moves %s", row->step->name,
        row->bound, row->percent, takt_figure_scaled(row->roof.gbs * 1e9, "B/s", a),
        takt_figure_scaled(row->roof.bytes, "B", b));
    if (length < 0 || (size_t)length >= sizeof f->text)
        return;
    char *end = f->text + length;
    const size_t room = sizeof f->text - (size_t)length;
    if (next != NULL)
        snprintf(end, room, "; fusing the following %s would save at most %.1f %% of the run",
                 next->step->name, 100 * next->share);
    else if (row->percent > 75)
        snprintf(end, room, "; only fewer bytes (a larger batch per weight, f16, int8) help");
    else
        snprintf(end, room, "; at the ceiling the run would be %.1f %% shorter", 100 * f->gain);
}

static void explain(const takt_profile *p, const takt_profile_row *row, finding *f)
{
    char a[FIGURE];
    const bool is_generic = row->step->kernel == NULL || strcmp(row->step->kernel, "generic") == 0;
    *f = (finding){.cause = "overhead"};
    if (is_generic && row->percent < 50) {
        f->cause = "kernel";
        f->gain = gain_of(row);
        snprintf(f->text, sizeof f->text, "%s: no fast kernel%s%s; at the ceiling it would take %s",
                 row->step->name, row->step->note != NULL ? ": " : "",
                 row->step->note != NULL ? row->step->note : "",
                 takt_figure_time(row->roof.floor_ns, a));
    } else if (strcmp(row->bound, "overhead") == 0) {
        f->gain = gain_of(row);
        snprintf(f->text, sizeof f->text,
                 "%s: mostly overhead (%s for %.0f FLOP); a larger batch would spread it",
                 row->step->name, takt_figure_time(row->median_ns, a), row->roof.flops);
    } else if (strcmp(row->bound, "compute") == 0) {
        explain_compute(row, f);
    } else {
        explain_memory(p, row, f);
    }
}

static bool is_slower(const void *a, const void *b)
{
    const takt_profile_row *x = a, *y = b;
    return x->median_ns != y->median_ns ? x->median_ns > y->median_ns : x < y;
}

/* Time that no step accounts for, and workers that have nothing to do. */
static void explain_rest(const takt_profile *p, takt_report *r)
{
    double alone = 0;
    for (size_t i = 0; i < p->plan->step_count; i++)
        alone += p->rows[i].roof.threads == 1 ? p->rows[i].share : 0;
    if (!r->is_json && p->plan->threads > 1 && alone > 0.2)
        takt_text_add(&r->text,
                      "- %.0f %% of the time is spent in steps that are too small to "
                      "share between threads\n",
                      100 * alone);
}

static void say(takt_report *r, const takt_profile_row *row, const finding *f)
{
    if (!r->is_json) {
        takt_text_add(&r->text, "- %s\n", f->text);
        return;
    }
    takt_json_open(&r->json, '{');
    takt_report_pair(r, "step", row->step->name);
    takt_report_pair(r, "cause", f->cause);
    takt_json_key(&r->json, "largest_gain");
    takt_json_number(&r->json, f->gain);
    takt_report_pair(r, "text", f->text);
    takt_json_close(&r->json, '}');
}

void takt_profile_advice(const takt_profile *p, takt_report *r)
{
    takt_arena arena;
    double seen = 0;
    if (!p->has_ceilings || p->plan->step_count == 0)
        return;
    takt_arena_init(&arena, p->ctx);
    const void **order = takt_arena_array(&arena, p->plan->step_count, sizeof *order);
    r->text.status = order != NULL ? r->text.status : TAKT_ERR_MEMORY;
    for (size_t i = 0; order != NULL && i < p->plan->step_count; i++)
        order[i] = &p->rows[i];
    if (order != NULL)
        takt_sort_pointers(order, p->plan->step_count, is_slower);
    if (r->is_json) {
        takt_json_key(&r->json, "findings");
        takt_json_open(&r->json, '[');
    } else {
        takt_text_add(&r->text, "\n");
    }
    for (size_t i = 0; order != NULL && i < p->plan->step_count && i < MOST && seen < 0.8; i++) {
        const takt_profile_row *row = order[i];
        finding f;
        explain(p, row, &f);
        say(r, row, &f);
        seen += row->share;
    }
    explain_rest(p, r);
    if (r->is_json)
        takt_json_close(&r->json, ']');
    takt_arena_deinit(&arena);
}
