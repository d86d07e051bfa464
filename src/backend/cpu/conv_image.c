/* conv_image.c - convolutions in bf16 that read an image of their own instead of patches.
 *
 * A task rounds the rows of x that a block of its outputs needs to bf16, padding included. Where
 * strides are larger than 1 it deals them out into phases, one image for each remainder of the
 * coordinates, so that neighbouring outputs read neighbouring positions of one phase and a tap is
 * nothing but an offset.
 */
#include "backend/cpu/conv_image.h"

#include <string.h>

#include "backend/cpu/conv_end.h"
#include "backend/cpu/conv_patch.h"
#include "backend/cpu/conv_run.h"
#include "backend/cpu/cut.h"
#include "base/size.h"

enum { IMAGE_BYTES = 768 << 10 }; /* of a block, to stay in L2 beside the weights of a panel */
enum { CONVERTED_ROW = 1 };       /* what a row costs besides multiplying, in rows by panels */

typedef struct facts {
    takt_conv_shape shape;
    takt_conv_end end;
    takt_gemm_f32_fn *run;
    takt_narrow narrow;
    takt_ctx *ctx;
    size_t w, w_count;
    size_t phases[2];        /* by rows and by columns */
    size_t rows;             /* of outputs of a block */
    size_t lines, pitch;     /* rows of a phase's image and positions of each */
    const size_t *at;        /* of each tap: elements from the first one of the image */
    size_t image, registers; /* offsets in a worker's scratch; the kernel's comes first */
    size_t row_tasks, column_tasks, grain;
} facts;

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The last tap of an axis, in steps of x. */
static size_t reach(const takt_conv_shape *s, int axis)
{
    return (s->kernel[axis] - 1) * s->dilation[axis];
}

bool takt_conv_image_fits(const takt_conv_shape *s, const takt_gemm_bf16_info *info)
{
    return info->image > 0 && s->dtype == TAKT_F32 && s->is_nhwc && s->groups == 1 && s->cin > 0 &&
           s->cin % info->image == 0 && s->in[0] == 1 && s->kernel[0] == 1 && s->out[0] == 1 &&
           s->before[0] == 0 && s->batch * s->positions > 0;
}

/* ---- running ---- */

/* The columns of a phase, one row of x: zeros where x has none. */
static void line_of(const facts *f, const float *row, size_t phase, uint16_t *to)
{
    const takt_conv_shape *s = &f->shape;
    const takt_convert convert = {.to = TAKT_BF16, .from = TAKT_F32};
    const size_t step = s->stride[2], before = s->before[2], each = s->cin;
    const size_t first = before > phase ? least((before - phase + step - 1) / step, f->pitch) : 0;
    const size_t room = s->in[2] + before > phase ? s->in[2] + before - phase : 0;
    const size_t last = least((room + step - 1) / step, f->pitch); /* [first, last) are in x */
    memset(to, 0, least(first, f->pitch) * each * sizeof *to);
    if (last < f->pitch)
        memset(to + last * each, 0, (f->pitch - last) * each * sizeof *to);
    for (size_t i = first, run; i < last; i += run) {
        run = step == 1 ? last - first : 1;
        f->narrow.convert(&convert, to + i * each, row + (i * step + phase - before) * each,
                          run * each);
    }
}

/* Everything that output rows [first, first + rows) of a sample read. */
static void make_image(const facts *f, const float *x, size_t first, size_t rows, uint16_t *to)
{
    const takt_conv_shape *s = &f->shape;
    const size_t lines = rows + reach(s, 1) / s->stride[1], each = f->pitch * s->cin;
    for (size_t a = 0; a < f->phases[0]; a++)
        for (size_t b = 0; b < f->phases[1]; b++, to += f->lines * each)
            for (size_t j = 0; j < lines; j++) {
                const size_t at = (first + j) * s->stride[1] + a;
                if (at >= s->before[1] && at - s->before[1] < s->in[1])
                    line_of(f, x + (at - s->before[1]) * s->x_at[1], b, to + j * each);
                else
                    memset(to + j * each, 0, each * sizeof *to);
            }
}

