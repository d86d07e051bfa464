/* narrow_conv.c - one task of narrow_conv: by products, depthwise, or by Winograd's transform. */
#include "backend/cpu/conv/narrow_conv.h"

#include <string.h>

#include "backend/cpu/pace.h"

const uint16_t *takt_narrow_weights(const takt_step *s, const takt_task *t)
{
    const takt_narrow_conv *f = s->data;
    const void *packed = f->w_packed ? takt_view_data(t, &s->in[f->w])
                                     : (const void *)((const char *)t->scratch + f->w_at);
    return packed;
}

const float *takt_narrow_bias(const takt_step *s, const takt_task *t)
{
    const takt_narrow_conv *f = s->data;
    if (f->bias < 0)
        return NULL;
    const void *bias = f->b_packed ? takt_view_data(t, &s->in[f->bias])
                                   : (const void *)((const char *)t->scratch + f->b_at);
    return bias;
}

const uint16_t *takt_narrow_residual(const takt_step *s, const takt_task *t)
{
    const takt_narrow_conv *f = s->data;
    return f->residual < 0 ? NULL : takt_view_data(t, &s->in[f->residual]);
}

/* ---- products ---- */

/* Short runs are the common case, and a call of memcpy costs more than they do. */
static inline void copy(uint16_t *to, const uint16_t *from, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        memcpy(to + i, from + i, 8 * sizeof *to);
    if (i < n && n >= 8) {
        memcpy(to + n - 8, from + n - 8, 8 * sizeof *to); /* some bytes twice */
        return;
    }
    for (; i < n; i++)
        to[i] = from[i];
}

/* A row of the window of output column `column`, some taps of which are outside. */
static void gather_edge(const takt_conv_shape *c, const uint16_t *row, size_t column, uint16_t *to)
{
    const size_t n = c->cin;
    for (size_t j = 0; j < c->kernel[2]; j++, to += n) {
        const size_t at = column * c->stride[2] + j * c->dilation[2] - c->before[2]; /* may wrap */
        if (row != NULL && at < c->in[2])
            copy(to, row + at * n, n);
        else
            memset(to, 0, n * sizeof *to);
    }
}

/* `count` runs of n values, `step` apart, to patches `to_step` apart. Runs of a few taps of a few
 * channels are two vectors each, which have some values in common. */
static void copy_runs(uint16_t *to, size_t to_step, const uint16_t *from, size_t step, size_t n,
                      size_t count)
{
    if (n >= 8 && n <= 16)
        for (; count > 0; count--, to += to_step, from += step) {
            memcpy(to, from, 8 * sizeof *to);
            memcpy(to + n - 8, from + n - 8, 8 * sizeof *to);
        }
    else if (n > 16 && n <= 32)
        for (; count > 0; count--, to += to_step, from += step) {
            memcpy(to, from, 16 * sizeof *to);
            memcpy(to + n - 16, from + n - 16, 16 * sizeof *to);
        }
    else
        for (; count > 0; count--, to += to_step, from += step)
            copy(to, from, n);
}

/* The first output of a line that reads nothing before x, and the first that reads beyond it. */
static void inside(const takt_conv_shape *c, size_t *first, size_t *end)
{
    const size_t step = c->stride[2], room = c->in[2] + c->before[2];
    *first = (c->before[2] + step - 1) / step;
    *end = room >= c->kernel[2] ? (room - c->kernel[2]) / step + 1 : 0;
}

/* Row i of the windows of `count` outputs of one line, from column `first` on. */
static void gather_line(const takt_narrow_conv *f, const uint16_t *row, size_t first, size_t count,
                        uint16_t *to)
{
    const takt_conv_shape *c = &f->shape;
    const size_t end = first + count, step = c->stride[2];
    size_t low, high, q = first;
    inside(c, &low, &high);
    if (row == NULL || c->dilation[2] != 1)
        high = 0;
    high = high < end ? high : end;
    for (; q < end && (q < low || q >= high); q++)
        gather_edge(c, row, q, to + (q - first) * f->k_row);
    if (q < high)
        copy_runs(to + (q - first) * f->k_row, f->k_row, row + (q * step - c->before[2]) * c->cin,
                  step * c->cin, c->kernel[2] * c->cin, high - q);
    for (q = q < high ? high : q; q < end; q++)
        gather_edge(c, row, q, to + (q - first) * f->k_row);
}

