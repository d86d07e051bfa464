/* lengths_hull.c - an interval that contains the elements of a value for all inputs: boxes clipped
 * to an image, as in detectors, bound the sizes computed from them.
 *
 * One interval for all elements of a value. Its ends are rounded to the value's type, as elements
 * are; integers that overflow wrap, and their interval is the whole range of the type. NaN is
 * ignored, so this is an estimate: a run compares every size that it finds with its bound.
 */
#include <math.h>
#include <string.h>

#include "api/lengths.h"
#include "base/mem.h"
#include "ir/array.h"
#include "ir/leaves.h"
#include "op/ops.h"

enum { MOST_NODES = 1000000, MOST_ELEMENTS = 4096 };

typedef struct hull {
    double low, high;
} hull;

typedef struct search {
    const takt_length_frame *frame;
    const takt_length_span *spans; /* by index of names */
    size_t count;
    size_t *left; /* nodes that may still be visited: subgraphs visit the outer nodes again */
    unsigned char *is_wanted;
    hull *of; /* per node */
    takt_arena *arena;
} search;

static const hull anything = {-INFINITY, INFINITY};

static hull both(hull a, hull b)
{
    return (hull){fmin(a.low, b.low), fmax(a.high, b.high)};
}

/* The hull of four combinations of ends; NaN, as from 0 * inf, gives no bound. */
static hull corners(const double of[4])
{
    hull h = {of[0], of[0]};
    for (int i = 0; i < 4; i++) {
        if (isnan(of[i]))
            return anything;
        h = both(h, (hull){of[i], of[i]});
    }
    return h;
}

