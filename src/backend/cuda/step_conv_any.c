/* step_conv_any.c - convolutions that step_conv.c does not compute: other types than f32, channels
 * first, three axes (kernel/conv_f32/conv_f32_cuda_any.cu); and the gradients of convolutions, by
 * which transposed convolutions are computed, too (conv_f32_cuda_grad.cu). */
#include "backend/cpu/conv/shape.h"
#include "backend/cuda/step.h"
#include "op/ops.h"
#include "op/util/conv.h"

static bool is_computed(takt_dtype dtype)
{
    return dtype == TAKT_F64 || dtype == TAKT_F32 || dtype == TAKT_F16 || dtype == TAKT_BF16 ||
           (takt_dtype_is_int(dtype) && takt_dtype_bits(dtype) >= 8);
}

/* Winograd's forms exist for f32 only; other types are computed without them. */
static const char *refuse_op(const takt_node *n)
{
    const bool is_f32 = n->type->dtype == TAKT_F32;
    if (n->op == &takt_op_winograd_conv)
        return is_f32 ? "" : NULL; /* step_winograd.c reports the reason */
    if (n->op == &takt_op_winograd_conv_dx || n->op == &takt_op_winograd_conv_dw)
        return is_f32 ? "gradients in Winograd's form have no device code" : NULL;
    return n->op == &takt_op_conv || n->op == &takt_op_conv_dx || n->op == &takt_op_conv_dw ? NULL
                                                                                            : "";
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    const char *why = refuse_op(n);
    size_t count;
    if (why != NULL)
        return why;
    const takt_dtype dtype = n->type->dtype;
    if (!is_computed(dtype) || takt_type_of(g, n->in[0])->dtype != dtype ||
        takt_type_of(g, n->in[1])->dtype != dtype)
        return "device code convolves floats of 16 bits and more, and integers, of one type";
    if (!takt_type_count(n->type, &count) || count == 0 || count >= INT32_MAX ||
        !takt_type_count(takt_type_of(g, n->in[0]), &count) || count == 0 || count >= INT32_MAX ||
        !takt_type_count(takt_type_of(g, n->in[1]), &count) || count == 0 || count >= INT32_MAX)
        return "there is nothing to compute, or more than a device step counts";
    return NULL;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    const takt_conv_shape s = takt_conv_shape_of(p->graph, id);
    const bool is_chain = takt_conv_has_one_tap(&s) || takt_conv_is_depthwise(p->graph, id) ||
                          takt_conv_is_narrow_depthwise(p->graph, id);
    takt_cuda_conv_any_args c = {.y = takt_cuda_out(0),
                                 .x = takt_cuda_in(0),
                                 .w = takt_cuda_in(1),
                                 .batch = (uint32_t)s.batch,
                                 .positions = s.positions,
                                 .dtype = (uint32_t)n->type->dtype,
                                 .adds_zero = !is_chain && s.k_row > s.k,
                                 .groups = (uint32_t)s.groups,
                                 .cin = (uint32_t)s.cin,
                                 .cout = (uint32_t)s.cout,
                                 .taps = (uint32_t)s.taps,
                                 .x_sample = (int64_t)s.x_sample,
                                 .x_channel = (int64_t)s.x_channel,
                                 .y_sample = (int64_t)s.y_sample,
                                 .y_position = (int64_t)s.y_position,
                                 .y_channel = (int64_t)s.y_channel,
                                 .w_out = (int64_t)s.w_out,
                                 .w_tap = (int64_t)s.w_tap,
                                 .w_in = (int64_t)s.w_in};
    static const char *const kernels[] = {[TAKT_CONV_Y] = "takt_cuda_any_conv",
                                          [TAKT_CONV_DX] = "takt_cuda_any_conv_dx",
                                          [TAKT_CONV_DW] = "takt_cuda_any_conv_dw"};
    takt_cuda_step *step;
    size_t index, c_count = 0;
    for (int d = 0; d < 3; d++) {
        c.in[d] = (uint32_t)s.in[d];
        c.out[d] = (uint32_t)s.out[d];
        c.kernel[d] = (uint32_t)s.kernel[d];
        c.stride[d] = (uint32_t)s.stride[d];
        c.dilation[d] = (uint32_t)s.dilation[d];
        c.before[d] = (uint32_t)s.before[d];
        c.x_at[d] = (int64_t)s.x_at[d];
    }
    TAKT_TRY(takt_cuda_step_get(p, 1, &step));
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_planner_input(p, n->in[1], &index));
    TAKT_TRY(takt_planner_output(p, id, &index));
    (void)takt_type_count(n->type, &c_count);
    c.count = c_count;
    takt_cuda_launch_conv_any(&c, kernels[takt_conv_result_of(n->op)], &step->launches[0]);
    p->step->facts.work = TAKT_WORK_PRODUCT;
    return TAKT_OK;
}

const takt_cuda_kind takt_cuda_any_conv_kind = {
    .name = "conv", .accepts = accepts, .compile = compile};
