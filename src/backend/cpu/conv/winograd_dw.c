/* winograd_dw.c - a chunk of a block of the gradient by weights, and the end of it. */
#include "backend/cpu/conv/winograd_dw.h"

#include <string.h>

#include "backend/cpu/cpu.h"

enum { OUT = TAKT_WINOGRAD_OUT, IN = TAKT_WINOGRAD_IN, POINTS = TAKT_WINOGRAD_POINTS };

static float *at(void *memory, size_t offset)
{
    return (float *)(void *)((char *)memory + offset);
}

size_t takt_winograd_dw_floats(const takt_winograd_dw *f)
{
    return POINTS * f->ins * f->outs;
}

void takt_winograd_dw_block(takt_winograd_job *j, size_t index)
{
    const takt_winograd_dw *f = j->f;
    takt_cpu_share(f->shape.cin, 1, index % f->in_count, f->in_count, &j->in, &j->ins);
    takt_cpu_share(f->shape.cout, 1, index / f->in_count, f->out_count, &j->out, &j->outs);
    j->ins -= j->in;
    j->outs -= j->out;
}

static size_t d_stride(const takt_winograd_job *j)
{
    return takt_winograd_stride(j->count, takt_panels_columns(j->f->panels, j->outs));
}

/* Pointers to size x size pixels of an image from (row, column) on, which may be outside of it. */
typedef struct window {
    const float *image, *zeros;
    size_t height, width, channels;
    size_t row, column; /* negatives wrap to large values */
    size_t size;
} window;

static bool is_inside(const window *w)
{
    return w->row < w->height && w->column < w->width && w->row + w->size <= w->height &&
           w->column + w->size <= w->width;
}

static const float *pixel(const window *w, size_t row, size_t column)
{
    return row < w->height && column < w->width ? w->image + (row * w->width + column) * w->channels
                                                : w->zeros;
}

static void find_taps(const window *w, const float **taps)
{
    for (size_t i = 0; i < w->size; i++)
        for (size_t j = 0; j < w->size; j++)
            *taps++ = pixel(w, w->row + i, w->column + j);
}

/* ---- a chunk ---- */

static void transform_x(const takt_winograd_job *j, size_t tile, const window *p)
{
    const takt_conv_shape *c = &j->f->shape;
    const float *taps[IN * IN];
    const window w = {.image = j->x + tile / (j->f->tiles / c->batch) * c->x_sample + j->in,
                      .zeros = at(j->t->scratch_own, j->f->zeros),
                      .height = c->in[1],
                      .width = c->in[2],
                      .channels = c->cin,
                      .row = p->row - c->before[1],
                      .column = p->column - c->before[2],
                      .size = IN};
    takt_winograd_f32 v = {.channels = j->ins,
                           .points = at(j->t->scratch_own, j->f->v) + (tile - j->first) * j->ins,
                           .point_stride = takt_winograd_stride(j->count, j->ins),
                           .row = c->in[2] * c->cin,
                           .column = c->cin};
    if (is_inside(&w))
        v.x = pixel(&w, w.row, w.column);
    else {
        find_taps(&w, taps);
        v.taps = taps;
    }
    j->f->to_v(&v);
}

/* Writes directly into the panels of a product: each has its tiles in order. */
static void transform_dy(const takt_winograd_job *j, size_t tile, const window *p)
{
    const takt_conv_shape *c = &j->f->shape;
    const takt_panels panels = j->f->panels;
    const float *taps[OUT * OUT], *moved[OUT * OUT];
    const window w = {.image = j->dy + tile / (j->f->tiles / c->batch) * c->y_sample + j->out,
                      .zeros = at(j->t->scratch_own, j->f->zeros),
                      .height = c->out[1],
                      .width = c->out[2],
                      .channels = c->cout,
                      .row = p->row,
                      .column = p->column,
                      .size = OUT};
    const bool inside = is_inside(&w);
    takt_winograd_dy_f32 d = {.point_stride = d_stride(j),
                              .taps = inside ? NULL : moved,
                              .row = c->out[2] * c->cout,
                              .column = c->cout};
    if (!inside)
        find_taps(&w, taps);
    for (size_t k = 0; k < takt_panels_count(panels, j->outs); k++) {
        const size_t from = takt_panels_column(panels, j->outs, k);
        const size_t width = takt_panels_column(panels, j->outs, k + 1) - from;
        d.channels = j->outs - from < width ? j->outs - from : width;
        d.dy = inside ? pixel(&w, w.row, w.column) + from : NULL;
        for (size_t i = 0; !inside && i < OUT * OUT; i++)
            moved[i] = taps[i] + from;
        d.points = at(j->t->scratch_own, j->f->d) + from * j->count + (tile - j->first) * width;
        j->f->to_d(&d);
    }
}

/* Columns that fill the last panel up are multiplied, too. */
static void clear_gaps(const takt_winograd_job *j)
{
    const size_t count = takt_panels_count(j->f->panels, j->outs);
    const size_t from = takt_panels_column(j->f->panels, j->outs, count - 1);
    const size_t columns = takt_panels_columns(j->f->panels, j->outs);
    if (columns == j->outs)
        return;
    for (size_t p = 0; p < POINTS; p++)
        memset(at(j->t->scratch_own, j->f->d) + p * d_stride(j) + from * j->count, 0,
               (columns - from) * j->count * sizeof(float));
}

