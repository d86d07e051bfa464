/* top_n_sigma.c - keeps candidates whose score is within n standard deviations of the best (Tang et
 * al., 2024). */
#include <math.h>

#include "text/sampler.h"

enum { LANES = 8 };

/* The best score; of the finite ones, less `pivot`, the sum and that of their squares, and how many
 * there are. */
typedef struct sums {
    double sum, squares;
    size_t count;
    float best;
} sums;

/* One pass, which is most of the time, with several partial sums: a single one would wait for each
 * addition. */
static sums total(const takt_candidates *c, double pivot)
{
    double sum[LANES] = {0}, squares[LANES] = {0};
    float best[LANES];
    size_t count[LANES] = {0};
    sums all = {.best = -HUGE_VALF};
    for (size_t k = 0; k < LANES; k++)
        best[k] = all.best;
    for (size_t i = 0; i < c->count; i += LANES) {
        const size_t n = c->count - i < LANES ? c->count - i : LANES;
        for (size_t k = 0; k < LANES; k++) {
            const float x = k < n ? c->at[i + k].score : -HUGE_VALF; /* which is not finite */
            const bool is_finite = x - x == 0;
            const double less = is_finite ? (double)x - pivot : 0;
            sum[k] += less;
            squares[k] += less * less;
            count[k] += is_finite;
            best[k] = x > best[k] ? x : best[k];
        }
    }
    for (size_t k = 0; k < LANES; k++) {
        all.sum += sum[k];
        all.squares += squares[k];
        all.count += count[k];
        all.best = best[k] > all.best ? best[k] : all.best;
    }
    return all;
}

static double deviation(const sums *all)
{
    const double count = (double)all->count, mean = all->count > 0 ? all->sum / count : 0;
    const double variance = all->count > 0 ? all->squares / count - mean * mean : 0;
    return variance > 0 ? sqrt(variance) : 0;
}

static void apply(takt_candidates *c, const takt_sampling *s)
{
    size_t kept = 0;
    if (s->top_n_sigma <= 0 || c->count < 2)
        return;
    const float first = c->at[0].score;
    const sums all = total(c, isfinite(first) ? (double)first : 0);
    const double least = (double)all.best - s->top_n_sigma * deviation(&all);
    for (size_t i = 0; i < c->count; i++) {
        const takt_candidate k = c->at[i]; /* without a branch: which ones stay is random */
        c->at[kept] = k;
        kept += (double)k.score >= least;
    }
    c->has_shares = c->has_shares && kept == c->count;
    c->count = kept;
}

const takt_sampler takt_sampler_top_n_sigma = {
    "top_n_sigma", "candidates within n deviations of the best", 's', false, apply};
