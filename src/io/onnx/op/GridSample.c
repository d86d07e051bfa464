/* GridSample.c - GridSample: interpolated elements at the positions in a grid. */
#include <math.h>

#include "io/onnx/adapt.h"

enum { LINEAR, NEAREST, CUBIC };
enum { ZEROS, BORDER, REFLECTION };

typedef struct sampler {
    takt_call *c;
    takt_graph *g;
    int mode, padding, rank; /* rank: of space, 1 to 3 */
    bool corners;
    /* Positions are integers that f32 can represent; a NaN position makes the result NaN, whatever
     * it reads. */
    bool is_small;
    takt_id x; /* [N, C, size] */
    takt_dim batch, channels, points;
    takt_dim size[3];
    takt_id count[3]; /* the same as f32, of those without a number */
    /* Per axis and tap, both [N, points]: integers as floats, and weights. */
    takt_id at[3][4], weight[3][4];
    int taps;
} sampler;

static takt_id number(sampler *s, double v)
{
    return takt_onnx_scalar(s->c, TAKT_F32, v);
}

/* The size of an axis times `scale` plus `more`: exact in f32 for multiples of a half. */
static takt_id sized(sampler *s, int axis, double scale, double more)
{
    if (takt_dim_is_number(s->size[axis]))
        return number(s, (double)s->size[axis] * scale + more);
    const takt_id scaled = takt_mul(s->g, s->count[axis], number(s, scale));
    return takt_add(s->g, scaled, number(s, more));
}

/* Into the positions of an axis. */
static takt_id clamp(sampler *s, takt_id x, int axis)
{
    x = takt_binary(s->g, &takt_op_max, x, number(s, 0));
    return takt_binary(s->g, &takt_op_min, x, sized(s, axis, 1, -1));
}

/* Reflects at the first and the last position, or at the outer edges of their pixels. */
static takt_id reflect(sampler *s, takt_id x, int axis)
{
    const double low = s->corners ? 0 : -0.5;
    if (s->corners && s->size[axis] == 1)
        return clamp(s, x, axis);
    takt_id twice = sized(s, axis, 2, s->corners ? -2 : 0);
    if (s->corners && !takt_dim_is_number(s->size[axis]))
        twice = takt_binary(s->g, &takt_op_max, twice, number(s, 1)); /* one position: no space */
    takt_id d = takt_unary(s->g, &takt_op_abs, takt_sub(s->g, x, number(s, low)));
    d = takt_binary(s->g, &takt_op_mod, d, twice);
    const takt_id back = takt_sub(s->g, twice, d);
    return takt_add(s->g, takt_binary(s->g, &takt_op_min, d, back), number(s, low));
}

static takt_id placed(sampler *s, takt_id x, int axis)
{
    return s->padding == BORDER       ? clamp(s, x, axis)
           : s->padding == REFLECTION ? reflect(s, x, axis)
                                      : x;
}

/* Keys' cubic with a = -0.75 at distance `d` of [0, 2]. */
static takt_id cubic(sampler *s, takt_id d, bool is_near)
{
    const double a = -0.75;
    takt_graph *g = s->g;
    takt_id y = takt_mul(g, d, number(s, is_near ? a + 2 : a));
    y = takt_add(g, y, number(s, is_near ? -(a + 3) : -5 * a));
    y = takt_mul(g, y, d);
    if (!is_near)
        y = takt_add(g, y, number(s, 8 * a));
    y = takt_mul(g, y, d);
    return takt_add(g, y, number(s, is_near ? 1 : -4 * a));
}

