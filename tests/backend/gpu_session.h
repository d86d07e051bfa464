/* gpu_session.h - a model, and a session of it on the cpu or on the tests' driver. */
#ifndef TAKT_TESTS_BACKEND_GPU_SESSION_H
#define TAKT_TESTS_BACKEND_GPU_SESSION_H

#include <string.h>

#include <takt/takt.h>

#include "api/backends.h"
#include "api/session/session.h"
#include "test.h"
#include "util/gpu.h"

typedef struct model {
    const char *path, *sizes;
    bool may_stay;    /* on the cpu: copies would cost more than the device saves */
    const char *text; /* NULL: a file */
    const char *kind; /* of a step that must be there, or NULL */
    size_t most;      /* steps on the device, or 0 */
} model;

static inline size_t bytes_of(const takt_tensor_view *v)
{
    size_t n = (size_t)takt_dtype_bits(v->dtype) / 8;
    for (int d = 0; d < v->rank; d++)
        n *= (size_t)v->dims[d];
    return n;
}

static inline void fill(const takt_tensor_view *v, uint32_t x)
{
    const size_t n = bytes_of(v) / ((size_t)takt_dtype_bits(v->dtype) / 8);
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        if (v->dtype == TAKT_F32)
            ((float *)v->data)[i] = ((float)(x >> 16) - 32768.0f) / 16384.0f;
        else if (v->dtype == TAKT_I64)
            ((int64_t *)v->data)[i] = (int64_t)(x >> 16) % 7;
        else if (v->dtype == TAKT_U8)
            ((uint8_t *)v->data)[i] = (uint8_t)((x >> 16) % 60);
    }
}

static inline takt_session *open_session(takt_ctx *ctx, const takt_model *m, const model *row,
                                         const char *backend, size_t *away)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options o = {.sizes = row->sizes, .backend = backend, .threads = 1};
    if (EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)))
        for (size_t i = 0; i < takt_session_input_count(s); i++)
            fill(takt_session_input(s, i), 12345 + (uint32_t)i);
    *away = 0;
    bool has_kind = row->kind == NULL || strcmp(backend, "gpu") != 0;
    size_t computing = 0;
    const char *note = NULL; /* why the first step that is missing runs on the host */
    for (size_t i = 0; plan != NULL && i < plan->step_count; i++) {
        const takt_step *step = &plan->steps[i];
        if (strcmp(step->backend->name, "gpu") != 0) {
            note = note == NULL ? step->note : note;
            continue;
        }
        ++*away;
        computing += step->transfer.way == TAKT_COPY_NONE;
        has_kind |= row->kind != NULL && strcmp(step->kind, row->kind) == 0;
    }
    EXPECT(has_kind, "%s: no step is %s: %s", row->path, row->kind != NULL ? row->kind : "any",
           note != NULL ? note : "");
    EXPECT(row->most == 0 || computing <= row->most, "%s: %zu steps", row->path, computing);
    takt_plan_destroy(plan);
    return s;
}

#endif
