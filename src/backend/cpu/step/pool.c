/* pool.c - pools and their gradients: rows with channels last, lines with channels first, the rest
 * by planes. */
#include <string.h>

#include "backend/cpu/conv/pool.h"
#include "backend/cpu/conv/shape.h"
#include "kernel/pool_f32/pool_f32.h"

typedef struct facts {
    takt_pool_shape shape;
    takt_pool_f32_fn *run;
    size_t divisors; /* offset in a worker's scratch; pointers to rows come first */
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_op *op = g->nodes[node].op;
    return op == &takt_op_max_pool || op == &takt_op_avg_pool || op == &takt_op_max_pool_dx ||
                   op == &takt_op_avg_pool_dx || op == &takt_op_max_pool_pick
               ? NULL
               : "";
}

/* ---- rows ---- */

static void run_rows(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_pool_shape *c = &f->shape;
    const size_t per_sample = c->out[0] * c->out[1];
    const float **rows = t->scratch_own;
    float *divisors = (float *)(void *)((char *)t->scratch_own + f->divisors);
    const bool is_average = c->op == &takt_op_avg_pool;
    takt_pool_f32 p = takt_pool_line(c, rows, divisors);
    size_t first, end;
    double known = -1;
    takt_cpu_share(c->batch * per_sample, 1, t->index, s->task_count, &first, &end);
    for (size_t row = first; row < end && !takt_poll_stops(t->poll); row++) {
        const size_t within = row % per_sample;
        const size_t at[2] = {within / c->out[1], within % c->out[1]};
        const float *x = takt_view_data(t, &s->in[0]);
        takt_pool_find_rows(c, x + row / per_sample * c->x_sample, at, rows);
        if (is_average)
            known = takt_pool_divisors(c, at, known, divisors);
        p.y = (float *)takt_view_data(t, &s->out[0]) + row * c->out[2] * c->channels;
        f->run(&p);
    }
}

/* ---- largest bytes, channels last ---- */

#define LARGEST(type)                                                                              \
    static void largest_##type(const type *restrict x, size_t n, type *restrict y)                 \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] = x[i] > y[i] ? x[i] : y[i];                                                      \
    }
LARGEST(uint8_t)
LARGEST(int8_t)

/* y = the larger of both, or x where y holds nothing yet. */
static void larger(const takt_pool_shape *c, const uint8_t *x, size_t n, uint8_t *y, bool is_first)
{
    if (is_first)
        memcpy(y, x, n);
    else if (c->dtype == TAKT_U8)
        largest_uint8_t(x, n, y);
    else
        largest_int8_t((const int8_t *)x, n, (int8_t *)y);
}

/* The largest of each column in the rows of x under one line of outputs; false: all is padding. */
static bool line_of_bytes(const takt_pool_shape *c, const uint8_t *sample, const size_t at[2],
                          uint8_t *line)
{
    bool any = false;
    for (size_t k = 0; k < c->kernel[0] * c->kernel[1]; k++) {
        const size_t i = at[0] * c->stride[0] + k / c->kernel[1] * c->dilation[0] - c->before[0];
        const size_t j = at[1] * c->stride[1] + k % c->kernel[1] * c->dilation[1] - c->before[1];
        if (i >= c->in[0] || j >= c->in[1])
            continue;
        const size_t bytes = c->in[2] * c->channels;
        larger(c, sample + (i * c->in[1] + j) * bytes, bytes, line, !any);
        any = true;
    }
    return any;
}

/* Output `column`, from the columns of its window. */
static void window_of_bytes(const takt_pool_shape *c, const uint8_t *line, size_t column,
                            uint8_t *y)
{
    bool any = false;
    for (size_t k = 0; k < c->kernel[2]; k++) {
        const size_t at = column * c->stride[2] + k * c->dilation[2] - c->before[2];
        if (at >= c->in[2])
            continue;
        larger(c, line + at * c->channels, c->channels, y, !any);
        any = true;
    }
    if (!any)
        memset(y, c->dtype == TAKT_U8 ? 0 : 0x80, c->channels);
}

static void run_bytes(const takt_step *s, const takt_task *t)
{
    const takt_pool_shape *c = &((const facts *)s->data)->shape;
    const uint8_t *x = takt_view_data(t, &s->in[0]);
    uint8_t *y = takt_view_data(t, &s->out[0]), *line = t->scratch_own;
    const size_t per_sample = c->out[0] * c->out[1], bytes = c->out[2] * c->channels;
    size_t first, end;
    takt_cpu_share(c->batch * per_sample, 1, t->index, s->task_count, &first, &end);
    for (size_t row = first; row < end && !takt_poll_stops(t->poll); row++) {
        const size_t within = row % per_sample, at[2] = {within / c->out[1], within % c->out[1]};
        const bool any = line_of_bytes(c, x + row / per_sample * c->x_sample, at, line);
        for (size_t i = 0; any && i < c->out[2]; i++)
            window_of_bytes(c, line, i, y + row * bytes + i * c->channels);
        if (!any)
            memset(y + row * bytes, c->dtype == TAKT_U8 ? 0 : 0x80, bytes);
    }
}

