/* diff_widen.c - a model whose floats are all f64: the reference where none is given. */
#include "ir/attr.h"
#include "ir/leaves.h"
#include "op/ops.h"
#include "verify/diff.h"

/* Ops of several element types whose results have that of their float inputs. */
static bool follows_floats(const takt_op *op)
{
    static const takt_op *const ops[] = {
        &takt_op_attention,     &takt_op_dynamic_slice, &takt_op_gather,
        &takt_op_gather_nd,     &takt_op_gather_sum,    &takt_op_gather_elements,
        &takt_op_index_add,     &takt_op_scatter_nd,    &takt_op_scatter_elements,
        &takt_op_cross_entropy, &takt_op_select,        &takt_op_update_slice};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (ops[i] == op)
            return true;
    return false;
}

static bool has_body(const takt_node *n)
{
    for (size_t i = 0; i < takt_op_attr_count(n->op); i++)
        if (n->op->attrs[i].type == TAKT_ATTR_GRAPH)
            return true;
    return false;
}

static bool is_float(const takt_graph *g, takt_id id)
{
    return id != TAKT_NONE && takt_dtype_is_float(takt_type_of(g, id)->dtype);
}

static takt_id wide(takt_graph *g, takt_id id)
{
    return is_float(g, id) && takt_type_of(g, id)->dtype != TAKT_F64 ? takt_cast(g, id, TAKT_F64)
                                                                     : id;
}

/* Whether the op computes in f64. `get` reads a node of several results, which has no cast. */
static bool widens(const takt_node *n)
{
    if (n->op == &takt_op_get)
        return true;
    return (n->op->dtypes & TAKT_IN(TAKT_F64)) != 0 && !has_body(n) && n->op != &takt_op_bitcast &&
           (!n->op->is_mixed || follows_floats(n->op));
}

/* Others, such as integer and block formats, or bits read as another type, get the model's own
 * values. */
static takt_id widen_node(const takt_graph *from, takt_graph *to, const takt_node *n, takt_id *in)
{
    const bool is_wide = widens(n);
    for (uint32_t k = 0; k < n->in_count && !is_wide; k++)
        if (is_float(from, n->in[k]))
            in[k] = takt_cast(to, in[k], takt_type_of(from, n->in[k])->dtype);
    const takt_id id = takt_graph_copy_node(to, n, in);
    return n->out_count == 1 ? wide(to, id) : id;
}

static takt_status widen(takt_diff_work *w, const takt_graph *from, takt_graph *to, takt_id *map)
{
    for (size_t i = 0; i < from->count; i++)
        map[i] = TAKT_NONE;
    for (size_t i = 0; i < from->input_count; i++) {
        takt_type type = *takt_type_of(from, from->inputs[i].id);
        type.dtype = takt_dtype_is_float(type.dtype) ? TAKT_F64 : type.dtype;
        takt_graph_inherit(to, &from->nodes[from->inputs[i].id]);
        map[from->inputs[i].id] = takt_graph_input(to, from->inputs[i].name, &type);
    }
    for (size_t i = 0; i < from->count && to->status == TAKT_OK; i++) {
        const takt_node *n = &from->nodes[i];
        takt_id *in = takt_arena_array(&w->arena, n->in_count + 1, sizeof *in);
        if (in == NULL)
            return TAKT_ERR_MEMORY;
        if (map[i] != TAKT_NONE)
            continue;
        for (uint32_t k = 0; k < n->in_count; k++)
            in[k] = n->in[k] == TAKT_NONE ? TAKT_NONE : map[n->in[k]];
        const bool is_name = n->op == &takt_op_cast && is_float(from, n->in[0]) &&
                             takt_dtype_is_float(n->type[0].dtype);
        map[i] = is_name ? in[0] : widen_node(from, to, n, in);
    }
    for (size_t i = 0; i < from->output_count; i++)
        takt_graph_output(to, from->outputs[i].name, map[from->outputs[i].id]);
    return to->status;
}

takt_status takt_diff_widen(takt_diff_work *w)
{
    const takt_graph *from = w->own.graph;
    TAKT_TRY(takt_graph_create(w->ctx, from, &w->ref.graph));
    return widen(w, from, w->ref.graph, w->match);
}
