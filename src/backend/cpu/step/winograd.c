/* winograd.c - 3x3 convolution by Winograd's F(4x4, 3x3): transform, 36 products, transform back.
 *
 * A task takes blocks of tiles small enough for their transformed forms to stay in L2: it
 * transforms the inputs of the block, multiplies them point by point with the transformed weights,
 * and transforms the products back, where the epilogue is applied while they are in registers.
 */
#include <string.h>

#include "backend/cpu/conv/end.h"
#include "backend/cpu/conv/finish.h"
#include "backend/cpu/conv/run.h"
#include "backend/cpu/conv/shape.h"
#include "backend/cpu/conv/winograd.h"
#include "backend/cpu/cut.h"
#include "base/mem.h"
#include "base/size.h"
#include "kernel/winograd_f32/winograd_f32.h"
#include "op/util/conv.h"

enum { OUT = TAKT_WINOGRAD_OUT, IN = TAKT_WINOGRAD_IN, POINTS = TAKT_WINOGRAD_POINTS };
enum { TRANSFORM = 3 }; /* of a tile's inputs, in products of a tile by a panel */
enum { BLOCK_BYTES = 904 << 10, TILES_MIN = 12, TILES_MAX = 96 };
/* Weights that every block brings from far away are worth larger ones. */
enum { FAR_BYTES = 4 << 20, FAR_BLOCK_BYTES = 1800 << 10 };

typedef struct facts {
    takt_conv_shape shape;
    takt_conv_end end;
    takt_gemm_f32_fn *multiply;
    const takt_gemm_walk *walk; /* as the caller said, or NULL */
    takt_winograd_f32_fn *transform;
    takt_panels panels;
    size_t w, weights_at; /* index into step->in; offset in scratch if not packed */
    bool is_packed;
    takt_narrow narrow;   /* what the weights were */
    takt_ctx *ctx;        /* for packing at plan time */
    size_t w_count;       /* elements of w */
    size_t across, tiles; /* tiles in a row of the image, and in the whole batch */
    size_t block;         /* tiles of a block */
    takt_cut cut;
    size_t inputs, products, zeros, registers; /* offsets in a worker's scratch */
    size_t x_at, y_at; /* offsets in scratch of the forms with channels last, for nchw */
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    return n->op == &takt_op_winograd_conv && n->type->dtype == TAKT_F32 ? NULL : "";
}

static const char *absorbs(const takt_graph *g, takt_id anchor, takt_id node)
{
    if (g->nodes[anchor].attr[TAKT_CONV_LAYOUT].i64 != TAKT_NHWC)
        return "the convolution's channels do not come last";
    return takt_epilogue_absorbs(g, anchor, node);
}

/* ---- running ---- */

static float *at(void *memory, size_t offset)
{
    return (float *)(void *)((char *)memory + offset);
}

static const float *image(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    return f->shape.is_nhwc ? takt_view_data(t, &s->in[0]) : at(t->scratch, f->x_at);
}

static float *result(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    return f->shape.is_nhwc ? takt_view_data(t, &s->out[0]) : at(t->scratch, f->y_at);
}

/* Floats from one point of a block to the next: an odd number of cache lines, or all 36 would fall
 * into a few sets of the nearest cache. */
static size_t stride_of(size_t tiles, size_t channels)
{
    enum { LINE = 64 / sizeof(float) };
    return ((tiles * channels + LINE - 1) / LINE | 1) * LINE;
}

/* Where a tile is: its sample, and its first output row and column. */
typedef struct tile {
    size_t sample, row, column;
} tile;

static tile locate(const facts *f, size_t index)
{
    const size_t down = (f->shape.out[1] + OUT - 1) / OUT;
    return (tile){.sample = index / f->across / down,
                  .row = index / f->across % down * OUT,
                  .column = index % f->across * OUT};
}

/* Near the border, pointers to the 36 inputs, some of them to zeros. */
static void find_taps(const takt_conv_shape *c, const float *x, const tile *p, const float *zeros,
                      const float **taps)
{
    const size_t channels = c->cin;
    for (size_t i = 0; i < IN; i++)
        for (size_t j = 0; j < IN; j++) {
            const size_t row = p->row + i, column = p->column + j;
            const bool inside = row >= c->before[1] && row - c->before[1] < c->in[1] &&
                                column >= c->before[2] && column - c->before[2] < c->in[2];
            taps[IN * i + j] =
                inside ? x + ((row - c->before[1]) * c->in[2] + column - c->before[2]) * channels
                       : zeros;
        }
}

