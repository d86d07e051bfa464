/* region.c - intervals of a net, node by node, and the lines of its functions. */
#include "verify/region.h"
#include "op/record/softplus.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "op/util/relax.h"
#include "verify/alpha.h"
#include "verify/products.h"
#include "verify/tangents.h"
#include "verify/terms.h"

static takt_status allocate(takt_region *r, size_t i)
{
    const takt_net_node *n = &r->net->nodes[i];
    const size_t count = n->is_used ? n->count : 0;
    double **each[] = {&r->lo[i], &r->hi[i], &r->error[i]};
    for (size_t k = 0; k < 3; k++) {
        *each[k] = takt_arena_array(&r->arena, count, sizeof(double));
        if (*each[k] == NULL)
            return TAKT_ERR_MEMORY;
    }
    r->rows[i] = takt_arena_array(&r->arena, count * r->capacity, sizeof(double));
    if (r->rows[i] == NULL)
        return TAKT_ERR_MEMORY;
    if (n->kind != TAKT_NET_CURVE && n->kind != TAKT_NET_PAIR)
        return TAKT_OK;
    takt_lines *l = &r->lines[i];
    double **lines[] = {&l->below[0], &l->above[0], &l->below_at,
                        &l->above_at, &l->below[1], &l->above[1]};
    for (size_t k = 0; k < (n->kind == TAKT_NET_PAIR ? 6U : 4U); k++) {
        *lines[k] = takt_arena_array(&r->arena, count, sizeof(double));
        if (*lines[k] == NULL)
            return TAKT_ERR_MEMORY;
    }
    return TAKT_OK;
}

takt_status takt_region_init(const takt_net *net, size_t rows, takt_region *r)
{
    *r = (takt_region){.net = net, .capacity = rows};
    takt_arena_init(&r->arena, net->ctx);
    takt_arena *a = &r->arena;
    r->lo = takt_arena_array(a, net->count, sizeof *r->lo);
    r->hi = takt_arena_array(a, net->count, sizeof *r->hi);
    r->error = takt_arena_array(a, net->count, sizeof *r->error);
    r->lines = takt_arena_array(a, net->count, sizeof *r->lines);
    r->rows = takt_arena_array(a, net->count, sizeof *r->rows);
    r->is_touched = takt_arena_array(a, net->count, sizeof *r->is_touched);
    r->constants = takt_arena_array(a, r->capacity, sizeof *r->constants);
    r->best = takt_arena_array(a, r->capacity, sizeof *r->best);
    r->losses = takt_arena_array(a, net->count, sizeof *r->losses);
    r->sizes = takt_arena_array(a, net->element_count, sizeof *r->sizes);
    r->zeros = takt_arena_array(a, net->element_count, sizeof *r->zeros);
    r->is_open = takt_arena_array(a, net->element_count, sizeof *r->is_open);
    takt_status status = r->lo == NULL || r->hi == NULL || r->error == NULL || r->lines == NULL ||
                                 r->rows == NULL || r->is_touched == NULL || r->constants == NULL ||
                                 r->is_open == NULL || r->losses == NULL || r->best == NULL ||
                                 r->sizes == NULL || r->zeros == NULL
                             ? TAKT_ERR_MEMORY
                             : TAKT_OK;
    for (size_t i = 0; status == TAKT_OK && i < net->count; i++)
        status = allocate(r, i);
    if (status == TAKT_OK)
        status = takt_products_init(r);
    /* No sum, of coefficients or of a row's constant, has more terms than there are elements, with
     * a few roundings each. */
    r->own = 0x1.04p-53 * (4 * (double)net->element_count + 64);
    if (status != TAKT_OK)
        takt_region_deinit(r);
    return status;
}

void takt_region_deinit(takt_region *r)
{
    if (r->net != NULL)
        takt_arena_deinit(&r->arena);
    *r = (takt_region){0};
}

void takt_region_box(takt_region *r, const double *lo, const double *hi)
{
    for (size_t i = 0, at = 0; i < r->net->port_count; i++) {
        const uint32_t id = r->net->inputs[i];
        const size_t count = r->net->nodes[id].count;
        memcpy(r->lo[id], lo + at, count * sizeof *lo);
        memcpy(r->hi[id], hi + at, count * sizeof *hi);
        at += count;
    }
}

/* ---- sums ---- */

/* The interval of a sum without errors, and the sum of its magnitudes. */
typedef struct span {
    double lo, hi, size;
} span;

