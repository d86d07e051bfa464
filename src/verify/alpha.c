/* alpha.c - slopes of lines that touch a hinge, chosen for each row by gradient steps. */
#include "verify/alpha.h"

#include <math.h>
#include <string.h>

#include "op/ops.h"
#include "verify/products.h"
#include "verify/tangents.h"

bool takt_alpha_is_hinge(const takt_net_node *n)
{
    return n->is_used && n->kind == TAKT_NET_CURVE &&
           (n->of->op == &takt_op_relu ||
            (n->of->op == &takt_op_leaky_relu && n->of->attr[0].f64 <= 1));
}

double takt_alpha_left(const takt_net_node *n)
{
    return n->of->op == &takt_op_relu ? 0 : n->of->attr[0].f64;
}

/* Without relus half the steps do: tangents are near their best sooner (bench/notes/verify.md). */
static int steps_for(const takt_net *net, int steps)
{
    for (size_t i = 0; i < net->count; i++)
        if (takt_alpha_is_hinge(&net->nodes[i]))
            return steps;
    return steps / 2;
}

static takt_status init_tangents(takt_region *r, takt_alpha *x)
{
    x->tangents = takt_arena_array(&r->arena, r->net->count, sizeof *x->tangents);
    if (x->tangents == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < r->net->count; i++) {
        if (!takt_tangents_fit(&r->net->nodes[i]))
            continue;
        x->tangents[i] = takt_arena_array(&r->arena, 1, sizeof **x->tangents);
        if (x->tangents[i] == NULL)
            return TAKT_ERR_MEMORY;
        TAKT_TRY(takt_tangents_init(r, i, x->tangents[i]));
    }
    return TAKT_OK;
}

