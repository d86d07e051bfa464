/* prune_choose.c - which channels go: a part of every group, or the least valuable of all. */
#include <math.h>

#include "base/error.h"
#include "base/sort.h"
#include "shrink/integers.h"
#include "shrink/prune.h"

enum {
    MULTIPLE = 4,     /* f32 in the narrowest vector */
    ROUNDED_FROM = 4, /* multiples that a group must have before its number is rounded */
    KEPT_PART = 10,   /* a tenth, where groups compete */
};

/* A set that may go, among those of all groups. */
typedef struct candidate {
    double value; /* its importance over the mean of its group */
    uint32_t group;
} candidate;

/* Elements of a group's axes: from the first of its first axis to the last of its last. */
static void span(const takt_pruning *p, const takt_prune_group *group, uint32_t *first,
                 uint32_t *end)
{
    const takt_group_axis *a = &p->sets.axes[group->axis];
    const takt_group_axis *b = &p->sets.axes[group->axis + group->axes - 1];
    *first = a->first;
    *end = b->first + b->count;
}

/* Whether this element represents a set of the group. */
static bool is_of(const takt_pruning *p, const takt_prune_group *group, uint32_t e)
{
    return p->sets.parent[e] == e && p->owner[e] == (uint32_t)(group - p->groups) + 1;
}

static bool may_go(const takt_pruning *p, const takt_prune_group *group, uint32_t e)
{
    return is_of(p, group, e) && !p->sets.blocked[e] && !p->is_gone[e];
}

static bool is_kept(const takt_pruning *p, const takt_prune_group *group)
{
    return p->o.keeps != NULL && p->o.keeps(p->o.keeps_user, group->name);
}

/* The least valuable set that may be removed; UINT32_MAX: there is none. */
static uint32_t least(const takt_pruning *p, const takt_prune_group *group)
{
    uint32_t best = UINT32_MAX, first, end;
    span(p, group, &first, &end);
    for (uint32_t e = first; e < end; e++)
        if (may_go(p, group, e) && (best == UINT32_MAX || p->importance[e] < p->importance[best]))
            best = e;
    return best;
}

/* ---- how many of each group ---- */

/* Keeps the nearest multiple of a vector's elements: 23 channels take longer than 24, often longer
 * than 32. Small groups would lose too much. */
static size_t rounded(const takt_pruning *p, size_t units, size_t wanted)
{
    const size_t by = p->o.multiple > 0 ? (size_t)p->o.multiple : MULTIPLE;
    if (units / ROUNDED_FROM < by || wanted == 0)
        return wanted;
    size_t left = (units - wanted + by / 2) / by * by;
    left += p->o.is_global && left * KEPT_PART < units ? by : 0;
    return left == 0 ? units - by : left < units ? units - left : 0;
}

/* By value, then in the order of the graph. */
static bool is_before(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    return x->value != y->value ? x->value < y->value : x < y;
}

/* Sets of a group that may go, from `to` on, and how many. */
static size_t candidates(const takt_pruning *p, uint32_t index, candidate *to)
{
    uint32_t first, end;
    size_t count = 0;
    double sum = 0;
    span(p, &p->groups[index], &first, &end);
    for (uint32_t e = first; e < end; e++)
        if (may_go(p, &p->groups[index], e)) {
            to[count++] = (candidate){.value = p->importance[e], .group = index};
            sum += p->importance[e];
        }
    for (size_t i = 0; i < count && sum > 0; i++)
        to[i].value *= (double)count / sum;
    return count;
}

/* Sets of all groups compete. Every group keeps a tenth, so that no layer is cut through. */
static takt_status compete(takt_pruning *p, size_t *wanted)
{
    candidate *all = takt_arena_array(&p->arena, p->sets.element_count + 1, sizeof *all);
    const void **order = takt_arena_array(&p->arena, p->sets.element_count + 1, sizeof *order);
    size_t count = 0, units = 0;
    if (all == NULL || order == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t i = 0; i < p->group_count; i++)
        if (!is_kept(p, &p->groups[i])) {
            count += candidates(p, i, all + count);
            units += p->groups[i].units;
        }
    for (size_t i = 0; i < count; i++)
        order[i] = &all[i];
    takt_sort_pointers(order, count, is_before);
    size_t left = (size_t)(p->o.amount * (double)units);
    for (size_t i = 0; i < count && left > 0; i++) {
        const uint32_t group = ((const candidate *)order[i])->group;
        const size_t of = p->groups[group].units;
        if (wanted[group] + 1 + of / KEPT_PART < of) {
            wanted[group]++;
            left--;
        }
    }
    return TAKT_OK;
}