/* What one call of the product computes. */
typedef struct block {
    size_t row, rows, column, columns; /* rows of outputs, of all samples */
} block;

static void multiply(const takt_step *s, const takt_task *t, const block *b)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    char *own = t->scratch_own;
    const size_t row = b->row * c->out[2];
    takt_conv_ending ending = {.end = &f->end,
                               .run = {.epilogue = &f->end.epilogue,
                                       .step = s,
                                       .task = t,
                                       .registers = own + f->registers,
                                       .row = row,
                                       .column = b->column}};
    takt_epilogue_f32 epilogue;
    const bool ends = takt_conv_end_for(&ending, &epilogue);
    const takt_bf16_image image = {.data = (const uint16_t *)(const void *)(own + f->image),
                                   .width = c->out[2],
                                   .pitch = f->pitch,
                                   .channels = c->cin,
                                   .at = f->at};
    takt_gemm_stored stored;
    takt_gemm_f32 g = {.m = b->rows * c->out[2],
                       .n = b->columns,
                       .k = c->k,
                       .b_n = c->cout,
                       .b_first = b->column,
                       .c = (float *)takt_view_data(t, &s->out[0]) + row * c->cout + b->column,
                       .ldc = c->cout,
                       .epilogue = ends ? &epilogue : NULL,
                       .scratch = t->scratch_own,
                       .image = &image};
    takt_narrow_use(&g, &f->narrow, takt_view_data(t, &s->in[f->w]),
                    takt_panels_columns(f->narrow.fast->panels, c->cout), &stored);
    f->run(&g);
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    size_t first, end, column, last;
    takt_cpu_share(c->batch * c->out[1], f->grain, t->index / f->column_tasks, f->row_tasks, &first,
                   &end);
    takt_panels_share(f->narrow.fast->panels, c->cout, t->index % f->column_tasks, f->column_tasks,
                      &column, &last);
    const float *x = takt_view_data(t, &s->in[0]);
    uint16_t *image = (uint16_t *)(void *)((char *)t->scratch_own + f->image);
    for (size_t row = first, rows; row < end && column < last; row += rows) {
        const size_t sample = row / c->out[1], at = row % c->out[1];
        rows = least(least(f->rows, end - row), c->out[1] - at); /* of one sample */
        make_image(f, x + sample * c->x_sample, at, rows, image);
        multiply(s, t, &(block){row, rows, column, last - column});
    }
}

/* ---- compiling ---- */

static void order_floats(void *user, const float *from, float *to)
{
    takt_conv_order_weights(&((const facts *)user)->shape, from, to);
}

static takt_status pack_constant(void *user, const void *from, void *to)
{
    const facts *f = user;
    const takt_conv_shape *c = &f->shape;
    const takt_narrow_job job = {.ctx = f->ctx,
                                 .count = f->w_count,
                                 .packed = c->cout * c->k,
                                 .pack = order_floats,
                                 .user = user};
    const takt_fast_weights w = {1, c->k, c->cout, 1, c->k, c->cout * c->k};
    return takt_narrow_pack_fast(&job, &f->narrow, &w, from, to);
}

static takt_status add_operands(takt_planner *p, facts *f)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    size_t x;
    TAKT_TRY(takt_planner_input(p, n->in[0], &x));
    f->ctx = p->ctx;
    (void)takt_type_count(takt_type_of(p->graph, n->in[1]), &f->w_count);
    const char *format = takt_narrow_format(p, &f->narrow, "conv nhwc groups=1");
    if (format == NULL)
        return TAKT_ERR_MEMORY;
    return takt_planner_packed(p, f->narrow.from, format,
                               takt_narrow_count(&f->narrow, f->shape.k, f->shape.cout) *
                                   sizeof(uint16_t),
                               pack_constant, f, &f->w);
}

