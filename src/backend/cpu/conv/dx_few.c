/* dx_few.c - gradient of a convolution with respect to its input where that has few channels, as in
 * the last transposed convolution of a network.
 *
 * dx.c makes the product [positions][k] * [k][columns], whose few columns fill a small part of a
 * panel, and copies a patch for each position. Here it is [columns][k] * [k][positions]: lines of
 * dy are transposed to planes of channels, zeros around them, and row k of the right-hand side is a
 * plane from some place on, so nothing is copied for a tap. Lines follow each other in a plane;
 * what is computed between the end of one and the start of the next is not used. Each element is
 * the same sum in the same order.
 */
#include <string.h>

#include "backend/cpu/conv/dx.h"
#include "backend/cpu/conv/grad.h"
#include "backend/cpu/conv/run.h"
#include "backend/cpu/transpose.h"
#include "kernel/direct_f32/direct_f32.h"

enum { PART = 4, NEAR = 24 << 10, MOST = 128 << 10 }; /* of a panel; floats of the planes */

typedef struct facts {
    takt_conv_shape shape;
    takt_direct_f32_fn *run;
    takt_dx_phases all;
    size_t **places; /* per bundle: where row k of its right-hand side begins */
    size_t w;
    ptrdiff_t first, end; /* lines of all bundles: where their first taps lie in dy */
    ptrdiff_t left;       /* the first column of a line of the planes */
    size_t above;         /* lines before the first that are read */
    size_t pitch, plane;  /* floats of a line and of a channel */
    size_t lines, strips; /* at a time, and how often */
    size_t sums;          /* offset in a worker's scratch; planes come first */
} facts;

static size_t reach(const takt_dx_bundle *b, int axis)
{
    const size_t taps = b->like->taps[axis];
    return taps > 0 ? (taps - 1) * (size_t)b->step[axis] : 0;
}

/* Sizes of lines and planes; false: not for this step. */
static bool set_lines(facts *f)
{
    const takt_conv_shape *c = &f->shape;
    ptrdiff_t right = PTRDIFF_MIN;
    f->first = f->left = PTRDIFF_MAX;
    f->end = PTRDIFF_MIN;
    for (size_t i = 0; i < f->all.bundle_count; i++) {
        const takt_dx_bundle *b = &f->all.bundles[i];
        if (b->step[1] < 0 || b->step[2] < 0 || b->count[0] != 1)
            return false;
        const ptrdiff_t end = b->low[1] + (ptrdiff_t)b->count[1],
                        from = b->low[2] - (ptrdiff_t)reach(b, 2),
                        to = b->low[2] + (ptrdiff_t)b->count[2];
        f->first = b->low[1] < f->first ? b->low[1] : f->first;
        f->end = end > f->end ? end : f->end;
        f->left = from < f->left ? from : f->left;
        right = to > right ? to : right;
        f->above = reach(b, 1) > f->above ? reach(b, 1) : f->above;
    }
    if (f->first >= f->end || f->left >= right)
        return false;
    f->pitch = (size_t)(right - f->left);
    const size_t line = f->pitch * c->cout, all = (size_t)(f->end - f->first);
    if (f->pitch > MOST || c->cout > MOST || f->above > MOST || (1 + f->above) * line > MOST)
        return false;
    f->lines = NEAR / line > f->above + 1 ? NEAR / line - f->above : 1;
    f->lines = f->lines < all ? f->lines : all;
    f->strips = (all + f->lines - 1) / f->lines;
    f->plane = (f->lines + f->above) * f->pitch;
    return true;
}

/* Fills in what `f` needs of the shape; false: the step of dx.c takes less time. */
static takt_status plan_lines(takt_planner *p, facts *f, bool *is_few)
{
    const takt_conv_shape *c = &f->shape;
    const takt_gemm_f32_info *info = takt_planner_kernel(p, "gemm_f32")->info;
    *is_few = c->dtype == TAKT_F32 && c->is_nhwc && c->groups == 1 && c->kernel[0] == 1 &&
              c->in[0] == 1 && c->out[0] == 1 && c->cin > 0 && c->cout > 0 && c->batch > 0 &&
              c->area > 0 && c->positions > 0 && c->cin * PART <= info->panels.wide;
    if (!*is_few)
        return TAKT_OK;
    TAKT_TRY(takt_dx_phases_plan(p, c, info->panels, &f->all));
    for (size_t i = 0; i < f->all.bundle_count; i++)
        *is_few = *is_few && f->all.bundles[i].n * PART <= info->panels.wide;
    *is_few = *is_few && set_lines(f);
    return TAKT_OK;
}

