/* run_model.c - loads a model, runs it on random numbers, prints the first row of the result. */
#include <stdio.h>

#include <takt/takt.h>

/* Inputs get random numbers here; write yours to ->data, or bind memory of your own. */
static takt_status run(takt_ctx *ctx, takt_session *session)
{
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < takt_session_input_count(session) && status == TAKT_OK; i++) {
        const takt_tensor_view *input = takt_session_input(session, i);
        if (input == NULL) /* no memory for it */
            return takt_session_error(session)->status;
        status = takt_view_random(ctx, input, 0, (uint32_t)i);
    }
    return status == TAKT_OK ? takt_session_run(session) : status;
}

static void print_row(const takt_tensor_view *y)
{
    if (y != NULL && y->dtype == TAKT_F32 && y->rank > 0)
        for (int64_t i = 0; i < y->dims[y->rank - 1]; i++)
            printf("%g\n", ((const float *)y->data)[i]);
}

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
        status = takt_plan_create(model, NULL, &plan); /* named sizes are 1 unless .sizes says */
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &session);
    if (status == TAKT_OK)
        status = run(ctx, session);
    if (status == TAKT_OK)
        print_row(takt_session_output(session, 0));
    else if (session != NULL && takt_session_error(session)->status == status)
        fprintf(stderr, "%s\n", takt_session_error(session)->message); /* its own failures */
    else
        fprintf(stderr, "%s\n", takt_last_error(ctx));
    takt_session_destroy(session);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    return status != TAKT_OK;
}