static void set_phases(facts *f)
{
    const takt_conv_shape *s = &f->shape;
    for (int i = 0; i < 2; i++)
        f->phases[i] = least(s->stride[i + 1], reach(s, i + 1) + 1);
    f->pitch = s->out[2] + reach(s, 2) / s->stride[2];
    const size_t around = reach(s, 1) / s->stride[1];
    const size_t line = f->phases[0] * f->phases[1] * f->pitch * s->cin * sizeof(uint16_t);
    const size_t fit = line > 0 ? IMAGE_BYTES / line : s->out[1];
    f->rows = least(fit > around ? fit - around : 1, s->out[1]);
    f->lines = f->rows + around;
}

static takt_status set_taps(takt_planner *p, facts *f)
{
    const takt_conv_shape *s = &f->shape;
    size_t *at = takt_planner_get(p, s->taps * sizeof *at);
    if (at == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < s->taps; i++) {
        const size_t y = i / s->kernel[2] * s->dilation[1], x = i % s->kernel[2] * s->dilation[2];
        const size_t phase =
            y % s->stride[1] * f->phases[1] + x % s->stride[2]; /* each f->lines rows */
        const size_t line = phase * f->lines + y / s->stride[1];
        at[i] = (line * f->pitch + x / s->stride[2]) * s->cin;
    }
    f->at = at;
    return TAKT_OK;
}

static void cut_tasks(takt_planner *p, facts *f)
{
    const takt_conv_shape *c = &f->shape;
    const takt_panels panels = f->narrow.fast->panels;
    const size_t m = c->batch * c->out[1], threads = (size_t)p->settings->threads;
    const double flops = 2.0 * (double)(c->batch * c->positions) * (double)c->k * (double)c->cout;
    const size_t tasks =
        takt_cpu_tasks(p, flops, 2.0 * (double)c->k * (double)c->cout, threads < 1 ? 1 : threads);
    const takt_cut_work work = {m, takt_panels_count(panels, c->cout), 1, CONVERTED_ROW};
    const takt_cut cut = takt_cpu_cut(&work, tasks);
    f->row_tasks = cut.rows;
    f->column_tasks = cut.columns;
    f->grain = cut.grain;
}

static size_t aligned(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

static takt_status set_scratch(takt_planner *p, facts *f)
{
    const takt_conv_shape *c = &f->shape;
    const takt_bf16_image image = {.width = c->out[2], .pitch = f->pitch, .channels = c->cin};
    const takt_gemm_f32 g = {.m = f->rows * c->out[2], .n = c->cout, .k = c->k, .image = &image};
    size_t positions, elements;
    if (!takt_size_mul(f->phases[0] * f->phases[1] * f->lines, f->pitch, &positions) ||
        !takt_size_add(positions, TAKT_BF16_BEYOND, &positions) ||
        !takt_size_mul(positions, c->cin, &elements) || elements > SIZE_MAX / 16)
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "the image of a convolution is too large");
    f->image = aligned(f->narrow.fast->scratch_bytes(&g));
    f->registers = f->image + aligned(elements * sizeof(uint16_t));
    p->step->scratch_each = f->registers + aligned(takt_conv_end_scratch(&f->end));
    return TAKT_OK;
}

takt_status takt_conv_image_compile(takt_planner *p, const takt_kernel *kernel,
                                    const takt_narrow *n)
{
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->shape = takt_conv_shape_of(p->graph, p->group->nodes[0]);
    f->shape.k_row = f->shape.k; /* weights are not padded */
    f->narrow = *n;
    f->narrow.convert =
        takt_kernel_as_convert(takt_kernel_find("convert", p->step->isas, NULL, 0, NULL));
    f->run = takt_kernel_as_gemm_f32(kernel);
    set_phases(f);
    TAKT_TRY(add_operands(p, f));
    TAKT_TRY(takt_conv_end_compile(p, f->shape.cout, &f->end));
    TAKT_TRY(set_taps(p, f));
    cut_tasks(p, f);
    TAKT_TRY(set_scratch(p, f));
    p->step->data = f;
    p->step->run = run;
    p->step->task_count = f->row_tasks * f->column_tasks;
    return TAKT_OK;
}
