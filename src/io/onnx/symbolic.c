/* symbolic.c - integer vectors whose elements are dimensions: inputs of shape computations. */
#include <string.h>

#include "base/size.h"
#include "io/onnx/import.h"

static takt_sym number(int64_t v)
{
    return (takt_sym){.number = v};
}

static takt_sym of_dim(takt_dim d)
{
    return takt_dim_is_number(d) ? number(d) : (takt_sym){.is_dim = true, .dim = d};
}

typedef struct work {
    takt_room *room;
    const takt_node *n;
    takt_sym *out;
    size_t count;
    takt_status status; /* memory failures only: other failures mean "not known" */
} work;

static bool fails(work *w, takt_status status)
{
    if (status == TAKT_ERR_MEMORY)
        w->status = status;
    return false;
}

/* ---- arithmetic on one element ---- */

static bool combine(work *w, const takt_op *op, takt_sym a, takt_sym b, takt_sym *out);

static bool numbers(const takt_op *op, int64_t a, int64_t b, int64_t *out)
{
    if (op == &takt_op_add)
        return !__builtin_add_overflow(a, b, out);
    if (op == &takt_op_sub)
        return !__builtin_sub_overflow(a, b, out);
    if (op == &takt_op_mul)
        return !__builtin_mul_overflow(a, b, out);
    if (op == &takt_op_min || op == &takt_op_max)
        *out = (op == &takt_op_min) == (a < b) ? a : b;
    else if (b > 0 && a >= 0)
        *out = op == &takt_op_mod ? a % b : a / b;
    else
        return false;
    return true;
}

/* False if there is none. */
static bool dim_op(const takt_op *op, takt_dim_op *out)
{
    const struct {
        const takt_op *op;
        takt_dim_op to;
    } list[] = {{&takt_op_add, TAKT_DIM_ADD}, {&takt_op_sub, TAKT_DIM_SUB},
                {&takt_op_mul, TAKT_DIM_MUL}, {&takt_op_div, TAKT_DIM_FLOORDIV},
                {&takt_op_mod, TAKT_DIM_MOD}, {&takt_op_min, TAKT_DIM_MIN},
                {&takt_op_max, TAKT_DIM_MAX}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].op == op) {
            *out = list[i].to;
            return true;
        }
    return false;
}

static takt_sym minus(takt_sym a)
{
    a.is_minus = a.is_dim && !a.is_minus;
    a.number = a.is_dim ? 0 : -a.number;
    return a;
}

/* -k modulo n, with the sign of n: the index that a shift by k reads. */
static bool wrapped(work *w, int64_t k, takt_dim n, takt_sym *out)
{
    takt_dims *dims = w->room->g->dims;
    takt_dim d = 0;
    takt_status status = takt_dim_make(dims, TAKT_DIM_MOD, k, n, &d);
    status = status == TAKT_OK ? takt_dim_make(dims, TAKT_DIM_SUB, n, d, &d) : status;
    status = status == TAKT_OK ? takt_dim_make(dims, TAKT_DIM_MOD, d, n, &d) : status;
    *out = of_dim(d);
    return status == TAKT_OK || fails(w, status);
}

/* Expressions that contain or yield a negated dimension; false if this is not one, or if it cannot
 * be expressed. */
static bool combine_signed(work *w, const takt_op *op, takt_sym a, takt_sym b, takt_sym *out)
{
    if (op == &takt_op_sub && !a.is_dim && a.number == 0)
        *out = minus(b);
    else if (op == &takt_op_mul && !a.is_dim && a.number == -1)
        *out = minus(b);
    else if (op == &takt_op_mul && !b.is_dim && b.number == -1)
        *out = minus(a);
    else if (op == &takt_op_mod && !a.is_dim && a.number < 0 && a.number > INT32_MIN && b.is_dim &&
             !b.is_minus)
        return wrapped(w, -a.number, b.dim, out);
    else if (op == &takt_op_add && a.is_dim && b.is_dim && a.is_minus != b.is_minus)
        return combine(w, &takt_op_sub, a.is_minus ? b : a, minus(a.is_minus ? a : b), out);
    else
        return false;
    return true;
}

