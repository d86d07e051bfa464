/* pool_dx.c - gradients of pools in f32 with channels last, by rows.
 *
 * A window adds to elements of x that its neighbours add to as well, in the order of the windows.
 * Tasks therefore own whole samples, or some channels of one.
 */
#include <string.h>

#include "backend/cpu/conv/pool.h"
#include "kernel/pool_dx_f32/pool_dx_f32.h"

enum { CHANNELS = 64 };

typedef struct facts {
    takt_pool_shape shape;
    takt_pool_dx_f32_fn *run;
    size_t blocks;       /* of channels */
    size_t to, divisors; /* offsets in a worker's scratch: pointers to rows of x come first */
} facts;

bool takt_pool_has_dx(const takt_pool_shape *s)
{
    return s->dtype == TAKT_F32 && s->is_nhwc &&
           (s->op == &takt_op_max_pool_dx || s->op == &takt_op_avg_pool_dx) &&
           s->kernel[0] * s->kernel[1] * s->kernel[2] < (size_t)1 << 24;
}

/* Rows of x and dx under output row `at`; NULL: padding. */
static void find_rows(const takt_pool_shape *s, const float *x, float *dx, const size_t at[2],
                      const float **rows, float **to)
{
    const size_t length = s->in[2] * s->channels;
    for (size_t a = 0; a < s->kernel[0]; a++)
        for (size_t b = 0; b < s->kernel[1]; b++, rows++, to++) {
            const size_t i = at[0] * s->stride[0] + a * s->dilation[0] - s->before[0];
            const size_t j = at[1] * s->stride[1] + b * s->dilation[1] - s->before[1];
            const bool inside = i < s->in[0] && j < s->in[1]; /* negatives wrap to large values */
            *rows = inside && x != NULL ? x + (i * s->in[1] + j) * length : NULL;
            *to = inside ? dx + (i * s->in[1] + j) * length : NULL;
        }
}

static void clear(const takt_pool_shape *c, float *dx, size_t channels)
{
    if (channels == c->channels)
        memset(dx, 0, c->area * channels * sizeof *dx);
    else
        for (size_t i = 0; i < c->area; i++)
            memset(dx + i * c->channels, 0, channels * sizeof *dx);
}

/* Whether windows do not overlap. */
static bool is_disjoint(const takt_pool_shape *s)
{
    bool is = true;
    for (int i = 0; i < 3; i++)
        is = is && (s->kernel[i] - 1) * s->dilation[i] < s->stride[i];
    return is;
}

/* Whether windows next to each other write all of dx. */
static bool is_tiled(const takt_pool_shape *s)
{
    bool is = true;
    for (int i = 0; i < 3; i++)
        is = is && s->kernel[i] == s->stride[i] && s->dilation[i] == 1 && s->before[i] == 0 &&
             s->out[i] * s->stride[i] == s->in[i];
    return is;
}

static void run_block(const takt_step *s, const takt_task *t, size_t sample, size_t first)
{
    const facts *f = s->data;
    const takt_pool_shape *c = &f->shape;
    const bool is_max = c->op == &takt_op_max_pool_dx;
    const float **rows = t->scratch_own;
    float **to = (float **)(void *)((char *)t->scratch_own + f->to);
    float *divisors = (float *)(void *)((char *)t->scratch_own + f->divisors);
    const float *x =
        is_max ? (const float *)takt_view_data(t, &s->in[0]) + sample * c->x_sample + first : NULL;
    const float *dy =
        (const float *)takt_view_data(t, &s->in[is_max ? 1 : 0]) + sample * c->y_sample + first;
    float *dx = (float *)takt_view_data(t, &s->out[0]) + sample * c->x_sample + first;
    const size_t left = c->channels - first, channels = left < CHANNELS ? left : CHANNELS;
    takt_pool_dx_f32 p = {.channels = channels,
                          .columns = c->out[2],
                          .step = c->channels,
                          .width = c->in[2],
                          .rows = c->kernel[0] * c->kernel[1],
                          .taps = c->kernel[2],
                          .stride = c->stride[2],
                          .dilation = c->dilation[2],
                          .before = c->before[2],
                          .x = rows,
                          .dx = to,
                          .divisor = is_max ? NULL : divisors,
                          .is_disjoint = is_disjoint(c)};
    double known = -1;
    if (!is_tiled(c))
        clear(c, dx, channels);
    for (size_t row = 0; row < c->out[0] * c->out[1] && !takt_poll_stops(t->poll); row++) {
        const size_t at[2] = {row / c->out[1], row % c->out[1]};
        find_rows(c, x, dx, at, rows, to);
        if (!is_max)
            known = takt_pool_divisors(c, at, known, divisors);
        p.dy = dy + row * c->out[2] * c->channels;
        f->run(&p);
    }
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t first, end;
    takt_cpu_share(f->shape.batch * f->blocks, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end; i++)
        run_block(s, t, i / f->blocks, i % f->blocks * CHANNELS);
}

takt_status takt_pool_dx_compile(takt_planner *p, const takt_pool_shape *shape)
{
    takt_step *s = p->step;
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->shape = *shape;
    f->run = takt_kernel_as_pool_dx_f32(takt_planner_kernel(p, "pool_dx_f32"));
    f->blocks = (shape->channels + CHANNELS - 1) / CHANNELS;
    f->to = takt_pool_rows_bytes(shape);
    f->divisors = 2 * f->to;
    s->scratch_each = f->divisors + takt_cpu_aligned(shape->out[2] * sizeof(float));
    const double work = (double)shape->batch * (double)shape->channels;
    const double taps = (double)(shape->kernel[0] * shape->kernel[1] * shape->kernel[2]);
    s->data = f;
    s->run = run;
    s->task_count = takt_cpu_tasks(p, 4 * work * (double)shape->positions * taps,
                                   4 * work * (double)(2 * shape->area + shape->positions),
                                   shape->batch * f->blocks);
    return TAKT_OK;
}
