/* winograd_run.c - one task of a convolution by Winograd's F(4x4, 3x3). */
#include "backend/cpu/conv/winograd_run.h"

#include <string.h>

#include "backend/cpu/conv/finish.h"
#include "backend/cpu/conv/winograd.h"
#include "backend/cpu/pace.h"

enum { OUT = TAKT_WINOGRAD_OUT, IN = TAKT_WINOGRAD_IN, POINTS = TAKT_WINOGRAD_POINTS };

static float *at(void *memory, size_t offset)
{
    return (float *)(void *)((char *)memory + offset);
}

static const float *image(const takt_step *s, const takt_task *t)
{
    const takt_winograd_conv *f = s->data;
    return f->shape.is_nhwc ? takt_view_data(t, &s->in[0]) : at(t->scratch, f->x_at);
}

static float *result(const takt_step *s, const takt_task *t)
{
    const takt_winograd_conv *f = s->data;
    return f->shape.is_nhwc ? takt_view_data(t, &s->out[0]) : at(t->scratch, f->y_at);
}

size_t takt_winograd_stride(size_t tiles, size_t channels)
{
    enum { LINE = 64 / sizeof(float) };
    return ((tiles * channels + LINE - 1) / LINE | 1) * LINE;
}

size_t takt_winograd_turned_floats(size_t channels, size_t tiles)
{
    return (tiles + TAKT_WINOGRAD_FEW - 1) / TAKT_WINOGRAD_FEW * TAKT_WINOGRAD_FEW * POINTS *
           channels;
}

/* Where a tile is: its sample, and its first output row and column. */
typedef struct tile {
    size_t sample, row, column;
} tile;

static tile locate(const takt_winograd_conv *f, size_t index)
{
    const size_t down = (f->shape.out[1] + OUT - 1) / OUT;
    return (tile){.sample = index / f->across / down,
                  .row = index / f->across % down * OUT,
                  .column = index % f->across * OUT};
}

/* Near the border, pointers to the 36 inputs, some of them to zeros. */
static void find_taps(const takt_conv_shape *c, const float *x, const tile *p, const float *zeros,
                      const float **taps)
{
    const size_t channels = c->cin;
    for (size_t i = 0; i < IN; i++)
        for (size_t j = 0; j < IN; j++) {
            const size_t row = p->row + i, column = p->column + j;
            const bool inside = row >= c->before[1] && row - c->before[1] < c->in[1] &&
                                column >= c->before[2] && column - c->before[2] < c->in[2];
            taps[IN * i + j] =
                inside ? x + ((row - c->before[1]) * c->in[2] + column - c->before[2]) * channels
                       : zeros;
        }
}

static void transform_inputs(const takt_step *s, const takt_task *t, size_t first, size_t count)
{
    const takt_winograd_conv *f = s->data;
    const takt_conv_shape *c = &f->shape;
    const float *taps[POINTS], *zeros = at(t->scratch_own, f->zeros);
    takt_winograd_f32 w = {.channels = c->cin,
                           .point_stride = takt_winograd_stride(count, c->cin),
                           .column = c->cin,
                           .row = c->in[2] * c->cin};
    for (size_t i = 0; i < count; i++) {
        const tile p = locate(f, first + i);
        const float *x = image(s, t) + p.sample * c->x_sample;
        const bool inner = p.row >= c->before[1] && p.row - c->before[1] + IN <= c->in[1] &&
                           p.column >= c->before[2] && p.column - c->before[2] + IN <= c->in[2];
        w.taps = inner ? NULL : taps;
        if (inner)
            w.x = x + (p.row - c->before[1]) * w.row + (p.column - c->before[2]) * w.column;
        else
            find_taps(c, x, &p, zeros, taps);
        w.points = at(t->scratch_own, f->inputs) + i * c->cin;
        f->transform(&w);
    }
}

/* The columns of the result that a task computes. */
typedef struct columns {
    size_t first, count;
} columns;