takt_status takt_alpha_init(takt_region *r, int steps)
{
    const takt_net *net = r->net;
    takt_arena *a = &r->arena;
    takt_alpha *x = takt_arena_array(a, 1, sizeof *x);
    if (x == NULL)
        return TAKT_ERR_MEMORY;
    *x = (takt_alpha){.steps = steps_for(net, steps), .rate = 0.1, .fixed = SIZE_MAX};
    double ***each[] = {&x->slope, &x->first, &x->second, &x->value};
    for (size_t k = 0; k < 4; k++) {
        *each[k] = takt_arena_array(a, net->count, sizeof **each[k]);
        if (*each[k] == NULL)
            return TAKT_ERR_MEMORY;
        for (size_t i = 0; i < net->count; i++) {
            const bool is_needed =
                k < 3 ? takt_alpha_is_hinge(&net->nodes[i]) : net->nodes[i].is_used;
            if (!is_needed)
                continue;
            (*each[k])[i] = takt_arena_array(a, r->capacity * net->nodes[i].count, sizeof(double));
            if ((*each[k])[i] == NULL)
                return TAKT_ERR_MEMORY;
        }
    }
    double **beta[] = {&x->beta, &x->beta_first, &x->beta_second, &x->beta_rate};
    for (size_t k = 0; k < 4; k++) {
        *beta[k] = takt_arena_array(a, r->capacity * TAKT_ALPHA_SIDES, sizeof(double));
        if (*beta[k] == NULL)
            return TAKT_ERR_MEMORY;
    }
    x->best = takt_arena_array(a, r->capacity, sizeof *x->best);
    x->enough = takt_arena_array(a, r->capacity, sizeof *x->enough);
    x->seeds = takt_arena_array(a, r->capacity * net->input_count, sizeof *x->seeds);
    if (x->best == NULL || x->enough == NULL || x->seeds == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(init_tangents(r, x));
    r->alpha = x;
    return TAKT_OK;
}

/* A relu that is on or off has one slope, whatever it had before it was split. */
static void warm_up(const takt_region *r, size_t id, size_t count)
{
    const takt_net_node *n = &r->net->nodes[id];
    const double *lo = r->lo[n->sources[0]], *hi = r->hi[n->sources[0]];
    for (size_t k = 0; k < count; k++)
        for (uint32_t j = 0; j < n->count; j++)
            if (lo[j] < 0 && hi[j] > 0)
                r->alpha->slope[id][k * n->count + j] = r->alpha->warm[id][j];
}

static void begin_sides(takt_alpha *x, size_t count)
{
    const size_t bytes = x->side_count * sizeof(double);
    for (size_t k = 0; k < count && bytes > 0; k++) {
        const size_t at = k * TAKT_ALPHA_SIDES;
        memset(x->beta_first + at, 0, bytes);
        memset(x->beta_second + at, 0, bytes);
        if (x->warm_beta != NULL)
            memcpy(x->beta + at, x->warm_beta, bytes);
        else
            memset(x->beta + at, 0, bytes);
    }
}

/* Slopes are initialised from the lines. Node `id` itself may be a function: the net's output. */
static void begin(takt_region *r, size_t id, size_t count)
{
    takt_alpha *x = r->alpha;
    for (size_t i = 0; i <= id; i++) {
        const uint32_t width = r->net->nodes[i].count;
        if (x->tangents[i] != NULL)
            takt_tangents_begin(r, i, count);
        if (x->slope[i] == NULL)
            continue;
        for (size_t k = 0; k < count; k++)
            memcpy(x->slope[i] + k * width, r->lines[i].below[0], width * sizeof(double));
        memset(x->first[i], 0, count * width * sizeof(double));
        memset(x->second[i], 0, count * width * sizeof(double));
        if (x->warm != NULL)
            warm_up(r, i, count);
    }
    begin_sides(x, count);
}

/* ---- values of the linear net ---- */

static void corner(takt_region *r, size_t count)
{
    for (size_t k = 0, at = 0; k < r->net->port_count; k++) {
        const uint32_t id = r->net->inputs[k], width = r->net->nodes[id].count;
        for (size_t row = 0; row < count; row++) {
            const double *a = r->rows[id] + row * width;
            double *v = r->alpha->value[id] + row * width;
            double squares = 0;
            for (uint32_t i = 0; r->center != NULL && i < width; i++)
                squares += a[i] * a[i];
            const double part = squares > 0 ? r->radius / sqrt(squares) : 0;
            for (uint32_t i = 0; i < width; i++)
                v[i] = r->center != NULL ? r->center[at + i] - part * a[i]
                       : a[i] > 0        ? r->lo[id][i]
                                         : r->hi[id][i];
        }
        at += width;
    }
}

static double dot(const double *restrict a, const double *restrict b, size_t count)
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        s0 += a[i] * b[i];
        s1 += a[i + 1] * b[i + 1];
        s2 += a[i + 2] * b[i + 2];
        s3 += a[i + 3] * b[i + 3];
    }
    for (; i < count; i++)
        s0 += a[i] * b[i];
    return s0 + s1 + s2 + s3;
}

static void part_values(const takt_region *r, size_t id, const takt_net_part *p, size_t row)
{
    const takt_net_node *n = &r->net->nodes[id];
    const uint32_t width = r->net->nodes[p->source].count;
    const double *x = r->alpha->value[p->source] + row * width;
    double *v = r->alpha->value[id] + row * n->count;
    for (uint32_t j = 0; j < n->count; j++) {
        if (p->form == TAKT_NET_DENSE)
            v[j] += dot(p->values + (size_t)j * width, x, width);
        else if (p->form == TAKT_NET_SPARSE)
            for (size_t e = p->starts[j]; e < p->starts[j + 1]; e++)
                v[j] += p->values[e] * x[p->columns[e]];
        else if (p->columns[j] != UINT32_MAX)
            v[j] += p->factor * (p->values != NULL ? p->values[j] : 1) * x[p->columns[j]];
    }
}

