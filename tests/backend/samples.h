/* samples.h - every sample of every op, in every element type that the record admits. */
#ifndef TAKT_TESTS_BACKEND_SAMPLES_H
#define TAKT_TESTS_BACKEND_SAMPLES_H

#include "api/backends.h"
#include "backend/agree.h"
#include "util/sample.h"

/* The element type of the first argument, or TAKT_DTYPE_COUNT. */
static takt_dtype samples_dtype(const char *text, char name[16])
{
    const char *start = strchr(text, '(') + 1;
    const size_t length = strcspn(start, "[");
    if (length == 0 || length > 15 || start[length] != '[')
        return TAKT_DTYPE_COUNT;
    memcpy(name, start, length);
    name[length] = '\0';
    return takt_dtype_find(name);
}

/* `text` with `from[` as `to[` throughout. */
static bool samples_replace(const char *text, const char *from, const char *to, char *out,
                            size_t room)
{
    const size_t length = strlen(from);
    size_t at = 0;
    while (*text != '\0') {
        if (at + 16 > room)
            return false;
        if (strncmp(text, from, length) == 0 && text[length] == '[') {
            at += (size_t)snprintf(out + at, room - at, "%s", to);
            text += length;
        } else {
            out[at++] = *text++;
        }
    }
    out[at] = '\0';
    return true;
}

typedef struct samples_run {
    const char *backend;
    const takt_backend *added; /* the library of that name, or NULL: a stand-in */
    bool may_fall_back;
    size_t checked, refused;
} samples_run;

/* One sample in a separate context, whose memory is counted. */
static void samples_check(samples_run *r, const takt_op *op, const char *text)
{
    takt_inject inject;
    takt_config config = {0};
    takt_ctx *ctx;
    takt_sample s;
    takt_inject_init(&inject);
    takt_inject_config(&inject, &config);
    if (EXPECT_OK(NULL, takt_ctx_create(&config, &ctx))) {
        if (r->added != NULL)
            EXPECT_OK(ctx, takt_backend_add(ctx, r->added));
        if (takt_sample_init(ctx, op, text, false, &s) == TAKT_OK) {
            agree_subject a = {.what = text,
                               .ctx = ctx,
                               .inject = &inject,
                               .in = s.in,
                               .backend = r->backend,
                               .may_fall_back = r->may_fall_back};
            a.model = (takt_model){.ctx = ctx, .graph = s.graph};
            agree_all(&a);
            takt_sample_deinit(&s);
            r->checked++;
        } else { /* the record admits the type, inference does not */
            r->refused++;
        }
        takt_ctx_destroy(ctx);
    }
    const uint64_t leaked = takt_inject_deinit(&inject);
    EXPECT(leaked == 0 && inject.faults == 0, "%s: %llu blocks lost, %s", text,
           (unsigned long long)leaked, inject.fault);
}

/* All samples of `op`; `all_types`: in every type that the record admits too. */
static void samples_visit(const takt_op *op, samples_run *run, bool all_types)
{
    static char text[4096];
    for (size_t i = 0; i < 10 && op->samples[i] != NULL; i++) {
        char name[16];
        const takt_dtype own = samples_dtype(op->samples[i], name);
        samples_check(run, op, op->samples[i]);
        for (int d = 0; d < TAKT_DTYPE_COUNT && own < TAKT_DTYPE_COUNT && all_types; d++)
            if ((takt_dtype)d != own && (op->dtypes & TAKT_IN(d)) != 0 &&
                samples_replace(op->samples[i], name, takt_dtype_name((takt_dtype)d), text,
                                sizeof text))
                samples_check(run, op, text);
    }
}

#endif
