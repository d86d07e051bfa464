/* reverse.c - one sweep backwards over the nodes between inputs and outputs. */
#include "grad/reverse.h"

#include "ir/leaves.h"
#include "op/ops.h"

/* Lowerings lead to simpler ops, so this recursion ends; the limit catches a record that breaks the
 * rule. */
enum { MAX_LEVEL = 16 };

typedef struct sweep {
    takt_graph *g;
    const takt_grad_request *request;
    int level;
    size_t count; /* of nodes when the sweep began */
    takt_arena arena;
    unsigned char *flows;  /* the node depends on one of the inputs, or is one */
    unsigned char *passes; /* gradients propagate through the node */
    takt_id **dy;          /* per node and result, NULL until one arrives */
} sweep;

static takt_status out_of_memory(sweep *s)
{
    return s->g->status != TAKT_OK ? s->g->status : TAKT_ERR_MEMORY;
}

/* Inside a lowering, differentiation stops at the op's inputs, even if one of them depends on
 * another. */
static void mark(sweep *s, takt_id id)
{
    const takt_node *n = &s->g->nodes[id];
    bool depends = false;
    for (uint32_t k = 0; k < n->in_count && !depends; k++)
        depends = n->in[k] != TAKT_NONE && s->flows[n->in[k]];
    s->passes[id] = depends && (s->level == 0 || !s->flows[id]);
    s->flows[id] = s->flows[id] || depends;
}

static takt_status init(sweep *s, takt_graph *g, const takt_grad_request *request, int level)
{
    *s = (sweep){.g = g, .request = request, .level = level, .count = g->count};
    takt_arena_init(&s->arena, g->ctx);
    s->flows = takt_arena_array(&s->arena, s->count, 1);
    s->passes = takt_arena_array(&s->arena, s->count, 1);
    s->dy = takt_arena_array(&s->arena, s->count, sizeof *s->dy);
    if (s->flows == NULL || s->passes == NULL || s->dy == NULL)
        return out_of_memory(s);
    size_t first = s->count;
    for (size_t i = 0; i < request->in_count; i++) {
        const takt_id id = request->in[i];
        request->result[i] = TAKT_NONE;
        if (id == TAKT_NONE)
            continue;
        s->flows[id] = 1;
        first = id < first ? id : first;
    }
    for (size_t i = first; i < s->count; i++)
        mark(s, (takt_id)i);
    return TAKT_OK;
}

/* Adds a gradient to the sum for result `index` of `id`. */
static takt_status arrive(sweep *s, takt_id id, size_t index, takt_id gradient)
{
    if (gradient == TAKT_NONE || !s->flows[id])
        return s->g->status;
    if (s->dy[id] == NULL) {
        const uint32_t count = s->g->nodes[id].out_count;
        s->dy[id] = takt_arena_array(&s->arena, count, sizeof **s->dy);
        if (s->dy[id] == NULL)
            return out_of_memory(s);
        for (uint32_t i = 0; i < count; i++)
            s->dy[id][i] = TAKT_NONE;
    }
    takt_id *sum = &s->dy[id][index];
    *sum = *sum == TAKT_NONE ? gradient : takt_add(s->g, *sum, gradient);
    return s->g->status;
}

static takt_status check_type(sweep *s, const takt_node *n, size_t input, takt_id gradient)
{
    takt_graph *g = s->g;
    const takt_type *want = takt_type_of(g, n->in[input]), *got = takt_type_of(g, gradient);
    char left[TAKT_TYPE_TEXT], right[TAKT_TYPE_TEXT];
    if (takt_type_same(g->dims, want, got))
        return TAKT_OK;
    return takt_fail(g->ctx, TAKT_E_INTERNAL, "%s: the gradient of input %zu is %s instead of %s",
                     n->op->name, input, takt_type_text(g->dims, got, left),
                     takt_type_text(g->dims, want, right));
}

/* The gradient of the op's lowering; its nodes are appended like any others. */
static takt_status through_lowering(sweep *s, const takt_node *n, const takt_id *dy, takt_id *dx)
{
    takt_id *out = takt_arena_array(&s->arena, n->out_count, sizeof *out);
    takt_id *seed = takt_arena_array(&s->arena, n->out_count, sizeof *seed);
    size_t count = 0;
    if (out == NULL || seed == NULL)
        return out_of_memory(s);
    if (s->level >= MAX_LEVEL)
        return takt_fail(s->g->ctx, TAKT_E_INTERNAL, "%s: its lowering does not end", n->op->name);
    for (uint32_t i = 0; i < n->out_count; i++)
        out[i] = TAKT_NONE;
    n->op->lower(s->g, n, out);
    for (uint32_t i = 0; i < n->out_count; i++)
        if (dy[i] != TAKT_NONE) {
            out[count] = out[i];
            seed[count++] = dy[i];
        }
    TAKT_TRY(s->g->status);
    const takt_grad_request inner = {.out_count = count,
                                     .out = out,
                                     .seed = seed,
                                     .in_count = n->in_count,
                                     .in = n->in,
                                     .result = dx};
    return takt_grad_reverse(s->g, &inner, s->level + 1);
}

