/* near.c - convolutions of few inputs for each output, which are read in place.
 *
 * Gathering patches costs as much for an output as a panel of weights does; with few panels, as in
 * first layers, it takes longer than the product. Here the kernel reads x itself, or the lines of
 * it that some lines of outputs need, copied once to where there is padding.
 */
#include "backend/cpu/conv/near.h"

#include <stdint.h>
#include <string.h>

#include "backend/cpu/conv/near_copy.h"
#include "backend/cpu/conv/near_lines.h"
#include "backend/cpu/conv/patch.h"
#include "backend/cpu/conv/run.h"
#include "backend/cpu/conv/spread.h"

enum {
    COPIED_BYTES = 24 << 10, /* of lines, to stay in L1 with a panel of weights */
    LINE_BYTES = 64 << 10,   /* of one line at most */
    LINES_BYTES = 256 << 10, /* and of the memory that one line of outputs reads, however far
                              * apart */
    LINE_FLOPS = 100000,     /* most work of one line if there are fewer lines than threads */
    COLUMNS_MIN = 6,         /* outputs of a line: enough sums to hide latency */
    FEW = 4,                 /* channels of y: a product of patches would waste most of its tile */
    SOME = 8,                /* the same where patches are long */
    DEEP = 8,
    WIDE = 32,               /* channels of x and outputs of a line that make turning x pay off */
    MORE_COPIED = 96 << 10,  /* of lines of such a convolution: each input is used more often */
    MOST_COPIED = 160 << 10, /* of lines that many panels read, to stay in L2 */
    TILE_BYTES = 256 << 10,  /* of outputs whose channels come first in y */
    LINES_TILE_BYTES = 32 << 10 /* of several lines of such */
};

typedef struct facts {
    takt_near_copy from; /* how outputs read x */
    takt_near_lines near;
    size_t *at;        /* offset of each element of a patch, in floats */
    size_t w;          /* index into step->in */
    bool is_packed;    /* the weights are, before a run */
    size_t packed_at;  /* else, in shared scratch */
    size_t position;   /* floats from one position of a line to the next */
    size_t lines;      /* of outputs of a block */
    size_t copy, tile; /* offsets in a worker's scratch */
    size_t tiled;      /* outputs of a tile that becomes channels first; 0: y has them last */
} facts;

static bool is_inside(const takt_conv_shape *s, int axis)
{
    return s->before[axis] == 0 && takt_near_extent(s, axis, s->out[axis]) <= s->in[axis];
}

static double flops(const takt_conv_shape *s)
{
    return 2.0 * (double)(s->batch * s->positions) * (double)s->k * (double)s->cout;
}

static const takt_conv_f32_info *info_of(const takt_planner *p)
{
    const takt_isa_set isas = p->settings->family_isas[TAKT_FAMILY_CONV];
    return takt_kernel_find("conv_f32", isas, NULL, 0, NULL)->info;
}

bool takt_conv_near_is_thin(const takt_conv_shape *s)
{
    const bool is_long = s->k > TAKT_GEMM_CHUNK;
    const bool is_few =
        (s->cout <= FEW && s->out[2] >= WIDE) || (is_long && s->cout <= SOME && s->out[2] >= SOME);
    return is_few && s->cin >= DEEP && s->stride[2] == 1 && (!is_long || s->k_row == s->k);
}

/* Frames of one line are rows of a product as they are. */
static bool is_frames(const takt_conv_shape *s)
{
    return s->batch == 1 && s->k_row == s->k && s->in[1] == 1 && s->out[1] == 1 &&
           s->kernel[1] == 1 && (s->dilation[2] == 1 || s->kernel[2] == 1);
}

bool takt_conv_near_takes_planes(const takt_planner *p, const takt_conv_shape *s)
{
    const bool is_few = s->cout <= TAKT_CONV_PANEL || s->cin <= FEW;
    return (info_of(p)->planes && is_few) || takt_conv_near_is_thin(s);
}

