/* recognise_gate.c - GELU, hard-swish and SiLU in the forms that exporters write. */
#include "op/record/hard_sigmoid.h"
#include "pass/recognise.h"

enum { DEGREE = 3, FACTORS = 3, DEPTH = 8 };

/* A product: known numbers combined, other factors one by one. */
typedef struct product {
    double scale;
    takt_id factor[FACTORS];
    size_t count;
} product;

/* False: it has too many factors. If `is_loose`, known numbers are also stripped from a value that
 * is used elsewhere. */
static bool flatten(takt_uses u, takt_id id, bool is_loose, int depth, product *p)
{
    const takt_node *n = &u.g->nodes[id];
    const bool is_inner = (depth == 0 || u.of[id] == 1) && depth < DEPTH;
    takt_id x;
    if ((is_inner || (is_loose && depth < DEPTH)) && takt_known_scaled(u.g, id, &x, &p->scale))
        return flatten(u, x, is_loose, depth + 1, p);
    if (is_inner && n->op == &takt_op_mul)
        return flatten(u, n->in[0], is_loose, depth + 1, p) &&
               flatten(u, n->in[1], is_loose, depth + 1, p);
    if (p->count == FACTORS)
        return false;
    p->factor[p->count++] = id;
    return true;
}

/* Coefficients of a polynomial in one value. */
typedef struct poly {
    double c[DEGREE + 1];
} poly;

static bool times(const poly *a, const poly *b, poly *out)
{
    *out = (poly){{0}};
    for (int i = 0; i <= DEGREE; i++)
        for (int k = 0; k <= DEGREE; k++) {
            if (i + k <= DEGREE)
                out->c[i + k] += a->c[i] * b->c[k];
            else if (a->c[i] * b->c[k] != 0)
                return false;
        }
    return true;
}

static bool power(const poly *a, double exponent, poly *out)
{
    *out = (poly){{1}};
    if (exponent != 1 && exponent != 2 && exponent != 3)
        return false;
    for (int i = 0; i < (int)exponent; i++) {
        const poly sofar = *out;
        if (!times(&sofar, a, out))
            return false;
    }
    return true;
}

/* `id` as a polynomial in `x`. */
static bool poly_of(const takt_graph *g, takt_id id, takt_id x, int depth, poly *out)
{
    const takt_node *n = &g->nodes[id];
    double number;
    poly a, b;
    if (id == x) {
        *out = (poly){{0, 1}};
        return true;
    }
    if (takt_known_scalar(g, id, &number)) {
        *out = (poly){{number}};
        return true;
    }
    if (depth == DEPTH || n->in_count == 0 || !poly_of(g, n->in[0], x, depth + 1, &a))
        return false;
    if (n->op == &takt_op_square)
        return power(&a, 2, out);
    if (n->op == &takt_op_neg)
        return times(&a, &(poly){{-1}}, out);
    if (n->in_count != 2)
        return false;
    if (n->op == &takt_op_pow)
        return takt_known_scalar(g, n->in[1], &number) && power(&a, number, out);
    if (n->op == &takt_op_div)
        return takt_known_scalar(g, n->in[1], &number) && times(&a, &(poly){{1 / number}}, out);
    if (!poly_of(g, n->in[1], x, depth + 1, &b))
        return false;
    if (n->op == &takt_op_mul)
        return times(&a, &b, out);
    if (n->op != &takt_op_add && n->op != &takt_op_sub)
        return false;
    for (int i = 0; i <= DEGREE; i++)
        out->c[i] = n->op == &takt_op_add ? a.c[i] + b.c[i] : a.c[i] - b.c[i];
    return true;
}

