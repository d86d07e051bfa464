/* integer_depthwise.c - convolutions of bytes with one channel per group, channels last.
 *
 * The step finds the bytes under each tap; taps in the padding point to bytes of x's zero point, so
 * that the kernel needs no borders.
 */
#include <string.h>

#include "backend/cpu/conv/run.h"
#include "backend/cpu/conv/shape.h"
#include "backend/cpu/integer.h"
#include "base/size.h"
#include "kernel/depthwise_i8/depthwise_i8.h"
#include "op/util/conv.h"

enum {
    POSITIONS = 64, /* at a time: what they read is still near for the next channels */
    FEW = 16,       /* that many take little longer, where results need less memory than these */
    PADDING = 4096  /* bytes of padding that pay for positions which share places in it */
};

typedef struct facts {
    takt_integer integer;
    takt_conv_shape shape;
    takt_depthwise_i8_fn *run;
    bool is_packed;   /* weights are constants, and lie as the kernel expects them */
    size_t packed_at; /* in shared scratch, unless is_packed */
    size_t dot, sum;  /* offsets behind the 16-bit weights */
    size_t inner[2];  /* columns of y whose taps are all columns of x */
    size_t most;      /* positions at a time */
    size_t padding;   /* bytes, in a worker's scratch */
    bool is_shared;   /* the padding is as long as the inner part of a line */
    /* Offsets in a worker's scratch, after the padding: */
    size_t rows, columns, taps, spots, bias, shifted;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return takt_integer_is_depthwise(g, &g->nodes[node]) ? NULL : "";
}

/* ---- weights ---- */

static int32_t weight(const facts *f, const uint8_t *w, size_t channel, size_t tap)
{
    const uint8_t byte = w[channel * f->shape.taps + tap];
    return f->integer.b_unsigned ? byte : (int8_t)byte;
}

/* [channels][taps] to [taps][channels]; and by fours of taps, for signed weights. */
static void pack(const facts *f, const uint8_t *w, char *to)
{
    const size_t channels = f->shape.groups, taps = f->shape.taps;
    int16_t *wide = (int16_t *)(void *)to;
    int8_t *dot = (int8_t *)(to + f->dot);
    int32_t *sum = (int32_t *)(void *)(to + f->sum);
    memset(to, 0, f->sum + channels * sizeof *sum);
    for (size_t k = 0; k < taps; k++)
        for (size_t c = 0; c < channels; c++) {
            const int32_t value = weight(f, w, c, k);
            wide[k * channels + c] = (int16_t)value;
            dot[(k / 4 * channels + c) * 4 + k % 4] = (int8_t)value;
            sum[c] += value;
        }
}

static takt_status pack_constant(void *user, const void *from, void *to)
{
    pack(user, from, to);
    return TAKT_OK;
}

static void before(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    pack(f, takt_view_data(t, &s->in[f->integer.in[TAKT_INTEGER_B]]),
         (char *)t->scratch + f->packed_at);
}

/* Zero points of the weights: subtracted, into scratch, where there are any. */
static void shift_weights(const facts *f, const takt_step *s, const takt_task *t,
                          takt_depthwise_i8 *d, int32_t *zeros)
{
    const size_t channels = f->shape.groups;
    int16_t *to = (int16_t *)(void *)((char *)t->scratch_own + f->shifted);
    bool any = f->integer.b_unsigned;
    takt_integer_b_zeros(&f->integer, s, t, 0, channels, zeros);
    for (size_t c = 0; c < channels; c++)
        any |= zeros[c] != 0;
    if (!any)
        return;
    for (size_t k = 0; k < f->shape.taps; k++)
        for (size_t c = 0; c < channels; c++)
            to[k * channels + c] = (int16_t)(d->w[k * channels + c] - zeros[c]);
    d->w = to;
    d->w_dot = NULL;
}

static void set_weights(const takt_step *s, const takt_task *t, takt_depthwise_i8 *d)
{
    const facts *f = s->data;
    const char *packed = f->is_packed ? takt_view_data(t, &s->in[f->integer.in[TAKT_INTEGER_B]])
                                      : (const char *)t->scratch + f->packed_at;
    d->w = (const int16_t *)(const void *)packed;
    d->w_dot = (const int8_t *)packed + f->dot;
    d->w_sum = (const int32_t *)(const void *)(packed + f->sum);
}

/* The bias, less the zero point of x times the weights: for the kernel, which has no zero points.
 */
