/* step_conv.c - convolutions and pools with channels last, over one or two axes. */
#include "backend/cpu/conv/pool.h"
#include "backend/cpu/conv/shape.h"
#include "backend/cuda/step.h"
#include "op/ops.h"

static bool is_pool(const takt_node *n)
{
    return n->op == &takt_op_max_pool || n->op == &takt_op_avg_pool;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    enum { GROUPS = 65535 };
    const takt_node *n = &g->nodes[node];
    size_t count;
    if (n->op != &takt_op_conv && !is_pool(n))
        return "";
    if (n->type->dtype != TAKT_F32 || takt_type_of(g, n->in[0])->dtype != TAKT_F32)
        return "device code for windows computes f32 only";
    if (!takt_type_count(n->type, &count) || count == 0 || count >= INT32_MAX ||
        !takt_type_count(takt_type_of(g, n->in[0]), &count) || count == 0 || count >= INT32_MAX)
        return "there is nothing to compute, or more than a device step counts";
    if (is_pool(n)) {
        const takt_pool_shape s = takt_pool_shape_of(g, node);
        return !s.is_nhwc                              ? "device code pools channels last only"
               : s.in[0] * s.out[0] * s.kernel[0] != 1 ? "device code pools two axes at most"
                                                       : NULL;
    }
    const takt_conv_shape s = takt_conv_shape_of(g, node);
    if (!s.is_nhwc)
        return "device code for convolutions takes channels last only";
    if (s.in[0] * s.out[0] * s.kernel[0] != 1 || s.before[0] != 0)
        return "device code convolves two axes at most";
    if (s.k == 0 || s.groups > GROUPS)
        return "a convolution larger than a grid of the device";
    return NULL;
}

/* The fields that convolutions and pools of two axes share; `shape` is either's. */
#define WINDOW_OF(shape)                                                                           \
    .height = (uint32_t)(shape)->in[1], .width = (uint32_t)(shape)->in[2],                         \
    .out_height = (uint32_t)(shape)->out[1], .out_width = (uint32_t)(shape)->out[2],               \
    .stride_h = (uint32_t)(shape)->stride[1], .stride_w = (uint32_t)(shape)->stride[2],            \
    .dilation_h = (uint32_t)(shape)->dilation[1], .dilation_w = (uint32_t)(shape)->dilation[2]
#define TAPS_OF(shape)                                                                             \
    .kernel_h = (uint32_t)(shape)->kernel[1], .kernel_w = (uint32_t)(shape)->kernel[2],            \
    .before_h = (uint32_t)(shape)->before[1], .before_w = (uint32_t)(shape)->before[2]

static takt_cuda_window depthwise_of(const takt_conv_shape *s)
{
    return (takt_cuda_window){.op = TAKT_CUDA_DEPTHWISE,
                              .count = s->batch * s->positions * s->groups,
                              .channels = (uint32_t)s->groups,
                              WINDOW_OF(s),
                              TAPS_OF(s)};
}

static takt_cuda_window pool_of(const takt_pool_shape *s)
{
    return (takt_cuda_window){.op = s->op == &takt_op_max_pool ? TAKT_CUDA_LARGEST
                                                               : TAKT_CUDA_AVERAGE,
                              .count = s->batch * s->positions * s->channels,
                              .channels = (uint32_t)s->channels,
                              WINDOW_OF(s),
                              TAPS_OF(s),
                              .after_h = (uint32_t)s->after[1],
                              .after_w = (uint32_t)s->after[2],
                              .count_pad = s->count_pad,
                              .is_packed = s->channels % 4 == 0};
}

/* A product whose first factor is gathered from x; groups are batches. */
static takt_cuda_gemm product_of(const takt_conv_shape *s)
{
    const bool is_direct = takt_conv_is_pointwise(s);
    const size_t channels = s->groups * s->cin, outputs = s->groups * s->cout;
    return (takt_cuda_gemm){.a = takt_cuda_in(0),
                            .c = takt_cuda_out(0),
                            .m = (uint32_t)(s->batch * s->positions),
                            .n = (uint32_t)s->cout,
                            .k = (uint32_t)s->k,
                            .a_row = (int64_t)channels,
                            .a_col = 1,
                            .b_row = 1,
                            .b_col = (int64_t)s->k,
                            .c_row = (int64_t)outputs,
                            .inner = (uint32_t)s->groups,
                            .a_inner = (int64_t)s->cin,
                            .b_inner = (int64_t)(s->cout * s->k),
                            .c_inner = (int64_t)s->cout,
                            .is_conv = !is_direct,
                            .adds_zero = !is_direct && s->k_row > s->k,
                            WINDOW_OF(s),
                            .channels = (uint32_t)s->cin,
                            .pixel = (uint32_t)channels,
                            .kernel_width = (uint32_t)s->kernel[2],
                            .pad_h = (int32_t)s->before[1],
                            .pad_w = (int32_t)s->before[2],
                            .image = (uint32_t)s->x_sample,
                            .end = {.bias_batch = (int64_t)s->cout}};
}

