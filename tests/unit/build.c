/* build.c - models built by programs: results, error messages, and running out of memory. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "base/error.h"
#include "util/inject.h"

typedef struct maker {
    takt_ctx *ctx;
    takt_build *b;
} maker;

static bool begin(maker *m)
{
    *m = (maker){0};
    return EXPECT_OK(NULL, takt_ctx_create(NULL, &m->ctx)) &&
           EXPECT_OK(m->ctx, takt_build_create(m->ctx, "made", &m->b));
}

static void end(maker *m)
{
    takt_build_destroy(m->b);
    takt_ctx_destroy(m->ctx);
}

static int put(void *user, const char *text, size_t length)
{
    char *to = user;
    const size_t had = strlen(to);
    if (had + length < 4000) {
        memcpy(to + had, text, length);
        to[had + length] = '\0';
    }
    return 0;
}

/* ---- the same as text ---- */

static takt_model *built(maker *m)
{
    static const float two[3] = {2, 3, 4};
    const takt_tensor_view v = {.dtype = TAKT_F32, .rank = 1, .dims = {3}, .data = (void *)two};
    takt_model *model = NULL;
    takt_build *b = m->b;
    takt_value pair[2] = {takt_build_input(b, "x", "f32[n, 3]"), takt_build_constant(b, &v)};
    takt_value y = takt_build_op(b, "mul", NULL, pair, 2, "scaled");
    y = takt_build_op(b, "softmax", "{\"axis\": -1}", &y, 1, NULL);
    takt_value halves =
        takt_build_op(b, "split", "{\"axis\": 1, \"sizes\": [1, 2]}", &y, 1, "halves");
    takt_build_output(b, "first", takt_build_result(b, halves, 0));
    takt_build_output(b, "second", takt_build_result(b, halves, 1));
    takt_desc d;
    EXPECT_OK(m->ctx, takt_build_describe(b, y, &d));
    EXPECT_EQ(d.dtype, TAKT_F32);
    EXPECT_EQ(d.rank, 2);
    EXPECT_EQ(d.dims[0], -1);
    EXPECT_EQ(d.dims[1], 3);
    EXPECT(d.dim_names[0] != NULL && strcmp(d.dim_names[0], "n") == 0);
    EXPECT_OK(m->ctx, takt_build_status(b));
    EXPECT_OK(m->ctx, takt_build_finish(b, 0, &model));
    return model;
}

static void run(takt_ctx *ctx, const takt_model *model, float *first, float *second)
{
    float x[6] = {1, 0, -1, 0.5f, 0.25f, 2};
    const takt_plan_options o = {.sizes = "n=2"};
    const takt_tensor_view v = {.dtype = TAKT_F32, .rank = 2, .dims = {2, 3}, .data = x};
    takt_plan *p = NULL;
    takt_session *s = NULL;
    if (EXPECT_OK(ctx, takt_plan_create(model, &o, &p)) &&
        EXPECT_OK(ctx, takt_session_create(p, NULL, &s)) &&
        EXPECT_OK(NULL, takt_session_bind(s, "x", &v)) && EXPECT_OK(NULL, takt_session_run(s))) {
        memcpy(first, takt_session_output(s, 0)->data, 2 * sizeof *first);
        memcpy(second, takt_session_output(s, 1)->data, 4 * sizeof *second);
    }
    takt_session_destroy(s);
    takt_plan_destroy(p);
}

