/* region_back.c - rows of linear bounds, from a node back to the inputs. */
#include <math.h>
#include <string.h>

#include "op/ops.h"
#include "verify/alpha.h"
#include "verify/parts.h"
#include "verify/products.h"
#include "verify/tangents.h"
#include "verify/terms.h"

/* ---- through sums ---- */

/* Rows of a node that is reached for the first time start from 0. */
static double *touch(takt_region *r, uint32_t id, size_t rows)
{
    if (!r->is_touched[id]) {
        memset(r->rows[id], 0, rows * r->net->nodes[id].count * sizeof(double));
        r->is_touched[id] = true;
    }
    return r->rows[id];
}

/* The constant part of rows at the elements themselves: bias and errors. */
static void at_sum(takt_region *r, size_t id, size_t rows, const double *error, double least)
{
    const takt_net_node *n = &r->net->nodes[id];
    const double *bias = n->bias != NULL ? n->bias : r->zeros;
    const bool is_dense = n->part_count > 0 && n->parts[0].form == TAKT_NET_DENSE;
    for (size_t i = 0; i < rows; i++)
        r->constants[i] += (is_dense ? takt_terms_sides : takt_terms_few_sides)(
                               r->rows[id] + i * n->count, bias, bias, error, n->count) -
                           least;
}

static void through_sum(takt_region *r, size_t id, size_t rows)
{
    const takt_net_node *n = &r->net->nodes[id];
    double least = 0;
    const double *error = r->error[id], *all = takt_products_error(r, id, rows, &least);
    at_sum(r, id, rows, all != NULL ? all : error, least);
    for (size_t k = 0; k < n->part_count; k++) {
        const uint32_t source = n->parts[k].source;
        if (all == NULL || !takt_products_back(r, id, k, rows))
            takt_parts_back(&n->parts[k], r->rows[id], touch(r, source, rows),
                            (takt_parts_size){n->count, r->net->nodes[source].count, rows});
    }
}

/* ---- through functions ---- */

/* One input; rows of a source that is reached for the first time are written, not added to. */
static void through_curve(takt_region *r, size_t id, size_t rows)
{
    const takt_net_node *n = &r->net->nodes[id];
    const takt_lines *l = &r->lines[id];
    const uint32_t source = n->sources[0];
    takt_terms_lines line = {l->below[0], l->above[0], l->below_at, l->above_at, r->error[id]};
    for (size_t i = 0; i < rows; i++) {
        const size_t at = i * n->count;
        if (r->alpha != NULL && r->alpha->slope[id] != NULL)
            line.below = r->alpha->slope[id] + at;
        r->constants[i] += takt_terms_lines_of(r->rows[id] + at, &line, r->rows[source] + at,
                                               n->count, r->is_touched[source]);
    }
    r->is_touched[source] = true;
}

/* For moved elements, rows continue at their source: the pair itself accounts for that sum. */
static void through_pair(takt_region *r, size_t id, size_t rows)
{
    const takt_net_node *n = &r->net->nodes[id];
    const takt_lines *l = &r->lines[id];
    takt_terms_planes planes = {{l->below[0], l->below[1]},
                                {l->above[0], l->above[1]},
                                l->below_at,
                                l->above_at,
                                r->error[id],
                                {NULL, NULL}};
    double *out[2];
    size_t width[2];
    for (int k = 0; k < 2; k++) {
        const takt_net_node *s = &r->net->nodes[n->sources[k]];
        planes.columns[k] = s->is_move ? s->parts[0].columns : NULL;
        const uint32_t source = s->is_move ? s->parts[0].source : n->sources[k];
        out[k] = touch(r, source, rows);
        width[k] = r->net->nodes[source].count;
    }
    for (size_t i = 0; i < rows; i++) {
        double *const to[] = {out[0] + i * width[0], out[1] + i * width[1]};
        r->constants[i] += takt_terms_planes_of(r->rows[id] + i * n->count, &planes, to, n->count);
    }
}

static void through_lines(takt_region *r, size_t id, size_t rows)
{
    const takt_net_node *n = &r->net->nodes[id];
    if (r->alpha != NULL && r->alpha->tangents[id] != NULL)
        takt_tangents_back(r, id, rows, touch(r, n->sources[0], rows));
    else if (n->kind == TAKT_NET_PAIR)
        through_pair(r, id, rows);
    else
        through_curve(r, id, rows);
}

/* ---- rows ---- */

/* Where rows end. */
static const uint32_t *ends_of(const takt_region *r)
{
    return r->ends_early ? r->net->entries : r->net->inputs;
}

