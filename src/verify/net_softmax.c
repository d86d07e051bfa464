/* net_softmax.c - softmax as 1 / sum over j of exp(x_j - x_i).
 *
 * Differences cancel what all elements have in common, so its lines are tighter than those of the
 * lowering, which subtracts the greatest element. The kernel's error is a fraction of the result,
 * as in `bound` of op/softmax.c: (n + depth) units, where depth is the distance to the greatest
 * element. Beyond 112 (f64: 760) the result is less than the least number, and `tiny` covers it. */
#include "op/util/bound.h"
#include "verify/net_build.h"

enum { DEPTH = 112, DEPTH_F64 = 760, PAIRS = 1 << 22 };

typedef struct axis {
    size_t size, step, count; /* elements along it, their distance, elements in all */
} axis;

static axis axis_of(const takt_node *n)
{
    const takt_type *t = &n->type[0];
    const int64_t at = n->attr[0].i64 < 0 ? n->attr[0].i64 + t->rank : n->attr[0].i64;
    axis a = {.size = (size_t)t->dim[at], .step = 1, .count = takt_net_elements(t)};
    for (int64_t i = at + 1; i < t->rank; i++)
        a.step *= (size_t)t->dim[i];
    return a;
}

/* Element k of the axis that contains element `flat`. */
static size_t along(const axis *a, size_t flat, size_t k)
{
    return flat / (a->step * a->size) * (a->step * a->size) + k * a->step + flat % a->step;
}

typedef struct matrix {
    uint32_t id;
    uint32_t *columns;
    double *values;
} matrix;

static takt_status sparse(takt_net_builder *b, size_t count, size_t each, uint32_t source,
                          matrix *m)
{
    m->id = takt_net_add(b, NULL, TAKT_NET_SUM, count);
    takt_net_part *part = m->id != UINT32_MAX ? takt_net_parts(b, m->id, 1) : NULL;
    size_t *starts = takt_arena_array(&b->net->arena, count + 1, sizeof *starts);
    m->columns = takt_arena_array(&b->net->arena, count * each, sizeof *m->columns);
    m->values = takt_arena_array(&b->net->arena, count * each, sizeof *m->values);
    if (part == NULL || starts == NULL || m->columns == NULL || m->values == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i <= count; i++)
        starts[i] = i * each;
    b->net->nodes[m->id].label = "softmax";
    *part = (takt_net_part){.form = TAKT_NET_SPARSE,
                            .source = source,
                            .values = m->values,
                            .columns = m->columns,
                            .starts = starts};
    return TAKT_OK;
}

static takt_status curve(takt_net_builder *b, const takt_node *of, uint32_t source, uint32_t *id)
{
    const uint32_t count = b->net->nodes[source].count;
    *id = takt_net_add(b, NULL, TAKT_NET_CURVE, count);
    if (*id == UINT32_MAX)
        return TAKT_ERR_MEMORY;
    b->net->nodes[*id].of = of;
    b->net->nodes[*id].sources[0] = source;
    b->net->nodes[*id].label = "softmax";
    return TAKT_OK;
}

static takt_status finish(takt_net_builder *b, const takt_node *n, uint32_t source,
                          takt_net_value *out)
{
    matrix m;
    TAKT_TRY(sparse(b, b->net->nodes[source].count, 1, source, &m));
    takt_net_node *node = &b->net->nodes[m.id];
    for (uint32_t i = 0; i < node->count; i++) {
        m.columns[i] = i;
        m.values[i] = 1;
    }
    if (!b->is_real) {
        const takt_grid grid = takt_grid_of(n->type[0].dtype);
        const double depth = n->type[0].dtype == TAKT_F64 ? DEPTH_F64 : DEPTH;
        node->share = (n->op->error.roundings(b->graph, n) + depth + 2) * grid.ulp;
        node->tiny = n->type[0].dtype == TAKT_F64 ? 0x1p-1000 : 0x1p-120;
        node->ulp = grid.ulp;
    }
    *out = (takt_net_value){.node = m.id};
    return TAKT_OK;
}

takt_status takt_net_softmax(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                             takt_net_value *out, bool *done)
{
    static const takt_node power = {.op = &takt_op_exp}, inverse = {.op = &takt_op_reciprocal};
    if (n->op != &takt_op_softmax)
        return TAKT_OK;
    const axis a = axis_of(n);
    const takt_dtype dtype = n->type[0].dtype;
    uint32_t e, p;
    matrix d, s;
    if (a.size == 0 || a.count * a.size > PAIRS || (dtype != TAKT_F32 && dtype != TAKT_F64))
        return takt_net_refuse(b, n, "it is too large, or of a narrow type");
    TAKT_TRY(sparse(b, a.count * a.size, 2, in[0]->node, &d));
    uint32_t *negative = takt_arena_array(&b->net->arena, a.count * a.size, sizeof *negative);
    if (negative == NULL)
        return TAKT_ERR_MEMORY;
    b->net->nodes[d.id].negative = negative;
    for (size_t i = 0; i < a.count * a.size; i++) {
        const size_t to = i / a.size;
        d.columns[2 * i] = (uint32_t)along(&a, to, i % a.size);
        d.columns[2 * i + 1] = (uint32_t)to;
        /* exp(0) of an element with itself. */
        d.values[2 * i] = d.columns[2 * i] == to ? 0 : 1;
        d.values[2 * i + 1] = -d.values[2 * i];
        negative[i] = (uint32_t)(d.columns[2 * i] * a.size + to / a.step % a.size);
    }
    TAKT_TRY(curve(b, &power, d.id, &e));
    TAKT_TRY(sparse(b, a.count, a.size, e, &s));
    for (size_t i = 0; i < a.count * a.size; i++) {
        s.columns[i] = (uint32_t)i;
        s.values[i] = 1;
    }
    TAKT_TRY(curve(b, &inverse, s.id, &p));
    *done = true;
    return finish(b, n, p, out);
}
