/* groups.c - convolutions of many groups with few channels each, which are read in place.
 *
 * As a product, a group has fewer columns than a tile of the kernel, and its patches take longer to
 * gather than to multiply. Here some lines of one group are copied to where its channels lie
 * together, with padding around them; the kernel of near.c reads each tap from there. Where vectors
 * have twice the lanes that a group has columns, several groups are taken at once, and share a
 * panel of weights.
 */
#include "backend/cpu/conv/groups.h"

#include <string.h>

#include "backend/cpu/conv/near_lines.h"
#include "backend/cpu/conv/patch.h"
#include "backend/cpu/conv/run.h"

enum {
    COPIED_BYTES = 24 << 10, /* bytes of copied lines that stay in L1 with a panel of weights */
    LINES_BYTES = 128 << 10, /* most bytes that one line of outputs may read */
    COLUMNS_MIN = 6,         /* outputs of a line: enough sums to hide latency */
    EACH = 4                 /* parts for a thread, at least */
};

typedef struct facts {
    takt_conv_shape shape; /* as if those taken at once were one group, with the channels of one */
    takt_near_lines near;  /* the copy comes before its scratch */
    const size_t *at;      /* offset of each element of a patch in the copy, in floats */
    const int32_t *pick;   /* the channel that each column reads there; NULL: all read the same */
    size_t channels;       /* of a copied position */
    size_t w;              /* index into step->in */
    bool is_packed;        /* the weights are, before a run */
    size_t packed_at;      /* else, in shared scratch */
    size_t width;          /* positions of a copied line */
    size_t lines, blocks;  /* lines of outputs at a time, and how often that is */
} facts;

/* Number of positions of an axis that outputs read. */
static size_t extent(const takt_conv_shape *s, int axis, size_t outputs)
{
    return (outputs - 1) * s->stride[axis] + (s->kernel[axis] - 1) * s->dilation[axis] + 1;
}

static double flops(const takt_conv_shape *s)
{
    return 2.0 * (double)(s->batch * s->positions) * (double)s->k * (double)(s->groups * s->cout);
}

bool takt_conv_groups_fits(const takt_planner *p, const takt_conv_shape *s)
{
    const takt_isa_set isas = p->settings->family_isas[TAKT_FAMILY_CONV];
    const takt_conv_f32_info *info = takt_kernel_find("conv_f32", isas, NULL, 0, NULL)->info;
    if (s->groups == 1 || s->cout > info->channels || s->dtype != TAKT_F32 || !s->is_nhwc ||
        s->k == 0 || s->batch * s->positions == 0 || (s->k > TAKT_GEMM_CHUNK && s->k_row > s->k))
        return false;
    if (s->in[0] > 1 || s->out[0] > 1 || s->kernel[0] > 1 || s->before[0] > 0 ||
        s->out[2] < COLUMNS_MIN)
        return false;
    return extent(s, 2, s->out[2]) <= LINES_BYTES / sizeof(float) / s->cin / extent(s, 1, 1);
}

/* ---- running ---- */

/* Copies `count` positions of `channels` floats, which are `step` floats apart in `from`. */
static inline __attribute__((always_inline)) void
copy_all(const float *from, size_t step, size_t count, float *to, const size_t channels)
{
    for (size_t i = 0; i < count; i++)
        memcpy(to + i * channels, from + i * step, channels * sizeof *to);
}

/* A known size compiles to one load and one store. */
static void copy_positions(const float *from, size_t step, size_t count, float *to, size_t channels)
{
    switch (channels) {
    case 4: copy_all(from, step, count, to, 4); break;
    case 8: copy_all(from, step, count, to, 8); break;
    case 16: copy_all(from, step, count, to, 16); break;
    default: copy_all(from, step, count, to, channels); break;
    }
}

