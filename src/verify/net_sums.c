/* net_sums.c - rules of nets: convolutions, pools and reductions. */
#include <string.h>

#include "op/util/conv.h"
#include "op/util/pool.h"
#include "op/util/reduce.h"
#include "verify/net_rows.h"

/* ---- windows ---- */

static takt_array array_of(const takt_type *t)
{
    takt_array a = {.dtype = t->dtype, .rank = t->rank};
    for (int i = 0; i < t->rank; i++)
        a.dim[i] = t->dim[i];
    return a;
}

typedef struct place {
    int64_t sizes[TAKT_SPATIAL], kernel[TAKT_SPATIAL];
    int64_t at[TAKT_SPATIAL];
    int64_t image, channel;
} place;

/* Image, channel and position of element `flat` of y. */
static place place_of(const takt_window *w, const takt_array *y, size_t flat)
{
    place p = {0};
    const bool last = w->first == 1;
    if (last) {
        p.channel = (int64_t)(flat % (size_t)y->dim[w->channel]);
        flat /= (size_t)y->dim[w->channel];
    }
    for (int i = w->spatial - 1; i >= 0; i--) {
        p.at[i] = (int64_t)(flat % (size_t)y->dim[w->first + i]);
        flat /= (size_t)y->dim[w->first + i];
    }
    if (!last) {
        p.channel = (int64_t)(flat % (size_t)y->dim[w->channel]);
        flat /= (size_t)y->dim[w->channel];
    }
    p.image = (int64_t)flat;
    return p;
}

static size_t taps_of(const takt_window *w)
{
    return (size_t)(w->kernel[0] * w->kernel[1] * w->kernel[2]);
}

static takt_status convolution(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                               takt_net_value *out)
{
    static const takt_window_attrs at = {.kernel = -1,
                                         .stride = TAKT_CONV_STRIDE,
                                         .dilation = TAKT_CONV_DILATION,
                                         .pad = TAKT_CONV_PAD,
                                         .layout = TAKT_CONV_LAYOUT,
                                         .ceil = -1};
    if (!in[1]->is_known || in[0]->is_known)
        return takt_net_refuse(b, n, "its weights are not constant");
    const takt_array x = array_of(takt_type_of(b->graph, n->in[0])), y = array_of(&n->type[0]);
    const takt_array *w = &in[1]->known;
    takt_window v = takt_window_read(n->attr, &at, x.rank);
    for (int i = 0; i < TAKT_SPATIAL; i++)
        v.kernel[i] = i < v.spatial ? w->dim[v.first + i] : 1;
    const size_t count = takt_net_elements(&n->type[0]);
    const int64_t depth = w->dim[v.channel], groups = n->attr[TAKT_CONV_GROUPS].i64;
    const int64_t per_group = y.dim[v.channel] / groups;
    int64_t size[TAKT_SPATIAL], from[TAKT_SPATIAL];
    takt_window_sizes(&v, &x, size);
    takt_net_rows m;
    TAKT_TRY(takt_net_rows_begin(&m, b, count, count * taps_of(&v) * (size_t)depth));
    for (size_t i = 0; i < count; i++) {
        const place p = place_of(&v, &y, i);
        int64_t tap[TAKT_SPATIAL] = {0};
        do {
            if (!takt_window_tap(&v, size, p.at, tap, from))
                continue;
            for (int64_t c = 0; c < depth; c++) {
                const int64_t channel = p.channel / per_group * depth + c;
                takt_net_rows_put(&m, takt_window_flat(&v, &x, p.image, channel, from),
                                  w->f[takt_window_flat(&v, w, p.channel, c, tap)]);
            }
        } while (takt_window_next(v.kernel, tap));
        takt_net_rows_next(&m);
    }
    return takt_net_rows_end(&m, n, in[0]->node, out);
}

static takt_status average(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                           takt_net_value *out)
{
    const takt_array x = array_of(takt_type_of(b->graph, n->in[0])), y = array_of(&n->type[0]);
    const takt_window v = takt_pool_window(n->attr, x.rank);
    const size_t count = takt_net_elements(&n->type[0]);
    int64_t size[TAKT_SPATIAL], from[TAKT_SPATIAL];
    takt_window_sizes(&v, &x, size);
    takt_net_rows m;
    TAKT_TRY(takt_net_rows_begin(&m, b, count, count * taps_of(&v)));
    for (size_t i = 0; i < count; i++) {
        const place p = place_of(&v, &y, i);
        int64_t tap[TAKT_SPATIAL] = {0}, padded = 0;
        const size_t first = m.at;
        do {
            if (takt_window_tap(&v, size, p.at, tap, from))
                takt_net_rows_put(&m, takt_window_flat(&v, &x, p.image, p.channel, from), 1);
            else {
                bool is_inside = true; /* of the padding, which a last window may exceed */
                for (int k = 0; k < v.spatial; k++)
                    is_inside = is_inside && from[k] < size[k] + v.after[k];
                padded += is_inside;
            }
        } while (takt_window_next(v.kernel, tap));
        if (!n->attr[TAKT_POOL_COUNT_PAD].boolean)
            padded = 0;
        for (size_t k = first; k < m.at; k++)
            m.values[k] = 1 / (double)((int64_t)(m.at - first) + padded);
        takt_net_rows_next(&m);
    }
    return takt_net_rows_end(&m, n, in[0]->node, out);
}

