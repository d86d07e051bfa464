/* run_file.c - Takt, through its C interface, on any model file; inputs are zeros. */
#include <stdio.h>
#include <string.h>
#include <takt/takt.h>

#include "runner.h"

static struct {
    takt_ctx *ctx;
    takt_model *model;
    takt_plan *plan;
    takt_session *session;
    char message[512];
} state;

const char *peer_open(const char *library)
{
    (void)library;
    return takt_ctx_create(NULL, &state.ctx) == TAKT_OK ? NULL : "no context";
}

const char *peer_version(void)
{
    return takt_version();
}

static void drop(void)
{
    takt_session_destroy(state.session);
    takt_plan_destroy(state.plan);
    takt_model_destroy(state.model);
    state.session = NULL;
    state.plan = NULL;
    state.model = NULL;
}

static size_t bytes_of(const takt_tensor_view *view)
{
    size_t count = 1;
    for (int i = 0; i < view->rank; i++)
        count *= (size_t)view->dims[i];
    return (count * (size_t)takt_dtype_bits(view->dtype) + 7) / 8;
}

const char *peer_load(const char *path, int threads)
{
    const takt_plan_options options = {.threads = threads};
    drop();
    takt_status status = takt_model_load(state.ctx, path, NULL, &state.model);
    if (status == TAKT_OK)
        status = takt_plan_create(state.model, &options, &state.plan);
    if (status == TAKT_OK)
        status = takt_session_create(state.plan, NULL, &state.session);
    if (status != TAKT_OK) {
        snprintf(state.message, sizeof state.message, "%s", takt_last_error(state.ctx));
        return state.message;
    }
    for (size_t i = 0; i < takt_session_input_count(state.session); i++) {
        const takt_tensor_view *view = takt_session_input(state.session, i);
        memset(view->data, 0, bytes_of(view));
    }
    return NULL;
}

const char *peer_run(void)
{
    return takt_session_run(state.session) == TAKT_OK ? NULL
                                                      : takt_session_error(state.session)->message;
}

const void *peer_output(size_t *bytes)
{
    const takt_tensor_view *view = takt_session_output(state.session, 0);
    *bytes = bytes_of(view);
    return view->data;
}