static void like_text(void)
{
    static const char text[] =
        "model made(x: f32[n, 3]) -> (first: f32[n, 1], second: f32[n, 2]) {\n"
        "  a, b = split(softmax(x * constant(f32[3], [2, 3, 4]), axis=-1), axis=1, sizes=[1, 2])\n"
        "  return first = a, second = b\n}\n";
    maker m;
    takt_model *read = NULL;
    float a[2] = {0}, b[4] = {0}, c[2] = {1}, d[4] = {1};
    if (begin(&m)) {
        takt_model *model = built(&m);
        EXPECT_OK(m.ctx, takt_model_load_memory(m.ctx, "text", text, sizeof text - 1, NULL, &read));
        if (model != NULL && read != NULL) {
            char printed[4096] = "";
            EXPECT_OK(m.ctx, takt_model_print(model, false, put, printed));
            EXPECT(strstr(printed, "scaled = ") != NULL, "%s", printed);
            EXPECT_TEXT(takt_model_name(model), "made");
            run(m.ctx, model, a, b);
            run(m.ctx, read, c, d);
            EXPECT_EQ(memcmp(a, c, sizeof a), 0);
            EXPECT_EQ(memcmp(b, d, sizeof b), 0);
        }
        takt_model_destroy(read);
        takt_build_destroy(m.b); /* the model outlives it */
        m.b = NULL;
        takt_model_destroy(model);
    }
    end(&m);
}

/* ---- parameters, state, random numbers ---- */

/* y = past + w, and past becomes y; with it numbers drawn at random, of a stream of their own. */
static takt_model *stateful(maker *m, uint64_t seed)
{
    static const uint64_t zero = 0;
    const takt_tensor_view v = {.dtype = TAKT_U64, .data = (void *)&zero};
    const takt_initial uniform = {.kind = TAKT_INITIAL_UNIFORM, .a = 1, .b = 2};
    const takt_initial five = {.a = 5};
    takt_model *model = NULL;
    const takt_value w = takt_build_parameter(m->b, "w", "f32[4]", &uniform);
    const takt_value past = takt_build_state(m->b, "past", "f32[4]", &five);
    const takt_value c = takt_build_constant(m->b, &v);
    const takt_value drop[4] = {w, c, c, c}, pair[2] = {past, w};
    const takt_value a = takt_build_op(m->b, "dropout", "{\"rate\": 0.5}", drop, 4, NULL);
    const takt_value b = takt_build_op(m->b, "dropout", "{\"rate\": 0.5}", drop, 4, NULL);
    EXPECT(a != b, "two draws are one");
    const takt_value sum = takt_build_op(m->b, "add", NULL, pair, 2, NULL);
    takt_build_next(m->b, "past", sum);
    takt_build_output(m->b, "y", sum);
    takt_build_output(m->b, "a", takt_build_result(m->b, a, 0));
    EXPECT_OK(m->ctx, takt_build_finish(m->b, seed, &model));
    takt_model *again = model;
    EXPECT_STATUS(m->ctx, takt_build_finish(m->b, seed, &again), TAKT_ERR_STATE);
    EXPECT(again == NULL && takt_build_input(m->b, "late", "f32[1]") == TAKT_NO_VALUE);
    return model;
}

/* A text stores weights that were drawn with a seed: a reader does not know the seed. */
static void saved(takt_ctx *ctx, const takt_model *model)
{
    const char *folder = getenv("TAKT_TEST_TMP");
    char path[512];
    takt_model *again = NULL;
    snprintf(path, sizeof path, "%s/built.takt", folder != NULL ? folder : ".");
    EXPECT_OK(ctx, takt_model_save(model, path, NULL));
    EXPECT_OK(ctx, takt_model_load(ctx, path, NULL, &again));
    snprintf(path, sizeof path, "%s/built.npz", folder != NULL ? folder : ".");
    takt_tensor_view a = {0}, b = {0};
    EXPECT_OK(ctx, takt_model_save_weights(model, path, NULL));
    EXPECT_OK(ctx, takt_npz_load(ctx, path, "w", &a));
    if (again != NULL)
        EXPECT_OK(ctx, takt_model_save_weights(again, path, NULL));
    EXPECT_OK(ctx, takt_npz_load(ctx, path, "w", &b));
    EXPECT(a.data != NULL && b.data != NULL && memcmp(a.data, b.data, 16) == 0);
    takt_view_free(ctx, &a);
    takt_view_free(ctx, &b);
    takt_model_destroy(again);
}

