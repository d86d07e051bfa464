/* step_scatter.c - combines elements with those already there, in the order of the indices
 * (kernel/move/move_cuda_scatter.cu). */
#include "backend/cpu/axis.h"
#include "backend/cuda/step.h"
#include "op/ops.h"
#include "op/util/index.h" /* takt_scatter */

static uint32_t how_of(const takt_node *n)
{
    return n->op == &takt_op_index_add ? TAKT_SCATTER_ADD : (uint32_t)takt_node_int(n, "reduce");
}

static bool is_computed(takt_dtype dtype)
{
    return dtype == TAKT_F64 || dtype == TAKT_F32 || dtype == TAKT_F16 || dtype == TAKT_BF16 ||
           (takt_dtype_is_int(dtype) && takt_dtype_bits(dtype) >= 8);
}

/* ---- positions that belong to one thread ---- */

static void set_rows(const takt_graph *g, const takt_node *n, takt_cuda_scatter_args *c)
{
    const takt_axis_split x = takt_axis_split_of(n->type, takt_node_int(n, "axis"));
    size_t picks;
    (void)takt_type_count(takt_type_of(g, n->in[1]), &picks);
    c->kind = TAKT_CUDA_SCATTER_ROWS;
    c->count = x.outer * x.inner;
    c->picks = picks;
    c->size = x.size;
    c->inner = x.inner;
}

static void set_elements(const takt_graph *g, const takt_node *n, takt_cuda_scatter_args *c)
{
    const takt_type *x = n->type, *index = takt_type_of(g, n->in[1]);
    const int64_t axis = takt_node_int(n, "axis");
    int64_t dense = 1;
    c->kind = TAKT_CUDA_SCATTER_ELEMENTS;
    c->dims = (uint32_t)x->rank;
    c->axis = (uint32_t)(axis < 0 ? axis + x->rank : axis);
    c->size = (uint64_t)x->dim[c->axis];
    c->picks = (uint64_t)index->dim[c->axis];
    c->count = 1;
    for (int d = x->rank - 1; d >= 0; d--) {
        c->dim[d] = index->dim[d];
        c->stride[d] = dense;
        c->count *= d == (int)c->axis ? 1 : (uint64_t)index->dim[d];
        dense *= x->dim[d];
    }
}

static void set_blocks(const takt_graph *g, const takt_node *n, takt_cuda_scatter_args *c)
{
    const takt_type *x = n->type, *index = takt_type_of(g, n->in[1]);
    const int batch = (int)takt_node_int(n, "batch");
    uint64_t batches = 1;
    c->kind = TAKT_CUDA_SCATTER_BLOCKS;
    c->dims = (uint32_t)index->dim[index->rank - 1];
    c->picks = c->inner = 1;
    for (int d = 0; d + 1 < index->rank; d++)
        *(d < batch ? &batches : &c->picks) *= (uint64_t)index->dim[d];
    for (int d = batch; d < x->rank; d++)
        if (d < batch + (int)c->dims)
            c->dim[d - batch] = x->dim[d];
        else
            c->inner *= (uint64_t)x->dim[d];
    c->count = batches * c->inner;
}

static void set_lines(const takt_graph *g, const takt_node *n, takt_cuda_scatter_args *c)
{
    if (n->op == &takt_op_index_add)
        set_rows(g, n, c);
    else if (n->op == &takt_op_scatter_elements)
        set_elements(g, n, c);
    else
        set_blocks(g, n, c);
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    enum { LONG = 4096, LINES = 64 };
    const takt_node *n = &g->nodes[node];
    takt_cuda_scatter_args c = {0};
    size_t count;
    if (n->op != &takt_op_index_add && n->op != &takt_op_scatter_elements &&
        n->op != &takt_op_scatter_nd)
        return "";
    if (takt_dtype_bits(n->type->dtype) < 8)
        return "elements below a byte";
    if (how_of(n) != TAKT_SCATTER_SET && !is_computed(n->type->dtype))
        return "device code combines floats of 16 bits and more, and integers";
    for (uint32_t k = 0; k < n->in_count; k++)
        if (!takt_type_count(takt_type_of(g, n->in[k]), &count) || count == 0 ||
            count >= UINT32_MAX)
            return "there is nothing to put, or more than a device step counts";
    const takt_type *index = takt_type_of(g, n->in[1]);
    if (index->dtype != TAKT_I64 && index->dtype != TAKT_I32)
        return "device code reads indices of i64 and i32 only";
    if (n->type->rank > TAKT_CUDA_MOVE_DIMS)
        return "more axes than device code loops over";
    set_lines(g, n, &c);
    return c.picks > LONG && c.count < LINES
               ? "updates happen one after another, and few can be made at once"
               : NULL;
}

static void set_copy(takt_cuda_scatter_args *c, void *dst, const void *src, takt_dtype from,
                     takt_dtype to)
{
    c->dst = dst;
    c->part = src;
    c->dtype = (uint32_t)from;
    c->as = (uint32_t)to;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    const takt_dtype dtype = n->type->dtype;
    takt_cuda_scatter_args c = {.how = how_of(n),
                                .bytes = (uint32_t)takt_dtype_bits(dtype) / 8,
                                .dtype = (uint32_t)dtype,
                                .index = takt_cuda_in(1),
                                .fault = takt_cuda_named(TAKT_CUDA_FAULT, 0)};
    const bool widens = c.how != TAKT_SCATTER_SET && (dtype == TAKT_F16 || dtype == TAKT_BF16);
    takt_cuda_step *s;
    size_t index, count;
    (void)takt_type_count(n->type, &count);
    TAKT_TRY(takt_cuda_step_get(p, widens ? 3 : 2, &s));
    TAKT_TRY(takt_planner_inputs(p, n));
    TAKT_TRY(takt_planner_output(p, id, &index));
    void *to = widens ? takt_cuda_named(TAKT_CUDA_SCRATCH, 0) : takt_cuda_out(0);
    if (widens)
        p->step->scratch_bytes = count * sizeof(float);
    c.is_narrow = p->step->in[1].dtype == TAKT_I32;
    takt_cuda_scatter_args copy = {.count = count};
    const takt_cuda_move_args move = {.dst = to,
                                      .src = takt_cuda_in(0),
                                      .count = count,
                                      .dims = 1,
                                      .bytes = c.bytes,
                                      .dim = {(uint32_t)count},
                                      .dst_stride = {1},
                                      .src_stride = {1}};
    set_copy(&copy, to, takt_cuda_in(0), dtype, TAKT_F32);
    if (widens)
        takt_cuda_launch_scatter(&copy, true, &s->launches[0]);
    else
        takt_cuda_launch_move(&move, &s->launches[0]);
    set_lines(p->graph, n, &c);
    c.dst = to;
    c.part = takt_cuda_in(2);
    c.as = (uint32_t)(widens ? TAKT_F32 : dtype);
    takt_cuda_launch_scatter(&c, false, &s->launches[1]);
    set_copy(&copy, takt_cuda_out(0), to, TAKT_F32, dtype);
    if (widens)
        takt_cuda_launch_scatter(&copy, true, &s->launches[2]);
    s->index_in = 1;
    p->step->can_fault = true;
    p->step->fault_id = TAKT_E_INDEX;
    p->step->facts.work = TAKT_WORK_MOVE;
    return TAKT_OK;
}

const takt_cuda_kind takt_cuda_scatters_kind = {
    .name = "scatter", .accepts = accepts, .compile = compile};
