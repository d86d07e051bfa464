/* step_affine.c - quantize, dequantize and requantize (kernel/map/map_cuda_affine.cu). */
#include "backend/cpu/axis.h"
#include "backend/cuda/step.h"
#include "op/ops.h"

static takt_dtype narrow_of(const takt_graph *g, const takt_node *n)
{
    return n->op == &takt_op_quantize ? n->type->dtype : takt_type_of(g, n->in[0])->dtype;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    size_t count;
    if (n->op != &takt_op_quantize && n->op != &takt_op_dequantize && n->op != &takt_op_requantize)
        return "";
    if (takt_dtype_bits(narrow_of(g, n)) < 8)
        return "elements below a byte";
    return takt_type_count(n->type, &count) && count > 0 && count < UINT32_MAX
               ? NULL
               : "there is nothing to compute, or more than a device step counts";
}

/* The least and the largest of an integer type, of at most 64 bits. */
static void set_limits(takt_dtype dtype, takt_cuda_affine_args *a)
{
    const int bits = takt_dtype_bits(dtype);
    const bool is_unsigned = takt_dtype_is_unsigned(dtype);
    double top = 1;
    for (int i = 0; i < bits - !is_unsigned; i++)
        top *= 2;
    a->low = is_unsigned ? 0 : -top;
    a->high = top - 1;
}

static bool keeps(const takt_graph *g, const takt_node *n)
{
    (void)g;
    return n->op == &takt_op_requantize;
}

/* Bytes to bytes. */
static takt_status compile_again(takt_planner *p)
{
    enum { Q, SCALE, TO_SCALE, ZERO, TO_ZERO };
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    takt_cuda_step *s;
    size_t index[5], count;
    TAKT_TRY(takt_cuda_step_get(p, 1, &s));
    for (uint32_t k = 0; k < 5; k++)
        TAKT_TRY(takt_planner_input(p, n->in[k], &index[k]));
    takt_cuda_affine_args a = {.dst = takt_cuda_out(0),
                               .src = takt_cuda_in(index[Q]),
                               .scale = takt_cuda_in(index[SCALE]),
                               .zero = takt_cuda_in(index[ZERO]),
                               .to_scale = takt_cuda_in(index[TO_SCALE]),
                               .to_zero = takt_cuda_in(index[TO_ZERO]),
                               .size = 1,
                               .inner = 1,
                               .narrow = (uint32_t)p->step->in[index[Q]].dtype,
                               .to_narrow = (uint32_t)n->type->dtype};
    TAKT_TRY(takt_planner_output(p, id, &index[0]));
    (void)takt_type_count(n->type, &count);
    a.count = count;
    set_limits(n->type->dtype, &a);
    takt_cuda_launch_affine(&a, &s->launches[0]);
    p->step->facts.work = TAKT_WORK_MAP;
    return TAKT_OK;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    const takt_type *scale = takt_type_of(p->graph, n->in[1]);
    takt_cuda_affine_args a = {.dst = takt_cuda_out(0),
                               .size = 1,
                               .inner = 1,
                               .is_down = n->op == &takt_op_quantize,
                               .narrow = (uint32_t)narrow_of(p->graph, n),
                               .scale_dtype = (uint32_t)scale->dtype};
    takt_cuda_step *s;
    size_t index, count;
    if (n->op == &takt_op_requantize)
        return compile_again(p);
    TAKT_TRY(takt_cuda_step_get(p, 1, &s));
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    a.src = takt_cuda_in(index);
    TAKT_TRY(takt_planner_input(p, n->in[1], &index));
    a.scale = takt_cuda_in(index);
    if (n->in_count > 2 && n->in[2] != TAKT_NONE) {
        TAKT_TRY(takt_planner_input(p, n->in[2], &index));
        a.zero = takt_cuda_in(index);
    }
    TAKT_TRY(takt_planner_output(p, id, &index));
    (void)takt_type_count(n->type, &count);
    a.count = count;
    a.wide = (uint32_t)(a.is_down ? p->step->in[0].dtype : n->type->dtype);
    set_limits((takt_dtype)a.narrow, &a);
    if (scale->rank > 0) {
        const takt_axis_split x = takt_axis_split_of(n->type, takt_node_int(n, "axis"));
        a.size = x.size;
        a.inner = x.inner;
    }
    takt_cuda_launch_affine(&a, &s->launches[0]);
    p->step->facts.work = TAKT_WORK_MAP;
    return TAKT_OK;
}

const takt_cuda_kind takt_cuda_affine_kind = {
    .name = "quantize", .accepts = accepts, .keeps = keeps, .compile = compile};
