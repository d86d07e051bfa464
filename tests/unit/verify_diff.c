/* verify_diff.c - `takt diff`: faults planted at every layer are found, with their cause. */
#include <string.h>

#include <takt/takt.h>

#include "test.h"
#include "util/meter.h"
#include "util/random_array.h"

enum { LAYERS = 5, SIZE = 6, TEXT = 16384 };

static takt_ctx *ctx;

typedef struct writer {
    char *text;
    size_t length;
} writer;

static void add(writer *w, const char *format, ...) TAKT_PRINTF(2, 3);

static void add(writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    w->length += (size_t)vsnprintf(w->text + w->length, TEXT - w->length, format, args);
    va_end(args);
}

static void write_weights(writer *w, int layer, bool is_changed, bool is_transposed)
{
    double at[SIZE][SIZE];
    takt_random r = {.state = (uint64_t)layer + 77};
    for (int i = 0; i < SIZE; i++)
        for (int k = 0; k < SIZE; k++)
            at[i][k] = takt_random_between(&r, -1, 1);
    at[2][3] += is_changed ? 0.01 : 0;
    add(w, "constant(f32[%d, %d], [", SIZE, SIZE);
    for (int i = 0; i < SIZE * SIZE; i++)
        add(w, "%s%.6f", i > 0 ? ", " : "",
            is_transposed ? at[i % SIZE][i / SIZE] : at[i / SIZE][i % SIZE]);
    add(w, "])");
}

/* Every layer can have every fault; `fault` is a cause, or NULL. */
static void write_model(char *text, const char *fault, int layer)
{
    writer w = {.text = text};
    add(&w, "model m(x: f32[4, %d]) {\n  h0 = x * 1\n", SIZE);
    for (int k = 1; k <= LAYERS; k++) {
        const char *f = fault != NULL && k == layer ? fault : "";
        const bool over = strcmp(f, "overflow") == 0, under = strcmp(f, "underflow") == 0;
        add(&w,
            over ? "  s%d = cast(cast(h%d * 300000, dtype=f16), dtype=f32)\n"
                 : "  s%d = h%d * 300000\n",
            k, k - 1);
        add(&w,
            under ? "  t%d = cast(cast(s%d * 1e-15, dtype=f16), dtype=f32)\n"
                  : "  t%d = s%d * 1e-15\n",
            k, k);
        add(&w, "  v%d = t%d * 3.3e9\n  p%d = v%d @ ", k, k, k, k);
        write_weights(&w, k, strcmp(f, "weights") == 0, strcmp(f, "layout") == 0);
        add(&w,
            strcmp(f, "cancellation") == 0 ? "\n  c%d = (p%d + 4096) - 4096\n"
                                           : "\n  c%d = p%d * 1\n",
            k, k);
        if (strcmp(f, "element type") == 0)
            add(&w, "  h%d = cast(cast(tanh(c%d), dtype=bf16), dtype=f32)\n", k, k);
        else if (strcmp(f, "quantisation range") == 0)
            add(&w,
                "  h%d = dequantize(quantize(tanh(c%d), constant(f32[], 0.002), axis=0), "
                "constant(f32[], 0.002), axis=0)\n",
                k, k);
        else if (strcmp(f, "attribute or semantics") == 0)
            add(&w, "  h%d = sigmoid(c%d)\n", k, k);
        else
            add(&w, "  h%d = tanh(c%d)\n", k, k);
    }
    add(&w, "  return h%d\n}\n", LAYERS);
}

static int drop(void *user, const char *text, size_t length)
{
    (void)user, (void)text, (void)length;
    return 0;
}

