/* step_pick.c - elements at indices, padding, and indices as values
 * (kernel/move/move_cuda_pick.cu).
 */
#include "backend/cpu/axis.h"
#include "backend/cuda/step.h"
#include "op/ops.h"

static size_t bytes_of(const takt_type *t)
{
    return (size_t)takt_dtype_bits(t->dtype) / 8;
}

static bool is_pick(const takt_op *op)
{
    return op == &takt_op_pad || op == &takt_op_iota || op == &takt_op_dim ||
           op == &takt_op_dynamic_slice || op == &takt_op_update_slice ||
           op == &takt_op_gather_elements || op == &takt_op_gather_nd || op == &takt_op_pack_bits ||
           op == &takt_op_unpack_bits;
}

/* The input that has indices, or 0. */
static uint32_t index_of(const takt_op *op)
{
    return op == &takt_op_update_slice ? 2
           : op == &takt_op_dynamic_slice || op == &takt_op_gather_elements ||
                   op == &takt_op_gather_nd
               ? 1
               : 0;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    const uint32_t index = index_of(n->op);
    size_t count;
    if (!is_pick(n->op))
        return "";
    if (takt_dtype_bits(n->type->dtype) < 8)
        return "elements below a byte";
    if (!takt_type_count(n->type, &count) || count == 0 || count >= UINT32_MAX)
        return "there is nothing to move, or more than a device step counts";
    for (uint32_t k = 0; k < n->in_count; k++)
        if (!takt_type_count(takt_type_of(g, n->in[k]), &count) || count == 0)
            return "an input has no elements";
    if (n->type->rank > TAKT_CUDA_MOVE_DIMS ||
        (n->in_count > 0 && takt_type_of(g, n->in[0])->rank > TAKT_CUDA_MOVE_DIMS))
        return "more axes than device code loops over";
    const takt_dtype dtype = index > 0 ? takt_type_of(g, n->in[index])->dtype : TAKT_I64;
    return dtype == TAKT_I64 || dtype == TAKT_I32 ? NULL
                                                  : "device code reads indices of i64 and i32 only";
}

static void set_axis(takt_cuda_pick_args *c, const takt_type *x, int64_t axis)
{
    const takt_axis_split s = takt_axis_split_of(x, axis);
    c->outer = s.outer;
    c->size = s.size;
    c->inner = s.inner;
}

static void set_pad(const takt_node *n, const takt_type *x, takt_cuda_pick_args *c)
{
    const takt_attr *before = takt_node_attr(n, "before");
    const double value = takt_node_attr(n, "value")->f64;
    c->kind = TAKT_CUDA_PAD;
    c->mode = (uint32_t)takt_node_int(n, "mode");
    c->dims = (uint32_t)n->type->rank;
    for (int d = 0; d < n->type->rank; d++) {
        c->dim[d] = n->type->dim[d];
        c->from[d] = x->dim[d];
        c->before[d] = before->i64s[d];
    }
    if (takt_dtype_is_float(n->type->dtype))
        takt_dtype_put_f(n->type->dtype, &c->value, 0, value);
    else
        takt_dtype_put_i(n->type->dtype, &c->value, 0,
                         takt_dtype_from_double(n->type->dtype, value));
}

static void set_place(const takt_graph *g, const takt_node *n, takt_cuda_pick_args *c)
{
    c->kind = TAKT_CUDA_IOTA;
    c->dtype = (uint32_t)n->type->dtype;
    c->size = c->inner = 1;
    if (n->op == &takt_op_iota)
        set_axis(c, n->type, takt_node_int(n, "axis"));
    else
        c->first =
            (int64_t)takt_axis_split_of(takt_type_of(g, n->in[0]), takt_node_int(n, "axis")).size;
}

static void set_bits(const takt_node *n, const takt_type *x, takt_cuda_pick_args *c)
{
    const bool packs = n->op == &takt_op_pack_bits;
    const int64_t last = x->dim[x->rank - 1], made = n->type->dim[n->type->rank - 1];
    c->kind = packs ? TAKT_CUDA_PACK : TAKT_CUDA_UNPACK;
    c->size = (uint64_t)(packs ? last : made);
    c->inner = (uint64_t)(packs ? made : last);
}