/* Sums over all rows; slopes need no account of errors. */
static void sum_values(takt_region *r, size_t id, size_t count)
{
    const takt_net_node *n = &r->net->nodes[id];
    double *v = r->alpha->value[id];
    for (size_t k = 0; k < count; k++)
        for (uint32_t j = 0; j < n->count; j++)
            v[k * n->count + j] = n->bias != NULL ? n->bias[j] : 0;
    for (size_t i = 0; i < n->part_count; i++) {
        const takt_net_part *p = &n->parts[i];
        if (takt_products_forward(r, p, r->alpha->value[p->source], v, count))
            continue;
        for (size_t k = 0; k < count; k++)
            part_values(r, id, p, k);
    }
}

static void line_values(const takt_region *r, size_t id, size_t row, double *v)
{
    const takt_net_node *n = &r->net->nodes[id];
    const takt_lines *l = &r->lines[id];
    const double *a = r->rows[id] + row * n->count;
    if (r->alpha->tangents[id] != NULL) {
        takt_tangents_values(r, id, row, v);
        return;
    }
    for (uint32_t j = 0; j < n->count; j++) {
        const bool is_below = a[j] > 0;
        v[j] = is_below ? l->below_at[j] : l->above_at[j];
        for (int k = 0; k < (n->kind == TAKT_NET_PAIR ? 2 : 1); k++) {
            double slope = is_below ? l->below[k][j] : l->above[k][j];
            if (is_below && r->alpha->slope[id] != NULL)
                slope = r->alpha->slope[id][row * n->count + j];
            v[j] += slope * r->alpha->value[n->sources[k]][row * n->count + j];
        }
        if (!isfinite(v[j]))
            v[j] = 0;
    }
}

/* ---- steps ---- */

/* Adam, for slopes of lines below; a slope of a relu that is on or off stays. */
static void improve(takt_region *r, size_t id, size_t count, int step)
{
    takt_alpha *x = r->alpha;
    const takt_net_node *n = &r->net->nodes[id];
    const double left = takt_alpha_left(n), rate = x->rate * (1 - left) * pow(0.98, step);
    const double b1 = 1 - pow(0.9, step + 1), b2 = 1 - pow(0.999, step + 1);
    const double *lo = r->lo[n->sources[0]], *hi = r->hi[n->sources[0]];
    for (size_t k = 0; k < count; k++)
        for (uint32_t j = 0; j < n->count; j++) {
            const size_t at = k * n->count + j;
            const double a = r->rows[id][at];
            if (!(a > 0) || !(lo[j] < 0) || !(hi[j] > 0))
                continue;
            const double g = a * x->value[n->sources[0]][at];
            x->first[id][at] += 0.1 * (g - x->first[id][at]);
            x->second[id][at] += 0.001 * (g * g - x->second[id][at]);
            const double by = x->first[id][at] / b1 / (sqrt(x->second[id][at] / b2) + 1e-12);
            const double slope = rint((x->slope[id][at] + rate * by) * TAKT_ALPHA_GRID);
            x->slope[id][at] = fmin(fmax(slope / TAKT_ALPHA_GRID, left), 1);
        }
}

/* Multipliers are of the size of coefficients, and so are their steps. */
static double rate_of(const takt_region *r, uint32_t relu, size_t row)
{
    const uint32_t width = r->net->nodes[relu].count;
    const double *a = r->rows[relu] + row * width;
    double most = 0;
    for (uint32_t j = 0; r->is_touched[relu] && j < width; j++)
        most = fmax(most, fabs(a[j]));
    return most;
}

static void improve_sides(takt_region *r, size_t count, int step)
{
    takt_alpha *x = r->alpha;
    const double decay = pow(0.98, step);
    const double b1 = 1 - pow(0.9, step + 1), b2 = 1 - pow(0.999, step + 1);
    for (size_t k = 0; k < count; k++)
        for (size_t s = 0; s < x->side_count; s++) {
            if (s == x->fixed)
                continue;
            const size_t at = k * TAKT_ALPHA_SIDES + s;
            const uint32_t source = r->net->nodes[x->sides[s].relu].sources[0];
            const size_t z = k * r->net->nodes[source].count + x->sides[s].element;
            const double g = x->sides[s].sign * x->value[source][z];
            if (step == 0)
                x->beta_rate[at] = x->rate * rate_of(r, x->sides[s].relu, k);
            x->beta_first[at] += 0.1 * (g - x->beta_first[at]);
            x->beta_second[at] += 0.001 * (g * g - x->beta_second[at]);
            const double by = x->beta_first[at] / b1 / (sqrt(x->beta_second[at] / b2) + 1e-12);
            x->beta[at] = fmax(x->beta[at] + x->beta_rate[at] * decay * by, 0);
        }
}