static void transform_inputs(const takt_step *s, const takt_task *t, size_t first, size_t count)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    const float *taps[POINTS], *zeros = at(t->scratch_own, f->zeros);
    takt_winograd_f32 w = {.channels = c->cin,
                           .point_stride = stride_of(count, c->cin),
                           .column = c->cin,
                           .row = c->in[2] * c->cin};
    for (size_t i = 0; i < count; i++) {
        const tile p = locate(f, first + i);
        const float *x = image(s, t) + p.sample * c->x_sample;
        const bool inner = p.row >= c->before[1] && p.row - c->before[1] + IN <= c->in[1] &&
                           p.column >= c->before[2] && p.column - c->before[2] + IN <= c->in[2];
        w.taps = inner ? NULL : taps;
        if (inner)
            w.x = x + (p.row - c->before[1]) * w.row + (p.column - c->before[2]) * w.column;
        else
            find_taps(c, x, &p, zeros, taps);
        w.points = at(t->scratch_own, f->inputs) + i * c->cin;
        f->transform(&w);
    }
}

/* The columns of the result that a task computes. */
typedef struct columns {
    size_t first, count;
} columns;

static void multiply(const takt_step *s, const takt_task *t, size_t count, const columns *o)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    const float *weights =
        f->is_packed ? takt_view_data(t, &s->in[f->w]) : at(t->scratch, f->weights_at);
    const size_t each = takt_winograd_point_floats(c, f->panels);
    for (size_t p = 0; p < POINTS; p++) {
        takt_gemm_f32 g = {.m = count,
                           .n = o->count,
                           .k = c->cin,
                           .a = at(t->scratch_own, f->inputs) + p * stride_of(count, c->cin),
                           .a_row = c->cin,
                           .a_col = 1,
                           .b = weights + p * each,
                           .b_n = c->cout,
                           .b_first = o->first,
                           .c = at(t->scratch_own, f->products) + p * stride_of(count, o->count),
                           .ldc = o->count,
                           .scratch = t->scratch_own,
                           .walk = f->walk};
        f->multiply(&g);
    }
}

/* What the transform cannot do itself, on the rows of one tile. */
static void finish(const takt_conv_shape *c, const takt_epilogue_f32 *e, const takt_winograd_f32 *w,
                   size_t position)
{
    for (size_t i = 0; i < w->rows; i++) {
        const takt_conv_block block = {.y = w->y + i * w->row,
                                       .ld = w->column,
                                       .row = position + i * c->out[2],
                                       .rows = w->cols,
                                       .columns = w->channels};
        takt_conv_finish(e, &block);
    }
}

static void transform_outputs(const takt_step *s, const takt_task *t, size_t first, size_t count,
                              const columns *o)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    takt_conv_ending ending = {.end = &f->end,
                               .run = {.epilogue = &f->end.epilogue,
                                       .step = s,
                                       .task = t,
                                       .registers = (char *)t->scratch_own + f->registers,
                                       .column = o->first}};
    takt_epilogue_f32 e;
    const bool ends = takt_conv_end_for(&ending, &e), is_known = takt_conv_end_is_simple(&f->end);
    takt_winograd_f32 w = {.is_output = true,
                           .channels = o->count,
                           .point_stride = stride_of(count, o->count),
                           .row = c->out[2] * c->cout,
                           .column = c->cout,
                           .bias = is_known ? e.bias : NULL,
                           .limit = f->end.limit,
                           .relu = is_known && f->end.epilogue.act == TAKT_GEMM_ACT_RELU};
    for (size_t i = 0; i < count; i++) {
        const tile p = locate(f, first + i);
        const size_t position = p.sample * c->positions + p.row * c->out[2] + p.column;
        w.points = at(t->scratch_own, f->products) + i * o->count;
        w.y = result(s, t) + position * c->cout + o->first;
        w.residual = is_known && e.residual != NULL ? e.residual + position * c->cout : NULL;
        w.rows = c->out[1] - p.row < OUT ? c->out[1] - p.row : OUT;
        w.cols = c->out[2] - p.column < OUT ? c->out[2] - p.column : OUT;
        f->transform(&w);
        if (ends && !is_known)
            finish(c, &e, &w, position);
    }
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t first, end, from, to;
    takt_cpu_share(f->tiles, f->cut.grain, takt_cut_row(&f->cut, t->index), f->cut.rows, &first,
                   &end);
    takt_panels_share(f->panels, f->shape.cout, takt_cut_column(&f->cut, t->index), f->cut.columns,
                      &from, &to);
    const columns o = {from, to - from};
    if (o.count == 0)
        return;
    memset(at(t->scratch_own, f->zeros), 0, f->shape.cin * sizeof(float));
    for (size_t i = first, count; i < end; i += count) {
        const size_t blocks = (end - i + f->block - 1) / f->block;
        count = (end - i + blocks - 1) / blocks; /* even ones: a small one costs almost as much */
        transform_inputs(s, t, i, count);
        multiply(s, t, count, &o);
        transform_outputs(s, t, i, count, &o);
    }
}

