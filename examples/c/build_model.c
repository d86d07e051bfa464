/* build_model.c - builds a small model in a program, requests its gradients, and trains with them.
 *
 * The model is loss = mean((relu(x w1 + b) w2 - t)^2). Its weights w1 and w2 are inputs, so that
 * they stay in the program's own memory, which it updates by gradient descent. The program fails if
 * the loss does not become smaller.
 */
#include <stdio.h>

#include <takt/takt.h>

enum { ROWS = 8, IN = 4, HIDDEN = 6, STEPS = 20 };

static takt_value op2(takt_build *b, const char *op, takt_value left, takt_value right)
{
    const takt_value in[2] = {left, right};
    return takt_build_op(b, op, NULL, in, 2, NULL);
}

/* Nothing is checked in between: takt_build_finish reports whether everything succeeded. */
static takt_status build(takt_ctx *ctx, takt_model **model)
{
    takt_build *b;
    const takt_initial random = {.kind = TAKT_INITIAL_NORMAL, .b = 0.5};
    *model = NULL;
    takt_status status = takt_build_create(ctx, "small", &b);
    const takt_value x = takt_build_input(b, "x", "f32[rows, 4]");
    const takt_value t = takt_build_input(b, "t", "f32[rows, 1]");
    const takt_value w1 = takt_build_input(b, "w1", "f32[4, 6]");
    const takt_value w2 = takt_build_input(b, "w2", "f32[6, 1]");
    const takt_value bias = takt_build_parameter(b, "b", "f32[6]", &random);
    const takt_value h = op2(b, "add", op2(b, "matmul", x, w1), bias);
    const takt_value y = op2(b, "matmul", takt_build_op(b, "relu", NULL, &h, 1, "hidden"), w2);
    const takt_value error = op2(b, "sub", y, t);
    const takt_value square = op2(b, "mul", error, error);
    const takt_value loss = takt_build_op(b, "reduce_mean", "{\"axes\": [0, 1]}", &square, 1, NULL);
    takt_build_output(b, "loss", loss);
    if (status == TAKT_OK)
        status = takt_build_finish(b, 1, model);
    takt_build_destroy(b);
    return status;
}

static takt_status bind(takt_session *s, const char *name, int64_t rows, int64_t columns, float *at)
{
    const takt_tensor_view v = {.dtype = TAKT_F32, .rank = 2, .dims = {rows, columns}, .data = at};
    return takt_session_bind(s, name, &v);
}

static void step_down(float *w, const takt_tensor_view *gradient, int count)
{
    for (int i = 0; i < count; i++)
        w[i] -= 0.1f * ((const float *)gradient->data)[i];
}

static takt_status learn(takt_session *s)
{
    float x[ROWS * IN], t[ROWS], w1[IN * HIDDEN], w2[HIDDEN], first = 0, loss = 0;
    for (int i = 0; i < ROWS * IN; i++)
        x[i] = (float)(i * 7 % 11) / 11 - 0.5f;
    for (int i = 0; i < ROWS; i++)
        t[i] = x[i * IN] - 2 * x[i * IN + 1];
    for (int i = 0; i < IN * HIDDEN; i++)
        w1[i] = (float)(i * 5 % 7) / 7 - 0.4f;
    for (int i = 0; i < HIDDEN; i++)
        w2[i] = (float)(i % 3) / 3 - 0.2f;
    takt_status status = bind(s, "x", ROWS, IN, x);
    if (status == TAKT_OK)
        status = bind(s, "t", ROWS, 1, t);
    if (status == TAKT_OK)
        status = bind(s, "w1", IN, HIDDEN, w1);
    if (status == TAKT_OK)
        status = bind(s, "w2", HIDDEN, 1, w2);
    for (int step = 0; step < STEPS && status == TAKT_OK; step++) {
        status = takt_session_run(s); /* outputs: loss, grad.w1, grad.w2 */
        if (status != TAKT_OK)
            break;
        loss = *(const float *)takt_session_output(s, 0)->data;
        first = step == 0 ? loss : first;
        printf("step %2d: loss %g\n", step, loss);
        step_down(w1, takt_session_output(s, 1), IN * HIDDEN);
        step_down(w2, takt_session_output(s, 2), HIDDEN);
    }
    return status == TAKT_OK && !(loss < first / 2) ? TAKT_ERR_REQUIREMENT : status;
}

int main(void)
{
    takt_ctx *ctx = NULL;
    takt_model *model = NULL, *gradient = NULL;
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    const takt_plan_options options = {.sizes = "rows=8"};
    takt_status status = takt_ctx_create(NULL, &ctx);
    if (status == TAKT_OK)
        status = build(ctx, &model);
    if (status == TAKT_OK)
        status = takt_model_gradient(model, "loss", "w1,w2", &gradient);
    if (status == TAKT_OK)
        status = takt_plan_create(gradient, &options, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &session);
    if (status == TAKT_OK)
        status = learn(session);
    if (status != TAKT_OK)
        fprintf(stderr, "%s: %s\n", takt_status_sentence(status),
                session != NULL ? takt_session_error(session)->message : takt_last_error(ctx));
    takt_session_destroy(session);
    takt_plan_destroy(plan);
    takt_model_destroy(gradient);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    return status != TAKT_OK;
}
