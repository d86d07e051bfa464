/* Resize.c - RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: positions along both axes are
 * constants. */
#include <math.h>

#include "io/tflite/quant.h"

typedef struct line {
    int64_t size, out;
    int64_t *low, *high;
    double *weight; /* of `high`; in 2^-10 where integers are resized */
} line;

/* Rows, then columns of x, [batch, rows, columns, channels]. */
static takt_id taken(takt_tfl_call *c, takt_id x, const int64_t *rows, const int64_t *columns,
                     const line lines[2])
{
    const takt_id r = takt_tfl_make_i(c, TAKT_I32, rows, &lines[0].out, 1),
                  k = takt_tfl_make_i(c, TAKT_I32, columns, &lines[1].out, 1);
    return takt_tfl_gather(c, takt_tfl_gather(c, x, r, 1), k, 2);
}

static int64_t bounded(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static void nearest(line *l, bool aligns, bool halves)
{
    const float scale = aligns && l->out > 1 ? (float)(l->size - 1) / (float)(l->out - 1)
                                             : (float)l->size / (float)l->out;
    for (int64_t i = 0; i < l->out; i++) {
        const float at = ((float)i + (halves ? 0.5f : 0)) * scale;
        const double whole = aligns ? takt_fx_round((double)at) : floor((double)at);
        l->low[i] = bounded((int64_t)whole, 0, l->size - 1);
    }
}

static void between(line *l, bool aligns, bool halves)
{
    const float scale = aligns && l->out > 1 ? (float)(l->size - 1) / (float)(l->out - 1)
                                             : (float)l->size / (float)l->out;
    for (int64_t i = 0; i < l->out; i++) {
        const float at = halves ? ((float)i + 0.5f) * scale - 0.5f : (float)i * scale;
        l->low[i] = bounded((int64_t)floorf(at), 0, l->size - 1);
        l->high[i] = bounded((int64_t)ceilf(at), 0, l->size - 1);
        l->weight[i] = (double)(at - (float)l->low[i]);
    }
}

/* The same in tenths of bits, like integers. */
static void between_integers(line *l, bool aligns, bool halves)
{
    const int64_t unit = 1 << 10;
    const int64_t scale = aligns && l->out > 1
                              ? (unit * (l->size - 1) + (l->out - 1) / 2) / (l->out - 1)
                              : (unit * l->size + l->out / 2) / l->out;
    for (int64_t i = 0; i < l->out; i++) {
        const int64_t at = halves ? i * scale + scale / 2 - unit / 2 : i * scale;
        l->low[i] = at / unit > 0 ? at / unit : 0;
        l->high[i] = (at + unit - 1) / unit < l->size - 1 ? (at + unit - 1) / unit : l->size - 1;
        l->low[i] = bounded(l->low[i], 0, l->size - 1);
        l->high[i] = bounded(l->high[i], 0, l->size - 1);
        l->weight[i] = (double)(at - unit * l->low[i]);
    }
}

/* Weights of a corner along one axis: [rows, 1, 1], or [columns, 1]. */
static takt_id weights(takt_tfl_call *c, const line *l, bool is_high, bool is_row, takt_dtype in)
{
    const int64_t dims[] = {l->out, 1, 1};
    double *v = takt_tfl_get(c, (size_t)l->out, sizeof *v);
    for (int64_t i = 0; v != NULL && i < l->out; i++) {
        const float part = (float)l->weight[i], rest = (in != TAKT_F32 ? 1 << 10 : 1) - part;
        v[i] = (double)(is_high ? part : rest);
    }
    return v == NULL ? TAKT_NONE : takt_tfl_make_f(c, in, v, dims, is_row ? 3 : 2);
}

static takt_id mixed(takt_tfl_call *c, takt_id x, const line l[2], takt_dtype in)
{
    takt_graph *g = c->g;
    takt_id sum = TAKT_NONE;
    for (int corner = 0; corner < 4 && takt_tfl_good(c); corner++) {
        const bool low_row = (corner & 1) == 0, low_column = (corner & 2) == 0;
        const takt_id part =
            taken(c, x, low_row ? l[0].low : l[0].high, low_column ? l[1].low : l[1].high, l);
        const takt_id row =
            takt_mul(g, takt_tfl_cast(c, part, in), weights(c, &l[0], !low_row, true, in));
        const takt_id term = takt_mul(g, row, weights(c, &l[1], !low_column, false, in));
        sum = corner == 0 ? term : takt_add(g, sum, term);
    }
    return sum;
}

/* uint8 is computed in floats, int8 and int16 in integers with ten bits per axis. */
static takt_id bilinear(takt_tfl_call *c, takt_id x, line l[2], bool aligns, bool halves)
{
    const takt_dtype dtype = takt_type_of(c->g, x)->dtype;
    const bool is_whole = dtype == TAKT_I8 || dtype == TAKT_I16;
    const takt_dtype in = !is_whole ? TAKT_F32 : dtype == TAKT_I16 ? TAKT_I64 : TAKT_I32;
    takt_graph *g = c->g;
    for (int k = 0; k < 2; k++)
        (is_whole ? between_integers : between)(&l[k], aligns, halves);
    const takt_id sum = mixed(c, x, l, in);
    if (sum == TAKT_NONE || takt_dtype_is_float(dtype))
        return sum;
    if (!is_whole)
        return takt_tfl_cast(c, takt_add(g, sum, takt_scalar_like(g, sum, 0.5)), dtype);
    const takt_id half = takt_tfl_number(c, in, 1 << 19);
    const takt_id above = takt_binary(g, &takt_op_gt, sum, takt_tfl_number(c, in, 0));
    const takt_id near = takt_select(g, above, takt_add(g, sum, half), takt_sub(g, sum, half));
    return takt_tfl_cast(c, takt_div(g, near, takt_tfl_number(c, in, 1 << 20)), dtype);
}

static takt_status adapt(takt_tfl_call *c)
{
    const bool is_near = takt_tfl_is(c, "RESIZE_NEAREST_NEIGHBOR");
    const bool aligns = takt_tfl_u8(c, is_near ? 0 : 2, 0) != 0,
               halves = takt_tfl_u8(c, is_near ? 1 : 3, 0) != 0;
    const takt_id x = takt_tfl_need(c, 0);
    const takt_type t = *takt_type_of(c->g, x);
    const takt_tfl_ints size = takt_tfl_known(c, 1);
    line l[2];
    if (!takt_tfl_good(c))
        return c->status;
    if (t.rank != 4 || size.count != 2)
        return takt_tfl_refuse(c, "an input that is not an image");
    for (int k = 0; k < 2; k++) {
        l[k] = (line){.size = t.dim[k + 1], .out = size.at[k]};
        if (l[k].size < 1 || l[k].out < 1 || l[k].out > 1 << 15 || l[k].size > 1 << 15)
            return takt_tfl_refuse(c, "from %lld to %lld", (long long)l[k].size,
                                   (long long)l[k].out);
        l[k].low = takt_tfl_get(c, (size_t)l[k].out, sizeof *l[k].low);
        l[k].high = takt_tfl_get(c, (size_t)l[k].out, sizeof *l[k].high);
        l[k].weight = takt_tfl_get(c, (size_t)l[k].out, sizeof *l[k].weight);
        if (l[k].low == NULL || l[k].high == NULL || l[k].weight == NULL)
            return c->status;
    }
    if (!is_near)
        return takt_tfl_done(c, bilinear(c, x, l, aligns, halves));
    for (int k = 0; k < 2; k++)
        nearest(&l[k], aligns, halves);
    return takt_tfl_done(c, taken(c, x, l[0].low, l[1].low, l));
}

const takt_tflite_op takt_tflite_Resize = {.names = {"RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"},
                                           .adapt = adapt};