/* Channels first: `from` [sample][rows][columns] to `to` [sample][columns][rows]. */
static void transpose(const float *from, float *to, size_t samples, size_t rows, size_t cols)
{
    for (size_t n = 0; n < samples; n++, from += rows * cols, to += rows * cols)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++)
                to[j * rows + i] = from[i * cols + j];
}

static void before(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    if (!c->is_nhwc)
        transpose(takt_view_data(t, &s->in[0]), at(t->scratch, f->x_at), c->batch, c->cin, c->area);
    if (!f->is_packed)
        takt_winograd_pack(c, f->panels, takt_view_data(t, &s->in[f->w]),
                           at(t->scratch, f->weights_at));
}

static void after(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    transpose(at(t->scratch, f->y_at), takt_view_data(t, &s->out[0]), c->batch, c->positions,
              c->cout);
}

/* ---- compiling ---- */

/* Weights of 16 bits are widened first, and their form is one of f32: rounded to 16 bits again, its
 * error would be enlarged tenfold by the transforms. */
static takt_status pack_constant(void *user, const void *from, void *to)
{
    const facts *f = user;
    const takt_narrow *n = &f->narrow;
    const size_t bytes = f->w_count * sizeof(float);
    void *wide;
    if (!takt_is_narrow(n)) {
        takt_winograd_pack(&f->shape, f->panels, from, to);
        return TAKT_OK;
    }
    TAKT_TRY(takt_narrow_check(f->ctx, n, from, f->w_count));
    TAKT_TRY(takt_mem_get(f->ctx, bytes, "weights to pack", &wide));
    n->convert(&(takt_convert){.to = TAKT_F32, .from = n->dtype}, wide, from, f->w_count);
    takt_winograd_pack(&f->shape, f->panels, wide, to);
    takt_mem_put(f->ctx, wide, bytes);
    return TAKT_OK;
}

static takt_status add_operands(takt_planner *p, facts *f)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    const takt_conv_shape *c = &f->shape;
    size_t x, bytes;
    TAKT_TRY(takt_planner_input(p, n->in[0], &x));
    if (!takt_size_mul(takt_winograd_point_floats(c, f->panels), POINTS * sizeof(float), &bytes))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "the weights of a convolution are too large");
    f->is_packed = takt_planner_is_constant(p, n->in[1]) && !takt_planner_in_prologue(p);
    f->narrow = takt_narrow_of(p, n->in[1], sizeof(float));
    f->ctx = p->ctx;
    (void)takt_type_count(takt_type_of(p->graph, n->in[1]), &f->w_count);
    const char *format = c->is_nhwc ? "winograd nhwc" : "winograd nchw";
    if (f->is_packed)
        return takt_planner_packed(p, f->narrow.from, format, bytes, pack_constant, f, &f->w);
    f->weights_at = takt_conv_reserve(p->step, bytes);
    return takt_planner_input(p, n->in[1], &f->w);
}