static void find_taps(sampler *s, takt_id grid, int axis)
{
    takt_graph *g = s->g;
    /* The grid's last axis begins with the innermost coordinate. */
    takt_id x = takt_slice(g, grid, 2, s->rank - 1 - axis, s->rank - axis, 1);
    x = takt_onnx_squeeze(s->c, x, 2);
    x = takt_add(g, x, number(s, 1));
    x = s->corners ? takt_mul(g, x, sized(s, axis, 0.5, -0.5))
                   : takt_sub(g, takt_mul(g, x, sized(s, axis, 0.5, 0)), number(s, 0.5));
    if (s->mode == NEAREST)
        x = takt_unary(g, &takt_op_round, x);
    if (s->mode != CUBIC)
        x = placed(s, x, axis);
    if (s->mode == NEAREST) {
        s->at[axis][0] = takt_unary(g, &takt_op_round, x);
        s->weight[axis][0] = TAKT_NONE;
        return;
    }
    const takt_id base = takt_unary(g, &takt_op_floor, x), part = takt_sub(g, x, base);
    const takt_id rest = takt_sub(g, number(s, 1), part);
    if (s->mode == LINEAR) {
        s->at[axis][0] = base;
        s->at[axis][1] = takt_add(g, base, number(s, 1));
        s->weight[axis][0] = rest;
        s->weight[axis][1] = part;
        return;
    }
    for (int k = 0; k < 4; k++)
        s->at[axis][k] = takt_add(g, base, number(s, k - 1));
    s->weight[axis][0] = cubic(s, takt_add(g, part, number(s, 1)), false);
    s->weight[axis][1] = cubic(s, part, true);
    s->weight[axis][2] = cubic(s, rest, true);
    s->weight[axis][3] = cubic(s, takt_add(g, rest, number(s, 1)), false);
}

/* One tap, all [N, points]: the index in x, whether it is inside, its weight. */
typedef struct tap {
    takt_id at, inside, weight;
} tap;

static tap find(sampler *s, int code)
{
    takt_graph *g = s->g;
    takt_id flat = TAKT_NONE, inside = TAKT_NONE, weight = TAKT_NONE;
    for (int axis = 0; axis < s->rank; axis++) {
        const int k = code % s->taps;
        code /= s->taps;
        takt_id at = s->at[axis][k];
        if (s->padding == ZEROS) {
            const takt_id in = clamp(s, at, axis);
            const takt_id ok = takt_binary(g, &takt_op_eq, in, at);
            inside = inside == TAKT_NONE ? ok : takt_binary(g, &takt_op_and, inside, ok);
        } else {
            at = takt_unary(g, &takt_op_round, placed(s, at, axis));
        }
        at = clamp(s, at, axis);
        if (!s->is_small)
            at = takt_cast(g, at, TAKT_I64);
        const takt_id size = s->is_small ? sized(s, axis, 1, 0)
                                         : takt_onnx_size(s->c, takt_onnx_in(s->c, 0), axis + 2);
        flat = flat == TAKT_NONE ? at : takt_add(g, takt_mul(g, flat, size), at);
        const takt_id w = s->weight[axis][k];
        weight = weight == TAKT_NONE ? w : takt_mul(g, weight, w);
    }
    return (tap){s->is_small ? takt_cast(g, flat, TAKT_I32) : flat, inside, weight};
}

/* The elements at the one tap of every point. */
static takt_id nearest(sampler *s)
{
    const tap t = find(s, 0);
    const takt_dim wide[3] = {s->batch, s->channels, s->points};
    const takt_id index = takt_broadcast(s->g, takt_onnx_unsqueeze(s->c, t.at, 1), wide, 3);
    const takt_id y = takt_onnx_op2(s->c, &takt_op_gather_elements, s->x, index, 1,
                                    &(takt_named_attr){"axis", takt_attr_i64(2)});
    if (t.inside == TAKT_NONE || y == TAKT_NONE)
        return y;
    return takt_select(s->g, takt_onnx_unsqueeze(s->c, t.inside, 1), y,
                       takt_scalar_like(s->g, y, 0));
}

enum { MOST_TAPS = 64 };