static void parameters(void)
{
    maker m;
    takt_plan *p = NULL;
    takt_session *s = NULL;
    if (!begin(&m))
        return;
    takt_model *model = stateful(&m, 7);
    if (EXPECT_OK(m.ctx, takt_plan_create(model, NULL, &p)) &&
        EXPECT_OK(m.ctx, takt_session_create(p, NULL, &s))) {
        float first[4];
        EXPECT_OK(NULL, takt_session_run(s));
        memcpy(first, takt_session_output(s, 0)->data, sizeof first);
        EXPECT_OK(NULL, takt_session_run(s));
        const float *second = takt_session_output(s, 0)->data;
        for (int i = 0; i < 4; i++)
            EXPECT(first[i] >= 6 && first[i] < 7 && second[i] == first[i] + (first[i] - 5),
                   "%g then %g", first[i], second[i]);
    }
    takt_session_destroy(s);
    takt_plan_destroy(p);
    saved(m.ctx, model);
    takt_model_destroy(model);
    end(&m);
}

/* ---- mistakes ---- */

static void one_mistake(int id, const char *hint, void (*make)(takt_build *b))
{
    maker m;
    takt_model *model = NULL;
    if (!begin(&m))
        return;
    make(m.b);
    /* Later calls are ignored, and the first failure is reported. */
    EXPECT_EQ(takt_build_input(m.b, "later", "f32[2]"), TAKT_NO_VALUE);
    EXPECT_IS(takt_model_load(m.ctx, "nowhere.takt", NULL, &model), !=, TAKT_OK);
    takt_build_output(m.b, "later", 0);
    EXPECT_IS(takt_build_status(m.b), !=, TAKT_OK);
    EXPECT(takt_last_error_info(m.ctx)->id == id, "%d, not %d: %s", takt_last_error_info(m.ctx)->id,
           id, takt_last_error(m.ctx));
    EXPECT(strstr(takt_last_error_info(m.ctx)->hint, hint) != NULL, "%s",
           takt_last_error_info(m.ctx)->hint);
    EXPECT(takt_build_finish(m.b, 0, &model) == takt_build_status(m.b) && model == NULL);
    end(&m);
}

#define MISTAKE(name, ...)                                                                         \
    static void name(takt_build *b)                                                                \
    {                                                                                              \
        const takt_value x = takt_build_input(b, "x", "f32[2, 3]");                                \
        (void)x;                                                                                   \
        __VA_ARGS__;                                                                               \
    }

MISTAKE(no_op, takt_build_op(b, "sofmax", NULL, &x, 1, NULL))
MISTAKE(null_op, takt_build_op(b, NULL, NULL, &x, 1, NULL))
MISTAKE(null_in, takt_build_op(b, "relu", NULL, NULL, 1, NULL))
MISTAKE(leaf, takt_build_op(b, "constant", NULL, NULL, 0, NULL))
MISTAKE(subgraph, takt_build_op(b, "custom", "{\"body\": \"x\"}", &x, 1, NULL))
MISTAKE(attr_name, takt_build_op(b, "softmax", "{\"axes\": 1}", &x, 1, NULL))
MISTAKE(attr_kind, takt_build_op(b, "softmax", "{\"axis\": \"last\"}", &x, 1, NULL))
MISTAKE(attr_json, takt_build_op(b, "softmax", "{\"axis\": }", &x, 1, NULL))
MISTAKE(attr_list, takt_build_op(b, "softmax", "[1]", &x, 1, NULL))
MISTAKE(attr_float, takt_build_op(b, "reduce_mean", "{\"axes\": [0.5]}", &x, 1, NULL))
MISTAKE(attr_axis, takt_build_op(b, "softmax", "{\"axis\": 7}", &x, 1, NULL))
MISTAKE(shape, const takt_value xx[2] = {x, x}; takt_build_op(b, "matmul", NULL, xx, 2, NULL))
MISTAKE(arity, takt_build_op(b, "relu", NULL, NULL, 0, NULL))
MISTAKE(foreign, const takt_value far = 99; takt_build_op(b, "relu", NULL, &far, 1, NULL))
MISTAKE(absent, const takt_value none = TAKT_NO_VALUE;
        takt_build_op(b, "relu", NULL, &none, 1, NULL))