/* ---- largest bf16, channels last ---- */

static void run_halves(const takt_step *s, const takt_task *t)
{
    const takt_pool_shape *c = &((const facts *)s->data)->shape;
    size_t first, end;
    takt_cpu_share(c->batch * c->out[0] * c->out[1], 1, t->index, s->task_count, &first, &end);
    for (size_t row = first; row < end && !takt_poll_stops(t->poll); row++)
        takt_pool_half(c, takt_view_data(t, &s->in[0]), takt_view_data(t, &s->out[0]), row,
                       t->scratch_own);
}

/* ---- planes ---- */

static void run_planes(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t first, end;
    /* Neighbouring channels share cache lines of the result. */
    takt_cpu_share(f->shape.batch * f->shape.channels, 16, t->index, s->task_count, &first, &end);
    for (size_t plane = first; plane < end && !takt_poll_stops(t->poll); plane++)
        takt_pool_plane(&f->shape, plane, takt_view_data(t, &s->in[0]),
                        s->in_count > 1 ? takt_view_data(t, &s->in[1]) : NULL,
                        takt_view_data(t, &s->out[0]), t->scratch_own);
}

static bool has_rows(const takt_pool_shape *s)
{
    return s->dtype == TAKT_F32 && s->is_nhwc &&
           (s->op == &takt_op_max_pool || s->op == &takt_op_avg_pool);
}

static bool has_bytes(const takt_pool_shape *s)
{
    return (s->dtype == TAKT_U8 || s->dtype == TAKT_I8) && s->is_nhwc && s->op == &takt_op_max_pool;
}

static bool has_halves(const takt_pool_shape *s)
{
    return s->dtype == TAKT_BF16 && s->is_nhwc && s->op == &takt_op_max_pool;
}

static takt_status compile(takt_planner *p)
{
    enum { POSITION = 400 }; /* operations to find its window */
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    takt_step *s = p->step;
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->shape = takt_pool_shape_of(p->graph, id);
    const takt_pool_shape *c = &f->shape;
    size_t index;
    TAKT_TRY(takt_planner_inputs(p, n));
    TAKT_TRY(takt_planner_output(p, id, &index));
    const double taps = (double)c->kernel[0] * (double)c->kernel[1] * (double)c->kernel[2];
    const double places = (double)c->batch * (double)c->positions;
    const double work = places * (double)c->channels;
    const double moved = work + (double)c->batch * (double)c->channels * (double)c->area;
    if (takt_pool_has_dx(c))
        return takt_pool_dx_compile(p, c);
    if (takt_pool_is_widened(c) && !has_halves(c))
        return takt_pool_widened_compile(p, c);
    if (takt_pool_has_tiles(c))
        return takt_pool_tiles_compile(p, c);
    if (takt_pool_has_lines(c))
        return takt_pool_lines_compile(p, c);
    s->data = f;
    if (has_bytes(c) || has_halves(c)) {
        s->run = has_bytes(c) ? run_bytes : run_halves;
        s->scratch_each =
            has_bytes(c) ? takt_cpu_aligned(c->in[2] * c->channels) : takt_pool_half_scratch(c);
        s->task_count = takt_cpu_tasks(p, work * taps, 2 * moved, c->batch * c->out[0] * c->out[1]);
        return TAKT_OK;
    }
    if (!has_rows(c)) {
        s->note = "only pools of floats have a kernel with channels first";
        s->scratch_each = takt_cpu_aligned(c->area * sizeof(double));
        s->run = run_planes;
        s->task_count =
            takt_cpu_tasks(p, 50 * work * taps, 8 * work, (c->batch * c->channels + 15) / 16);
        return TAKT_OK;
    }
    f->run = takt_kernel_as_pool_f32(takt_planner_kernel(p, "pool_f32"));
    f->divisors = takt_pool_rows_bytes(c);
    s->scratch_each = f->divisors + takt_cpu_aligned(c->out[2] * sizeof(float));
    s->run = run_rows;
    s->task_count = takt_cpu_tasks(p, 2 * work * taps + POSITION * places, 4 * moved,
                                   c->batch * c->out[0] * c->out[1]);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_pool = {
    .name = "pool", .family = TAKT_FAMILY_POOL, .accepts = accepts, .compile = compile};
