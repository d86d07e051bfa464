/* dx.c - gradient of a convolution with respect to its input: products, one for each phase.
 *
 * Stride divides the positions of x into phases: those of one phase are reached by the same taps.
 * Within a phase dx is an ordinary product of patches of dy with the weights of these taps; k is
 * (taps, output channels). Patches reach over the border of dy as zeros, which are multiplied.
 */
#include <string.h>

#include "backend/cpu/conv/grad.h"
#include "backend/cpu/conv/run.h"
#include "backend/cpu/conv/shape.h"
#include "base/size.h"
#include "kernel/gemm_f32/gemm_f32.h"

enum { PATCH_BYTES = 256 << 10, ROWS_MIN = 24, ROWS_MAX = 192 };

/* Along one axis: positions first, first + stride, ... and taps tap, tap + tap_step, ... */
typedef struct phase {
    size_t first[3], count[3], tap[3], tap_step[3], taps[3];
    size_t rows; /* in one sample */
    size_t k;
    size_t packed; /* offset of its weights in floats, within a group */
} phase;

typedef struct facts {
    takt_conv_shape shape;
    takt_conv_memory memory;
    takt_gemm_f32_fn *run;
    takt_panels panels;
    phase *phases;
    size_t phase_count;
    size_t w, packed_at, group_floats;
    bool is_packed;
    bool reads_rows, writes_rows; /* a row of dy is a patch; rows of dx follow each other */
    size_t grain, patches, tile;  /* offsets in a worker's scratch; the kernel's comes first */
    size_t longest;               /* floats of patches in a block */
} facts;

/* ---- phases ---- */

/* Which taps of an axis reach a residue: the first one, and all further ones in equal steps. */
typedef struct axis_taps {
    size_t *first; /* by residue; the size of the kernel where there is none */
    size_t step;
} axis_taps;

/* In time that the stride bounds: a file may ask for a kernel of any size. */
static takt_status find_taps(takt_planner *p, const takt_conv_shape *c, int axis, axis_taps *taps)
{
    const size_t stride = c->stride[axis], kernel = c->kernel[axis];
    const size_t pace = c->dilation[axis] % stride;
    taps->first = takt_planner_get(p, stride * sizeof *taps->first);
    if (taps->first == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < stride; i++)
        taps->first[i] = kernel;
    size_t t = 0;
    for (size_t residue = 0; t < kernel && (t == 0 || residue != 0); t++) {
        taps->first[residue] = t;
        residue = (residue + pace) % stride;
    }
    taps->step = t;
    return TAKT_OK;
}

static void set_axis(const takt_conv_shape *c, int i, size_t residue, const axis_taps *taps,
                     phase *p)
{
    const size_t stride = c->stride[i], offset = c->before[i] % stride;
    const size_t first = taps->first[residue];
    p->first[i] = (residue + stride - offset) % stride;
    p->count[i] = p->first[i] < c->in[i] ? (c->in[i] - p->first[i] + stride - 1) / stride : 0;
    if (first == c->kernel[i])
        return;
    p->tap[i] = first;
    p->taps[i] = 1 + (c->kernel[i] - 1 - first) / taps->step;
    p->tap_step[i] = p->taps[i] > 1 ? taps->step : 0;
}

static takt_status set_phases(takt_planner *planner, facts *f)
{
    const takt_conv_shape *c = &f->shape;
    const size_t columns = takt_panels_columns(f->panels, c->cin);
    size_t packed = 0;
    axis_taps taps[3];
    for (int axis = 0; axis < 3; axis++)
        TAKT_TRY(find_taps(planner, c, axis, &taps[axis]));
    for (size_t i = 0; i < f->phase_count; i++) {
        phase *p = &f->phases[i];
        size_t residue[3];
        takt_conv_unflatten(c->stride, i, residue);
        for (int axis = 0; axis < 3; axis++)
            set_axis(c, axis, residue[axis], &taps[axis], p);
        p->rows = p->count[0] * p->count[1] * p->count[2];
        p->k = p->taps[0] * p->taps[1] * p->taps[2] * c->cout;
        p->packed = packed;
        packed += p->k * columns;
    }
    f->group_floats = packed;
    return TAKT_OK;
}

/* The flat tap of the convolution that is tap number `t` of the phase. */
static size_t tap_of(const takt_conv_shape *c, const phase *p, size_t t)
{
    size_t at[3];
    takt_conv_unflatten(p->taps, t, at);
    for (int i = 0; i < 3; i++)
        at[i] = p->tap[i] + at[i] * p->tap_step[i];
    return (at[0] * c->kernel[1] + at[1]) * c->kernel[2] + at[2];
}

/* Weights as they are, or widened already. */
typedef struct stored {
    const void *at;
    takt_dtype dtype;
} stored;

static float weight(const stored *w, size_t i)
{
    return w->dtype == TAKT_F32 ? ((const float *)w->at)[i]
                                : (float)takt_dtype_get_f(w->dtype, w->at, i);
}

