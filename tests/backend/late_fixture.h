/* late_fixture.h - a model, its plan for the device of util/late.h, and a session. */
#ifndef TAKT_TESTS_BACKEND_LATE_FIXTURE_H
#define TAKT_TESTS_BACKEND_LATE_FIXTURE_H

#include <string.h>

#include <takt/takt.h>

#include "api/backends.h"
#include "util/late.h"

typedef struct fixture {
    takt_ctx *ctx;
    takt_model *model;
    takt_plan *plan;
    takt_session *session;
} fixture;

static inline takt_status start(fixture *f, const takt_config *config, const char *source)
{
    const takt_plan_options o = {.backend = "late", .threads = 1};
    *f = (fixture){0};
    TAKT_TRY(takt_ctx_create(config, &f->ctx));
    TAKT_TRY(takt_backend_add(f->ctx, &takt_backend_late));
    TAKT_TRY(takt_model_load_memory(f->ctx, "m", source, strlen(source), NULL, &f->model));
    TAKT_TRY(takt_plan_create(f->model, &o, &f->plan));
    return takt_session_create(f->plan, NULL, &f->session);
}

static inline void stop(fixture *f)
{
    takt_session_destroy(f->session);
    takt_plan_destroy(f->plan);
    takt_model_destroy(f->model);
    takt_ctx_destroy(f->ctx);
}

#endif
