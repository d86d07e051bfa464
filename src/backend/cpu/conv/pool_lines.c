/* pool_lines.c - pools of floats with channels first: the kernel of pools takes one channel, so its
 * lanes are outputs next to each other.
 *
 * It does that for whole windows only, so rows with padding are copied between as much of what
 * changes no result: -infinity to a largest value, +0 to a sum, which starts at +0 and so never is
 * -0. Where windows are one step apart, some rows are one long line: what it has between two lines
 * of outputs is computed too, and not copied to the result. Else each line is a call.
 */
#include <math.h>
#include <string.h>

#include "backend/cpu/conv/pool.h"
#include "kernel/pool_f32/pool_f32.h"

typedef struct facts {
    takt_pool_shape shape;
    takt_pool_f32_fn *run;
    bool is_padded; /* rows are copied */
    bool is_joined; /* windows are one step apart, and the rows of a block are one line */
    size_t width;   /* of a row that the kernel reads */
    size_t block;   /* lines of outputs whose rows are copied together; 0: each has its own */
    size_t rows;    /* of x under a block, or under a line */
    /* Offsets in a worker's scratch, where pointers to rows come first. */
    size_t known, divisors, lines, blank, columns, y;
} facts;

bool takt_pool_has_lines(const takt_pool_shape *s)
{
    return s->dtype == TAKT_F32 && !s->is_nhwc &&
           (s->op == &takt_op_max_pool || s->op == &takt_op_avg_pool);
}

/* A worker's room. */
typedef struct room {
    const float **x;
    double *known; /* takt_pool_divisors() of each line of a block */
    float *divisors, *lines, *blank, *columns, *y;
} room;

static room room_of(const facts *f, const takt_task *t)
{
    char *scratch = t->scratch_own;
    return (room){.x = t->scratch_own,
                  .known = (double *)(void *)(scratch + f->known),
                  .divisors = (float *)(void *)(scratch + f->divisors),
                  .lines = (float *)(void *)(scratch + f->lines),
                  .blank = (float *)(void *)(scratch + f->blank),
                  .columns = (float *)(void *)(scratch + f->columns),
                  .y = (float *)(void *)(scratch + f->y)};
}

static bool is_average(const facts *f)
{
    return f->shape.op == &takt_op_avg_pool;
}

static void fill(const facts *f, float *to, size_t n)
{
    const float value = is_average(f) ? 0 : -INFINITY;
    for (size_t i = 0; i < n; i++)
        to[i] = value;
}

/* A row of x into the middle of a line whose ends are filled. */
static void copy_row(const facts *f, const float *row, float *line)
{
    const takt_pool_shape *c = &f->shape;
    const size_t before = c->before[2] < f->width ? c->before[2] : f->width;
    const size_t n = c->in[2] < f->width - before ? c->in[2] : f->width - before;
    memcpy(line + before, row, n * sizeof *line);
}

static takt_pool_f32 call_of(const facts *f, const room *r)
{
    const takt_pool_shape *c = &f->shape;
    return (takt_pool_f32){.channels = 1,
                           .columns = c->out[2],
                           .width = f->width,
                           .rows = c->kernel[0] * c->kernel[1],
                           .taps = c->kernel[2],
                           .stride = c->stride[2],
                           .dilation = c->dilation[2],
                           .x = r->x,
                           .divisor = is_average(f) ? r->divisors : NULL};
}

/* ---- line by line ---- */

static void find_rows(const facts *f, const room *r, const float *plane, const size_t at[2])
{
    const takt_pool_shape *c = &f->shape;
    size_t k = 0;
    for (size_t a = 0; a < c->kernel[0]; a++)
        for (size_t b = 0; b < c->kernel[1]; b++, k++) {
            const size_t i = at[0] * c->stride[0] + a * c->dilation[0] - c->before[0];
            const size_t j = at[1] * c->stride[1] + b * c->dilation[1] - c->before[1];
            const float *row = plane + (i * c->in[1] + j) * c->in[2];
            const bool is_inside = i < c->in[0] && j < c->in[1];
            r->x[k] = !is_inside ? r->blank : f->is_padded ? r->lines + k * f->width : row;
            if (is_inside && f->is_padded)
                copy_row(f, row, r->lines + k * f->width);
        }
}