static void pack_phase(const facts *f, const phase *p, size_t group, const stored *w, float *to)
{
    const takt_conv_shape *c = &f->shape;
    memset(to, 0, takt_panels_columns(f->panels, c->cin) * p->k * sizeof *to);
    for (size_t k = 0; k < p->k; k++) {
        const size_t tap = tap_of(c, p, k / c->cout), o = group * c->cout + k % c->cout;
        for (size_t j = 0; j < c->cin; j++)
            to[takt_packed_at(f->panels, p->k, c->cin, k, j)] =
                weight(w, o * c->w_out + tap * c->w_tap + j * c->w_in);
    }
}

static void pack(const facts *f, stored w, float *to)
{
    for (size_t g = 0; g < f->shape.groups; g++)
        for (size_t i = 0; i < f->phase_count; i++)
            pack_phase(f, &f->phases[i], g, &w, to + g * f->group_floats + f->phases[i].packed);
}

static takt_status pack_constant(void *user, const void *from, void *to)
{
    const facts *f = user;
    pack(f, (stored){from, f->shape.dtype}, to);
    return TAKT_OK;
}

/* ---- running ---- */

/* Coordinates in x of row `row` of a phase; returns the sample. */
static size_t locate(const takt_conv_shape *c, const phase *p, size_t row, size_t at[3])
{
    takt_conv_unflatten(p->count, row % p->rows, at);
    for (int i = 0; i < 3; i++)
        at[i] = p->first[i] + at[i] * c->stride[i];
    return row / p->rows;
}

static void patch(const takt_conv_shape *c, const phase *p, const float *dy, const size_t at[3],
                  float *to)
{
    const size_t taps = p->taps[0] * p->taps[1] * p->taps[2];
    for (size_t t = 0; t < taps; t++, to += c->cout) {
        size_t tap[3], y = 0;
        bool inside = true;
        takt_conv_unflatten(p->taps, t, tap);
        for (int i = 0; i < 3; i++) {
            const size_t shift = (p->tap[i] + tap[i] * p->tap_step[i]) * c->dilation[i];
            const size_t from = at[i] + c->before[i];
            inside = inside && from >= shift && (from - shift) / c->stride[i] < c->out[i];
            y = y * c->out[i] + (inside ? (from - shift) / c->stride[i] : 0);
        }
        if (!inside)
            memset(to, 0, c->cout * sizeof *to);
        else if (c->y_channel == 1)
            memcpy(to, dy + y * c->y_position, c->cout * sizeof *to);
        else
            for (size_t o = 0; o < c->cout; o++)
                to[o] = dy[y * c->y_position + o * c->y_channel];
    }
}

/* What one call of the product computes. */
typedef struct block {
    const phase *p;
    size_t group, row, rows;
    const float *weights;
} block;

static void multiply(const takt_step *s, const takt_task *t, const block *b)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    float *patches = (float *)(void *)((char *)t->scratch_own + f->patches);
    float *tile = (float *)(void *)((char *)t->scratch_own + f->tile);
    const float *dy = takt_conv_in(&f->memory, s, t, 0) + b->group * c->cout * c->y_channel;
    float *dx = takt_conv_out(&f->memory, s, t) + b->group * c->cin * c->x_channel;
    size_t at[3];
    for (size_t r = 0; r < b->rows && !f->reads_rows; r++) {
        const size_t n = locate(c, b->p, b->row + r, at);
        patch(c, b->p, dy + n * c->y_sample, at, patches + r * b->p->k);
    }
    const takt_gemm_f32 g = {.m = b->rows,
                             .n = c->cin,
                             .k = b->p->k,
                             .a = f->reads_rows ? dy + b->row * c->y_position : patches,
                             .a_row = f->reads_rows ? c->y_position : b->p->k,
                             .a_col = 1,
                             .b = b->weights,
                             .b_n = c->cin,
                             .c = f->writes_rows ? dx + b->row * c->x_at[2] : tile,
                             .ldc = f->writes_rows ? c->x_at[2] : c->cin,
                             .scratch = t->scratch_own};
    f->run(&g);
    for (size_t r = 0; r < b->rows && !f->writes_rows; r++) {
        const size_t n = locate(c, b->p, b->row + r, at);
        float *to =
            dx + n * c->x_sample + at[0] * c->x_at[0] + at[1] * c->x_at[1] + at[2] * c->x_at[2];
        for (size_t i = 0; i < c->cin; i++)
            to[i * c->x_channel] = tile[r * c->cin + i];
    }
}

static size_t block_rows(size_t k, size_t grain)
{
    const size_t fit = k > 0 ? PATCH_BYTES / sizeof(float) / k : ROWS_MAX;
    const size_t rows = fit < ROWS_MIN ? ROWS_MIN : fit > ROWS_MAX ? ROWS_MAX : fit;
    return rows < grain ? grain : rows / grain * grain;
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    const float *weights =
        f->is_packed ? takt_view_data(t, &s->in[f->w])
                     : (const float *)(const void *)((const char *)t->scratch + f->packed_at);
    for (size_t i = 0; i < f->phase_count; i++) {
        const phase *p = &f->phases[i];
        const size_t step = block_rows(p->k, f->grain);
        size_t first, end;
        takt_cpu_share(c->batch * p->rows, f->grain, t->index, s->task_count, &first, &end);
        for (size_t row = first; row < end && !takt_poll_stops(t->poll); row += step)
            for (size_t g = 0; g < c->groups; g++) {
                const block b = {.p = p,
                                 .group = g,
                                 .row = row,
                                 .rows = end - row < step ? end - row : step,
                                 .weights = weights + g * f->group_floats + p->packed};
                multiply(s, t, &b);
            }
    }
}

