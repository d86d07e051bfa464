/* pool_widened.c - averages, largest values and gradients of pools in 16 bits, channels last.
 *
 * Rows of x and dy are widened into scratch just before the kernels of f32 read them, and results
 * are rounded once: no widened copy of a whole value exists. A gradient is summed in f32, in the
 * rows of one line of outputs if windows of other lines add nothing to them, else in a sample.
 */
#include <string.h>

#include "backend/cpu/conv/pool.h"
#include "kernel/convert/convert.h"
#include "kernel/pool_dx_f32/pool_dx_f32.h"
#include "kernel/pool_f32/pool_f32.h"

typedef struct facts {
    takt_pool_shape shape;
    takt_pool_f32_fn *run;
    takt_pool_dx_f32_fn *run_dx;
    takt_convert_fn *convert;
    takt_convert widen, narrow;
    size_t block, blocks; /* channels of a gradient at a time, and how many blocks there are */
    bool by_lines;        /* dx is summed in the rows of one line of outputs */
    /* Offsets in a worker's scratch, where pointers to rows of x come first. */
    size_t to, divisors, x, y, sums;
} facts;

static bool is_gradient(const takt_pool_shape *s)
{
    return s->op == &takt_op_max_pool_dx || s->op == &takt_op_avg_pool_dx;
}

static bool is_largest(const takt_pool_shape *s)
{
    return s->op == &takt_op_max_pool_dx || s->op == &takt_op_max_pool;
}

bool takt_pool_is_widened(const takt_pool_shape *s)
{
    const bool is_half = s->dtype == TAKT_F16 || s->dtype == TAKT_BF16;
    return is_half && s->is_nhwc && s->kernel[0] * s->kernel[1] * s->kernel[2] < (size_t)1 << 24 &&
           (is_gradient(s) || s->op == &takt_op_max_pool || s->op == &takt_op_avg_pool);
}

/* One line of outputs at work. */
typedef struct line {
    const facts *f;
    char *scratch;
    const float **x; /* widened rows under it; NULL: padding */
    float **dx;
    float *divisors, *sums;
    size_t at[2], channels;
} line;

static line line_of(const facts *f, const takt_task *t)
{
    char *scratch = t->scratch_own;
    return (line){.f = f,
                  .scratch = scratch,
                  .x = t->scratch_own,
                  .dx = (float **)(void *)(scratch + f->to),
                  .divisors = (float *)(void *)(scratch + f->divisors),
                  .sums = (float *)(void *)(scratch + f->sums),
                  .channels = f->shape.channels};
}

/* `n` positions of some channels, between memory and rows of a block. */
static void widen(const line *l, const uint16_t *from, size_t n, float *to)
{
    const size_t step = l->f->shape.channels;
    if (l->channels == step)
        l->f->convert(&l->f->widen, to, from, n * step);
    else
        for (size_t i = 0; i < n; i++)
            l->f->convert(&l->f->widen, to + i * l->channels, from + i * step, l->channels);
}

static void narrow(const line *l, const float *from, size_t n, uint16_t *to)
{
    const size_t step = l->f->shape.channels;
    if (l->channels == step)
        l->f->convert(&l->f->narrow, to, from, n * step);
    else
        for (size_t i = 0; i < n; i++)
            l->f->convert(&l->f->narrow, to + i * step, from + i * l->channels, l->channels);
}

/* Which row of a sample lies under tap row `k`; SIZE_MAX: padding. */
static size_t row_under(const line *l, size_t k)
{
    const takt_pool_shape *s = &l->f->shape;
    const size_t i = l->at[0] * s->stride[0] + k / s->kernel[1] * s->dilation[0] - s->before[0];
    const size_t j = l->at[1] * s->stride[1] + k % s->kernel[1] * s->dilation[1] - s->before[1];
    return i < s->in[0] && j < s->in[1] ? i * s->in[1] + j : SIZE_MAX; /* negatives wrap */
}

