/* search.c - tries other orders and repetitions on dry plans, and makes the best one real.
 *
 * A value that is alive across the fullest step without being read there, and that one cheap step
 * made, may be rematerialised before its next read; a step whose threads' scratch makes it the
 * fullest may run single-threaded. Each such change is planned in full, so a change that is kept
 * needs less by the same count that the plan itself states. */
#include <string.h>

#include "base/mem.h"
#include "op/ops.h"
#include "op/util/integer.h"
#include "plan/basis.h"
#include "plan/builder.h"
#include "plan/rematerialise.h"

enum { MOST_STEPS = 4096, MOST_REMAT = 8, TRIES = 4 };

typedef struct search {
    takt_ctx *ctx;
    takt_graph *graph;
    takt_plan_settings best;
    takt_remat_step remat[MOST_REMAT];
    takt_id single[MOST_REMAT];
    takt_plan *plan; /* dry, of `best` */
    size_t given_bytes;
} search;

/* Keeps the settings if they need less than the best so far. */
static takt_status attempt(search *s, const takt_plan_settings *settings, bool *is_better)
{
    takt_plan *plan;
    takt_plan_settings dry = *settings;
    dry.is_dry = true;
    dry.memory_limit = 0;
    *is_better = false;
    TAKT_TRY(takt_plan_build(s->ctx, s->graph, &dry, &plan));
    *is_better = s->plan == NULL || plan->arena_bytes < s->plan->arena_bytes;
    if (*is_better) {
        takt_plan_release_internal(s->plan);
        s->plan = plan;
        s->best = *settings;
    } else {
        takt_plan_release_internal(plan);
    }
    return TAKT_OK;
}

/* ---- what could run twice ---- */

/* The step at which most bytes of the host's arena are alive. */
static int fullest(const takt_plan *plan)
{
    int at = 0;
    size_t most = 0;
    for (int i = 0; i < (int)plan->step_count; i++) {
        const takt_step *s = &plan->steps[i];
        size_t live = s->space == TAKT_HOST ? takt_step_scratch(s, plan->threads) : 0;
        for (size_t k = 0; k < plan->buffer_count; k++) {
            const takt_buffer *b = &plan->buffers[k];
            if (b->place == TAKT_PLACE_ARENA && b->space == TAKT_HOST && b->first <= i &&
                i <= b->last)
                live += b->bytes;
        }
        if (live > most) {
            most = live;
            at = i;
        }
    }
    return at;
}

static bool reads(const takt_step *s, uint32_t buffer)
{
    for (size_t k = 0; k < s->in_count; k++)
        if (s->in[k].buffer == buffer)
            return true;
    return false;
}

/* The only step that writes the buffer up to step `full`, or -1. */
static int maker(const takt_plan *plan, uint32_t buffer, int full)
{
    int found = -1;
    for (int i = 0; i <= full; i++)
        for (size_t k = 0; k < plan->steps[i].out_count; k++) {
            if (plan->steps[i].out[k].buffer != buffer)
                continue;
            if (found >= 0 && found != i)
                return -1;
            found = i;
        }
    return found;
}

/* The step's only result fills its buffer: it is not a piece of a concatenation. */
static bool fills(const takt_plan *plan, const takt_step *s)
{
    size_t bits = (size_t)takt_dtype_bits(s->out[0].dtype);
    for (int d = 0; d < s->out[0].rank; d++)
        bits *= (size_t)s->out[0].dim[d];
    return s->out[0].offset == 0 && bits / 8 == plan->buffers[s->out[0].buffer].bytes;
}

/* Rematerialises `buffer` before its next read after step `full`. */
static bool candidate(const takt_plan *plan, uint32_t buffer, int full, takt_remat_step *remat)
{
    const takt_buffer *b = &plan->buffers[buffer];
    if (b->place != TAKT_PLACE_ARENA || b->space != TAKT_HOST || b->value == TAKT_NONE ||
        b->first >= full || b->last <= full || reads(&plan->steps[full], buffer))
        return false;
    const int made = maker(plan, buffer, full);
    if (made < 0 || !plan->steps[made].facts.is_cheap || plan->steps[made].node_count == 0 ||
        !fills(plan, &plan->steps[made]))
        return false;
    int next = full + 1;
    while (next <= b->last && !reads(&plan->steps[next], buffer))
        next++;
    if (next > b->last || plan->steps[next].node_count == 0)
        return false;
    *remat = (takt_remat_step){plan->steps[made].nodes[0], plan->steps[next].nodes[0]};
    return true;
}

