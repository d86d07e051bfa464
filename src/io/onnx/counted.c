/* counted.c - Loops without a trip count whose condition counts: "while (i < n) i = i + 1".
 *
 * Converters of frameworks with while loops write them so, with per-iteration results next to the
 * counter. The number of iterations is n - i at the start, known before the first one.
 */
#include "io/onnx/control.h"
#include "op/ops.h"

typedef struct counting {
    takt_call *c;
    const takt_graph *body;
    const takt_id *first; /* of carried values, in the graph around the loop */
    size_t carried;
    const takt_captures *captures;
} counting;

static takt_id bare(const takt_graph *g, takt_id id)
{
    while (id != TAKT_NONE &&
           (g->nodes[id].op == &takt_op_cast || g->nodes[id].op == &takt_op_reshape ||
            g->nodes[id].op == &takt_op_squeeze))
        id = g->nodes[id].in[0];
    return id;
}

/* Which input of the body a value is; input_count: none. */
static size_t port_of(const takt_graph *g, takt_id id)
{
    size_t i = 0;
    while (i < g->input_count && g->inputs[i].id != id)
        i++;
    return i;
}

/* The outer value that a value of the body equals in all iterations; TAKT_NONE: it is computed
 * inside. */
static takt_id outside(const counting *l, takt_id id)
{
    const size_t i = port_of(l->body, bare(l->body, id));
    if (i < 2 || i >= l->body->input_count)
        return TAKT_NONE;
    if (i >= 2 + l->carried)
        return l->captures->ids[i - 2 - l->carried];
    return bare(l->body, l->body->outputs[i - 1].id) == l->body->inputs[i].id ? l->first[i - 2]
                                                                              : TAKT_NONE;
}

static bool is_number(const takt_graph *g, takt_id id, int64_t *number)
{
    const takt_node *n = id != TAKT_NONE ? &g->nodes[bare(g, id)] : NULL;
    if (n == NULL || n->op != &takt_op_constant || n->type->rank > 1)
        return false;
    const takt_tensor *t = n->attr[0].tensor;
    size_t count = 0;
    if (!takt_type_count(n->type, &count) || count != 1)
        return false;
    if (!takt_dtype_is_float(t->type.dtype)) {
        *number = takt_dtype_get_i(t->type.dtype, takt_tensor_data(t), 0);
        return true;
    }
    const double value = takt_dtype_get_f(t->type.dtype, takt_tensor_data(t), 0);
    *number = value >= -1e15 && value <= 1e15 ? (int64_t)value : 0;
    return (double)*number == value;
}

/* Whether a value of the body is the number 1. */
static bool is_one(const counting *l, takt_id id)
{
    int64_t number = 0;
    return (is_number(l->body, id, &number) || is_number(l->c->g, outside(l, id), &number)) &&
           number == 1;
}

/* Whether `next` is the carried value `*i` and one, which is what that becomes. */
static bool is_counter(const counting *l, takt_id next, size_t *i)
{
    const takt_graph *g = l->body;
    next = bare(g, next);
    if (next == TAKT_NONE || g->nodes[next].op != &takt_op_add ||
        takt_dtype_is_float(g->nodes[next].type->dtype))
        return false;
    for (int side = 0; side < 2; side++) {
        const size_t port = port_of(g, bare(g, g->nodes[next].in[side]));
        if (port >= 2 && port < 2 + l->carried && is_one(l, g->nodes[next].in[1 - side]) &&
            bare(g, g->outputs[port - 1].id) == next) {
            *i = port - 2;
            return true;
        }
    }
    return false;
}

static bool is_same(const takt_graph *g, takt_id a, takt_id b)
{
    int64_t x, y;
    return bare(g, a) == bare(g, b) || (is_number(g, a, &x) && is_number(g, b, &y) && x == y);
}

takt_id takt_onnx_iterations(takt_call *c, const takt_graph *body, const takt_id *first,
                             size_t carried, const takt_captures *captures)
{
    const counting l = {c, body, first, carried, captures};
    const takt_id test = bare(body, body->outputs[0].id);
    const takt_id begins = takt_onnx_has(c, 1) ? bare(c->g, takt_onnx_in(c, 1)) : TAKT_NONE;
    size_t counter;
    int64_t start;
    if (begins == TAKT_NONE || body->nodes[test].op != &takt_op_lt ||
        c->g->nodes[begins].op != &takt_op_lt || !is_counter(&l, body->nodes[test].in[0], &counter))
        return TAKT_NONE;
    const takt_id limit = outside(&l, body->nodes[test].in[1]);
    if (limit == TAKT_NONE || takt_dtype_is_float(takt_type_of(c->g, limit)->dtype) ||
        !is_same(c->g, c->g->nodes[begins].in[0], first[counter]) ||
        !is_same(c->g, c->g->nodes[begins].in[1], limit))
        return TAKT_NONE;
    const takt_id end = takt_onnx_cast(c, limit, TAKT_I64);
    if (is_number(c->g, first[counter], &start) && start == 0)
        return end;
    return takt_sub(c->g, end, takt_onnx_cast(c, first[counter], TAKT_I64));
}
