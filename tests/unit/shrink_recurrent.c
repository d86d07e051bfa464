/* shrink_recurrent.c - pruning of recurrent units: gates, recurrent weights and their readers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "api/model.h"
#include "test.h"
#include "util/inject.h"
#include "util/shrinking.h"

enum { UNITS = 7, MOST = 32 };

static takt_ctx *ctx;
static const takt_verdict faster[] = {TAKT_FASTER};

/* Runs twice, because a stream continues where the last run ended. */
static size_t run(const takt_model *m, float *y)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    size_t size = 1, count = 1;
    if (!EXPECT_OK(ctx, takt_plan_create(m, &(takt_plan_options){.threads = 1}, &plan)) ||
        !EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)))
        return 0;
    const takt_tensor_view *x = takt_session_input(s, 0), *out = takt_session_output(s, 0);
    for (int d = 0; d < x->rank; d++)
        size *= (size_t)x->dims[d];
    for (size_t i = 0; i < size; i++)
        ((float *)x->data)[i] = (float)sin(0.7 * (double)i + 0.3);
    for (int i = 0; i < 2; i++)
        EXPECT(takt_session_run(s) == TAKT_OK, "it runs");
    for (int d = 0; d < out->rank; d++)
        count *= (size_t)out->dims[d];
    memcpy(y, out->data, (count < MOST ? count : MOST) * sizeof *y);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    return count < MOST ? count : MOST;
}

/* Units 1 and 4 are dead: every parameter is zero there, along every axis of units or gates. */
static void kill_units(takt_model *m)
{
    for (size_t i = 0; i < m->graph->slot_count; i++) {
        const takt_type *type = &m->slots[i].type;
        float *w = takt_tensor_data(&m->slots[i]);
        for (size_t k = 0; k < takt_tensor_count(&m->slots[i]); k++) {
            size_t rest = k;
            for (int d = type->rank - 1; d >= 0; d--) {
                const size_t at = rest % (size_t)type->dim[d] % UNITS;
                if (type->dim[d] % UNITS == 0 && (at == 1 || at == 4))
                    w[k] = 0;
                rest /= (size_t)type->dim[d];
            }
        }
    }
}

static const struct {
    const char *name, *body;
    uint64_t before, after; /* parameters; without the initial zero of cells */
} cells[] = {
    {"rnn", "dense(rnn(x, 7), 3)", 5 * 7 + 49 + 7 + 24, 5 * 5 + 25 + 5 + 18},
    {"lstm", "dense(lstm(x, 7), 3)", 4 * (35 + 49 + 7) + 24, 4 * (25 + 25 + 5) + 18},
    {"gru", "dense(gru(x, 7), 3)", 3 * (35 + 49 + 14) + 24, 3 * (25 + 25 + 10) + 18},
    {"stream", "dense(lstm(x, 7, stream=true), 3)", 4 * (35 + 49 + 7) + 24 + 14,
     4 * (25 + 25 + 5) + 18 + 10},
    {"both ways", "dense(lstm(x, 7, bidirectional=true), 3)", 8 * (35 + 49 + 7) + 45,
     8 * (25 + 25 + 5) + 33},
    {"two layers", "dense(gru(x, 7, layers=2), 3)", 3 * (35 + 49 + 14) + 3 * (49 + 49 + 14) + 24,
     3 * (25 + 25 + 10) + 3 * (25 + 25 + 10) + 18},
    {"residual", "dense(lstm(x, 7) + dense(x, 7), 3)", 4 * (35 + 49 + 7) + 42 + 24,
     4 * (25 + 25 + 5) + 30 + 18},
    {"last", "dense(lstm(x, 7)[:, 3], 3)", 4 * (35 + 49 + 7) + 24, 4 * (25 + 25 + 5) + 18},
};

static takt_model *load(takt_ctx *own, const char *body)
{
    char text[256];
    takt_model *m = NULL;
    snprintf(text, sizeof text, "model m(x: f32[1, 4, 5]) seed=3 { return %s }\n", body);
    if (takt_model_load_memory(own, "m.takt", text, strlen(text), NULL, &m) != TAKT_OK)
        return NULL;
    return m;
}

static takt_status prune(const takt_model *m, takt_prune_summary *s, takt_model **small)
{
    shrink_told t = {.verdicts = faster, .count = 1};
    const takt_prune_options o = {
        .amount = 0.3, .compare = shrink_tell, .compare_user = &t, .summary = s, .threads = 1};
    return takt_model_prune(m, &o, TAKT_FORMAT_TEXT, shrink_keep_text, (char[SHRINK_REPORT]){0},
                            small);
}

static void dead_units(void)
{
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        takt_model *m = load(ctx, cells[i].body), *small = NULL;
        takt_prune_summary s = {0};
        float before[MOST], after[MOST];
        if (!EXPECT(m != NULL, "%s: %s", cells[i].name, takt_last_error(ctx)))
            continue;
        kill_units(m);
        if (EXPECT_OK(ctx, prune(m, &s, &small))) {
            const size_t count = run(m, before);
            EXPECT(run(small, after) == count, "%s: another size", cells[i].name);
            for (size_t k = 0; k < count; k++)
                EXPECT(fabs((double)(before[k] - after[k])) < 1e-6, "%s: %g became %g",
                       cells[i].name, (double)before[k], (double)after[k]);
            const uint64_t zero = strcmp(cells[i].name, "stream") != 0;
            EXPECT(s.parameters_before == cells[i].before + zero &&
                       s.parameters_after == cells[i].after + zero,
                   "%s: %llu parameters of %llu", cells[i].name,
                   (unsigned long long)s.parameters_after, (unsigned long long)s.parameters_before);
        }
        takt_model_destroy(small);
        takt_model_destroy(m);
    }
}

/* Parts of a value that are used separately: a gate, and halves, one of which could lose all
 * channels. */
static void slices(void)
{
    static const char *const bodies[] = {
        "dense(sigmoid(dense(x, 12)[:, :, :6]) * relu(dense(x, 12)[:, :, 6:]), 3)",
        "dense(concat(relu(dense(x, 8)[:, :, 2:4]), tanh(dense(x, 8)[:, :, 0:1]), axis=2), 3)"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        takt_model *m = load(ctx, bodies[i]), *small = NULL;
        takt_prune_summary s = {0};
        float y[MOST];
        if (EXPECT(m != NULL, "%s", takt_last_error(ctx)) && EXPECT_OK(ctx, prune(m, &s, &small)))
            EXPECT(run(small, y) > 0 && isfinite(y[0]) && s.parameters_after < s.parameters_before,
                   "%zu: %llu of %llu", i, (unsigned long long)s.parameters_after,
                   (unsigned long long)s.parameters_before);
        takt_model_destroy(small);
        takt_model_destroy(m);
    }
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    takt_model *m = NULL, *small = NULL;
    takt_prune_summary s;
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    m = load(own, cells[1].body);
    status = m != NULL ? prune(m, &s, &small) : TAKT_ERR_MEMORY;
    takt_model_destroy(small);
    takt_model_destroy(m);
    takt_ctx_destroy(own);
    return status;
}

static void sweep(void)
{
    const takt_sweep_report r = takt_sweep_some(scenario, NULL, TAKT_INJECT_MEMORY, 40);
    EXPECT(r.is_good, "%s", r.message);
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, dead_units, slices, sweep, end)
