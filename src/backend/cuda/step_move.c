/* step_move.c - transposes, slices, concatenations and rows of tables. */
#include "backend/cpu/axis.h"
#include "backend/cpu/strided.h"
#include "backend/cuda/step.h"
#include "op/ops.h"

static size_t bytes_of(const takt_type *t)
{
    return (size_t)takt_dtype_bits(t->dtype) / 8;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    size_t count;
    if (n->op != &takt_op_transpose && n->op != &takt_op_slice && n->op != &takt_op_concat &&
        n->op != &takt_op_gather)
        return "";
    if (takt_dtype_bits(n->type->dtype) < 8)
        return "elements below a byte";
    if (!takt_type_count(n->type, &count) || count == 0 || count >= UINT32_MAX)
        return "there is nothing to move, or more than a device step counts";
    if (n->op == &takt_op_gather) {
        const takt_dtype index = takt_type_of(g, n->in[1])->dtype;
        if (index != TAKT_I64 && index != TAKT_I32)
            return "device code reads indices of i64 and i32 only";
        if (takt_type_count(takt_type_of(g, n->in[0]), &count) && count == 0)
            return "there is nothing to pick from";
    }
    for (uint32_t k = 0; n->op == &takt_op_concat && k < n->in_count; k++)
        if (!takt_type_count(takt_type_of(g, n->in[k]), &count) || count == 0)
            return "an input has no elements";
    if (n->op == &takt_op_transpose && n->type->rank > TAKT_CUDA_MOVE_DIMS)
        return "more axes than device code loops over";
    if (n->op == &takt_op_slice && n->type->rank > TAKT_CUDA_MOVE_DIMS)
        return "more axes than device code loops over";
    return NULL;
}

/* Planes of a transposed matrix, square by square: both sides are read and written in lines. Narrow
 * matrices would leave most threads without work. */
static bool add_transpose(const takt_strided *w, size_t bytes, void *src, takt_cuda_launch *l)
{
    enum { NARROW = 8, PLANES = 65535 };
    const int last = w->rank - 1;
    if (bytes != sizeof(float) || w->rank < 2 || w->rank > 3 || w->stride[last - 1] != 1 ||
        w->stride[last] < w->dim[last - 1] || w->dim[last] < NARROW || w->dim[last - 1] < NARROW ||
        (w->rank == 3 && w->dim[0] > PLANES))
        return false;
    const uint32_t planes = w->rank == 3 ? (uint32_t)w->dim[0] : 1;
    const takt_cuda_transpose t = {.dst = takt_cuda_out(0),
                                   .src = src,
                                   .src_row = w->stride[last],
                                   .src_inner = w->rank == 3 ? w->stride[0] : 0,
                                   .rows = (uint32_t)w->dim[last],
                                   .cols = (uint32_t)w->dim[last - 1],
                                   .inner = planes};
    takt_cuda_launch_transpose(&t, planes, l);
    return true;
}

static takt_status compile_move(takt_planner *p, const takt_node *n, takt_cuda_step *s)
{
    int64_t stride[TAKT_MAX_RANK];
    const takt_view *x = &p->step->in[0];
    const int64_t start = takt_strided_source(n, x, stride);
    const size_t bytes = bytes_of(n->type);
    const takt_strided w = takt_strided_of(n->type->dim, stride, n->type->rank, bytes);
    void *src = takt_cuda_named(TAKT_CUDA_VIEW, (size_t)start * bytes);
    if (add_transpose(&w, bytes, src, &s->launches[0]))
        return TAKT_OK;
    takt_cuda_move_args m = {.dst = takt_cuda_out(0),
                             .src = src,
                             .count = w.count,
                             .dims = (uint32_t)w.rank,
                             .bytes = (uint32_t)bytes};
    int64_t dense = 1;
    for (int d = w.rank - 1; d >= 0; d--) {
        m.dim[d] = (uint32_t)w.dim[d];
        m.src_stride[d] = w.stride[d];
        m.dst_stride[d] = dense;
        dense *= w.dim[d];
    }
    takt_cuda_launch_move(&m, &s->launches[0]);
    return TAKT_OK;
}

/* A launch for each input. */
static takt_status compile_concat(takt_planner *p, const takt_node *n, takt_cuda_step *s)
{
    const takt_axis_split y = takt_axis_split_of(n->type, takt_node_int(n, "axis"));
    const size_t bytes = bytes_of(n->type), row = y.size * y.inner;
    size_t at = 0;
    for (uint32_t k = 0; k < n->in_count; k++) {
        const takt_type *t = takt_type_of(p->graph, n->in[k]);
        const size_t piece = takt_axis_split_of(t, takt_node_int(n, "axis")).size * y.inner;
        const takt_cuda_move_args m = {
            .dst = takt_cuda_named(TAKT_CUDA_VIEW + 1, at * bytes),
            .src = takt_cuda_in(k),
            .count = y.outer * piece,
            .dims = 2,
            .bytes = (uint32_t)bytes,
            .dim = {(uint32_t)y.outer, (uint32_t)piece},
            .dst_stride = {(int64_t)row, 1},
            .src_stride = {(int64_t)piece, 1},
        };
        takt_cuda_launch_move(&m, &s->launches[k]);
        at += piece;
    }
    return TAKT_OK;
}

static takt_status compile_gather(takt_planner *p, const takt_node *n, takt_cuda_step *s)
{
    const takt_axis_split x =
        takt_axis_split_of(takt_type_of(p->graph, n->in[0]), takt_node_int(n, "axis"));
    size_t picks;
    (void)takt_type_count(takt_type_of(p->graph, n->in[1]), &picks);
    const takt_cuda_gather_args g = {.dst = takt_cuda_out(0),
                                     .src = takt_cuda_in(0),
                                     .index = takt_cuda_in(1),
                                     .outer = x.outer,
                                     .axis = x.size,
                                     .inner = x.inner,
                                     .count = picks,
                                     .bytes = (uint32_t)bytes_of(n->type),
                                     .is_narrow = p->step->in[1].dtype == TAKT_I32,
                                     .fault = takt_cuda_named(TAKT_CUDA_FAULT, 0)};
    takt_cuda_launch_gather(&g, &s->launches[0]);
    s->index_in = 1;
    p->step->can_fault = true;
    p->step->fault_id = TAKT_E_INDEX;
    return TAKT_OK;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    takt_cuda_step *s;
    size_t index;
    TAKT_TRY(takt_cuda_step_get(p, n->op == &takt_op_concat ? n->in_count : 1, &s));
    for (uint32_t k = 0; k < n->in_count; k++)
        TAKT_TRY(takt_planner_input(p, n->in[k], &index));
    TAKT_TRY(takt_planner_output(p, id, &index));
    p->step->facts.work = TAKT_WORK_MOVE;
    if (n->op == &takt_op_concat)
        return compile_concat(p, n, s);
    return n->op == &takt_op_gather ? compile_gather(p, n, s) : compile_move(p, n, s);
}

const takt_cuda_kind takt_cuda_move_kind = {.name = "move", .accepts = accepts, .compile = compile};