static void step(takt_region *r, size_t id, size_t count, int at)
{
    corner(r, count);
    for (size_t i = 0; i < id; i++) {
        const takt_net_node *n = &r->net->nodes[i];
        if (!r->is_touched[i] || n->kind == TAKT_NET_INPUT)
            continue;
        if (n->kind == TAKT_NET_SUM)
            sum_values(r, i, count);
        /* Rows bypass moves that a pair reads (region_back.c); their values are read here. */
        for (int k = 0; n->kind == TAKT_NET_PAIR && k < 2; k++)
            if (!r->is_touched[n->sources[k]])
                sum_values(r, n->sources[k], count);
        for (size_t k = 0; k < count && n->kind != TAKT_NET_SUM; k++)
            line_values(r, i, k, r->alpha->value[i] + k * n->count);
    }
    for (size_t i = 0; i <= id; i++) {
        if (r->is_touched[i] && r->alpha->slope[i] != NULL)
            improve(r, i, count, at);
        if (r->is_touched[i] && r->alpha->tangents[i] != NULL)
            takt_tangents_improve(r, i, count, at);
    }
    improve_sides(r, count, at);
}

/* Rows of the node itself are kept; those of inputs begin with their given values. */
static void restart(takt_region *r, size_t id, size_t count)
{
    for (size_t i = 0; i < id; i++)
        r->is_touched[i] = false;
    memset(r->constants, 0, count * sizeof *r->constants);
    for (size_t k = 0, at = 0; k < r->net->port_count; k++) {
        const uint32_t input = r->net->inputs[k];
        const size_t size = count * r->net->nodes[input].count;
        memcpy(r->rows[input], r->alpha->seeds + at, size * sizeof(double));
        r->is_touched[input] = true;
        at += r->capacity * r->net->nodes[input].count;
    }
}

/* The current slopes prove a row, with a margin for the rounding of a checker. */
static bool is_enough(const takt_region *r, size_t count)
{
    const takt_alpha *x = r->alpha;
    for (size_t k = 0; x != NULL && x->stops && k < count; k++) {
        const double least = takt_region_least(r, k);
        if (least - x->enough[k] > 1e-9 * (fabs(least) + fabs(x->enough[k])))
            return true;
    }
    return false;
}

void takt_region_best(takt_region *r, size_t id, size_t count, double *best)
{
    takt_alpha *x = r->alpha;
    const bool is_input = r->net->nodes[id].kind == TAKT_NET_INPUT;
    if (x != NULL && !is_input) {
        begin(r, id, count);
        for (size_t k = 0, at = 0; k < r->net->port_count; k++) {
            const uint32_t input = r->net->inputs[k];
            const size_t size = count * r->net->nodes[input].count;
            memcpy(x->seeds + at, r->rows[input], size * sizeof(double));
            at += r->capacity * r->net->nodes[input].count;
        }
    }
    takt_region_back(r, id, count);
    for (size_t k = 0; k < count; k++)
        best[k] = takt_region_least(r, k);
    for (int s = 0; x != NULL && !is_input && !r->by_intervals && s < x->steps; s++) {
        if ((x->is_late != NULL && x->is_late(x->user)) || is_enough(r, count))
            break;
        step(r, id, count, s);
        restart(r, id, count);
        takt_region_back(r, id, count);
        for (size_t k = 0; k < count; k++)
            best[k] = fmax(best[k], takt_region_least(r, k));
    }
}