MISTAKE(twice, takt_build_input(b, "x", "f32[2]"))
MISTAKE(no_type, takt_build_input(b, "y", NULL))
MISTAKE(no_name, takt_build_input(b, NULL, "f32[2]"))
MISTAKE(bad_dtype, takt_build_input(b, "y", "float[2]"))
MISTAKE(no_bracket, takt_build_input(b, "y", "f32"))
MISTAKE(open_bracket, takt_build_input(b, "y", "f32[2"))
MISTAKE(behind, takt_build_input(b, "y", "f32[2] and"))
MISTAKE(bad_dim, takt_build_input(b, "y", "f32[2*n]"))
MISTAKE(negative, takt_build_input(b, "y", "f32[-1]"))
MISTAKE(huge_dim, takt_build_input(b, "y", "f32[99999999999999999999]"))
MISTAKE(comma, takt_build_input(b, "y", "f32[2, ]"))
MISTAKE(rank, takt_build_input(b, "y", "f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"))
MISTAKE(null_value, takt_build_constant(b, NULL))
MISTAKE(no_data, const takt_tensor_view v = {.rank = 1, .dims = {2}}; takt_build_constant(b, &v))
MISTAKE(device, const takt_tensor_view v = {.data = b, .device = 1}; takt_build_constant(b, &v))
MISTAKE(no_output_name, takt_build_output(b, NULL, x))
MISTAKE(bad_output, takt_build_output(b, "y", 99))
MISTAKE(no_result, takt_build_result(b, x, 1))
MISTAKE(no_state, takt_build_next(b, "past", x))
MISTAKE(null_state, takt_build_next(b, NULL, x))
MISTAKE(typeless, takt_build_parameter(b, "w", NULL, NULL))
MISTAKE(unlike, const float one = 1;
        const takt_tensor_view v = {.dtype = TAKT_F32, .data = (void *)&one};
        const takt_initial i = {.value = &v}; takt_build_parameter(b, "w", "f32[2]", &i))

static void mistakes(void)
{
    one_mistake(TAKT_E_UNKNOWN_OP, "softmax", no_op);
    one_mistake(TAKT_E_ARGUMENT, "", null_op);
    one_mistake(TAKT_E_ARGUMENT, "", null_in);
    one_mistake(TAKT_E_ARGUMENT, "", leaf);
    one_mistake(TAKT_E_ATTR, "", subgraph);
    one_mistake(TAKT_E_ATTR, "", attr_name);
    one_mistake(TAKT_E_ATTR, "", attr_kind);
    one_mistake(TAKT_E_JSON, "", attr_json);
    one_mistake(TAKT_E_ATTR, "", attr_list);
    one_mistake(TAKT_E_ATTR, "", attr_float);
    one_mistake(TAKT_E_ATTR, "", attr_axis);
    one_mistake(TAKT_E_SHAPE, "", shape);
    one_mistake(TAKT_E_ARITY, "", arity);
    one_mistake(TAKT_E_ARGUMENT, "", foreign);
    one_mistake(TAKT_E_ARITY, "", absent);
    one_mistake(TAKT_E_DUPLICATE, "", twice);
    one_mistake(TAKT_E_ARGUMENT, "", no_type);
    one_mistake(TAKT_E_ARGUMENT, "", no_name);
    one_mistake(TAKT_E_DTYPE, "", bad_dtype);
    one_mistake(TAKT_E_DIM, "", no_bracket);
    one_mistake(TAKT_E_DIM, "", open_bracket);
    one_mistake(TAKT_E_DIM, "", behind);
    one_mistake(TAKT_E_DIM, "", bad_dim);
    one_mistake(TAKT_E_DIM, "", negative);
    one_mistake(TAKT_E_DIM, "", huge_dim);
    one_mistake(TAKT_E_DIM, "", comma);
    one_mistake(TAKT_E_RANK, "", rank);
    one_mistake(TAKT_E_ARGUMENT, "", null_value);
    one_mistake(TAKT_E_ARGUMENT, "", no_data);
    one_mistake(TAKT_E_DEVICE, "", device);
    one_mistake(TAKT_E_ARGUMENT, "", no_output_name);
    one_mistake(TAKT_E_ARGUMENT, "", bad_output);
    one_mistake(TAKT_E_ARGUMENT, "", no_result);
    one_mistake(TAKT_E_NAME, "", no_state);
    one_mistake(TAKT_E_ARGUMENT, "", null_state);
    one_mistake(TAKT_E_ARGUMENT, "", typeless);
    one_mistake(TAKT_E_SHAPE, "", unlike);
}

