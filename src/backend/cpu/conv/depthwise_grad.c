/* depthwise_grad.c - gradients of depthwise convolutions with channels last, in f32.
 *
 * Both are sums of products channel by channel (kernel/pairs_f32): of dx over the taps that reach a
 * position, of dw over the positions of all samples. Pointers to the factors are gathered first;
 * padding is a row of zeros, multiplied like any other. Order and chunks are those of the products
 * that dx.c and dw.c make of other convolutions.
 */
#include <string.h>

#include "backend/cpu/conv/grad.h"
#include "backend/cpu/conv/run.h"
#include "kernel/gemm_f32/gemm_f32.h"
#include "kernel/pairs_f32/pairs_f32.h"

enum { COLUMNS = 32, TAPS = 16, VECTOR = 16, CHUNK = TAKT_GEMM_CHUNK };

typedef struct facts {
    takt_conv_shape shape;
    takt_pairs_f32_fn *run;
    size_t channels;    /* of x and of y */
    size_t weights;     /* dx: offset of [taps][channels] in shared scratch */
    size_t zeros, sums; /* offsets in a worker's scratch; pointers come first */
} facts;

bool takt_depthwise_has_grad(const takt_conv_shape *c)
{
    return c->dtype == TAKT_F32 && c->is_nhwc && c->groups > 1 && c->cin == 1 && c->cout == 1;
}

static float *own(const takt_task *t, size_t offset)
{
    return (float *)(void *)((char *)t->scratch_own + offset);
}

/* ---- dx ---- */

/* A division takes longer than a product of four channels, and most strides are 1. */
static size_t quotient(size_t a, size_t stride)
{
    return stride == 1 ? a : a / stride;
}

/* Position `at` of axis `i`: the next tap from `*tap` on that reaches it with this stride; false
 * after the last. `*y` is the position in dy, or SIZE_MAX beyond its border. */
static bool next_tap(const takt_conv_shape *c, int i, size_t at, size_t *tap, size_t *y)
{
    for (; *tap < c->kernel[i]; ++*tap) {
        const size_t from = at + c->before[i], shift = *tap * c->dilation[i];
        const size_t stride = c->stride[i];
        if (stride > 1 && (from + stride * c->kernel[i] * c->dilation[i] - shift) % stride != 0)
            continue;
        *y = quotient(from - shift, stride);
        *y = from >= shift && *y < c->out[i] ? *y : SIZE_MAX;
        return true;
    }
    return false;
}

/* A block of columns of one line of dx that the same taps reach. */
typedef struct block {
    size_t at[3]; /* the first of them */
    size_t columns;
    const float *dy, *weights, *zeros; /* of the sample */
    const float **a, **b;
    float *to;
    size_t terms; /* gathered so far */
    bool adds;
} block;

static void flush(const facts *f, block *b)
{
    const takt_pairs_f32 p = {.channels = f->channels,
                              .columns = b->columns,
                              .terms = b->terms,
                              .a = b->a,
                              .b = b->b,
                              .y = b->to,
                              .step = f->shape.stride[2] * f->channels,
                              .adds = b->adds};
    f->run(&p);
    b->adds = true;
    b->terms = 0;
}

/* One tap for all columns. Columns are CHUNK pointers apart until all are known. */
static void gather(const facts *f, block *b, const size_t tap[3], const size_t y[3])
{
    const takt_conv_shape *c = &f->shape;
    const bool is_in = y[0] != SIZE_MAX && y[1] != SIZE_MAX;
    const float *line = b->dy + (is_in ? (y[0] * c->out[1] + y[1]) * c->out[2] * f->channels : 0);
    const size_t reach = b->at[2] + c->before[2], shift = tap[2] * c->dilation[2];
    /* Each column reads the position after the one before it; negatives wrap to large values. */
    size_t column = reach >= shift ? quotient(reach - shift, c->stride[2])
                                   : 0 - quotient(shift - reach, c->stride[2]);
    for (size_t q = 0; q < b->columns; q++, column++)
        b->a[q * CHUNK + b->terms] =
            is_in && column < c->out[2] ? line + column * f->channels : b->zeros;
    const size_t flat = (tap[0] * c->kernel[1] + tap[1]) * c->kernel[2] + tap[2];
    b->b[b->terms++] = b->weights + flat * f->channels;
}

