/* pool_tiles.c - pools of floats with channels first whose lines of outputs are short: they would
 * fill few lanes, so some channels at a time are turned to lie side by side, pooled, and turned
 * back. The sums are those of pool_lines.c, term by term.
 */
#include <stdint.h>

#include "backend/cpu/conv/pool.h"
#include "backend/cpu/transpose.h"
#include "kernel/pool_f32/pool_f32.h"

/* Outputs of a line that are fewer than lanes; channels at a time; bytes of x that stay in L1 then,
 * and with fewer channels in L2. */
enum { SHORT = 15, CHANNELS = 64, FEWER = 16, NEAR_BYTES = 24 << 10, FAR_BYTES = 192 << 10 };

typedef struct facts {
    takt_pool_shape shape; /* of a tile */
    takt_pool_f32_fn *run;
    size_t all, blocks; /* channels of x, and tiles of a sample */
    /* Offsets in a worker's scratch, where pointers to rows come first. */
    size_t divisors, x, y;
} facts;

/* Channels of a tile; 0: lines fill the lanes, or the tile would be too large. */
static size_t tile_of(const takt_pool_shape *s)
{
    const size_t most = s->area > s->positions ? s->area : s->positions;
    if (!takt_pool_has_lines(s) || s->out[2] > SHORT || s->channels < FEWER)
        return 0;
    if (s->channels >= CHANNELS && most <= NEAR_BYTES / sizeof(float) / CHANNELS)
        return CHANNELS;
    return most <= FAR_BYTES / sizeof(float) / FEWER ? FEWER : 0;
}

bool takt_pool_has_tiles(const takt_pool_shape *s)
{
    return tile_of(s) > 0;
}

/* from[column][row] to to[row][column]. */
static void turn(const float *from, size_t columns, float *to, size_t rows)
{
    const takt_matrix_at x = {(char *)(uintptr_t)from, (ptrdiff_t)(rows * sizeof *from)};
    const takt_matrix_at y = {(char *)to, (ptrdiff_t)(columns * sizeof *to)};
    takt_transpose_4(x, y, rows, columns);
}

static void pool(const facts *f, const takt_pool_shape *c, char *scratch)
{
    const float **rows = (const float **)(void *)scratch;
    float *divisors = (float *)(void *)(scratch + f->divisors);
    const float *x = (const float *)(const void *)(scratch + f->x);
    takt_pool_f32 p = takt_pool_line(c, rows, divisors);
    double known = -1;
    p.y = (float *)(void *)(scratch + f->y);
    for (size_t line = 0; line < c->out[0] * c->out[1]; line++, p.y += c->out[2] * c->channels) {
        const size_t at[2] = {line / c->out[1], line % c->out[1]};
        takt_pool_find_rows(c, x, at, rows);
        if (c->op == &takt_op_avg_pool)
            known = takt_pool_divisors(c, at, known, divisors);
        f->run(&p);
    }
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    char *scratch = t->scratch_own;
    float *x = (float *)(void *)(scratch + f->x), *y = (float *)(void *)(scratch + f->y);
    size_t first, end;
    takt_cpu_share(f->shape.batch * f->blocks, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end && !takt_poll_stops(t->poll); i++) {
        takt_pool_shape c = f->shape;
        const size_t from = i % f->blocks * c.channels, left = f->all - from;
        const size_t plane = i / f->blocks * f->all + from;
        c.channels = left < c.channels ? left : c.channels;
        turn((const float *)takt_view_data(t, &s->in[0]) + plane * c.area, c.channels, x, c.area);
        pool(f, &c, scratch);
        turn(y, c.positions, (float *)takt_view_data(t, &s->out[0]) + plane * c.positions,
             c.channels);
    }
}

takt_status takt_pool_tiles_compile(takt_planner *p, const takt_pool_shape *c)
{
    takt_step *s = p->step;
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->shape = *c;
    f->all = c->channels;
    f->shape.channels = tile_of(c);
    f->blocks = (f->all + f->shape.channels - 1) / f->shape.channels;
    f->run = takt_kernel_as_pool_f32(takt_planner_kernel(p, "pool_f32"));
    f->divisors = takt_pool_rows_bytes(c);
    f->x = f->divisors + takt_cpu_aligned(c->out[2] * sizeof(float));
    f->y = f->x + takt_cpu_aligned(c->area * f->shape.channels * sizeof(float));
    s->scratch_each = f->y + takt_cpu_aligned(c->positions * f->shape.channels * sizeof(float));
    s->data = f;
    s->run = run;
    const double planes = (double)c->batch * (double)c->channels;
    const double taps = (double)(c->kernel[0] * c->kernel[1] * c->kernel[2]);
    const double moved = planes * (double)(c->area + c->positions);
    s->task_count = takt_cpu_tasks(p, 2 * planes * (double)c->positions * taps + 2 * moved,
                                   4 * moved, c->batch * f->blocks);
    return TAKT_OK;
}
