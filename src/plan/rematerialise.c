/* rematerialise.c - which steps run twice, so that their results need not be kept in between.
 *
 * Works on a plan's steps and buffers: a list of executions, in which a step may occur a second
 * time, and the bytes alive at each of them. As long as the fullest execution is above the target,
 * one value is dropped there: the one that frees most bytes for the time it takes to rematerialise
 * it right before its next read; inputs that are gone by then are rematerialised, too. A step runs
 * at most twice, so the search ends. Bits do not change: the same kernel computes the same
 * value. */
#include "plan/rematerialise.h"

#include <string.h>

#include "base/mem.h"
#include "op/ops.h"
#include "plan/backend.h"
#include "plan/remat_lives.h"

enum { LONGEST = 64, DEEPEST = 32, MOST_STEPS = 1 << 14 };
/* Limit on values examined in one search: some seconds. The result so far is then used. */
static const uint64_t most_work = UINT64_C(1) << 29;

typedef takt_remat_search search;
typedef takt_remat_value value;

/* Steps to run before execution `at`, in order. */
typedef struct chain {
    int step[LONGEST];
    size_t count;
    double time;
    int64_t kept; /* bytes of inputs that would have to live longer, over the fullest execution */
    bool fits;
} chain;

bool takt_is_training_graph(const takt_graph *g)
{
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].is_trainable && g->slots[i].next != TAKT_NONE)
            return true;
    return false;
}

/* Whether the value exists at execution `at` anyway: it is read then or later, before it is made
 * again. */
static bool is_there(const search *s, uint32_t id, int at)
{
    const int next = takt_remat_next(s, id, at);
    return next >= 0 && !(s->is_remat[next] && s->values[id].maker == s->run[next]);
}

/* Its second run is later than `at`, and may be moved there. */
static bool can_move(const search *s, int step, int at)
{
    return s->remat_at[step] >= at;
}

/* ---- chains ---- */

static bool is_in(const chain *c, int step)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->step[i] == step)
            return true;
    return false;
}

/* Appends the step, and before it the producers of those inputs that are gone at `at`. */
static void collect(search *s, chain *c, int step, int at, int full, int depth)
{
    const takt_step *t = &s->plan->steps[step];
    s->work += t->in_count + c->count;
    for (size_t k = 0; k < t->in_count && c->fits; k++) {
        const uint32_t id = s->edges[step].in[k];
        const value *v = &s->values[id];
        if (v->bytes == 0 || is_there(s, id, at) || (v->maker >= 0 && is_in(c, v->maker)))
            continue;
        if (v->maker >= 0 && depth < DEEPEST &&
            (s->repeats[v->maker] == 0 || can_move(s, v->maker, at)))
            collect(s, c, v->maker, at, full, depth + 1);
        else if (v->writers == 1 && v->over < 0)
            c->kept += takt_remat_last(s, id, at) < full ? (int64_t)v->bytes : 0;
        else
            c->fits = false; /* others have overwritten it */
    }
    if (c->count == LONGEST || !c->fits) {
        c->fits = false;
        return;
    }
    c->step[c->count++] = step;
    c->time += s->repeats[step] == 1 ? 0 : takt_remat_time(s, step);
}

typedef struct choice {
    chain chain;
    int at;
    double score;
} choice;

/* Whether it costs more than is allowed to free these bytes. */
static bool is_dear(const search *s, const chain *c, double freed)
{
    const takt_remat_limit *l = s->limit;
    if (l == NULL)
        return false;
    return (l->time > 0 && s->time + s->extra + c->time > l->time * s->time) ||
           (l->price > 0 && c->time * s->arena > l->price * s->time * freed);
}

/* The best value to drop at execution `full`. */
static bool choose(search *s, int full, choice *best)
{
    best->score = 0;
    s->work += s->value_count;
    for (uint32_t i = 0; i < s->value_count; i++) {
        const value *v = &s->values[i];
        if (v->maker < 0 || v->bytes == 0 || s->repeats[v->maker] != 0 ||
            takt_remat_uses(s, full, i))
            continue;
        const int at = takt_remat_next(s, i, full), before = takt_remat_last(s, i, full);
        if (at < 0 || before < 0)
            continue;
        chain c = {.fits = true};
        collect(s, &c, v->maker, at, full, 0);
        const double freed = (double)((int64_t)v->bytes - c.kept);
        if (!c.fits || freed <= 0 || freed / c.time <= best->score || is_dear(s, &c, freed))
            continue;
        *best = (choice){.chain = c, .at = at, .score = freed / c.time};
    }
    return best->score > 0;
}

static void drop(search *s, int step)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->is_remat[i] && s->run[i] == step)
            continue;
        s->run[kept] = s->run[i];
        s->is_remat[kept++] = s->is_remat[i];
    }
    s->count = kept;
}

