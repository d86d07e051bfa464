/* lang_layout.c - a model in nhwc computes the bits of the same model in nchw, transposed. */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

#include "api/model.h"

static takt_ctx *ctx;

/* The same layers in either layout; %s is the header's option. */
static const char *const bodies[] = {
    "  return x |> conv(8, stride=2, pad=1, act=relu) |> batch_norm() |> max_pool(2, stride=2)\n",
    "  return x |> depthwise(3)\n",
    "  return x |> group_norm(2)\n",
    "  return x |> separable(6, 3)\n",
    "  return x |> instance_norm()\n",
    "  return x |> upsample() |> avg_pool(3, pad=1)\n",
    "  return x |> residual_block(4) |> inverted_residual(6, stride=2, squeeze=2)\n",
    "  return x |> bottleneck(2)\n",
    "  return x |> conv_transpose(5, 3, stride=2, pad=1, extra=1) |> conv2d(3, 5, dilation=2)\n",
    "  return x |> conv(4, 1) |> squeeze_excite(2) |> upsample(mode=linear) |> conv(2, [3, 1])\n",
};

/* [n, c, h, w] into [n, h, w, c], of any extent after n. */
static void turn(const float *from, const int64_t *d, float *to)
{
    for (int64_t n = 0; n < d[0]; n++)
        for (int64_t c = 0; c < d[1]; c++)
            for (int64_t p = 0; p < d[2] * d[3]; p++)
                to[(n * d[2] * d[3] + p) * d[1] + c] = from[(n * d[1] + c) * d[2] * d[3] + p];
}

static takt_model *load(const char *body, const char *layout, bool is_first)
{
    char text[1024];
    takt_model *m = NULL;
    snprintf(text, sizeof text, "model m(x: f32[2, %s]) seed=3 layout=%s {\n%s}\n",
             is_first ? "4, 8, 8" : "8, 8, 4", layout, body);
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "text", text, strlen(text), NULL, &m));
    return m;
}

/* Weights of convolutions are laid out as the images are; the others are equal. */
static void copy_weights(const takt_model *from, takt_model *to)
{
    EXPECT_EQ(from->graph->slot_count, to->graph->slot_count);
    for (size_t i = 0; i < from->graph->slot_count; i++) {
        const takt_tensor *a = &from->slots[i];
        takt_tensor *b = &to->slots[i];
        EXPECT_TEXT(from->graph->slots[i].name, to->graph->slots[i].name);
        if (!EXPECT_EQ(takt_tensor_bytes(a), takt_tensor_bytes(b)))
            continue;
        if (a->type.rank == 4)
            turn(takt_tensor_data(a), a->type.dim, takt_tensor_data(b));
        else
            memcpy(takt_tensor_data(b), takt_tensor_data(a), takt_tensor_bytes(a));
    }
}

static takt_session *open_session(const takt_model *m)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    if (EXPECT_OK(ctx, takt_plan_create(m, NULL, &plan)))
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    takt_plan_destroy(plan);
    return s;
}

static void both(const char *body)
{
    takt_model *first = load(body, "nchw", true), *last = load(body, "nhwc", false);
    takt_session *a = NULL, *b = NULL;
    if (first == NULL || last == NULL)
        goto out;
    copy_weights(first, last);
    a = open_session(first);
    b = open_session(last);
    if (a == NULL || b == NULL)
        goto out;
    const takt_tensor_view *x = takt_session_input(a, 0);
    EXPECT_OK(ctx, takt_view_random(ctx, x, 5, 0));
    turn(x->data, x->dims, takt_session_input(b, 0)->data);
    EXPECT_OK(NULL, takt_session_run(a));
    EXPECT_OK(NULL, takt_session_run(b));
    const takt_tensor_view *y = takt_session_output(a, 0), *z = takt_session_output(b, 0);
    const size_t count = (size_t)(y->dims[0] * y->dims[1] * y->dims[2] * y->dims[3]);
    float *turned = calloc(count, sizeof *turned);
    turn(y->data, y->dims, turned);
    EXPECT_EQ(z->dims[3], y->dims[1]);
    EXPECT_EQ(z->dims[1], y->dims[2]);
    EXPECT_EQ(z->dims[2], y->dims[3]);
    EXPECT(memcmp(turned, z->data, count * sizeof *turned) == 0, "%s", body);
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any = any || turned[i] != 0;
    EXPECT(any, "%s", body);
    free(turned);
out:
    takt_session_destroy(a);
    takt_session_destroy(b);
    takt_model_destroy(first);
    takt_model_destroy(last);
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        both(bodies[i]);
    takt_ctx_destroy(ctx);
    return test_done();
}