/* The rows of x under the line, widened; of an average's gradient, which reads no x, none. */
static void begin(line *l, size_t row, const uint16_t *x)
{
    const takt_pool_shape *s = &l->f->shape;
    const size_t length = s->in[2] * l->channels;
    float *room = (float *)(void *)(l->scratch + l->f->x);
    l->at[0] = row / s->out[1];
    l->at[1] = row % s->out[1];
    for (size_t k = 0; k < s->kernel[0] * s->kernel[1]; k++, room += length) {
        const size_t under = row_under(l, k);
        l->x[k] = under != SIZE_MAX && x != NULL ? room : NULL;
        if (l->x[k] != NULL)
            widen(l, x + under * s->in[2] * s->channels, s->in[2], room);
    }
    if (!is_largest(s))
        (void)takt_pool_divisors(s, l->at, -1, l->divisors);
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_pool_shape *c = &f->shape;
    const size_t per_sample = c->out[0] * c->out[1];
    line l = line_of(f, t);
    float *y = (float *)(void *)(l.scratch + f->y);
    takt_pool_f32 p = takt_pool_line(c, l.x, l.divisors);
    p.y = y;
    size_t first, end;
    takt_cpu_share(c->batch * per_sample, 1, t->index, s->task_count, &first, &end);
    for (size_t row = first; row < end && !takt_poll_stops(t->poll); row++) {
        const uint16_t *x = takt_view_data(t, &s->in[0]);
        uint16_t *to = takt_view_data(t, &s->out[0]);
        begin(&l, row % per_sample, x + row / per_sample * c->x_sample);
        f->run(&p);
        narrow(&l, y, c->out[2], to + row * c->out[2] * c->channels);
    }
}

/* ---- gradients ---- */

/* Rows of sums for those of x under the line: of the line alone, cleared, or of the sample. */
static void find_sums(const line *l)
{
    const takt_pool_shape *s = &l->f->shape;
    const size_t length = s->in[2] * l->channels;
    for (size_t k = 0; k < s->kernel[0] * s->kernel[1]; k++) {
        const size_t under = row_under(l, k);
        l->dx[k] = under == SIZE_MAX ? NULL : l->sums + (l->f->by_lines ? k : under) * length;
        if (l->dx[k] != NULL && l->f->by_lines)
            memset(l->dx[k], 0, length * sizeof(float));
    }
}

static void store_line(const line *l, uint16_t *dx)
{
    const takt_pool_shape *s = &l->f->shape;
    for (size_t k = 0; k < s->kernel[0] * s->kernel[1]; k++)
        if (l->dx[k] != NULL)
            narrow(l, l->dx[k], s->in[2], dx + row_under(l, k) * s->in[2] * s->channels);
}

static void clear(const line *l, uint16_t *dx)
{
    const takt_pool_shape *s = &l->f->shape;
    if (!l->f->by_lines)
        memset(l->sums, 0, s->area * l->channels * sizeof(float));
    for (size_t i = 0; l->f->by_lines && i < s->area; i++)
        memset(dx + i * s->channels, 0, l->channels * sizeof *dx);
}

/* Whether windows do not overlap along the first `axes` axes. */
static bool is_disjoint(const takt_pool_shape *s, int axes)
{
    bool is = true;
    for (int i = 0; i < axes; i++)
        is = is && (s->kernel[i] - 1) * s->dilation[i] < s->stride[i];
    return is;
}

