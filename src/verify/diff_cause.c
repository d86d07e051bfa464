/* diff_cause.c - why a node's value differs from the reference's. */
#include <math.h>
#include <string.h>

#include "ir/attr.h"
#include "op/ops.h"
#include "op/util/bound.h"
#include "verify/diff.h"

const char *const takt_cause_words[TAKT_CAUSES] = {
    "none",         "overflow",           "underflow", "cancellation",
    "element type", "quantisation range", "weights",   "attribute or semantics",
    "layout"};

/* The nodes between a matched node and the matched nodes before it. */
typedef struct stretch {
    takt_diff_work *w;
    takt_id quantises, moves; /* a node that differs, or TAKT_NONE */
    takt_dtype narrowest;
    takt_id narrow; /* the node of that type */
} stretch;

static void note(stretch *s, takt_id id)
{
    const takt_node *n = &s->w->own.graph->nodes[id];
    const takt_dtype dtype = n->type[0].dtype;
    if (n->op == &takt_op_quantize || n->op == &takt_op_dequantize || n->op == &takt_op_requantize)
        s->quantises = id;
    if (takt_dtype_is_float(dtype) && takt_dtype_bits(dtype) < takt_dtype_bits(s->narrowest)) {
        s->narrowest = dtype;
        s->narrow = id;
    }
}

/* The depth is that of unmatched nodes, which is limited. */
static void look_back(stretch *s, takt_id id, int depth)
{
    enum { DEEPEST = 64 };
    const takt_node *n = &s->w->own.graph->nodes[id];
    note(s, id);
    for (uint32_t k = 0; depth < DEEPEST && k < n->in_count; k++) {
        if (n->in[k] == TAKT_NONE || s->w->match[n->in[k]] != TAKT_NONE)
            continue;
        const takt_node *in = &s->w->own.graph->nodes[n->in[k]];
        if (in->op == &takt_op_transpose || in->op == &takt_op_reshape)
            s->moves = n->in[k];
        if (in->op != &takt_op_constant)
            look_back(s, n->in[k], depth + 1);
    }
}

/* Sifts element `i` of a heap of `count` down. */
static void sift(double *x, size_t i, size_t count)
{
    const double value = x[i];
    for (size_t child = 2 * i + 1; child < count; child = 2 * i + 1) {
        child += child + 1 < count && x[child + 1] > x[child];
        if (!(x[child] > value))
            break;
        x[i] = x[child];
        i = child;
    }
    x[i] = value;
}

/* Ascending, without allocation. */
static void sort(double *x, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift(x, i, count);
    for (size_t last = count; last-- > 1;) {
        const double largest = x[0];
        x[0] = x[last];
        x[last] = largest;
        sift(x, 0, last);
    }
}

static bool is_near(const takt_array *a, const takt_array *b)
{
    double size = 0;
    for (size_t i = 0; i < b->count; i++)
        size = fmax(size, fabs(b->f[i]));
    for (size_t i = 0; i < b->count; i++)
        if (!(fabs(a->f[i] - b->f[i]) <= 1e-6 * size))
            return false;
    return true;
}

/* The same numbers in another order. */
static takt_status find_shuffle(takt_diff_work *w, const takt_array *a, const takt_array *b,
                                bool *is_shuffled)
{
    takt_array x = {.rank = -1}, y = {.rank = -1};
    *is_shuffled = false;
    if (a->count != b->count || a->count < 2)
        return TAKT_OK;
    takt_status status = takt_array_copy(w->ctx, a, &x);
    if (status == TAKT_OK)
        status = takt_array_copy(w->ctx, b, &y);
    if (status == TAKT_OK) {
        sort(x.f, x.count);
        sort(y.f, y.count);
        *is_shuffled = is_near(&x, &y);
    }
    takt_array_release(w->ctx, &x);
    takt_array_release(w->ctx, &y);
    return status;
}

/* The constant that a node reads as input k, or TAKT_NONE. */
static takt_id constant_at(const takt_diff_side *s, const takt_node *n, uint32_t k)
{
    const bool is_one = k < n->in_count && n->in[k] != TAKT_NONE &&
                        s->graph->nodes[n->in[k]].op == &takt_op_constant &&
                        takt_dtype_is_float(takt_type_of(s->graph, n->in[k])->dtype);
    return is_one ? n->in[k] : TAKT_NONE;
}

static bool differs(const takt_array *a, const takt_array *b)
{
    if (a->count != b->count)
        return true;
    for (size_t i = 0; i < a->count; i++)
        if (a->f[i] != b->f[i] && !(isnan(a->f[i]) && isnan(b->f[i])))
            return true;
    return false;
}

/* Constants that the two nodes read at the same place. Those of own are in memory. */
static takt_status compare_weights(takt_diff_work *w, const takt_node *n, const takt_node *r,
                                   takt_cause *cause)
{
    *cause = TAKT_CAUSE_NONE;
    for (uint32_t k = 0; k < n->in_count && *cause == TAKT_CAUSE_NONE; k++) {
        const takt_id own = constant_at(&w->own, n, k), ref = constant_at(&w->ref, r, k);
        if (own == TAKT_NONE || ref == TAKT_NONE)
            continue;
        TAKT_TRY(takt_diff_late(w, &w->ref, ref));
        const takt_array *a = &w->own.values[own], *b = &w->ref.values[ref];
        bool is_shuffled = false;
        takt_status status = TAKT_OK;
        if (differs(a, b)) {
            status = find_shuffle(w, a, b, &is_shuffled);
            *cause = is_shuffled ? TAKT_CAUSE_LAYOUT : TAKT_CAUSE_WEIGHTS;
        }
        takt_diff_leave(w, &w->ref, ref);
        TAKT_TRY(status);
    }
    return TAKT_OK;
}

