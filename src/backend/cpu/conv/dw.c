/* dw.c - gradient of a convolution with respect to its weights.
 *
 * dW[o][k] is a sum over samples and positions. Each task owns some columns k; it takes 256
 * positions at a time (fewer at the end of a sample, where chunks restart), gathers the patches of
 * its columns as the right-hand side of a product, and adds the product of dy transposed.
 */
#include <string.h>

#include "backend/cpu/conv/grad.h"
#include "backend/cpu/conv/patch.h"
#include "backend/cpu/conv/run.h"
#include "kernel/gemm_f32/gemm_f32.h"

enum { COLUMNS = 128 }; /* of a block: their patches take 128 KiB */

typedef struct facts {
    takt_conv_shape shape;
    takt_conv_memory memory;
    takt_gemm_f32_fn *run;
    takt_panels widths;
    size_t blocks;          /* of columns, in a group */
    size_t panels, sums[2]; /* offsets in a worker's scratch; the kernel's comes first */
} facts;

/* A range of columns of one group. */
typedef struct block {
    size_t group, column, columns;
} block;

static float *own(const takt_task *t, size_t offset)
{
    return (float *)(void *)((char *)t->scratch_own + offset);
}

/* sums[to] = sums[1 - to] + the chunk of `count` positions from `row`, counted over all samples:
 * [cout][columns]. The first chunk is stored as it is. */
static void chunk(const takt_step *s, const takt_task *t, const block *b, size_t row, size_t count,
                  int to)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    float *panels = own(t, f->panels);
    const takt_epilogue_f32 add = {.residual = own(t, f->sums[1 - to]),
                                   .residual_stride = b->columns};
    const takt_conv_part part = {b->group, row, count, b->column, b->columns, f->widths};
    takt_conv_panels(c, takt_conv_in(&f->memory, s, t, 0), &part, panels);
    const float *dy = takt_conv_in(&f->memory, s, t, 1) + b->group * c->cout * c->y_channel +
                      row / c->positions * c->y_sample + row % c->positions * c->y_position;
    const takt_gemm_f32 g = {.m = c->cout,
                             .n = b->columns,
                             .k = count,
                             .a = dy,
                             .a_row = c->y_channel,
                             .a_col = c->y_position,
                             .b = panels,
                             .b_n = b->columns,
                             .c = own(t, f->sums[to]),
                             .ldc = b->columns,
                             .epilogue = row > 0 ? &add : NULL,
                             .scratch = t->scratch_own};
    f->run(&g);
}

static void store(const takt_conv_shape *c, const block *b, const float *total, float *dw)
{
    for (size_t o = 0; o < c->cout; o++)
        for (size_t j = 0; j < b->columns; j++) {
            const size_t k = b->column + j;
            dw[(b->group * c->cout + o) * c->w_out + k / c->cin * c->w_tap + k % c->cin * c->w_in] =
                total[o * b->columns + j];
        }
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    size_t first, end;
    takt_cpu_share(f->blocks * c->groups, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end; i++) {
        block b = {.group = i / f->blocks, .column = i % f->blocks * COLUMNS};
        b.columns = c->k - b.column < COLUMNS ? c->k - b.column : COLUMNS;
        int to = 0;
        memset(own(t, f->sums[1]), 0, c->cout * b.columns * sizeof(float));
        for (size_t n = 0; n < c->batch; n++)
            for (size_t p = 0; p < c->positions && !takt_poll_stops(t->poll);
                 p += TAKT_GEMM_CHUNK, to = 1 - to) {
                const size_t left = c->positions - p;
                chunk(s, t, &b, n * c->positions + p,
                      left < TAKT_GEMM_CHUNK ? left : TAKT_GEMM_CHUNK, to);
            }
        store(c, &b, own(t, f->sums[1 - to]), takt_conv_out(&f->memory, s, t));
    }
}

static void before(const takt_step *s, const takt_task *t)
{
    takt_conv_widen(&((const facts *)s->data)->memory, s, t);
}

static void after(const takt_step *s, const takt_task *t)
{
    takt_conv_narrow(&((const facts *)s->data)->memory, s, t);
}

static void set_scratch(takt_step *s, facts *f, const takt_gemm_f32_info *info)
{
    const takt_conv_shape *c = &f->shape;
    const size_t columns = c->k < COLUMNS ? c->k : COLUMNS;
    const size_t rows = c->positions < TAKT_GEMM_CHUNK ? c->positions : TAKT_GEMM_CHUNK;
    const size_t sums = takt_cpu_aligned(c->cout * columns * sizeof(float));
    size_t kernel = 0;
    for (size_t n = 1; n <= columns; n++) {
        const takt_gemm_f32 g = {
            .m = c->cout, .n = n, .k = rows, .a_row = c->y_channel, .a_col = c->y_position};
        const size_t bytes = info->scratch_bytes(&g);
        kernel = bytes > kernel ? bytes : kernel;
    }
    f->panels = takt_cpu_aligned(kernel);
    f->sums[0] = f->panels + rows * (columns + 2 * f->widths.wide) * sizeof(float);
    f->sums[0] = takt_cpu_aligned(f->sums[0]);
    f->sums[1] = f->sums[0] + sums;
    s->scratch_each = f->sums[1] + sums;
}

takt_status takt_conv_dw_compile(takt_planner *p)
{
    takt_step *s = p->step;
    facts *f = takt_planner_get(p, sizeof *f);
    takt_cost cost;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_conv_grad_open(p, &f->shape, &cost));
    const takt_conv_shape *c = &f->shape;
    const takt_kernel *gemm = takt_planner_kernel(p, "gemm_f32");
    f->run = takt_kernel_as_gemm_f32(gemm);
    f->widths = ((const takt_gemm_f32_info *)gemm->info)->panels;
    f->blocks = (c->k + COLUMNS - 1) / COLUMNS;
    takt_conv_memory_plan(p, c->dtype, -1, &f->memory);
    set_scratch(s, f, gemm->info);
    s->data = f;
    s->run = run;
    if (c->dtype != TAKT_F32) {
        s->before = before;
        s->after = after;
    }
    s->task_count = takt_cpu_tasks(p, cost.flops, cost.bytes, f->blocks * c->groups);
    return TAKT_OK;
}