/* The kernel wants columns `terms` apart. */
static void pull_together(block *b)
{
    for (size_t q = 1; q < b->columns && b->terms < CHUNK; q++)
        memmove(b->a + q * b->terms, b->a + q * CHUNK, b->terms * sizeof *b->a);
}

static void run_block(const facts *f, block *b)
{
    const takt_conv_shape *c = &f->shape;
    size_t tap[3], y[3];
    for (tap[0] = 0; next_tap(c, 0, b->at[0], &tap[0], &y[0]); tap[0]++)
        for (tap[1] = 0; next_tap(c, 1, b->at[1], &tap[1], &y[1]); tap[1]++)
            for (tap[2] = 0; next_tap(c, 2, b->at[2], &tap[2], &y[2]); tap[2]++) {
                gather(f, b, tap, y);
                if (b->terms == CHUNK)
                    flush(f, b);
            }
    if (b->terms > 0 || !b->adds) {
        pull_together(b);
        flush(f, b);
    }
}

/* One line of dx: its columns by the phases of the stride. */
static void run_line(const takt_step *s, const takt_task *t, size_t n, size_t line)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    block b = {.dy = (const float *)takt_view_data(t, &s->in[0]) + n * c->y_sample,
               .weights = (const float *)(const void *)((const char *)t->scratch + f->weights),
               .zeros = own(t, f->zeros),
               .a = t->scratch_own,
               .b = (const float **)t->scratch_own + COLUMNS * CHUNK};
    for (size_t r = 0; r < c->stride[2] && r < c->in[2]; r++) {
        const size_t all = (c->in[2] - r + c->stride[2] - 1) / c->stride[2];
        for (size_t q = 0; q < all; q += COLUMNS) {
            b.at[0] = line / c->in[1];
            b.at[1] = line % c->in[1];
            b.at[2] = r + q * c->stride[2];
            b.columns = all - q < COLUMNS ? all - q : COLUMNS;
            b.to = (float *)takt_view_data(t, &s->out[0]) + n * c->x_sample +
                   (line * c->in[2] + b.at[2]) * f->channels;
            b.adds = false;
            run_block(f, &b);
        }
    }
}

static void run_dx(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const size_t lines = f->shape.in[0] * f->shape.in[1];
    size_t first, end;
    memset(own(t, f->zeros), 0, f->channels * sizeof(float));
    takt_cpu_share(f->shape.batch * lines, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end && !takt_poll_stops(t->poll); i++)
        run_line(s, t, i / lines, i % lines);
}

/* [taps][channels], for any order of the weights. */
static void pack_weights(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    const float *w = takt_view_data(t, &s->in[1]);
    float *to = (float *)(void *)((char *)t->scratch + f->weights);
    for (size_t tap = 0; tap < c->taps; tap++)
        for (size_t i = 0; i < f->channels; i++)
            *to++ = w[i * c->w_out + tap * c->w_tap];
}

/* ---- dw ---- */

/* Outputs of a sample, beginning at a position. */
typedef struct stretch {
    const float *x, *zeros; /* of the sample; what padding holds */
    size_t position, count;
} stretch;

/* The pointers of one tap. */
static void gather_positions(const facts *f, const stretch *o, size_t tap, const float **a)
{
    const takt_conv_shape *c = &f->shape;
    size_t at[3], t[3], count = o->count;
    takt_conv_unflatten(c->out, o->position, at);
    takt_conv_unflatten(c->kernel, tap, t);
    while (count > 0) {
        const size_t i = at[0] * c->stride[0] + t[0] * c->dilation[0] - c->before[0];
        const size_t j = at[1] * c->stride[1] + t[1] * c->dilation[1] - c->before[1];
        const bool is_in = i < c->in[0] && j < c->in[1]; /* negatives wrap to large values */
        const float *line = o->x + (is_in ? i * c->x_at[0] + j * c->x_at[1] : 0);
        const size_t left = c->out[2] - at[2], run = left < count ? left : count;
        size_t k = at[2] * c->stride[2] + t[2] * c->dilation[2] - c->before[2];
        for (size_t q = 0; q < run; q++, k += c->stride[2])
            *a++ = is_in && k < c->in[2] ? line + k * c->x_at[2] : o->zeros;
        count -= run;
        at[2] = 0;
        if (++at[1] == c->out[1]) {
            at[1] = 0;
            at[0]++;
        }
    }
}