bool takt_conv_near_fits(const takt_planner *p, const takt_conv_shape *s)
{
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    const bool is_long = s->k > TAKT_GEMM_CHUNK;
    if (s->cout > info_of(p)->channels || s->dtype != TAKT_F32 || !s->is_nhwc || s->groups > 1 ||
        s->k == 0 || s->batch * s->positions == 0 ||
        (is_long && !takt_conv_near_is_thin(s) && !info_of(p)->wide))
        return false;
    if (s->out[2] < COLUMNS_MIN || (s->cout > TAKT_CONV_PANEL && is_frames(s)))
        return false;
    const size_t line = takt_near_extent(s, 2, s->out[2]), lines = s->out[0] * s->out[1];
    const size_t room = takt_conv_near_is_thin(s) ? 2 : 1;
    return line <= room * LINE_BYTES / sizeof(float) / s->cin &&
           s->kernel[0] * takt_near_extent(s, 1, 1) <=
               room * LINES_BYTES / sizeof(float) / s->cin / line &&
           (s->batch * lines >= threads || flops(s) < LINE_FLOPS * (double)lines);
}

/* The convolution of dy that is the gradient of `s`, whose sums have no zeros behind them. */
static takt_conv_shape shape_of_dx(const takt_conv_shape *s)
{
    takt_conv_shape dx = takt_conv_shape_flipped(s);
    dx.k_row = dx.k;
    return dx;
}

bool takt_conv_near_dx_fits(const takt_planner *p, const takt_conv_shape *s)
{
    bool is_plain = s->groups == 1;
    for (int i = 0; i < 3; i++)
        is_plain =
            is_plain && s->stride[i] == 1 && s->dilation[i] == 1 && s->before[i] < s->kernel[i];
    if (!is_plain || s->cin == 0 || s->cout == 0 || takt_conv_is_pointwise(s))
        return false;
    const takt_conv_shape dx = shape_of_dx(s);
    return takt_conv_near_fits(p, &dx);
}

/* ---- running ---- */

/* Floats of all lines that a block of outputs reads. */
static size_t copied_floats(const facts *f)
{
    return f->from.shape.kernel[0] * takt_near_extent(&f->from.shape, 1, f->lines) * f->from.pitch;
}

static float *packed(const facts *f, const takt_task *t)
{
    return (float *)(void *)((char *)t->scratch + f->packed_at);
}

/* Lines of outputs from position `row` on, a tile at a time. */
static void run_tiles(const takt_step *s, const takt_task *t, const takt_conv_f32 *lines,
                      size_t row)
{
    const facts *f = s->data;
    const takt_conv_shape *o = &f->from.shape;
    float *tile = (float *)(void *)((char *)t->scratch_own + f->tile);
    const size_t most = f->tiled > lines->columns ? f->tiled / lines->columns : 1;
    for (size_t l = 0, n; l < lines->lines; l += n) {
        n = lines->lines - l < most ? lines->lines - l : most;
        for (size_t q = 0; q < lines->columns && !takt_poll_stops(t->poll); q += f->tiled) {
            const size_t left = lines->columns - q;
            takt_conv_f32 c = *lines;
            c.lines = n;
            c.columns = left < f->tiled ? left : f->tiled;
            c.x = lines->x + l * lines->line + q * lines->step;
            c.y = tile;
            const takt_conv_tile made = {tile, row + l * o->out[2] + q, n * c.columns, 0, o->cout};
            takt_near_lines_run(&f->near, s, t, &c, made.row, 0);
            takt_conv_spread(&made, o->cout, o->positions, takt_view_data(t, &s->out[0]));
        }
    }
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *o = &f->from.shape;
    const float *x = takt_view_data(t, &s->in[0]);
    float *copy = (float *)(void *)((char *)t->scratch_own + f->copy);
    takt_conv_f32 c = {.columns = o->out[2],
                       .channels = o->cout,
                       .ld = o->cout,
                       .k = o->k,
                       .at = f->at,
                       .line = o->stride[1] * f->from.pitch,
                       .step = o->stride[2] * f->position,
                       .w = f->is_packed ? takt_view_data(t, &s->in[f->w]) : packed(f, t),
                       .has_room = f->from.is_transposed,
                       .adds_zero = o->k_row > o->k};
    size_t first, end;
    if (c.has_room)
        memset(copy + copied_floats(f), 0, TAKT_CONV_ROOM * sizeof *copy);
    takt_cpu_share(o->batch * o->out[0] * o->out[1], 1, t->index, s->task_count, &first, &end);
    for (size_t row = first; row < end && !takt_poll_stops(t->poll); row += c.lines) {
        const size_t at[] = {row / o->out[1] % o->out[0], row % o->out[1]};
        const size_t left = o->out[1] - at[1];
        c.lines = end - row < left ? end - row : left;
        c.lines = c.lines < f->lines ? c.lines : f->lines;
        c.x = takt_near_inputs(&f->from, x + row / o->out[1] / o->out[0] * o->x_sample, at, c.lines,
                               copy);
        c.y = NULL;
        if (f->tiled > 0)
            run_tiles(s, t, &c, row * o->out[2]);
        else
            takt_near_lines_run(&f->near, s, t, &c, row * o->out[2], 0);
    }
}