/* Inputs of which rows have no terms are 0. */
static void touch_inputs(takt_region *r, size_t count)
{
    for (size_t i = 0; i < r->net->port_count; i++)
        touch(r, ends_of(r)[i], count);
}

static void clear_node(takt_region *r, size_t id, size_t count)
{
    memset(r->is_touched, 0, r->net->count * sizeof *r->is_touched);
    memset(r->constants, 0, r->capacity * sizeof *r->constants);
    touch(r, (uint32_t)id, count);
}

void takt_region_clear(takt_region *r, size_t id, size_t count)
{
    clear_node(r, id, count);
    touch_inputs(r, count);
}

/* The least value of each row by the intervals of the node itself. */
static void end_here(takt_region *r, size_t id, size_t count)
{
    const uint32_t width = r->net->nodes[id].count;
    for (size_t i = 0; i < count; i++) {
        const double *row = r->rows[id] + i * width;
        r->constants[i] += takt_terms_least(row, r->lo[id], r->hi[id], r->own, width);
    }
}

/* Terms of relus that are split (alpha.h). */
static void add_sides(takt_region *r, size_t id, size_t count)
{
    const takt_alpha *x = r->alpha;
    for (size_t s = 0; x != NULL && s < x->side_count; s++) {
        const uint32_t source = r->net->nodes[x->sides[s].relu].sources[0];
        const uint32_t width = r->net->nodes[source].count;
        if (source >= id)
            continue;
        double *to = touch(r, source, count) + x->sides[s].element;
        for (size_t i = 0; i < count; i++)
            to[i * width] += x->sides[s].sign * x->beta[i * TAKT_ALPHA_SIDES + s];
    }
}

void takt_region_back(takt_region *r, size_t id, size_t count)
{
    r->backs += count;
    if (r->by_intervals) {
        end_here(r, id, count);
        return;
    }
    add_sides(r, id, count);
    for (size_t i = id + 1; i-- > 0;) {
        const takt_net_kind kind = r->net->nodes[i].kind;
        const bool is_end = kind == TAKT_NET_INPUT || (r->ends_early && r->net->nodes[i].is_entry);
        if (!r->is_touched[i] || is_end)
            continue;
        if (kind == TAKT_NET_SUM)
            through_sum(r, i, count);
        else
            through_lines(r, i, count);
    }
    touch_inputs(r, count);
}

/* Over the ball: the centre's value, less the radius times the norm of the coefficients. */
static double least_in_ball(const takt_region *r, size_t row)
{
    double sum = r->constants[row], squares = 0, size = 0;
    for (size_t i = 0, at = 0; i < r->net->port_count; i++) {
        const uint32_t id = r->net->inputs[i];
        const size_t count = r->net->nodes[id].count;
        const double *a = r->rows[id] + row * count;
        for (size_t k = 0; k < count; k++, at++) {
            sum += a[k] * r->center[at];
            squares += a[k] * a[k];
            size += fabs(a[k]) * (fabs(r->center[at]) + r->radius);
        }
    }
    return sum - r->radius * sqrt(squares) * (1 + 0x1p-30) - r->own * size * (1 + 0x1p-20);
}

double takt_region_least(const takt_region *r, size_t row)
{
    double least = r->constants[row];
    for (size_t i = 0; i < r->net->port_count; i++) {
        const uint32_t id = ends_of(r)[i];
        const size_t count = r->net->nodes[id].count;
        least += takt_terms_least(r->rows[id] + row * count, r->lo[id], r->hi[id], r->own, count);
    }
    const double ball = r->center != NULL ? least_in_ball(r, row) : least;
    return ball > least ? ball : least;
}

/* ---- bounds of all nodes ---- */

/* If a function is linear over the interval, a tighter interval gains nothing. */
static bool is_settled(const takt_net_node *n, double lo, double hi)
{
    return n->kind == TAKT_NET_CURVE &&
           (n->of->op == &takt_op_relu || n->of->op == &takt_op_leaky_relu) && (lo >= 0 || hi <= 0);
}

/* Elements of `id` that some function reads and outputs depend on, and that are not settled; of two
 * that are each other's negative the first. */
