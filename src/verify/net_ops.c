/* net_ops.c - rules of nets: moves, arithmetic with constants, functions of one or two values. */
#include <math.h>
#include <string.h>

#include "interp/interp.h"
#include "op/util/bound.h"
#include "verify/net_build.h"

size_t takt_net_broadcast(const takt_type *out, const takt_type *in, size_t flat)
{
    size_t index = 0, step = 1;
    for (int i = out->rank - 1, k = in->rank - 1; i >= 0; i--, k--) {
        const size_t at = flat % (size_t)out->dim[i];
        flat /= (size_t)out->dim[i];
        if (k >= 0) {
            index += in->dim[k] == 1 ? 0 : at * step;
            step *= (size_t)in->dim[k];
        }
    }
    return index;
}

/* ---- moves ---- */

/* Every element gets its own number; the position of a number in the result shows where its element
 * goes. Two numberings distinguish moved elements from constants. Numbers are exact in every float
 * type of 24 bits or more. */
static double number_of(size_t element, bool is_second)
{
    enum { FIRST = 4099, BASE = 1 << 23 };
    const double number = (double)(element + FIRST);
    return is_second ? BASE - number : number;
}

static takt_status probe(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                         bool is_second, takt_array *out)
{
    takt_ctx *ctx = b->net->ctx;
    takt_array *arrays = takt_arena_array(b->arena, n->in_count, sizeof *arrays);
    takt_status status = arrays != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    size_t next = 0;
    for (uint32_t k = 0; status == TAKT_OK && k < n->in_count; k++) {
        arrays[k] = (takt_array){.rank = -1};
        if (in[k] == NULL)
            continue;
        if (in[k]->is_known) {
            status = takt_array_copy(ctx, &in[k]->known, &arrays[k]);
            continue;
        }
        status = takt_array_create(ctx, takt_type_of(b->graph, n->in[k]), &arrays[k]);
        for (size_t i = 0; status == TAKT_OK && i < arrays[k].count; i++)
            arrays[k].f[i] = number_of(next++, is_second);
    }
    if (status == TAKT_OK)
        status = takt_interpret_node(ctx, b->graph, n, arrays, out);
    for (uint32_t k = 0; arrays != NULL && k < n->in_count; k++)
        if (arrays[k].count > 0)
            takt_array_release(ctx, &arrays[k]);
    return status;
}

