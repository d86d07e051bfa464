/* dw_near.c - gradient of a convolution with respect to its weights where one panel holds all
 * outputs, which reads its inputs in place.
 *
 * dw.c and dw_few.c gather every input once for each tap that reads it. conv_f32 computes
 * y[q][o] = sum of x[q + at[i]] * w[i][o]: with i a position, `at` where its window begins, w the
 * gradient of y and q an element of a row of taps, these sums are the gradient, and nothing is
 * gathered. Each element is the same sum in the same order: 256 positions of a sample at a time.
 */
#include <string.h>

#include "backend/cpu/conv/dw_parts.h"
#include "backend/cpu/conv/grad.h"
#include "kernel/conv_f32/conv_f32.h"

enum { GRAIN = 4, CHUNK = TAKT_GEMM_CHUNK, LINE = 1 << 13, SAMPLE_BYTES = 256 << 10 };

typedef struct facts {
    takt_conv_shape shape;
    takt_conv_f32_fn *run;
    const size_t *at; /* where windows begin, in floats, from the first of a line on */
    takt_dw_parts parts;
    bool is_copied;           /* samples of x, with padding around them */
    size_t height, pitch;     /* lines that windows read, and floats of one */
    size_t most;              /* rows of k that a task has */
    size_t copy, panel, sums; /* offsets in a worker's scratch */
} facts;

static float *own(const takt_task *t, size_t offset)
{
    return (float *)(void *)((char *)t->scratch_own + offset);
}

/* Positions of an axis that outputs read. */
static size_t extent(const takt_conv_shape *c, int axis)
{
    return (c->out[axis] - 1) * c->stride[axis] + (c->kernel[axis] - 1) * c->dilation[axis] + 1;
}

static bool is_padded(const takt_conv_shape *c)
{
    bool is = false;
    for (int i = 1; i < 3; i++)
        is = is || c->before[i] > 0 || extent(c, i) > c->in[i];
    return is;
}

bool takt_conv_dw_is_near(const takt_conv_shape *c)
{
    if (c->dtype != TAKT_F32 || !c->is_nhwc || c->groups != 1 || c->cout > TAKT_CONV_PANEL ||
        c->cout == 0 || c->k == 0 || c->batch * c->positions == 0 || takt_conv_is_pointwise(c))
        return false;
    if (c->in[0] > 1 || c->out[0] > 1 || c->kernel[0] > 1 || c->before[0] > 0 || c->dilation[2] > 1)
        return false;
    const size_t line = extent(c, 2);
    return c->out[2] <= LINE &&
           (!is_padded(c) || (line <= SAMPLE_BYTES / sizeof(float) / c->cin &&
                              extent(c, 1) <= SAMPLE_BYTES / sizeof(float) / c->cin / line));
}

/* ---- running ---- */

/* A sample with zeros around it, as far as windows reach. */
static void copy_sample(const facts *f, const float *x, float *to)
{
    const takt_conv_shape *c = &f->shape;
    const size_t skip = c->before[2] * c->cin, room = f->pitch > skip ? f->pitch - skip : 0;
    const size_t inside = c->x_at[1] < room ? c->x_at[1] : room;
    for (size_t i = 0; i < f->height; i++, to += f->pitch) {
        const size_t y = i - c->before[1]; /* negatives wrap to large values */
        memset(to, 0, f->pitch * sizeof *to);
        if (y < c->in[1] && inside > 0)
            memcpy(to + skip, x + y * c->x_at[1], inside * sizeof *to);
    }
}

/* `count` rows of dy, TAKT_CONV_PANEL floats apart. A row may be read beyond its end, into the rest
 * of dy, which has `left` rows from here on. */
static const float *panel_of(const takt_conv_shape *c, const float *dy, size_t count, size_t left,
                             float *to)
{
    if (c->cout == TAKT_CONV_PANEL)
        return dy;
    for (size_t i = 0; i < count; i++, dy += c->cout) {
        const bool has_more = (left - i) * c->cout >= TAKT_CONV_PANEL;
        if (has_more)
            memcpy(to + i * TAKT_CONV_PANEL, dy, TAKT_CONV_PANEL * sizeof *to);
        else
            memcpy(to + i * TAKT_CONV_PANEL, dy, c->cout * sizeof *to);
    }
    return to;
}

/* Adds a chunk to rows [first, end) of k, one row of taps after the other. */
static void add_chunk(const facts *f, takt_conv_f32 *part, const float *x, size_t first, size_t end)
{
    const takt_conv_shape *c = &f->shape;
    const size_t width = c->kernel[2] * c->cin;
    float *sums = part->y;
    for (size_t k = first; k < end; k += part->columns) {
        const size_t left = width - k % width;
        part->columns = left < end - k ? left : end - k;
        part->x = x + k / width * c->dilation[1] * f->pitch + k % width;
        part->y = sums + (k - first) * c->cout;
        f->run(part);
    }
    part->y = sums;
}

