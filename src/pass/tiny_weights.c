/* tiny_weights.c - weights that are nothing next to the largest of their tensor become 0.
 *
 * Training with weight decay drives channels that nothing reads towards 0, through denormal
 * numbers. x86-64 takes about 150 cycles for a product with one, and as many for a sum that is one.
 */
#include <float.h>
#include <math.h>

#include "ir/late.h"
#include "ir/leaves.h"
#include "op/ops.h"
#include "pass/magnitude.h"
#include "pass/passes.h"

/* Below both: a product with a number of 2^-26 is normal; and 2^-60 of the largest weight is far
 * below the rounding of whatever adds the two. */
static const double tiny = 0x1p-100, part = 0x1p-60;

static float bound_of(takt_magnitude m)
{
    if (!m.is_known || !(m.most <= DBL_MAX))
        return 0;
    const double bound = part * m.most < tiny ? part * m.most : tiny;
    return m.least < bound ? (float)bound : 0;
}

static takt_id without(takt_graph *g, const takt_tensor *weights, float bound)
{
    takt_tensor out = {0};
    const takt_status status = takt_tensor_create(g->ctx, &weights->type, &out);
    if (status != TAKT_OK)
        return takt_graph_fail(g, status);
    const float *from = takt_tensor_data(weights);
    float *to = takt_tensor_data(&out);
    const size_t count = takt_tensor_count(weights);
    for (size_t i = 0; i < count; i++)
        to[i] = fabsf(from[i]) < bound ? 0 : from[i];
    const takt_id id = takt_graph_constant(g, &out);
    takt_tensor_release(&out);
    return id;
}

/* Constants behind moves, without what is tiny; `id` itself if nothing is. */
static takt_id cleaned(takt_graph *g, takt_id id, int depth)
{
    enum { DEPTH = 3 };
    const takt_node n = g->nodes[id];
    if (n.type->dtype != TAKT_F32)
        return id;
    if (n.op == &takt_op_constant) {
        const takt_tensor *t = n.attr[0].tensor;
        const bool is_here = t->storage != NULL && !takt_storage_began_late(t->storage);
        const float bound = is_here ? bound_of(takt_magnitude_of(g, id)) : 0;
        return bound > 0 ? without(g, t, bound) : id;
    }
    if (depth == DEPTH || n.in_count != 1 || (n.op->traits & TAKT_VIEW) == 0)
        return id;
    const takt_id in = cleaned(g, n.in[0], depth + 1);
    return in == n.in[0] || in == TAKT_NONE ? id : takt_graph_append(g, n.op, 1, &in, n.attr);
}

static takt_id product(takt_rewrite *r, const takt_node *n)
{
    const takt_id weights = cleaned(r->out, n->in[1], 0);
    if (weights == n->in[1] || weights == TAKT_NONE)
        return TAKT_NONE;
    const takt_id in[] = {n->in[0], weights};
    return takt_graph_append(r->out, n->op, 2, in, n->attr);
}

static const takt_rule rules[] = {
    {&takt_op_conv, "conv(x, w) = conv(x, w without what is tiny)", product},
    {&takt_op_conv_dx, "conv_dx(y, w) = conv_dx(y, w without what is tiny)", product},
    {&takt_op_matmul, "a @ w = a @ (w without what is tiny)", product},
};

const takt_pass takt_pass_tiny_weights = {
    .name = "tiny-weights",
    .summary = "make weights 0 that are denormal, or nearly, next to others of their tensor",
    .licence = "Tiny weights",
    TAKT_RULES(rules),
};
