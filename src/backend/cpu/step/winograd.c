/* winograd.c - 3x3 convolution by Winograd's F(4x4, 3x3): how the weights are packed, how large
 * blocks are and how the work is cut. conv/winograd_run.c is one task of it. Its gradient by x is
 * the same with rotated weights. */
#include "backend/cpu/conv/winograd.h"
#include "backend/cpu/conv/run.h"
#include "backend/cpu/conv/winograd_run.h"
#include "base/mem.h"
#include "base/size.h"
#include "op/util/conv.h"

enum { OUT = TAKT_WINOGRAD_OUT, POINTS = TAKT_WINOGRAD_POINTS };
enum { TRANSFORM = 3 }; /* of a tile's inputs, in products of a tile by a panel */
enum { BLOCK_BYTES = 904 << 10, TILES_MIN = 12, TILES_MAX = 96 };
/* Up to this many tiles, reading weights four times as large costs more than transforming them for
 * each few tiles, or nearly as much. */
enum { TAP_TILES = 8 };
/* Larger blocks pay off for weights that every block fetches from far away. */
enum { FAR_BYTES = 4 << 20, FAR_BLOCK_BYTES = 1800 << 10 };

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    const bool is_mine = n->op == &takt_op_winograd_conv || n->op == &takt_op_winograd_conv_dx;
    return is_mine && n->type->dtype == TAKT_F32 ? NULL : "";
}

static const char *absorbs(const takt_graph *g, takt_id anchor, takt_id node)
{
    if (g->nodes[anchor].attr[TAKT_CONV_LAYOUT].i64 != TAKT_NHWC)
        return "the convolution's channels do not come last";
    return takt_epilogue_absorbs(g, anchor, node);
}

/* Weights of 16 bits are widened first, and their form is one of f32: rounded to 16 bits again, its
 * error would be enlarged tenfold by the transforms. */
static takt_status pack_constant(void *user, const void *from, void *to)
{
    const takt_winograd_conv *f = user;
    const takt_narrow *n = &f->narrow;
    const size_t bytes = f->w_count * sizeof(float);
    void *wide;
    if (!takt_is_narrow(n)) {
        takt_winograd_pack(&f->shape, &f->packing, from, to);
        return TAKT_OK;
    }
    TAKT_TRY(takt_narrow_check(f->ctx, n, from, f->w_count));
    TAKT_TRY(takt_mem_get(f->ctx, bytes, "weights to pack", &wide));
    n->convert(&(takt_convert){.to = TAKT_F32, .from = n->dtype}, wide, from, f->w_count);
    takt_winograd_pack(&f->shape, &f->packing, wide, to);
    takt_mem_put(f->ctx, wide, bytes);
    return TAKT_OK;
}

static takt_status pack_part(const void *user, const void *from, void *to, size_t index,
                             size_t count)
{
    const takt_winograd_conv *f = user;
    takt_winograd_pack_part(&f->shape, &f->packing, from, to, (const size_t[2]){index, count});
    return TAKT_OK;
}

static takt_status add_operands(takt_planner *p, takt_winograd_conv *f)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    const takt_conv_shape *c = &f->shape;
    size_t x, bytes;
    TAKT_TRY(takt_planner_input(p, n->in[0], &x));
    if (!takt_size_mul(takt_winograd_point_floats(c, f->panels),
                       takt_winograd_numbers(&f->packing) * sizeof(float), &bytes))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "the weights of a convolution are too large");
    f->is_packed = takt_planner_is_kept(p, n->in[1]);
    f->narrow = takt_narrow_of(p, n->in[1], sizeof(float));
    f->ctx = p->ctx;
    (void)takt_type_count(takt_type_of(p->graph, n->in[1]), &f->w_count);
    const char *format =
        takt_planner_text(p, "winograd %s%s%s", c->is_nhwc ? "nhwc" : "nchw",
                          c->is_flipped ? " flipped" : "", f->few != NULL ? " taps" : "");
    if (format == NULL)
        return TAKT_ERR_MEMORY;
    const takt_filler filler = {format, bytes, pack_constant,
                                takt_is_narrow(&f->narrow) ? NULL : pack_part, NULL};
    if (f->is_packed)
        return takt_planner_packed_by(p, f->narrow.from, &filler, f, &f->w);
    f->weights_at = takt_conv_reserve(p->step, bytes);
    return takt_planner_input(p, n->in[1], &f->w);
}

