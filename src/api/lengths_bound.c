/* lengths_bound.c - sizes computed only from other sizes, as when detectors compute the scaled size
 * of an image: once those are numbers, these are too, and need no bound.
 *
 * Where the sizes have ranges, every value is computed twice, at its minimum and at its maximum.
 * That bounds the results of operations that are monotone in each input; inputs of other operations
 * must be the same at both ends.
 */
#include <math.h>
#include <string.h>

#include "api/lengths.h"
#include "base/arena.h"
#include "base/ctx.h"
#include "base/error_record.h"
#include "interp/interp.h"
#include "ir/leaves.h"
#include "op/ops.h"

enum { MOST_NODES = 4096, MOST_ELEMENTS = 64 };
enum { LEAST = TAKT_SPAN_LEAST, MOST = TAKT_SPAN_MOST };

typedef struct worth {
    const takt_graph *g;
    const takt_length_span *spans; /* by index of names */
    size_t count;
    unsigned char *is_wanted; /* per node up to the one in question */
    takt_array **values[2]; /* per node: its results, at their minimum and maximum; NULL: unknown */
    takt_arena *arena;
} worth;

/* Whether the node can be evaluated by itself: its inputs are then needed as well. A size is read
 * from a type, whatever the value is. */
static bool is_plain(const takt_node *n)
{
    const unsigned never = TAKT_CONTROL | TAKT_UNIQUE | TAKT_LEAF;
    return n->op == &takt_op_constant || n->op == &takt_op_length || n->op == &takt_op_get ||
           (n->op->traits & never) == 0;
}

static bool is_small(const takt_node *n)
{
    for (uint32_t k = 0; k < n->out_count; k++) {
        int64_t elements = 1;
        for (int d = 0; d < n->type[k].rank; d++) {
            const takt_dim size = n->type[k].dim[d];
            if (!takt_dim_is_number(size) || size > MOST_ELEMENTS)
                return false;
            elements *= size;
        }
        if (elements > MOST_ELEMENTS)
            return false;
    }
    return true;
}

/* Marks the nodes that `last` needs; false: there are too many, or not only sizes. */
static bool mark(worth *w, takt_id last)
{
    size_t nodes = 0;
    w->is_wanted[last] = 1;
    for (takt_id i = last + 1; i-- > 0;) {
        const takt_node *n = &w->g->nodes[i];
        if (w->is_wanted[i] == 0)
            continue;
        if (!is_plain(n) || !is_small(n) || ++nodes > MOST_NODES)
            return false;
        for (uint32_t k = 0; n->op != &takt_op_dim && k < n->in_count; k++)
            if (n->in[k] != TAKT_NONE)
                w->is_wanted[n->in[k]] = 1;
    }
    return true;
}

/* ---- values ---- */

static takt_status size_of(worth *w, const takt_node *n, takt_array *const out[2])
{
    const takt_type *x = takt_type_of(w->g, n->in[0]);
    const int64_t axis = n->attr[0].i64 < 0 ? n->attr[0].i64 + x->rank : n->attr[0].i64;
    int64_t span[2];
    TAKT_TRY(takt_length_span_of(w->g, x->dim[axis], w->spans, w->count, w->arena, span));
    for (int i = 0; i < 2; i++) {
        TAKT_TRY(takt_array_create(w->g->ctx, &n->type[0], out[i]));
        out[i]->i[0] = span[i];
    }
    return TAKT_OK;
}

/* How a result depends on its inputs. */
typedef enum way {
    ANY,      /* unknown: its inputs have to be the same at both ends */
    TOGETHER, /* it increases with all of them */
    APART,    /* monotone in each input, whatever the others are */
    PLACES,   /* the same for input 0; the others are indices, and constant */
    CHOICE,   /* the first selects one of the others */
} way;

