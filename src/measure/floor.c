/* floor.c - the roofline minimum of the time per token on a machine. */
#include <math.h>

#include "api/session/session.h"
#include "api/text/engine.h"
#include "measure/ceilings.h"
#include "measure/roofline.h"

/* Cost of the weights in one run of a plan: their bytes, and the time of the products with them. */
typedef struct need {
    double bytes, compute_ns;
} need;

static need need_of(const takt_plan *plan, const takt_ceilings *c)
{
    need n = {0};
    for (size_t i = 0; i < plan->step_count; i++) {
        const double bytes = takt_roof_weights(plan, &plan->steps[i]);
        takt_roof roof;
        if (bytes <= 0)
            continue;
        takt_roof_of(plan, &plan->steps[i], c, &roof);
        n.bytes += bytes;
        n.compute_ns += roof.compute_ns;
    }
    return n;
}

static double bandwidth(const takt_plan *plan, const takt_ceilings *c, double bytes)
{
    const int level = takt_ceilings_level(c, bytes / plan->threads);
    const double one = takt_ceilings_read_gbs(c, level, false),
                 all = takt_ceilings_read_gbs(c, level, true);
    return plan->threads >= c->all.threads ? all : fmin(all > 0 ? all : one, one * plan->threads);
}

/* Bytes of the keys and values of that many tokens; other state counts as a whole. */
static double state_bytes(const takt_generator *g, int64_t tokens)
{
    const int64_t kept = tokens < g->context ? tokens : g->context;
    double bytes = 0;
    for (size_t i = 0; i < g->engine.token->plan->graph->slot_count; i++)
        bytes += (double)takt_generator_state_bytes(g, i, kept);
    return bytes;
}

double takt_generator_floor(const takt_generator *g, const takt_ceilings *c, int64_t position,
                            size_t count, bool writes)
{
    if (g == NULL || c == NULL || count == 0 || position < 0 || g->engine.plan == NULL)
        return 0;
    const takt_plan *plan = writes ? g->engine.token_plan : g->engine.plan;
    const double rows = writes ? 1 : (double)g->engine.options.batch;
    const need n = need_of(plan, c);
    const double runs = ceil((double)count / rows);
    /* The live part grows linearly: its size in the middle is the mean. */
    const double state = state_bytes(g, position + (int64_t)(count / 2));
    const double gbs = bandwidth(plan, c, n.bytes + state);
    if (!(gbs > 0))
        return 0;
    return fmax(runs * (n.bytes + state) / gbs, n.compute_ns / rows * (double)count);
}