static size_t threads_of(const takt_planner *p)
{
    return (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
}

/* Divided by tiles and by channels; each task transforms the inputs of its own tiles. */
static void cut_tasks(takt_planner *p, takt_winograd_conv *f, size_t rows)
{
    const takt_conv_shape *c = &f->shape;
    const double flops = 2.0 * POINTS * (double)f->tiles * (double)c->cin * (double)c->cout;
    const double numbers = (double)takt_winograd_numbers(&f->packing);
    const double bytes = 4.0 * numbers * (double)c->cin * (double)c->cout;
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

/* Tasks for transforming weights that are not constant: 36 points take 75 ns, the time of that many
 * operations of a product. */
static size_t pack_tasks(const takt_planner *p, const takt_conv_shape *c)
{
    enum { FLOPS = 4000, ROWS = 4 };
    const double pairs = (double)c->cin * (double)c->cout;
    return takt_cpu_tasks(p, FLOPS * pairs, POINTS * sizeof(float) * pairs,
                          (c->cin + ROWS - 1) / ROWS);
}

/* How weights are packed: as taps where they take longer to read than to transform, with many pairs
 * of channels and few tiles. The bits are the same, so the size of a picture may decide. */
static void choose_product(takt_planner *p, takt_winograd_conv *f)
{
    const takt_kernel *few = takt_planner_find(p, "winograd_few_f32");
    const size_t lanes = *(const size_t *)few->info;
    const takt_conv_shape *c = &f->shape;
    f->across = (c->out[2] + OUT - 1) / OUT;
    f->tiles = c->batch * f->across * ((c->out[1] + OUT - 1) / OUT);
    if (lanes > 1 && f->panels.wide % lanes == 0 && f->panels.narrow % lanes == 0 &&
        f->tiles <= TAP_TILES && takt_conv_has_many_pairs(c->cin, c->cout))
        f->few = takt_kernel_as_winograd_few_f32(few);
    f->packing = (takt_winograd_packing){
        .panels = f->panels,
        .exact = takt_kernel_as_winograd_w_f32(takt_planner_find(p, "winograd_w_f32")),
        .rounded = f->transform,
        .keeps_taps = f->few != NULL};
}

static void set_block(takt_winograd_conv *f, const takt_gemm_f32_info *info, size_t threads)
{
    const takt_conv_shape *c = &f->shape;
    const size_t each = POINTS * sizeof(float) * (c->cin + c->cout);
    const size_t weights = takt_winograd_point_floats(c, f->panels) * POINTS * sizeof(float);
    const size_t bytes = weights / threads >= FAR_BYTES ? FAR_BLOCK_BYTES : BLOCK_BYTES;
    const size_t fit = each > 0 ? bytes / each : TILES_MAX;
    const size_t tiles = fit < TILES_MIN ? TILES_MIN : fit > TILES_MAX ? TILES_MAX : fit;
    f->block = f->few != NULL ? f->tiles : tiles < info->rows ? info->rows : tiles;
    if (f->block > f->tiles)
        f->block = f->tiles > 0 ? f->tiles : 1;
}

static size_t aligned(size_t floats)
{
    return takt_cpu_aligned(floats * sizeof(float));
}

static void set_scratch(takt_step *s, takt_winograd_conv *f, const takt_gemm_f32_info *info)
{
    const takt_conv_shape *c = &f->shape;
    takt_gemm_f32 g = {.m = f->block,
                       .n = c->cout,
                       .k = c->cin,
                       .a_row = c->cin,
                       .a_col = 1,
                       .reads_a = f->reads_a,
                       .b_n = c->cout,
                       .blocking = f->blocking};
    f->inputs = takt_cpu_aligned(info->scratch_bytes(&g));
    f->products = f->inputs + aligned(POINTS * takt_winograd_stride(f->block, c->cin));
    f->turned = f->products + aligned(POINTS * takt_winograd_stride(f->block, c->cout));
    f->sums =
        f->turned + aligned(f->few != NULL ? takt_winograd_turned_floats(c->cin, f->block) : 0);
    f->zeros = f->sums + aligned(f->few != NULL ? TAKT_WINOGRAD_FEW_SUMS : 0);
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
    takt_winograd_conv *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->shape = takt_conv_shape_of(p->graph, p->group->nodes[0]);
    if (p->graph->nodes[p->group->nodes[0]].op == &takt_op_winograd_conv_dx)
        f->shape = takt_conv_shape_flipped(&f->shape);
    f->transform = takt_kernel_as_winograd_f32(takt_planner_kernel(p, "winograd_f32"));
    const takt_kernel *gemm = takt_planner_find(p, "gemm_f32");
    const takt_gemm_f32_info *info = gemm->info;
    f->multiply = takt_kernel_as_gemm_f32(gemm);
    f->panels = info->panels;
    choose_product(p, f);
    TAKT_TRY(takt_cpu_blocking(p, &f->blocking));
    TAKT_TRY(add_operands(p, f));
    TAKT_TRY(takt_conv_end_compile(p, f->shape.cout, &f->end));
    set_block(f, info, threads_of(p));
    cut_tasks(p, f, info->rows);
    f->reads_a = !takt_gemm_collides(f->shape.cin * sizeof(float), f->shape.cin * sizeof(float));
    set_scratch(s, f, info);
    s->data = f;
    s->run = takt_winograd_run;
    s->before = f->shape.is_nhwc ? NULL : takt_winograd_before;
    if (!f->is_packed) {
        s->prepare = takt_winograd_prepare;
        s->prepare_count = pack_tasks(p, &f->shape);
    }
    s->after = f->shape.is_nhwc ? NULL : takt_winograd_after;
    s->task_count = f->cut.rows * f->cut.columns;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_winograd = {.name = "winograd",
                                         .family = TAKT_FAMILY_CONV,
                                         .accepts = accepts,
                                         .absorbs = absorbs,
                                         .compile = compile};