/* The largest candidates first; a few are tried. */
static takt_status repeat_one(search *s, bool *found)
{
    const int full = fullest(s->plan);
    size_t below = SIZE_MAX;
    *found = false;
    for (int tries = 0; tries < TRIES && !*found; tries++) {
        takt_remat_step best = {0}, own;
        size_t bytes = 0;
        for (uint32_t k = 0; k < s->plan->buffer_count; k++)
            if (s->plan->buffers[k].bytes < below && s->plan->buffers[k].bytes > bytes &&
                candidate(s->plan, k, full, &own)) {
                bytes = s->plan->buffers[k].bytes;
                best = own;
            }
        if (bytes == 0)
            return TAKT_OK;
        below = bytes;
        takt_plan_settings more = s->best;
        s->remat[more.remat_count++] = best;
        more.remat = s->remat;
        TAKT_TRY(attempt(s, &more, found));
    }
    return TAKT_OK;
}

/* ---- steps that could use the scratch of one thread ---- */

static takt_status single_one(search *s, bool *found)
{
    const takt_step *full = &s->plan->steps[fullest(s->plan)];
    *found = false;
    if (full->task_count == 1 || full->scratch_each == 0 || full->node_count == 0 ||
        s->best.single_count == MOST_REMAT)
        return TAKT_OK;
    takt_plan_settings more = s->best;
    s->single[more.single_count++] = full->nodes[0];
    more.single_threaded = s->single;
    return attempt(s, &more, found);
}

static takt_status improve(search *s, bool *found)
{
    *found = false;
    if (s->best.remat_count < MOST_REMAT)
        TAKT_TRY(repeat_one(s, found));
    return *found ? TAKT_OK : single_one(s, found);
}

/* ---- the whole ---- */

static takt_status look(search *s, const takt_plan_settings *settings)
{
    bool is_better;
    takt_plan_settings own = *settings;
    own.remat_count = own.single_count = 0;
    for (int order = 0; order < TAKT_ORDERS; order++) {
        own.order = (takt_order)order;
        TAKT_TRY(attempt(s, &own, &is_better));
        if (order == 0)
            s->given_bytes = s->plan->arena_bytes;
        if (s->plan->step_count > MOST_STEPS || s->plan->step_count < 2)
            return TAKT_OK;
    }
    for (is_better = settings->recomputes; is_better;)
        TAKT_TRY(improve(s, &is_better));
    return TAKT_OK;
}

takt_status takt_plan_search(takt_ctx *ctx, takt_graph *graph, const takt_plan_settings *settings,
                             takt_plan **plan)
{
    search s = {.ctx = ctx, .graph = graph};
    *plan = NULL;
    if (takt_is_training_graph(graph) && settings->reuse && settings->in_place && !settings->rooms)
        return takt_plan_fit(ctx, graph, settings, plan);
    if (!settings->searches)
        return takt_plan_build(ctx, graph, settings, plan);
    takt_status status = look(&s, settings);
    takt_plan_release_internal(s.plan);
    if (status == TAKT_OK)
        status = takt_plan_build(ctx, graph, &s.best, plan);
    if (status == TAKT_OK)
        (*plan)->given_bytes = s.given_bytes;
    return status;
}

/* Zero points of a factor, whose data is gone: they take scratch unless all of them are zero. */
static bool has_lost_zeros(const takt_graph *g, const takt_node *n)
{
    if ((n->op != &takt_op_integer_matmul && n->op != &takt_op_integer_conv) ||
        n->in_count <= TAKT_INTEGER_B_ZERO || n->in[TAKT_INTEGER_B_ZERO] == TAKT_NONE)
        return false;
    const takt_node *zero = &g->nodes[n->in[TAKT_INTEGER_B_ZERO]];
    return zero->op == &takt_op_constant && zero->attr[0].tensor->storage == NULL;
}

bool takt_plan_reads_constants(const takt_graph *g)
{
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        if (n->op == &takt_op_tree_ensemble || has_lost_zeros(g, n))
            return true;
        for (size_t k = 0; k < takt_op_attr_count(n->op); k++)
            if (n->op->attrs[k].type == TAKT_ATTR_GRAPH && n->attr[k].is_set)
                return true;
    }
    return false;
}

static takt_status minimum(const takt_plan *plan, const takt_plan_settings *settings, size_t *bytes)
{
    search s = {.ctx = plan->ctx, .graph = plan->graph};
    const takt_status status = takt_is_training_graph(plan->graph)
                                   ? takt_plan_fit(plan->ctx, plan->graph, settings, &s.plan)
                                   : look(&s, settings);
    *bytes = s.plan != NULL ? s.plan->arena_bytes : plan->arena_bytes;
    takt_plan_release_internal(s.plan);
    return status;
}

takt_status takt_plan_minimum(const takt_plan *plan, size_t *bytes)
{
    takt_plan_settings settings = plan->settings;
    settings.searches = settings.recomputes = true;
    settings.reuse = true;
    settings.is_dry = true;
    settings.memory_limit = 0;
    *bytes = 0;
    const bool is_pinned = plan->basis != NULL && takt_basis_pin(plan->basis);
    if (plan->basis != NULL && !is_pinned && takt_plan_reads_constants(plan->graph))
        return TAKT_OK;
    const takt_status status = minimum(plan, &settings, bytes);
    if (is_pinned)
        takt_basis_unpin(plan->basis);
    return status;
}