static bool combine(work *w, const takt_op *op, takt_sym a, takt_sym b, takt_sym *out)
{
    *out = (takt_sym){0};
    if (!a.is_dim && !b.is_dim)
        return numbers(op, a.number, b.number, &out->number);
    if (combine_signed(w, op, a, b, out))
        return true;
    if (a.is_minus || b.is_minus)
        return false;
    takt_dim_op how = TAKT_DIM_MUL;
    (void)dim_op(op, &how); /* calculate() has no others */
    if (how == TAKT_DIM_ADD && (!a.is_dim ? a.number : b.is_dim ? 0 : b.number) < 0) {
        const int64_t by = !a.is_dim ? a.number : b.number; /* n + -1 is n - 1 */
        if (by == INT64_MIN)
            return false;
        if (!a.is_dim)
            a = b;
        b = number(-by);
        how = TAKT_DIM_SUB;
    }
    if ((!a.is_dim && a.number < 0) || (!b.is_dim && b.number < 0))
        return false;
    takt_ctx *ctx = w->room->im->ctx;
    const takt_error before = ctx->error;
    takt_dim d;
    const takt_status status = takt_dim_make(w->room->g->dims, how, a.is_dim ? a.dim : a.number,
                                             b.is_dim ? b.dim : b.number, &d);
    if (status != TAKT_OK) {
        if (status != TAKT_ERR_MEMORY)
            ctx->error = before;
        return fails(w, status);
    }
    *out = of_dim(d);
    return true;
}

/* ---- comparisons ---- */

/* a < b if it can be decided: a dimension is not negative. */
static bool is_less(takt_sym a, takt_sym b, bool *out)
{
    *out = !a.is_dim && (b.is_dim ? a.number < 0 : a.number < b.number);
    return (!a.is_dim && !b.is_dim) || (a.is_dim && !b.is_dim && b.number <= 0) || *out;
}

static bool is_equal(takt_room *room, takt_sym a, takt_sym b, bool *out)
{
    bool less, more;
    if (a.is_dim && b.is_dim) {
        *out = takt_dim_same(room->g->dims, a.dim, b.dim);
        return *out;
    }
    *out = !a.is_dim && !b.is_dim && a.number == b.number;
    return (!a.is_dim && !b.is_dim) || (is_less(a, b, &less) && less) ||
           (is_less(b, a, &more) && more);
}

static bool is_comparison(const takt_op *op)
{
    return op == &takt_op_eq || op == &takt_op_ne || op == &takt_op_lt || op == &takt_op_le ||
           op == &takt_op_gt || op == &takt_op_ge;
}

/* False if undecidable. */
static bool compare(takt_room *room, const takt_op *op, takt_sym a, takt_sym b, takt_sym *out)
{
    bool yes = false, is_known;
    if (a.is_minus || b.is_minus)
        return false;
    if (op == &takt_op_eq || op == &takt_op_ne)
        is_known = is_equal(room, a, b, &yes);
    else if (op == &takt_op_lt || op == &takt_op_ge)
        is_known = is_less(a, b, &yes);
    else
        is_known = is_less(b, a, &yes);
    *out = number(yes != (op == &takt_op_ne || op == &takt_op_ge || op == &takt_op_le));
    return is_known;
}

/* ---- nodes ---- */

static takt_syms input(work *w, uint32_t i)
{
    takt_syms syms = {0};
    const takt_status status = takt_fold_syms(w->room, w->n->in[i], &syms);
    if (status != TAKT_OK) {
        fails(w, status);
        return (takt_syms){0};
    }
    return syms;
}

static bool copy_all(work *w)
{
    const takt_syms a = input(w, 0);
    if (a.at == NULL || (a.count != w->count && a.count != 1))
        return false;
    for (size_t i = 0; i < w->count; i++)
        w->out[i] = a.at[a.count == 1 ? 0 : i];
    return true;
}

static bool negate(work *w)
{
    if (!copy_all(w))
        return false;
    for (size_t i = 0; i < w->count; i++) {
        if (w->out[i].number == INT64_MIN)
            return false;
        w->out[i] = minus(w->out[i]);
    }
    return true;
}

/* A name keeps its value in 64 bits and, as sizes do, in 32; in fewer bits the number may
 * change. */
static bool cast_all(work *w)
{
    const takt_dtype to = w->n->type[0].dtype;
    if (!copy_all(w))
        return false;
    for (size_t i = 0; i < w->count && to != TAKT_I64 && to != TAKT_I32; i++) {
        if (w->out[i].is_dim)
            return false;
        w->out[i].number = takt_dtype_wrap(to, w->out[i].number);
    }
    return true;
}

static bool join(work *w)
{
    size_t at = 0;
    for (uint32_t i = 0; i < w->n->in_count; i++) {
        const takt_syms a = input(w, i);
        if (a.at == NULL || a.count > w->count - at)
            return false;
        memcpy(w->out + at, a.at, a.count * sizeof *a.at);
        at += a.count;
    }
    return at == w->count;
}

static bool pick(work *w)
{
    const takt_syms x = input(w, 0), index = input(w, 1);
    if (x.at == NULL || index.at == NULL || index.count != w->count)
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const int64_t k = index.at[i].number, at = k < 0 ? k + (int64_t)x.count : k;
        if (index.at[i].is_dim || at < 0 || at >= (int64_t)x.count)
            return false;
        w->out[i] = x.at[at];
    }
    return true;
}