static void nothing(void)
{
    maker m;
    takt_desc d;
    takt_model *model = NULL;
    takt_build *b = NULL;
    if (EXPECT_STATUS(NULL, takt_build_create(NULL, "m", &b), TAKT_ERR_ARGUMENT))
        EXPECT_SAME(b, NULL);
    EXPECT_STATUS(NULL, takt_build_create(NULL, "m", NULL), TAKT_ERR_ARGUMENT);
    EXPECT_EQ(takt_build_input(NULL, "x", "f32[2]"), TAKT_NO_VALUE);
    EXPECT_EQ(takt_build_constant(NULL, NULL), TAKT_NO_VALUE);
    EXPECT_EQ(takt_build_op(NULL, "relu", NULL, NULL, 0, NULL), TAKT_NO_VALUE);
    EXPECT_EQ(takt_build_parameter(NULL, "w", "f32[2]", NULL), TAKT_NO_VALUE);
    EXPECT_EQ(takt_build_result(NULL, 0, 0), TAKT_NO_VALUE);
    takt_build_next(NULL, "w", 0);
    takt_build_output(NULL, "y", 0);
    EXPECT_STATUS(NULL, takt_build_status(NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_build_describe(NULL, 0, &d), TAKT_ERR_ARGUMENT);
    if (EXPECT_STATUS(NULL, takt_build_finish(NULL, 0, &model), TAKT_ERR_ARGUMENT))
        EXPECT_SAME(model, NULL);
    takt_build_destroy(NULL);
    EXPECT_STATUS(NULL, takt_model_gradient(NULL, NULL, NULL, &model), TAKT_ERR_ARGUMENT);
    if (!begin(&m))
        return;
    EXPECT_STATUS(m.ctx, takt_build_create(m.ctx, NULL, NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(m.ctx, takt_build_describe(m.b, 0, &d), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(m.ctx, takt_build_finish(m.b, 0, NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(m.ctx, takt_build_finish(m.b, 0, &model), TAKT_ERR_STATE); /* no output */
    end(&m);
}

/* ---- without memory ---- */

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *ctx;
    takt_build *b = NULL;
    takt_model *model = NULL, *gradient = NULL;
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = takt_build_create(ctx, "m", &b);
    const takt_initial random = {.kind = TAKT_INITIAL_NORMAL, .b = 1};
    takt_value in[2] = {takt_build_input(b, "x", "f32[n, 3]"),
                        takt_build_parameter(b, "w", "f32[3, 3]", &random)};
    takt_value y = takt_build_op(b, "matmul", NULL, in, 2, "product");
    y = takt_build_op(b, "reduce_mean", "{\"axes\": [0, 1], \"keep\": false}", &y, 1, NULL);
    takt_build_output(b, "y", y);
    if (status == TAKT_OK)
        status = takt_build_finish(b, 3, &model);
    EXPECT_EQ((status == TAKT_OK), (model != NULL));
    if (status == TAKT_OK)
        status = takt_model_gradient(model, "y", "w", &gradient);
    takt_model_destroy(gradient);
    takt_model_destroy(model);
    takt_build_destroy(b);
    takt_ctx_destroy(ctx);
    return status;
}

static void sweep(void)
{
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good && r.runs > 10, "%s", r.message);
}

TEST_MAIN(like_text, parameters, mistakes, nothing, sweep)