static way way_of(const takt_op *op)
{
    static const struct {
        const takt_op *op;
        way is;
    } ways[] = {
        {&takt_op_add, TOGETHER},
        {&takt_op_min, TOGETHER},
        {&takt_op_max, TOGETHER},
        {&takt_op_concat, TOGETHER},
        {&takt_op_reshape, TOGETHER},
        {&takt_op_squeeze, TOGETHER},
        {&takt_op_unsqueeze, TOGETHER},
        {&takt_op_transpose, TOGETHER},
        {&takt_op_slice, TOGETHER},
        {&takt_op_broadcast, TOGETHER},
        {&takt_op_cast, TOGETHER},
        {&takt_op_floor, TOGETHER},
        {&takt_op_ceil, TOGETHER},
        {&takt_op_round, TOGETHER},
        {&takt_op_sqrt, TOGETHER},
        {&takt_op_trunc, TOGETHER},
        {&takt_op_stack, TOGETHER},
        {&takt_op_and, TOGETHER},
        {&takt_op_or, TOGETHER},
        {&takt_op_length, TOGETHER},
        {&takt_op_reduce_max, TOGETHER},
        {&takt_op_reduce_min, TOGETHER},
        {&takt_op_reduce_sum, TOGETHER},
        {&takt_op_sub, APART},
        {&takt_op_mul, APART},
        {&takt_op_div, APART},
        {&takt_op_neg, APART},
        {&takt_op_not, APART},
        {&takt_op_lt, APART},
        {&takt_op_le, APART},
        {&takt_op_gt, APART},
        {&takt_op_ge, APART},
        {&takt_op_gather, PLACES},
        {&takt_op_select, CHOICE},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (ways[i].op == op)
            return ways[i].is;
    return ANY;
}

static double item(const takt_array *a, size_t i)
{
    return a->f != NULL ? a->f[i] : (double)a->i[i];
}

static bool is_less(const takt_array *a, const takt_array *b, size_t i)
{
    return a->f != NULL ? a->f[i] < b->f[i] : a->i[i] < b->i[i];
}

static bool is_fixed(const worth *w, takt_id id)
{
    const takt_array *a = w->values[LEAST][id], *b = w->values[MOST][id];
    for (size_t i = 0; i < a->count; i++)
        if (a->f != NULL ? !(a->f[i] == b->f[i]) : a->i[i] != b->i[i]) /* NaN is never fixed */
            return false;
    return true;
}

/* Whether it keeps its sign and is not 0. */
static bool is_apart(const worth *w, takt_id id)
{
    const takt_array *a = w->values[LEAST][id], *b = w->values[MOST][id];
    for (size_t i = 0; i < a->count; i++)
        if (!(item(a, i) > 0) && !(item(b, i) < 0))
            return false;
    return true;
}

/* Whether a cast that gave `out` is monotone: an integer type that holds both ends holds everything
 * between them, other types wrap; bool is true on both sides of 0. */
static bool is_rising_cast(const worth *w, const takt_node *n, takt_array *const out[2])
{
    const bool is_bool = n->type[0].dtype == TAKT_BOOL;
    for (int end = 0; end < 2 && out[end]->f == NULL; end++)
        for (size_t i = 0; i < out[end]->count; i++) {
            const double x = item(w->values[end][n->in[0]], i);
            if (is_bool ? !(x >= 0) : !(fabs(x - item(out[end], i)) < 1))
                return false;
        }
    return true;
}

/* Results with input k at its minimum, or at its maximum where bit k of `ends` is set. */
static takt_status at(worth *w, const takt_node *n, unsigned ends, takt_array *out)
{
    takt_array *in = takt_arena_array(w->arena, n->in_count + 1, sizeof *in);
    if (in == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t k = 0; k < n->in_count; k++)
        in[k] = n->in[k] == TAKT_NONE ? (takt_array){.rank = -1}
                                      : w->values[ends >> (k < 31 ? k : 31) & 1][n->in[k]][0];
    return takt_interpret_node(w->g->ctx, w->g, n, in, out);
}

/* `of` becomes the element-wise minimum or maximum of both. */
static bool spread(takt_array *of, const takt_array *with, int end)
{
    for (size_t i = 0; i < of->count; i++) {
        if (isnan(item(with, i)) || isnan(item(of, i)))
            return false;
        if (end == LEAST ? !is_less(with, of, i) : !is_less(of, with, i))
            continue;
        if (of->f != NULL)
            of->f[i] = with->f[i];
        else
            of->i[i] = with->i[i];
    }
    return true;
}

/* The minimum and maximum over all `count` combinations. */
static takt_status hull(worth *w, const takt_node *n, const unsigned *ends, size_t count,
                        takt_array *const out[2])
{
    bool is_good = n->out_count == 1;
    TAKT_TRY(at(w, n, ends[0], out[LEAST]));
    TAKT_TRY(at(w, n, ends[0], out[MOST]));
    for (size_t i = 1; i < count && is_good; i++) {
        takt_array one = {0};
        const takt_status status = at(w, n, ends[i], &one);
        is_good =
            status == TAKT_OK && spread(out[LEAST], &one, LEAST) && spread(out[MOST], &one, MOST);
        takt_array_release(w->g->ctx, &one);
        TAKT_TRY(status);
    }
    return is_good ? TAKT_OK : TAKT_ERR_SHAPE;
}

static takt_status between(worth *w, const takt_node *n, takt_array *const out[2])
{
    static const unsigned four[] = {0, 1, 2, 3};
    bool is_same = true;
    for (uint32_t k = 0; k < n->in_count; k++)
        is_same = is_same && (n->in[k] == TAKT_NONE || is_fixed(w, n->in[k]));
    TAKT_TRY(at(w, n, 0, out[LEAST]));
    if (is_same)
        return at(w, n, 0, out[MOST]);
    switch (way_of(n->op)) {
    case TOGETHER:
        TAKT_TRY(at(w, n, ~0U, out[MOST]));
        return n->op != &takt_op_cast || is_rising_cast(w, n, out) ? TAKT_OK : TAKT_ERR_SHAPE;
    case APART:
        if (n->op == &takt_op_div && !is_apart(w, n->in[1]))
            return TAKT_ERR_SHAPE;
        takt_array_release(w->g->ctx, out[LEAST]);
        return hull(w, n, four, n->in_count == 1 ? 2 : 4, out);
    case PLACES: return is_fixed(w, n->in[1]) ? at(w, n, 1, out[MOST]) : TAKT_ERR_SHAPE;
    case CHOICE:
        takt_array_release(w->g->ctx, out[LEAST]);
        return hull(w, n, (const unsigned[]){0, 6, 1, 7}, 4, out);
    case ANY: break;
    }
    return TAKT_ERR_SHAPE;
}

static takt_status evaluate(worth *w, const takt_node *n, takt_array *const out[2])
{
    takt_ctx *ctx = w->g->ctx;
    if (n->op == &takt_op_dim)
        return size_of(w, n, out);
    for (int i = 0; i < 2 && n->op == &takt_op_constant; i++)
        TAKT_TRY(takt_array_from_tensor(ctx, n->attr[0].tensor, out[i]));
    for (int i = 0; i < 2 && n->op == &takt_op_get; i++)
        TAKT_TRY(takt_array_copy(ctx, &w->values[i][n->in[0]][n->attr[0].i64], out[i]));
    return n->op == &takt_op_constant || n->op == &takt_op_get ? TAKT_OK : between(w, n, out);
}

/* If one end is NaN, nothing is known about the values in between. */
static bool has_nan(const takt_array *a)
{
    for (size_t i = 0; a->f != NULL && i < a->count; i++)
        if (isnan(a->f[i]))
            return true;
    return false;
}

static takt_status evaluate_all(worth *w, takt_id last)
{
    for (takt_id i = 0; i <= last; i++) {
        const takt_node *n = &w->g->nodes[i];
        if (w->is_wanted[i] == 0)
            continue;
        takt_array *out[2];
        for (int end = 0; end < 2; end++) {
            out[end] = takt_arena_array(w->arena, n->out_count, sizeof *out[end]);
            if (out[end] == NULL)
                return TAKT_ERR_MEMORY;
            memset(out[end], 0, n->out_count * sizeof *out[end]);
            w->values[end][i] = out[end];
        }
        TAKT_TRY(evaluate(w, n, out));
        for (uint32_t k = 0; k < n->out_count; k++)
            if (has_nan(&out[LEAST][k]) || has_nan(&out[MOST][k]))
                return TAKT_ERR_SHAPE;
    }
    return TAKT_OK;
}

static void release(worth *w, takt_id last)
{
    for (takt_id i = 0; i <= last; i++)
        for (int end = 0; end < 2; end++)
            for (uint32_t k = 0; w->values[end][i] != NULL && k < w->g->nodes[i].out_count; k++)
                takt_array_release(w->g->ctx, &w->values[end][i][k]);
}

takt_status takt_length_bound(const takt_graph *g, takt_id n, const takt_length_span *spans,
                              size_t count, takt_length_span *out)
{
    takt_arena arena;
    takt_error before;
    takt_error_copy(g->ctx, &before);
    const size_t nodes = (size_t)n + 1;
    takt_arena_init(&arena, g->ctx);
    worth w = {.g = g, .spans = spans, .count = count, .arena = &arena};
    w.is_wanted = takt_arena_array(&arena, nodes, 1);
    w.values[LEAST] = takt_arena_array(&arena, nodes, sizeof **w.values);
    w.values[MOST] = takt_arena_array(&arena, nodes, sizeof **w.values);
    takt_status status = w.is_wanted != NULL && w.values[LEAST] != NULL && w.values[MOST] != NULL
                             ? TAKT_OK
                             : TAKT_ERR_MEMORY;
    if (status == TAKT_OK) {
        memset(w.is_wanted, 0, nodes);
        memset(w.values[LEAST], 0, nodes * sizeof **w.values);
        memset(w.values[MOST], 0, nodes * sizeof **w.values);
        status = mark(&w, n) ? evaluate_all(&w, n) : TAKT_ERR_SHAPE;
        for (size_t k = 0; status == TAKT_OK && k < w.values[MOST][n]->count; k++)
            out[k] = (takt_length_span){w.values[LEAST][n]->i[k], w.values[MOST][n]->i[k]};
        release(&w, n);
    }
    takt_arena_deinit(&arena);
    if (status == TAKT_ERR_MEMORY)
        return status;
    if (status != TAKT_OK)
        takt_error_put_back(g->ctx, &before); /* a run reports what is wrong */
    return TAKT_OK;
}
