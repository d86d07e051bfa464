/* run_takt.c - Takt, through its C interface. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <takt/takt.h>

#include "flat.h"
#include "runner.h"

static struct {
    takt_ctx *ctx;
    takt_model *model;
    takt_plan *plan;
    takt_session *session;
    flat_graph data;
    char message[512];
} state;

static const char *told(takt_status status)
{
    if (status == TAKT_OK)
        return NULL;
    snprintf(state.message, sizeof state.message, "%s", takt_last_error(state.ctx));
    return state.message;
}

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
    flat_free(&state.data);
    state.session = NULL;
    state.plan = NULL;
    state.model = NULL;
}

static takt_status bind_inputs(void)
{
    for (size_t i = 0; i < takt_session_input_count(state.session); i++) {
        takt_tensor_view view = *takt_session_input(state.session, i);
        const char *name = takt_session_input_desc(state.session, i)->name;
        view.data = flat_find(&state.data, name)->data;
        const takt_status status = takt_session_bind(state.session, name, &view);
        if (status != TAKT_OK)
            return status;
    }
    return TAKT_OK;
}

/* The shapes of the inputs, where the model gives their dimensions names. */
static size_t input_shapes(takt_known_input *known)
{
    size_t count = 0;
    for (int i = 0; i < state.data.value_count && count < FLAT_INPUTS; i++) {
        const flat_value *v = &state.data.values[i];
        if (!v->is_input)
            continue;
        known[count] = (takt_known_input){.name = v->name};
        known[count].view.dtype = TAKT_DTYPE_COUNT;
        known[count].view.rank = v->rank;
        for (int d = 0; d < v->rank; d++)
            known[count].view.dims[d] = v->dims[d];
        count++;
    }
    return count;
}

const char *peer_load(const char *folder, int threads)
{
    char path[4096];
    drop();
    const char *problem = flat_read(&state.data, folder);
    if (problem != NULL)
        return problem;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    const int is_f16 = flat_is(folder, "f16"), is_stored = flat_is(folder, "f16-exact");
    const takt_plan_options options = {.threads = threads,
                                       .numerics =
                                           is_f16 || flat_is(folder, "fast") ? "fast" : NULL,
                                       .precision = is_f16 || is_stored ? "f16" : NULL};
    takt_known_input known[FLAT_INPUTS];
    const takt_load_options shapes = {.known = known, .known_count = input_shapes(known)};
    takt_status status = takt_model_load(state.ctx, path, &shapes, &state.model);
    if (status == TAKT_OK)
        status = takt_plan_create(state.model, &options, &state.plan);
    if (status == TAKT_OK)
        status = takt_session_create(state.plan, NULL, &state.session);
    if (status == TAKT_OK)
        status = bind_inputs();
    return told(status);
}

const char *peer_run(void)
{
    return takt_session_run(state.session) == TAKT_OK ? NULL
                                                      : takt_session_error(state.session)->message;
}

const void *peer_output(size_t *bytes)
{
    *bytes = (size_t)state.data.output.count * flat_width(state.data.output.type);
    return takt_session_output(state.session, 0)->data;
}
