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

/* The depth is that of unmatched nodes, which a limit keeps small. */
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

/* The same numbers in another order. */
static bool is_shuffled(takt_diff_work *w, const takt_array *a, const takt_array *b)
{
    if (a->count != b->count || a->count < 2)
        return false;
    double *x = takt_arena_array(&w->arena, a->count, sizeof *x);
    double *y = takt_arena_array(&w->arena, a->count, sizeof *y);
    double size = 0;
    if (x == NULL || y == NULL)
        return false;
    memcpy(x, a->f, a->count * sizeof *x);
    memcpy(y, b->f, a->count * sizeof *y);
    sort(x, a->count);
    sort(y, a->count);
    for (size_t i = 0; i < a->count; i++)
        size = fmax(size, fabs(y[i]));
    for (size_t i = 0; i < a->count; i++)
        if (!(fabs(x[i] - y[i]) <= 1e-6 * size))
            return false;
    return true;
}

static const takt_array *constant_at(const takt_diff_side *s, const takt_node *n, uint32_t k)
{
    if (k >= n->in_count || n->in[k] == TAKT_NONE ||
        s->graph->nodes[n->in[k]].op != &takt_op_constant)
        return NULL;
    const takt_array *a = &s->values[n->in[k]];
    return a->rank >= 0 && a->f != NULL ? a : NULL;
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

/* Constants that the two nodes read at the same place. */
static takt_cause compare_weights(takt_diff_work *w, const takt_node *n, const takt_node *r)
{
    for (uint32_t k = 0; k < n->in_count; k++) {
        const takt_array *a = constant_at(&w->own, n, k), *b = constant_at(&w->ref, r, k);
        if (a != NULL && b != NULL && differs(a, b))
            return is_shuffled(w, a, b) ? TAKT_CAUSE_LAYOUT : TAKT_CAUSE_WEIGHTS;
    }
    return TAKT_CAUSE_NONE;
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

/* What a narrow type on the way did. */
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

static takt_cause cause_of(takt_diff_work *w, takt_diff_row *row, const takt_array *here)
{
    const takt_node *n = &w->own.graph->nodes[row->id], *r = &w->ref.graph->nodes[row->ref];
    const takt_array *there = &w->ref.values[row->ref];
    stretch s = {.w = w,
                 .quantises = TAKT_NONE,
                 .moves = TAKT_NONE,
                 .narrow = TAKT_NONE,
                 .narrowest = r->type[0].dtype};
    look_back(&s, row->id, 0);
    if (here->count != there->count)
        return TAKT_CAUSE_MEANING;
    if (count_if(here, there, broke) > 0) {
        row->at = s.narrow != TAKT_NONE ? s.narrow : row->at;
        return TAKT_CAUSE_OVERFLOW;
    }
    if (s.quantises != TAKT_NONE) {
        row->at = s.quantises;
        return TAKT_CAUSE_RANGE;
    }
    if (s.narrow != TAKT_NONE)
        return cause_of_type(w, row, &s, here);
    const takt_cause weights = n->op == r->op ? compare_weights(w, n, r) : TAKT_CAUSE_NONE;
    if (weights != TAKT_CAUSE_NONE)
        return weights;
    if (cancels(w, n, there, row->made, 1e-6))
        return TAKT_CAUSE_CANCELLATION;
    if (s.moves != TAKT_NONE || is_shuffled(w, here, there) ||
        (n->op == &takt_op_transpose && n->op == r->op)) {
        row->at = s.moves != TAKT_NONE ? s.moves : row->at;
        return TAKT_CAUSE_LAYOUT;
    }
    row->detail = other_attribute(n, r);
    return TAKT_CAUSE_MEANING;
}

void takt_diff_explain(takt_diff_work *w, takt_diff_row *row)
{
    const takt_array *here;
    if (takt_diff_here(w, row->id, &here) == TAKT_OK)
        row->cause = cause_of(w, row, here);
}
