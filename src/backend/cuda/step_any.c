/* step_any.c - products and reductions of element types that have no specialised kernel, and
 * reductions over axes that are not adjacent. */
#include "backend/cuda/step.h"
#include "op/ops.h"

static bool is_float(takt_dtype dtype)
{
    return dtype == TAKT_F64 || dtype == TAKT_F32 || dtype == TAKT_F16 || dtype == TAKT_BF16;
}

static bool is_whole(takt_dtype dtype)
{
    return takt_dtype_is_int(dtype) && takt_dtype_bits(dtype) >= 8;
}

/* ---- products ---- */

static const char *accepts_product(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    takt_cuda_gemm as;
    if (n->op != &takt_op_matmul)
        return "";
    const takt_dtype dtype = n->type->dtype;
    if (dtype == TAKT_F32) /* step_product.c has recorded why not */
        return "";
    if ((!is_float(dtype) && !is_whole(dtype)) || takt_type_of(g, n->in[0])->dtype != dtype ||
        takt_type_of(g, n->in[1])->dtype != dtype)
        return "device code multiplies floats of 16 bits and more, and integers, of one type";
    const takt_product mm = takt_product_of(g, node);
    if (mm.m == 0 || mm.n == 0 || mm.k == 0 || mm.batch == 0)
        return "there is nothing to multiply";
    if (mm.k >= INT32_MAX || mm.m * mm.n >= INT32_MAX / mm.batch)
        return "a product larger than a grid of the device";
    return takt_cuda_set_batches(&mm, &as) ? NULL : "batches that broadcast in more than two ways";
}

static takt_status compile_product(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    const takt_product mm = takt_product_of(p->graph, id);
    takt_cuda_gemm as;
    takt_cuda_step *s;
    size_t index;
    (void)takt_cuda_set_batches(&mm, &as);
    takt_cuda_gemm_any_args g = {.c = takt_cuda_out(0),
                                 .count = mm.batch * mm.m * mm.n,
                                 .m = (uint32_t)mm.m,
                                 .n = (uint32_t)mm.n,
                                 .k = (uint32_t)mm.k,
                                 .inner = as.inner,
                                 .dtype = (uint32_t)n->type->dtype,
                                 .a_row = (int64_t)mm.a_row,
                                 .a_col = (int64_t)mm.a_col,
                                 .b_row = (int64_t)mm.b_row,
                                 .b_col = (int64_t)mm.b_col,
                                 .a_outer = as.a_outer,
                                 .a_inner = as.a_inner,
                                 .b_outer = as.b_outer,
                                 .b_inner = as.b_inner};
    TAKT_TRY(takt_cuda_step_get(p, 1, &s));
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    g.a = takt_cuda_in(index);
    TAKT_TRY(takt_planner_input(p, n->in[1], &index));
    g.b = takt_cuda_in(index);
    TAKT_TRY(takt_planner_output(p, id, &index));
    takt_cuda_launch_gemm_any(&g, &s->launches[0]);
    p->step->facts.work = TAKT_WORK_PRODUCT;
    return TAKT_OK;
}

const takt_cuda_kind takt_cuda_any_product_kind = {
    .name = "gemm", .accepts = accepts_product, .compile = compile_product};

/* ---- reductions ---- */

static const char *accepts_reduce(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    size_t count;
    if (takt_cuda_reduce_op(n) == TAKT_REDUCE_OP_COUNT)
        return "";
    const takt_type *x = takt_type_of(g, n->in[0]);
    if (!is_float(x->dtype) && !is_whole(x->dtype) && x->dtype != TAKT_BOOL)
        return "device code reduces floats of 16 bits and more, integers and bool";
    if (x->rank > TAKT_CUDA_MOVE_DIMS)
        return "more axes than device code loops over";
    return takt_type_count(x, &count) && count > 0 && count < UINT32_MAX
               ? NULL
               : "there is nothing to reduce, or more than a device step counts";
}

static void add_loop(takt_cuda_walk *w, int64_t dim, int64_t stride)
{
    w->dim[w->dims] = dim;
    w->stride[w->dims++] = stride;
}

static uint32_t compute_of(takt_dtype dtype)
{
    switch (dtype) {
    case TAKT_F16:
    case TAKT_BF16: return TAKT_F32;
    case TAKT_I16:
    case TAKT_I8: return TAKT_I32;
    case TAKT_U16:
    case TAKT_U8:
    case TAKT_BOOL: return TAKT_U32;
    default: return (uint32_t)dtype;
    }
}

static takt_status compile_reduce(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    bool is_reduced[TAKT_MAX_RANK] = {0};
    takt_cuda_step *s;
    size_t index;
    TAKT_TRY(takt_cuda_step_get(p, 1, &s));
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_planner_output(p, id, &index));
    const takt_view *x = &p->step->in[0];
    takt_cuda_reduce_any_args r = {.dst = takt_cuda_out(0),
                                   .src = takt_cuda_in(0),
                                   .count = 1,
                                   .n = 1,
                                   .op = takt_cuda_reduce_op(n),
                                   .from = (uint32_t)x->dtype,
                                   .as = compute_of(x->dtype),
                                   .to = (uint32_t)n->type->dtype};
    takt_cuda_reduced_axes(n, x->rank, is_reduced);
    for (int d = 0; d < x->rank; d++) {
        add_loop(is_reduced[d] ? &r.reduced : &r.results, x->dim[d], x->stride[d]);
        *(is_reduced[d] ? &r.n : &r.count) *= (uint64_t)x->dim[d];
    }
    takt_cuda_launch_reduce_any(&r, &s->launches[0]);
    return TAKT_OK;
}

const takt_cuda_kind takt_cuda_any_reduce_kind = {
    .name = "reduce", .accepts = accepts_reduce, .compile = compile_reduce};