static const char *other_attribute(const takt_node *n, const takt_node *r)
{
    if (n->op != r->op)
        return n->op->name;
    for (size_t i = 0; i < takt_op_attr_count(n->op); i++) {
        const takt_attr_def *d = &n->op->attrs[i];
        if (d->type == TAKT_ATTR_GRAPH || d->type == TAKT_ATTR_TENSOR)
            continue;
        if (n->attr[i].is_set != r->attr[i].is_set ||
            (n->attr[i].is_set && !takt_attr_same(d, &n->attr[i], &r->attr[i])))
            return d->name;
    }
    return NULL;
}

static size_t count_if(const takt_array *a, const takt_array *b, bool (*f)(double, double))
{
    size_t count = 0;
    for (size_t i = 0; i < a->count && i < b->count; i++)
        count += f(a->f[i], b->f[i]) ? 1 : 0;
    return count;
}

static bool broke(double here, double there)
{
    return !isfinite(here) && isfinite(there);
}

static bool vanished(double here, double there)
{
    return here == 0 && there != 0;
}

/* Cancellation: the node's inputs are much larger than its result. */
static bool cancels(takt_diff_work *w, const takt_node *n, const takt_array *there, double error,
                    double unit)
{
    double in = 0, out = 0;
    const bool sums = n->op == &takt_op_add || n->op == &takt_op_sub ||
                      n->op == &takt_op_reduce_sum || n->op == &takt_op_matmul;
    for (uint32_t k = 0; k < n->in_count && sums; k++) {
        const takt_array *x = n->in[k] != TAKT_NONE ? &w->own.values[n->in[k]] : NULL;
        for (size_t i = 0; x != NULL && x->f != NULL && i < x->count; i++)
            in = fmax(in, fabs(x->f[i]));
    }
    for (size_t i = 0; i < there->count; i++)
        out = fmax(out, fabs(there->f[i]));
    return sums && in > 256 * out && error * out <= unit * in;
}

/* The effect of a narrow type on the way. */
static takt_cause cause_of_type(takt_diff_work *w, takt_diff_row *row, const stretch *s,
                                const takt_array *here)
{
    const takt_array *there = &w->ref.values[row->ref];
    const takt_node *n = &w->own.graph->nodes[row->id];
    row->at = s->narrow;
    row->detail = takt_dtype_name(s->narrowest);
    if (4 * count_if(here, there, vanished) > here->count)
        return TAKT_CAUSE_UNDERFLOW;
    return cancels(w, n, there, row->made, 0x1p-7) ? TAKT_CAUSE_CANCELLATION : TAKT_CAUSE_TYPE;
}

/* Neither overflow nor a type: different weights, order of elements, or operation. */
static takt_status cause_of_meaning(takt_diff_work *w, takt_diff_row *row, const stretch *s,
                                    const takt_array *here)
{
    const takt_node *n = &w->own.graph->nodes[row->id], *r = &w->ref.graph->nodes[row->ref];
    const takt_array *there = &w->ref.values[row->ref];
    bool is_shuffled = false;
    if (n->op == r->op)
        TAKT_TRY(compare_weights(w, n, r, &row->cause));
    if (row->cause != TAKT_CAUSE_NONE)
        return TAKT_OK;
    if (cancels(w, n, there, row->made, 1e-6)) {
        row->cause = TAKT_CAUSE_CANCELLATION;
        return TAKT_OK;
    }
    TAKT_TRY(find_shuffle(w, here, there, &is_shuffled));
    if (s->moves != TAKT_NONE || is_shuffled || (n->op == &takt_op_transpose && n->op == r->op)) {
        row->at = s->moves != TAKT_NONE ? s->moves : row->at;
        row->cause = TAKT_CAUSE_LAYOUT;
        return TAKT_OK;
    }
    row->detail = other_attribute(n, r);
    row->cause = TAKT_CAUSE_MEANING;
    return TAKT_OK;
}

takt_status takt_diff_explain(takt_diff_work *w, takt_diff_row *row, const takt_array *here)
{
    const takt_array *there = &w->ref.values[row->ref];
    stretch s = {.w = w,
                 .quantises = TAKT_NONE,
                 .moves = TAKT_NONE,
                 .narrow = TAKT_NONE,
                 .narrowest = w->ref.graph->nodes[row->ref].type[0].dtype};
    look_back(&s, row->id, 0);
    if (here->count != there->count) {
        row->cause = TAKT_CAUSE_MEANING;
    } else if (count_if(here, there, broke) > 0) {
        row->at = s.narrow != TAKT_NONE ? s.narrow : row->at;
        row->cause = TAKT_CAUSE_OVERFLOW;
    } else if (s.quantises != TAKT_NONE) {
        row->at = s.quantises;
        row->cause = TAKT_CAUSE_RANGE;
    } else if (s.narrow != TAKT_NONE) {
        row->cause = cause_of_type(w, row, &s, here);
    } else {
        return cause_of_meaning(w, row, &s, here);
    }
    return TAKT_OK;
}