/* Rows [first, end) of the sums of a sample, to `sums` or to the parts of its chunks. */
static void add_sample(const takt_step *s, const takt_task *t, size_t n, const size_t rows[2],
                       float *sums)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    takt_conv_f32 part = {
        .lines = 1, .channels = c->cout, .ld = c->cout, .step = 1, .y = sums, .adds = n > 0};
    const float *x = (const float *)takt_view_data(t, &s->in[0]) + n * c->x_sample;
    const float *dy = (const float *)takt_view_data(t, &s->in[1]) + n * c->y_sample;
    if (f->is_copied) {
        copy_sample(f, x, own(t, f->copy));
        x = own(t, f->copy);
    }
    for (size_t p = 0; p < c->positions && !takt_poll_stops(t->poll); p += CHUNK) {
        const size_t left = c->positions - p;
        part.k = left < CHUNK ? left : CHUNK;
        part.at = f->at + p % c->out[2];
        part.w = panel_of(c, dy + p * c->cout, part.k, left, own(t, f->panel));
        if (f->parts.chunks > 0) {
            part.y = takt_dw_parts_of(&f->parts, c, t, n, p / CHUNK);
            part.adds = false;
        }
        add_chunk(f, &part, x + p / c->out[2] * c->stride[1] * f->pitch, rows[0], rows[1]);
        part.adds = true;
    }
}

static void clear_panel(const facts *f, const takt_task *t)
{
    if (f->shape.cout < TAKT_CONV_PANEL)
        memset(own(t, f->panel), 0, CHUNK * TAKT_CONV_PANEL * sizeof(float));
}

static void prepare(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    size_t n, end;
    takt_cpu_share(c->batch, 1, t->index, s->prepare_count, &n, &end);
    clear_panel(f, t);
    for (; n < end; n++)
        add_sample(s, t, n, (const size_t[2]){0, c->k}, NULL);
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    size_t rows[2];
    if (f->parts.chunks > 0) {
        takt_dw_parts_add(&f->parts, c, s, t);
        return;
    }
    takt_cpu_share(c->k, GRAIN, t->index, s->task_count, &rows[0], &rows[1]);
    clear_panel(f, t);
    for (size_t n = 0; n < c->batch && rows[0] < rows[1]; n++)
        add_sample(s, t, n, rows, own(t, f->sums));
    takt_dw_store(c, own(t, f->sums), rows[0], rows[1], takt_view_data(t, &s->out[0]));
}

/* ---- compiling ---- */

static takt_status set_places(takt_planner *p, facts *f)
{
    const takt_conv_shape *c = &f->shape;
    const size_t all = c->out[2] + CHUNK, count = all < c->positions ? all : c->positions;
    size_t *at = takt_planner_get(p, count * sizeof *at);
    if (at == NULL)
        return TAKT_ERR_MEMORY;
    f->is_copied = is_padded(c);
    f->height = extent(c, 1);
    f->pitch = f->is_copied ? extent(c, 2) * c->cin : c->x_at[1];
    for (size_t i = 0; i < count; i++)
        at[i] = i / c->out[2] * c->stride[1] * f->pitch + i % c->out[2] * c->stride[2] * c->cin;
    f->at = at;
    return TAKT_OK;
}

static void set_scratch(takt_step *s, facts *f)
{
    const takt_conv_shape *c = &f->shape;
    const size_t panel = c->cout < TAKT_CONV_PANEL ? CHUNK * TAKT_CONV_PANEL * sizeof(float) : 0;
    f->panel = f->is_copied ? takt_cpu_aligned(f->height * f->pitch * sizeof(float)) : 0;
    f->sums = f->panel + takt_cpu_aligned(panel);
    s->scratch_each =
        f->sums + (f->parts.chunks > 0 ? 0 : takt_cpu_aligned(f->most * c->cout * sizeof(float)));
}

takt_status takt_conv_dw_near_compile(takt_planner *p)
{
    takt_step *s = p->step;
    facts *f = takt_planner_get(p, sizeof *f);
    takt_cost cost;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_conv_grad_open(p, &f->shape, &cost));
    f->run = takt_kernel_as_conv_f32(takt_planner_kernel(p, "conv_f32"));
    TAKT_TRY(set_places(p, f));
    f->parts = (takt_dw_parts){.grain = GRAIN, .cost = cost};
    takt_dw_parts_plan(p, &f->shape, prepare, &f->parts);
    s->data = f;
    s->run = run;
    f->most = takt_dw_parts_rows(&f->parts, &f->shape, s);
    set_scratch(s, f);
    return TAKT_OK;
}
