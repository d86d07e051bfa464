/* bound_product.c - matrix products and convolutions of intervals.
 *
 * Each factor is a middle and a radius: x = m + e with |e| <= r. Then
 *
 *     |x w - m_x m_w|  <=  (|m_x| + r_x) r_w + r_x |m_w|
 *
 * summed as the op sums, and rounding adds g of the sum of (|m_x| + r_x)(|m_w| + r_w), with gamma_n
 * for the model's own kernel and again for the kernel that computes the middle here. Together
 *
 *     (r_x + g (|m_x| + r_x)) |m_w|  +  (|m_x| + r_x) r_w (1 + g) ,
 *
 * so that weights without a radius need two products. All of it is computed by the op itself:
 * matrix products in f64, convolutions in f32, which has fast kernels; middles are rounded to f32
 * first, and the rounding error is added to the radius.
 *
 * The spread is at least g times the sum of all magnitudes, so a small one also says that no
 * partial sum overflows and that the result is in the range of its type.
 */
#include <float.h>
#include <math.h>

#include "op/util/bound.h"
#include "op/util/conv.h"

typedef struct factor {
    takt_id middle, radius; /* radius TAKT_NONE: the middle is exact */
} factor;

/* The type in which bounds are computed. */
static takt_dtype work(const takt_bounding *b)
{
    return b->node->op == &takt_op_matmul ? TAKT_F64 : TAKT_F32;
}

static bool is_exact_in(takt_dtype from, takt_dtype to)
{
    return from == to || from == TAKT_F16 || from == TAKT_BF16 ||
           (to == TAKT_F64 && (from == TAKT_F32 || takt_dtype_bits(from) <= 32)) ||
           (!takt_dtype_is_float(from) && takt_dtype_bits(from) <= 16);
}

static double own_gamma(const takt_bounding *b)
{
    const takt_dtype dtype = b->node->type[0].dtype;
    const bool rounds = takt_dtype_is_float(dtype) && !b->is_real;
    return rounds ? takt_grid_gamma(dtype, b->node->op->error.roundings(b->model, b->node)) : 0;
}

/* The rounding error of a product. */
typedef struct rounding {
    double here;  /* gamma of the product that is computed here */
    double share; /* of the sum of magnitudes: `here` and the model's own */
    double more;  /* 1 and a little: covers the rounding of radii and their sums */
    double limit; /* of the spread: below it nothing overflows */
} rounding;

static rounding rounding_of(const takt_bounding *b)
{
    const takt_dtype dtype = b->node->type[0].dtype, to = work(b);
    const double count = b->node->op->error.roundings(b->model, b->node);
    const bool is_wide = to == TAKT_F64 && (b->is_real || dtype == TAKT_F64);
    rounding r = {.here = takt_grid_gamma(to, count)};
    r.share = (r.here + own_gamma(b)) * (1 + 4 * r.here) * 1.0001;
    r.more = (1 + 4 * r.here) * (1 + (to == TAKT_F32 ? 0x1p-20 : 0x1p-48));
    r.limit = r.share * (is_wide ? DBL_MAX : FLT_MAX) / (1.01 + 4 * r.share);
    return r;
}

static factor split(takt_bounding *b, size_t k)
{
    const takt_dtype to = work(b);
    takt_graph *g = b->g;
    if (b->in[k].is_point && is_exact_in(takt_type_of(g, b->in[k].lo)->dtype, to))
        return (factor){takt_cast(g, b->in[k].lo, to), TAKT_NONE};
    const takt_range x = to == TAKT_F32 ? takt_bound_input(b, k) : takt_bound_wide(b, k);
    const takt_id middle =
        takt_cast(g, takt_add(g, takt_mul_scalar(g, x.lo, 0.5), takt_mul_scalar(g, x.hi, 0.5)), to);
    const takt_id there =
        x.lo == TAKT_NONE ? TAKT_NONE : takt_cast(g, middle, takt_type_of(g, x.lo)->dtype);
    const takt_id radius = takt_bound_max(b, takt_sub(g, x.hi, there), takt_sub(g, there, x.lo));
    return (factor){middle, radius};
}

static takt_id call(takt_bounding *b, takt_id x, takt_id y)
{
    const takt_id wide = takt_bound_call(b, (takt_id[]){x, y}, 0);
    return work(b) == TAKT_F32 ? takt_bound_single(b, wide) : wide;
}