static void run_lines(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_pool_shape *c = &f->shape;
    const room r = room_of(f, t);
    takt_pool_f32 p = call_of(f, &r);
    const size_t lines = c->out[0] * c->out[1];
    const float *x = takt_view_data(t, &s->in[0]);
    size_t first, end;
    r.known[0] = -1;
    fill(f, r.blank, f->width);
    if (f->is_padded)
        fill(f, r.lines, p.rows * f->width);
    takt_cpu_share(c->batch * c->channels * lines, 1, t->index, s->task_count, &first, &end);
    size_t plane = first / lines;
    size_t at[2] = {first % lines / c->out[1], first % lines % c->out[1]};
    for (size_t i = first; i < end && !takt_poll_stops(t->poll); i++) {
        find_rows(f, &r, x + plane * c->area, at);
        if (is_average(f))
            r.known[0] = takt_pool_divisors(c, at, r.known[0], r.divisors);
        p.y = (float *)takt_view_data(t, &s->out[0]) + i * c->out[2];
        f->run(&p);
        at[1] = at[1] + 1 < c->out[1] ? at[1] + 1 : 0;
        at[0] += at[1] == 0;
        plane += at[0] == c->out[0];
        at[0] = at[0] < c->out[0] ? at[0] : 0;
    }
}

/* ---- lines whose rows are copied together ---- */

/* Lines [line, line + n) of a plane's outputs. */
typedef struct block {
    const float *plane;
    size_t line, n;
    float *y;
} block;

/* Rows of x under them; returns how many. */
static size_t copy_rows(const facts *f, const room *r, const block *b)
{
    const takt_pool_shape *c = &f->shape;
    const size_t count = (b->n - 1) * c->stride[1] + (c->kernel[1] - 1) * c->dilation[1] + 1;
    for (size_t i = 0; i < count; i++) {
        const size_t row = b->line * c->stride[1] + i - c->before[1];
        if (row < c->in[1])
            copy_row(f, b->plane + row * c->in[2], r->lines + i * f->width);
        else
            fill(f, r->lines + i * f->width, f->width);
    }
    return count;
}

static void find_copied(const facts *f, const room *r, size_t line)
{
    const takt_pool_shape *c = &f->shape;
    for (size_t k = 0; k < c->kernel[1]; k++)
        r->x[k] = r->lines + (line * c->stride[1] + k * c->dilation[1]) * f->width;
}

/* The lines as one. Largest values: of each column, then of those, half the comparisons. */
static void run_joined(const facts *f, const room *r, const block *b, size_t rows)
{
    const takt_pool_shape *c = &f->shape;
    takt_pool_f32 p = call_of(f, r);
    find_copied(f, r, 0);
    if (!is_average(f)) {
        p.columns = p.width = b->n * f->width;
        p.taps = 1;
        p.y = r->columns;
        f->run(&p);
        r->x[0] = r->columns;
        p.rows = 1;
        p.taps = c->kernel[2];
        rows = b->n;
    }
    p.columns = (b->n - 1) * f->width + c->out[2];
    p.width = rows * f->width;
    p.y = r->y;
    f->run(&p);
    for (size_t q = 0; q < b->n; q++)
        memcpy(b->y + q * c->out[2], r->y + q * f->width, c->out[2] * sizeof *b->y);
}

static void run_block(const facts *f, const room *r, const block *b)
{
    const takt_pool_shape *c = &f->shape;
    const size_t rows = copy_rows(f, r, b);
    for (size_t q = 0; is_average(f) && q < b->n; q++) {
        const size_t at[2] = {0, b->line + q};
        r->known[q] = takt_pool_divisors(c, at, r->known[q], r->divisors + q * f->width);
    }
    if (f->is_joined) {
        run_joined(f, r, b, rows);
        return;
    }
    takt_pool_f32 p = call_of(f, r);
    for (size_t q = 0; q < b->n; q++) {
        find_copied(f, r, q);
        p.divisor = is_average(f) ? r->divisors + q * f->width : NULL;
        p.y = b->y + q * c->out[2];
        f->run(&p);
    }
}

