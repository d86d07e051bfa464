/* dx.c - gradient of a convolution with respect to its input: products, one for each bundle of
 * phases (dx.h).
 *
 * Within a phase dx is an ordinary product of patches of dy with the weights of these taps; k is
 * (taps, output channels). Patches reach over the border of dy as zeros, which are multiplied.
 * A transposed convolution of a model is one, and what follows it then ends each product: its
 * operands are the same at all positions (step/conv_grad.c).
 */
#include <string.h>

#include "backend/cpu/conv/dx.h"
#include "backend/cpu/conv/end.h"
#include "backend/cpu/conv/grad.h"
#include "backend/cpu/conv/run.h"
#include "base/size.h"

enum { PATCH_BYTES = 256 << 10, ROWS_MIN = 24, ROWS_MAX = 192 };

typedef struct facts {
    takt_conv_shape shape;
    takt_conv_memory memory;
    takt_gemm_f32_fn *run;
    takt_panels panels;
    takt_dx_phases all;
    size_t w, packed_at;
    bool is_packed;
    takt_conv_end end;
    bool writes_rows; /* rows of dx follow each other */
    size_t grain;
    /* Offsets in a worker's scratch; the kernel's comes first. */
    size_t patches, tile, bias, registers;
} facts;

/* The original weights, or already widened ones. */
typedef struct stored {
    const void *at;
    takt_dtype dtype;
} stored;

static float weight(const stored *w, size_t i)
{
    return w->dtype == TAKT_F32 ? ((const float *)w->at)[i]
                                : (float)takt_dtype_get_f(w->dtype, w->at, i);
}

static void pack_bundle(const facts *f, const takt_dx_bundle *b, size_t group, const stored *w,
                        float *to)
{
    const takt_conv_shape *c = &f->shape;
    memset(to, 0, takt_panels_columns(f->panels, b->n) * b->k * sizeof *to);
    for (size_t m = 0; m < b->members && c->cin > 0; m++) { /* without weights k may be any size */
        const takt_dx_phase *p = &f->all.phases[f->all.order[b->first_member + m]];
        for (size_t k = 0; k < b->k; k++) {
            const size_t tap = takt_dx_tap(c, p, k / c->cout), o = group * c->cout + k % c->cout;
            for (size_t j = 0; j < c->cin; j++)
                to[takt_packed_at(f->panels, b->k, b->n, k, m * c->cin + j)] =
                    weight(w, o * c->w_out + tap * c->w_tap + j * c->w_in);
        }
    }
}

static void pack(const facts *f, stored w, float *to)
{
    for (size_t g = 0; g < f->shape.groups; g++)
        for (size_t i = 0; i < f->all.bundle_count; i++)
            pack_bundle(f, &f->all.bundles[i], g, &w,
                        to + g * f->all.group_floats + f->all.bundles[i].packed);
}

static takt_status pack_constant(void *user, const void *from, void *to)
{
    const facts *f = user;
    pack(f, (stored){from, f->shape.dtype}, to);
    return TAKT_OK;
}

/* ---- running ---- */

/* A row of a bundle: its sample, and the offset of its first tap in dy. */
typedef struct place {
    size_t sample;
    ptrdiff_t at[3];
} place;

static place place_of(const takt_dx_bundle *b, size_t row)
{
    size_t at[3];
    takt_conv_unflatten(b->count, row % b->rows, at);
    place p = {.sample = row / b->rows};
    for (int i = 0; i < 3; i++)
        p.at[i] = b->low[i] + (ptrdiff_t)at[i];
    return p;
}

static void go_on(const takt_dx_bundle *b, place *p)
{
    for (int i = 2; i >= 0; i--) {
        if (++p->at[i] < b->low[i] + (ptrdiff_t)b->count[i])
            return;
        p->at[i] = b->low[i];
    }
    p->sample++;
}

static void copy(const float *from, size_t step, size_t count, float *to)
{
    if (step == 1 && count >= 8)
        memcpy(to, from, count * sizeof *to);
    else
        for (size_t i = 0; i < count; i++)
            to[i] = from[i * step];
}

