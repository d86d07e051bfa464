/* scan_cut.c - products in the body of a scan that the gradient computes for all steps at once. */
#include "grad/scan.h"
#include "op/util/make.h"

enum { BODY, CARRIED, SEQUENCES, AXES };

int64_t takt_scan_axis(const takt_attr *list, size_t i, int rank)
{
    const int64_t axis = i < list->count ? list->i64s[i] : 0;
    return axis < 0 ? axis + rank + 1 : axis;
}

static const takt_graph *body_of(const takt_node *n)
{
    return n->attr[BODY].graph;
}

static size_t input_of(const takt_graph *body, takt_id id)
{
    size_t i = 0;
    while (i < body->input_count && body->inputs[i].id != id)
        i++;
    return i;
}

/* How often the body reads a value. */
static size_t uses(const takt_graph *body, takt_id id)
{
    size_t count = 0;
    for (size_t i = 0; i < body->count; i++)
        for (uint32_t k = 0; k < body->nodes[i].in_count; k++)
            count += body->nodes[i].in[k] == id;
    for (size_t i = 0; i < body->output_count; i++)
        count += body->outputs[i].id == id;
    return count;
}

static bool is_matrix(const takt_graph *body, takt_id id, int rank)
{
    const takt_type *t = takt_type_of(body, id);
    return t->rank == rank && takt_dtype_is_float(t->dtype);
}

/* The sum of the product and a capture, if nothing else reads the product. */
static void find_bias(const takt_node *n, takt_scan_cut *c)
{
    const takt_graph *body = body_of(n);
    const size_t first = (size_t)(n->attr[CARRIED].i64 + n->attr[SEQUENCES].i64);
    for (size_t i = 0; i < body->count && uses(body, c->product) == 1; i++) {
        const takt_node *sum = &body->nodes[i];
        for (int k = 0; sum->op == &takt_op_add && k < 2; k++) {
            const size_t bias = input_of(body, sum->in[1 - k]);
            if (sum->in[k] != c->product || bias < first || bias >= body->input_count ||
                !is_matrix(body, sum->in[1 - k], 1) ||
                !takt_dim_same(body->dims, takt_type_of(body, sum->in[1 - k])->dim[0],
                               takt_type_of(body, c->product)->dim[1]))
                continue;
            c->bias = bias;
            c->result = (takt_id)i;
        }
    }
}

static bool is_cut(const takt_node *n, takt_id id, takt_scan_cut *c)
{
    const takt_graph *body = body_of(n);
    const takt_node *m = &body->nodes[id];
    const size_t carried = (size_t)n->attr[CARRIED].i64,
                 first = carried + (size_t)n->attr[SEQUENCES].i64;
    if (m->op != &takt_op_matmul || takt_node_int(m, "transpose_a") != 0)
        return false;
    *c = (takt_scan_cut){.product = id,
                         .result = id,
                         .left = input_of(body, m->in[0]),
                         .weight = input_of(body, m->in[1]),
                         .bias = SIZE_MAX,
                         .transposes = takt_node_int(m, "transpose_b") != 0,
                         .dy = TAKT_NONE};
    if (c->left >= first || c->weight < first || c->weight >= body->input_count ||
        !is_matrix(body, m->in[0], 2) || !is_matrix(body, m->in[1], 2))
        return false;
    c->axis = c->left < carried ? 0 : takt_scan_axis(&n->attr[AXES], c->left - carried, 2);
    find_bias(n, c);
    return c->axis < 2; /* steps along the last axis are not rows of a product */
}

takt_status takt_scan_find_cuts(takt_graph *g, const takt_node *n, takt_scan_cuts *cuts)
{
    const takt_graph *body = body_of(n);
    cuts->list = takt_arena_array(&g->arena, body->count, sizeof *cuts->list);
    if (cuts->list == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < body->count; i++)
        cuts->count += is_cut(n, (takt_id)i, &cuts->list[cuts->count]);
    return TAKT_OK;
}

bool takt_scan_is_cut(const takt_node *n, const takt_scan_cuts *cuts, size_t input)
{
    size_t count = 0;
    for (size_t i = 0; i < cuts->count; i++)
        count += (size_t)(cuts->list[i].weight == input) + (cuts->list[i].bias == input);
    return count > 0 && count == uses(body_of(n), body_of(n)->inputs[input].id);
}

takt_id takt_scan_cut_value(takt_graph *g, const takt_node *n, const takt_scan_cut *c)
{
    const takt_id value = takt_matmul(g, c->x, n->in[c->weight], false, c->transposes);
    return c->bias == SIZE_MAX ? value : takt_add(g, value, n->in[c->bias]);
}

/* [a, b, k] as [a * b, k]. */
static takt_id flat(takt_graph *g, takt_id x)
{
    const takt_type *t = takt_type_of(g, x);
    const takt_dim dims[2] = {takt_make_product(g, t->dim, 2), t->dim[2]};
    return takt_reshape(g, x, dims, 2);
}

static void add_to(takt_graph *g, takt_id more, takt_id *sum)
{
    *sum = *sum == TAKT_NONE ? more : takt_add(g, *sum, more);
}

void takt_scan_cut_grad(takt_graph *g, const takt_node *n, const takt_scan_cut *c, takt_id dy,
                        takt_id *dx)
{
    if (dy == TAKT_NONE || g->status != TAKT_OK)
        return;
    const takt_id x = flat(g, c->x), d = flat(g, dy);
    add_to(g, c->transposes ? takt_matmul(g, d, x, true, false) : takt_matmul(g, x, d, true, false),
           &dx[c->weight]);
    if (c->bias != SIZE_MAX)
        add_to(g, takt_reduce_over(g, &takt_op_reduce_sum, d, (const int64_t[]){0}, 1, false),
               &dx[c->bias]);
    if (c->left >= (size_t)n->attr[CARRIED].i64)
        add_to(g, takt_matmul(g, dy, n->in[c->weight], false, !c->transposes), &dx[c->left]);
}
