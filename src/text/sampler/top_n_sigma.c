/* top_n_sigma.c - keeps candidates whose score is within n standard deviations of the best (Tang et
 * al., 2024). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "text/sampler.h"

enum { LANES = 8, BLOCK = 32 };

/* Sums over the finite scores, less `pivot`: of values, of squares, and their count. */
typedef struct sums {
    double sum, squares, count;
} sums;

/* Several partial sums: a single one would wait for each addition. */
typedef float floats __attribute__((vector_size(4 * sizeof(float))));
typedef double doubles __attribute__((vector_size(4 * sizeof(double))));
typedef double pair __attribute__((vector_size(2 * sizeof(double))));
typedef int64_t mask __attribute__((vector_size(2 * sizeof(int64_t))));
typedef struct lanes {
    pair sum[LANES / 2], squares[LANES / 2];
    mask count[LANES / 2]; /* negative */
} lanes;

static inline void widen(const float *at, pair wide[LANES / 2])
{
    for (size_t k = 0; k < LANES; k += 4) {
        floats x;
        memcpy(&x, at + k, sizeof x);
        const doubles both = __builtin_convertvector(x, doubles);
        memcpy(&wide[k / 2], &both, sizeof both);
    }
}

static void add(lanes *all, const float *at, pair pivot)
{
    pair wide[LANES / 2];
    widen(at, wide);
    for (size_t k = 0; k < LANES / 2; k++) {
        const mask is_finite = wide[k] - wide[k] == 0;
        const pair less = (pair)((mask)(wide[k] - pivot) & is_finite);
        all->sum[k] += less;
        all->squares[k] += less * less;
        all->count[k] += is_finite;
    }
}

static bool is_finite(const float *block)
{
    int found = 0;
    for (size_t k = 0; k < BLOCK; k++)
        found |= !(fabsf(block[k]) <= FLT_MAX);
    return !found;
}

/* Blocks of finite scores, which nearly all are: the same sums with half as many instructions.
 * Returns how many scores they have. */
static size_t add_finite(lanes *all, const float *at, size_t count, pair pivot)
{
    lanes l = *all;
    size_t i = 0;
    for (; i + BLOCK <= count && is_finite(at + i); i += BLOCK)
        for (size_t n = 0; n < BLOCK; n += LANES) {
            pair wide[LANES / 2];
            widen(at + i + n, wide);
            for (size_t k = 0; k < LANES / 2; k++) {
                const pair less = wide[k] - pivot;
                l.sum[k] += less;
                l.squares[k] += less * less;
            }
        }
    for (size_t k = 0; k < LANES / 2; k++)
        l.count[k] -= (int64_t)(i / LANES);
    *all = l;
    return i;
}

/* Whole blocks; returns how many scores they have. */
static size_t add_blocks(lanes *all, const float *at, size_t count, pair pivot)
{
    size_t i = 0;
    while (i + BLOCK <= count) {
        i += add_finite(all, at + i, count - i, pivot);
        for (size_t n = 0; i + BLOCK <= count && n < BLOCK; n += LANES)
            add(all, at + i + n, pivot);
        i += i + BLOCK <= count ? BLOCK : 0;
    }
    return i;
}

static sums total(const takt_candidates *c, double pivot)
{
    lanes lane = {0};
    sums all = {0};
    const pair both = {pivot, pivot};
    size_t i = c->scores != NULL ? add_blocks(&lane, c->scores, c->count, both) : 0;
    for (float x[LANES]; i < c->count; i += LANES) {
        for (size_t k = 0; k < LANES; k++) /* infinity is not counted */
            x[k] = i + k >= c->count   ? HUGE_VALF
                   : c->scores != NULL ? c->scores[i + k]
                                       : c->at[i + k].score;
        add(&lane, x, both);
    }
    for (size_t k = 0; k < LANES; k++) {
        all.sum += lane.sum[k / 2][k % 2];
        all.squares += lane.squares[k / 2][k % 2];
        all.count -= (double)lane.count[k / 2][k % 2];
    }
    return all;
}

static double deviation(const sums *all)
{
    const double mean = all->count > 0 ? all->sum / all->count : 0;
    const double variance = all->count > 0 ? all->squares / all->count - mean * mean : 0;
    return variance > 0 ? sqrt(variance) : 0;
}

static void apply(takt_candidates *c, const takt_sampling *s)
{
    if (s->top_n_sigma <= 0 || c->count < 2)
        return;
    if (c->count != c->tokens) /* some were removed: uses the rest */
        takt_candidates_list(c);
    const float first = c->scores != NULL ? c->scores[0] : c->at[0].score;
    const sums all = total(c, isfinite(first) ? (double)first : 0);
    takt_candidates_reach(c, (double)takt_candidates_best(c) - s->top_n_sigma * deviation(&all));
}

const takt_sampler takt_sampler_top_n_sigma = {
    "top_n_sigma", "candidates within n deviations of the best", 's', false, apply};
