/* scatter_grad.c - gradients of x and u when u was scattered into x. */
#include "op/util/scatter_grad.h"

#include "op/util/make.h"

typedef struct back {
    takt_graph *g;
    const takt_node *n;
    const takt_scatter_way *way;
    int64_t along;
    takt_id y, dy;
} back;

static takt_id gathered(const back *b, takt_id x)
{
    return b->way->gather(b->g, x, b->n->in[1], b->along);
}

static void grad_set(const back *b, takt_id *dx)
{
    const takt_id zeros = takt_make_filled(b->g, b->n->in[2], 0);
    const takt_id kept = b->way->kept(b->g, b->n, b->along);
    dx[0] = b->way->scatter(b->g, b->dy, b->n->in[1], zeros, b->along, TAKT_SET);
    dx[2] = takt_select(b->g, kept, gathered(b, b->dy), zeros);
}

/* y is a product: dy/du = y / u, and dy/dx is the product of only the u. */
static void grad_mul(const back *b, takt_id *dx)
{
    const takt_id ones = takt_make_filled(b->g, b->n->in[0], 1);
    const takt_id rest = b->way->scatter(b->g, ones, b->n->in[1], b->n->in[2], b->along, TAKT_MUL);
    dx[0] = takt_mul(b->g, b->dy, rest);
    dx[2] = takt_div(b->g, gathered(b, takt_mul(b->g, b->dy, b->y)), b->n->in[2]);
}

/* dy goes to every element that equals the result. */
static void grad_extreme(const back *b, takt_id *dx)
{
    const takt_id zero = takt_scalar_like(b->g, b->dy, 0), picked = gathered(b, b->y);
    const takt_id is_x = takt_binary(b->g, &takt_op_eq, b->n->in[0], b->y);
    const takt_id is_u = takt_binary(b->g, &takt_op_eq, b->n->in[2], picked);
    dx[0] = takt_select(b->g, is_x, b->dy, zero);
    dx[2] = takt_select(b->g, is_u, gathered(b, b->dy), zero);
}

void takt_scatter_grad(takt_graph *g, takt_id id, takt_id dy, takt_id *dx,
                       const takt_scatter_way *way)
{
    const takt_node n = *takt_node_at(g, id);
    const back b = {g, &n, way, n.attr[0].i64, id, dy};
    switch ((takt_scatter)n.attr[1].i64) {
    case TAKT_SET: grad_set(&b, dx); break;
    case TAKT_ADD:
        dx[0] = dy;
        dx[2] = gathered(&b, dy);
        break;
    case TAKT_MUL: grad_mul(&b, dx); break;
    case TAKT_MAX:
    case TAKT_MIN: grad_extreme(&b, dx); break;
    }
}