static takt_status share(takt_pruning *p, size_t *wanted)
{
    for (size_t i = 0; i < p->group_count; i++) {
        const takt_prune_group *group = &p->groups[i];
        if (is_kept(p, group))
            continue;
        wanted[i] = (size_t)(p->o.amount * (double)group->units);
        if (wanted[i] >= group->units && group->units > 0) {
            takt_fail(p->ctx, TAKT_E_SHRINK_CHANNELS, "%s would lose its last channel of %zu",
                      group->name, group->units);
            return takt_fail_hint(p->ctx, "remove a smaller amount (--amount), or keep that layer "
                                          "(--keep)");
        }
    }
    return TAKT_OK;
}

/* ---- which of them ---- */

/* An axis must keep an element: one branch of a concatenation, or one part of a slice, could lose
 * all of its channels while the group keeps most. */
static bool is_last_of_an_axis(takt_pruning *p, const takt_prune_group *group, uint32_t set)
{
    for (size_t k = 0; k < group->axes; k++) {
        const takt_group_axis *a = &p->sets.axes[group->axis + k];
        bool has_other = false, has_it = false;
        for (uint32_t i = 0; i < a->count && !has_other; i++) {
            const uint32_t unit = takt_groups_unit(&p->sets, a->at, i);
            has_it = has_it || unit == set;
            has_other = unit != set && !p->is_gone[unit];
        }
        if (has_it && !has_other)
            return true;
    }
    return false;
}

static size_t remove_least(takt_pruning *p, takt_prune_group *group, size_t wanted)
{
    while (group->gone < wanted) {
        const uint32_t worst = least(p, group);
        if (worst == UINT32_MAX)
            break;
        if (is_last_of_an_axis(p, group, worst)) {
            p->sets.blocked[worst] = true;
            continue;
        }
        p->is_gone[worst] = true;
        group->gone++;
    }
    return group->gone;
}

static takt_status nothing_goes(takt_pruning *p)
{
    const bool has_integers = takt_shrink_has_integers(p->model->graph);
    if (p->group_count == 0 && has_integers)
        return takt_shrink_is_quantized(p->ctx);
    takt_fail(p->ctx, TAKT_E_SHRINK_NOTHING, "no channel can go: %s",
              p->group_count == 0 ? "the model has no layer with weights"
              : has_integers
                  ? "every one reaches an input, an output or a layer that is quantised "
                    "already, is to be kept, or the amount is too small"
                  : "every one reaches an input or output, is to be kept, or the amount is too "
                    "small");
    if (p->group_count == 0)
        return takt_fail_hint(p->ctx, "weights are parameters or constants of f32 in convolutions, "
                                      "products and recurrent layers");
    return takt_fail_hint(p->ctx, "the amount times the channels of a group is removed, rounded "
                                  "down, and groups of 16 and more keep a multiple of 4 "
                                  "(--multiple)");
}

takt_status takt_prune_choose(takt_pruning *p)
{
    size_t gone = 0;
    size_t *wanted = takt_arena_array(&p->arena, p->group_count + 1, sizeof *wanted);
    if (wanted == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < p->group_count; i++) {
        uint32_t first, end;
        span(p, &p->groups[i], &first, &end);
        for (uint32_t e = first; e < end; e++)
            p->groups[i].units += is_of(p, &p->groups[i], e);
        p->summary.channels_before += p->groups[i].units;
    }
    TAKT_TRY(p->o.is_global ? compete(p, wanted) : share(p, wanted));
    for (size_t i = 0; i < p->group_count; i++)
        gone += remove_least(p, &p->groups[i], rounded(p, p->groups[i].units, wanted[i]));
    p->summary.groups = p->group_count;
    p->summary.channels_after = p->summary.channels_before - gone;
    return gone > 0 ? TAKT_OK : nothing_goes(p);
}