static void find_open(const takt_region *r, size_t id, bool *is_open)
{
    const takt_net *net = r->net;
    const uint32_t count = net->nodes[id].count;
    bool all = false;
    memset(is_open, 0, count * sizeof *is_open);
    for (size_t i = id + 1; i < net->count && !all; i++) {
        const takt_net_node *n = &net->nodes[i];
        if (!n->is_used)
            continue;
        if (n->kind == TAKT_NET_CURVE && n->sources[0] == id)
            for (uint32_t k = 0; k < count; k++)
                is_open[k] = is_open[k] || !is_settled(n, r->lo[id][k], r->hi[id][k]);
        else if (n->kind == TAKT_NET_PAIR && (n->sources[0] == id || n->sources[1] == id))
            all = true;
        for (size_t k = 0; k < n->part_count; k++)
            all = all || (n->parts[k].source == id && n->parts[k].form == TAKT_NET_MAP);
    }
    for (uint32_t k = 0; k < count; k++)
        is_open[k] =
            (all || is_open[k]) && net->nodes[id].is_live[k] && r->lo[id][k] < r->hi[id][k];
    const uint32_t *negative = net->nodes[id].negative;
    for (uint32_t k = 0; negative != NULL && k < count; k++)
        is_open[k] = is_open[k] && !(negative[k] < k && is_open[negative[k]]);
}

/* The effect of each input on the element of rows 2 i and 2 i + 1. */
static void keep_reach(takt_region *r, double *reach, size_t row)
{
    for (size_t k = 0, at = 0; k < r->net->port_count; k++) {
        const uint32_t id = r->net->inputs[k], width = r->net->nodes[id].count;
        const double *a = r->rows[id] + row * width, *b = a + width;
        for (uint32_t i = 0; i < width; i++, at++)
            reach[at] = (fabs(a[i]) + fabs(b[i])) * (r->hi[id][i] - r->lo[id][i]);
    }
}

static void intersect(takt_region *r, size_t id, uint32_t at, double lo, double hi)
{
    double *own_lo = &r->lo[id][at], *own_hi = &r->hi[id][at];
    *own_lo = lo > *own_lo ? lo : *own_lo;
    *own_hi = hi < *own_hi ? hi : *own_hi;
    if (*own_lo > *own_hi)
        *own_lo = *own_hi = 0.5 * (*own_lo + *own_hi);
}

/* Both bounds of some elements: a row for each, and one for its negative. */
static void refine_some(takt_region *r, size_t id, const uint32_t *at, size_t count)
{
    const uint32_t width = r->net->nodes[id].count;
    if (r->alpha != NULL)
        takt_region_clear(r, id, 2 * count);
    else
        clear_node(r, id, 2 * count); /* going back fills the inputs */
    for (size_t i = 0; i < count; i++) {
        r->rows[id][2 * i * width + at[i]] = 1;
        r->rows[id][(2 * i + 1) * width + at[i]] = -1;
    }
    double best[TAKT_REGION_ROWS];
    /* Steps of slopes, balls and reach are about the inputs themselves. */
    r->ends_early = r->alpha == NULL && r->center == NULL && r->reach == NULL;
    takt_region_best(r, id, 2 * count, best);
    r->ends_early = false;
    const uint32_t *negative = r->net->nodes[id].negative;
    for (size_t i = 0; i < count; i++) {
        intersect(r, id, at[i], best[2 * i], -best[2 * i + 1]);
        if (negative != NULL)
            intersect(r, id, negative[at[i]], best[2 * i + 1], -best[2 * i]);
        if (r->reach != NULL)
            keep_reach(r, r->reach[id] + at[i] * r->input_count, 2 * i);
        if (r->reach != NULL && negative != NULL)
            keep_reach(r, r->reach[id] + negative[at[i]] * r->input_count, 2 * i);
    }
}

static void refine(takt_region *r, size_t id)
{
    uint32_t at[TAKT_REGION_ROWS / 2];
    size_t count = 0;
    find_open(r, id, r->is_open);
    for (uint32_t k = 0; k < r->net->nodes[id].count; k++) {
        if (r->is_late != NULL && count == 0 && r->is_late(r->late_user))
            return;
        if (r->is_open[k])
            at[count++] = k;
        if (count == TAKT_REGION_ROWS / 2 || (count > 0 && k + 1 == r->net->nodes[id].count)) {
            refine_some(r, id, at, count);
            count = 0;
        }
    }
}

/* For a sum of inputs, lines give the same as its interval, unless inputs are in a ball; but the
 * search needs the effect of each input. */
static bool gains(const takt_region *r, const takt_net_node *n)
{
    return n->is_refined && (!n->is_direct || r->center != NULL || r->reach != NULL);
}

static void bound_nodes(takt_region *r, bool refines, bool narrows)
{
    for (size_t i = 0; i < r->net->count; i++) {
        const takt_net_node *n = &r->net->nodes[i];
        if (!n->is_used)
            continue;
        takt_region_node(r, i, narrows && n->is_refined);
        if (refines && gains(r, n))
            refine(r, i);
    }
}

void takt_region_bound(takt_region *r, bool refines)
{
    bound_nodes(r, refines, false);
}

void takt_region_narrow(takt_region *r)
{
    bound_nodes(r, true, true);
}