static void put(span *s, double factor, double lo, double hi)
{
    if (factor >= 0) {
        s->lo += factor == 0 ? 0 : factor * lo;
        s->hi += factor == 0 ? 0 : factor * hi;
    } else {
        s->lo += factor * hi;
        s->hi += factor * lo;
    }
    s->size += factor == 0 ? 0 : fabs(factor) * fmax(fabs(lo), fabs(hi));
}

/* As put() for a whole row, without its branches. */
static void put_row(span *s, const double *w, const double *lo, const double *hi, size_t count)
{
    double low, high;
    s->size += takt_terms_span(w, lo, hi, count, &low, &high);
    s->lo += low;
    s->hi += high;
}

static span sum_of(const takt_region *r, const takt_net_node *n, size_t i)
{
    const double bias = n->bias != NULL ? n->bias[i] : 0;
    span s = {bias, bias, fabs(bias)};
    for (size_t k = 0; k < n->part_count; k++) {
        const takt_net_part *p = &n->parts[k];
        const double *lo = r->lo[p->source], *hi = r->hi[p->source];
        const size_t width = r->net->nodes[p->source].count;
        if (p->form == TAKT_NET_DENSE)
            put_row(&s, p->values + i * width, lo, hi, width);
        else if (p->form == TAKT_NET_SPARSE)
            for (size_t e = p->starts[i]; e < p->starts[i + 1]; e++)
                put(&s, p->values[e], lo[p->columns[e]], hi[p->columns[e]]);
        else if (p->columns[i] != UINT32_MAX)
            put(&s, p->factor * (p->values != NULL ? p->values[i] : 1), lo[p->columns[i]],
                hi[p->columns[i]]);
    }
    return s;
}

/* ---- functions ---- */

static bool rises(const takt_node *n)
{
    const takt_op *op = n->op;
    return op == &takt_op_relu || op == &takt_op_relu6 || op == &takt_op_clip ||
           op == &takt_op_sigmoid || op == &takt_op_tanh || op == &takt_op_erf ||
           op == &takt_op_exp || op == &takt_op_log || op == &takt_op_sqrt ||
           op == &takt_op_softplus || (op == &takt_op_leaky_relu && n->attr[0].f64 >= 0);
}

/* The result is an input or a constant: exact in any arithmetic. */
static bool chooses(const takt_node *n)
{
    return n->op == &takt_op_relu || n->op == &takt_op_relu6 || n->op == &takt_op_clip ||
           n->op == &takt_op_max || n->op == &takt_op_min;
}

static double value_of(const takt_node *n, double x)
{
    takt_scalar s = {.attr = n->attr, .dtype = TAKT_F64};
    return n->op->scalar_f(&s, &x);
}

/* The least and greatest value of the lines over the box of element i. */
static span lines_of(const takt_region *r, size_t id, size_t i)
{
    const takt_net_node *n = &r->net->nodes[id];
    const takt_lines *l = &r->lines[id];
    span s = {l->below_at[i], l->above_at[i], 0};
    for (int k = 0; k < (n->kind == TAKT_NET_PAIR ? 2 : 1); k++) {
        const double lo = r->lo[n->sources[k]][i], hi = r->hi[n->sources[k]][i];
        const double b = l->below[k][i], a = l->above[k][i];
        s.lo += b == 0 ? 0 : b * (b > 0 ? lo : hi);
        s.hi += a == 0 ? 0 : a * (a > 0 ? hi : lo);
        s.size += (b == 0 && a == 0 ? 0 : fmax(fabs(a), fabs(b)) * fmax(fabs(lo), fabs(hi)));
    }
    s.size += fmax(fabs(l->below_at[i]), fabs(l->above_at[i]));
    return s;
}

/* Exact functions of two operands: interval arithmetic is tighter than the lines. */
static void pair_interval(const takt_region *r, const takt_net_node *n, size_t i, span *s)
{
    const double xl = r->lo[n->sources[0]][i], xh = r->hi[n->sources[0]][i];
    const double yl = r->lo[n->sources[1]][i], yh = r->hi[n->sources[1]][i];
    if (n->of->op == &takt_op_max) {
        s->lo = fmax(xl, yl);
        s->hi = fmax(xh, yh);
    } else if (n->of->op == &takt_op_min) {
        s->lo = fmin(xl, yl);
        s->hi = fmin(xh, yh);
    } else if (n->of->op == &takt_op_mul) {
        const double a = xl * yl, b = xl * yh, c = xh * yl, d = xh * yh;
        s->lo = fmin(fmin(a, b), fmin(c, d));
        s->hi = fmax(fmax(a, b), fmax(c, d));
    }
}