static size_t threads_of(const takt_planner *p)
{
    return (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
}

/* By tiles and by channels; each task transforms the inputs of its tiles for itself. */
static void cut_tasks(takt_planner *p, facts *f, size_t rows)
{
    const takt_conv_shape *c = &f->shape;
    const double flops = 2.0 * POINTS * (double)f->tiles * (double)c->cin * (double)c->cout;
    const double bytes = 4.0 * POINTS * (double)c->cin * (double)c->cout;
    const size_t threads = threads_of(p);
    const size_t panels = takt_panels_count(f->panels, c->cout);
    const size_t tasks = takt_cpu_tasks(
        p, flops, bytes, takt_cpu_tasks_most(f->tiles >= 4 * threads * f->block ? 4 : 1, threads));
    const takt_cut_pace pace = {threads, flops, bytes};
    takt_cut_work work = {f->tiles, panels, 1, TRANSFORM};
    f->cut = takt_cpu_cut(&work, tasks);
    work.tile = rows;
    if (tasks >= threads)
        f->cut = takt_cpu_cut_finer(&work, f->cut, &pace);
}

static void set_block(facts *f, const takt_gemm_f32_info *info, size_t threads)
{
    const takt_conv_shape *c = &f->shape;
    const size_t each = POINTS * sizeof(float) * (c->cin + c->cout);
    const size_t weights = takt_winograd_point_floats(c, f->panels) * POINTS * sizeof(float);
    const size_t bytes = weights / threads >= FAR_BYTES ? FAR_BLOCK_BYTES : BLOCK_BYTES;
    const size_t fit = each > 0 ? bytes / each : TILES_MAX;
    const size_t tiles = fit < TILES_MIN ? TILES_MIN : fit > TILES_MAX ? TILES_MAX : fit;
    f->block = tiles < info->rows ? info->rows : tiles;
    f->across = (c->out[2] + OUT - 1) / OUT;
    f->tiles = c->batch * f->across * ((c->out[1] + OUT - 1) / OUT);
}

static size_t aligned(size_t floats)
{
    return takt_cpu_aligned(floats * sizeof(float));
}

static void set_scratch(takt_step *s, facts *f, const takt_gemm_f32_info *info)
{
    const takt_conv_shape *c = &f->shape;
    takt_gemm_f32 g = {.m = f->block,
                       .n = c->cout,
                       .k = c->cin,
                       .a_row = c->cin,
                       .a_col = 1,
                       .b_n = c->cout,
                       .walk = f->walk};
    f->inputs = takt_cpu_aligned(info->scratch_bytes(&g));
    f->products = f->inputs + aligned(POINTS * stride_of(f->block, c->cin));
    f->zeros = f->products + aligned(POINTS * stride_of(f->block, c->cout));
    f->registers = f->zeros + aligned(c->cin);
    s->scratch_each = f->registers + takt_cpu_aligned(takt_conv_end_scratch(&f->end));
    if (!c->is_nhwc) {
        f->x_at = takt_conv_reserve(s, c->batch * c->x_sample * sizeof(float));
        f->y_at = takt_conv_reserve(s, c->batch * c->y_sample * sizeof(float));
    }
}

static takt_status compile(takt_planner *p)
{
    takt_step *s = p->step;
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->shape = takt_conv_shape_of(p->graph, p->group->nodes[0]);
    f->transform = takt_kernel_as_winograd_f32(takt_planner_kernel(p, "winograd_f32"));
    const takt_kernel *gemm = takt_kernel_find("gemm_f32", p->step->isas, NULL, 0, NULL);
    const takt_gemm_f32_info *info = gemm->info;
    f->multiply = takt_kernel_as_gemm_f32(gemm);
    f->panels = info->panels;
    TAKT_TRY(takt_cpu_walk(p, &f->walk));
    TAKT_TRY(add_operands(p, f));
    TAKT_TRY(takt_conv_end_compile(p, f->shape.cout, &f->end));
    set_block(f, info, threads_of(p));
    cut_tasks(p, f, info->rows);
    set_scratch(s, f, info);
    s->data = f;
    s->run = run;
    s->before = f->is_packed && f->shape.is_nhwc ? NULL : before;
    s->after = f->shape.is_nhwc ? NULL : after;
    s->task_count = f->cut.rows * f->cut.columns;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_winograd = {.name = "winograd",
                                         .family = TAKT_FAMILY_CONV,
                                         .accepts = accepts,
                                         .absorbs = absorbs,
                                         .compile = compile};
