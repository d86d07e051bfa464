/* no_object.c - a program that ignores every status continues with NULL objects: later calls fail,
 * and nothing crashes. */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

/* For an unknown name, the message suggests an existing one. */
static void misspelt(takt_ctx *ctx)
{
    static const char text[] = "model m(image: f32[2], mask: f32[2]) { return image * mask }\n";
    takt_model *m = NULL;
    takt_plan *p = NULL;
    takt_session *s = NULL;
    float two[2] = {1, 2};
    const takt_tensor_view v = {.dtype = TAKT_F32, .rank = 1, .dims = {2}, .data = two};
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "text", text, sizeof text - 1, NULL, &m));
    EXPECT_OK(ctx, takt_plan_create(m, NULL, &p));
    EXPECT_OK(ctx, takt_session_create(p, NULL, &s));
    EXPECT_STATUS(NULL, takt_session_bind(s, "imgae", &v), TAKT_ERR_NOT_FOUND);
    EXPECT_TEXT(takt_session_error(s)->hint, "did you mean image?");
    EXPECT_STATUS(NULL, takt_session_bind(s, "nothing like it", &v), TAKT_ERR_NOT_FOUND);
    EXPECT_TEXT(takt_session_error(s)->hint, "the first of its 2 inputs is image");
    takt_session_destroy(s);
    takt_plan_destroy(p);
    takt_model_destroy(m);
}

int main(void)
{
    takt_ctx *ctx = NULL;
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    const takt_tensor_view view = {.dtype = TAKT_F32};
    EXPECT_STATUS(NULL, takt_model_load(NULL, "examples/mlp.takt", NULL, &model),
                  TAKT_ERR_ARGUMENT);
    EXPECT_OK(ctx, takt_ctx_create(NULL, &ctx));
    EXPECT_STATUS(ctx, takt_model_load(ctx, "nowhere.takt", NULL, &model), TAKT_ERR_IO);
    EXPECT_STATUS(NULL, takt_plan_create(model, NULL, &plan), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_session_create(plan, NULL, &session), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_precision_check(model, NULL, TAKT_FORMAT_TEXT, NULL, NULL, NULL),
                  TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_model_diff(model, model, NULL, TAKT_FORMAT_TEXT, NULL, NULL),
                  TAKT_ERR_ARGUMENT);
    EXPECT(model == NULL && plan == NULL && session == NULL);
    EXPECT_EQ(takt_session_input_count(session), 0);
    EXPECT_EQ(takt_session_output_count(session), 0);
    EXPECT(takt_session_input(session, 0) == NULL && takt_session_output(session, 0) == NULL);
    EXPECT(takt_session_input_desc(session, 0) == NULL);
    EXPECT(takt_session_output_desc(session, 0) == NULL);
    EXPECT(!takt_session_output_varies(session, 0));
    EXPECT_STATUS(NULL, takt_session_bind(session, "x", &view), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_session_run(session), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_session_run_deadline(session, 1), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_session_error(session)->status, TAKT_ERR_ARGUMENT);
    EXPECT_TEXT(takt_session_error(session)->message, "there is no session");
    EXPECT(strstr(takt_last_error(ctx), "nowhere.takt") != NULL); /* the first failure is kept */
    misspelt(ctx);
    takt_session_destroy(session);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    return test_done();
}
