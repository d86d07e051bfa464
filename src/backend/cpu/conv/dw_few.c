/* dw_few.c - gradient of a convolution with respect to its weights where few inputs make an output,
 * as in first layers, or where one tap does.
 *
 * dw.c makes the product [cout][positions] * [positions][k], whose right-hand side has few columns
 * and must be gathered. Here it is [k][positions] * [positions][cout]: the gradient of y is the
 * right-hand side in place, and rows of x are copied by whole lines, or read in place where there
 * is one tap. Each element is the same sum in the same order: 256 positions of a sample at a time.
 */
#include <string.h>

#include "backend/cpu/conv/dw_parts.h"
#include "backend/cpu/conv/grad.h"
#include "backend/cpu/conv/run.h"
#include "kernel/gemm_f32/gemm_f32.h"
#include "kernel/pack/pack.h"

enum { FEW = 64, SUMS = 1 << 18, GRAIN = 4, CHUNK = TAKT_GEMM_CHUNK };

typedef struct facts {
    takt_conv_shape shape;
    takt_gemm_f32_fn *run;
    takt_pack_fn *pack;
    takt_panels widths;
    takt_dw_parts parts;
    bool reads_rows;              /* x in place is the left-hand side, transposed */
    size_t most;                  /* rows of k that a task has */
    size_t rows, panels, sums[2]; /* offsets in a worker's scratch; the kernel's is first */
} facts;

bool takt_conv_dw_is_few(const takt_conv_shape *c)
{
    return c->dtype == TAKT_F32 && c->is_nhwc && c->groups == 1 && c->cout >= 16 &&
           (c->k <= FEW || (takt_conv_is_pointwise(c) && c->k * c->cout <= SUMS));
}

static float *own(const takt_task *t, size_t offset)
{
    return (float *)(void *)((char *)t->scratch_own + offset);
}

/* Gathers the inputs of channel k % cin of tap k / cin for `count` outputs from position `p` of a
 * sample. */
static void gather(const takt_conv_shape *c, const float *x, size_t k, size_t p, size_t count,
                   float *to)
{
    size_t at[3], t[3];
    takt_conv_unflatten(c->out, p, at);
    takt_conv_unflatten(c->kernel, k / c->cin, t);
    while (count > 0) {
        const size_t i = at[0] * c->stride[0] + t[0] * c->dilation[0] - c->before[0];
        const size_t j = at[1] * c->stride[1] + t[1] * c->dilation[1] - c->before[1];
        const bool is_in = i < c->in[0] && j < c->in[1]; /* negatives wrap to large values */
        const float *line = x + k % c->cin + (is_in ? i * c->x_at[0] + j * c->x_at[1] : 0);
        const size_t left = c->out[2] - at[2], run = left < count ? left : count;
        size_t q = at[2] * c->stride[2] + t[2] * c->dilation[2] - c->before[2];
        for (size_t n = 0; n < run; n++, q += c->stride[2])
            *to++ = is_in && q < c->in[2] ? line[q * c->x_at[2]] : 0;
        count -= run;
        at[2] = 0;
        if (++at[1] == c->out[1]) {
            at[1] = 0;
            at[0]++;
        }
    }
}

/* Rows [first, first + rows) of k, at `count` positions from `p` of sample n. */
typedef struct block {
    size_t first, rows, n, p, count;
    const float *so_far; /* the sums; NULL: it is the first chunk */
    float *to;
} block;

static void chunk(const takt_step *s, const takt_task *t, const block *b)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    float *rows = own(t, f->rows);
    const float *x = (const float *)takt_view_data(t, &s->in[0]) + b->n * c->x_sample;
    const float *dy = (const float *)takt_view_data(t, &s->in[1]) + b->n * c->y_sample;
    const takt_pack pack = {.k = b->count,
                            .n = c->cout,
                            .src = dy + b->p * c->y_position,
                            .row = c->y_position,
                            .col = 1,
                            .dst = own(t, f->panels),
                            .bytes = sizeof(float),
                            .panels = f->widths};
    f->pack(&pack);
    for (size_t r = 0; r < b->rows && !f->reads_rows; r++)
        gather(c, x, b->first + r, b->p, b->count, rows + r * b->count);
    const takt_epilogue_f32 add = {.residual = b->so_far, .residual_stride = c->cout};
    const takt_gemm_f32 g = {.m = b->rows,
                             .n = c->cout,
                             .k = b->count,
                             .a = f->reads_rows ? x + b->p * c->cin + b->first : rows,
                             .a_row = f->reads_rows ? 1 : b->count,
                             .a_col = f->reads_rows ? c->cin : 1,
                             .b = own(t, f->panels),
                             .b_n = c->cout,
                             .c = b->to,
                             .ldc = c->cout,
                             .epilogue = b->so_far == NULL ? NULL : &add,
                             .scratch = t->scratch_own};
    f->run(&g);
}

