/* attack.c - gradient steps towards a point that violates a case.
 *
 * Over a box of one point, lines are tangents: rows that go back are gradients. */
#include <math.h>
#include <string.h>

#include "verify/search.h"

static double uniform(takt_attack *a)
{
    /* SplitMix64: any points will do, if they are the same on every machine. */
    uint64_t z = a->seed += 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Inputs of the model are f32; the nearest one inside the box, if there is any. */
static double settle(double x, double lo, double hi)
{
    float f = (float)x;
    if ((double)f < lo)
        f = nextafterf(f, INFINITY);
    if ((double)f > hi)
        f = nextafterf(f, -INFINITY);
    return (double)f >= lo && (double)f <= hi ? (double)f : (double)(float)x;
}

void takt_attack_outputs(takt_attack *a)
{
    takt_region *r = a->region;
    takt_region_box(r, a->x, a->x);
    takt_region_bound(r, false);
    for (size_t i = 0; i < r->net->output_count; i++)
        a->y[i] = 0.5 * (r->lo[r->net->output][i] + r->hi[r->net->output][i]);
}

/* The half-space that is farthest from being satisfied. */
static size_t worst_row(const takt_case *c, const double *x, const double *y)
{
    size_t worst = 0;
    double most = -INFINITY;
    for (size_t k = 0; k < c->row_count; k++) {
        const takt_case one = {.rows = &c->rows[k], .row_count = 1};
        const double m = takt_goal_margin(&one, x, y);
        if (m > most) {
            most = m;
            worst = k;
        }
    }
    return worst;
}

/* One step against the gradient of the worst half-space, by a fraction of each width. */
static void step(takt_attack *a, const takt_case *c, double part)
{
    takt_region *r = a->region;
    const takt_case one = {.rows = &c->rows[worst_row(c, a->x, a->y)], .row_count = 1};
    takt_region_clear(r, r->net->output, 1);
    takt_goal_rows(r, &one, 0);
    takt_region_back(r, r->net->output, 1);
    for (size_t k = 0, at = 0; k < r->net->port_count; k++) {
        const uint32_t id = r->net->inputs[k];
        for (uint32_t i = 0; i < r->net->nodes[id].count; i++, at++) {
            const double g = r->rows[id][i];
            const double width = c->hi[at] - c->lo[at];
            const double x = a->x[at] - part * width * (g > 0 ? 1 : g < 0 ? -1 : 0);
            a->x[at] = settle(fmin(fmax(x, c->lo[at]), c->hi[at]), c->lo[at], c->hi[at]);
        }
    }
}

/* Projects back into the ball, along the line to its centre. */
static void project(takt_attack *a, const takt_case *c)
{
    const takt_property *p = a->property;
    double squares = 0;
    for (size_t i = 0; p->center != NULL && i < p->input_count; i++)
        squares += (a->x[i] - p->center[i]) * (a->x[i] - p->center[i]);
    const double part = p->radius / sqrt(squares) * (1 - 0x1p-20);
    for (size_t i = 0; p->center != NULL && part < 1 && i < p->input_count; i++)
        a->x[i] = settle(p->center[i] + part * (a->x[i] - p->center[i]), c->lo[i], c->hi[i]);
}

/* The centre, then random corners and random points alternately. */
static void begin(takt_attack *a, const takt_case *c, int start)
{
    for (size_t i = 0; i < a->property->input_count; i++) {
        const double u = uniform(a);
        const double t = start == 0 ? 0.5 : start % 2 == 1 ? (u < 0.5 ? 0 : 1) : u;
        a->x[i] = settle(c->lo[i] + t * (c->hi[i] - c->lo[i]), c->lo[i], c->hi[i]);
    }
}

bool takt_attack_case(takt_attack *a, const takt_case *c, int starts, int steps)
{
    for (int s = 0; s < starts && !c->is_empty; s++) {
        double part = 0.25;
        begin(a, c, s);
        project(a, c);
        takt_attack_outputs(a);
        for (int i = 0; i < steps; i++) {
            if (takt_goal_breaks(c, a->x, a->y))
                return true;
            step(a, c, part);
            project(a, c);
            part = fmax(0.8 * part, 0.002);
            takt_attack_outputs(a);
        }
        if (takt_goal_breaks(c, a->x, a->y))
            return true;
    }
    return false;
}