/* middle_share |m| + radius_share r in the type of products, and the possible underflow. */
static takt_id weighted(takt_bounding *b, const factor *f, double middle_share, double radius_share)
{
    takt_graph *g = b->g;
    const takt_dtype to = work(b);
    const double least = to == TAKT_F32 ? 0x1p-140 : 0x1p-1050;
    const takt_id size = takt_mul_scalar(g, takt_bound_abs(b, f->middle), middle_share);
    if (f->radius == TAKT_NONE)
        return takt_add_scalar(g, size, least);
    const takt_id radius = takt_mul_scalar(g, f->radius, radius_share);
    const takt_id wide = takt_cast(g, takt_add_scalar(g, radius, least), to);
    return middle_share == 0 ? wide : takt_add(g, size, wide);
}

typedef struct parts {
    takt_id middle, spread;
} parts;

/* Sums of numbers that are not negative are at most gamma too small, which `more` covers. */
static parts multiply(takt_bounding *b, const rounding *r)
{
    const factor x = split(b, 0), w = split(b, 1);
    parts p;
    p.middle = call(b, x.middle, w.middle);
    p.spread = call(b, weighted(b, &x, r->share * r->more, (1 + r->share) * r->more),
                    takt_bound_abs(b, w.middle));
    if (w.radius != TAKT_NONE) {
        const double more = r->more * (1 + r->share) * r->more;
        const takt_id other = call(b, weighted(b, &x, r->more, r->more), weighted(b, &w, 0, more));
        p.spread = takt_add(b->g, p.spread, other);
    }
    return p;
}

/* `own`: error of the model's kernel in addition to gamma; or TAKT_NONE. */
static void finish(takt_bounding *b, const parts *p, const rounding *r, takt_id own)
{
    const takt_dtype dtype = b->node->type[0].dtype, to = work(b);
    takt_graph *g = b->g;
    /* Products may underflow: each is off by at most half the least number. */
    const double tiny = to == TAKT_F32 || dtype != TAKT_F64 ? 0x1p-120 : DBL_MIN;
    const takt_id limit = takt_cast(g, takt_bound_number(b, r->limit), to);
    const takt_id nan = takt_cast(g, takt_bound_number(b, NAN), to);
    const takt_id fits = takt_binary(g, &takt_op_le, p->spread, limit);
    takt_id spread = takt_add_scalar(g, takt_select(g, fits, p->spread, nan), tiny);
    if (own != TAKT_NONE)
        spread = takt_add(g, spread, takt_cast(g, own, to));
    if (to == TAKT_F32 && dtype == TAKT_F32 && !b->is_real)
        /* The nearest f32 number to an end of f32 numbers is an end, too: see takt_bound_single. */
        takt_bound_keep(b, 0, takt_cast(g, takt_sub(g, p->middle, spread), TAKT_F64),
                        takt_cast(g, takt_add(g, p->middle, spread), TAKT_F64));
    else {
        const takt_id middle = takt_cast(g, p->middle, TAKT_F64);
        takt_bound_set(b, 0, middle, middle, 0, takt_cast(g, spread, TAKT_F64));
    }
}

void takt_bound_product(takt_bounding *b)
{
    const rounding r = rounding_of(b);
    const parts p = multiply(b, &r);
    finish(b, &p, &r, TAKT_NONE);
}

/* ---- Winograd ----
 *
 * Y = A'[ sum over channels of (G w G') * (B' d B) ]A for tiles d of 6x6. With u_n for a chain of n
 * roundings, the error of an element is at most
 *
 *     u_n  sum over c, p, q of  |A|_ip |A|_jq  |U_pq|  (|B'| |d| |B|)_pq ,    U = G w G'
 *
 * where n counts the transform of d (2 x 6 terms), the rounding of U, the sum over channels and the
 * transform back (2 x 6 terms); the transforms round 4 and 6 times, which leaves room for the 10
 * roundings, those of factors included, of a U in f32. |d| is at most the largest magnitude of its
 * channel, so the last factor is at most that times s_p s_q, s being the sums of |B'|'s rows.
 */
enum { TILE = 6, TAPS = 3, OUT = 4, TRANSFORMS = 4 * TILE + 2 };

static const double winograd_a[OUT][TILE] = {
    {1, 1, 1, 1, 1, 0}, {0, 1, 1, 2, 2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, 1, 8, 8, 1}};
static const double winograd_s[TILE] = {10, 10, 10, 6, 6, 10};
static const double winograd_g[TILE][TAPS] = {
    {1.0 / 4, 0, 0},
    {-1.0 / 6, -1.0 / 6, -1.0 / 6},
    {-1.0 / 6, 1.0 / 6, -1.0 / 6},
    {1.0 / 24, 1.0 / 12, 1.0 / 6},
    {1.0 / 24, -1.0 / 12, 1.0 / 6},
    {0, 0, 1},
};