static void before(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    takt_conv_widen(&f->memory, s, t);
    if (!f->is_packed)
        pack(f, (stored){takt_conv_in(&f->memory, s, t, 1), TAKT_F32},
             (float *)(void *)((char *)t->scratch + f->packed_at));
}

static void after(const takt_step *s, const takt_task *t)
{
    takt_conv_narrow(&((const facts *)s->data)->memory, s, t);
}

/* ---- compiling ---- */

static takt_status add_weights(takt_planner *p, facts *f, takt_id w)
{
    const takt_conv_shape *c = &f->shape;
    size_t bytes;
    if (!takt_size_mul(f->group_floats, c->groups * sizeof(float), &bytes))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW,
                         "the packed weights of a convolution are too large");
    f->is_packed = takt_planner_is_kept(p, w);
    if (!f->is_packed) {
        f->packed_at = takt_conv_reserve(p->step, bytes);
        return takt_planner_input(p, w, &f->w);
    }
    const char *format =
        takt_planner_text(p, "conv_dx %s groups=%zu stride=%zu,%zu,%zu dilation=%zu,%zu,%zu",
                          c->is_nhwc ? "nhwc" : "nchw", c->groups, c->stride[0], c->stride[1],
                          c->stride[2], c->dilation[0], c->dilation[1], c->dilation[2]);
    return format == NULL ? TAKT_ERR_MEMORY
                          : takt_planner_packed(p, w, format, bytes, pack_constant, f, &f->w);
}

static void set_scratch(takt_step *s, facts *f, const takt_gemm_f32_info *info)
{
    const takt_conv_shape *c = &f->shape;
    size_t kernel = 0, patches = 0, tile = 0;
    for (size_t i = 0; i < f->phase_count; i++) {
        const phase *p = &f->phases[i];
        const size_t step = block_rows(p->k, f->grain), all = c->batch * p->rows;
        const size_t rows = step < all ? step : all;
        for (size_t half = 1; half <= 2; half++) {
            const takt_gemm_f32 g = {.m = (rows + half - 1) / half,
                                     .n = c->cin,
                                     .k = p->k,
                                     .a_row = f->reads_rows ? c->y_position : p->k,
                                     .a_col = 1};
            const size_t bytes = info->scratch_bytes(&g);
            kernel = bytes > kernel ? bytes : kernel;
        }
        patches = rows * p->k > patches ? rows * p->k : patches;
        tile = rows * c->cin > tile ? rows * c->cin : tile;
    }
    f->patches = takt_cpu_aligned(kernel);
    f->tile = f->patches + (f->reads_rows ? 0 : takt_cpu_aligned(patches * sizeof(float)));
    s->scratch_each = f->tile + (f->writes_rows ? 0 : takt_cpu_aligned(tile * sizeof(float)));
}

takt_status takt_conv_dx_compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    takt_step *s = p->step;
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->shape = takt_conv_shape_of(p->graph, id);
    const takt_conv_shape *c = &f->shape;
    size_t bytes, index;
    if (!takt_size_mul(c->stride[0] * c->stride[1], c->stride[2], &f->phase_count) ||
        !takt_size_mul(f->phase_count, sizeof *f->phases, &bytes))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "the stride of a convolution is too large");
    f->phases = takt_planner_get(p, bytes);
    if (f->phases == NULL)
        return TAKT_ERR_MEMORY;
    const takt_kernel *gemm = takt_planner_kernel(p, "gemm_f32");
    const takt_gemm_f32_info *info = gemm->info;
    f->panels = info->panels;
    TAKT_TRY(set_phases(p, f));
    f->run = takt_kernel_as_gemm_f32(gemm);
    f->reads_rows = takt_conv_is_pointwise(c);
    f->writes_rows = c->is_nhwc && f->phase_count == 1;
    f->grain = info->rows;
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(add_weights(p, f, n->in[1]));
    TAKT_TRY(takt_planner_output(p, id, &index));
    takt_conv_memory_plan(p, c->dtype, f->is_packed ? 1 : -1, &f->memory);
    set_scratch(s, f, info);
    takt_cost cost = {0};
    n->op->cost(p->graph, n, &cost);
    s->data = f;
    s->run = run;
    s->before = f->is_packed && c->dtype == TAKT_F32 ? NULL : before;
    s->after = c->dtype != TAKT_F32 ? after : NULL;
    s->task_count = takt_cpu_tasks(p, cost.flops, cost.bytes, c->batch * c->area / f->grain + 1);
    return TAKT_OK;
}