/* ---- weights ---- */

static takt_status pack(void *user, const void *from, void *to)
{
    const facts *f = user;
    const takt_conv_shape *c = &f->shape;
    const float *w = from;
    for (size_t i = 0; i < f->all.bundle_count; i++) {
        const takt_dx_bundle *b = &f->all.bundles[i];
        float *row = (float *)to + b->packed;
        for (size_t n = 0; n < b->n; n++, row += b->k) {
            const takt_dx_phase *p = &f->all.phases[f->all.order[b->first_member + n / c->cin]];
            for (size_t k = 0; k < b->k; k++)
                row[k] = w[k % c->cout * c->w_out + takt_dx_tap(c, p, k / c->cout) * c->w_tap +
                           n % c->cin * c->w_in];
        }
    }
    return TAKT_OK;
}

/* ---- running ---- */

/* Some lines of a sample. */
typedef struct strip {
    const takt_step *s;
    const takt_task *t;
    size_t sample;
    ptrdiff_t from, to;
} strip;

static void fill(float *at, size_t planes, size_t plane, size_t count)
{
    for (size_t i = 0; i < planes && count > 0; i++)
        memset(at + i * plane, 0, count * sizeof *at);
}

static void transpose_lines(const facts *f, const strip *s, const float *dy, float *planes)
{
    const takt_conv_shape *c = &f->shape;
    const ptrdiff_t width = (ptrdiff_t)c->out[2], right = f->left + (ptrdiff_t)f->pitch,
                    from = f->left > 0 ? f->left : 0, to = right < width ? right : width;
    const size_t lines = (size_t)(s->to - s->from) + f->above;
    for (size_t i = 0; i < lines; i++, planes += f->pitch) {
        const ptrdiff_t y = s->from - (ptrdiff_t)f->above + (ptrdiff_t)i;
        if (y < 0 || y >= (ptrdiff_t)c->out[1] || from >= to) {
            fill(planes, c->cout, f->plane, f->pitch);
            continue;
        }
        const float *line = dy + ((size_t)y * c->out[2] + (size_t)from) * c->y_position;
        fill(planes, c->cout, f->plane, (size_t)(from - f->left));
        fill(planes + (to - f->left), c->cout, f->plane, (size_t)(right - to));
        takt_transpose_4(
            (takt_matrix_at){(char *)(uintptr_t)line, (ptrdiff_t)(c->y_position * sizeof *line)},
            (takt_matrix_at){(char *)(planes + (from - f->left)),
                             (ptrdiff_t)(f->plane * sizeof *planes)},
            c->cout, (size_t)(to - from));
    }
}

/* One line of one channel of a phase, written to x. */
static void put_line(const takt_conv_shape *c, const takt_dx_phase *p, const float *from, float *dx)
{
    const size_t step = c->stride[2] * c->x_at[2];
    dx += p->first[2] * c->x_at[2];
    for (size_t i = 0; i < p->count[2]; i++, dx += step)
        *dx = from[i];
}

static void put(const facts *f, const takt_dx_bundle *b, const strip *s, const float *sums,
                float *dx)
{
    const takt_conv_shape *c = &f->shape;
    const size_t rows = f->lines * f->pitch;
    for (size_t n = 0; n < b->n; n++, sums += rows) {
        const takt_dx_phase *p = &f->all.phases[f->all.order[b->first_member + n / c->cin]];
        float *plane = dx + n % c->cin * c->x_channel;
        for (ptrdiff_t at = s->from; at < s->to; at++) {
            const size_t number = (size_t)(at - p->from[1]); /* negative values wrap */
            const size_t y = p->first[1] + number * c->stride[1];
            if (number < p->count[1])
                put_line(c, p, sums + (size_t)(at - s->from) * f->pitch + (p->from[2] - b->low[2]),
                         plane + y * c->x_at[1]);
        }
    }
}