static hull product(hull a, hull b)
{
    return corners(
        (const double[]){a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
}

static hull quotient(hull a, hull b)
{
    if (b.low <= 0 && b.high >= 0)
        return anything;
    return corners(
        (const double[]){a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
}

/* As elements of type `to`: rounded, and integers that overflow wrap. */
static hull held(hull a, takt_dtype to)
{
    if (to == TAKT_BOOL)
        return (hull){0, 1};
    if (takt_dtype_is_float(to))
        return (hull){takt_dtype_round(to, a.low), takt_dtype_round(to, a.high)};
    if (!takt_dtype_is_int(to) || isnan(a.low) || isnan(a.high))
        return anything;
    const bool is_signed = takt_dtype_is_signed(to);
    const double half = ldexp(1, takt_dtype_bits(to) - is_signed);
    const hull all = {is_signed ? -half : 0, half - 1}, of = {trunc(a.low), trunc(a.high)};
    return of.low < all.low || of.high > all.high ? all : of;
}

/* ---- operations ---- */

typedef enum way {
    UNKNOWN,
    FIRST, /* elements of the first input, or none */
    ALL,   /* elements of its inputs */
    REST,  /* of all but the first */
} way;

static way way_of(const takt_op *op)
{
    static const struct {
        const takt_op *op;
        way is;
    } ways[] = {
        {&takt_op_reshape, FIRST},
        {&takt_op_squeeze, FIRST},
        {&takt_op_unsqueeze, FIRST},
        {&takt_op_flatten, FIRST},
        {&takt_op_transpose, FIRST},
        {&takt_op_slice, FIRST},
        {&takt_op_broadcast, FIRST},
        {&takt_op_tile, FIRST},
        {&takt_op_gather, FIRST},
        {&takt_op_gather_nd, FIRST},
        {&takt_op_gather_elements, FIRST},
        {&takt_op_sized, FIRST},
        {&takt_op_length, FIRST},
        {&takt_op_dynamic_slice, FIRST},
        {&takt_op_get, FIRST},
        {&takt_op_split, FIRST},
        {&takt_op_reduce_max, FIRST},
        {&takt_op_reduce_min, FIRST},
        {&takt_op_sort, FIRST},
        {&takt_op_concat, ALL},
        {&takt_op_stack, ALL},
        {&takt_op_select, REST},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (ways[i].op == op)
            return ways[i].is;
    return UNKNOWN;
}

/* The second result of a sort holds the old positions. */
static hull input(const search *s, const takt_node *n, uint32_t k)
{
    if (n->in[k] == TAKT_NONE)
        return anything;
    const bool is_place = n->op == &takt_op_get && n->attr[0].i64 != 0 &&
                          s->frame->g->nodes[n->in[k]].op == &takt_op_sort;
    return is_place ? anything : s->of[n->in[k]];
}

/* Arithmetic of one or two inputs; false: it is something else. */
static bool compute(const search *s, const takt_node *n, hull *out)
{
    const takt_op *op = n->op;
    const hull a = n->in_count > 0 ? input(s, n, 0) : anything,
               b = n->in_count > 1 ? input(s, n, 1) : anything;
    if (op == &takt_op_add)
        *out = (hull){a.low + b.low, a.high + b.high};
    else if (op == &takt_op_sub)
        *out = (hull){a.low - b.high, a.high - b.low};
    else if (op == &takt_op_mul)
        *out = product(a, b);
    else if (op == &takt_op_div)
        *out = quotient(a, b);
    else if (op == &takt_op_reciprocal)
        *out = quotient((hull){1, 1}, a);
    else if (op == &takt_op_min)
        *out = (hull){fmin(a.low, b.low), fmin(a.high, b.high)};
    else if (op == &takt_op_max)
        *out = (hull){fmax(a.low, b.low), fmax(a.high, b.high)};
    else if (op == &takt_op_clip)
        *out = (hull){n->attr[0].is_set ? fmax(a.low, n->attr[0].f64) : a.low,
                      n->attr[1].is_set ? fmin(a.high, n->attr[1].f64) : a.high};
    else if (op == &takt_op_neg)
        *out = (hull){-a.high, -a.low};
    else if (op == &takt_op_relu)
        *out = (hull){fmax(a.low, 0), fmax(a.high, 0)};
    else if (op == &takt_op_sigmoid)
        *out = (hull){0, 1};
    else if (op == &takt_op_floor)
        *out = (hull){floor(a.low), floor(a.high)};
    else if (op == &takt_op_ceil)
        *out = (hull){ceil(a.low), ceil(a.high)};
    else if (op == &takt_op_round)
        *out = (hull){rint(a.low), rint(a.high)};
    else if (op == &takt_op_trunc)
        *out = (hull){trunc(a.low), trunc(a.high)};
    else if (op == &takt_op_cast)
        *out = a;
    else
        return false;
    *out = held(*out, n->type[0].dtype);
    return true;
}

static takt_status constant(const search *s, const takt_node *n, hull *out)
{
    const takt_tensor *t = n->attr[0].tensor;
    takt_array a = {0};
    if (takt_tensor_count(t) == 0 || takt_tensor_count(t) > MOST_ELEMENTS)
        return TAKT_OK;
    TAKT_TRY(takt_array_from_tensor(s->frame->g->ctx, t, &a));
    *out = (hull){INFINITY, -INFINITY};
    for (size_t i = 0; i < a.count; i++) {
        const double x = a.f != NULL ? a.f[i] : (double)a.i[i];
        *out = isnan(x) ? anything : both(*out, (hull){x, x});
    }
    takt_array_release(s->frame->g->ctx, &a);
    return TAKT_OK;
}

static takt_status size_of(const search *s, const takt_node *n, hull *out)
{
    const takt_type *x = takt_type_of(s->frame->g, n->in[0]);
    const int64_t axis = n->attr[0].i64 < 0 ? n->attr[0].i64 + x->rank : n->attr[0].i64;
    int64_t span[2];
    const takt_status status =
        takt_length_span_of(s->frame->g, x->dim[axis], s->spans, s->count, s->arena, span);
    if (status == TAKT_OK)
        *out = (hull){(double)span[TAKT_SPAN_LEAST], (double)span[TAKT_SPAN_MOST]};
    return status == TAKT_ERR_MEMORY ? status : TAKT_OK;
}

static takt_status find(const takt_length_frame *frame, takt_id id, const search *like, hull *out);

/* An input of a subgraph is an input of its node, unless a loop changes it. */
static takt_status captured(const search *s, takt_id id, hull *out)
{
    const takt_length_frame *f = s->frame;
    const takt_node *n = f->node;
    size_t i = 0;
    if (f->outer == NULL)
        return TAKT_OK;
    while (i < f->g->input_count && f->g->inputs[i].id != id)
        i++;
    const bool is_if = n->op == &takt_op_if;
    const size_t carried = is_if ? 0 : (size_t)takt_node_int(n, "carried");
    const size_t first = is_if ? 0 : n->op == &takt_op_loop ? 2 + carried : carried;
    if (n->op == &takt_op_loop && i == 0)
        *out = (hull){0, INFINITY};
    if ((!is_if && n->op != &takt_op_loop && n->op != &takt_op_scan) || i < first ||
        i + is_if >= n->in_count)
        return TAKT_OK;
    return find(f->outer, n->in[i + is_if], s, out);
}

/* One element of a list of sizes: tighter than the bound of all. */
static takt_status picked(const search *s, takt_id id, hull *out)
{
    takt_length_span span = {-1, -1};
    TAKT_TRY(takt_length_bound(s->frame->g, id, s->spans, s->count, &span));
    if (span.high >= 0)
        *out = (hull){(double)span.low, (double)span.high};
    return TAKT_OK;
}

static takt_status evaluate(const search *s, takt_id id, hull *out)
{
    const takt_node *n = &s->frame->g->nodes[id];
    const way is = way_of(n->op);
    *out = anything;
    if (n->op == &takt_op_constant)
        return constant(s, n, out);
    if (n->op == &takt_op_dim)
        return size_of(s, n, out);
    if (n->op == &takt_op_input)
        return captured(s, id, out);
    if (is != UNKNOWN && n->in_count > (is == REST)) {
        *out = input(s, n, is == REST);
        for (uint32_t k = 1 + (is == REST); is != FIRST && k < n->in_count; k++)
            *out = both(*out, input(s, n, k));
    } else if (n->op == &takt_op_pad && n->in_count > 0) {
        const takt_attr *fill = takt_node_attr(n, "value");
        const double x = fill != NULL && fill->is_set ? fill->f64 : 0;
        *out = both(input(s, n, 0), (hull){x, x});
    } else if (!compute(s, n, out)) {
        *out = n->out_count == 1 && n->type[0].dtype == TAKT_BOOL ? (hull){0, 1} : anything;
    }
    if (isnan(out->low) || isnan(out->high))
        *out = anything;
    if (n->op == &takt_op_gather && n->type[0].rank == 0 && n->type[0].dtype == TAKT_I64)
        return picked(s, id, out);
    return TAKT_OK;
}

/* Inputs that are only read as sizes, or as indices, are not visited. */
static void want_inputs(search *s, const takt_node *n)
{
    const way is = way_of(n->op);
    hull none;
    const bool counts = is != UNKNOWN || n->op == &takt_op_pad || compute(s, n, &none);
    for (uint32_t k = is == REST; counts && k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE && (k == 0 || is != FIRST))
            s->is_wanted[n->in[k]] = 1;
}

static takt_status find(const takt_length_frame *frame, takt_id id, const search *like, hull *out)
{
    const size_t nodes = (size_t)id + 1;
    search s = *like;
    s.frame = frame;
    *out = anything;
    if (nodes > *s.left)
        return TAKT_OK;
    *s.left -= nodes;
    s.is_wanted = takt_arena_array(s.arena, nodes, 1);
    s.of = takt_arena_array(s.arena, nodes, sizeof *s.of);
    if (s.is_wanted == NULL || s.of == NULL)
        return TAKT_ERR_MEMORY;
    memset(s.is_wanted, 0, nodes);
    for (size_t i = 0; i < nodes; i++)
        s.of[i] = anything;
    s.is_wanted[id] = 1;
    for (takt_id i = id + 1; i-- > 0;)
        if (s.is_wanted[i] != 0)
            want_inputs(&s, &frame->g->nodes[i]);
    for (takt_id i = 0; i <= id; i++)
        if (s.is_wanted[i] != 0)
            TAKT_TRY(evaluate(&s, i, &s.of[i]));
    *out = s.of[id];
    return TAKT_OK;
}

takt_status takt_length_hull(const takt_length_frame *frame, takt_id n,
                             const takt_length_span *spans, size_t count, int64_t *most)
{
    takt_arena arena;
    hull h;
    takt_arena_init(&arena, frame->g->ctx);
    size_t left = MOST_NODES;
    const search s = {.spans = spans, .count = count, .left = &left, .arena = &arena};
    const takt_status status = find(frame, n, &s, &h);
    takt_arena_deinit(&arena);
    if (status == TAKT_OK && h.high <= TAKT_HULL_MOST)
        *most = h.high > 0 ? (int64_t)h.high : 0;
    return status;
}