/* The erf or tanh that a gate is made of by sums and products with known numbers. */
static takt_id curve_of(takt_uses u, takt_id id)
{
    double number, scale = 1;
    for (int depth = 0; depth < DEPTH; depth++) {
        const takt_node *n = &u.g->nodes[id];
        if (n->op == &takt_op_erf || n->op == &takt_op_tanh)
            return id;
        if (takt_known_scaled(u.g, id, &id, &scale))
            continue;
        if (n->op != &takt_op_add)
            return TAKT_NONE;
        if (takt_known_scalar(u.g, n->in[1], &number))
            id = n->in[0];
        else if (takt_known_scalar(u.g, n->in[0], &number))
            id = n->in[1];
        else
            return TAKT_NONE;
    }
    return TAKT_NONE;
}

static bool is_line(const poly *p)
{
    return p->c[2] == 0 && p->c[3] == 0;
}

/* x times scale times a gate of erf or tanh. */
static const char *gelu(takt_uses u, takt_id x, takt_id gate, double scale, takt_gate *found)
{
    const double root_half = 0.70710678118654752440, root_2_pi = 0.79788456080286535588,
                 cubic = 0.044715;
    const takt_id curve = curve_of(u, gate);
    poly sum, inner;
    if (curve == TAKT_NONE || !poly_of(u.g, gate, curve, 0, &sum))
        return "";
    const bool is_tanh = u.g->nodes[curve].op == &takt_op_tanh;
    if (!poly_of(u.g, u.g->nodes[curve].in[0], x, 0, &inner))
        return is_tanh ? "" : "what it multiplies is not what erf reads";
    if (is_tanh && inner.c[3] == 0)
        return ""; /* some other gate */
    const bool is_half =
        is_line(&sum) && takt_is_close(sum.c[0], sum.c[1]) && takt_is_close(scale * sum.c[0], 0.5);
    if (!is_half)
        return "its outer constants are not 1 and 1/2";
    const bool fits =
        is_tanh ? inner.c[0] == 0 && inner.c[2] == 0 && takt_is_close(inner.c[1], root_2_pi) &&
                      takt_is_close(inner.c[3], root_2_pi * cubic)
                : inner.c[0] == 0 && is_line(&inner) && takt_is_close(inner.c[1], root_half);
    if (!fits)
        return is_tanh ? "its constants are not sqrt(2 / pi) and 0.044715"
                       : "its constant is not sqrt(1/2)";
    if (u.of[curve] != 1 || u.of[gate] != 1)
        return "a value inside it is used elsewhere too";
    *found = (takt_gate){&takt_op_gelu, is_tanh, x};
    return NULL;
}

/* max(min(line, top), bottom) in either order, or a clip. */
static bool clipped(const takt_graph *g, takt_id id, takt_id *line, double *low, double *high)
{
    const takt_node *n = &g->nodes[id];
    if (n->op == &takt_op_clip) {
        const takt_attr *from = takt_node_attr(n, "min"), *to = takt_node_attr(n, "max");
        *low = from->f64;
        *high = to->f64;
        *line = n->in[0];
        return from->is_set && to->is_set;
    }
    if (n->op == &takt_op_relu6) {
        *low = 0;
        *high = 6;
        *line = n->in[0];
        return true;
    }
    const bool is_max = n->op == &takt_op_max;
    const takt_op *other = is_max ? &takt_op_min : &takt_op_max;
    if ((!is_max && n->op != &takt_op_min) || !takt_known_scalar(g, n->in[1], is_max ? low : high))
        return false;
    n = &g->nodes[n->in[0]];
    if (n->op != other || !takt_known_scalar(g, n->in[1], is_max ? high : low))
        return false;
    *line = n->in[0];
    return true;
}

/* The slope and the value at 0 of a gate that is a line between 0 and 1, times a number. */
static bool ramp(const takt_graph *g, takt_id x, takt_id gate, double *slope, double *at_zero,
                 double *top)
{
    const takt_node *n = &g->nodes[gate];
    double low;
    takt_id line;
    poly p;
    if (n->op == &takt_op_hard_sigmoid) {
        *slope = takt_node_attr(n, "alpha")->f64;
        *at_zero = takt_node_attr(n, "beta")->f64;
        *top = 1;
        return n->in[0] == x;
    }
    if (!clipped(g, gate, &line, &low, top) || low != 0 || !poly_of(g, line, x, 0, &p) ||
        !is_line(&p))
        return false;
    *slope = p.c[1];
    *at_zero = p.c[0];
    return true;
}

