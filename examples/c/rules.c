/* rules.c - asks a model with rules: rules examples/family.takt "ancestor(ann, x)". */
#include <stdio.h>

#include <takt/takt.h>

static int print(void *user, const char *text, size_t length)
{
    return fwrite(text, 1, length, user) != length;
}

int main(int argc, char **argv)
{
    const char *question = argc > 2 ? argv[2] : "ancestor(ann, x)";
    char relation[64];
    takt_ctx *ctx = NULL;
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    const takt_plan_options options = {.outputs = relation}; /* nothing else is computed */
    takt_status status = takt_ctx_create(NULL, &ctx);
    if (status == TAKT_OK)
        status = takt_model_load(ctx, argc > 1 ? argv[1] : "examples/family.takt", NULL, &model);
    if (status == TAKT_OK)
        status = takt_query_relation(model, question, relation, sizeof relation);
    if (status == TAKT_OK && (status = takt_plan_create(model, &options, &plan)) == TAKT_OK)
        status = takt_session_create(plan, NULL, &session);
    if (status == TAKT_OK && (status = takt_session_run(session)) == TAKT_OK)
        status = takt_query(model, question, takt_session_output(session, 0), NULL, print, stdout);
    if (status != TAKT_OK)
        fprintf(stderr, "%s\n", takt_last_error(ctx));
    takt_session_destroy(session);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    return status != TAKT_OK;
}