static span function_of(const takt_region *r, size_t id, size_t i)
{
    const takt_net_node *n = &r->net->nodes[id];
    span s = lines_of(r, id, i);
    if (n->kind == TAKT_NET_PAIR) {
        pair_interval(r, n, i, &s);
    } else if (rises(n->of)) {
        const double lo = value_of(n->of, r->lo[n->sources[0]][i]);
        const double hi = value_of(n->of, r->hi[n->sources[0]][i]);
        /* Functions of the C library are within a few units. */
        s.lo = lo - 0x1p-50 * fabs(lo);
        s.hi = hi + 0x1p-50 * fabs(hi);
        if (chooses(n->of)) {
            s.lo = lo;
            s.hi = hi;
        }
    }
    return s;
}

static bool is_number(double x)
{
    return isfinite(x);
}

void takt_region_lines(takt_region *r, size_t id, const double *const choice[2])
{
    const takt_net_node *n = &r->net->nodes[id];
    const takt_lines *l = &r->lines[id];
    const int inputs = n->kind == TAKT_NET_PAIR ? 2 : 1;
    takt_relaxing x = {.node = n->of, .count = n->count, .ulp = n->ulp};
    x.below_at = l->below_at;
    x.above_at = l->above_at;
    for (int k = 0; k < 2; k++) {
        x.choice[k] = choice != NULL ? choice[k] : NULL;
        x.below[k] = l->below[k];
        x.above[k] = l->above[k];
        x.lo[k] = k < inputs ? r->lo[n->sources[k]] : NULL;
        x.hi[k] = k < inputs ? r->hi[n->sources[k]] : NULL;
    }
    n->of->op->relax(&x);
    for (size_t i = 0; i < n->count; i++) {
        bool is_good = is_number(l->below_at[i]) && is_number(l->above_at[i]);
        for (int k = 0; k < inputs; k++)
            is_good = is_good && is_number(x.lo[k][i]) && is_number(x.hi[k][i]) &&
                      is_number(l->below[k][i]) && is_number(l->above[k][i]);
        if (!is_good)
            takt_relax_constant(&x, i, -INFINITY, INFINITY);
    }
    if (r->alpha != NULL && r->alpha->tangents[id] != NULL)
        takt_tangents_fill(r, id);
}

/* ---- nodes ---- */

void takt_region_node(takt_region *r, size_t id, bool keeps)
{
    const takt_net_node *n = &r->net->nodes[id];
    double *lo = r->lo[id], *hi = r->hi[id], *error = r->error[id];
    if (n->kind == TAKT_NET_INPUT)
        return;
    const bool is_sum = n->kind == TAKT_NET_SUM, is_choice = !is_sum && chooses(n->of);
    if (!is_sum)
        takt_region_lines(r, id, NULL);
    for (size_t i = 0; i < n->count; i++) {
        span s = is_sum ? sum_of(r, n, i) : function_of(r, id, i);
        const double most = fmax(fabs(s.lo), fabs(s.hi));
        const double kernel = n->gamma * s.size * (1 + 0x1p-20) + n->share * most * 1.001 + n->tiny;
        error[i] = kernel + r->own * (s.size + most) * (1 + 0x1p-20);
        r->sizes[i] = s.size * (1 + 0x1p-20);
        const double by = is_choice && kernel == 0 ? 0 : error[i];
        s.lo -= by;
        s.hi += by;
        /* A part of a sum may overflow although the sum itself does not. */
        const double far = is_sum ? s.size + error[i] : fmax(fabs(s.lo), fabs(s.hi));
        if (!(far <= r->net->max) || isnan(s.size)) {
            s.lo = -INFINITY;
            s.hi = INFINITY;
            error[i] = INFINITY;
        }
        lo[i] = keeps && lo[i] > s.lo ? lo[i] : s.lo;
        hi[i] = keeps && hi[i] < s.hi ? hi[i] : s.hi;
        if (lo[i] > hi[i]) /* both hold: the value is in both, apart from rounding */
            lo[i] = hi[i] = 0.5 * (lo[i] + hi[i]);
    }
    takt_products_errors(r, id);
}