static const char *hard_swish(takt_uses u, takt_id x, takt_id gate, double scale, takt_gate *found)
{
    double slope, at_zero, top;
    if (!ramp(u.g, x, gate, &slope, &at_zero, &top))
        return "";
    if (!takt_is_close(scale * top, 1) || !takt_is_close(scale * slope, 1.0 / 6) ||
        !takt_is_close(scale * at_zero, 0.5))
        return "its constants are not those of hard_swish";
    if (u.of[gate] != 1)
        return "a value inside it is used elsewhere too";
    *found = (takt_gate){&takt_op_hard_swish, false, x};
    return NULL;
}

/* A sigmoid that others read too is computed once for all of them. */
static const char *silu(takt_uses u, takt_id x, takt_id gate, double scale, takt_gate *found)
{
    const takt_node *n = &u.g->nodes[gate];
    if (n->op != &takt_op_sigmoid || n->in[0] != x || scale != 1)
        return "";
    if (u.of[gate] != 1)
        return "its sigmoid is used elsewhere too";
    *found = (takt_gate){&takt_op_silu, false, x};
    return NULL;
}

/* x / (1 + exp(-x)). */
static const char *silu_quotient(takt_uses u, const takt_node *n, takt_gate *found)
{
    const takt_node *sum = takt_known_op(u.g, n->in[1], &takt_op_add);
    for (int k = 0; sum != NULL && k < 2; k++) {
        double one;
        const takt_node *grown = takt_known_op(u.g, sum->in[k], &takt_op_exp);
        poly inner;
        if (grown == NULL || !poly_of(u.g, grown->in[0], n->in[0], 0, &inner) || !is_line(&inner) ||
            inner.c[0] != 0 || inner.c[1] != -1 || !takt_known_scalar(u.g, sum->in[1 - k], &one) ||
            one != 1)
            continue;
        if (u.of[n->in[1]] != 1 || u.of[sum->in[k]] != 1)
            return "a value inside it is used elsewhere too";
        *found = (takt_gate){&takt_op_silu, false, n->in[0]};
        return NULL;
    }
    return "";
}

static const char *match(takt_uses u, takt_id root, bool is_loose, takt_gate *found)
{
    product p = {.scale = 1};
    const char *why = "";
    if (!flatten(u, root, is_loose, 0, &p) || p.count != 2)
        return "";
    for (int k = 0; k < 2; k++) {
        const char *no = gelu(u, p.factor[1 - k], p.factor[k], p.scale, found);
        if (no != NULL && no[0] == '\0')
            no = hard_swish(u, p.factor[1 - k], p.factor[k], p.scale, found);
        if (no != NULL && no[0] == '\0')
            no = silu(u, p.factor[1 - k], p.factor[k], p.scale, found);
        if (no == NULL)
            return NULL;
        why = no[0] != '\0' ? no : why;
    }
    return why;
}

static const char *match_one(takt_uses u, takt_id root, takt_gate *found)
{
    const takt_op *op = u.g->nodes[root].op;
    if ((op != &takt_op_mul && op != &takt_op_div) ||
        !takt_dtype_is_float(u.g->nodes[root].type->dtype))
        return "";
    const char *why = op == &takt_op_div ? silu_quotient(u, &u.g->nodes[root], found) : "";
    if (why == NULL)
        return NULL;
    why = match(u, root, false, found);
    return why == NULL || match(u, root, true, found) == NULL ? NULL : why;
}

const char *takt_match_gate(takt_uses u, takt_id root, takt_gate *found)
{
    const char *why = match_one(u, root, found);
    if (why == NULL || why[0] == '\0')
        return why;
    takt_id x;
    double scale = 1;
    const bool is_gain = takt_known_scaled(u.g, root, &x, &scale);
    return is_gain && match_one(u, x, found) == NULL ? "" : why; /* that one is replaced */
}
