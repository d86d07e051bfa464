/* onnx_choices.c - points that ONNX's text leaves open or mentions only briefly, decided as in
 * docs/onnx.md: empty axes of ArgMax, ArgMin and Hardmax, Cast beyond the integer's range,
 * ConvTranspose whose stride is larger than its kernel with auto_pad SAME, and the clip of LSTM. */
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

/* The first port is the input, others are initialisers; `y` has no shape. */
static takt_status load(const port *ports, size_t count, takt_model **m)
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
    value.length = 0;
    pb_text(&value, 1, "y");
    pb_message(&graph, 12, &value);
    pb_model(&model, &graph, 14);
    return takt_model_load_memory(ctx, "choices", model.at, model.length, NULL, m);
}

typedef struct trial {
    const port *ports;
    size_t count;
    const void *in; /* values of the first port */
    size_t in_bytes;
    void *out;
    size_t out_bytes;
    takt_tensor_view y; /* shape of the result */
} trial;

/* One run; true with the result's bytes in `out`. */
static bool run(trial *t, const char *backend)
{
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options options = {.threads = 1, .backend = backend};
    bool ok = EXPECT_OK(ctx, load(t->ports, t->count, &m)) &&
              EXPECT_OK(ctx, takt_plan_create(m, &options, &plan)) &&
              EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    if (ok) {
        memcpy(takt_session_input(s, 0)->data, t->in, t->in_bytes);
        ok = EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
    }
    if (ok) {
        t->y = *takt_session_output(s, 0);
        memcpy(t->out, t->y.data, t->out_bytes);
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
        takt_status status = load(&x, 1, &m);
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
            trial t = {.ports = &x,
                       .count = 1,
                       .in = in,
                       .in_bytes = sizeof in,
                       .out = i == 0 ? (void *)got32 : got8,
                       .out_bytes = i == 0 ? sizeof got32 : sizeof got8};
            begin("Cast", names, 1);
            add_int("to", to[i]);
            if (!run(&t, backends[b]))
                continue;
            for (size_t k = 0; k < 6; k++) {
                const int64_t got = i == 0 ? got32[k] : i == 1 ? got8[k] : (uint8_t)got8[k];
                EXPECT(got == want[i][k], "%s, to %d, %g: %lld", backends[b], to[i], (double)in[k],
                       (long long)got);
            }
        }
}

/* The result has stride times the input's size; elements that no tap reaches are 0. */
static void wide_strides(void)
{
    static const float in[3] = {1, 2, 3}, w[2] = {10, 100};
    static const float want[9] = {10, 100, 0, 20, 200, 0, 30, 300, 0};
    static const char *const names[] = {"x", "w"}, *const sides[] = {"SAME_UPPER", "SAME_LOWER"};
    const pb_shape wide = {3, {1, 1, 3}}, narrow = {3, {1, 1, 2}};
    const port x = {.name = "x", .elem = FLOAT, .shape = wide};
    const port k = {.name = "w", .elem = FLOAT, .shape = narrow, .raw = w, .bytes = sizeof w};
    const port ports[] = {x, k};
    for (size_t i = 0; i < 4; i++) {
        float got[9];
        trial t = {ports, 2, in, sizeof in, got, sizeof got, {0}};
        begin("ConvTranspose", names, 2);
        add_text("auto_pad", sides[i % 2]);
        attribute.length = 0;
        pb_text(&attribute, 1, "strides");
        pb_int(&attribute, 8, 3);
        pb_int(&attribute, 20, 7);
        pb_message(&node, 5, &attribute);
        if (!run(&t, backends[i / 2]))
            continue;
        EXPECT(t.y.rank == 3 && t.y.dims[2] == 9, "%lld columns", (long long)t.y.dims[2]);
        EXPECT(memcmp(got, want, sizeof got) == 0, "%s: %g %g %g ...", sides[i % 2], (double)got[0],
               (double)got[1], (double)got[2]);
    }
}

/* Two steps of a cell whose inputs are all beyond the clip. */
static void clipped_cell(double clip, double want[2])
{
    double c = 0;
    for (size_t i = 0; i < 2; i++) {
        const double gate = 1 / (1 + exp(-clip));
        c = gate * c + gate * tanh(clip);
        want[i] = gate * tanh(fmin(c, clip));
    }
}

/* The input of every activation is clipped, including the cell's before the output. */
static void clips(void)
{
    static const float in[2] = {5, 5}, w[4] = {1, 1, 1, 1}, r[4] = {0};
    static const char *const names[] = {"x", "w", "r"};
    const float clip = 0.5f;
    const pb_shape steps = {3, {2, 1, 1}}, gates = {3, {1, 4, 1}};
    const port x = {.name = "x", .elem = FLOAT, .shape = steps};
    const port weights = {.name = "w", .elem = FLOAT, .shape = gates, .raw = w, .bytes = sizeof w};
    const port back = {.name = "r", .elem = FLOAT, .shape = gates, .raw = r, .bytes = sizeof r};
    const port ports[] = {x, weights, back};
    double want[2];
    clipped_cell((double)clip, want);
    for (size_t b = 0; b < 2; b++) {
        float got[2] = {0};
        trial t = {ports, 3, in, sizeof in, got, sizeof got, {0}};
        begin("LSTM", names, 3);
        add_int("hidden_size", 1);
        add_float("clip", clip);
        (void)run(&t, backends[b]);
        EXPECT(fabs((double)got[0] - want[0]) < 1e-5 && fabs((double)got[1] - want[1]) < 1e-5,
               "%s: %g and %g", backends[b], (double)got[0], (double)got[1]);
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