static takt_id matrix(takt_bounding *b, const double *from, int64_t rows, int64_t columns)
{
    takt_tensor t;
    const takt_type type = {.dtype = TAKT_F64, .rank = 2, .dim = {rows, columns}};
    const takt_status status = takt_tensor_create(b->g->ctx, &type, &t);
    if (status != TAKT_OK)
        return takt_graph_fail(b->g, status);
    double *to = takt_tensor_data(&t);
    for (int64_t i = 0; i < rows * columns; i++)
        to[i] = from[i];
    const takt_id id = takt_graph_constant(b->g, &t);
    takt_tensor_release(&t);
    return id;
}

/* The largest factor of a channel's magnitude: [out, in]. `w` is [out, in, 9], f64; its taps are in
 * reverse order if `flips`. */
static takt_id enlargement(takt_bounding *b, takt_id w, bool flips)
{
    double pairs[TILE * TILE][TAPS * TAPS], back[TILE * TILE][OUT * OUT];
    for (int p = 0; p < TILE; p++)
        for (int q = 0; q < TILE; q++) {
            for (int r = 0; r < TAPS; r++)
                for (int s = 0; s < TAPS; s++)
                    pairs[p * TILE + q][flips ? 8 - r * TAPS - s : r * TAPS + s] =
                        winograd_g[p][r] * winograd_g[q][s];
            for (int i = 0; i < OUT; i++)
                for (int j = 0; j < OUT; j++)
                    back[p * TILE + q][i * OUT + j] =
                        winograd_a[i][p] * winograd_a[j][q] * winograd_s[p] * winograd_s[q];
        }
    const takt_id to = matrix(b, pairs[0], TILE * TILE, TAPS * TAPS);
    const takt_id from = matrix(b, back[0], TILE * TILE, OUT * OUT);
    const takt_id u = takt_bound_abs(b, takt_matmul(b->g, w, to, false, true));
    /* From FLT_MIN on rounding is a share of the result; U may be less. */
    const takt_id each = takt_matmul(b->g, takt_add_scalar(b->g, u, FLT_MIN), from, false, false);
    const int64_t last = -1;
    return takt_reduce_over(b->g, &takt_op_reduce_max, each, &last, 1, false);
}

/* The same with |G| |w| |G'| for |U|: where signs are not known, or U is rounded on the way. The
 * sum over p and q is then one over taps, each with a factor for its row and one for its column. */
static takt_id size_enlargement(takt_bounding *b, takt_id w, bool flips)
{
    double along[OUT][TAPS] = {{0}}, factors[TAPS * TAPS][OUT * OUT];
    for (int i = 0; i < OUT; i++)
        for (int r = 0; r < TAPS; r++)
            for (int p = 0; p < TILE; p++)
                along[i][r] += winograd_a[i][p] * winograd_s[p] * fabs(winograd_g[p][r]);
    for (int t = 0; t < TAPS * TAPS; t++)
        for (int i = 0; i < OUT * OUT; i++)
            factors[flips ? 8 - t : t][i] = along[i / OUT][t / TAPS] * along[i % OUT][t % TAPS];
    const takt_id by = matrix(b, factors[0], TAPS * TAPS, OUT * OUT);
    const takt_id size = takt_add_scalar(b->g, takt_bound_abs(b, w), FLT_MIN);
    const takt_id each = takt_matmul(b->g, size, by, false, false);
    const int64_t last = -1;
    return takt_reduce_over(b->g, &takt_op_reduce_max, each, &last, 1, false);
}

/* The largest magnitude of every channel of input k; NaN where its transform may overflow: it grows
 * up to 225 times before it is multiplied by the other factor. */
static takt_id largest(takt_bounding *b, size_t k)
{
    const bool is_last = b->node->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC;
    const int64_t space[] = {0, is_last ? 1 : 2, is_last ? 2 : 3};
    const takt_id size = takt_bound_magnitude(b, takt_bound_input(b, k));
    if (size == TAKT_NONE)
        return TAKT_NONE;
    const takt_id most = takt_cast(
        b->g, takt_reduce_over(b->g, &takt_op_reduce_max, size, space, 3, false), TAKT_F64);
    const takt_id limit = takt_bound_number(b, b->is_real ? DBL_MAX : FLT_MAX / 256);
    return takt_bound_spoil(b, takt_binary(b->g, &takt_op_lt, limit, most), most);
}