/* Weighted sums of the elements at all taps of every point, as one operation. */
static takt_id between(sampler *s, int count)
{
    takt_id at[MOST_TAPS], inside[MOST_TAPS], weight[MOST_TAPS];
    const takt_dtype dtype = takt_type_of(s->g, s->x)->dtype;
    for (int code = 0; code < count; code++) {
        const tap t = find(s, code);
        if (s->g->status != TAKT_OK)
            return TAKT_NONE;
        at[code] = takt_onnx_unsqueeze(s->c, t.at, 1);
        weight[code] = takt_onnx_unsqueeze(s->c, takt_onnx_cast(s->c, t.weight, dtype), 1);
        if (s->padding == ZEROS)
            inside[code] = takt_onnx_unsqueeze(s->c, t.inside, 1);
    }
    const size_t taps = (size_t)count, ins = s->padding == ZEROS ? 4 : 3;
    const takt_id in[4] = {s->x, takt_concat(s->g, at, taps, 1), takt_concat(s->g, weight, taps, 1),
                           ins == 4 ? takt_concat(s->g, inside, taps, 1) : TAKT_NONE};
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(2)}, {"batch_dims", takt_attr_i64(1)}};
    return s->g->status != TAKT_OK ? TAKT_NONE
                                   : takt_graph_call(s->g, &takt_op_gather_sum, ins, in, 2, attrs);
}

static takt_status run(sampler *s, takt_id grid, takt_dim *out)
{
    int codes = 1;
    s->taps = s->mode == NEAREST ? 1 : s->mode == LINEAR ? 2 : 4;
    for (int axis = 0; axis < s->rank; axis++, codes *= s->taps)
        find_taps(s, grid, axis);
    const takt_id y = s->g->status != TAKT_OK ? TAKT_NONE
                      : s->mode == NEAREST    ? nearest(s)
                                              : between(s, codes);
    if (s->g->status != TAKT_OK || y == TAKT_NONE)
        return takt_onnx_done(s->c, TAKT_NONE);
    return takt_onnx_done(s->c, takt_reshape(s->g, y, out, (size_t)s->rank + 2));
}

static takt_status adapt(takt_call *c)
{
    static const char *const modes[] = {"linear", "nearest", "cubic", "bilinear", "bicubic", NULL};
    static const char *const paddings[] = {"zeros", "border", "reflection", NULL};
    sampler s = {.c = c, .g = c->g, .corners = takt_onnx_i(c, "align_corners", 0) != 0};
    const takt_type x = *takt_onnx_type(c, 0), grid = *takt_onnx_type(c, 1);
    s.mode = takt_onnx_choice(c, "mode", "linear", modes);
    s.mode = s.mode == 3 ? LINEAR : s.mode == 4 ? CUBIC : s.mode;
    s.padding = takt_onnx_choice(c, "padding_mode", "zeros", paddings);
    if (c->status != TAKT_OK)
        return c->status;
    s.rank = x.rank - 2;
    if (s.rank < 1 || s.rank > 3 || grid.rank != x.rank)
        return takt_onnx_refuse(c, "rank %d", x.rank);
    takt_dim out[5] = {x.dim[0], x.dim[1]}, whole = 1;
    s.batch = x.dim[0];
    s.channels = x.dim[1];
    s.points = 1;
    for (int i = 0; i < s.rank; i++) {
        s.size[i] = x.dim[i + 2];
        if (!takt_dim_is_number(s.size[i]))
            s.count[i] = takt_onnx_cast(c, takt_onnx_size(c, takt_onnx_in(c, 0), i + 2), TAKT_F32);
        TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MUL, whole, x.dim[i + 2], &whole));
        out[i + 2] = grid.dim[i + 1];
        TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MUL, s.points, grid.dim[i + 1], &s.points));
    }
    double elements = 1;
    for (int i = 0; i < s.rank; i++)
        elements *= takt_dim_is_number(s.size[i]) ? (double)s.size[i] : INFINITY;
    s.is_small = s.mode != NEAREST && elements <= 0x1p24;
    s.x = takt_reshape(c->g, takt_onnx_in(c, 0), (takt_dim[]){s.batch, s.channels, whole}, 3);
    takt_id places = takt_onnx_cast(c, takt_onnx_in(c, 1), TAKT_F32);
    places = takt_reshape(c->g, places, (takt_dim[]){s.batch, s.points, s.rank}, 3);
    return run(&s, places, out);
}

const takt_onnx_op takt_onnx_GridSample = {.names = {"GridSample"}, .adapt = adapt};