static void multiply(const takt_winograd_conv *f, const takt_task *t, const float *weights,
                     size_t count, const columns *o)
{
    const takt_conv_shape *c = &f->shape;
    const size_t each = takt_winograd_point_floats(c, f->panels);
    for (size_t p = 0; p < POINTS; p++) {
        takt_gemm_f32 g = {
            .m = count,
            .n = o->count,
            .k = c->cin,
            .a = at(t->scratch_own, f->inputs) + p * takt_winograd_stride(count, c->cin),
            .a_row = c->cin,
            .a_col = 1,
            .reads_a = f->reads_a,
            .b = weights + p * each,
            .b_n = c->cout,
            .b_first = o->first,
            .c = at(t->scratch_own, f->products) + p * takt_winograd_stride(count, o->count),
            .ldc = o->count,
            .scratch = t->scratch_own,
            .blocking = f->blocking,
            .poll = t->poll};
        f->multiply(&g);
    }
}

/* The inputs as `few` reads them: for each few tiles, row by row of points, six points of all these
 * tiles for each channel. */
static void turn(const takt_winograd_conv *f, const takt_task *t, size_t count)
{
    const size_t cin = f->shape.cin, each = TAKT_WINOGRAD_FEW * IN;
    float *to = at(t->scratch_own, f->turned);
    memset(to, 0, takt_winograd_turned_floats(cin, count) * sizeof *to);
    for (size_t p = 0; p < POINTS; p++)
        for (size_t k = 0; k < count; k++) {
            const float *from =
                at(t->scratch_own, f->inputs) + p * takt_winograd_stride(count, cin) + k * cin;
            float *first = to + (k / TAKT_WINOGRAD_FEW * IN + p / IN) * each * cin +
                           p % IN * TAKT_WINOGRAD_FEW + k % TAKT_WINOGRAD_FEW;
            for (size_t c = 0; c < cin; c++)
                first[c * each] = from[c];
        }
}

/* The products of all tiles by a part of the weights, which stays in L2. */
static void multiply_part(const takt_winograd_conv *f, size_t count, takt_winograd_few_f32 g)
{
    for (size_t k = 0; k < count; k += TAKT_WINOGRAD_FEW) {
        g.tiles = count - k < TAKT_WINOGRAD_FEW ? count - k : TAKT_WINOGRAD_FEW;
        f->few(&g);
        g.v += IN * g.v_row;
        g.m += TAKT_WINOGRAD_FEW * g.ld;
    }
}

/* Panel by panel and chunk by chunk, as products are. */
static void multiply_few(const takt_winograd_conv *f, const takt_task *t, const float *weights,
                         size_t count, const columns *o)
{
    const takt_conv_shape *c = &f->shape;
    const size_t end = o->first + o->count, each = TAKT_WINOGRAD_FEW * IN;
    takt_winograd_few_f32 g = {.tap = takt_winograd_point_floats(c, f->panels),
                               .v_row = each * c->cin,
                               .point = takt_winograd_stride(count, o->count),
                               .ld = o->count,
                               .sums = at(t->scratch_own, f->sums)};
    turn(f, t, count);
    for (size_t first = o->first; first < end; first += g.columns) {
        const size_t panel = takt_panels_of(f->panels, c->cout, first);
        g.columns = takt_panels_column(f->panels, c->cout, panel + 1) - first;
        g.count = end - first < g.columns ? end - first : g.columns;
        g.m = at(t->scratch_own, f->products) + first - o->first;
        for (size_t k = 0; k < c->cin && !takt_poll_stops(t->poll); k += TAKT_GEMM_CHUNK) {
            g.channels = c->cin - k < TAKT_GEMM_CHUNK ? c->cin - k : TAKT_GEMM_CHUNK;
            g.w = weights + takt_packed_at(f->panels, c->cin, c->cout, k, first);
            g.v = at(t->scratch_own, f->turned) + k * each;
            g.adds = k > 0;
            multiply_part(f, count, g);
        }
    }
}

/* The epilogue that the transform cannot do itself, on the rows of one tile. */
static void finish(const takt_conv_shape *c, const takt_epilogue_f32 *e, const takt_winograd_f32 *w,
                   size_t position)
{
    for (size_t i = 0; i < w->rows; i++) {
        const takt_conv_block block = {.y = w->y + i * w->row,
                                       .ld = w->column,
                                       .row = position + i * c->out[2],
                                       .rows = w->cols,
                                       .columns = w->channels};
        takt_conv_finish(e, &block);
    }
}