/* The patches of `rows` positions from `first` on: [k_row] each. */
static void gather(const takt_narrow_conv *f, const uint16_t *x, size_t first, size_t rows,
                   uint16_t *to)
{
    const takt_conv_shape *c = &f->shape;
    for (size_t end = first + rows, count; first < end; first += count, to += count * f->k_row) {
        const uint16_t *sample = x + first / c->positions * c->x_sample;
        size_t at[3];
        takt_conv_unflatten(c->out, first % c->positions, at);
        count = c->out[2] - at[2] < end - first ? c->out[2] - at[2] : end - first;
        for (size_t i = 0; i < c->kernel[1]; i++) {
            const size_t row = at[1] * c->stride[1] + i * c->dilation[1] - c->before[1];
            gather_line(f, row < c->in[1] ? sample + row * c->x_at[1] : NULL, at[2], count,
                        to + i * c->kernel[2] * c->cin);
        }
        for (size_t r = 0; r < count; r++)
            for (size_t k = c->k; k < f->k_row; k++)
                to[r * f->k_row + k] = 0;
    }
}

void takt_narrow_product(const takt_step *s, const takt_task *t)
{
    const takt_narrow_conv *f = s->data;
    const takt_conv_shape *c = &f->shape;
    const takt_product_bf16_info *info = f->kernel->info;
    const bool is_direct = f->way == TAKT_NARROW_DIRECT;
    const size_t group = info->pack.group; /* weights are packed to whole ones, with zeros */
    size_t row, end, first, last;
    takt_cpu_share(c->batch * c->positions, f->cut.grain, takt_quotient(t->index, f->cut.columns),
                   f->cut.rows, &row, &end);
    takt_panels_share(info->pack.gemm.panels, c->cout, takt_remainder(t->index, f->cut.columns),
                      f->cut.columns, &first, &last);
    const uint16_t *x = takt_view_data(t, &s->in[f->x]);
    const uint16_t *residual = takt_narrow_residual(s, t);
    const float *bias = takt_narrow_bias(s, t);
    uint16_t *y = takt_view_data(t, &s->out[0]);
    uint16_t *patches = (uint16_t *)(void *)((char *)t->scratch_own + f->patches);
    takt_product_bf16 g = {.n = last - first,
                           .k = is_direct ? c->k : (c->k + group - 1) / group * group,
                           .a_row = is_direct ? c->x_at[2] : f->k_row,
                           .a_padded = !is_direct && f->k_row % 32 == 0,
                           .b = takt_narrow_weights(s, t),
                           .b_n = c->cout,
                           .b_first = first,
                           .bias = bias != NULL ? bias + first : NULL,
                           .ldr = c->cout,
                           .lo = f->lo,
                           .hi = f->hi,
                           .ldc = c->cout,
                           .scratch = t->scratch_own};
    /* Whole tiles of rows, as many as a few hundred microseconds allow. */
    enum { TILES = 64, FAST = 32 }; /* rows; products in the time of an element */
    const size_t most = is_direct ? takt_pace_piece(c->k * (last - first) / FAST, TILES) : f->rows;
    for (; row < end && first < last && !takt_poll_stops(t->poll); row += g.m) {
        g.m = end - row < most ? end - row : most;
        if (!is_direct)
            gather(f, x, row, g.m, patches);
        g.a = is_direct ? x + row * c->x_at[2] : patches;
        g.residual = residual != NULL ? residual + row * c->cout + first : NULL;
        g.c = y + row * c->cout + first;
        takt_kernel_as_product_bf16(f->kernel)(&g);
    }
}

/* ---- depthwise ---- */