/* ---- compiling ---- */

static takt_status pack_constant(void *user, const void *from, void *to)
{
    takt_near_pack(&((const facts *)user)->from.shape, from, to);
    return TAKT_OK;
}

static void before(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    takt_near_pack(&f->from.shape, takt_view_data(t, &s->in[f->w]), packed(f, t));
}

static takt_status add_operands(takt_planner *p, facts *f, takt_id from)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    size_t x;
    TAKT_TRY(takt_planner_input(p, from, &x));
    const size_t bytes =
        takt_panels_columns(takt_near_panels, f->from.shape.cout) * f->from.shape.k * sizeof(float);
    f->is_packed = takt_planner_is_kept(p, n->in[1]);
    if (f->is_packed) {
        const char *format =
            takt_planner_text(p, "conv near%s %s", f->from.shape.is_flipped ? " dx" : "",
                              f->from.shape.is_nhwc ? "nhwc" : "nchw");
        return format == NULL
                   ? TAKT_ERR_MEMORY
                   : takt_planner_packed(p, n->in[1], format, bytes, pack_constant, f, &f->w);
    }
    f->packed_at = takt_conv_reserve(p->step, bytes);
    p->step->before = before;
    return takt_planner_input(p, n->in[1], &f->w);
}

/* The offsets for blocks of f->lines lines. */
static void set_taps(facts *f)
{
    const takt_conv_shape *s = &f->from.shape;
    f->from.plane = f->from.is_copied ? takt_near_extent(s, 1, f->lines) * f->from.pitch
                                      : s->dilation[0] * s->in[1] * f->from.pitch;
    for (size_t i = 0; i < s->k; i++) {
        size_t tap[3];
        takt_conv_unflatten(s->kernel, s->is_flipped ? s->taps - 1 - i / s->cin : i / s->cin, tap);
        f->at[i] = tap[0] * f->from.plane + tap[1] * s->dilation[1] * f->from.pitch +
                   tap[2] * s->dilation[2] * f->position + i % s->cin * f->from.channel;
    }
}

/* The memory layout, and the number of output lines whose inputs stay in cache: all, if x is read
 * in place. */