/* `taps` taps from `tap` of `channels` channels, over all samples: into [taps][channels]. */
static void sum_positions(const takt_step *s, const takt_task *t, size_t tap, size_t taps,
                          size_t first, size_t channels)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    const float **a = t->scratch_own, **b = a + TAPS * CHUNK;
    takt_pairs_f32 p = {.channels = channels,
                        .columns = taps,
                        .a = a,
                        .b = b,
                        .y = own(t, f->sums),
                        .step = channels};
    for (size_t n = 0; n < c->batch; n++)
        for (size_t at = 0; at < c->positions && !takt_poll_stops(t->poll); at += CHUNK) {
            const float *x = (const float *)takt_view_data(t, &s->in[0]) + n * c->x_sample + first;
            const float *dy = (const float *)takt_view_data(t, &s->in[1]) + n * c->y_sample +
                              at * c->y_position + first;
            const size_t left = c->positions - at;
            p.terms = left < CHUNK ? left : CHUNK;
            const stretch o = {x, own(t, f->zeros), at, p.terms};
            for (size_t k = 0; k < taps; k++)
                gather_positions(f, &o, tap + k, a + k * p.terms);
            for (size_t i = 0; i < p.terms; i++)
                b[i] = dy + i * c->y_position;
            f->run(&p);
            p.adds = true;
        }
}

static void run_dw(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    const float *sums = own(t, f->sums);
    float *dw = takt_view_data(t, &s->out[0]);
    size_t first, end;
    memset(own(t, f->zeros), 0, f->channels * sizeof(float));
    takt_cpu_share(f->channels, VECTOR, t->index, s->task_count, &first, &end);
    for (size_t tap = 0; tap < c->taps && first < end; tap += TAPS) {
        const size_t taps = c->taps - tap < TAPS ? c->taps - tap : TAPS, n = end - first;
        sum_positions(s, t, tap, taps, first, n);
        for (size_t k = 0; k < taps; k++)
            for (size_t i = 0; i < n; i++)
                dw[(first + i) * c->w_out + (tap + k) * c->w_tap] = sums[k * n + i];
    }
}

/* ---- compiling ---- */

takt_status takt_depthwise_grad_compile(takt_planner *p)
{
    const bool is_dx = p->graph->nodes[p->group->nodes[0]].op == &takt_op_conv_dx;
    takt_step *s = p->step;
    facts *f = takt_planner_get(p, sizeof *f);
    takt_cost cost;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_conv_grad_open(p, &f->shape, &cost));
    const takt_conv_shape *c = &f->shape;
    f->channels = c->groups;
    f->run = takt_kernel_as_pairs_f32(takt_planner_kernel(p, "pairs_f32"));
    const size_t pointers = (size_t)((is_dx ? COLUMNS : TAPS) + 1) * CHUNK * sizeof(float *);
    f->zeros = takt_cpu_aligned(pointers);
    f->sums = f->zeros + takt_cpu_aligned(f->channels * sizeof(float));
    s->scratch_each = f->sums + (is_dx ? 0 : takt_cpu_aligned(TAPS * f->channels * sizeof(float)));
    s->data = f;
    s->run = is_dx ? run_dx : run_dw;
    if (is_dx) {
        f->weights = takt_conv_reserve(s, c->taps * f->channels * sizeof(float));
        s->before = pack_weights;
    }
    s->task_count = takt_cpu_tasks(p, 4 * cost.flops, cost.bytes,
                                   is_dx ? c->batch * c->in[0] * c->in[1]
                                         : (f->channels + VECTOR - 1) / VECTOR);
    return TAKT_OK;
}