/* `a` NULL: without a reference. */
static bool compare(const char *a, const char *b, takt_diff_summary *s)
{
    takt_model *ref = NULL, *own = NULL;
    const takt_diff_options o = {.summary = s};
    bool good = (a == NULL ||
                 EXPECT_OK(ctx, takt_model_load_memory(ctx, "a.takt", a, strlen(a), NULL, &ref))) &&
                EXPECT_OK(ctx, takt_model_load_memory(ctx, "b.takt", b, strlen(b), NULL, &own)) &&
                EXPECT_OK(ctx, takt_model_diff(ref, own, &o, TAKT_FORMAT_JSON, drop, NULL));
    takt_model_destroy(ref);
    takt_model_destroy(own);
    return good;
}

static void planted(void)
{
    static const struct {
        const char *cause;
        char node;
    } faults[] = {{"overflow", 's'},
                  {"underflow", 't'},
                  {"cancellation", 'c'},
                  {"element type", 'h'},
                  {"quantisation range", 'h'},
                  {"weights", 'p'},
                  {"attribute or semantics", 'h'},
                  {"layout", 'p'}};
    static char a[TEXT], b[TEXT];
    size_t right = 0, tried = 0;
    write_model(a, NULL, 0);
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
        for (int k = 1; k <= LAYERS; k++) {
            takt_diff_summary s = {0};
            char node[16];
            snprintf(node, sizeof node, "%c%d", faults[f].node, k);
            write_model(b, faults[f].cause, k);
            if (!compare(a, b, &s))
                continue;
            const bool is_right =
                strcmp(s.node, node) == 0 && strcmp(s.cause, faults[f].cause) == 0;
            if (!is_right)
                printf("planted %s at %s: told %s at %s\n", faults[f].cause, node, s.cause, s.node);
            tried++;
            right += is_right;
        }
    printf("%zu of %zu planted faults told with node and cause\n", right, tried);
    EXPECT(tried == 40 && right >= 38, "%zu of %zu", right, tried);
}

static void equal(void)
{
    static char a[TEXT];
    takt_diff_summary s = {0};
    write_model(a, NULL, 0);
    if (compare(a, a, &s))
        EXPECT(s.findings == 0 && s.unmatched == 0 && s.matched > 20 && s.node[0] == '\0' &&
                   strcmp(s.cause, "none") == 0,
               "%zu findings, %zu unmatched", s.findings, s.unmatched);
}

/* An error propagates through later nodes, but is introduced once. */
static void carried(void)
{
    static char a[TEXT], b[TEXT];
    takt_diff_summary s = {0};
    write_model(a, NULL, 0);
    write_model(b, "weights", 2);
    if (compare(a, b, &s))
        EXPECT(s.findings == 1, "%zu findings for one fault", s.findings);
}

/* Without a reference: finds the loss of f32 and narrower types against doubles. */
static void alone(void)
{
    static const struct {
        const char *cause;
        char node;
    } faults[] = {
        {"overflow", 's'}, {"underflow", 't'}, {"cancellation", 'c'}, {"element type", 'h'}};
    static char b[TEXT];
    takt_diff_summary s = {0};
    write_model(b, NULL, 0);
    if (compare(NULL, b, &s))
        EXPECT(s.findings == 0 && s.unmatched == 0 && s.matched > 20, "%zu findings: %s at %s",
               s.findings, s.cause, s.node);
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
        for (int k = 1; k <= LAYERS; k++) {
            char node[16];
            snprintf(node, sizeof node, "%c%d", faults[f].node, k);
            write_model(b, faults[f].cause, k);
            if (compare(NULL, b, &s))
                EXPECT(strcmp(s.node, node) == 0 && strcmp(s.cause, faults[f].cause) == 0,
                       "planted %s at %s: told %s at %s", faults[f].cause, node, s.cause, s.node);
        }
    static const char mixed[] =
        "model m(x: f32[4, 6], i: i64[3]) {\n  y = select(x > 0, softmax(x), gelu(x))\n"
        "  z = op.gather(y, i, axis=1)\n  a, b = split(z, sizes=[2, 2])\n"
        "  return layer_norm(a) + b\n}\n";
    if (compare(NULL, mixed, &s))
        EXPECT(s.findings == 0 && s.matched > 4, "%zu findings: %s at %s", s.findings, s.cause,
               s.node);
    static const char several[] =
        "model m(x: f32[4, 6]) {\n  v, i = top_k(x, k=2)\n"
        "  return v * 2, i, bitcast(bitcast(x, dtype=i32), dtype=f32)\n}\n";
    if (compare(NULL, several, &s))
        EXPECT(s.findings == 0 && s.matched > 0, "%zu findings: %s at %s", s.findings, s.cause,
               s.node);
}

