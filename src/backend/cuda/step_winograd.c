/* step_winograd.c - 3x3 convolutions by Winograd's transform: two transforms and 36 products. */
#include "backend/cpu/conv/shape.h"
#include "backend/cpu/conv/winograd.h"
#include "backend/cuda/step.h"
#include "kernel/winograd_f32/winograd_f32.h"
#include "op/ops.h"

enum { OUT = TAKT_WINOGRAD_OUT, POINTS = TAKT_WINOGRAD_POINTS, DEPTH = 16 };

static size_t tiles_of(const takt_conv_shape *s)
{
    return s->batch * ((s->out[1] + OUT - 1) / OUT) * ((s->out[2] + OUT - 1) / OUT);
}

/* Depends on constants alone. */
static bool is_known(const takt_graph *g, takt_id node, int depth)
{
    const takt_node *n = &g->nodes[node];
    if (n->op == &takt_op_constant)
        return true;
    bool known = depth > 0 && n->in_count > 0 && (n->op->traits & TAKT_LEAF) == 0;
    for (uint32_t k = 0; k < n->in_count && known; k++)
        known = n->in[k] == TAKT_NONE || is_known(g, n->in[k], depth - 1);
    return known;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    if (n->op != &takt_op_winograd_conv)
        return "";
    if (n->type->dtype != TAKT_F32)
        return "device code for convolutions computes f32 only";
    const takt_conv_shape s = takt_conv_shape_of(g, node);
    if (!s.is_nhwc)
        return "device code for convolutions takes channels last only";
    if (!is_known(g, n->in[1], DEPTH))
        return "device code for Winograd's transform takes constant weights";
    const size_t tiles = tiles_of(&s), most = s.cin > s.cout ? s.cin : s.cout;
    if (tiles == 0 || most == 0 || tiles > INT32_MAX / most || s.batch * s.x_sample > INT32_MAX)
        return "there is nothing to compute, or more than a device step counts";
    return NULL;
}

/* Weights are packed by the processor. */
static takt_winograd_packing packing(size_t columns)
{
    const takt_isa_set isas = takt_isa_detect();
    return (takt_winograd_packing){.panels = {columns, columns},
                                   .exact = takt_kernel_as_winograd_w_f32(
                                       takt_kernel_find("winograd_w_f32", isas, NULL, 0, NULL)),
                                   .rounded = takt_kernel_as_winograd_f32(
                                       takt_kernel_find("winograd_f32", isas, NULL, 0, NULL))};
}

static takt_status pack(void *user, const void *from, void *to)
{
    const takt_conv_shape *s = user;
    const takt_winograd_packing how = packing(takt_cuda_columns(s->cout));
    takt_winograd_pack(s, &how, from, to);
    return TAKT_OK;
}

static takt_status pack_part(const void *user, const void *from, void *to, size_t index,
                             size_t count)
{
    const takt_conv_shape *s = user;
    const takt_winograd_packing how = packing(takt_cuda_columns(s->cout));
    takt_winograd_pack_part(s, &how, from, to, (const size_t[2]){index, count});
    return TAKT_OK;
}

static takt_status add_weights(takt_planner *p, takt_id w, const takt_conv_shape *s, size_t *index)
{
    takt_conv_shape *kept = takt_planner_get(p, sizeof *kept);
    if (kept == NULL)
        return TAKT_ERR_MEMORY;
    *kept = *s;
    const size_t bytes = POINTS * s->cin * takt_cuda_columns(s->cout) * sizeof(float);
    const takt_filler filler = {"cuda winograd nhwc", bytes, pack, pack_part, NULL};
    return takt_planner_packed_by(p, w, &filler, kept, index);
}

/* The products of all points; `points` and `products` are offsets in scratch. */
static takt_cuda_gemm product_of(const takt_conv_shape *s, size_t w, uint64_t points,
                                 uint64_t products)
{
    const size_t tiles = tiles_of(s), columns = takt_cuda_columns(s->cout);
    return (takt_cuda_gemm){.a = takt_cuda_named(TAKT_CUDA_SCRATCH, points),
                            .b = takt_cuda_in(w),
                            .c = takt_cuda_named(TAKT_CUDA_SCRATCH, products),
                            .m = (uint32_t)tiles,
                            .n = (uint32_t)s->cout,
                            .k = (uint32_t)s->cin,
                            .a_row = (int64_t)s->cin,
                            .a_col = 1,
                            .b_row = (int64_t)columns,
                            .b_col = 1,
                            .c_row = (int64_t)s->cout,
                            .inner = POINTS,
                            .a_inner = (int64_t)(tiles * s->cin),
                            .b_inner = (int64_t)(s->cin * columns),
                            .c_inner = (int64_t)(tiles * s->cout)};
}

static takt_cuda_winograd transform_of(const takt_conv_shape *s)
{
    return (takt_cuda_winograd){.x = takt_cuda_in(0),
                                .y = takt_cuda_out(0),
                                .tiles = (uint32_t)tiles_of(s),
                                .across = (uint32_t)((s->out[2] + OUT - 1) / OUT),
                                .down = (uint32_t)((s->out[1] + OUT - 1) / OUT),
                                .channels = (uint32_t)s->cin,
                                .outputs = (uint32_t)s->cout,
                                .height = (uint32_t)s->in[1],
                                .width = (uint32_t)s->in[2],
                                .out_height = (uint32_t)s->out[1],
                                .out_width = (uint32_t)s->out[2],
                                .before_h = (uint32_t)s->before[1],
                                .before_w = (uint32_t)s->before[2]};
}

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    const takt_conv_shape s = takt_conv_shape_of(p->graph, id);
    const takt_cuda_block_room has = takt_cuda_room(p);
    const uint64_t each = POINTS * tiles_of(&s) * sizeof(float);
    const uint64_t products = aligned(each * s.cin), partial = products + aligned(each * s.cout);
    takt_cuda_step *step;
    size_t index, w, taken;
    TAKT_TRY(takt_cuda_step_get(p, 4, &step));
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(add_weights(p, n->in[1], &s, &w));
    takt_cuda_winograd t = transform_of(&s);
    TAKT_TRY(takt_cuda_epilogue_of(p, s.cout, &t.end, &taken));
    t.points = takt_cuda_named(TAKT_CUDA_SCRATCH, 0);
    takt_cuda_launch_winograd(&t, false, &step->launches[0]);
    takt_cuda_gemm g = product_of(&s, w, 0, products);
    g.keeps_b = !takt_planner_in_prologue(p);
    const takt_cuda_gemm_plan plan = takt_cuda_gemm_plan_of(&g, POINTS, &has, TAKT_CUDA_GEMM_ANY);
    takt_cuda_launch_gemm(&g, POINTS, &plan, takt_cuda_named(TAKT_CUDA_SCRATCH, partial),
                          takt_cuda_named(TAKT_CUDA_TICKETS, 0), &step->launches[1]);
    t.points = takt_cuda_named(TAKT_CUDA_SCRATCH, products);
    takt_cuda_launch_winograd(&t, true, &step->launches[2]);
    p->step->scratch_bytes = partial + plan.scratch_bytes;
    p->step->facts.work = TAKT_WORK_PRODUCT;
    step->count = 3;
    if (taken + 1 == p->group->count)
        return takt_planner_output(p, p->group->nodes[taken], &index);
    step->count = 4;
    return takt_cuda_map_after(p, taken + 1, &step->launches[3]);
}

const takt_cuda_kind takt_cuda_winograd_kind = {
    .name = "winograd", .accepts = accepts, .absorbs = takt_cuda_absorbs, .compile = compile};
