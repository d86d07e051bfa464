/* leaf.c - the dual simplex method for a box and a few rows, on a dense table.
 *
 * basic[i] + row[i] . values of the columns = its initial value, for every row i; the cost is a
 * constant plus reduced . values. A column is at one end of its range: the lower one if its reduced
 * cost is not below 0. So costs are minimal for these multipliers; only basic variables outside
 * their ranges are wrong, and each step moves one of them to the end it has passed. */
#include "verify/leaf.h"

#include <math.h>
#include <string.h>

#define NEAR 1e-9  /* tolerance: a basic variable outside by less counts as inside */
#define TINY 1e-11 /* too small for a pivot */

enum { WORTH = 1 << 16 }; /* table elements between two checks of the clock */

takt_status takt_leaf_init(takt_arena *arena, size_t inputs, size_t rows, takt_leaf *leaf)
{
    *leaf = (takt_leaf){.input_room = inputs, .row_room = rows};
    double **wide[] = {&leaf->cost, &leaf->x, &leaf->value, &leaf->reduced};
    double **high[] = {&leaf->constant, &leaf->beta, &leaf->basic};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if ((*wide[i] = takt_arena_array(arena, inputs + 1, sizeof(double))) == NULL)
            return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < sizeof high / sizeof *high; i++)
        if ((*high[i] = takt_arena_array(arena, rows + 1, sizeof(double))) == NULL)
            return TAKT_ERR_MEMORY;
    leaf->row = takt_arena_array(arena, inputs * rows + 1, sizeof(double));
    leaf->outside = takt_arena_array(arena, inputs + 1, sizeof *leaf->outside);
    leaf->inside = takt_arena_array(arena, rows + 1, sizeof *leaf->inside);
    return leaf->row == NULL || leaf->outside == NULL || leaf->inside == NULL ? TAKT_ERR_MEMORY
                                                                              : TAKT_OK;
}

static double low_of(const takt_leaf *l, uint32_t variable)
{
    return variable < l->inputs ? l->lo[variable] : 0;
}

static double high_of(const takt_leaf *l, uint32_t variable)
{
    return variable < l->inputs ? l->hi[variable] : INFINITY;
}

static void begin(takt_leaf *l)
{
    for (uint32_t j = 0; j < l->inputs; j++) {
        l->outside[j] = j;
        l->reduced[j] = l->cost[j];
        l->value[j] = l->cost[j] < 0 ? l->hi[j] : l->lo[j];
    }
    for (uint32_t i = 0; i < l->rows; i++) {
        l->inside[i] = (uint32_t)l->inputs + i;
        l->basic[i] = -l->constant[i];
        for (size_t j = 0; j < l->inputs; j++)
            l->basic[i] -= l->row[i * l->inputs + j] * l->value[j];
    }
}

/* How far basic variable i is outside: below 0 if it is too small. */
static double wrong_by(const takt_leaf *l, size_t i)
{
    const double low = low_of(l, l->inside[i]), high = high_of(l, l->inside[i]);
    const double slack = NEAR * (1 + fabs(l->basic[i]));
    return l->basic[i] < low - slack    ? l->basic[i] - low
           : l->basic[i] > high + slack ? l->basic[i] - high
                                        : 0;
}

/* The row with the largest violation; false: there is none. */
static bool find_row(const takt_leaf *l, size_t *row, double *by)
{
    *by = 0;
    for (size_t i = 0; i < l->rows; i++) {
        const double wrong = wrong_by(l, i);
        if (fabs(wrong) > fabs(*by)) {
            *by = wrong;
            *row = i;
        }
    }
    return *by != 0;
}

/* The column that can move the row and has the smallest ratio of reduced cost; false: there is
 * none. */