static void choose_lines(const takt_planner *p, facts *f)
{
    const takt_conv_shape *s = &f->from.shape;
    const bool is_wide = info_of(p)->wide && s->cout > TAKT_CONV_PANEL;
    f->from.is_transposed = !f->from.is_planar && takt_conv_near_is_thin(s);
    f->from.is_copied =
        f->from.is_transposed || !is_inside(s, 0) || !is_inside(s, 1) || !is_inside(s, 2);
    const bool has_rows = f->from.is_planar || f->from.is_transposed; /* for each channel */
    const size_t width = f->from.is_copied ? takt_near_extent(s, 2, s->out[2]) : s->in[2];
    f->position = has_rows ? 1 : s->cin;
    f->from.channel = !has_rows ? 1 : f->from.is_copied ? width : s->area;
    f->from.pitch = f->from.is_planar && !f->from.is_copied ? width : width * s->cin;
    f->lines = f->from.is_copied ? 1 : s->out[1];
    const size_t most = takt_conv_near_is_thin(s) ? MORE_COPIED
                        : is_wide                 ? MOST_COPIED
                                                  : COPIED_BYTES;
    const size_t line = s->kernel[0] * f->from.pitch * sizeof(float);
    while (f->lines < s->out[1] && takt_near_extent(s, 1, f->lines + 1) * line <= most)
        f->lines++;
}

/* Outputs of a tile: some of a line, or several short lines of a block. */
static size_t tiled_outputs(const facts *f)
{
    enum { ABREAST = 56 }; /* a multiple of what kernels compute at once */
    const takt_conv_shape *s = &f->from.shape;
    const size_t fit = TILE_BYTES / sizeof(float) / s->cout / ABREAST * ABREAST;
    const size_t near = LINES_TILE_BYTES / sizeof(float) / s->cout / s->out[2];
    const size_t lines = near < 1 ? 1 : near < f->lines ? near : f->lines;
    return s->out[2] < fit ? lines * s->out[2] : fit > 0 ? fit : ABREAST;
}

static void set_scratch(takt_planner *p, facts *f)
{
    const size_t room = f->from.is_transposed ? TAKT_CONV_ROOM : 0;
    const size_t copied = f->from.is_copied ? copied_floats(f) + room : 0;
    f->tile = takt_cpu_aligned(copied * sizeof(float));
    f->near.registers = f->tile + takt_cpu_aligned(f->tiled * f->from.shape.cout * sizeof(float));
    p->step->scratch_each =
        f->near.registers + takt_cpu_aligned(takt_conv_end_scratch(&f->near.end));
}

takt_status takt_conv_near_compile(takt_planner *p, takt_id planes, takt_id first)
{
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->from.shape = takt_conv_shape_of(p->graph, p->group->nodes[0]);
    if (p->graph->nodes[p->group->nodes[0]].op == &takt_op_conv_dx)
        f->from.shape = shape_of_dx(&f->from.shape);
    else if (takt_conv_is_pointwise(&f->from.shape))
        f->from.shape.k_row = f->from.shape.k; /* rows of x, as the product reads them */
    p->step->kernel = NULL;                    /* instead of the product's */
    f->near.run = takt_kernel_as_conv_f32(takt_planner_kernel(p, "conv_f32"));
    const takt_conv_shape *s = &f->from.shape;
    f->from.is_planar = planes != TAKT_NONE;
    choose_lines(p, f);
    f->at = takt_planner_get(p, s->k * sizeof *f->at);
    if (f->at == NULL)
        return TAKT_ERR_MEMORY;
    const takt_id x = p->graph->nodes[p->group->nodes[0]].in[0];
    TAKT_TRY(add_operands(p, f, f->from.is_planar ? planes : x));
    TAKT_TRY(takt_conv_end_inner(p, s->cout, &f->near.end));
    TAKT_TRY(takt_conv_output(p, first));
    if (first != TAKT_NONE)
        f->tiled = tiled_outputs(f);
    p->step->data = f;
    p->step->run = run;
    p->step->task_count = takt_cpu_tasks(p, flops(s), 0, s->batch * s->out[0] * s->out[1]);
    set_scratch(p, f);
    while (f->from.is_copied && f->lines > 1 && !takt_planner_has_room(p)) {
        f->lines--;
        set_scratch(p, f);
    }
    set_taps(f);
    return TAKT_OK;
}