static void set_bias(const takt_step *s, const takt_task *t, const takt_depthwise_i8 *d,
                     takt_requant *q, int32_t *bias)
{
    const facts *f = s->data;
    const size_t channels = f->shape.groups;
    const uint32_t zero = (uint32_t)takt_integer_a_zero(&f->integer, s, t);
    uint32_t *to = (uint32_t *)bias;
    for (size_t c = 0; c < channels; c++)
        to[c] = q->bias != NULL ? (uint32_t)q->bias[c] : 0;
    for (size_t k = 0; zero != 0 && d->w_dot == NULL && k < f->shape.taps; k++)
        for (size_t c = 0; c < channels; c++) {
            const int32_t w = d->w[k * channels + c];
            to[c] -= zero * (uint32_t)w;
        }
    for (size_t c = 0; d->w_dot != NULL && c < channels; c++)
        to[c] -= zero * (uint32_t)d->w_sum[c];
    q->bias = bias;
}

/* ---- taps ---- */

/* What finding taps needs, besides the positions. */
typedef struct finder {
    const takt_conv_shape *shape;
    const size_t *inner; /* columns of y, from and to, whose taps are all columns of x */
    bool is_shared;
    const uint8_t *x, *padding;
    const uint8_t **rows; /* room for those of one window; NULL: in the padding */
    size_t *columns;      /* room for the same: bytes from the beginning of a row, or NOWHERE */
    const uint8_t **taps; /* room for those of all positions */
} finder;

#define NOWHERE SIZE_MAX

/* The rows of x that the windows of a line read. Returns whether none is in the padding. Rows
 * before the first one wrap around to a number that is too great. */
static bool find_rows(const finder *f, const uint8_t *sample, const size_t at[3])
{
    const takt_conv_shape *c = f->shape;
    const uint8_t **to = f->rows;
    bool all = true;
    for (size_t a = 0; a < c->kernel[0]; a++)
        for (size_t b = 0; b < c->kernel[1]; b++) {
            const size_t i = at[0] * c->stride[0] + a * c->dilation[0] - c->before[0];
            const size_t j = at[1] * c->stride[1] + b * c->dilation[1] - c->before[1];
            const bool inside = i < c->in[0] && j < c->in[1];
            *to++ = inside ? sample + i * c->x_at[0] + j * c->x_at[1] : NULL;
            all &= inside;
        }
    return all;
}

/* The taps of one position whose column is `column`. */
static inline __attribute__((always_inline)) const uint8_t **
find_taps_of(const finder *f, size_t column, const uint8_t **to, const size_t columns)
{
    const takt_conv_shape *c = f->shape;
    const uintptr_t nowhere = (uintptr_t)f->padding;
    const size_t rows = c->kernel[0] * c->kernel[1];
    for (size_t k = 0; k < columns; k++) {
        const size_t at = column * c->stride[2] + k * c->dilation[2] - c->before[2];
        f->columns[k] = at < c->in[2] ? at * c->x_at[2] : NOWHERE;
    }
    for (size_t r = 0; r < rows; r++, to += columns) {
        const uintptr_t row = (uintptr_t)f->rows[r];
        for (size_t k = 0; k < columns; k++) {
            const size_t at = f->columns[k];
            const uintptr_t is_there = 0 - (uintptr_t)((row != 0) & (at != NOWHERE));
            to[k] = (const uint8_t *)(((row + at) & is_there) | (nowhere & ~is_there));
        }
    }
    return to;
}

static const uint8_t **find_taps(const finder *f, size_t column, const uint8_t **to)
{
    const size_t columns = f->shape->kernel[2];
    return columns == 3 ? find_taps_of(f, column, to, 3) : find_taps_of(f, column, to, columns);
}

/* The next line: where it begins, in which sample. */
static const uint8_t *next_line(const takt_conv_shape *c, const uint8_t *sample, size_t at[3])
{
    at[2] = 0;
    if (++at[1] < c->out[1])
        return sample;
    at[1] = 0;
    if (++at[0] < c->out[0])
        return sample;
    at[0] = 0;
    return sample + c->x_sample;
}

/* Where positions [first, first + count) read. Those of a line whose columns are all columns of x
 * share the places of their taps, if rows in the padding are long enough for that. */