/* Line `y` of the padded sample, of the group whose first channel `sample` points to. */
static void copy_line(const facts *f, const float *sample, size_t y, float *to)
{
    const takt_conv_shape *s = &f->shape;
    const size_t before = s->before[2] < f->width ? s->before[2] : f->width;
    const size_t room = f->width - before, inside = s->in[2] < room ? s->in[2] : room;
    if (y < s->before[1] || y - s->before[1] >= s->in[1]) {
        memset(to, 0, f->width * f->channels * sizeof *to);
        return;
    }
    memset(to, 0, before * f->channels * sizeof *to);
    copy_positions(sample + (y - s->before[1]) * s->x_at[1], s->x_at[2], inside,
                   to + before * f->channels, f->channels);
    memset(to + (before + inside) * f->channels, 0, (room - inside) * f->channels * sizeof *to);
}

static float *packed(const facts *f, const takt_task *t)
{
    return (float *)(void *)((char *)t->scratch + f->packed_at);
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *o = &f->shape;
    const float *x = takt_view_data(t, &s->in[0]);
    const float *w = f->is_packed ? takt_view_data(t, &s->in[f->w]) : packed(f, t);
    float *copy = t->scratch_own;
    takt_conv_f32 c = {.columns = o->out[2],
                       .channels = o->cout,
                       .ld = o->groups * o->cout,
                       .k = o->k,
                       .at = f->at,
                       .pick = f->pick,
                       .has_room = f->pick != NULL,
                       .line = o->stride[1] * f->width * f->channels,
                       .step = o->stride[2] * f->channels,
                       .x = copy,
                       .adds_zero = o->k_row > o->k};
    size_t first, end;
    takt_cpu_share(o->batch * f->blocks * o->groups, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first, begun = first; i < end && !takt_poll_stops(t->poll); i++) {
        const size_t group = i % o->groups, block = i / o->groups;
        const size_t sample = block / f->blocks, line = block % f->blocks * f->lines;
        const float *from = x + sample * o->x_sample + group * f->channels;
        c.lines = o->out[1] - line < f->lines ? o->out[1] - line : f->lines;
        for (size_t l = 0; l < extent(o, 1, c.lines); l++)
            copy_line(f, from, line * o->stride[1] + l, copy + l * f->width * f->channels);
        c.w = w + group * takt_panels_columns(takt_near_panels, o->cout) * o->k;
        c.y = NULL;
        const size_t row = (sample * o->out[1] + line) * o->out[2];
        takt_near_lines_run(&f->near, s, t, &c, row, group * o->cout);
        if (i + 1 < end && group + 1 < o->groups)
            continue;
        const takt_conv_block made = {
            .row = row, .rows = c.lines * o->out[2], .columns = (i + 1 - begun) * o->cout};
        takt_near_lines_end(&f->near, s, t, &made, begun % o->groups * o->cout);
        begun = i + 1;
    }
}

/* ---- compiling ---- */

static takt_status pack_constant(void *user, const void *from, void *to)
{
    takt_near_pack(&((const facts *)user)->shape, from, to);
    return TAKT_OK;
}

static void before(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    takt_near_pack(&f->shape, takt_view_data(t, &s->in[f->w]), packed(f, t));
}

static takt_status add_operands(takt_planner *p, facts *f)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    size_t x, floats;
    takt_conv_shape s = f->shape;
    s.k_row = s.k;
    TAKT_TRY(takt_planner_input(p, n->in[0], &x));
    if (!takt_conv_packed_floats(&s, takt_near_panels, &floats))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW,
                         "the packed weights of a convolution are too large");
    f->is_packed = takt_planner_is_kept(p, n->in[1]);
    if (!f->is_packed) {
        f->packed_at = takt_conv_reserve(p->step, floats * sizeof(float));
        p->step->before = before;
        return takt_planner_input(p, n->in[1], &f->w);
    }
    const char *format = takt_planner_text(p, "conv near groups=%zu", s.groups);
    return format == NULL ? TAKT_ERR_MEMORY
                          : takt_planner_packed(p, n->in[1], format, floats * sizeof(float),
                                                pack_constant, f, &f->w);
}

/* Groups that are taken at once: as many as fill a panel, if that is faster, and as their lines
 * have room for. */