/* Steps of the chain that already run a second time, later, are moved. */
static void apply(search *s, const choice *c)
{
    const size_t at = (size_t)c->at, more = c->chain.count;
    s->old_count = s->count;
    memcpy(s->old_run, s->run, s->count * sizeof *s->run);
    memcpy(s->old_remat, s->is_remat, s->count);
    for (size_t i = 0; i < more; i++)
        if (s->repeats[c->chain.step[i]] == 1)
            drop(s, c->chain.step[i]);
    memmove(s->run + at + more, s->run + at, (s->count - at) * sizeof *s->run);
    memmove(s->is_remat + at + more, s->is_remat + at, s->count - at);
    for (size_t i = 0; i < more; i++) {
        s->run[at + i] = c->chain.step[i];
        s->is_remat[at + i] = 1;
        s->repeats[c->chain.step[i]] = 1;
    }
    s->count += more;
    s->extra += c->chain.time;
}

/* The value is not tried again. */
static void take_back(search *s, const choice *c)
{
    for (size_t i = 0; i < c->chain.count; i++)
        s->repeats[c->chain.step[i]] = 0;
    s->count = s->old_count;
    memcpy(s->run, s->old_run, s->count * sizeof *s->run);
    memcpy(s->is_remat, s->old_remat, s->count);
    for (size_t i = 0; i < s->count; i++)
        if (s->is_remat[i])
            s->repeats[s->run[i]] = 1;
    s->repeats[c->chain.step[c->chain.count - 1]] = 2;
    s->extra -= c->chain.time;
}

/* ---- the whole ---- */

static void note(const search *s, size_t peak, takt_remat *found)
{
    const size_t steps = s->count - s->plan->step_count;
    if (found->point_count > 0 && found->points[found->point_count - 1].arena <= peak)
        return;
    found->points[found->point_count++] =
        (takt_remat_point){peak, (s->time + s->extra) / s->time, steps};
}

static void improve(search *s, size_t target, takt_remat *found)
{
    choice best = {.at = 0};
    takt_remat_count(s);
    size_t full = takt_remat_fullest(s);
    int64_t peak = s->live[full];
    s->arena = (double)peak;
    note(s, (size_t)peak, found);
    while ((size_t)peak > target && s->work < most_work && choose(s, (int)full, &best)) {
        apply(s, &best);
        takt_remat_count(s);
        full = takt_remat_fullest(s);
        if (s->live[full] > peak) { /* its inputs have made another execution larger */
            take_back(s, &best);
            takt_remat_count(s);
            full = takt_remat_fullest(s);
        }
        peak = s->live[full];
        note(s, (size_t)peak, found);
    }
}

/* Where a repetition can be inserted: before a step of the graph that does not overwrite state,
 * since those are placed afterwards. */
static bool is_anchor(const search *s, size_t at)
{
    const takt_step *step = &s->plan->steps[s->run[at]];
    bool is_good = !s->is_remat[at] && step->node_count > 0;
    for (size_t k = 0; k < step->out_count; k++)
        is_good &= s->plan->buffers[step->out[k].buffer].place != TAKT_PLACE_STATE;
    return is_good;
}

static void write_down(const search *s, takt_remat *found)
{
    for (size_t i = 0; i < s->count; i++) {
        size_t next = i + 1;
        while (s->is_remat[i] && next < s->count && !is_anchor(s, next))
            next++;
        if (s->is_remat[i] && next < s->count)
            found->remat[found->remat_count++] = (takt_remat_step){
                s->plan->steps[s->run[i]].nodes[0], s->plan->steps[s->run[next]].nodes[0]};
    }
}

takt_status takt_remat_find(const takt_plan *plan, size_t target, const takt_remat_limit *limit,
                            takt_remat *found)
{
    *found = (takt_remat){0};
    takt_arena_init(&found->memory, plan->ctx);
    const takt_backend *backend =
        plan->backend->machine != NULL ? plan->backend : plan->settings.fallback;
    if (plan->step_count > MOST_STEPS || backend->machine == NULL)
        return TAKT_OK;
    search s = {.plan = plan,
                .memory = &found->memory,
                .limit = limit,
                .machine = backend->machine(plan->backend_state, plan->isas)};
    found->remat = takt_arena_array(&found->memory, plan->step_count, sizeof *found->remat);
    found->points = takt_arena_array(&found->memory, plan->step_count + 1, sizeof *found->points);
    if (found->remat == NULL || found->points == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_remat_survey(&s));
    improve(&s, target, found);
    write_down(&s, found);
    return TAKT_OK;
}

void takt_remat_deinit(takt_remat *found)
{
    takt_arena_deinit(&found->memory);
}