static void run_blocks(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_pool_shape *c = &f->shape;
    const room r = room_of(f, t);
    const float *x = takt_view_data(t, &s->in[0]);
    float *y = takt_view_data(t, &s->out[0]);
    const size_t blocks = (c->out[1] + f->block - 1) / f->block;
    fill(f, r.lines, f->rows * f->width);
    for (size_t i = 0; is_average(f) && i < f->block * f->width; i++)
        r.divisors[i] = 1; /* between lines */
    for (size_t i = 0; i < f->block; i++)
        r.known[i] = -1;
    size_t first, end;
    takt_cpu_share(c->batch * c->channels * blocks, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end && !takt_poll_stops(t->poll); i++) {
        const size_t plane = i / blocks, line = i % blocks * f->block, left = c->out[1] - line;
        const block b = {.plane = x + plane * c->area,
                         .line = line,
                         .n = left < f->block ? left : f->block,
                         .y = y + plane * c->positions + line * c->out[2]};
        run_block(f, &r, &b);
    }
}

/* ---- compiling ---- */

/* Lines of a block, whose rows and results stay in L1; 0: rows are not copied together. */
static size_t choose_block(const facts *f)
{
    enum { BYTES = 12 << 10 };
    const takt_pool_shape *c = &f->shape;
    const size_t fit = BYTES / sizeof(float) / f->width;
    const size_t under = (c->kernel[1] - 1) * c->dilation[1] + 1;
    if (c->kernel[0] != 1 || c->in[0] != 1 || c->out[0] != 1 || fit < 2 * under ||
        !(f->is_padded || f->is_joined))
        return 0;
    const size_t lines = (fit - under) / c->stride[1] + 1;
    return lines < c->out[1] ? lines : c->out[1];
}

static size_t reserve(takt_step *s, size_t bytes)
{
    const size_t at = s->scratch_each;
    s->scratch_each += takt_cpu_aligned(bytes);
    return at;
}

takt_status takt_pool_lines_compile(takt_planner *p, const takt_pool_shape *c)
{
    enum { LINE = 150 }; /* operations to find its rows */
    takt_step *s = p->step;
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    const size_t taps = c->kernel[0] * c->kernel[1];
    const size_t reach = (c->out[2] - 1) * c->stride[2] + (c->kernel[2] - 1) * c->dilation[2] + 1;
    f->shape = *c;
    f->is_padded = c->before[2] > 0 || reach > c->in[2];
    f->width = f->is_padded ? reach + c->stride[2] - 1 : c->in[2]; /* whole vectors read one more */
    f->is_joined = c->stride[1] == 1 && c->stride[2] == 1;
    f->block = choose_block(f);
    f->is_joined = f->is_joined && f->block > 0;
    f->rows = f->block > 0 ? (f->block - 1) * c->stride[1] + (c->kernel[1] - 1) * c->dilation[1] + 1
                           : taps;
    f->run = takt_kernel_as_pool_f32(takt_planner_kernel(p, "pool_f32"));
    s->scratch_each = 0;
    const size_t line = f->block > 0 ? f->block * f->width : c->out[2];
    (void)reserve(s, taps * sizeof(float *));
    f->known = reserve(s, (f->block > 0 ? f->block : 1) * sizeof(double));
    f->divisors = reserve(s, line * sizeof(float));
    f->lines = reserve(s, f->rows * f->width * sizeof(float));
    f->blank = reserve(s, f->width * sizeof(float));
    f->columns = reserve(s, f->is_joined ? line * sizeof(float) : 0);
    f->y = reserve(s, f->is_joined ? line * sizeof(float) : 0);
    s->run = f->block > 0 ? run_blocks : run_lines;
    s->data = f;
    const double places = (double)c->batch * (double)c->positions * (double)c->channels;
    const double moved = places + (double)c->batch * (double)c->channels * (double)c->area;
    const size_t planes = c->batch * c->channels, lines = c->out[0] * c->out[1];
    s->task_count = takt_cpu_tasks(
        p, 2 * places * (double)(taps * c->kernel[2]) + LINE * (double)(planes * lines), 4 * moved,
        planes * (f->block > 0 ? (lines + f->block - 1) / f->block : lines));
    return TAKT_OK;
}