static size_t count_at(const takt_conv_shape *c, size_t position)
{
    const size_t left = c->positions - position;
    return left < CHUNK ? left : CHUNK;
}

static void prepare(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    block b = {.rows = c->k};
    size_t end;
    takt_cpu_share(c->batch, 1, t->index, s->prepare_count, &b.n, &end);
    for (; b.n < end; b.n++)
        for (b.p = 0; b.p < c->positions && !takt_poll_stops(t->poll); b.p += CHUNK) {
            b.count = count_at(c, b.p);
            b.to = takt_dw_parts_of(&f->parts, c, t, b.n, b.p / CHUNK);
            chunk(s, t, &b);
        }
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    block b = {0};
    size_t end;
    int to = 0;
    if (f->parts.chunks > 0) {
        takt_dw_parts_add(&f->parts, c, s, t);
        return;
    }
    takt_cpu_share(c->k, GRAIN, t->index, s->task_count, &b.first, &end);
    b.rows = end - b.first;
    b.to = memset(own(t, f->sums[1]), 0, b.rows * c->cout * sizeof(float));
    for (; b.n < c->batch && b.rows > 0; b.n++)
        for (b.p = 0; b.p < c->positions && !takt_poll_stops(t->poll); b.p += CHUNK, to = 1 - to) {
            b.count = count_at(c, b.p);
            b.so_far = b.n == 0 && b.p == 0 ? NULL : b.to;
            b.to = own(t, f->sums[to]);
            chunk(s, t, &b);
        }
    takt_dw_store(c, b.to, b.first, end, takt_view_data(t, &s->out[0]));
}

static void set_scratch(takt_step *s, facts *f, const takt_gemm_f32_info *info)
{
    const takt_conv_shape *c = &f->shape;
    const size_t count = c->positions < CHUNK ? c->positions : CHUNK;
    const size_t sums =
        f->parts.chunks > 0 ? 0 : takt_cpu_aligned(f->most * c->cout * sizeof(float));
    size_t kernel = 0;
    for (size_t rows = 1; rows <= f->most; rows++) {
        const takt_gemm_f32 g = {.m = rows,
                                 .n = c->cout,
                                 .k = count,
                                 .a_row = f->reads_rows ? 1 : count,
                                 .a_col = f->reads_rows ? c->cin : 1};
        const size_t bytes = info->scratch_bytes(&g);
        kernel = bytes > kernel ? bytes : kernel;
    }
    f->rows = takt_cpu_aligned(kernel);
    f->panels = f->rows + (f->reads_rows ? 0 : takt_cpu_aligned(f->most * count * sizeof(float)));
    f->sums[0] = f->panels +
                 takt_cpu_aligned(takt_panels_columns(f->widths, c->cout) * count * sizeof(float));
    f->sums[1] = f->sums[0] + sums;
    s->scratch_each = f->sums[1] + sums;
}

takt_status takt_conv_dw_few_compile(takt_planner *p)
{
    takt_step *s = p->step;
    facts *f = takt_planner_get(p, sizeof *f);
    takt_cost cost;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_conv_grad_open(p, &f->shape, &cost));
    const takt_kernel *gemm = takt_planner_kernel(p, "gemm_f32");
    f->run = takt_kernel_as_gemm_f32(gemm);
    f->pack = takt_kernel_as_pack(takt_planner_kernel(p, "pack"));
    f->widths = ((const takt_gemm_f32_info *)gemm->info)->panels;
    f->parts = (takt_dw_parts){.grain = GRAIN, .cost = cost};
    takt_dw_parts_plan(p, &f->shape, prepare, &f->parts);
    s->data = f;
    s->run = run;
    f->reads_rows = takt_conv_is_pointwise(&f->shape);
    f->most = takt_dw_parts_rows(&f->parts, &f->shape, s);
    set_scratch(s, f, gemm->info);
    return TAKT_OK;
}