/* Attention of one type, without mask and lengths, has an op for its gradients; any other is
 * lowered. */
static bool is_plain_attention(const takt_graph *g, const takt_node *n)
{
    bool is_plain = true;
    for (uint32_t k = 1; k < 3; k++)
        is_plain &= takt_type_of(g, n->in[k])->dtype == takt_type_of(g, n->in[0])->dtype;
    for (uint32_t k = 3; k < n->in_count; k++)
        is_plain &= n->in[k] == TAKT_NONE;
    return is_plain;
}

static void attention(takt_graph *g, const takt_node *n, takt_id dy, takt_id *dx)
{
    const takt_id in[4] = {n->in[0], n->in[1], n->in[2], dy};
    const takt_id all = takt_graph_append(g, &takt_op_attention_dx, 4, in, n->attr);
    for (size_t k = 0; k < 3 && g->status == TAKT_OK; k++)
        dx[k] = takt_graph_get(g, all, k);
}

static takt_status differentiate(sweep *s, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = s->g->nodes[id]; /* a copy: the array moves when nodes are appended */
    if (n.op == &takt_op_if)
        return takt_grad_if(s->g, &n, dy, dx);
    if (n.op == &takt_op_loop)
        return takt_grad_loop(s->g, &n, dy, dx);
    if (n.op == &takt_op_scan)
        return takt_grad_scan(s->g, &n, dy, dx);
    if (n.op == &takt_op_attention && is_plain_attention(s->g, &n)) {
        attention(s->g, &n, dy[0], dx);
        return s->g->status;
    }
    if (n.op->grad != NULL) {
        n.op->grad(s->g, id, dy, dx);
        return s->g->status;
    }
    if (n.op->lower != NULL)
        return through_lowering(s, &n, dy, dx);
    takt_fail(s->g->ctx, TAKT_E_NO_GRADIENT, "%s: has no gradient", n.op->name);
    return n.name != NULL ? takt_fail_node(s->g->ctx, n.name)
                          : takt_error_class(TAKT_E_NO_GRADIENT);
}

static takt_status step(sweep *s, takt_id id)
{
    const takt_node n = s->g->nodes[id];
    for (uint32_t i = 0; i < n.out_count; i++)
        s->dy[id][i] = takt_grad_join(s->g, s->dy[id][i]);
    if (n.op == &takt_op_get)
        return arrive(s, n.in[0], (size_t)n.attr[0].i64, s->dy[id][0]);
    takt_id *dx = takt_arena_array(&s->arena, n.in_count, sizeof *dx);
    if (dx == NULL)
        return out_of_memory(s);
    for (uint32_t i = 0; i < n.in_count; i++)
        dx[i] = TAKT_NONE;
    TAKT_TRY(differentiate(s, id, s->dy[id], dx));
    for (uint32_t i = 0; i < n.in_count; i++) {
        if (n.in[i] == TAKT_NONE || dx[i] == TAKT_NONE)
            continue;
        TAKT_TRY(check_type(s, &n, i, dx[i]));
        TAKT_TRY(arrive(s, n.in[i], 0, dx[i]));
    }
    return TAKT_OK;
}

static takt_status start(sweep *s)
{
    const takt_grad_request *r = s->request;
    for (size_t i = 0; i < r->out_count; i++) {
        takt_id seed = r->seed != NULL ? r->seed[i] : TAKT_NONE;
        if (seed == TAKT_NONE)
            seed = takt_broadcast_like(s->g, takt_scalar_like(s->g, r->out[i], 1), r->out[i]);
        TAKT_TRY(arrive(s, r->out[i], 0, seed));
    }
    return s->g->status;
}

static takt_status sweep_all(sweep *s)
{
    TAKT_TRY(start(s));
    for (size_t i = s->count; i-- > 0;)
        if (s->dy[i] != NULL && s->passes[i])
            TAKT_TRY(step(s, (takt_id)i));
    for (size_t i = 0; i < s->request->in_count; i++) {
        const takt_id id = s->request->in[i];
        /* A value that occurs in two places gets its gradient once. */
        bool is_first = id != TAKT_NONE && s->dy[id] != NULL;
        for (size_t k = 0; k < i && is_first && s->level > 0; k++)
            is_first = s->request->in[k] != id;
        if (is_first)
            s->request->result[i] = takt_grad_join(s->g, s->dy[id][0]);
    }
    return s->g->status;
}

takt_status takt_grad_reverse(takt_graph *g, const takt_grad_request *request, int level)
{
    sweep s;
    takt_status status = init(&s, g, request, level);
    if (status == TAKT_OK)
        status = sweep_all(&s);
    takt_arena_deinit(&s.arena);
    return status;
}