/* The bounds of the direct form `op`, with the transforms' error on top. */
static void finish_winograd(takt_bounding *b, const takt_op *op, takt_id rise)
{
    const takt_node *n = b->node;
    const double count = n->op->error.roundings(b->model, n) + TRANSFORMS;
    const takt_id error =
        takt_mul_scalar(b->g, takt_bound_overflow(b, rise, n->type[0].dtype),
                        b->is_real ? 0 : takt_grid_gamma(n->type[0].dtype, count) * 1.01);
    takt_node direct = *n;
    direct.op = op;
    b->node = &direct;
    const rounding r = rounding_of(b);
    const parts p = multiply(b, &r);
    finish(b, &p, &r, error);
    b->node = n;
}

/* There is no formula for interval weights or another channel layout: the pass only creates
 * convolutions with constant weights. */
static void bound_winograd(takt_bounding *b, const takt_op *op, bool flips)
{
    takt_graph *g = b->g;
    const bool is_last = b->node->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC;
    const takt_range wide = takt_bound_wide(b, 1);
    takt_id w = takt_bound_magnitude(b, wide);
    if (b->in[1].is_point)
        w = wide.lo;
    if (w == TAKT_NONE)
        return;
    const takt_type *type = takt_type_of(g, w);
    const takt_dim in = type->dim[is_last ? 3 : 1];
    takt_dim out = type->dim[0];
    const bool is_rounded = takt_conv_has_many_pairs((size_t)out, (size_t)in);
    if (is_last)
        w = takt_transpose(g, w, (const int64_t[]){0, 3, 1, 2}, 4);
    w = takt_reshape(g, w, (const takt_dim[]){out, in, TAPS * TAPS}, 3);
    if (flips) {
        w = takt_transpose(g, w, (const int64_t[]){1, 0, 2}, 3);
        out = in;
    }
    const takt_id most =
        is_rounded || !b->in[1].is_point ? size_enlargement(b, w, flips) : enlargement(b, w, flips);
    const takt_id rise = takt_matmul(g, most, largest(b, 0), false, false);
    const takt_dim spread[] = {1, is_last ? 1 : out, 1, is_last ? out : 1};
    finish_winograd(b, op, takt_reshape(g, rise, spread, 4));
}

void takt_bound_winograd(takt_bounding *b)
{
    bound_winograd(b, &takt_op_conv, false);
}

void takt_bound_winograd_dx(takt_bounding *b)
{
    bound_winograd(b, &takt_op_conv_dx, true);
}

/* dw = G'[ sum over tiles of (B' d B) * (A t A') ]G for tiles t of dy, 4x4. With a_p for the sums
 * of |A|'s rows, the error of an element is at most u_n times the number of tiles, the largest
 * magnitudes of the two channels, and the sum over p, q of |G|_pr |G|_qs s_p s_q a_p a_q. */
void takt_bound_winograd_dw(takt_bounding *b)
{
    static const double a[TILE] = {1, 4, 4, 15, 15, 1};
    takt_graph *g = b->g;
    const takt_type *dy = takt_type_of(b->model, b->node->in[1]);
    const bool is_last = b->node->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC;
    double most = 0, tiles = (double)dy->dim[0];
    for (int r = 0; r < TAPS; r++) {
        double sum = 0;
        for (int p = 0; p < TILE; p++)
            sum += fabs(winograd_g[p][r]) * winograd_s[p] * a[p];
        most = sum > most ? sum : most;
    }
    for (int i = is_last ? 1 : 2; i < (is_last ? 3 : 4); i++)
        tiles *= ceil((double)dy->dim[i] / OUT);
    const takt_id x = largest(b, 0), d = largest(b, 1);
    if (x == TAKT_NONE || d == TAKT_NONE)
        return;
    const takt_dim in = takt_type_of(g, x)->dim[0], out = takt_type_of(g, d)->dim[0];
    const takt_id pairs =
        takt_matmul(g, takt_reshape(g, d, (const takt_dim[]){out, 1}, 2),
                    takt_reshape(g, x, (const takt_dim[]){1, in}, 2), false, false);
    const takt_dim spread[] = {out, is_last ? 1 : in, 1, is_last ? in : 1};
    const takt_id rise = takt_mul_scalar(g, pairs, tiles * most * most);
    finish_winograd(b, &takt_op_conv_dw, takt_reshape(g, rise, spread, 4));
}