static void patch(const takt_conv_shape *c, const takt_dx_bundle *b, const float *dy,
                  const ptrdiff_t at[3], float *to)
{
    const size_t *taps = b->like->taps;
    size_t y[3]; /* negative values wrap beyond the end */
    y[0] = (size_t)at[0];
    for (size_t i = 0; i < taps[0]; i++, y[0] -= (size_t)b->step[0]) {
        y[1] = (size_t)at[1];
        for (size_t j = 0; j < taps[1]; j++, y[1] -= (size_t)b->step[1]) {
            const bool inside = y[0] < c->out[0] && y[1] < c->out[1];
            const size_t line = inside ? (y[0] * c->out[1] + y[1]) * c->out[2] : 0;
            y[2] = (size_t)at[2];
            for (size_t k = 0; k < taps[2]; k++, y[2] -= (size_t)b->step[2], to += c->cout)
                if (inside && y[2] < c->out[2])
                    copy(dy + (line + y[2]) * c->y_position, c->y_channel, c->cout, to);
                else
                    memset(to, 0, c->cout * sizeof *to);
        }
    }
}

/* The columns of one phase, a row at its place in x. */
static void put_row(const takt_conv_shape *c, const takt_dx_phase *p, const place *at,
                    const float *from, float *dx)
{
    size_t x = at->sample * c->x_sample;
    for (int i = 0; i < 3; i++) {
        const size_t number = (size_t)(at->at[i] - p->from[i]);
        if (number >= p->count[i])
            return;
        x += (p->first[i] + number * c->stride[i]) * c->x_at[i];
    }
    if (c->x_channel == 1)
        copy(from, 1, c->cin, dx + x);
    else
        for (size_t i = 0; i < c->cin; i++)
            dx[x + i * c->x_channel] = from[i];
}

/* What one call of the product computes. */
typedef struct block {
    const takt_dx_bundle *b;
    size_t group, row, rows;
    const float *weights;
} block;

static void gather(const facts *f, const block *b, const float *dy, float *patches)
{
    place at = place_of(b->b, b->row);
    for (size_t r = 0; r < b->rows; r++, go_on(b->b, &at))
        patch(&f->shape, b->b, dy + at.sample * f->shape.y_sample, at.at, patches + r * b->b->k);
}

static void scatter(const facts *f, const block *b, const float *tile, float *dx)
{
    const size_t *member = f->all.order + b->b->first_member;
    place at = place_of(b->b, b->row);
    for (size_t r = 0; r < b->rows; r++, go_on(b->b, &at))
        for (size_t m = 0; m < b->b->members; m++)
            put_row(&f->shape, &f->all.phases[member[m]], &at,
                    tile + r * b->b->n + m * f->shape.cin, dx);
}

/* The end of a product whose columns are those of several phases; false: there is none. */
static bool ends(const block *b, takt_conv_ending *ending, takt_epilogue_f32 *e)
{
    const facts *f = ending->run.step->data;
    const size_t channels = f->shape.cin;
    float *bias = (float *)(void *)((char *)ending->run.task->scratch_own + f->bias);
    if (!takt_conv_end_for(ending, e))
        return false;
    if (e->bias == NULL)
        return true;
    for (size_t m = 0; m < b->b->members; m++)
        memcpy(bias + m * channels, e->bias, channels * sizeof *bias);
    e->bias = bias;
    return true;
}

static void multiply(const takt_step *s, const takt_task *t, const block *b)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    takt_conv_ending ending = takt_conv_end_at(&f->end, s, t, f->registers, 0, 0);
    takt_epilogue_f32 epilogue;
    float *patches = (float *)(void *)((char *)t->scratch_own + f->patches);
    float *tile = (float *)(void *)((char *)t->scratch_own + f->tile);
    const float *dy = takt_conv_in(&f->memory, s, t, 0) + b->group * c->cout * c->y_channel;
    float *dx = takt_conv_out(&f->memory, s, t) + b->group * c->cin * c->x_channel;
    if (!b->b->reads_rows && b->b->k > 0) /* without channels a kernel may have any size */
        gather(f, b, dy, patches);
    takt_gemm_f32 g = {.m = b->rows,
                       .n = b->b->n,
                       .k = b->b->k,
                       .a = b->b->reads_rows ? dy + b->row * c->y_position : patches,
                       .a_row = b->b->reads_rows ? c->y_position : b->b->k,
                       .a_col = 1,
                       .b = b->weights,
                       .b_n = b->b->n,
                       .c = f->writes_rows ? dx + b->row * c->x_at[2] : tile,
                       .ldc = f->writes_rows ? c->x_at[2] : b->b->n,
                       .scratch = t->scratch_own};
    takt_epilogue_product(f->run, &g, ends(b, &ending, &epilogue) ? &epilogue : NULL);
    if (!f->writes_rows)
        scatter(f, b, tile, dx);
}