/* Weights [group][cout][k] as [group][k][cout] if they are constant. */
static takt_status add_weights(takt_planner *p, takt_id w, const takt_conv_shape *s,
                               takt_cuda_gemm *g)
{
    size_t index;
    const size_t columns = takt_cuda_columns(s->cout);
    g->keeps_b = takt_planner_is_constant(p, w) && !takt_planner_in_prologue(p);
    if (!g->keeps_b) {
        TAKT_TRY(takt_planner_input(p, w, &index));
        g->b = takt_cuda_in(index);
        return TAKT_OK;
    }
    const takt_cuda_matrices m = {.count = s->groups,
                                  .k = s->k,
                                  .n = s->cout,
                                  .each = s->cout * s->k,
                                  .row = 1,
                                  .col = s->k,
                                  .part = g->k > s->k ? s->cin : 0};
    TAKT_TRY(takt_cuda_packed(p, w, &m, &index));
    g->b = takt_cuda_in(index);
    g->b_row = (int64_t)columns;
    g->b_col = 1;
    g->b_inner = (int64_t)(g->k * columns);
    return TAKT_OK;
}

/* Whether pixels of three channels are copied four floats at a time, the last of which is 0:
 * computing addresses float by float took longer than multiplying. Sums stay one chain. */
static bool is_by_fours(const takt_conv_shape *s)
{
    return s->groups == 1 && s->cin == 3 && s->k / s->cin * 4 <= TAKT_CUDA_GEMM_CHUNK &&
           s->batch * s->x_sample / s->cin * 4 < INT32_MAX;
}

static takt_status compile_product(takt_planner *p, const takt_node *n, const takt_conv_shape *s)
{
    size_t index;
    takt_cuda_gemm g = product_of(s);
    const takt_cuda_fours fours = {.src = takt_cuda_in(0),
                                   .count = s->batch * s->x_sample / s->cin,
                                   .channels = (uint32_t)s->cin};
    const bool by_fours = g.is_conv && takt_planner_is_constant(p, n->in[1]) &&
                          !takt_planner_in_prologue(p) && is_by_fours(s);
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    if (by_fours) {
        g.k = (uint32_t)(s->k / s->cin * 4);
        g.channels = g.pixel = 4;
        g.image = (uint32_t)(s->x_sample / s->cin * 4);
    }
    TAKT_TRY(add_weights(p, n->in[1], s, &g));
    return takt_cuda_product_step(p, &g, (uint32_t)s->groups, s->groups * s->cout,
                                  by_fours ? &fours : NULL);
}

/* Weights [channel][tap] of a depthwise convolution, as [tap][channel] if they are constant. */
static takt_status add_taps(takt_planner *p, takt_id id, takt_cuda_window *w)
{
    const size_t taps = (size_t)w->kernel_h * w->kernel_w;
    size_t index;
    w->is_packed = w->channels % 4 == 0 && taps <= TAKT_GEMM_CHUNK &&
                   takt_planner_is_constant(p, id) && !takt_planner_in_prologue(p);
    const takt_cuda_matrices m = {
        .count = 1, .k = taps, .n = w->channels, .each = taps * w->channels, .row = 1, .col = taps};
    if (w->is_packed)
        TAKT_TRY(takt_cuda_packed(p, id, &m, &index));
    else
        TAKT_TRY(takt_planner_input(p, id, &index));
    w->w = takt_cuda_in(index);
    return TAKT_OK;
}

/* Element by element: a pool, or a depthwise convolution and its epilogue. */
static takt_status compile_window(takt_planner *p, const takt_node *n, takt_cuda_window *w)
{
    takt_cuda_step *s;
    size_t index, taken;
    TAKT_TRY(takt_cuda_step_get(p, TAKT_CUDA_LAUNCHES, &s));
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    if (n->in_count > 1)
        TAKT_TRY(add_taps(p, n->in[1], w));
    TAKT_TRY(takt_cuda_epilogue_of(p, w->channels, &w->end, &taken));
    w->x = takt_cuda_in(0);
    w->y = takt_cuda_out(0);
    takt_cuda_launch_window(w, &s->launches[0]);
    s->count = 1;
    if (taken + 1 == p->group->count)
        return takt_planner_output(p, p->group->nodes[taken], &index);
    s->count = 2;
    return takt_cuda_map_after(p, taken + 1, &s->launches[1]);
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    if (is_pool(n)) {
        const takt_pool_shape shape = takt_pool_shape_of(p->graph, id);
        takt_cuda_window w = pool_of(&shape);
        return compile_window(p, n, &w);
    }
    const takt_conv_shape shape = takt_conv_shape_of(p->graph, id);
    if (!takt_conv_is_depthwise(p->graph, id))
        return compile_product(p, n, &shape);
    takt_cuda_window w = depthwise_of(&shape);
    p->step->facts.work = TAKT_WORK_PRODUCT;
    return compile_window(p, n, &w);
}

const takt_cuda_kind takt_cuda_conv_kind = {
    .name = "conv", .accepts = accepts, .absorbs = takt_cuda_absorbs, .compile = compile};
