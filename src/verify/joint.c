/* joint.c - weights that prove a case by all of its half-spaces, and the box that they leave. */
#include "verify/joint.h"

#include <math.h>
#include <string.h>

enum { STEPS = 12, SWEEPS = 3 };

/* Linear lower bounds of the half-spaces over a box. */
typedef struct lines {
    size_t rows, inputs;
    double a[TAKT_JOINT_ROWS][TAKT_JOINT_INPUTS], c[TAKT_JOINT_ROWS];
    double lo[TAKT_JOINT_INPUTS], hi[TAKT_JOINT_INPUTS];
} lines;

void takt_joint_clear(takt_joint *j)
{
    j->has_point = j->is_whole = false;
    for (size_t i = 0; i < TAKT_JOINT_INPUTS; i++) {
        j->lo[i] = INFINITY;
        j->hi[i] = -INFINITY;
    }
}

/* False: they do not fit, or are not finite. Subtracts the rounding errors of everything that
 * follows: no sum below has more than a thousand terms of these magnitudes. */
static bool gather(lines *l, const takt_region *r, const takt_case *c, size_t at)
{
    l->rows = c->row_count;
    l->inputs = 0;
    for (size_t k = 0; k < r->net->port_count; k++) {
        const uint32_t id = r->net->inputs[k], width = r->net->nodes[id].count;
        if (l->rows > TAKT_JOINT_ROWS || l->inputs + width > TAKT_JOINT_INPUTS)
            return false;
        memcpy(l->lo + l->inputs, r->lo[id], width * sizeof *l->lo);
        memcpy(l->hi + l->inputs, r->hi[id], width * sizeof *l->hi);
        for (size_t i = 0; i < l->rows; i++)
            memcpy(l->a[i] + l->inputs, r->rows[id] + (at + i) * width, width * sizeof **l->a);
        l->inputs += width;
    }
    for (size_t i = 0; i < l->rows; i++) {
        const double constant = r->constants[at + i], bound = c->rows[i].bound;
        double size = fabs(constant) + fabs(bound);
        for (size_t k = 0; k < l->inputs; k++)
            size += fabs(l->a[i][k]) * fmax(fabs(l->lo[k]), fabs(l->hi[k]));
        l->c[i] = constant - bound - (r->own + 0x1p-42) * size;
        if (!isfinite(l->c[i]))
            return false;
    }
    return l->rows > 0;
}

/* The least value of a x + c over the box, and where. */
static double least(const lines *l, const double *a, double c, double *x)
{
    double sum = c;
    for (size_t k = 0; k < l->inputs; k++) {
        const double at = a[k] > 0 ? l->lo[k] : l->hi[k];
        sum += a[k] * at;
        if (x != NULL)
            x[k] = at;
    }
    return sum;
}

static double value(const lines *l, size_t row, const double *x)
{
    double sum = l->c[row];
    for (size_t k = 0; k < l->inputs; k++)
        sum += l->a[row][k] * x[k];
    return sum;
}

/* A sum of the functions, with weights of at least 0. */
typedef struct blend {
    double a[TAKT_JOINT_INPUTS], c;
} blend;

static blend between(const lines *l, const blend *b, size_t row, double t)
{
    blend out = {.c = (1 - t) * b->c + t * l->c[row]};
    for (size_t k = 0; k < l->inputs; k++)
        out.a[k] = (1 - t) * b->a[k] + t * l->a[row][k];
    return out;
}

/* Moves towards a row as far as that raises the least value, which bends where a coefficient
 * changes its sign. */
static void move(const lines *l, blend *b, size_t row)
{
    double best = least(l, b->a, b->c, NULL);
    const blend from = *b;
    for (size_t k = 0; k <= l->inputs; k++) {
        double t = 1;
        if (k < l->inputs)
            t = from.a[k] / (from.a[k] - l->a[row][k]);
        if (!(t > 0 && t <= 1))
            continue;
        const blend to = between(l, &from, row, t);
        const double found = least(l, to.a, to.c, NULL);
        if (found > best) {
            best = found;
            *b = to;
        }
    }
}

/* Weights that keep the sum above 0; if there are none, x is the lowest point of the best sum. */
static bool weigh(const lines *l, double *x)
{
    blend b = {.c = l->c[0]};
    memcpy(b.a, l->a[0], sizeof b.a);
    for (int step = 0; step < STEPS; step++) {
        size_t top = 0;
        double most = -INFINITY;
        if (least(l, b.a, b.c, x) > 0)
            return true;
        for (size_t i = 0; i < l->rows; i++) {
            const double v = value(l, i, x);
            if (v > most) {
                most = v;
                top = i;
            }
        }
        if (most <= 0) /* all of them are: no weights help */
            return false;
        move(l, &b, top);
    }
    return least(l, b.a, b.c, x) > 0;
}

/* Cuts off the part where one function is above 0; false: nothing is left. */
static bool cut_row(lines *l, size_t row)
{
    const double left = -least(l, l->a[row], l->c[row], NULL);
    if (!(left >= 0))
        return false;
    for (size_t k = 0; k < l->inputs; k++) {
        const double a = l->a[row][k], width = left / fabs(a) * (1 + 0x1p-40);
        if (a == 0 || !(width < l->hi[k] - l->lo[k]))
            continue;
        const double slack = 0x1p-50 * (fabs(l->lo[k]) + fabs(l->hi[k]));
        if (a > 0)
            l->hi[k] = fmin(l->hi[k], l->lo[k] + width + slack);
        else
            l->lo[k] = fmax(l->lo[k], l->hi[k] - width - slack);
    }
    return true;
}

static bool cut(lines *l)
{
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (size_t i = 0; i < l->rows; i++)
            if (!cut_row(l, i))
                return false;
    return true;
}

bool takt_joint_proves(takt_joint *j, const takt_region *r, const takt_case *c, size_t at)
{
    lines l;
    double x[TAKT_JOINT_INPUTS];
    if (!gather(&l, r, c, at)) {
        j->is_whole = true;
        return false;
    }
    if (weigh(&l, x) || !cut(&l))
        return true;
    if (!j->has_point)
        memcpy(j->x, x, l.inputs * sizeof *x);
    j->has_point = true;
    for (size_t k = 0; k < l.inputs; k++) {
        j->lo[k] = fmin(j->lo[k], l.lo[k]);
        j->hi[k] = fmax(j->hi[k], l.hi[k]);
    }
    return false;
}
