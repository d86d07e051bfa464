/* ahead.c - tokens that are read before it is known whether they are right. */
#include <stdio.h>
#include <string.h>

#include "api/text/engine.h"
#include "base/mem.h"

/* Copies the last scores, which may be in the output of the session that is about to be freed. */
static takt_status keep_scores(takt_generator *g)
{
    const size_t vocabulary = (size_t)g->vocabulary;
    void *block;
    if (g->ahead_session == NULL || g->scores == NULL || g->scores == g->kept_scores)
        return TAKT_OK;
    if (g->kept_scores == NULL) {
        TAKT_TRY(takt_mem_zero(g->engine.ctx, vocabulary, sizeof(float), "scores", &block));
        g->kept_scores = block;
    }
    memcpy(g->kept_scores, g->scores, vocabulary * sizeof(float));
    g->scores = g->kept_scores;
    return TAKT_OK;
}

takt_status takt_generator_open_ahead(takt_generator *g, size_t rows)
{
    char sizes[64];
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    if (rows <= g->ahead_rows)
        return TAKT_OK;
    TAKT_TRY(takt_generator_settle(g));
    (void)snprintf(sizes, sizeof sizes, "seq=1..%zu,count=1..%zu", rows, rows);
    takt_status status = takt_engine_open_plan(&g->engine, sizes, &plan, &session);
    if (status == TAKT_OK)
        status = keep_scores(g);
    const bool is_good = status == TAKT_OK;
    takt_session_destroy(is_good ? g->ahead_session : session);
    takt_plan_destroy(is_good ? g->ahead_plan : plan);
    if (!is_good)
        return status;
    g->ahead_session = session;
    g->ahead_plan = plan;
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