static bool find_column(const takt_leaf *l, size_t row, double by, size_t *column)
{
    const double *t = l->row + row * l->inputs;
    double best = INFINITY, size = 0;
    for (size_t j = 0; j < l->inputs; j++) {
        const uint32_t v = l->outside[j];
        const double low = low_of(l, v), high = high_of(l, v);
        const bool is_low = l->value[j] <= low;
        const bool helps =
            by < 0 ? (is_low ? t[j] < -TINY : t[j] > TINY) : (is_low ? t[j] > TINY : t[j] < -TINY);
        if (!helps || !(high > low))
            continue;
        const double ratio = fabs(l->reduced[j] / t[j]);
        if (ratio < best || (ratio == best && fabs(t[j]) > size)) {
            best = ratio;
            size = fabs(t[j]);
            *column = j;
        }
    }
    return best < INFINITY;
}

/* Exchanges row and column; the row's variable is set to the bound that it has passed. */
static void pivot(takt_leaf *l, size_t row, size_t column, double by)
{
    const size_t n = l->inputs;
    double *t = l->row + row * n;
    const double p = t[column], step = by / p, d = l->reduced[column];
    const double end = by < 0 ? low_of(l, l->inside[row]) : high_of(l, l->inside[row]);
    for (size_t i = 0; i < l->rows; i++)
        if (i != row)
            l->basic[i] -= l->row[i * n + column] * step;
    l->basic[row] = l->value[column] + step;
    l->value[column] = end;
    for (size_t j = 0; j < n; j++)
        t[j] = j == column ? 1 / p : t[j] / p;
    for (size_t i = 0; i < l->rows; i++) {
        double *other = l->row + i * n;
        const double f = other[column];
        if (i == row || f == 0)
            continue;
        for (size_t j = 0; j < n; j++)
            other[j] = j == column ? -f / p : other[j] - f * t[j];
    }
    for (size_t j = 0; j < n; j++)
        l->reduced[j] = j == column ? -d / p : l->reduced[j] - d * t[j];
    const uint32_t variable = l->inside[row];
    l->inside[row] = l->outside[column];
    l->outside[column] = variable;
}

/* Multipliers are the reduced costs of slacks. If no point of the box is feasible they may grow
 * without bound along a row: until the bound suffices. */
static void take_beta(takt_leaf *l, size_t row, double by, double bound)
{
    const double *t = l->row + row * l->inputs;
    const double far = by == 0 ? 0 : 2 * (fabs(l->need - bound) + 1) / -by;
    memset(l->beta, 0, l->rows * sizeof *l->beta);
    for (size_t j = 0; j < l->inputs; j++)
        if (l->outside[j] >= l->inputs)
            l->beta[l->outside[j] - l->inputs] =
                fmax(l->reduced[j] + (far == 0 ? 0 : far * t[j]), 0);
    if (far > 0 && l->inside[row] >= l->inputs)
        l->beta[l->inside[row] - l->inputs] = far;
}

static bool is_late(const takt_leaf *l, size_t step)
{
    const size_t each = WORTH / (l->inputs * l->rows + 1) + 1;
    return l->is_late != NULL && step % each == each - 1 && l->is_late(l->user);
}

void takt_leaf_solve(takt_leaf *l)
{
    const size_t most = 50 * (l->inputs + l->rows) + 100;
    size_t row = 0, column = 0;
    double by = 0, bound = 0;
    begin(l);
    for (size_t j = 0; j < l->inputs; j++)
        bound += l->reduced[j] * l->value[j];
    bool is_open = find_row(l, &row, &by);
    for (size_t i = 0; i < most && is_open && bound <= l->need; i++) {
        if (!find_column(l, row, by, &column) || is_late(l, i))
            break;
        bound += fabs(l->reduced[column] / l->row[row * l->inputs + column] * by);
        pivot(l, row, column, by);
        is_open = find_row(l, &row, &by);
    }
    const bool is_empty = is_open && !find_column(l, row, by, &column);
    take_beta(l, row, is_empty ? by : 0, bound);
    for (size_t j = 0; j < l->inputs; j++)
        if (l->outside[j] < l->inputs)
            l->x[l->outside[j]] = l->value[j];
    for (size_t i = 0; i < l->rows; i++)
        if (l->inside[i] < l->inputs)
            l->x[l->inside[i]] = fmin(fmax(l->basic[i], l->lo[l->inside[i]]), l->hi[l->inside[i]]);
}
