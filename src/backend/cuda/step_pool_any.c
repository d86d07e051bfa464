/* step_pool_any.c - pools that step_conv.c does not compute: other types than f32, channels first,
 * three axes; and gradients of pools (kernel/pool_f32/pool_f32_cuda_any.cu). */
#include "backend/cpu/conv/pool.h"
#include "backend/cuda/step.h"
#include "op/ops.h"

static const struct {
    const takt_op *op;
    takt_cuda_pool_op as;
} pools[] = {{&takt_op_max_pool, TAKT_CUDA_POOL_MAX},
             {&takt_op_max_pool_pick, TAKT_CUDA_POOL_PICK},
             {&takt_op_avg_pool, TAKT_CUDA_POOL_AVERAGE},
             {&takt_op_max_pool_dx, TAKT_CUDA_POOL_MAX_DX},
             {&takt_op_avg_pool_dx, TAKT_CUDA_POOL_AVERAGE_DX}};

enum { POOLS = sizeof pools / sizeof *pools };

static size_t find(const takt_op *op)
{
    size_t i = 0;
    while (i < POOLS && pools[i].op != op)
        i++;
    return i;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    const takt_dtype dtype = n->type->dtype;
    size_t count;
    if (find(n->op) == POOLS)
        return "";
    if (takt_dtype_bits(dtype) < 8 || takt_type_of(g, n->in[0])->dtype != dtype ||
        (takt_dtype_is_float(dtype) && takt_dtype_bits(dtype) < 16))
        return "device code pools floats of 16 bits and more, and integers";
    for (uint32_t k = 0; k <= n->in_count; k++) {
        const takt_type *t = k < n->in_count ? takt_type_of(g, n->in[k]) : n->type;
        if (!takt_type_count(t, &count) || count == 0 || count >= INT32_MAX)
            return "there is nothing to pool, or more than a device step counts";
    }
    return NULL;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    const takt_pool_shape s = takt_pool_shape_of(p->graph, id);
    takt_cuda_pool_args a = {.dst = takt_cuda_out(0),
                             .a = takt_cuda_in(0),
                             .b = n->in_count > 1 ? takt_cuda_in(1) : NULL,
                             .op = pools[find(n->op)].as,
                             .dtype = (uint32_t)s.dtype,
                             .channels = (uint32_t)s.channels,
                             .counts_pad = s.count_pad,
                             .x_sample = (int64_t)s.x_sample,
                             .x_position = (int64_t)s.x_position,
                             .x_channel = (int64_t)s.x_channel,
                             .y_sample = (int64_t)s.y_sample,
                             .y_position = (int64_t)s.y_position,
                             .y_channel = (int64_t)s.y_channel};
    takt_cuda_step *step;
    size_t index, count = 0;
    for (int d = 0; d < 3; d++) {
        a.in[d] = (uint32_t)s.in[d];
        a.out[d] = (uint32_t)s.out[d];
        a.kernel[d] = (uint32_t)s.kernel[d];
        a.stride[d] = (uint32_t)s.stride[d];
        a.dilation[d] = (uint32_t)s.dilation[d];
        a.before[d] = (uint32_t)s.before[d];
        a.after[d] = (uint32_t)s.after[d];
    }
    (void)takt_type_count(n->type, &count);
    a.count = count;
    TAKT_TRY(takt_cuda_step_get(p, 1, &step));
    TAKT_TRY(takt_planner_inputs(p, n));
    TAKT_TRY(takt_planner_output(p, id, &index));
    takt_cuda_launch_pool_any(&a, &step->launches[0]);
    return TAKT_OK;
}

const takt_cuda_kind takt_cuda_any_pool_kind = {
    .name = "pool", .accepts = accepts, .compile = compile};
