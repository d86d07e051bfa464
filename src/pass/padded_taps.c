/* padded_taps.c - a dilated convolution skips products with the zeros of its padding.
 *
 * If the taps are far apart, many of them are beyond the border for whole rows of the result: with
 * dilation 12 and 28 rows nearly half. Such rows become separate convolutions with the taps that
 * they reach, on the part of x that these read, one axis after another. A skipped product is 0 * w,
 * which is zero for every finite weight; but the grouping of sums into chunks changes. */
#include "op/util/conv.h"
#include "pass/match.h"
#include "pass/passes.h"

enum { TAPS = 8, BANDS = 5 }; /* of an axis */
enum { CHANNELS = 16 };       /* with fewer, the moves cost more than they save */
enum { SAVED = 8 };           /* at least one product in this many must be skipped */

/* Taps are packed once for each band that reads them. */
enum { WEIGHTS = 1 << 20 }; /* a negligible size in total; beyond it only rows are cut */

/* An axis of a convolution without stride, as numbers. */
typedef struct axis {
    int number; /* of the spatial axes */
    int64_t size, out, taps, dilation, before;
} axis;

/* Rows [first, end) of the result, all of which taps [tap, last] reach. */
typedef struct band {
    int64_t first, end, tap, last;
} band;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Where the set of taps inside changes: `cut` in ascending order; returns the number of bands. */
static size_t cuts(const axis *a, int64_t cut[2 * TAPS + 2])
{
    size_t count = 1;
    cut[0] = 0;
    for (int64_t row = 0; row < a->out; count++) {
        int64_t next = a->out;
        for (int64_t t = 0; t < a->taps; t++) {
            const int64_t low = a->before - t * a->dilation, high = low + a->size;
            if (low > row)
                next = least(next, low);
            if (high > row)
                next = least(next, high);
        }
        cut[count] = row = next;
    }
    return count - 1;
}

/* The bands of an axis; 0: it has too many, or rows that no tap reaches, or too little is saved. */
static size_t bands_of(const axis *a, band parts[BANDS])
{
    int64_t cut[2 * TAPS + 2], left = 0;
    const size_t count = cuts(a, cut);
    if (count > BANDS)
        return 0;
    for (size_t i = 0; i < count; i++) {
        parts[i].first = cut[i];
        parts[i].end = cut[i + 1];
        parts[i].tap = a->taps;
        parts[i].last = -1;
        for (int64_t t = 0; t < a->taps; t++) {
            const int64_t row = cut[i] + t * a->dilation - a->before;
            if (row < 0 || row >= a->size)
                continue;
            parts[i].tap = least(parts[i].tap, t);
            parts[i].last = most(parts[i].last, t);
        }
        if (parts[i].last < 0)
            return 0;
        left += (parts[i].end - parts[i].first) * (parts[i].last - parts[i].tap + 1);
    }
    const int64_t all = a->out * a->taps;
    return (all - left) * SAVED >= all ? count : 0;
}

/* Whether the weights of all bands together are small, or no more than rows alone need. */
static bool is_light(const takt_type *w, const axis *a, const band *parts, size_t count)
{
    int64_t taps = 0;
    double all = 1;
    for (size_t i = 0; i < count; i++)
        taps += parts[i].last - parts[i].tap + 1;
    for (int d = 0; d < w->rank; d++)
        all *= (double)w->dim[d];
    return count == 1 || a->number == 0 || all / (double)a->taps * (double)taps <= WEIGHTS;
}

static int64_t item(const takt_attr *list, uint32_t i, int64_t otherwise)
{
    return i < list->count ? list->i64s[i] : otherwise;
}

/* Axis `k` of the convolution; false: sizes are unknown, or it has a stride, or few distinct
 * taps. */
static bool read_axis(const takt_graph *g, const takt_node *n, int k, axis *a)
{
    const takt_type *x = takt_type_of(g, n->in[0]), *w = takt_type_of(g, n->in[1]);
    const int place = 1 + k;
    if (!takt_dim_is_number(x->dim[place]) || !takt_dim_is_number(n->type->dim[place]) ||
        !takt_dim_is_number(w->dim[place]))
        return false;
    *a = (axis){k,
                x->dim[place],
                n->type->dim[place],
                w->dim[place],
                item(&n->attr[TAKT_CONV_DILATION], (uint32_t)k, 1),
                item(&n->attr[TAKT_CONV_PAD], (uint32_t)k, 0)};
    return item(&n->attr[TAKT_CONV_STRIDE], (uint32_t)k, 1) == 1 && a->taps >= 2 &&
           a->taps <= TAPS && a->dilation > 1 && a->size < INT32_MAX && a->out < INT32_MAX &&
           a->dilation < INT32_MAX && a->before < INT32_MAX;
}

