/* run_model.c - loads a model, runs it on a batch of zeros, and prints the first row. */
#include <stdio.h>

#include <takt/takt.h>

int main(int argc, char **argv)
{
    takt_ctx *ctx = NULL;
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    takt_status status = takt_ctx_create(NULL, &ctx);
    if (status == TAKT_OK)
        status = takt_model_load(ctx, argc > 1 ? argv[1] : "examples/mlp.takt", NULL, &model);
    if (status == TAKT_OK)
        status = takt_plan_create(model, &(takt_plan_options){.sizes = "batch=4"}, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &session);
    if (status == TAKT_OK && takt_session_input(session, 0) != NULL)
        status = takt_session_run(session);
    for (int i = 0; status == TAKT_OK && i < 10; i++)
        printf("%g\n", ((const float *)takt_session_output(session, 0)->data)[i]);
    if (status != TAKT_OK)
        fprintf(stderr, "%s\n", takt_last_error(ctx));
    takt_session_destroy(session);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    return status != TAKT_OK;
}
