/* ahead.c - tokens that are read before it is known whether they are right. */
#include <stdio.h>

#include "api/text/engine.h"

takt_status takt_generator_open_ahead(takt_generator *g, size_t rows)
{
    char sizes[64];
    if (rows <= g->ahead_rows)
        return TAKT_OK;
    TAKT_TRY(takt_generator_settle(g));
    takt_session_destroy(g->ahead_session);
    takt_plan_destroy(g->ahead_plan);
    g->ahead_session = NULL;
    g->ahead_plan = NULL;
    g->ahead_rows = 0;
    (void)snprintf(sizes, sizeof sizes, "seq=1..%zu,count=1..%zu", rows, rows);
    TAKT_TRY(takt_engine_open_plan(&g->engine, sizes, &g->ahead_plan, &g->ahead_session));
    g->ahead_rows = rows;
    return TAKT_OK;
}

takt_status takt_generator_read_ahead(takt_generator *g, const int32_t *ids, size_t count)
{
    TAKT_TRY(takt_generator_check(g, ids, count));
    TAKT_TRY(takt_generator_settle(g));
    TAKT_TRY(takt_generator_run(g, g->ahead_session, ids, count, true));
    g->ahead = count - 1;
    g->position -= (int64_t)g->ahead;
    return TAKT_OK;
}

bool takt_generator_accept(takt_generator *g, int32_t id)
{
    if (g->ahead == 0 || g->history[g->position] != id)
        return false;
    g->ahead--;
    g->position++;
    g->scores += g->vocabulary;
    return true;
}

takt_status takt_generator_settle(takt_generator *g)
{
    return g->ahead > 0 ? takt_generator_rewind(g, g->position) : TAKT_OK;
}