static void find_spots(const finder *f, size_t first, size_t count, takt_depthwise_spot *spot)
{
    const takt_conv_shape *c = f->shape;
    const size_t before = takt_quotient(first, c->positions);
    const uint8_t **to = f->taps, *sample = f->x + before * c->x_sample;
    const size_t step = c->stride[2] * c->x_at[2];
    size_t at[3];
    takt_conv_unflatten(c->out, first - before * c->positions, at);
    for (const takt_depthwise_spot *end = spot + count; spot < end;
         sample = next_line(c, sample, at)) {
        const bool is_whole = find_rows(f, sample, at) || f->is_shared;
        while (at[2] < c->out[2] && spot < end) {
            const bool shares = is_whole && at[2] >= f->inner[0] && at[2] < f->inner[1];
            const size_t left = (size_t)(end - spot), most = shares ? f->inner[1] - at[2] : 1,
                         more = left < most ? left : most;
            for (size_t i = 0; i < more; i++)
                *spot++ = (takt_depthwise_spot){to, i * step};
            to = find_taps(f, at[2], to);
            at[2] += more;
        }
    }
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    char *own = t->scratch_own;
    const finder find = {.shape = c,
                         .inner = f->inner,
                         .is_shared = f->is_shared,
                         .x = takt_view_data(t, &s->in[f->integer.in[TAKT_INTEGER_A]]),
                         .padding = (const uint8_t *)own,
                         .rows = (const uint8_t **)(void *)(own + f->rows),
                         .columns = (size_t *)(void *)(own + f->columns),
                         .taps = (const uint8_t **)(void *)(own + f->taps)};
    takt_depthwise_spot *const spots = (takt_depthwise_spot *)(void *)(own + f->spots);
    int32_t *bias = (int32_t *)(void *)(own + f->bias);
    takt_requant q;
    takt_integer_requant_of(&f->integer, s, t, 0, &q);
    takt_depthwise_i8 d = {.taps = c->taps,
                           .channels = c->groups,
                           .spots = spots,
                           .x_unsigned = f->integer.a_unsigned,
                           .requant = &q};
    memset(own, takt_integer_a_zero(&f->integer, s, t), f->padding);
    set_weights(s, t, &d);
    shift_weights(f, s, t, &d, bias);
    set_bias(s, t, &d, &q, bias);
    size_t first, end;
    takt_cpu_share(c->batch * c->positions, 1, t->index, s->task_count, &first, &end);
    for (; first < end && !takt_poll_stops(t->poll); first += d.positions) {
        d.positions = end - first < f->most ? end - first : f->most;
        d.y = (char *)takt_view_data(t, &s->out[0]) + first * c->groups * f->integer.result_bytes;
        find_spots(&find, first, d.positions, spots);
        f->run(&d);
    }
}

/* ---- compiling ---- */

static takt_status add_weights(takt_planner *p, facts *f)
{
    const takt_id node = p->graph->nodes[p->group->nodes[0]].in[TAKT_INTEGER_B];
    const size_t channels = f->shape.groups, taps = f->shape.taps;
    f->dot = takt_cpu_aligned(channels * taps * sizeof(int16_t));
    f->sum = f->dot + takt_cpu_aligned((taps + 3) / 4 * 4 * channels);
    const size_t bytes = f->sum + channels * sizeof(int32_t);
    f->is_packed = takt_planner_is_constant(p, node) && !takt_planner_in_prologue(p);
    if (f->is_packed)
        return takt_planner_packed(p, node, "depthwise-i8", bytes, pack_constant, f,
                                   &f->integer.in[TAKT_INTEGER_B]);
    f->packed_at = takt_conv_reserve(p->step, bytes);
    p->step->before = before;
    return takt_planner_input(p, node, &f->integer.in[TAKT_INTEGER_B]);
}

/* At most this many positions at a time have places of taps of their own. */
static size_t places(const facts *f, size_t positions)
{
    const takt_conv_shape *c = &f->shape;
    const bool has_inner = f->inner[0] < f->inner[1];
    const size_t lines = positions > 0 ? 1 + (positions + c->out[2] - 2) / c->out[2] : 0;
    const size_t each = has_inner ? c->out[2] - (f->inner[1] - f->inner[0]) + 1 : c->out[2];
    return f->is_shared && lines * each < positions ? lines * each : positions;
}

/* Whether some window has rows in the padding. */
static bool has_rows_outside(const takt_conv_shape *c)
{
    bool any = false;
    for (int d = 0; d < 2; d++) {
        const size_t last = (c->out[d] - 1) * c->stride[d] + (c->kernel[d] - 1) * c->dilation[d];
        any |= c->before[d] > 0 || last >= c->in[d];
    }
    return any;
}

