/* bottlenecks.c - the steps of a result that take 80 % of its time, what bounds them, and what to
 * do. */
#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "measure/bench.h"

static bool is_slower(const void *a, const void *b)
{
    const takt_bench_op *x = a, *y = b;
    return x->time_us != y->time_us ? x->time_us > y->time_us : x < y;
}

/* The steps that make up 80 % of the time, slowest first; NULL if out of memory. */
static const takt_bench_op **costly(takt_arena *arena, const takt_bench_row *r, size_t *count)
{
    double seen = 0;
    const void **order = takt_arena_array(arena, r->op_count + 1, sizeof *order);
    for (size_t i = 0; order != NULL && i < r->op_count; i++)
        order[i] = &r->ops[i];
    if (order != NULL)
        takt_sort_pointers(order, r->op_count, is_slower);
    for (*count = 0; order != NULL && *count < r->op_count && seen < 0.8; ++*count)
        seen += ((const takt_bench_op *)order[*count])->share;
    return (const takt_bench_op **)order;
}

/* Share of the whole run that would be saved if the step reached its ceiling. */
static double gain_of(const takt_bench_op *op)
{
    return op->bound != NULL ? op->share * fmax(0, 1 - op->percent / 100) : 0;
}

static const char *remedy_of(const takt_bench_op *op)
{
    if (op->bound == NULL)
        return "measure again where the ceilings are known (takt benchmark system --measure)";
    if (op->limit == TAKT_BOUND_OVERHEAD)
        return "give it more to do at once: a larger batch, or fewer and larger layers";
    if (op->percent >= 80 && op->limit == TAKT_BOUND_COMPUTE)
        return "it is near what the units can do: more threads, --numerics fast, or less work";
    if (op->percent >= 80)
        return "it is near what memory can do: move fewer bytes, by fusion or --precision bf16";
    if (op->limit == TAKT_BOUND_COMPUTE)
        return "it computes below its peak: takt profile names the cause, such as sizes that leave "
               "registers or threads idle";
    return "it waits for data below the bandwidth there is: takt profile names the cause, such as "
           "threads or strides";
}

static void add_step(takt_text *text, const takt_bench_op *op, bool with_remedy)
{
    takt_text_add(text, "- %s: %.1f %% of the time", op->name, 100 * op->share);
    if (op->bound != NULL)
        takt_text_add(text, ", bound by %s at %.0f %% of the ceiling; at most %.1f %% to gain",
                      op->bound, op->percent, 100 * gain_of(op));
    takt_text_add(text, "\n");
    if (with_remedy)
        takt_text_add(text, "    %s\n", remedy_of(op));
}

void takt_bottlenecks_text(const takt_bench *b, const takt_bench_row *r, bool with_remedies,
                           takt_text *text)
{
    takt_arena arena;
    size_t count;
    takt_arena_init(&arena, b->ctx);
    const takt_bench_op **steps = costly(&arena, r, &count);
    for (size_t i = 0; steps != NULL && i < count; i++)
        add_step(text, steps[i], with_remedies);
    if (steps == NULL)
        text->status = TAKT_ERR_MEMORY;
    takt_arena_deinit(&arena);
}

static void step_json(takt_json_writer *w, const takt_bench_op *op)
{
    takt_json_open(w, '{');
    takt_json_put_string(w, "name", op->name);
    takt_json_put_number(w, "share", op->share);
    takt_json_key(w, "bound");
    if (op->bound != NULL)
        takt_json_string(w, op->bound);
    else
        takt_json_null(w);
    takt_json_put_number(w, "pct_of_ceiling", op->percent);
    takt_json_put_number(w, "largest_gain", gain_of(op));
    takt_json_put_string(w, "remedy", remedy_of(op));
    takt_json_close(w, '}');
}

static void case_json(takt_json_writer *w, const takt_bench *b, size_t index)
{
    char name[128];
    takt_arena arena;
    size_t count;
    takt_arena_init(&arena, b->ctx);
    const takt_bench_op **steps = costly(&arena, &b->rows[index], &count);
    takt_bench_case_name(b, index, name, sizeof name);
    takt_json_open(w, '{');
    takt_json_put_string(w, "case", name);
    takt_json_put_number(w, "median_ms", b->rows[index].timing.stats.median * 1e-6);
    takt_json_put_open(w, "steps", '[');
    for (size_t i = 0; steps != NULL && i < count; i++)
        step_json(w, steps[i]);
    takt_json_close(w, ']');
    takt_json_close(w, '}');
    takt_arena_deinit(&arena);
}

static void write_json(const takt_bench *b, takt_text *text)
{
    takt_json_writer w;
    takt_json_begin(&w, text, true);
    takt_json_open(&w, '{');
    takt_json_put_string(&w, "schema", "takt-bottlenecks/1");
    takt_json_put_string(&w, "model", b->model != NULL ? b->model : "");
    takt_json_put_open(&w, "cases", '[');
    for (size_t i = 0; i < b->count; i++)
        case_json(&w, b, i);
    takt_json_close(&w, ']');
    takt_json_close(&w, '}');
    takt_text_put(text, "\n", 1);
}

static void write_text(const takt_bench *b, takt_text *text)
{
    char name[128];
    for (size_t i = 0; i < b->count; i++) {
        const takt_bench_row *r = &b->rows[i];
        takt_bench_case_name(b, i, name, sizeof name);
        takt_text_add(text, "%s%s: median %.4g ms\n", i > 0 ? "\n" : "", name,
                      r->timing.stats.median * 1e-6);
        takt_bottlenecks_text(b, r, true, text);
        if (r->op_count == 0)
            takt_text_add(text, "- the result holds no times of its steps\n");
    }
}

takt_status takt_bench_bottlenecks(const takt_bench *b, takt_format format, takt_sink_fn *sink,
                                   void *user)
{
    takt_text text;
    takt_text_init(&text, b->ctx);
    if (format == TAKT_FORMAT_JSON)
        write_json(b, &text);
    else
        write_text(b, &text);
    return takt_bench_deliver(b->ctx, &text, sink, user);
}