static void set_elements(const takt_node *n, const takt_type *index, const takt_view *x,
                         takt_cuda_pick_args *c)
{
    const int64_t axis = takt_node_int(n, "axis");
    c->kind = TAKT_CUDA_ELEMENTS;
    c->dims = (uint32_t)x->rank;
    c->axis = (uint32_t)(axis < 0 ? axis + x->rank : axis);
    c->size = (uint64_t)x->dim[c->axis];
    for (int d = 0; d < x->rank; d++) {
        c->dim[d] = index->dim[d];
        c->stride[d] = x->stride[d];
    }
}

static void set_blocks(const takt_node *n, const takt_type *index, const takt_type *x,
                       takt_cuda_pick_args *c)
{
    const int batch = (int)takt_node_int(n, "batch");
    c->kind = TAKT_CUDA_BLOCKS;
    c->dims = (uint32_t)index->dim[index->rank - 1];
    c->rows_each = c->block = 1;
    for (int d = batch; d + 1 < index->rank; d++)
        c->rows_each *= (uint64_t)index->dim[d];
    for (int d = batch; d < x->rank; d++)
        if (d < batch + (int)c->dims)
            c->from[d - batch] = x->dim[d];
        else
            c->block *= (uint64_t)x->dim[d];
}

/* A cache that grows is updated in place. */
static takt_status set_update(takt_planner *p, takt_id id, takt_cuda_pick_args *c)
{
    const takt_node *n = &p->graph->nodes[id];
    const takt_type *start = takt_type_of(p->graph, n->in[2]);
    const takt_axis_split part =
        takt_axis_split_of(takt_type_of(p->graph, n->in[1]), takt_node_int(n, "axis"));
    size_t kept;
    bool is_state;
    set_axis(c, n->type, takt_node_int(n, "axis"));
    c->part = takt_cuda_in(1);
    c->index = takt_cuda_in(2);
    c->piece = part.size;
    c->starts = start->rank == 0 ? 1 : (uint64_t)start->dim[0];
    TAKT_TRY(takt_planner_output_state(p, id, 0, 0, &kept, &is_state));
    c->kind = is_state ? TAKT_CUDA_APPEND : TAKT_CUDA_UPDATE;
    c->count = is_state ? part.outer * part.size * part.inner : c->count;
    return TAKT_OK;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    const uint32_t at = index_of(n->op);
    takt_cuda_pick_args c = {.dst = takt_cuda_out(0), .bytes = (uint32_t)bytes_of(n->type)};
    takt_cuda_step *s;
    size_t index, count;
    TAKT_TRY(takt_cuda_step_get(p, 1, &s));
    (void)takt_type_count(n->type, &count);
    c.count = count;
    for (uint32_t k = 0; k < n->in_count && n->op != &takt_op_dim; k++)
        TAKT_TRY(takt_planner_input(p, n->in[k], &index));
    c.src = p->step->in_count > 0 ? takt_cuda_in(0) : NULL;
    if (at > 0) {
        c.index = takt_cuda_in(at);
        c.is_narrow = p->step->in[at].dtype == TAKT_I32;
        c.fault = takt_cuda_named(TAKT_CUDA_FAULT, 0);
        s->index_in = at;
        p->step->can_fault = true;
        p->step->fault_id = TAKT_E_INDEX;
    }
    if (n->op == &takt_op_update_slice) {
        TAKT_TRY(set_update(p, id, &c));
    } else {
        TAKT_TRY(takt_planner_output(p, id, &index));
        const takt_type *x = n->in_count > 0 ? takt_type_of(p->graph, n->in[0]) : NULL;
        const takt_type *i = at > 0 ? takt_type_of(p->graph, n->in[at]) : NULL;
        if (n->op == &takt_op_pad) {
            set_pad(n, x, &c);
        } else if (n->op == &takt_op_gather_elements) {
            set_elements(n, i, &p->step->in[0], &c);
        } else if (n->op == &takt_op_pack_bits || n->op == &takt_op_unpack_bits) {
            set_bits(n, x, &c);
        } else if (n->op == &takt_op_gather_nd) {
            set_blocks(n, i, x, &c);
        } else if (n->op == &takt_op_dynamic_slice) {
            c.kind = TAKT_CUDA_PIECE;
            set_axis(&c, x, takt_node_int(n, "axis"));
            c.piece = takt_axis_split_of(n->type, takt_node_int(n, "axis")).size;
        } else {
            set_place(p->graph, n, &c);
        }
    }
    p->step->facts.work = TAKT_WORK_MOVE;
    takt_cuda_launch_pick(&c, &s->launches[0]);
    return TAKT_OK;
}

const takt_cuda_kind takt_cuda_picks_kind = {
    .name = "pick", .accepts = accepts, .compile = compile};
