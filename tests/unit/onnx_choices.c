/* onnx_choices.c - what ONNX's text leaves open or says in passing, decided as docs/onnx.md has it:
 * empty axes of ArgMax, ArgMin and Hardmax, Cast beyond the integer's range, ConvTranspose whose
 * stride is larger than its kernel with auto_pad SAME, and the clip of LSTM. */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"
#include "util/pb.h"

enum { FLOAT = 1, INT8 = 3, INT32 = 6, INT64 = 7, UINT8 = 2 };

static pb model, graph, node, value, attribute;
static takt_ctx *ctx;

typedef struct port {
    const char *name;
    int elem;
    pb_shape shape;
    const void *raw; /* NULL: an input */
    size_t bytes;
} port;

static void begin(const char *op, const char *const *in, size_t count)
{
    node.length = graph.length = 0;
    for (size_t i = 0; i < count; i++)
        pb_text(&node, 1, in[i]);
    pb_text(&node, 2, "y");
    pb_text(&node, 4, op);
}

static void add_int(const char *name, int64_t number)
{
    attribute.length = 0;
    pb_text(&attribute, 1, name);
    pb_int(&attribute, 3, (uint64_t)number);
    pb_int(&attribute, 20, 2);
    pb_message(&node, 5, &attribute);
}

static void add_float(const char *name, float number)
{
    attribute.length = 0;
    pb_text(&attribute, 1, name);
    pb_float(&attribute, 2, number);
    pb_int(&attribute, 20, 1);
    pb_message(&node, 5, &attribute);
}

static void add_text(const char *name, const char *text)
{
    attribute.length = 0;
    pb_text(&attribute, 1, name);
    pb_text(&attribute, 4, text);
    pb_int(&attribute, 20, 3);
    pb_message(&node, 5, &attribute);
}

/* The first port is the input, others are initialisers; `y` has no shape of its own. */
static takt_status load(const port *ports, size_t count, int elem, takt_model **m)
{
    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "g");
    for (size_t i = 0; i < count; i++) {
        value.length = 0;
        if (ports[i].raw != NULL) {
            pb_tensor(&value, ports[i].name, ports[i].elem, &ports[i].shape, ports[i].raw,
                      ports[i].bytes);
            pb_message(&graph, 5, &value);
            continue;
        }
        pb_value(&value, ports[i].name, ports[i].elem, ports[i].shape.rank, ports[i].shape.dim);
        pb_message(&graph, 11, &value);
    }
    (void)elem;
    value.length = 0;
    pb_text(&value, 1, "y");
    pb_message(&graph, 12, &value);
    pb_model(&model, &graph, 14);
    return takt_model_load_memory(ctx, "choices", model.at, model.length, NULL, m);
}

