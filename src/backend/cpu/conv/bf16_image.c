/* bf16_image.c - convolutions in bf16 that read a private image instead of patches.
 *
 * A task rounds the rows of x that a block of its outputs needs to bf16 and multiplies them in
 * place.
 */
#include "backend/cpu/conv/bf16_image.h"

#include "backend/cpu/conv/end.h"
#include "backend/cpu/conv/images.h"
#include "backend/cpu/conv/patch.h"
#include "backend/cpu/conv/run.h"

typedef struct facts {
    takt_image image;
    takt_conv_end end;
    takt_gemm_f32_fn *run;
    takt_narrow narrow;
    takt_ctx *ctx;
    size_t w, w_count;
    size_t image_at, registers; /* offsets in a worker's scratch; the kernel's comes first */
} facts;

bool takt_conv_image_fits(const takt_conv_shape *s, const takt_gemm_bf16_info *info)
{
    return s->dtype == TAKT_F32 && takt_image_fits(s, info->image);
}

/* ---- running ---- */

/* What one call of the product computes. */
typedef struct block {
    takt_image_rows of;
    size_t column, columns;
} block;

static void multiply(const takt_step *s, const takt_task *t, const block *b)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->image.shape;
    char *own = t->scratch_own;
    const size_t row = b->of.row * c->out[2];
    takt_conv_ending ending = takt_conv_end_at(&f->end, s, t, f->registers, row, b->column);
    takt_epilogue_f32 epilogue;
    const bool ends = takt_conv_end_for(&ending, &epilogue);
    const takt_bf16_image image = {.data = (const uint16_t *)(const void *)(own + f->image_at),
                                   .width = c->out[2],
                                   .pitch = f->image.pitch,
                                   .channels = c->cin,
                                   .at = f->image.at};
    takt_gemm_stored stored;
    takt_gemm_f32 g = {.m = b->of.rows * c->out[2],
                       .n = b->columns,
                       .k = c->k,
                       .b_n = c->cout,
                       .b_first = b->column,
                       .c = (float *)takt_view_data(t, &s->out[0]) + row * c->cout + b->column,
                       .ldc = c->cout,
                       .epilogue = ends ? &epilogue : NULL,
                       .scratch = t->scratch_own,
                       .image = &image,
                       .poll = t->poll};
    takt_narrow_use(&g, &f->narrow, takt_view_data(t, &s->in[f->w]),
                    takt_panels_columns(f->narrow.fast->panels, c->cout), &stored);
    f->run(&g);
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t column, last;
    takt_panels_share(f->narrow.fast->panels, f->image.shape.cout,
                      takt_remainder(t->index, f->image.cut.columns), f->image.cut.columns, &column,
                      &last);
    takt_image_rows rest = takt_image_share(&f->image, t->index);
    while (rest.rows > 0 && column < last) {
        const block b = {takt_image_block(&f->image, rest), column, last - column};
        takt_image_fill(&f->image, takt_view_data(t, &s->in[0]), b.of, 0,
                        (char *)t->scratch_own + f->image_at);
        multiply(s, t, &b);
        rest.row += b.of.rows;
        rest.rows -= b.of.rows;
    }
}

/* ---- compiling ---- */

static void order_floats(void *user, const float *from, float *to)
{
    takt_conv_order_weights(&((const facts *)user)->image.shape, from, to);
}

static takt_status pack_constant(void *user, const void *from, void *to)
{
    const facts *f = user;
    const takt_conv_shape *c = &f->image.shape;
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
    return takt_planner_packed(
        p, f->narrow.from, format,
        takt_narrow_count(&f->narrow, f->image.shape.k, f->image.shape.cout) * sizeof(uint16_t),
        pack_constant, f, &f->w);
}

static void cut_tasks(takt_planner *p, facts *f)
{
    const takt_conv_shape *c = &f->image.shape;
    const double flops = 2.0 * (double)(c->batch * c->positions) * (double)c->k * (double)c->cout;
    takt_image_cut(p, &f->image, takt_panels_count(f->narrow.fast->panels, c->cout), flops,
                   2.0 * (double)c->k * (double)c->cout);
}

static void set_scratch(takt_planner *p, facts *f)
{
    const takt_conv_shape *c = &f->image.shape;
    const takt_bf16_image image = {.width = c->out[2], .pitch = f->image.pitch, .channels = c->cin};
    const takt_gemm_f32 g = {
        .m = f->image.rows * c->out[2], .n = c->cout, .k = c->k, .image = &image};
    f->image_at = takt_cpu_aligned(f->narrow.fast->scratch_bytes(&g));
    f->registers = f->image_at + takt_cpu_aligned(f->image.bytes);
    p->step->scratch_each = f->registers + takt_cpu_aligned(takt_conv_end_scratch(&f->end));
}

takt_status takt_conv_image_compile(takt_planner *p, const takt_kernel *kernel,
                                    const takt_narrow *n)
{
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    const takt_kernel *convert = takt_planner_find(p, "convert");
    f->image = (takt_image){.shape = takt_conv_shape_of(p->graph, p->group->nodes[0]),
                            .from_bytes = sizeof(float),
                            .to_bytes = sizeof(uint16_t),
                            .convert = takt_kernel_as_convert(convert)};
    f->image.shape.k_row = f->image.shape.k; /* weights are not padded */
    f->narrow = *n;
    f->narrow.convert = f->image.convert;
    f->run = takt_kernel_as_gemm_f32(kernel);
    TAKT_TRY(add_operands(p, f));
    TAKT_TRY(takt_conv_end_compile(p, f->image.shape.cout, &f->end));
    TAKT_TRY(takt_image_plan(p, &f->image, TAKT_BF16_BEYOND));
    cut_tasks(p, f);
    set_scratch(p, f);
    p->step->data = f;
    p->step->run = run;
    p->step->task_count = f->image.cut.rows * f->image.cut.columns;
    return TAKT_OK;
}