static void run_block(const takt_step *s, const takt_task *t, size_t sample, size_t first)
{
    const facts *f = s->data;
    const takt_pool_shape *c = &f->shape;
    const uint16_t *in[2] = {takt_view_data(t, &s->in[0]),
                             takt_view_data(t, &s->in[is_largest(c) ? 1 : 0])};
    const uint16_t *x = is_largest(c) ? in[0] + sample * c->x_sample + first : NULL;
    const uint16_t *from = in[1] + sample * c->y_sample + first;
    uint16_t *dx = (uint16_t *)takt_view_data(t, &s->out[0]) + sample * c->x_sample + first;
    line l = line_of(f, t);
    float *dy = (float *)(void *)(l.scratch + f->y);
    l.channels = c->channels - first < f->block ? c->channels - first : f->block;
    const takt_pool_dx_f32 p = {.channels = l.channels,
                                .columns = c->out[2],
                                .step = l.channels,
                                .width = c->in[2],
                                .rows = c->kernel[0] * c->kernel[1],
                                .taps = c->kernel[2],
                                .stride = c->stride[2],
                                .dilation = c->dilation[2],
                                .before = c->before[2],
                                .x = l.x,
                                .dx = l.dx,
                                .dy = dy,
                                .divisor = is_largest(c) ? NULL : l.divisors,
                                .is_disjoint = is_disjoint(c, 3)};
    clear(&l, dx);
    for (size_t row = 0; row < c->out[0] * c->out[1] && !takt_poll_stops(t->poll); row++) {
        begin(&l, row, x);
        find_sums(&l);
        widen(&l, from + row * c->out[2] * c->channels, c->out[2], dy);
        f->run_dx(&p);
        if (f->by_lines)
            store_line(&l, dx);
    }
    if (!f->by_lines)
        narrow(&l, l.sums, c->area, dx);
}

static void run_gradient(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t first, end;
    takt_cpu_share(f->shape.batch * f->blocks, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end; i++)
        run_block(s, t, i / f->blocks, i % f->blocks * f->block);
}

/* ---- compiling ---- */

static void set_scratch(takt_step *s, facts *f)
{
    const takt_pool_shape *c = &f->shape;
    const size_t rows = c->kernel[0] * c->kernel[1], wide = sizeof(float);
    const size_t channels = is_gradient(c) ? f->block : c->channels;
    const size_t length = c->in[2] * channels * wide;
    const bool reads_x = c->op != &takt_op_avg_pool_dx;
    f->to = takt_cpu_aligned(rows * sizeof(float *));
    f->divisors = f->to + (is_gradient(c) ? takt_cpu_aligned(rows * sizeof(float *)) : 0);
    f->x = f->divisors + takt_cpu_aligned(is_largest(c) ? 0 : c->out[2] * wide);
    f->y = f->x + takt_cpu_aligned(reads_x ? rows * length : 0);
    f->sums = f->y + takt_cpu_aligned(c->out[2] * channels * wide);
    s->scratch_each = f->sums;
    if (is_gradient(c))
        s->scratch_each += f->by_lines ? rows * length : c->area * channels * wide;
}

takt_status takt_pool_widened_compile(takt_planner *p, const takt_pool_shape *shape)
{
    enum { BLOCK = 64, NARROW_BLOCK = 16 }; /* of whole samples, fewer channels at a time */
    takt_step *s = p->step;
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->shape = *shape;
    f->convert = takt_kernel_as_convert(takt_planner_find(p, "convert"));
    f->widen = (takt_convert){.to = TAKT_F32, .from = shape->dtype};
    f->narrow = (takt_convert){.to = shape->dtype, .from = TAKT_F32};
    f->by_lines = is_disjoint(shape, 2);
    f->block = f->by_lines ? BLOCK : NARROW_BLOCK;
    f->block = shape->channels < f->block ? shape->channels : f->block;
    f->blocks = (shape->channels + f->block - 1) / (f->block > 0 ? f->block : 1);
    if (is_gradient(shape))
        f->run_dx = takt_kernel_as_pool_dx_f32(takt_planner_kernel(p, "pool_dx_f32"));
    else
        f->run = takt_kernel_as_pool_f32(takt_planner_kernel(p, "pool_f32"));
    set_scratch(s, f);
    const double work = (double)shape->batch * (double)shape->channels;
    const double taps = (double)(shape->kernel[0] * shape->kernel[1] * shape->kernel[2]);
    const size_t most =
        shape->batch * (is_gradient(shape) ? f->blocks : shape->out[0] * shape->out[1]);
    s->data = f;
    s->run = is_gradient(shape) ? run_gradient : run;
    s->task_count = takt_cpu_tasks(p, 4 * work * (double)shape->positions * taps,
                                   2 * work * (double)(2 * shape->area + shape->positions), most);
    return TAKT_OK;
}