/* A result as index maps of the inputs; absent if the op does more than move elements. */
static takt_status read_moves(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                              uint32_t result, const takt_array *const found[2],
                              takt_net_value *out)
{
    const takt_array *one = found[0], *two = found[1];
    const size_t count = takt_net_elements(&n->type[result]);
    const uint32_t id = takt_net_add(b, n, TAKT_NET_SUM, count);
    takt_net_part *parts = id != UINT32_MAX ? takt_net_parts(b, id, n->in_count) : NULL;
    double *bias = takt_arena_array(&b->net->arena, count, sizeof *bias);
    if (parts == NULL || bias == NULL)
        return TAKT_ERR_MEMORY;
    size_t first = 0, kept = 0;
    double *left = takt_arena_array(b->arena, count, sizeof *left);
    if (left == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        left[i] = one->f[i] == two->f[i] ? 0 : 1;
    for (uint32_t k = 0; k < n->in_count; k++) {
        if (in[k] == NULL || in[k]->is_known)
            continue;
        const size_t size = b->net->nodes[in[k]->node].count;
        uint32_t *columns = takt_arena_array(&b->net->arena, count, sizeof *columns);
        if (columns == NULL)
            return TAKT_ERR_MEMORY;
        for (size_t i = 0; i < count; i++) {
            const double at = one->f[i] - number_of(first, false);
            columns[i] = UINT32_MAX;
            if (left[i] == 1 && at >= 0 && at < (double)size &&
                two->f[i] == number_of(first + (size_t)at, true)) {
                columns[i] = (uint32_t)at;
                left[i] = 0;
            }
        }
        parts[kept++] = (takt_net_part){
            .form = TAKT_NET_MAP, .source = in[k]->node, .factor = 1, .columns = columns};
        first += size;
    }
    bool is_constant = true;
    for (size_t i = 0; i < count; i++) {
        if (left[i] == 1) { /* the node stays unused */
            out[result].is_absent = true;
            return TAKT_OK;
        }
        bias[i] = one->f[i] == two->f[i] ? one->f[i] : 0;
        is_constant = is_constant && bias[i] == 0;
    }
    takt_net_node *node = &b->net->nodes[id];
    node->part_count = kept;
    node->bias = is_constant ? NULL : bias;
    out[result] = (takt_net_value){.node = id};
    return TAKT_OK;
}

static bool may_move(const takt_node *n, const takt_net_builder *b, takt_net_value *const *in)
{
    size_t count = 0;
    for (uint32_t k = 0; k < n->in_count; k++)
        if (in[k] != NULL && !in[k]->is_known) {
            const takt_dtype dtype = takt_type_of(b->graph, n->in[k])->dtype;
            /* A conversion to fewer bits keeps these numbers, but not other values. */
            if ((dtype != TAKT_F32 && dtype != TAKT_F64) ||
                (n->type[0].dtype != dtype && n->type[0].dtype != TAKT_F64))
                return false;
            count += b->net->nodes[in[k]->node].count;
        }
    return count < (1 << 21) && n->op->error.ulps == 0 && n->op->error.roundings == NULL &&
           takt_dtype_is_float(n->type[0].dtype) &&
           ((n->op->traits & TAKT_VIEW) != 0 || n->op->affine != 0);
}

takt_status takt_net_moves(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                           takt_net_value *out, bool *done)
{
    takt_array *results = takt_arena_array(b->arena, 2 * n->out_count, sizeof *results);
    if (results == NULL)
        return TAKT_ERR_MEMORY;
    if (!may_move(n, b, in))
        return TAKT_OK;
    TAKT_TRY(probe(b, n, in, false, results));
    takt_status status = probe(b, n, in, true, results + n->out_count);
    bool all = status == TAKT_OK;
    for (uint32_t k = 0; status == TAKT_OK && k < n->out_count && all; k++) {
        const takt_array *const found[2] = {&results[k], &results[n->out_count + k]};
        status = read_moves(b, n, in, k, found, out);
        all = !out[k].is_absent;
    }
    for (uint32_t k = 0; k < 2 * n->out_count; k++)
        if (results[k].count > 0)
            takt_array_release(b->net->ctx, &results[k]);
    *done = all;
    return status;
}

/* ---- arithmetic ---- */

/* Element-wise: factor times the broadcast input; `values` multiply or divide. */
static takt_status map_part(takt_net_builder *b, const takt_node *n, uint32_t k, double factor,
                            const takt_net_value *by, takt_net_part *part)
{
    const size_t count = takt_net_elements(&n->type[0]);
    uint32_t *columns = takt_arena_array(&b->net->arena, count, sizeof *columns);
    double *values = takt_arena_array(&b->net->arena, by != NULL ? count : 0, sizeof *values);
    if (columns == NULL || values == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        columns[i] = (uint32_t)takt_net_broadcast(&n->type[0], takt_type_of(b->graph, n->in[k]), i);
        if (by != NULL) {
            const takt_type *t = takt_type_of(b->graph, n->in[1 - k]);
            const double value = by->known.f[takt_net_broadcast(&n->type[0], t, i)];
            values[i] = n->op == &takt_op_div ? 1 / value : value;
        }
    }
    *part = (takt_net_part){.form = TAKT_NET_MAP,
                            .source = b->values[n->in[k]]->node,
                            .factor = factor,
                            .values = by != NULL ? values : NULL,
                            .columns = columns};
    return TAKT_OK;
}

static takt_status add_bias(takt_net_builder *b, const takt_node *n, uint32_t k, double factor,
                            const takt_net_value *v, uint32_t id)
{
    const size_t count = takt_net_elements(&n->type[0]);
    double *bias = takt_arena_array(&b->net->arena, count, sizeof *bias);
    if (bias == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        bias[i] = factor *
                  v->known.f[takt_net_broadcast(&n->type[0], takt_type_of(b->graph, n->in[k]), i)];
    b->net->nodes[id].bias = bias;
    return TAKT_OK;
}

static takt_status sum(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                       takt_net_value *out)
{
    const uint32_t id = takt_net_add(b, n, TAKT_NET_SUM, takt_net_elements(&n->type[0]));
    takt_net_part *parts = id != UINT32_MAX ? takt_net_parts(b, id, 2) : NULL;
    if (parts == NULL)
        return TAKT_ERR_MEMORY;
    size_t kept = 0;
    for (uint32_t k = 0; k < n->in_count; k++) {
        const double factor = n->op == &takt_op_neg || (n->op == &takt_op_sub && k == 1) ? -1 : 1;
        if (in[k]->is_known)
            TAKT_TRY(add_bias(b, n, k, factor, in[k], id));
        else
            TAKT_TRY(map_part(b, n, k, factor, NULL, &parts[kept++]));
    }
    b->net->nodes[id].part_count = kept;
    *out = (takt_net_value){.node = id};
    return TAKT_OK;
}

static takt_status scaled(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                          takt_net_value *out)
{
    const uint32_t k = in[0]->is_known ? 1 : 0;
    const uint32_t id = takt_net_add(b, n, TAKT_NET_SUM, takt_net_elements(&n->type[0]));
    takt_net_part *parts = id != UINT32_MAX ? takt_net_parts(b, id, 1) : NULL;
    if (parts == NULL)
        return TAKT_ERR_MEMORY;
    *out = (takt_net_value){.node = id};
    return map_part(b, n, k, 1, in[1 - k], parts);
}

takt_status takt_net_arithmetic(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                                takt_net_value *out, bool *done)
{
    const takt_op *op = n->op;
    *done = true;
    if (op == &takt_op_add || op == &takt_op_sub || op == &takt_op_neg)
        return sum(b, n, in, out);
    if ((op == &takt_op_mul && (in[0]->is_known || in[1]->is_known)) ||
        (op == &takt_op_div && in[1]->is_known))
        return scaled(b, n, in, out);
    *done = false;
    return TAKT_OK;
}

/* ---- functions ---- */

/* An input as a node with as many elements as the result. */
static takt_status operand(takt_net_builder *b, const takt_node *n, uint32_t k,
                           const takt_net_value *v, uint32_t *id)
{
    const size_t count = takt_net_elements(&n->type[0]);
    if (!v->is_known && b->net->nodes[v->node].count == count) {
        *id = v->node;
        return TAKT_OK;
    }
    *id = takt_net_add(b, NULL, TAKT_NET_SUM, count);
    if (*id == UINT32_MAX)
        return TAKT_ERR_MEMORY;
    b->net->nodes[*id].label = n->op->name;
    if (v->is_known)
        return add_bias(b, n, k, 1, v, *id);
    takt_net_part *part = takt_net_parts(b, *id, 1);
    return part != NULL ? map_part(b, n, k, 1, NULL, part) : TAKT_ERR_MEMORY;
}

/* c / x as c times 1 / x; its one rounding is that of the division. */
static takt_status quotient(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                            takt_net_value *out)
{
    static const takt_node inverse = {.op = &takt_op_reciprocal}, product = {.op = &takt_op_mul};
    const size_t count = takt_net_elements(&n->type[0]);
    uint32_t x, y;
    TAKT_TRY(operand(b, n, 0, in[0], &x));
    TAKT_TRY(operand(b, n, 1, in[1], &y));
    const uint32_t over = takt_net_add(b, NULL, TAKT_NET_CURVE, count);
    const uint32_t id = takt_net_add(b, n, TAKT_NET_PAIR, count);
    if (over == UINT32_MAX || id == UINT32_MAX)
        return TAKT_ERR_MEMORY;
    b->net->nodes[over].label = "reciprocal";
    b->net->nodes[over].of = &inverse;
    b->net->nodes[over].sources[0] = y;
    b->net->nodes[id].of = &product;
    b->net->nodes[id].sources[0] = x;
    b->net->nodes[id].sources[1] = over;
    *out = (takt_net_value){.node = id};
    return TAKT_OK;
}

takt_status takt_net_functions(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                               takt_net_value *out, bool *done)
{
    static const takt_node square = {.op = &takt_op_square};
    if (n->op == &takt_op_div) {
        *done = true;
        return quotient(b, n, in, out);
    }
    if (n->op->relax == NULL || (n->op->traits & TAKT_ELEMENTWISE) == 0 || n->in_count > 2)
        return TAKT_OK;
    const bool is_square = n->in_count == 2 && n->op == &takt_op_mul && n->in[0] == n->in[1];
    const bool is_pair = n->in_count == 2 && !is_square;
    uint32_t sources[2] = {0};
    for (uint32_t k = 0; k < (is_pair ? 2U : 1U); k++)
        TAKT_TRY(operand(b, n, k, in[k], &sources[k]));
    const uint32_t id = takt_net_add(b, n, is_pair ? TAKT_NET_PAIR : TAKT_NET_CURVE,
                                     takt_net_elements(&n->type[0]));
    if (id == UINT32_MAX)
        return TAKT_ERR_MEMORY;
    memcpy(b->net->nodes[id].sources, sources, sizeof sources);
    if (is_square)
        b->net->nodes[id].of = &square;
    *out = (takt_net_value){.node = id};
    *done = true;
    return TAKT_OK;
}

takt_status takt_net_greatest(takt_net_builder *b, const takt_node *n, uint32_t *nodes,
                              size_t count, uint32_t *out)
{
    static const takt_node max = {.op = &takt_op_max};
    for (; count > 1; count = (count + 1) / 2)
        for (size_t i = 0; i < count / 2; i++) {
            const uint32_t size = b->net->nodes[nodes[0]].count;
            const uint32_t id = takt_net_add(b, NULL, TAKT_NET_PAIR, size);
            if (id == UINT32_MAX)
                return TAKT_ERR_MEMORY;
            takt_net_node *node = &b->net->nodes[id];
            node->of = &max;
            node->label = n->op->name;
            node->sources[0] = nodes[2 * i];
            node->sources[1] = nodes[2 * i + 1];
            nodes[i] = id;
            if (i == count / 2 - 1 && count % 2 == 1)
                nodes[i + 1] = nodes[count - 1];
        }
    *out = nodes[0];
    return TAKT_OK;
}