static void run_bundle(const facts *f, size_t i, const strip *all, const float *planes, float *sums)
{
    const takt_dx_bundle *b = &f->all.bundles[i];
    strip s = *all;
    const ptrdiff_t end = b->low[1] + (ptrdiff_t)b->count[1];
    s.from = b->low[1] > s.from ? b->low[1] : s.from;
    s.to = end < s.to ? end : s.to;
    if (s.from >= s.to || b->count[2] == 0)
        return;
    const float *weights = takt_view_data(s.t, &s.s->in[f->w]);
    float *dx = takt_view_data(s.t, &s.s->out[0]);
    f->run(&(takt_direct_f32){.m = b->n,
                              .n = (size_t)(s.to - s.from - 1) * f->pitch + b->count[2],
                              .k = b->k,
                              .a = weights + b->packed,
                              .a_row = b->k,
                              .b = planes + (size_t)(s.from - all->from) * f->pitch,
                              .b_at = f->places[i],
                              .c = sums,
                              .ldc = f->lines * f->pitch});
    put(f, b, &s, sums, dx + s.sample * f->shape.x_sample);
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    float *planes = t->scratch_own;
    float *sums = (float *)(void *)((char *)t->scratch_own + f->sums);
    const float *dy = takt_view_data(t, &s->in[0]);
    size_t first, end;
    takt_cpu_share(c->batch * f->strips, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end && !takt_poll_stops(t->poll); i++) {
        const ptrdiff_t from = f->first + (ptrdiff_t)(i % f->strips * f->lines),
                        to = from + (ptrdiff_t)f->lines;
        const strip now = {s, t, i / f->strips, from, to < f->end ? to : f->end};
        transpose_lines(f, &now, dy + now.sample * c->y_sample, planes);
        for (size_t b = 0; b < f->all.bundle_count; b++)
            run_bundle(f, b, &now, planes, sums);
    }
}

/* ---- compiling ---- */

static takt_status set_places(takt_planner *p, facts *f)
{
    const takt_conv_shape *c = &f->shape;
    f->places = takt_planner_get(p, f->all.bundle_count * sizeof *f->places);
    if (f->places == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < f->all.bundle_count; i++) {
        const takt_dx_bundle *b = &f->all.bundles[i];
        size_t *at = f->places[i] = takt_planner_get(p, (b->k > 0 ? b->k : 1) * sizeof *at);
        if (at == NULL)
            return TAKT_ERR_MEMORY;
        for (size_t k = 0; k < b->k; k++) {
            const size_t tap = k / c->cout, y = tap / b->like->taps[2], x = tap % b->like->taps[2];
            at[k] = k % c->cout * f->plane + (f->above - y * (size_t)b->step[1]) * f->pitch +
                    (size_t)(b->low[2] - f->left) - x * (size_t)b->step[2];
        }
    }
    return TAKT_OK;
}

static takt_status compile(takt_planner *p, facts *f)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    const takt_conv_shape *c = &f->shape;
    takt_step *s = p->step;
    takt_cost cost = {0};
    size_t index, rows = 0;
    TAKT_TRY(set_places(p, f));
    const char *format =
        takt_planner_text(p, "conv_dx few stride=%zu,%zu dilation=%zu,%zu pad=%zu,%zu size=%zu,%zu",
                          c->stride[1], c->stride[2], c->dilation[1], c->dilation[2], c->before[1],
                          c->before[2], c->in[1], c->in[2]);
    if (format == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_planner_packed(p, n->in[1], format, f->all.group_floats * sizeof(float), pack, f,
                                 &f->w));
    TAKT_TRY(takt_planner_output(p, id, &index));
    for (size_t i = 0; i < f->all.bundle_count; i++)
        rows = f->all.bundles[i].n > rows ? f->all.bundles[i].n : rows;
    s->kernel = NULL; /* instead of the product's */
    f->run = takt_kernel_as_direct_f32(takt_planner_kernel(p, "direct_f32"));
    f->sums = takt_cpu_aligned(f->plane * c->cout * sizeof(float));
    n->op->cost(p->graph, n, &cost);
    s->data = f;
    s->run = run;
    s->scratch_each = f->sums + takt_cpu_aligned(rows * f->lines * f->pitch * sizeof(float));
    s->task_count = takt_cpu_tasks(p, cost.flops, cost.bytes, c->batch * f->strips);
    return TAKT_OK;
}

takt_status takt_conv_dx_few_compile(takt_planner *p, bool *is_done)
{
    const takt_id id = p->group->nodes[0];
    facts *f = takt_planner_get(p, sizeof *f);
    *is_done = false;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->shape = takt_conv_shape_of(p->graph, id);
    if (!takt_planner_is_kept(p, p->graph->nodes[id].in[1]))
        return TAKT_OK;
    TAKT_TRY(plan_lines(p, f, is_done));
    return *is_done ? compile(p, f) : TAKT_OK;
}
