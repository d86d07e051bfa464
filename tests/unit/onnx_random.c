/* onnx_random.c - ONNX's random operators draw again in each run, and the same in each session. */
#include <string.h>

#include <takt/takt.h>

#include "test.h"
#include "util/pb.h"

enum { COUNT = 600, FLOAT = 1, INT32 = 6 };

static takt_ctx *ctx;
static pb model, graph, node, value;

typedef struct one {
    const char *op;
    int result; /* element type */
    float low, high;
} one;

static const one ops[] = {
    {"RandomUniformLike", FLOAT, 0, 1},
    {"RandomNormalLike", FLOAT, -6, 6},
    {"Bernoulli", FLOAT, 0, 1},
    {"Multinomial", INT32, 0, COUNT - 1},
};

/* y = op(x), x being [1, COUNT]. */
static takt_model *load(const one *o)
{
    static const int64_t wide[] = {1, COUNT}, thin[] = {1, 1};
    takt_model *m = NULL;
    graph.length = 0;
    pb_node(&node, o->op, "x", NULL, "y");
    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "g");
    pb_value(&value, "x", FLOAT, 2, wide);
    pb_message(&graph, 11, &value);
    pb_value(&value, "y", o->result, 2, o->result == INT32 ? thin : wide);
    pb_message(&graph, 12, &value);
    pb_model(&model, &graph, 21);
    EXPECT(takt_model_load_memory(ctx, "m.onnx", model.at, model.length, NULL, &m) == TAKT_OK,
           "%s: %s", o->op, takt_last_error(ctx));
    return m;
}

/* Two runs of one session, concatenated in `out`. */
static void run_twice(const takt_model *m, size_t bytes, char *out)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    if (EXPECT_OK(ctx, takt_plan_create(m, NULL, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        float *x = takt_session_input(s, 0)->data;
        for (size_t i = 0; i < COUNT; i++)
            x[i] = 0.5F;
        for (size_t run = 0; run < 2; run++) {
            EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
            memcpy(out + run * bytes, takt_session_output(s, 0)->data, bytes);
        }
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
}

static void check(const one *o)
{
    static char first[2 * COUNT * sizeof(float)], second[2 * COUNT * sizeof(float)];
    takt_model *m = load(o);
    const size_t bytes = o->result == INT32 ? sizeof(int32_t) : COUNT * sizeof(float);
    if (m == NULL)
        return;
    run_twice(m, bytes, first);
    run_twice(m, bytes, second);
    EXPECT(memcmp(first, second, 2 * bytes) == 0, "%s: sessions differ", o->op);
    EXPECT(memcmp(first, first + bytes, bytes) != 0, "%s: runs do not differ", o->op);
    for (size_t i = 0; i < 2 * bytes; i += 4) {
        float f;
        int32_t k;
        memcpy(&f, first + i, sizeof f);
        memcpy(&k, first + i, sizeof k);
        const float got = o->result == INT32 ? (float)k : f;
        EXPECT(got >= o->low && got <= o->high, "%s: %g", o->op, (double)got);
    }
    takt_model_destroy(m);
}

int main(void)
{
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
            check(&ops[i]);
    takt_ctx_destroy(ctx);
    return test_done();
}