/* The rows of one band. */
static takt_id part(takt_graph *g, const takt_node *n, const axis *a, const band *b)
{
    const uint32_t axes = (uint32_t)takt_type_of(g, n->in[1])->rank - 2;
    int64_t pad[6], dilation[3];
    for (uint32_t i = 0; i < axes; i++) {
        dilation[i] = item(&n->attr[TAKT_CONV_DILATION], i, 1);
        pad[i] = item(&n->attr[TAKT_CONV_PAD], i, 0);
        pad[axes + i] = item(&n->attr[TAKT_CONV_PAD], axes + i, 0);
    }
    pad[a->number] = pad[axes + (uint32_t)a->number] = 0;
    if (b->tap == b->last)
        dilation[a->number] = 1;
    takt_attr attr[TAKT_CONV_LAYOUT + 1];
    for (int i = 0; i <= TAKT_CONV_LAYOUT; i++)
        attr[i] = n->attr[i];
    attr[TAKT_CONV_DILATION] = takt_attr_i64s(dilation, axes);
    attr[TAKT_CONV_PAD] = takt_attr_i64s(pad, 2 * axes);
    const int64_t from = b->first + b->tap * a->dilation - a->before;
    const int64_t to = b->end + b->last * a->dilation - a->before;
    const takt_id in[] = {takt_slice(g, n->in[0], 1 + a->number, from, to, 1),
                          takt_slice(g, n->in[1], 1 + a->number, b->tap, b->last + 1, 1)};
    return takt_graph_append(g, n->op, 2, in, attr);
}

static takt_id conv(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const takt_type *w = takt_type_of(g, n->in[1]);
    const takt_dtype dtype = n->type->dtype;
    const int axes = w->rank - 2;
    if (n->attr[TAKT_CONV_LAYOUT].i64 != TAKT_NHWC || n->attr[TAKT_CONV_GROUPS].i64 != 1 ||
        axes > 3 || (dtype != TAKT_F32 && dtype != TAKT_F16 && dtype != TAKT_BF16) ||
        !takt_match_is_fixed(g, n->in[1]) || takt_winograd_suits(g, n))
        return TAKT_NONE;
    for (int k = 0; k < axes; k++) {
        axis a;
        band found[BANDS];
        const size_t count = read_axis(g, n, k, &a) ? bands_of(&a, found) : 0;
        if (count == 0)
            continue;
        if (!takt_dim_is_number(w->dim[0]) || !takt_dim_is_number(w->dim[axes + 1]) ||
            w->dim[0] < CHANNELS || w->dim[axes + 1] < CHANNELS)
            return takt_refuse(r, n, "it has so few channels that moves cost more than products");
        if (!is_light(w, &a, found, count)) {
            (void)takt_refuse(r, n, "the weights of all parts would be too many");
            continue;
        }
        takt_id parts[BANDS];
        const takt_node node = *n; /* the graph grows */
        for (size_t i = 0; i < count; i++)
            parts[i] = part(g, &node, &a, &found[i]);
        return count == 1 ? parts[0] : takt_concat(g, parts, count, 1 + k);
    }
    return TAKT_NONE;
}

static bool is_dilated(const takt_node *n)
{
    if (n->op != &takt_op_conv)
        return false;
    for (uint32_t k = 0; k < n->attr[TAKT_CONV_DILATION].count; k++)
        if (n->attr[TAKT_CONV_DILATION].i64s[k] > 1)
            return true;
    return false;
}

/* Removes names that `d` depends on from `first`. */
static takt_status spare(takt_dims *dims, takt_dim d, int64_t *first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int64_t size = first[i];
        takt_dim with, without;
        if (size < 0)
            continue;
        TAKT_TRY(takt_dim_substitute(dims, d, first, count, &with));
        first[i] = -1;
        TAKT_TRY(takt_dim_substitute(dims, d, first, count, &without));
        if (with == without)
            first[i] = size;
    }
    return TAKT_OK;
}

takt_status takt_padded_taps_spare(const takt_graph *g, int64_t *first, size_t count)
{
    for (size_t i = 0; i < g->count; i++) {
        if (!is_dilated(&g->nodes[i]))
            continue;
        const takt_type *x = takt_type_of(g, g->nodes[i].in[0]);
        const bool is_last = g->nodes[i].attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC;
        for (int d = is_last ? 1 : 2; d < x->rank - is_last; d++)
            if (!takt_dim_is_number(x->dim[d]))
                TAKT_TRY(spare(g->dims, x->dim[d], first, count));
    }
    return TAKT_OK;
}

static const takt_rule rules[] = {
    {&takt_op_conv, "conv(x, w) = its rows by the taps that they reach", conv},
};

const takt_pass takt_pass_padded_taps = {
    .name = "padded-taps",
    .summary = "leave out products with the padding of dilated convolutions",
    .licence = "Padding",
    TAKT_RULES(rules),
};