static void set_padding(facts *f)
{
    const takt_conv_shape *c = &f->shape;
    const bool is_long = f->inner[0] < f->inner[1] && has_rows_outside(c);
    const size_t inner = is_long ? f->inner[1] - f->inner[0] : 1;
    const size_t bytes = c->groups + (inner - 1) * c->stride[2] * c->x_at[2];
    f->is_shared = bytes <= PADDING || inner == 1;
    f->padding = f->is_shared ? bytes : c->groups;
}

static void set_scratch(takt_planner *p, facts *f)
{
    const takt_conv_shape *c = &f->shape;
    f->rows = takt_cpu_aligned(f->padding);
    f->columns = f->rows + takt_cpu_aligned(c->kernel[0] * c->kernel[1] * sizeof(void *));
    f->taps = f->columns + takt_cpu_aligned(c->kernel[2] * sizeof(size_t));
    const size_t positions = f->most;
    const bool is_shifted = f->integer.b_unsigned || !f->integer.has_no_zeros;
    f->spots = f->taps + takt_cpu_aligned(places(f, positions) * c->taps * sizeof(void *));
    f->bias = f->spots + takt_cpu_aligned(positions * sizeof(takt_depthwise_spot));
    f->shifted = f->bias + takt_cpu_aligned(c->groups * sizeof(int32_t));
    p->step->scratch_each = f->shifted;
    if (is_shifted)
        p->step->scratch_each += takt_cpu_aligned(c->groups * c->taps * sizeof(int16_t));
}

/* Columns before the first tap of x's first one, and those up to the last tap of its last. */
static void find_inner(const takt_conv_shape *c, size_t inner[2])
{
    const size_t reach = (c->kernel[2] - 1) * c->dilation[2], stride = c->stride[2];
    const size_t end =
        c->in[2] + c->before[2] > reach ? (c->in[2] + c->before[2] - reach - 1) / stride + 1 : 0;
    inner[0] = (c->before[2] + stride - 1) / stride;
    inner[1] = end < c->out[2] ? end : c->out[2];
}

static bool is_column(const takt_conv_shape *c)
{
    return c->in[2] == 1 && c->out[2] == 1 && c->kernel[2] == 1 && c->before[2] == 0;
}

/* Images of one column become lines, whose positions share the places of their taps. */
static void move_lines(takt_conv_shape *c)
{
    size_t *const all[] = {c->in, c->out, c->kernel, c->stride, c->dilation, c->before, c->x_at};
    if (!is_column(c))
        return;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        all[i][2] = all[i][1];
        all[i][1] = all[i][0];
    }
    c->in[0] = c->out[0] = c->kernel[0] = c->stride[0] = c->dilation[0] = 1;
    c->before[0] = c->x_at[0] = 0;
}

static takt_status compile(takt_planner *p)
{
    enum { PACE = 3 }; /* how many times slower operations are than those of products */
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->shape = takt_conv_shape_of(p->graph, p->group->nodes[0]);
    move_lines(&f->shape);
    find_inner(&f->shape, f->inner);
    const takt_conv_shape *c = &f->shape;
    f->integer = (takt_integer){.n = 1, .k = c->k, .groups = c->groups, .row = 1, .col = c->k};
    TAKT_TRY(takt_integer_compile(p, &f->integer, false));
    TAKT_TRY(add_weights(p, f));
    set_padding(f);
    f->run = takt_kernel_as_depthwise_i8(takt_planner_kernel(p, "depthwise_i8"));
    const size_t positions = c->batch * c->positions;
    p->step->data = f;
    p->step->run = run;
    p->step->task_count = takt_cpu_tasks(
        p, 2.0 * PACE * (double)positions * (double)(c->groups * c->taps), 0, (positions + 3) / 4);
    f->most = positions < POSITIONS ? positions : POSITIONS;
    set_scratch(p, f);
    const size_t room = positions * c->groups; /* one byte a result */
    for (; f->most > FEW && p->step->scratch_each > room; set_scratch(p, f))
        f->most--; /* one by one: more results never need less */
    for (; f->most > 1 && !takt_planner_has_room(p); set_scratch(p, f))
        f->most = (f->most + 1) / 2; /* short lines take more places than long ones */
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_integer_depthwise = {.name = "integer_conv",
                                                  .family = TAKT_FAMILY_CONV,
                                                  .accepts = accepts,
                                                  .absorbs = takt_integer_absorbs,
                                                  .keeps = takt_integer_is_depthwise,
                                                  .compile = compile};
