/* counted.c - Loops without a trip count whose condition counts: "while (i < n) i = i + 1".
 *
 * Converters of frameworks with while loops write them this way, with per-iteration results next to
 * the counter. The number of iterations is n - i at the start, known before the first one.
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

/* The input of the body that a value is; input_count if none. */
static size_t port_of(const takt_graph *g, takt_id id)
{
    size_t i = 0;
    while (i < g->input_count && g->inputs[i].id != id)
        i++;
    return i;
}

/* The outer value that a body value equals in all iterations; TAKT_NONE if it is computed
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

/* Whether `next` is the carried value `*i` plus one, and is carried on as such. */
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

/* ---- a condition that a counter may end ---- */

typedef enum truth { NO, YES, UNKNOWN } truth;

static truth opposite(truth t)
{
    return t == YES ? NO : t == NO ? YES : UNKNOWN;
}

static truth both(truth a, truth b)
{
    return a == NO || b == NO ? NO : a == YES && b == YES ? YES : UNKNOWN;
}

static truth constant_truth(const takt_graph *g, takt_id id)
{
    int64_t number;
    return !is_number(g, id, &number) ? UNKNOWN : number != 0 ? YES : NO;
}

enum { DEEP = 16 };

/* The truth value of `id` if node `test` has value `is`. */
static truth truth_of(const takt_graph *g, takt_id id, takt_id test, truth is, int depth)
{
    id = bare(g, id);
    if (id == test || depth == DEEP)
        return id == test ? is : UNKNOWN;
    const takt_node *n = &g->nodes[id];
    if (n->op == &takt_op_not)
        return opposite(truth_of(g, n->in[0], test, is, depth + 1));
    if (n->op == &takt_op_and)
        return both(truth_of(g, n->in[0], test, is, depth + 1),
                    truth_of(g, n->in[1], test, is, depth + 1));
    if (n->op == &takt_op_or)
        return opposite(both(opposite(truth_of(g, n->in[0], test, is, depth + 1)),
                             opposite(truth_of(g, n->in[1], test, is, depth + 1))));
    if (n->op != &takt_op_if && n->op != &takt_op_select)
        return constant_truth(g, id);
    const truth chosen = truth_of(g, n->in[0], test, is, depth + 1);
    if (chosen == UNKNOWN)
        return UNKNOWN;
    if (n->op == &takt_op_select)
        return truth_of(g, n->in[chosen == YES ? 1 : 2], test, is, depth + 1);
    const takt_graph *branch = n->attr[chosen == YES ? 0 : 1].graph;
    return branch->output_count == 1 ? constant_truth(branch, branch->outputs[0].id) : UNKNOWN;
}

/* Whether node `id` is "counter + 1 >= n" or similar: it gives `*is` once counter + 1 reaches
 * `*from`. */
static bool is_limit(const counting *l, takt_id id, size_t *counter, int64_t *from, truth *is)
{
    const takt_node *n = &l->body->nodes[id];
    const bool is_above = n->op == &takt_op_ge || n->op == &takt_op_gt;
    if (!is_above && n->op != &takt_op_lt && n->op != &takt_op_le)
        return false;
    if (!is_counter(l, n->in[0], counter) ||
        (!is_number(l->body, n->in[1], from) && !is_number(l->c->g, outside(l, n->in[1]), from)) ||
        *from < 0 || *from > INT32_MAX)
        return false;
    *from += n->op == &takt_op_gt || n->op == &takt_op_le;
    *is = is_above ? YES : NO;
    return true;
}

int64_t takt_onnx_most_iterations(takt_call *c, const takt_graph *body, const takt_id *first,
                                  size_t carried, const takt_captures *captures)
{
    const counting l = {c, body, first, carried, captures};
    int64_t most = -1;
    for (size_t i = 0; i < body->count; i++) {
        size_t counter;
        int64_t from, start;
        truth is;
        if (!is_limit(&l, (takt_id)i, &counter, &from, &is) ||
            !is_number(c->g, first[counter], &start) || start < INT32_MIN || start > INT32_MAX ||
            truth_of(body, body->outputs[0].id, (takt_id)i, is, 0) != NO)
            continue;
        const int64_t times = from - start > 1 ? from - start : 1; /* it is tested at the end */
        most = most < 0 || times < most ? times : most;
    }
    return most;
}
