/* consumer.c - a user's program: prints which Takt it has, loads a model and runs it. */
#include <stdio.h>

#include <takt/takt.h>

#ifdef REPORTS
static int ignore(void *user, const char *text, size_t length)
{
    (void)user;
    return text == NULL || length == 0;
}
#endif

int main(void)
{
    takt_ctx *ctx = NULL;
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    int failed =
        takt_ctx_create(NULL, &ctx) || takt_model_load(ctx, "examples/mlp.takt", NULL, &model) ||
        takt_plan_create(model, NULL, &plan) || takt_session_create(plan, NULL, &session) ||
        takt_session_input(session, 0) == NULL || takt_session_run(session);
#ifdef REPORTS
    failed = failed || takt_plan_describe(plan, TAKT_FORMAT_TEXT, ignore, NULL);
#endif
    if (!failed)
        printf("takt %s: %g\n", takt_version(),
               ((float *)takt_session_output(session, 0)->data)[0]);
    takt_session_destroy(session);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    return failed != 0;
}
