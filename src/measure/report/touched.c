/* touched.c - for a plan with ranges: the bytes of every size, as a formula.
 *
 * If the range and the plan are small enough, a plan is made for each size, and the formula is
 * exact. Otherwise it is a bound from evenly spaced sizes.
 */
#include <stdio.h>
#include <string.h>

#include "api/ranges.h"
#include "base/mem.h"
#include "measure/report/formula.h"
#include "measure/report/report.h"
#include "plan/resize.h"

/* Steps of all plans together; a step takes some 30,000 instructions. */
enum { MOST_STEPS = 1 << 16, MOST_SIZES = 4096, FEWEST = 33, TEXT = 1024 };

typedef struct survey {
    takt_report *r;
    takt_plan *top;
    size_t name;
    int64_t *cells; /* of the size program */
    int64_t low, step;
    size_t count;
    int64_t *arena, *io; /* one per size */
} survey;

static takt_status plan_sizes(survey *s)
{
    for (size_t i = 0; i < s->count; i++) {
        takt_plan *plan;
        memcpy(s->cells, s->top->sizes, s->top->name_count * sizeof *s->cells);
        s->cells[s->name] = s->low + (int64_t)i * s->step;
        takt_plan_clamp(s->top, s->cells, NULL, 0);
        TAKT_TRY(takt_plan_at(s->top, s->cells, true, &plan));
        s->arena[i] = (int64_t)plan->arena_bytes;
        s->io[i] = (int64_t)plan->io_bytes;
        takt_plan_release_internal(plan);
    }
    return TAKT_OK;
}

/* Every size, or the top and some evenly spaced below it. */
static void choose_sizes(survey *s)
{
    const takt_size_range *range = &s->top->ranges[s->name];
    const uint64_t sizes = (uint64_t)(range->high - range->low) + 1;
    const uint64_t steps = s->top->step_count > 0 ? s->top->step_count : 1;
    uint64_t most = MOST_STEPS / steps;
    most = most < FEWEST ? FEWEST : most > MOST_SIZES ? MOST_SIZES : most;
    s->step = sizes <= most ? 1 : (int64_t)((sizes - 1) / (most - 1)) + 1;
    s->count = (size_t)((uint64_t)(range->high - range->low) / (uint64_t)s->step) + 1;
    s->low = range->high - (int64_t)(s->count - 1) * s->step;
}

static void write_json(const survey *s, const takt_formula *f, const char *of)
{
    takt_json_writer *w = &s->r->json;
    char text[TEXT];
    const char *name = takt_dims_name(s->top->graph->dims, s->name);
    takt_json_open(w, '{');
    takt_report_pair(s->r, "of", of);
    takt_report_pair(s->r, "by", name);
    takt_json_put_bool(w, "exact", f->is_exact);
    takt_report_count(s->r, "planned_sizes", s->count);
    takt_json_put_open(w, "pieces", '[');
    for (size_t i = 0; i < f->count; i++) {
        const takt_piece *p = &f->at[i];
        takt_piece_write(p, name, text, sizeof text);
        takt_json_open(w, '{');
        takt_json_put_integer(w, "from", p->from);
        takt_json_put_integer(w, "to", p->to);
        takt_report_pair(s->r, "formula", text);
        takt_json_put_integer(w, "period", p->period);
        const double *const lists[] = {p->square, p->linear, p->constant};
        static const char *const keys[] = {"square", "linear", "constant"};
        for (size_t k = 0; k < 3; k++) {
            takt_json_put_open(w, keys[k], '[');
            for (int r = 0; r < p->period; r++)
                takt_json_number(w, lists[k][r]);
            takt_json_close(w, ']');
        }
        takt_json_close(w, '}');
    }
    takt_json_close(w, ']');
    takt_json_close(w, '}');
}

static void write_text(const survey *s, const takt_formula *f, const char *of)
{
    char text[TEXT];
    takt_text *to = &s->r->text;
    const char *name = takt_dims_name(s->top->graph->dims, s->name);
    takt_text_add(to, "  %s by %.100s%s\n", of, name,
                  f->is_exact    ? ""
                  : s->step == 1 ? ", an upper bound of every size"
                                 : ", an upper bound of the sizes that were planned");
    for (size_t i = 0; i < f->count; i++) {
        const takt_piece *p = &f->at[i];
        takt_piece_write(p, name, text, sizeof text);
        if (p->from == p->to)
            takt_text_add(to, "    %lld: %s\n", (long long)p->from, text);
        else
            takt_text_add(to, "    %lld to %lld: %s\n", (long long)p->from, (long long)p->to, text);
    }
}

static void write_formulas(const survey *s)
{
    takt_formula f;
    static const char *const texts[] = {"arena", "inputs, outputs"};
    static const char *const keys[] = {"arena", "inputs_outputs"};
    for (int i = 0; i < 2; i++) {
        takt_formula_find(&f, i == 0 ? s->arena : s->io, s->count, s->low, s->step);
        if (s->r->is_json)
            write_json(s, &f, keys[i]);
        else
            write_text(s, &f, texts[i]);
    }
}

static takt_status write_name(survey *s)
{
    void *values;
    choose_sizes(s);
    const size_t room = 2 * s->count * sizeof *s->arena;
    TAKT_TRY(takt_mem_zero(s->r->ctx, 2 * s->count, sizeof *s->arena, "bytes of sizes", &values));
    s->arena = values;
    s->io = s->arena + s->count;
    const takt_status status = plan_sizes(s);
    if (status == TAKT_OK)
        write_formulas(s);
    else if (!s->r->is_json)
        takt_text_add(&s->r->text, "  no formula by %.100s, at %lld: %s\n",
                      takt_dims_name(s->top->graph->dims, s->name), (long long)s->cells[s->name],
                      takt_last_error_info(s->r->ctx)->message);
    takt_mem_put(s->r->ctx, values, room);
    return status == TAKT_ERR_MEMORY ? status
                                     : TAKT_OK; /* a size without a plan is not a failure */
}

takt_status takt_report_touched(takt_report *r, takt_plan *top, int64_t *cells)
{
    takt_status status = TAKT_OK;
    size_t names = 0;
    for (size_t i = 0; i < top->name_count; i++)
        names += top->ranges[i].low < top->ranges[i].high && !top->ranges[i].is_length;
    if (names == 0)
        return TAKT_OK;
    if (r->is_json)
        takt_json_put_open(&r->json, "formulas", '[');
    else
        takt_text_add(&r->text, "bytes at a size%s:\n",
                      names > 1 ? ", the other sizes at their largest" : "");
    for (size_t i = 0; i < top->name_count && status == TAKT_OK; i++) {
        survey s = {.r = r, .top = top, .name = i, .cells = cells};
        if (top->ranges[i].low < top->ranges[i].high && !top->ranges[i].is_length)
            status = write_name(&s);
    }
    if (r->is_json)
        takt_json_close(&r->json, ']');
    return status;
}