void takt_narrow_depthwise(const takt_step *s, const takt_task *t)
{
    const takt_narrow_conv *f = s->data;
    const takt_conv_shape *c = &f->shape;
    const uint16_t *x = takt_view_data(t, &s->in[f->x]);
    uint16_t *y = takt_view_data(t, &s->out[0]);
    uint16_t *zeros = (uint16_t *)(void *)((char *)t->scratch_own + f->zeros);
    const uint16_t **rows = (const uint16_t **)(void *)((char *)t->scratch_own + f->pointers);
    memset(zeros, 0, c->groups * sizeof *zeros);
    takt_depthwise_bf16 d = {.x_step = f->x_step,
                             .channels = c->groups,
                             .columns = c->out[2],
                             .width = c->in[2],
                             .rows = c->kernel[1],
                             .taps = c->kernel[2],
                             .stride = c->stride[2],
                             .dilation = c->dilation[2],
                             .before = c->before[2],
                             .x = rows,
                             .zeros = zeros,
                             .w = takt_narrow_weights(s, t),
                             .bias = takt_narrow_bias(s, t),
                             .lo = f->lo,
                             .hi = f->hi,
                             .room = zeros + c->groups};
    size_t first, end;
    takt_cpu_share(c->batch * c->out[1], f->cut.grain, t->index, s->task_count, &first, &end);
    for (size_t line = first; line < end && !takt_poll_stops(t->poll); line += d.lines) {
        const size_t within = line % c->out[1], left = c->out[1] - within;
        d.lines = end - line < left ? end - line : left;
        d.lines = d.lines > TAKT_NARROW_LINES ? TAKT_NARROW_LINES : d.lines;
        for (size_t l = 0; l < d.lines; l++)
            for (size_t i = 0; i < d.rows; i++) {
                const size_t at =
                    (within + l) * c->stride[1] + i * c->dilation[1] - c->before[1]; /* may wrap */
                rows[l * d.x_step + i] =
                    at < c->in[1] ? x + line / c->out[1] * c->x_sample + at * c->x_at[1] : NULL;
            }
        d.y = y + line * c->out[2] * c->groups;
        takt_kernel_as_depthwise_bf16(f->kernel)(&d);
    }
}

/* ---- Winograd ---- */

void takt_narrow_winograd(const takt_step *s, const takt_task *t)
{
    const takt_narrow_conv *f = s->data;
    const takt_conv_shape *c = &f->shape;
    const uint16_t *x = takt_view_data(t, &s->in[f->x]);
    const uint16_t *residual = takt_narrow_residual(s, t);
    uint16_t *y = takt_view_data(t, &s->out[0]);
    uint16_t *zeros = (uint16_t *)(void *)((char *)t->scratch_own + f->zeros);
    memset(zeros, 0, c->cin * sizeof *zeros);
    takt_winograd_bf16 w = {.cin = c->cin,
                            .cout = c->cout,
                            .in = {c->in[1], c->in[2]},
                            .out = {c->out[1], c->out[2]},
                            .before = {c->before[1], c->before[2]},
                            .zeros = zeros,
                            .u = takt_narrow_weights(s, t),
                            .bias = takt_narrow_bias(s, t),
                            .lo = f->lo,
                            .hi = f->hi,
                            .scratch = t->scratch_own};
    const size_t units = takt_winograd_bf16_units(w.out);
    size_t first, end;
    takt_cpu_share(c->batch * units, f->cut.grain, t->index, s->task_count, &first, &end);
    const size_t most = takt_pace_piece(c->cin * c->cout, f->cut.grain);
    for (; first < end && !takt_poll_stops(t->poll); first += w.count) {
        const size_t sample = first / units;
        w.first = first % units;
        w.count = units - w.first < end - first ? units - w.first : end - first;
        w.count = w.count < most ? w.count : most;
        w.x = x + sample * c->x_sample;
        w.residual = residual != NULL ? residual + sample * c->y_sample : NULL;
        w.y = y + sample * c->y_sample;
        takt_kernel_as_winograd_bf16(f->kernel)(&w);
    }
}
