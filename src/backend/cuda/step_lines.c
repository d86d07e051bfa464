/* step_lines.c - running sums, sort and top_k along an axis (kernel/move/move_cuda_lines.cu). */
#include "backend/cpu/axis.h"
#include "backend/cuda/step.h"
#include "op/ops.h"

/* Every element of a line is compared with every other: longer lines are left to the cpu. */
enum { LONGEST = 16384 };

static bool is_order(const takt_op *op)
{
    return op == &takt_op_sort || op == &takt_op_top_k;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    size_t count;
    if (n->op != &takt_op_cumsum && !is_order(n->op))
        return "";
    const takt_type *x = takt_type_of(g, n->in[0]);
    if (takt_dtype_bits(x->dtype) < 8 || x->rank == 0)
        return "elements below a byte, or no axis";
    if (!is_order(n->op) && !takt_dtype_is_int(x->dtype) && takt_dtype_bits(x->dtype) < 16)
        return "device code adds floats of 16 bits and more, and integers";
    if (!takt_type_count(x, &count) || count == 0 || count >= INT32_MAX ||
        !takt_type_count(n->type, &count) || count == 0)
        return "there is nothing to order, or more than a device step counts";
    if (n->op == &takt_op_top_k && takt_node_int(n, "sorted") == 0)
        return "device code orders the largest by value only";
    return !is_order(n->op) || takt_axis_split_of(x, takt_node_int(n, "axis")).size <= LONGEST
               ? NULL
               : "device code orders up to 16384 elements";
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    const takt_axis_split x =
        takt_axis_split_of(takt_type_of(p->graph, n->in[0]), takt_node_int(n, "axis"));
    const bool is_top = n->op == &takt_op_top_k;
    takt_cuda_step *s;
    size_t index;
    takt_cuda_lines_args a = {.dst = takt_cuda_out(0),
                              .src = takt_cuda_in(0),
                              .outer = x.outer,
                              .size = x.size,
                              .inner = x.inner,
                              .keep = is_top ? (uint64_t)takt_node_int(n, "k") : x.size};
    TAKT_TRY(takt_cuda_step_get(p, 1, &s));
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    a.dtype = (uint32_t)p->step->in[0].dtype;
    if (is_order(n->op)) {
        TAKT_TRY(takt_planner_result(p, id, 0, &index));
        TAKT_TRY(takt_planner_result(p, id, 1, &index));
        a.places = takt_cuda_out(1);
        a.is_descending = takt_node_int(n, is_top ? "largest" : "descending") != 0;
    } else {
        TAKT_TRY(takt_planner_output_over(p, id, 0, &index));
        a.is_exclusive = takt_node_int(n, "exclusive") != 0;
        a.is_reverse = takt_node_int(n, "reverse") != 0;
    }
    takt_cuda_launch_lines(&a, &s->launches[0]);
    return TAKT_OK;
}

const takt_cuda_kind takt_cuda_lines_kind = {
    .name = "lines", .accepts = accepts, .compile = compile};
