/* fold_cost.c - the cost of evaluating a node during import.
 *
 * A file of a few hundred bytes can contain a product of huge matrices of ones, or nested loops,
 * and make a shape depend on the result. So a load has a budget for folding, and keeps only results
 * in proportion to the file size.
 */
#include <math.h>

#include "io/onnx/import.h"
#include "op/util/make.h"

/* The number of elements; if one size is 0, the product of the other sizes: an evaluation may
 * iterate over all of them to find nothing. */
static double places(const takt_type *t)
{
    double count = 1;
    for (int i = 0; i < t->rank; i++)
        count *= fmax((double)t->dim[i], 1);
    return count;
}

/* Arithmetic and elements touched, excluding subgraphs. */
static double own_cost(const takt_graph *g, const takt_node *n)
{
    takt_cost cost = {0};
    double elements = 1;
    if (n->op->cost != NULL)
        n->op->cost(g, n, &cost);
    for (uint32_t i = 0; i < n->in_count; i++)
        if (n->in[i] != TAKT_NONE)
            elements += places(takt_type_of(g, n->in[i]));
    for (uint32_t i = 0; i < n->out_count; i++)
        elements += places(&n->type[i]);
    return elements + fmax(cost.flops, 0);
}

static double graph_cost(const takt_graph *g);

/* The cost of all subgraphs, each once. */
static double children_cost(const takt_node *n)
{
    double cost = 0;
    const size_t count = takt_op_attr_count(n->op);
    for (size_t i = 0; i < count; i++)
        if (n->op->attrs[i].type == TAKT_ATTR_GRAPH && n->attr[i].is_set)
            cost += graph_cost(n->attr[i].graph); /* depth is limited when a child is added */
    return cost;
}

/* Number of times a node runs its subgraphs, if its types show it. */
static double iterations(const takt_graph *g, const takt_node *n)
{
    double most = 1;
    if (n->op == &takt_op_loop)
        return (double)g->ctx->limits.trip_count;
    for (uint32_t i = 0; n->op == &takt_op_scan && i < n->in_count; i++) {
        const takt_type *t = takt_type_of(g, n->in[i]);
        for (int k = 0; k < t->rank; k++)
            most = fmax(most, (double)t->dim[k]);
    }
    return most;
}

static double graph_cost(const takt_graph *g)
{
    double cost = 0;
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = takt_node_at(g, (takt_id)i);
        cost += own_cost(g, n);
        if ((n->op->traits & TAKT_CONTROL) != 0)
            cost += iterations(g, n) * children_cost(n);
    }
    return cost;
}

bool takt_fold_affords(takt_room *room, const takt_node *n)
{
    takt_import *im = room->im;
    double work = own_cost(room->g, n), elements = 0;
    for (uint32_t i = 0; i < n->out_count; i++)
        elements += takt_make_count(&n->type[i]);
    if ((n->op->traits & TAKT_CONTROL) != 0) {
        double times = iterations(room->g, n);
        if (n->op == &takt_op_loop) /* the trip count is known: all inputs are */
            times = fmin(times, (double)room->facts[n->in[0]].known->i[0]);
        work += fmax(times, 0) * children_cost(n);
    }
    if (work > im->fold_work || elements > im->fold_elements)
        return false;
    im->fold_work -= work;
    im->fold_elements -= elements;
    return true;
}
