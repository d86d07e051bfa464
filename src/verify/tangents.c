/* tangents.c - lines below and above smooth functions, chosen for each row by gradient steps. */
#include "verify/tangents.h"

#include <math.h>
#include <string.h>

#include "op/util/relax.h"
#include "verify/alpha.h"
#include "verify/terms.h"

enum { LINES = 2 * (TAKT_TANGENTS + 1) };

bool takt_tangents_fit(const takt_net_node *n)
{
    return n->is_used && n->kind == TAKT_NET_CURVE && !takt_alpha_is_hinge(n);
}

takt_status takt_tangents_init(takt_region *r, size_t id, takt_tangents *t)
{
    const size_t count = r->net->nodes[id].count, rows = count * r->capacity;
    double **each[] = {&t->lines[0], &t->lines[1], &t->usual[0], &t->usual[1], &t->point[0],
                       &t->point[1], &t->first,    &t->second,   &t->slope,    &t->at};
    for (size_t k = 0; k < 10; k++) {
        const size_t size = k < 2 ? count * LINES : k < 4 ? count : rows;
        *each[k] = takt_arena_array(&r->arena, size, sizeof(double));
        if (*each[k] == NULL)
            return TAKT_ERR_MEMORY;
    }
    return TAKT_OK;
}

static takt_tangents *of(const takt_region *r, size_t id)
{
    return r->alpha->tangents[id];
}

/* ---- lines ---- */

/* The choice whose line has the slope of the usual one; slopes rise or fall with the choice. */
static double nearest(const double *lines, double usual)
{
    for (size_t k = 0; k < TAKT_TANGENTS; k++) {
        const double a = lines[2 * k], b = lines[2 * k + 2];
        if (a != b && (usual - a) * (usual - b) <= 0)
            return (double)k + (usual - a) / (b - a);
    }
    const double first = fabs(usual - lines[0]);
    return fabs(usual - lines[2 * TAKT_TANGENTS]) < first ? TAKT_TANGENTS : 0;
}

/* A line with NaN is replaced by the usual one. The others are widened by the rounding of their
 * mean and of the row that contains them. */
static void finish(takt_region *r, size_t id, int side, size_t i)
{
    const takt_net_node *n = &r->net->nodes[id];
    const takt_lines *l = &r->lines[id];
    double *lines = of(r, id)->lines[side] + i * LINES;
    const double far = fmax(fabs(r->lo[n->sources[0]][i]), fabs(r->hi[n->sources[0]][i]));
    const double usual = (side == 0 ? l->below : l->above)[0][i];
    const double usual_at = (side == 0 ? l->below_at : l->above_at)[i];
    double size = 0;
    for (size_t k = 0; k < LINES; k += 2) {
        const bool is_good = isfinite(lines[k]) && isfinite(lines[k + 1]);
        if (!is_good || !isfinite(far) || !isfinite(usual_at)) {
            lines[k] = usual;
            lines[k + 1] = usual_at;
        }
        size = fmax(size, fabs(lines[k]) * far + fabs(lines[k + 1]));
    }
    for (size_t k = 0; k < LINES && isfinite(size); k += 2)
        lines[k + 1] += (side == 0 ? -1 : 1) * r->own * size * (1 + 0x1p-20);
    of(r, id)->usual[side][i] = nearest(lines, usual);
}

void takt_tangents_fill(takt_region *r, size_t id)
{
    const takt_net_node *n = &r->net->nodes[id];
    const takt_tangents *t = of(r, id);
    takt_relaxing x = {.node = n->of, .count = n->count, .ulp = n->ulp};
    x.lo[0] = r->lo[n->sources[0]];
    x.hi[0] = r->hi[n->sources[0]];
    /* Room that rows use later. */
    x.choice[0] = x.choice[1] = t->point[0];
    x.below[0] = t->first;
    x.above[0] = t->second;
    x.below_at = t->slope;
    x.above_at = t->at;
    for (size_t k = 0; k <= TAKT_TANGENTS; k++) {
        for (size_t i = 0; i < n->count; i++)
            t->point[0][i] = (double)k / TAKT_TANGENTS;
        n->of->op->relax(&x);
        for (size_t i = 0; i < n->count; i++) {
            const size_t at = i * LINES + 2 * k;
            t->lines[0][at] = x.below[0][i];
            t->lines[0][at + 1] = x.below_at[i];
            t->lines[1][at] = x.above[0][i];
            t->lines[1][at + 1] = x.above_at[i];
        }
    }
    for (size_t i = 0; i < n->count; i++)
        for (int side = 0; side < 2; side++)
            finish(r, id, side, i);
}