/* Patches and results of a block stay near. */
static size_t block_rows(const facts *f, const takt_dx_bundle *b)
{
    const size_t each = b->k + (f->writes_rows ? 0 : b->n);
    const size_t fit = each > 0 ? PATCH_BYTES / sizeof(float) / each : ROWS_MAX;
    const size_t rows = fit < ROWS_MIN ? ROWS_MIN : fit > ROWS_MAX ? ROWS_MAX : fit;
    return rows < f->grain ? f->grain : rows / f->grain * f->grain;
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    if (c->cin == 0) /* an empty result, although a kernel may have any size */
        return;
    const float *weights =
        f->is_packed ? takt_view_data(t, &s->in[f->w])
                     : (const float *)(const void *)((const char *)t->scratch + f->packed_at);
    for (size_t i = 0; i < f->all.bundle_count; i++) {
        const takt_dx_bundle *all = &f->all.bundles[i];
        const size_t step = block_rows(f, all);
        size_t first, end;
        takt_cpu_share(c->batch * all->rows, f->grain, t->index, s->task_count, &first, &end);
        for (size_t row = first; row < end && !takt_poll_stops(t->poll); row += step)
            for (size_t g = 0; g < c->groups; g++) {
                const block b = {.b = all,
                                 .group = g,
                                 .row = row,
                                 .rows = end - row < step ? end - row : step,
                                 .weights = weights + g * f->all.group_floats + all->packed};
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
    if (!takt_size_mul(f->all.group_floats, c->groups * sizeof(float), &bytes))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW,
                         "the packed weights of a convolution are too large");
    f->is_packed = takt_planner_is_kept(p, w);
    if (!f->is_packed) {
        f->packed_at = takt_conv_reserve(p->step, bytes);
        return takt_planner_input(p, w, &f->w);
    }
    const char *format = takt_planner_text(
        p,
        "conv_dx %s groups=%zu stride=%zu,%zu,%zu dilation=%zu,%zu,%zu pad=%zu,%zu,%zu "
        "size=%zu,%zu,%zu",
        c->is_nhwc ? "nhwc" : "nchw", c->groups, c->stride[0], c->stride[1], c->stride[2],
        c->dilation[0], c->dilation[1], c->dilation[2], c->before[0], c->before[1], c->before[2],
        c->in[0], c->in[1], c->in[2]);
    return format == NULL ? TAKT_ERR_MEMORY
                          : takt_planner_packed(p, w, format, bytes, pack_constant, f, &f->w);
}

static void set_scratch(takt_step *s, facts *f, const takt_gemm_f32_info *info)
{
    const takt_conv_shape *c = &f->shape;
    size_t kernel = 0, patches = 0, tile = 0, columns = 0;
    for (size_t i = 0; i < f->all.bundle_count; i++) {
        const takt_dx_bundle *b = &f->all.bundles[i];
        const size_t step = block_rows(f, b), all = c->batch * b->rows;
        const size_t rows = step < all ? step : all, gathered = b->reads_rows ? 0 : rows * b->k;
        for (size_t half = 1; half <= 2; half++) {
            const takt_gemm_f32 g = {.m = (rows + half - 1) / half,
                                     .n = b->n,
                                     .k = b->k,
                                     .a_row = b->reads_rows ? c->y_position : b->k,
                                     .a_col = 1};
            const size_t bytes = info->scratch_bytes(&g);
            kernel = bytes > kernel ? bytes : kernel;
        }
        patches = gathered > patches ? gathered : patches;
        tile = rows * b->n > tile ? rows * b->n : tile;
        columns = b->n > columns ? b->n : columns;
    }
    f->patches = takt_cpu_aligned(kernel);
    f->tile = f->patches + takt_cpu_aligned(patches * sizeof(float));
    f->bias = f->tile + (f->writes_rows ? 0 : takt_cpu_aligned(tile * sizeof(float)));
    f->registers =
        f->bias + (f->end.epilogue.bias >= 0 ? takt_cpu_aligned(columns * sizeof(float)) : 0);
    s->scratch_each = f->registers + takt_conv_end_scratch(&f->end);
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
    size_t index;
    const takt_kernel *gemm = takt_planner_kernel(p, "gemm_f32");
    const takt_gemm_f32_info *info = gemm->info;
    f->panels = info->panels;
    TAKT_TRY(takt_dx_phases_plan(p, c, f->panels, &f->all));
    f->run = takt_kernel_as_gemm_f32(gemm);
    f->writes_rows = c->is_nhwc && f->all.phase_count == 1;
    f->grain = info->rows;
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(add_weights(p, f, n->in[1]));
    TAKT_TRY(takt_conv_end_compile(p, c->groups * c->cin, &f->end));
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