static void transform_outputs(const takt_step *s, const takt_task *t, size_t first, size_t count,
                              const columns *o)
{
    const takt_winograd_conv *f = s->data;
    const takt_conv_shape *c = &f->shape;
    takt_conv_ending ending = takt_conv_end_at(&f->end, s, t, f->registers, 0, o->first);
    takt_epilogue_f32 e;
    const bool ends = takt_conv_end_for(&ending, &e), is_known = takt_conv_end_is_simple(&f->end);
    takt_winograd_f32 w = {.step = TAKT_WINOGRAD_OUTPUT,
                           .channels = o->count,
                           .point_stride = takt_winograd_stride(count, o->count),
                           .row = c->out[2] * c->cout,
                           .column = c->cout,
                           .bias = is_known ? e.bias : NULL,
                           .limit = f->end.limit,
                           .relu = is_known && f->end.epilogue.act == TAKT_GEMM_ACT_RELU};
    const takt_epilogue_f32 rest =
        is_known ? (takt_epilogue_f32){.tail = e.tail, .user = e.user} : e;
    for (size_t i = 0; i < count; i++) {
        const tile p = locate(f, first + i);
        const size_t position = p.sample * c->positions + p.row * c->out[2] + p.column;
        w.points = at(t->scratch_own, f->products) + i * o->count;
        w.y = result(s, t) + position * c->cout + o->first;
        w.residual = is_known && e.residual != NULL ? e.residual + position * c->cout : NULL;
        w.rows = c->out[1] - p.row < OUT ? c->out[1] - p.row : OUT;
        w.cols = c->out[2] - p.column < OUT ? c->out[2] - p.column : OUT;
        f->transform(&w);
        if (ends && (!is_known || rest.tail != NULL))
            finish(c, &rest, &w, position);
    }
}

void takt_winograd_run(const takt_step *s, const takt_task *t)
{
    const takt_winograd_conv *f = s->data;
    size_t first, end, from, to;
    takt_cpu_share(f->tiles, f->cut.grain, takt_cut_row(&f->cut, t->index), f->cut.rows, &first,
                   &end);
    takt_panels_share(f->panels, f->shape.cout, takt_cut_column(&f->cut, t->index), f->cut.columns,
                      &from, &to);
    const columns o = {from, to - from};
    if (o.count == 0)
        return;
    const float *weights =
        f->is_packed ? takt_view_data(t, &s->in[f->w]) : at(t->scratch, f->weights_at);
    memset(at(t->scratch_own, f->zeros), 0, f->shape.cin * sizeof(float));
    for (size_t i = first, count; i < end && !takt_poll_stops(t->poll); i += count) {
        const size_t blocks = (end - i + f->block - 1) / f->block;
        count = (end - i + blocks - 1) / blocks; /* even multiples: a smaller block costs almost as
                                                  * much */
        transform_inputs(s, t, i, count);
        if (f->few != NULL)
            multiply_few(f, t, weights, count, &o);
        else
            multiply(f, t, weights, count, &o);
        transform_outputs(s, t, i, count, &o);
    }
}

void takt_winograd_transpose(const takt_task *t, const float *from, float *to, size_t samples,
                             size_t rows, size_t cols)
{
    takt_pace pace = takt_pace_of(t);
    for (size_t n = 0; n < samples; n++, from += rows * cols, to += rows * cols)
        for (size_t i = 0; i < rows && !takt_pace_stops(&pace, 2 * cols); i++)
            for (size_t j = 0; j < cols; j++)
                to[j * rows + i] = from[i * cols + j];
}

void takt_winograd_before(const takt_step *s, const takt_task *t)
{
    const takt_winograd_conv *f = s->data;
    const takt_conv_shape *c = &f->shape;
    takt_winograd_transpose(t, takt_view_data(t, &s->in[0]), at(t->scratch, f->x_at), c->batch,
                            c->cin, c->area);
}

void takt_winograd_prepare(const takt_step *s, const takt_task *t)
{
    const takt_winograd_conv *f = s->data;
    takt_winograd_pack_part(&f->shape, &f->packing, takt_view_data(t, &s->in[f->w]),
                            at(t->scratch, f->weights_at),
                            (const size_t[2]){t->index, s->prepare_count});
}

void takt_winograd_after(const takt_step *s, const takt_task *t)
{
    const takt_winograd_conv *f = s->data;
    const takt_conv_shape *c = &f->shape;
    takt_winograd_transpose(t, at(t->scratch, f->y_at), takt_view_data(t, &s->out[0]), c->batch,
                            c->positions, c->cout);
}