static void multiply(const takt_winograd_job *j, const float *so_far, float *to)
{
    const takt_winograd_dw *f = j->f;
    const size_t each = j->ins * j->outs;
    for (size_t p = 0; p < POINTS; p++) {
        const takt_epilogue_f32 add = {.residual = so_far != NULL ? so_far + p * each : NULL,
                                       .residual_stride = j->outs};
        const takt_gemm_f32 g = {.m = j->ins,
                                 .n = j->outs,
                                 .k = j->count,
                                 .a = at(j->t->scratch_own, f->v) +
                                      p * takt_winograd_stride(j->count, j->ins),
                                 .a_row = 1,
                                 .a_col = j->ins,
                                 .b = at(j->t->scratch_own, f->d) + p * d_stride(j),
                                 .b_n = j->outs,
                                 .c = to + p * each,
                                 .ldc = j->outs,
                                 .epilogue = so_far != NULL ? &add : NULL,
                                 .scratch = j->t->scratch_own,
                                 .blocking = f->blocking,
                                 .poll = j->t->poll};
        f->multiply(&g);
    }
}

void takt_winograd_dw_chunk(takt_winograd_job *j, size_t chunk, const float *so_far, float *to)
{
    const takt_winograd_dw *f = j->f;
    const size_t down = (f->shape.out[1] + OUT - 1) / OUT;
    j->first = chunk * TAKT_WINOGRAD_CHUNK;
    j->count = f->tiles - j->first;
    j->count = j->count < TAKT_WINOGRAD_CHUNK ? j->count : TAKT_WINOGRAD_CHUNK;
    clear_gaps(j);
    for (size_t i = j->first; i < j->first + j->count; i++) {
        const window p = {.row = i / f->across % down * OUT, .column = i % f->across * OUT};
        transform_x(j, i, &p);
        transform_dy(j, i, &p);
    }
    multiply(j, so_far, to);
}

/* ---- the end ---- */

enum { SIDE = 8, GROUP = 16 }; /* outputs and inputs that are transformed side by side */

/* Gt of six times SIDE values that lie `from` apart, to three that lie `to` apart. */
static void times_gt(const double *m, size_t from, double *w, size_t to)
{
    for (size_t i = 0; i < SIDE; i++) {
        const double a = m[i + from], b = m[i + 2 * from], c = m[i + 3 * from], d = m[i + 4 * from];
        const double near = (a + b) * (1.0 / 6), far = c + d;
        w[i] = m[i] * 0.25 - near + far * (1.0 / 24);
        w[i + to] = (b - a) * (1.0 / 6) + (c - d) * (1.0 / 12);
        w[i + 2 * to] = far * (1.0 / 6) - near + m[i + 5 * from];
    }
}

/* The nine taps from input channel `i` to `count` outputs from `o` on, both of the block: SIDE
 * floats for each tap. Its arrays leave the stack before the group is written. */
static __attribute__((noinline)) void find_dw(const takt_winograd_job *j, const float *sums,
                                              size_t i, size_t o, size_t count, float *taps)
{
    double m[POINTS * SIDE], half[3 * IN * SIDE];
    for (size_t p = 0; p < POINTS; p++)
        for (size_t k = 0; k < SIDE; k++)
            m[p * SIDE + k] = k < count ? (double)sums[(p * j->ins + i) * j->outs + o + k] : 0;
    for (size_t k = 0; k < IN; k++)
        times_gt(m + k * SIDE, IN * SIDE, half + k * SIDE, IN * SIDE);
    for (size_t k = 0; k < 3; k++)
        times_gt(half + IN * k * SIDE, SIDE, m + 3 * k * SIDE, SIDE);
    for (size_t t = 0; t < 9 * SIDE; t++)
        taps[t] = (float)m[t];
}

/* Inputs [i, i + ins) and outputs [o, o + outs) of a block. */
typedef struct group {
    size_t i, ins, o, outs;
} group;

/* A group is gathered first and then written line by line: dw lies input by input, and lines of
 * neighbouring taps and outputs are often a power of two apart, so caches hold few of them. */
static void store_group(const takt_winograd_job *j, const group *g, const float *taps, float *dw)
{
    const takt_conv_shape *c = &j->f->shape;
    for (size_t k = 0; k < g->outs; k++)
        for (size_t t = 0; t < 9; t++) {
            float *to =
                dw + (j->out + g->o + k) * c->w_out + t * c->w_tap + (j->in + g->i) * c->w_in;
            for (size_t n = 0; n < g->ins; n++)
                to[n * c->w_in] = taps[(n * 9 + t) * SIDE + k];
        }
}

void takt_winograd_dw_store(const takt_winograd_job *j, const float *sums, size_t first, size_t end,
                            float *dw)
{
    float taps[GROUP * 9 * SIDE];
    group g;
    for (g.i = first; g.i < end; g.i += GROUP) {
        g.ins = end - g.i < GROUP ? end - g.i : GROUP;
        for (g.o = 0; g.o < j->outs; g.o += SIDE) {
            g.outs = j->outs - g.o < SIDE ? j->outs - g.o : SIDE;
            for (size_t n = 0; n < g.ins; n++)
                find_dw(j, sums, g.i + n, g.o, g.outs, taps + n * 9 * SIDE);
            store_group(j, &g, taps, dw);
        }
    }
}