static size_t bundle_of(const takt_conv_shape *s, const takt_conv_f32_info *info)
{
    const size_t line = extent(s, 1, 1) * extent(s, 2, s->out[2]) * s->cin * sizeof(float);
    size_t bundle = TAKT_CONV_PANEL / s->cout;
    if (s->cin != s->cout || s->cout > info->picks || TAKT_CONV_PANEL % s->cout != 0)
        return 1;
    while (bundle > 1 && (s->groups % bundle != 0 || line * bundle > LINES_BYTES))
        bundle--;
    return bundle;
}

static takt_status set_taps(takt_planner *p, facts *f)
{
    const takt_conv_shape *s = &f->shape;
    const bool picks = f->channels > s->cin;
    size_t *at = takt_planner_get(p, s->k * sizeof *at);
    int32_t *pick = picks ? takt_planner_get(p, s->k * TAKT_CONV_PANEL * sizeof *pick) : NULL;
    if (at == NULL || (picks && pick == NULL))
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < s->k; i++) {
        const size_t tap = i / s->cin, channel = i % s->cin;
        at[i] = tap / s->kernel[2] * s->dilation[1] * f->width * f->channels +
                tap % s->kernel[2] * s->dilation[2] * f->channels + (picks ? 0 : channel);
        for (size_t o = 0; picks && o < TAKT_CONV_PANEL; o++)
            pick[i * TAKT_CONV_PANEL + o] = (int32_t)(o / s->cin * s->cin + channel);
    }
    f->at = at;
    f->pick = pick;
    return TAKT_OK;
}

static void set_lines(takt_planner *p, facts *f, size_t lines)
{
    const takt_conv_shape *s = &f->shape;
    f->lines = lines;
    f->blocks = (s->out[1] + lines - 1) / lines;
    const size_t room = f->pick != NULL ? TAKT_CONV_ROOM : 0;
    f->near.registers =
        takt_cpu_aligned((extent(s, 1, lines) * f->width * f->channels + room) * sizeof(float));
    p->step->scratch_each =
        f->near.registers + takt_cpu_aligned(takt_conv_end_scratch(&f->near.end));
    const size_t parts = s->batch * f->blocks * s->groups;
    p->step->task_count = takt_cpu_tasks(p, flops(s), 0, parts);
}

/* As many lines as fit in cache, in blocks of equal size, and enough blocks for all threads. */
static size_t most_lines(const takt_planner *p, const facts *f)
{
    const takt_conv_shape *s = &f->shape;
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    const size_t line = f->width * f->channels * sizeof(float);
    size_t lines = 1;
    while (lines < s->out[1] && extent(s, 1, lines + 1) * line <= COPIED_BYTES)
        lines++;
    while (lines > 1 && s->batch * s->groups * ((s->out[1] + lines - 1) / lines) < EACH * threads)
        lines--;
    const size_t blocks = (s->out[1] + lines - 1) / lines;
    return (s->out[1] + blocks - 1) / blocks;
}

takt_status takt_conv_groups_compile(takt_planner *p)
{
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    takt_conv_shape *s = &f->shape;
    *s = takt_conv_shape_of(p->graph, p->group->nodes[0]);
    f->width = extent(s, 2, s->out[2]);
    p->step->kernel = NULL; /* instead of the product's */
    const takt_kernel *kernel = takt_planner_kernel(p, "conv_f32");
    f->near.run = takt_kernel_as_conv_f32(kernel);
    const size_t bundle = bundle_of(s, kernel->info);
    s->groups /= bundle;
    s->cout *= bundle;
    f->channels = s->cin * bundle;
    TAKT_TRY(set_taps(p, f));
    TAKT_TRY(add_operands(p, f));
    TAKT_TRY(takt_conv_end_compile(p, s->groups * s->cout, &f->near.end));
    f->near.is_part = true;
    p->step->data = f;
    p->step->run = run;
    set_lines(p, f, most_lines(p, f));
    while (f->lines > 1 && !takt_planner_has_room(p))
        set_lines(p, f, f->lines - 1);
    return TAKT_OK;
}