/* The line of the choice at or before `point`; the next choice is right after it. */
static inline const double *line_at(const double *lines, size_t i, double point)
{
    const size_t k = point < TAKT_TANGENTS ? (size_t)point : TAKT_TANGENTS - 1;
    return lines + i * LINES + 2 * k;
}

/* ---- rows ---- */

void takt_tangents_begin(takt_region *r, size_t id, size_t rows)
{
    const uint32_t count = r->net->nodes[id].count;
    takt_tangents *t = of(r, id);
    for (size_t k = 0; k < rows; k++)
        for (int side = 0; side < 2; side++)
            memcpy(t->point[side] + k * count, t->usual[side], count * sizeof(double));
    memset(t->first, 0, rows * count * sizeof(double));
    memset(t->second, 0, rows * count * sizeof(double));
}

/* One row; returns the change of its constant. */
static double back_row(const takt_tangents *t, const double *row, size_t count, size_t first,
                       double *to)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const int side = row[i] > 0 ? 0 : 1;
        const double p = t->point[side][first + i];
        const double *l = line_at(t->lines[side], i, p);
        const double w = p < TAKT_TANGENTS ? p - (double)(size_t)p : 1;
        const double slope = l[0] == l[2] ? l[0] : l[0] + w * (l[2] - l[0]);
        const double at = l[1] == l[3] ? l[1] : l[1] + w * (l[3] - l[1]);
        t->slope[first + i] = slope;
        t->at[first + i] = at;
        to[i] += row[i] == 0 ? 0 : row[i] * slope;
        sum += row[i] == 0 ? 0 : row[i] * at;
    }
    return sum;
}

void takt_tangents_back(takt_region *r, size_t id, size_t rows, double *to)
{
    const uint32_t count = r->net->nodes[id].count;
    for (size_t k = 0; k < rows; k++) {
        const double *row = r->rows[id] + k * count;
        const double cost = takt_terms_sides(row, r->zeros, r->zeros, r->error[id], count);
        r->constants[k] += back_row(of(r, id), row, count, k * count, to + k * count) + cost;
    }
}

void takt_tangents_values(const takt_region *r, size_t id, size_t row, double *v)
{
    const takt_net_node *n = &r->net->nodes[id];
    const double *z = r->alpha->value[n->sources[0]] + row * n->count;
    const double *slope = of(r, id)->slope + row * n->count, *at = of(r, id)->at + row * n->count;
    for (size_t i = 0; i < n->count; i++) {
        const double value = slope[i] * z[i] + at[i];
        v[i] = isfinite(value) ? value : 0;
    }
}

/* The bound's derivative by a choice: the coefficient times the line's own. */
void takt_tangents_improve(takt_region *r, size_t id, size_t rows, int step)
{
    const takt_net_node *n = &r->net->nodes[id];
    takt_tangents *t = of(r, id);
    const double rate = TAKT_TANGENTS * r->alpha->rate * pow(0.98, step);
    const double by = rate * sqrt(1 - pow(0.999, step + 1)) / (1 - pow(0.9, step + 1));
    for (size_t k = 0; k < rows; k++)
        for (size_t i = 0; i < n->count; i++) {
            const size_t at = k * n->count + i;
            const double a = r->rows[id][at];
            double *point = &t->point[a > 0 ? 0 : 1][at];
            const double *l = line_at(t->lines[a > 0 ? 0 : 1], i, *point);
            const double z = r->alpha->value[n->sources[0]][at];
            const double g = a * ((l[2] - l[0]) * z + (l[3] - l[1]));
            if (g == 0 || !isfinite(g))
                continue;
            t->first[at] += 0.1 * (g - t->first[at]);
            t->second[at] += 0.001 * (g * g - t->second[at]);
            if (t->second[at] > 0)
                *point += by * t->first[at] / sqrt(t->second[at]);
            *point = fmin(fmax(*point, 0), TAKT_TANGENTS);
        }
}
