/* quantize_budget.c - leaves layers out until the score is kept.
 *
 * Each layer is first tried on its own: its loss over the time that it gains gives the order in
 * which layers are quantised. The longest prefix of that order whose loss is within the budget is
 * taken. */
#include <math.h>

#include "shrink/quantize.h"

enum { ALONE_SAMPLES = 256 };

static takt_status score(takt_quantizing *z, takt_feed *f, takt_score *s)
{
    takt_graph *g;
    TAKT_TRY(takt_quantizing_build(z, &g));
    return takt_score_graph(f, g, z->top, &z->arena, s);
}

static takt_status score_base(takt_quantizing *z, takt_feed *f, takt_score *s)
{
    takt_graph_retain(z->base);
    return takt_score_graph(f, z->base, z->top, &z->arena, s);
}

/* ---- the order ---- */

typedef struct candidate {
    size_t layer;
    double lost, gain; /* samples; nanoseconds, at least 1 */
} candidate;

/* Loss per gain; of equals the one that gains more. */
static bool goes_first(const candidate *a, const candidate *b)
{
    const double left = a->lost * b->gain, right = b->lost * a->gain;
    return left < right || (left == right && a->gain > b->gain);
}

static void sort(candidate *list, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const candidate one = list[i];
        size_t at = i;
        for (; at > 0 && goes_first(&one, &list[at - 1]); at--)
            list[at] = list[at - 1];
        list[at] = one;
    }
}

static takt_status try_each(takt_quantizing *z, takt_feed *few, const takt_score *exact,
                            candidate *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        takt_score s;
        for (size_t k = 0; k < z->layers.count; k++)
            z->taken[k] = k == list[i].layer;
        TAKT_TRY(score(z, few, &s));
        for (uint64_t k = 0; k < s.count; k++)
            list[i].lost += exact->right[k] && !s.right[k];
        z->lost_by_layer[list[i].layer] = (uint64_t)list[i].lost;
        const takt_comparison *c = &z->times[list[i].layer];
        list[i].gain = fmax(1, c->a_ns - c->b_ns);
    }
    sort(list, count);
    return TAKT_OK;
}

static void take_first(takt_quantizing *z, const candidate *list, size_t count)
{
    for (size_t k = 0; k < z->layers.count; k++)
        z->taken[k] = false;
    for (size_t k = 0; k < count; k++)
        z->taken[list[k].layer] = true;
}

/* ---- the search ---- */

static takt_status cannot(takt_quantizing *z, double nearest, size_t layers)
{
    takt_fail(z->ctx, TAKT_E_SHRINK_BUDGET,
              "no form loses at most %.3g %% of the score: the nearest, with %zu layer%s as %s, "
              "loses %.3g %%",
              100 * z->drop, layers, layers == 1 ? "" : "s", z->kind->name, 100 * nearest);
    return takt_fail_hint(z->ctx, "another method, more calibration data, or a drop of %.3g%%",
                          100 * nearest);
}

/* Fewer layers nearly always lose less: bisection finds the edge. */
static takt_status search(takt_quantizing *z, const candidate *list, size_t count)
{
    size_t good = 0, bad = count, nearest_count = count;
    double nearest = takt_score_lost(&z->before, &z->after).value;
    takt_score kept = {0};
    while (bad - good > 1) {
        takt_score s;
        const size_t middle = (good + bad) / 2;
        take_first(z, list, middle);
        TAKT_TRY(score(z, &z->test, &s));
        const double lost = takt_score_lost(&z->before, &s).value;
        if (lost < nearest) {
            nearest = lost;
            nearest_count = middle;
        }
        if (lost <= z->drop) {
            good = middle;
            kept = s;
        } else {
            bad = middle;
        }
    }
    if (good == 0)
        return cannot(z, nearest, nearest_count);
    take_first(z, list, good);
    z->after = kept;
    for (size_t k = good; k < count; k++)
        z->why[list[k].layer] = "left: it costs too much of the score";
    return TAKT_OK;
}

static takt_status leave_out(takt_quantizing *z)
{
    takt_feed few;
    takt_score exact;
    size_t count = 0;
    candidate *list = takt_arena_array(&z->arena, z->layers.count + 1, sizeof *list);
    if (list == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < z->layers.count; i++)
        if (z->taken[i])
            list[count++].layer = i;
    TAKT_TRY(takt_feed_init(&few, z->model, z->o.test, z->o.sizes, z->test.per_run, ALONE_SAMPLES));
    few.threads = z->o.threads;
    takt_status status = score_base(z, &few, &exact);
    if (status == TAKT_OK)
        status = try_each(z, &few, &exact, list, count);
    takt_feed_deinit(&few);
    return status == TAKT_OK ? search(z, list, count) : status;
}

takt_status takt_quantizing_budget(takt_quantizing *z)
{
    bool any = false;
    if (z->o.test == NULL)
        return TAKT_OK;
    for (size_t i = 0; i < z->layers.count; i++)
        any = any || z->taken[i];
    TAKT_TRY(score_base(z, &z->test, &z->before));
    z->after = z->before;
    if (any)
        TAKT_TRY(score(z, &z->test, &z->after));
    if (any && z->drop >= 0 && takt_score_lost(&z->before, &z->after).value > z->drop)
        TAKT_TRY(leave_out(z));
    z->summary.samples = z->before.count;
    z->summary.hits_before = z->before.hits;
    z->summary.hits_after = z->after.hits;
    return TAKT_OK;
}
