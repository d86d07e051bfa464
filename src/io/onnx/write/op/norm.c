/* norm.c - normalisations that ONNX has in the same form. */
#include "io/onnx/write/emit.h"
#include "op/util/last_axes.h"

static bool exact(const takt_node *n, double epsilon)
{
    return n->type[0].dtype != TAKT_F64 || (double)(float)epsilon == epsilon;
}

static bool batch(takt_emit *e, const takt_node *n)
{
    enum { EPSILON, LAYOUT };
    const char *in[5];
    if (n->attr[LAYOUT].i64 != 0 || !exact(n, n->attr[EPSILON].f64))
        return false;
    for (size_t i = 0; i < 5; i++)
        in[i] = takt_emit_in(e, i);
    takt_emit_f(e, "epsilon", n->attr[EPSILON].f64);
    takt_emit_call(e, "BatchNormalization", e->out, 5, in);
    return true;
}

/* ONNX needs scale and bias in the shape of the axes. */
static bool layer(takt_emit *e, const takt_node *n)
{
    const takt_type *x = takt_emit_type(e, 0);
    const int64_t given = n->attr[TAKT_LAST_AXIS].i64;
    const int first = (int)(given < 0 ? given + x->rank : given);
    if (!exact(n, n->attr[TAKT_LAST_EPSILON].f64))
        return false;
    for (uint32_t i = 1; i < n->in_count; i++) {
        const takt_type *t = takt_emit_type(e, i);
        if (t->rank != x->rank - first)
            return false;
        for (int d = 0; d < t->rank; d++)
            if (!takt_dim_same(e->root->dims, t->dim[d], x->dim[first + d]))
                return false;
    }
    takt_emit_i(e, "axis", given);
    takt_emit_f(e, "epsilon", n->attr[TAKT_LAST_EPSILON].f64);
    takt_emit_3(e, "LayerNormalization", e->out, takt_emit_in(e, 0), takt_emit_in(e, 1),
                takt_emit_in(e, 2));
    return true;
}

static bool group(takt_emit *e, const takt_node *n)
{
    enum { GROUPS, EPSILON, LAYOUT };
    if (n->in_count < 3 || n->attr[LAYOUT].i64 != 0 || !exact(n, n->attr[EPSILON].f64))
        return false;
    takt_emit_i(e, "num_groups", n->attr[GROUPS].i64);
    takt_emit_f(e, "epsilon", n->attr[EPSILON].f64);
    takt_emit_3(e, "GroupNormalization", e->out, takt_emit_in(e, 0), takt_emit_in(e, 1),
                takt_emit_in(e, 2));
    return true;
}

static bool instance(takt_emit *e, const takt_node *n)
{
    enum { EPSILON, LAYOUT };
    if (n->in_count < 3 || n->attr[LAYOUT].i64 != 0 || !exact(n, n->attr[EPSILON].f64))
        return false;
    takt_emit_f(e, "epsilon", n->attr[EPSILON].f64);
    takt_emit_3(e, "InstanceNormalization", e->out, takt_emit_in(e, 0), takt_emit_in(e, 1),
                takt_emit_in(e, 2));
    return true;
}

static bool emit(takt_emit *e, const takt_node *n)
{
    return n->op == &takt_op_batch_norm   ? batch(e, n)
           : n->op == &takt_op_layer_norm ? layer(e, n)
           : n->op == &takt_op_group_norm ? group(e, n)
                                          : instance(e, n);
}

const takt_emitter takt_emit_op_norm = {
    .ops = {&takt_op_batch_norm, &takt_op_layer_norm, &takt_op_group_norm, &takt_op_instance_norm},
    .emit = emit,
};
