/* roundings.c - how many roundings there are at most on the way to an element of a sum. */
#include <math.h>

#include "op/util/bound.h"
#include "op/util/conv.h"
#include "op/util/matrix.h"
#include "op/util/pool.h"

/* Chunks of 256 products, each a chain of fma; then the chunks in order. */
static double contraction(double terms)
{
    const double chunks = ceil(terms / 256);
    return (terms < 256 ? terms : 256) + chunks + 1;
}

double takt_roundings_matmul(const takt_graph *g, const takt_node *n)
{
    const takt_type *a = takt_type_of(g, n->in[0]), *b = takt_type_of(g, n->in[1]);
    const takt_matrix m = takt_matrix_of(a->rank, b->rank, n->attr[0].boolean, n->attr[1].boolean);
    return contraction((double)a->dim[m.a_inner]);
}

static double elements(const takt_type *t, int from)
{
    double count = 1;
    for (int i = from; i < t->rank; i++)
        count *= (double)t->dim[i];
    return count;
}

/* Chunks are whole taps: at most 256 products each, at worst one channel of one tap. */
static double taps(double terms, double channels)
{
    const double each = channels > 256 ? 256 : channels < 1 ? 1 : channels * floor(256 / channels);
    return (terms < 256 ? terms : 256) + ceil(terms / each) + 1;
}

double takt_roundings_conv(const takt_graph *g, const takt_node *n)
{
    const takt_type *w = takt_type_of(g, n->in[1]);
    const int last = n->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC ? w->rank - 1 : 1;
    return taps(elements(w, 1), (double)w->dim[last]) + ceil((double)w->dim[last] / 256);
}

double takt_roundings_conv_dx(const takt_graph *g, const takt_node *n)
{
    const takt_type *w = takt_type_of(g, n->in[1]);
    const double terms = elements(w, 0);
    return (terms < 256 ? terms : 256) + terms + 1;
}

double takt_roundings_conv_dw(const takt_graph *g, const takt_node *n)
{
    const takt_type *dy = takt_type_of(g, n->in[1]);
    return 256 + elements(dy, 0) + 1;
}

/* 16 lanes in chunks of 4096, a fold of the lanes, then the chunks. */
double takt_roundings_reduce(const takt_graph *g, const takt_node *n)
{
    const double in = elements(takt_type_of(g, n->in[0]), 0), out = elements(&n->type[0], 0);
    const double terms = out > 0 ? in / out : 0, lane = ceil(terms / 16);
    return (lane < 256 ? lane : 256) + 4 + ceil(terms / 4096) + 1;
}

/* The terms of the window in order, then the division. */
double takt_roundings_pool(const takt_graph *g, const takt_node *n)
{
    double count = 1;
    (void)g;
    for (uint32_t i = 0; i < n->attr[TAKT_POOL_KERNEL].count; i++)
        count *= (double)n->attr[TAKT_POOL_KERNEL].i64s[i];
    return count + 3;
}

double takt_roundings_chain(const takt_graph *g, const takt_node *n)
{
    double most = 0;
    for (size_t k = 0; k < n->in_count; k++) {
        const double count = n->in[k] != TAKT_NONE ? elements(takt_type_of(g, n->in[k]), 0) : 0;
        most = count > most ? count : most;
    }
    return most + 1;
}
