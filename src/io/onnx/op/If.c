/* If.c - If: the branch itself if the condition is known, else our op.
 *
 * Exporters write a squeeze of an axis that may be 1 as an If on its size, with branches of
 * different ranks. The size is then assumed to be what the condition says, and checked when it is
 * known.
 */
#include "io/onnx/branches.h"
#include "io/onnx/control.h"

/* ---- conditions on sizes ---- */

static takt_id without_moves(const takt_graph *g, takt_id id)
{
    const takt_node *n = takt_node_at(g, id);
    while (n->op == &takt_op_reshape || n->op == &takt_op_squeeze || n->op == &takt_op_unsqueeze ||
           n->op == &takt_op_cast) {
        id = n->in[0];
        n = takt_node_at(g, id);
    }
    return id;
}

/* The equation between two sizes that the condition expresses, if any. */
static bool is_equation(takt_call *c, takt_id condition, takt_dim *left, takt_dim *right)
{
    const takt_node *n = takt_node_at(c->g, without_moves(c->g, condition));
    takt_syms a = {0}, b = {0};
    if (n->op != &takt_op_eq)
        return false;
    const takt_id in[2] = {n->in[0], n->in[1]};
    if (takt_fold_syms(c->scope->room, in[0], &a) != TAKT_OK ||
        takt_fold_syms(c->scope->room, in[1], &b) != TAKT_OK || a.count != 1 || b.count != 1)
        return false;
    *left = a.at->is_dim ? a.at->dim : a.at->number;
    *right = b.at->is_dim ? b.at->dim : b.at->number;
    return (a.at->is_dim || b.at->is_dim) && !a.at->is_minus && !b.at->is_minus &&
           (a.at->is_dim || a.at->number >= 0) && (b.at->is_dim || b.at->number >= 0);
}

/* Whether results differ in type or rank, or have sizes that are different numbers. */
static bool differ(const takt_graph *a, const takt_graph *b)
{
    for (size_t i = 0; i < a->output_count; i++) {
        const takt_type *x = takt_type_of(a, a->outputs[i].id),
                        *y = takt_type_of(b, b->outputs[i].id);
        if (x->dtype != y->dtype || x->rank != y->rank)
            return true;
        for (int d = 0; d < x->rank; d++)
            if (takt_dim_is_number(x->dim[d]) && takt_dim_is_number(y->dim[d]) &&
                x->dim[d] != y->dim[d])
                return true;
    }
    return false;
}

/* ---- both branches ---- */

/* Requirements of one branch must not bind outer names. */
static takt_status build(takt_call *c, const takt_pb_graph *graph, const takt_captures *captures,
                         takt_graph **out)
{
    const size_t held = takt_dims_hold(c->g->dims);
    const takt_status status = takt_subgraph_build(c, graph, NULL, 0, captures, out);
    takt_dims_let_go(c->g->dims, held);
    return status;
}

/* Types of the results in either branch, before they are unified. */
typedef struct result {
    takt_type yes, no;
} result;

static result *results_of(takt_call *c, const takt_graph *a, const takt_graph *b)
{
    result *list = takt_onnx_get(c, a->output_count, sizeof *list);
    for (size_t i = 0; list != NULL && i < a->output_count; i++)
        list[i] = (result){*takt_type_of(a, a->outputs[i].id), *takt_type_of(b, b->outputs[i].id)};
    return list;
}

static bool is_row(takt_call *c, const result *r)
{
    for (int d = 0; d < r->yes.rank; d++)
        if (!takt_dim_same(c->g->dims, r->yes.dim[d], r->no.dim[d]))
            return true;
    return false;
}

/* The If node of both branches; `list`: results differ in size, and are flat rows. */
static takt_status choose(takt_call *c, takt_id condition, const takt_captures *captures,
                          takt_graph *const branch[2], const result *list)
{
    takt_id *in = takt_onnx_get(c, captures->count + 1, sizeof *in);
    if (in == NULL)
        return c->status;
    in[0] = condition;
    for (size_t i = 0; i < captures->count; i++)
        in[i + 1] = captures->ids[i];
    const takt_named_attr attrs[] = {{"then", takt_attr_graph(branch[0])},
                                     {"else", takt_attr_graph(branch[1])}};
    const takt_id y = takt_graph_call(c->g, &takt_op_if, captures->count + 1, in, 2, attrs);
    const size_t count = branch[0]->output_count;
    const takt_id sizes =
        list != NULL && y != TAKT_NONE ? takt_graph_get(c->g, y, count - 1) : TAKT_NONE;
    size_t at = 0;
    for (size_t i = 0; i < c->out_count; i++) {
        takt_id one = y == TAKT_NONE || count == 1 ? y : takt_graph_get(c->g, y, i);
        if (list != NULL && one != TAKT_NONE && is_row(c, &list[i]))
            one = takt_branches_narrow(c, one, sizes, &at, &list[i].yes, &list[i].no);
        takt_onnx_set(c, i, one);
    }
    return c->status;
}