/* One map per tap; a tap in the padding repeats one that is not. */
static takt_status greatest(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                            takt_net_value *out)
{
    const takt_array x = array_of(takt_type_of(b->graph, n->in[0])), y = array_of(&n->type[0]);
    const takt_window v = takt_pool_window(n->attr, x.rank);
    const size_t count = takt_net_elements(&n->type[0]), taps = taps_of(&v);
    int64_t size[TAKT_SPATIAL], from[TAKT_SPATIAL], tap[TAKT_SPATIAL] = {0};
    uint32_t *nodes = takt_arena_array(b->arena, taps, sizeof *nodes);
    uint32_t *first = takt_arena_array(b->arena, count, sizeof *first);
    if (nodes == NULL || first == NULL)
        return TAKT_ERR_MEMORY;
    takt_window_sizes(&v, &x, size);
    memset(first, 0xff, count * sizeof *first);
    for (size_t t = 0; t < taps; t++, takt_window_next(v.kernel, tap)) {
        nodes[t] = takt_net_add(b, NULL, TAKT_NET_SUM, count);
        takt_net_part *part = nodes[t] != UINT32_MAX ? takt_net_parts(b, nodes[t], 1) : NULL;
        uint32_t *columns = takt_arena_array(&b->net->arena, count, sizeof *columns);
        if (part == NULL || columns == NULL)
            return TAKT_ERR_MEMORY;
        b->net->nodes[nodes[t]].label = n->op->name;
        for (size_t i = 0; i < count; i++) {
            const place p = place_of(&v, &y, i);
            columns[i] = UINT32_MAX;
            if (takt_window_tap(&v, size, p.at, tap, from))
                columns[i] = (uint32_t)takt_window_flat(&v, &x, p.image, p.channel, from);
            if (first[i] == UINT32_MAX)
                first[i] = columns[i];
        }
        *part = (takt_net_part){
            .form = TAKT_NET_MAP, .source = in[0]->node, .factor = 1, .columns = columns};
    }
    for (size_t t = 0; t < taps; t++) {
        uint32_t *columns = (uint32_t *)b->net->nodes[nodes[t]].parts[0].columns;
        for (size_t i = 0; i < count; i++)
            columns[i] = columns[i] == UINT32_MAX ? first[i] : columns[i];
    }
    *out = (takt_net_value){0};
    return takt_net_greatest(b, n, nodes, taps, &out->node);
}

/* The roundings of a sum of squares include those of the squares. */
static takt_status squares(takt_net_builder *b, uint32_t source, uint32_t *id)
{
    static const takt_node square = {.op = &takt_op_square};
    *id = takt_net_add(b, NULL, TAKT_NET_CURVE, b->net->nodes[source].count);
    if (*id == UINT32_MAX)
        return TAKT_ERR_MEMORY;
    b->net->nodes[*id].of = &square;
    b->net->nodes[*id].sources[0] = source;
    b->net->nodes[*id].label = "square";
    return TAKT_OK;
}

static takt_status reduction(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                             takt_net_value *out)
{
    const takt_type *x = takt_type_of(b->graph, n->in[0]);
    const takt_attr *axes = &n->attr[TAKT_REDUCE_AXES];
    const size_t count = takt_net_elements(&n->type[0]), all = takt_net_elements(x);
    bool is_reduced[TAKT_MAX_RANK] = {false};
    for (int i = 0; i < x->rank; i++)
        is_reduced[i] = axes->count == 0;
    for (uint32_t i = 0; i < axes->count; i++)
        is_reduced[axes->i64s[i] < 0 ? axes->i64s[i] + x->rank : axes->i64s[i]] = true;
    uint32_t source = in[0]->node;
    takt_net_rows m;
    size_t *next = takt_arena_array(b->arena, count, sizeof *next);
    if (n->op == &takt_op_reduce_sum_square)
        TAKT_TRY(squares(b, source, &source));
    TAKT_TRY(takt_net_rows_begin(&m, b, count, all));
    if (next == NULL || count == 0)
        return next == NULL ? TAKT_ERR_MEMORY : takt_net_refuse(b, n, "it is empty");
    for (size_t i = 0; i < count; i++)
        m.starts[i + 1] = (i + 1) * (all / count);
    for (size_t i = 0; i < all; i++) {
        size_t rest = i, to = 0, step = 1;
        for (int d = x->rank - 1; d >= 0; d--) {
            if (!is_reduced[d]) {
                to += rest % (size_t)x->dim[d] * step;
                step *= (size_t)x->dim[d];
            }
            rest /= (size_t)x->dim[d];
        }
        const size_t at = m.starts[to] + next[to]++;
        m.columns[at] = (uint32_t)i;
        m.values[at] = 1;
    }
    m.at = all;
    m.row = count;
    return takt_net_rows_end(&m, n, source, out);
}

takt_status takt_net_windows(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                             takt_net_value *out, bool *done)
{
    *done = true;
    if (n->op == &takt_op_conv || (n->op == &takt_op_winograd_conv && b->is_real))
        return convolution(b, n, in, out);
    if (n->op == &takt_op_avg_pool)
        return average(b, n, in, out);
    if (n->op == &takt_op_max_pool)
        return greatest(b, n, in, out);
    if (n->op == &takt_op_reduce_sum || n->op == &takt_op_reduce_sum_square)
        return reduction(b, n, in, out);
    *done = false;
    return TAKT_OK;
}