static bool cut(work *w)
{
    const takt_syms x = input(w, 0);
    const takt_attr *attr = w->n->attr; /* axes, start, stop, step */
    if (x.at == NULL || attr[1].count != 1)
        return false;
    const int64_t size = (int64_t)x.count, step = attr[3].count == 1 ? attr[3].i64s[0] : 1;
    int64_t at = attr[1].i64s[0];
    at = at < 0 ? at + size : at;
    at = at < 0 ? (step > 0 ? 0 : -1) : at;
    if (step < 0 && at >= size)
        at = size - 1;
    for (size_t i = 0; i < w->count; i++) {
        if (at < 0 || at >= size)
            return false;
        w->out[i] = x.at[at];
        if (!takt_i64_add(at, step, &at)) /* past the last */
            return i + 1 == w->count;
    }
    return true;
}

/* One for all, or one for each: no other broadcasting. */
static bool suits(const work *w, takt_syms a)
{
    return a.at != NULL && (a.count == 1 || a.count == w->count);
}

static bool calculate(work *w)
{
    const takt_syms a = input(w, 0), b = input(w, 1);
    if (!suits(w, a) || !suits(w, b))
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const takt_sym x = a.at[a.count == 1 ? 0 : i], y = b.at[b.count == 1 ? 0 : i];
        if (is_comparison(w->n->op) ? !compare(w->room, w->n->op, x, y, &w->out[i])
                                    : !combine(w, w->n->op, x, y, &w->out[i]))
            return false;
    }
    return true;
}

static bool product(work *w)
{
    const takt_syms a = input(w, 0);
    w->out[0] = number(1);
    for (size_t i = 0; a.at != NULL && i < a.count; i++)
        if (!combine(w, &takt_op_mul, w->out[0], a.at[i], &w->out[0]))
            return false;
    return a.at != NULL && w->count == 1;
}

static bool choose(work *w)
{
    const takt_syms c = input(w, 0), a = input(w, 1), b = input(w, 2);
    if (!suits(w, c) || !suits(w, a) || !suits(w, b))
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const takt_sym condition = c.at[c.count == 1 ? 0 : i]; /* no name: cast_all */
        w->out[i] = condition.number != 0 ? a.at[a.count == 1 ? 0 : i] : b.at[b.count == 1 ? 0 : i];
    }
    return true;
}

static bool size_of(work *w)
{
    const takt_type *t = takt_type_of(w->room->g, w->n->in[0]);
    const int64_t axis = w->n->attr[0].i64 < 0 ? w->n->attr[0].i64 + t->rank : w->n->attr[0].i64;
    takt_dim d;
    const takt_status status = takt_dim_resolve(w->room->g->dims, t->dim[axis], &d);
    if (status != TAKT_OK)
        return fails(w, status);
    w->out[0] = of_dim(d);
    return true;
}

static bool solve(work *w)
{
    const takt_op *op = w->n->op;
    takt_dim_op unused;
    if (op == &takt_op_dim)
        return size_of(w);
    if (takt_symbolic_moves(w->room->g, w->n)) {
        bool is_done = false;
        const takt_status status = takt_symbolic_move(w->room, w->n, w->out, w->count, &is_done);
        return status == TAKT_OK ? is_done : fails(w, status);
    }
    if (op == &takt_op_concat || op == &takt_op_stack)
        return join(w);
    if (op == &takt_op_gather)
        return pick(w);
    if (op == &takt_op_slice)
        return cut(w);
    if (op == &takt_op_reduce_prod)
        return product(w);
    if (op == &takt_op_select)
        return choose(w);
    if (op == &takt_op_cast)
        return cast_all(w);
    if (op == &takt_op_neg)
        return negate(w);
    if (op == &takt_op_reshape || op == &takt_op_squeeze || op == &takt_op_unsqueeze ||
        op == &takt_op_flatten || op == &takt_op_broadcast)
        return copy_all(w);
    return (dim_op(op, &unused) || is_comparison(op)) && calculate(w);
}

takt_status takt_fold_symbolic(takt_room *room, takt_id id, takt_syms *out)
{
    const takt_node *n = takt_node_at(room->g, id);
    work w = {.room = room, .n = n, .count = 1};
    *out = (takt_syms){0};
    if (!takt_type_count(&n->type[0], &w.count) || w.count > 64)
        return TAKT_OK;
    w.out = takt_arena_array(&room->im->arena, w.count + 1, sizeof *w.out);
    if (w.out == NULL)
        return TAKT_ERR_MEMORY;
    if (solve(&w))
        *out = (takt_syms){w.out, w.count};
    return w.status;
}