static takt_status both(takt_call *c, takt_id condition, const takt_pb_graph *yes,
                        const takt_pb_graph *no)
{
    takt_captures captures = {0};
    takt_graph *branch[2] = {NULL, NULL};
    const result *list = NULL;
    TAKT_TRY(takt_subgraph_captures(c, yes, &captures));
    TAKT_TRY(takt_subgraph_captures(c, no, &captures));
    TAKT_TRY(build(c, yes, &captures, &branch[0]));
    takt_status status = build(c, no, &captures, &branch[1]);
    takt_dim left, right;
    if (status == TAKT_OK && differ(branch[0], branch[1]) &&
        is_equation(c, condition, &left, &right)) {
        status = takt_dim_unify(c->g->dims, left, right);
        if (status == TAKT_OK)
            status = takt_subgraph_inline(c, yes, NULL, 0, c->out);
    } else if (status == TAKT_OK) {
        for (size_t i = 0; i < branch[0]->output_count && status == TAKT_OK; i++)
            status = takt_branches_alike(c, takt_type_of(branch[0], branch[0]->outputs[i].id),
                                         takt_type_of(branch[1], branch[1]->outputs[i].id));
        bool is_done = false;
        const bool is_other = status == TAKT_OK && takt_branches_differ(c, branch[0], branch[1]);
        if (is_other)
            status =
                takt_onnx_gate_if(c, condition, (const takt_pb_graph *const[2]){yes, no},
                                  (const takt_graph *const[2]){branch[0], branch[1]}, &is_done);
        if (is_other && status == TAKT_OK && !is_done) {
            list = results_of(c, branch[0], branch[1]);
            status = list != NULL ? takt_branches_widen(c, &branch[0], &branch[1]) : c->status;
        }
        if (status == TAKT_OK && !is_done)
            status = choose(c, condition, &captures, branch, list);
    }
    takt_graph_destroy(branch[0]);
    takt_graph_destroy(branch[1]);
    return status != TAKT_OK ? status : c->status;
}

/* The input of the model that the condition is computed from; NULL: none, or several. */
static const char *input_of(const takt_graph *g, takt_id id)
{
    enum { MOST_NODES = 64 };
    for (int i = 0; i < MOST_NODES && id != TAKT_NONE; i++) {
        const takt_node *n = &g->nodes[id];
        takt_id next = TAKT_NONE;
        if (n->op == &takt_op_input)
            return n->name;
        for (uint32_t k = 0; k < n->in_count; k++) {
            const takt_id in = n->in[k];
            if (in == TAKT_NONE || g->nodes[in].op == &takt_op_constant || in == next)
                continue;
            if (next != TAKT_NONE)
                return NULL;
            next = in;
        }
        id = next;
    }
    return NULL;
}

static takt_status refuse(takt_call *c, takt_id condition)
{
    takt_error error;
    takt_error_copy(c->ctx, &error);
    const char *input = input_of(c->g, condition);
    return takt_fail(c->ctx, TAKT_E_ONNX_STATIC,
                     "If: %s; the condition must be known when the model is loaded (-i %s=FILE: "
                     "each value of it makes a model of its own)",
                     error.message, input != NULL ? input : "INPUT");
}

static takt_status adapt(takt_call *c)
{
    const takt_pb_graph *yes = takt_onnx_graph(c, "then_branch"),
                        *no = takt_onnx_graph(c, "else_branch");
    const int64_t *known = takt_array_one(takt_onnx_peek(c, 0));
    takt_id condition = takt_onnx_in(c, 0);
    if (c->status != TAKT_OK || condition == TAKT_NONE)
        return takt_onnx_refuse(c, "the condition is missing");
    if (takt_type_of(c->g, condition)->dtype != TAKT_BOOL)
        return takt_onnx_refuse(c, "the condition is not bool");
    if (yes->output_count != c->out_count || no->output_count != c->out_count)
        return takt_onnx_refuse(c, "the branches have other results than the node");
    if (known != NULL)
        return takt_subgraph_inline(c, *known != 0 ? yes : no, NULL, 0, c->out);
    if (takt_type_of(c->g, condition)->rank > 0)
        condition = takt_reshape(c->g, condition, NULL, 0);
    if (condition == TAKT_NONE) /* it has not one element */
        return takt_onnx_done(c, TAKT_NONE);
    const takt_onnx_attempt attempt = takt_onnx_try(c);
    takt_status status = both(c, condition, yes, no);
    if (takt_onnx_tried(c, &attempt, status))
        status = takt_onnx_unfold_if(c, condition, yes, no);
    if (status == TAKT_OK || status == TAKT_ERR_MEMORY || c->im->source->fixed_count > 0)
        return status;
    return refuse(c, condition);
}

const takt_onnx_op takt_onnx_If = {.names = {"If"}, .adapt = adapt};
