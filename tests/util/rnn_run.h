/* rnn_run.h - a recurrent model run twice on random inputs: digests of its results, and its step.
 */
#ifndef TAKT_TESTS_UTIL_RNN_RUN_H
#define TAKT_TESTS_UTIL_RNN_RUN_H

#include "api/session/session.h"
#include "plan/backend.h"
#include "plan/plan.h"
#include "test.h"

#include <string.h>

#include <takt/takt.h>

typedef struct rnn_result {
    char digest[10][TAKT_DIGEST_TEXT];
    const char *kind, *note; /* of the last recurrent step; "" if there is none */
    size_t tasks;
    size_t on_backend; /* recurrent steps that the plan's backend has, as one kernel each */
} rnn_result;

static void rnn_read_steps(const takt_plan *plan, const char *backend, rnn_result *r)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *s = &plan->steps[i];
        const bool is_cell = strcmp(s->kind, "rnn") == 0;
        if (!is_cell && strcmp(s->kind, "scan") != 0)
            continue;
        r->kind = s->kind;
        r->note = s->note;
        r->tasks = s->task_count;
        r->on_backend += is_cell && backend != NULL && strcmp(s->backend->name, backend) == 0;
    }
}

static bool rnn_run(takt_ctx *ctx, const char *text, const takt_plan_options *options,
                    rnn_result *r)
{
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    *r = (rnn_result){.kind = ""};
    bool ok = EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model)) &&
              EXPECT_OK(ctx, takt_plan_create(model, options, &plan)) &&
              EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    for (size_t i = 0; ok && i < takt_session_input_count(s); i++)
        ok = EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(s, i), 11, (uint32_t)i));
    for (int k = 0; ok && k < 2; k++)
        ok = EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
    for (size_t i = 0; ok && i < takt_session_output_count(s); i++)
        ok = EXPECT_OK(ctx, takt_view_digest(ctx, takt_session_output(s, i), 1, r->digest[i]));
    if (ok)
        rnn_read_steps(plan, options->backend, r);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    return ok;
}

#endif