static void refused(void)
{
    static const char state[] = "model m(x: f32[1]) {\nstate s: f32[1] = 0\ny = s + x\n"
                                "next s = y\nreturn y\n}\n";
    takt_model *m = NULL;
    float x[4] = {0};
    takt_known_input known = {.view = {.dtype = TAKT_F32, .rank = 2, .data = x}};
    known.view.dims[0] = known.view.dims[1] = 2;
    const takt_diff_options o = {.data = &known, .data_count = 1};
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "a.takt", state, strlen(state), NULL, &m));
    EXPECT(takt_model_diff(m, m, NULL, TAKT_FORMAT_TEXT, drop, NULL) == TAKT_ERR_STATE, "%s",
           takt_last_error(ctx));
    takt_model_destroy(m);
    static const char plain[] = "model m(x: f32[3]) {\nreturn x * 2\n}\n";
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "a.takt", plain, strlen(plain), NULL, &m));
    EXPECT(takt_model_diff(m, m, &o, TAKT_FORMAT_TEXT, drop, NULL) == TAKT_ERR_ARGUMENT, "%s",
           takt_last_error(ctx));
    takt_model_destroy(m);
}

/* Peak memory beyond the models while a chain of layers is compared with itself (0), with one of
 * other names (1), or with doubles (2). */
static size_t peak_of(int layers, int how)
{
    meter bytes = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&bytes);
    const takt_config config = {.allocator = &allocator};
    takt_model *m[2] = {NULL};
    takt_ctx *own = ctx;
    size_t before = 0;
    takt_diff_summary s = {0};
    const takt_diff_options o = {.summary = &s};

    EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
    for (int i = 0; i < 2; i++) {
        static char text[TEXT];
        writer w = {.text = text};
        const char name = how == 1 && i == 0 ? 'a' : 'h';
        add(&w, "model m(x: f32[64, 64]) {\n  %c0 = x * 1\n", name);
        for (int k = 0; k < layers; k++)
            add(&w, "  %c%d = tanh(dense(%c%d, 64, bias=false))\n", name, k + 1, name, k);
        add(&w, "  return %c%d\n}\n", name, layers);
        EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &m[i]));
    }
    before = bytes.live;
    bytes.peak = before;
    EXPECT_OK(ctx, takt_model_diff(how == 2 ? NULL : m[0], m[1], &o, TAKT_FORMAT_TEXT, drop, NULL));
    EXPECT(s.unmatched == 0 && s.matched >= 2 * (size_t)layers, "%d: %zu of %zu", how, s.matched,
           s.unmatched);
    takt_model_destroy(m[0]);
    takt_model_destroy(m[1]);
    takt_ctx_destroy(ctx);
    ctx = own;
    return bytes.peak - before;
}

/* An additional layer costs its nodes in both graphs but none of its values, which are ten of 32
 * KiB, including weights. */
static void one_layer(void)
{
    enum { FEW = 4, MANY = 20, VALUE = 64 * 64 * 8 };
    for (int how = 0; how < 3; how++) {
        const size_t few = peak_of(FEW, how), many = peak_of(MANY, how);
        EXPECT(many - few < (MANY - FEW) * (size_t)VALUE / 2, "%d: %zu bytes, then %zu", how, few,
               many);
    }
}

static void start(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void stop(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(start, planted, equal, carried, alone, one_layer, refused, stop)
