/* recheck_relus.c - the checker's parts of a box by the sides of relus. */
#include <math.h>

#include "verify/recheck.h"

/* Lines of all functions that read an element. */
static void lines_again(takt_recheck *k, uint32_t source, size_t element)
{
    for (size_t i = source + 1; i < k->graph->count; i++)
        if (k->nodes[i].kind >= TAKT_CHECK_RELU && k->nodes[i].source == source)
            takt_recheck_lines(k, &k->nodes[i], element);
}

static bool fits(const takt_recheck *k, const takt_cut_slopes *s)
{
    return s->node < k->graph->count && k->nodes[s->node].kind == TAKT_CHECK_RELU &&
           s->count == k->nodes[s->node].count;
}

/* Any slope from 0 to 1 gives a line through 0 below a relu. A relu that is on or off has a fixed
 * slope. */
static void set_slopes(takt_recheck *k, const takt_cut_slopes *s)
{
    takt_check_node *c = &k->nodes[s->node];
    const takt_check_node *x = &k->nodes[c->source];
    for (size_t i = 0; i < s->count; i++)
        if (isfinite(x->lo[i]) && isfinite(x->hi[i]) && x->lo[i] < 0 && x->hi[i] > 0)
            c->low_slope[i] = fmin((double)s->at[i] / TAKT_CERTIFICATE_GRID, 1);
}

bool takt_recheck_enter(takt_recheck *k, takt_recheck_side *sides, size_t count,
                        const takt_cut *cut)
{
    bool is_good = cut->beta_count == 0 || cut->beta_count == count;
    for (size_t i = 0; i < cut->beta_count; i++)
        is_good = is_good && cut->beta[i] >= 0 && isfinite(cut->beta[i]);
    for (size_t i = 0; i < count; i++) {
        const uint32_t source = k->nodes[sides[i].relu].source;
        double *lo = &k->nodes[source].lo[sides[i].element];
        double *hi = &k->nodes[source].hi[sides[i].element];
        sides[i].lo = *lo;
        sides[i].hi = *hi;
        if (!isfinite(*lo) || !isfinite(*hi) || !(*lo < 0) || !(*hi > 0))
            continue;
        *(sides[i].sign > 0 ? hi : lo) = 0;
        lines_again(k, source, sides[i].element);
    }
    for (size_t i = 0; i < cut->slope_count; i++) {
        is_good = is_good && fits(k, &cut->slopes[i]);
        if (is_good)
            set_slopes(k, &cut->slopes[i]);
    }
    return is_good;
}

void takt_recheck_leave(takt_recheck *k, takt_recheck_side *sides, size_t count,
                        const takt_cut *cut)
{
    for (size_t i = count; i-- > 0;) {
        const uint32_t source = k->nodes[sides[i].relu].source;
        k->nodes[source].lo[sides[i].element] = sides[i].lo;
        k->nodes[source].hi[sides[i].element] = sides[i].hi;
        lines_again(k, source, sides[i].element);
    }
    for (size_t i = 0; i < cut->slope_count; i++)
        for (size_t j = 0; fits(k, &cut->slopes[i]) && j < cut->slopes[i].count; j++)
            takt_recheck_lines(k, &k->nodes[cut->slopes[i].node], j);
}

void takt_recheck_beta(takt_recheck *k, const takt_recheck_side *sides, const takt_cut *cut)
{
    for (size_t i = 0; i < cut->beta_count; i++) {
        const uint32_t source = k->nodes[sides[i].relu].source;
        k->nodes[source].row[sides[i].element] += sides[i].sign * cut->beta[i];
    }
}