/* One run on `in`; true with the result's bytes in `out`. */
static bool run(const port *ports, size_t count, const char *backend, const void *in, size_t bytes,
                void *out, size_t most, takt_tensor_view *shape)
{
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    bool ok =
        EXPECT_OK(ctx, load(ports, count, 0, &m)) &&
        EXPECT_OK(ctx, takt_plan_create(m, &(takt_plan_options){.threads = 1, .backend = backend},
                                        &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    if (ok) {
        memcpy(takt_session_input(s, 0)->data, in, bytes);
        ok = EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
    }
    if (ok) {
        *shape = *takt_session_output(s, 0);
        memcpy(out, shape->data, most);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    return ok;
}

static const char *const backends[] = {"cpu", "ref"};

/* NumPy, which the reference uses, finds nothing in an empty axis; so do we. */
static void empty_axes(void)
{
    static const char *const ops[] = {"ArgMax", "ArgMin", "Hardmax"}, *const in[] = {"x"};
    const port x = {.name = "x", .elem = FLOAT, .shape = {2, {3, 0}}};
    for (size_t i = 0; i < 3; i++) {
        takt_model *m = NULL;
        takt_plan *plan = NULL;
        begin(ops[i], in, 1);
        add_int("axis", 1);
        takt_status status = load(&x, 1, FLOAT, &m);
        if (status == TAKT_OK)
            status = takt_plan_create(m, NULL, &plan);
        EXPECT(status != TAKT_OK && strstr(takt_last_error(ctx), "empty") != NULL, "%s: %s", ops[i],
               takt_last_error(ctx));
        takt_plan_destroy(plan);
        takt_model_destroy(m);
    }
}

/* Towards zero, then to the nearest end of the range; NaN becomes 0. */
static void casts(void)
{
    static const float in[6] = {1e30f, -1e30f, NAN, 300.7f, -1.9f, INFINITY};
    static const char *const names[] = {"x"};
    static const int to[] = {INT32, INT8, UINT8};
    static const int64_t want[3][6] = {{INT32_MAX, INT32_MIN, 0, 300, -1, INT32_MAX},
                                       {127, -128, 0, 127, -1, 127},
                                       {255, 0, 0, 255, 0, 255}};
    const port x = {.name = "x", .elem = FLOAT, .shape = {1, {6}}};
    for (size_t b = 0; b < 2; b++)
        for (size_t i = 0; i < 3; i++) {
            int32_t got32[6];
            int8_t got8[6];
            takt_tensor_view y;
            begin("Cast", names, 1);
            add_int("to", to[i]);
            if (!run(&x, 1, backends[b], in, sizeof in, i == 0 ? (void *)got32 : got8,
                     i == 0 ? sizeof got32 : sizeof got8, &y))
                continue;
            for (size_t k = 0; k < 6; k++) {
                const int64_t got = i == 0 ? got32[k] : i == 1 ? got8[k] : (uint8_t)got8[k];
                EXPECT(got == want[i][k], "%s, to %d, %g: %lld", backends[b], to[i], (double)in[k],
                       (long long)got);
            }
        }
}

/* The result has stride times the input's size; what no element reaches is 0. */
static void wide_strides(void)
{
    static const float in[3] = {1, 2, 3}, w[2] = {10, 100};
    static const float want[9] = {10, 100, 0, 20, 200, 0, 30, 300, 0};
    static const char *const names[] = {"x", "w"}, *const sides[] = {"SAME_UPPER", "SAME_LOWER"};
    const port ports[] = {
        {.name = "x", .elem = FLOAT, .shape = {3, {1, 1, 3}}},
        {.name = "w", .elem = FLOAT, .shape = {3, {1, 1, 2}}, .raw = w, .bytes = sizeof w}};
    for (size_t i = 0; i < 4; i++) {
        float got[9];
        takt_tensor_view y = {0};
        begin("ConvTranspose", names, 2);
        add_text("auto_pad", sides[i % 2]);
        attribute.length = 0;
        pb_text(&attribute, 1, "strides");
        pb_int(&attribute, 8, 3);
        pb_int(&attribute, 20, 7);
        pb_message(&node, 5, &attribute);
        if (!run(ports, 2, backends[i / 2], in, sizeof in, got, sizeof got, &y))
            continue;
        EXPECT(y.rank == 3 && y.dims[2] == 9, "%lld columns", (long long)y.dims[2]);
        for (size_t k = 0; k < 9; k++)
            EXPECT(got[k] == want[k], "%s: element %zu is %g", sides[i % 2], k, (double)got[k]);
    }
}

/* What goes into any activation is clipped, the cell's on its way to the output too. */
static void clips(void)
{
    static const float in[2] = {5, 5}, w[4] = {1, 1, 1, 1}, r[4] = {0};
    static const char *const names[] = {"x", "w", "r"};
    const float clip = 0.5f;
    const port ports[] = {
        {.name = "x", .elem = FLOAT, .shape = {3, {2, 1, 1}}},
        {.name = "w", .elem = FLOAT, .shape = {3, {1, 4, 1}}, .raw = w, .bytes = sizeof w},
        {.name = "r", .elem = FLOAT, .shape = {3, {1, 4, 1}}, .raw = r, .bytes = sizeof r}};
    double c = 0, want[2];
    for (size_t i = 0; i < 2; i++) {
        const double gate = 1 / (1 + exp(-(double)clip));
        c = gate * c + gate * tanh((double)clip);
        want[i] = gate * tanh(fmin(c, (double)clip));
    }
    for (size_t b = 0; b < 2; b++) {
        float got[2];
        takt_tensor_view y;
        begin("LSTM", names, 3);
        add_int("hidden_size", 1);
        add_float("clip", clip);
        if (!run(ports, 3, backends[b], in, sizeof in, got, sizeof got, &y))
            continue;
        for (size_t i = 0; i < 2; i++)
            EXPECT(fabs((double)got[i] - want[i]) < 1e-5, "%s, step %zu: %g, not %g", backends[b],
                   i, (double)got[i], want[i]);
    }
}

static void open_all(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void close_all(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(open_all, empty_axes, casts, wide_strides, clips, close_all)
