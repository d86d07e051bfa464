/* write.c - models written as TensorFlow Lite and read back: floats, integers, what is refused, and
 * every allocation and file operation failing in turn. LiteRT itself reads them in written.py. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "base/error.h"
#include "test.h"
#include "util/inject.h"
#include "util/shrinking.h"

static takt_ctx *ctx;
static char file[1024], again[1024], compiled[1024], report[SHRINK_REPORT];

static takt_model *from_text(const char *text, size_t length, const char *which)
{
    takt_model *m = NULL;
    const takt_load_options options = {.model = which};
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, length, &options, &m));
    return m;
}

static takt_session *session_of(const takt_model *m, takt_plan **plan)
{
    takt_session *s = NULL;
    *plan = NULL;
    if (EXPECT_OK(ctx, takt_plan_create(m, &(takt_plan_options){.threads = 1}, plan)))
        EXPECT_OK(ctx, takt_session_create(*plan, NULL, &s));
    return s;
}

/* Inputs are equal for both, so outputs are equal except for rounding. Three runs show how state
 * develops. */
static void compare(const char *name, const takt_model *a, const takt_model *b, double most)
{
    takt_plan *plans[2];
    takt_session *s[2] = {session_of(a, &plans[0]), session_of(b, &plans[1])};
    for (size_t k = 0; k < 2 && s[0] != NULL && s[1] != NULL; k++) {
        for (size_t i = 0; i < takt_session_input_count(s[k]); i++) {
            const takt_tensor_view *x = takt_session_input(s[k], i);
            EXPECT_OK(ctx, x->dtype == TAKT_I64 ? takt_view_random_below(ctx, x, 5, (uint32_t)i, 4)
                                                : takt_view_random(ctx, x, 5, (uint32_t)i));
        }
        for (size_t run = 0; run < 3; run++)
            EXPECT_OK(ctx, takt_session_run(s[k]));
    }
    for (size_t i = 0; s[0] != NULL && s[1] != NULL && i < takt_session_output_count(s[0]); i++) {
        const takt_tensor_view *x = takt_session_output(s[0], i), *y = takt_session_output(s[1], i);
        size_t count = 1;
        double largest = 0, error = 0;
        bool same = x->rank == y->rank && x->dtype == y->dtype;
        for (int d = 0; same && d < x->rank; d++) {
            same = x->dims[d] == y->dims[d];
            count *= (size_t)x->dims[d];
        }
        EXPECT(same, "%s: output %zu has another type", name, i);
        for (size_t k = 0; same && k < count; k++) {
            const double u = takt_view_element(x, k), v = takt_view_element(y, k);
            largest = fmax(largest, fabs(u));
            error = isnan(u) || isnan(v) ? INFINITY : fmax(error, fabs(u - v));
        }
        EXPECT(error <= most * largest, "%s: output %zu is %g off, of %g", name, i, error, largest);
    }
    for (size_t k = 0; k < 2; k++) {
        takt_session_destroy(s[k]);
        takt_plan_destroy(plans[k]);
    }
}

static long size_of(const char *path)
{
    FILE *f = fopen(path, "rb");
    const long size = f != NULL && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (f != NULL)
        (void)fclose(f);
    return size;
}

static void there_and_back(const char *name, const takt_model *m, double most)
{
    takt_model *back = NULL;
    if (EXPECT_OK(ctx, takt_model_save(m, file, NULL)) &&
        EXPECT_OK(ctx, takt_model_load(ctx, file, NULL, &back)))
        compare(name, m, back, most);
    takt_model_destroy(back);
}

/* ---- every model of written.takt ---- */

static char *whole_file(const char *path, size_t *length)
{
    FILE *f = fopen(path, "rb");
    char *text = f != NULL ? calloc(1, 1 << 16) : NULL;
    *length = text != NULL ? fread(text, 1, (1 << 16) - 1, f) : 0;
    if (f != NULL)
        (void)fclose(f);
    return text;
}

static void floats(void)
{
    size_t length, count = 0;
    char *text = whole_file("tests/tflite/written.takt", &length);
    for (const char *at = text; at != NULL && (at = strstr(at, "\nmodel ")) != NULL; count++) {
        char name[64];
        at += strlen("\nmodel ");
        const size_t n = strcspn(at, "(");
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        takt_model *m = from_text(text, length, name);
        if (m != NULL)
            there_and_back(name, m, 1e-5);
        takt_model_destroy(m);
    }
    EXPECT(count > 40, "only %zu models", count);
    free(text);
}

/* ---- integers ---- */

static const char mixed[] = "model m(x: f32[batch, 1, 8, 8]) seed=5 {\n"
                            "  h = conv2d(x, 8, kernel=3, act=relu)\n"
                            "  a = depthwise(h, 3, act=relu6) |> conv(8, 1)\n"
                            "  h = max_pool(relu(h + a), 2, stride=2)\n"
                            "  h = concat(conv(h, 4, 3, act=relu), conv(h, 4, 1), axis=1)\n"
                            "  h = avg_pool(h, 2, stride=2) |> conv(8, 1)\n"
                            "  return softmax(dense(reduce_mean(h, axes=[2, 3]), 4))\n"
                            "}\n";

/* A file read with its scales and written again: the same integers, bit for bit. */
static void twice(const char *name, const char *from)
{
    takt_model *kept = NULL, *a = NULL, *b = NULL;
    const takt_load_options options = {.keep_scales = true};
    if (EXPECT_OK(ctx, takt_model_load(ctx, from, &options, &kept)) &&
        EXPECT_OK(ctx, takt_model_save(kept, again, NULL)) &&
        EXPECT_OK(ctx, takt_model_load(ctx, from, NULL, &a)) &&
        EXPECT_OK(ctx, takt_model_load(ctx, again, NULL, &b)))
        compare(name, a, b, 0);
    takt_model_destroy(kept);
    takt_model_destroy(a);
    takt_model_destroy(b);
}

/* A quantised model differs from the written one by one level here and there. */
static void integers(void)
{
    static const takt_verdict faster[] = {TAKT_FASTER};
    static const char *const types[] = {"int8", "w4a8", "w8", "int16x8"};
    long sizes[sizeof types / sizeof *types] = {0};
    takt_model *m = from_text(mixed, strlen(mixed), NULL);
    takt_data *data = shrink_data(ctx, "tflite", 64, 0);
    for (size_t i = 0; i < sizeof types / sizeof *types && m != NULL && data != NULL; i++) {
        shrink_told told = {.verdicts = faster, .count = 1};
        takt_quantize_options o = {.type = types[i],
                                   .calib = data,
                                   .compare = shrink_tell,
                                   .compare_user = &told,
                                   .whole = true};
        takt_model *q = NULL;
        report[0] = 0;
        if (EXPECT_OK(ctx,
                      takt_model_quantize(m, &o, TAKT_FORMAT_TEXT, shrink_keep_text, report, &q))) {
            there_and_back(types[i], q, 0.06);
            sizes[i] = size_of(file);
            twice(types[i], file);
            EXPECT(size_of(again) < size_of(file) + size_of(file) / 8, "%s: %ld bytes became %ld",
                   types[i], size_of(file), size_of(again));
            if (i == 0)
                EXPECT_OK(ctx, takt_model_save(q, compiled, NULL));
        }
        takt_model_destroy(q);
    }
    EXPECT(sizes[1] > 0 && sizes[1] + 200 < sizes[0], "4 bits take %ld bytes, 8 bits %ld", sizes[1],
           sizes[0]);
    takt_data_destroy(data);
    takt_model_destroy(m);
}

/* Weights of f16 stay f16: 64 x 64 of them take 8 KiB. */
static void halves(void)
{
    static const char text[] = "model m(x: f32[1, 64]) seed=1 { param w: f16[64, 64] = he\n"
                               " return x @ cast(w, dtype=f32) }";
    takt_model *m = from_text(text, strlen(text), NULL);
    if (m != NULL)
        there_and_back("f16", m, 1e-5);
    EXPECT(size_of(file) < 10000, "%ld bytes", size_of(file));
    takt_model_destroy(m);
}

/* Weights with a scale for each block stay bytes, or half bytes: 256 x 64 of them. */
static void blocks(void)
{
    static const char text[] = "model m(x: f32[1, 256]) seed=1 { return dense(x, 64) }";
    static const char *const types[] = {"w8", "w4"};
    takt_model *m = from_text(text, strlen(text), NULL);
    for (size_t i = 0; i < 2 && m != NULL; i++) {
        const takt_quantize_options o = {.type = types[i], .size_first = true};
        takt_model *q = NULL;
        report[0] = 0;
        if (EXPECT_OK(ctx,
                      takt_model_quantize(m, &o, TAKT_FORMAT_TEXT, shrink_keep_text, report, &q)))
            there_and_back(types[i], q, 1e-5);
        EXPECT(size_of(file) < (i == 0 ? 21000 : 13000), "%s: %ld bytes", types[i], size_of(file));
        takt_model_destroy(q);
    }
    takt_model_destroy(m);
}

/* ---- refusals ---- */

static void refused(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"model m(x: f32[2]) { state s: f64[2] = 0\n next s = s + 1\n return y = x }",
         "s (state): TensorFlow Lite does not compute with f64"},
        {"model m(x: f64[2]) { return y = x + 1 }", "f64"},
        {"model m(x: f32[2]) { return y = erf(x) }", "erf"},
        {"model m(x: f32[9]) { a, at = top_k(x, k=2, sorted=false)\n return y = a }", "top_k"},
        {"model m(x: f32[1500000000]) { return y = concat(x, x, axis=0) }",
         "a size is too large: 3000000000"},
        {"model m(x: f32[1, 2, 4, 4, 4]) { return y = conv3d(x, 2, groups=2) }", "groups"},
        {"model m(x: f32[1, 2, 8, 8], w: f32[3, 2, 3, 3]) { return y = op.conv(x, w) }", "weights"},
        {"model m(x: f32[4, 4]) { return y = pad(x, before=[1, 1], after=[0, 0], mode=edge) }",
         "pad"},
        {"model m(x: f32[1, 2, 8, 8]) { return y = op.avg_pool(x, kernel=[3, 3], stride=[2, 2], "
         "pad=[1, 1, 1, 1]) }",
         "avg_pool"},
        {"model m(x: f32[1, 2, 8]) { return y = op.conv_dx(x, constant(f32[2, 3, 2], 1), "
         "shape=[1, 3, 9]) }",
         "conv_dx"},
        {"model m(x: f32[4]) { z = constant(i8[], [0])\n"
         "return y = dequantize(quantize(x, constant(f32[], [0.5]), z), constant(f32[], [1]), z) }",
         "another scale"},
        {"model m(x: i8[4]) { z = constant(i8[], [0])\n"
         "return y = dequantize(x, constant(f32[], [0.5]), z), "
         "u = dequantize(x, constant(f32[], [1]), z) }",
         "another scale"},
        {"model m(x: f32[1, 4]) { z = constant(i8[], [0])\n"
         "a = quantize(x, constant(f32[], [0.5]), z)\n"
         "b = quantize(x, constant(f32[], [0.25]), z)\n"
         "return y = dequantize(concat(a, b, axis=1), constant(f32[], [0.5]), z) }",
         "another scale"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        takt_model *m = from_text(cases[i].text, strlen(cases[i].text), NULL);
        (void)remove(file);
        const takt_status status = m != NULL ? takt_model_save(m, file, NULL) : TAKT_OK;
        const takt_error *e = takt_last_error_info(ctx);
        EXPECT(status == TAKT_ERR_UNSUPPORTED && e->id == TAKT_E_TFLITE_WRITE &&
                   strstr(takt_last_error(ctx), cases[i].says) != NULL,
               "%zu: %d, %s", i, (int)status, takt_last_error(ctx));
        FILE *f = fopen(file, "rb");
        EXPECT(f == NULL, "%zu: a file was written", i);
        if (f != NULL)
            (void)fclose(f);
        takt_model_destroy(m);
    }
}

/* An operator that is kept whole, with its state. An initial value that LiteRT would not use is
 * refused. */
static char whole[] = "tests/corpus/tflite/legal_svdf_i8";

static void kept_whole(void)
{
    twice("svdf", whole);
    takt_model *m = NULL;
    const takt_load_options options = {.keep_scales = true};
    int16_t one[6] = {1};
    takt_param state;
    const takt_tensor_view first = {.dtype = TAKT_I16, .rank = 2, .dims = {1, 6}, .data = one};
    if (EXPECT_OK(ctx, takt_model_load(ctx, whole, &options, &m)) &&
        EXPECT_OK(ctx, takt_model_param(m, 0, &state)) &&
        EXPECT_OK(ctx, takt_model_param_put(m, state.name, &first)))
        EXPECT(takt_model_save(m, again, NULL) == TAKT_ERR_UNSUPPORTED &&
                   takt_last_error_info(ctx)->id == TAKT_E_TFLITE_WRITE,
               "%s", takt_last_error(ctx));
    takt_model_destroy(m);
    takt_model *plain = NULL; /* the body computes the operator */
    if (EXPECT_OK(ctx, takt_model_load(ctx, whole, &options, &m)) &&
        EXPECT_OK(ctx, takt_model_load(ctx, whole, NULL, &plain)))
        compare("svdf kept", plain, m, 0);
    takt_model_destroy(plain);
    takt_model_destroy(m);
}

/* ---- failures ---- */

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    takt_model *m = NULL;
    takt_inject_config(inject, &config);
    TAKT_TRY(takt_ctx_create(&config, &own));
    const char *text = user;
    const takt_load_options keep = {.keep_scales = true};
    takt_status status = text == again || text == whole ? takt_model_load(own, text, &keep, &m)
                         : text != NULL
                             ? takt_model_load_memory(own, "m", text, strlen(text), NULL, &m)
                             : takt_model_load(own, compiled, NULL, &m);
    if (status == TAKT_OK)
        status = takt_model_save(m, file, NULL);
    takt_model_destroy(m);
    takt_ctx_destroy(own);
    return status;
}

static void sweep(void)
{
    static char small[] = "model m(x: f32[1, 2, 6]) { return y = lstm(transpose(conv1d(x, 2), "
                          "perm=[0, 2, 1])[:, :2], 2) |> dense(2, act=softmax) }";
    static char stateful[] =
        "model m(x: f32[2]) { state s: f32[2] = 1\n next s = s + x\n return s }";
    takt_sweep_report r = takt_sweep(scenario, small, TAKT_INJECT_ALL);
    EXPECT(r.is_good && r.runs > 50, "%s (%llu runs)", r.message, (unsigned long long)r.runs);
    r = takt_sweep(scenario, stateful, TAKT_INJECT_ALL);
    EXPECT(r.is_good && r.runs > 50, "%s (%llu runs)", r.message, (unsigned long long)r.runs);
    r = takt_sweep_some(scenario, again, TAKT_INJECT_MEMORY, 200);
    EXPECT(r.is_good && r.runs > 50, "%s (%llu runs)", r.message, (unsigned long long)r.runs);
    r = takt_sweep_some(scenario, whole, TAKT_INJECT_MEMORY, 400);
    EXPECT(r.is_good && r.runs > 50, "%s (%llu runs)", r.message, (unsigned long long)r.runs);
    r = takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good && r.runs > 50, "%s (%llu runs)", r.message, (unsigned long long)r.runs);
}

int main(void)
{
    const char *tmp = getenv("TAKT_TEST_TMP");
    snprintf(file, sizeof file, "%s/m.tflite", tmp != NULL ? tmp : "/tmp");
    snprintf(again, sizeof again, "%s/again.tflite", tmp != NULL ? tmp : "/tmp");
    snprintf(compiled, sizeof compiled, "%s/m.taktp", tmp != NULL ? tmp : "/tmp");
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    floats();
    integers();
    halves();
    blocks();
    kept_whole();
    refused();
    sweep();
    takt_ctx_destroy(ctx);
    return test_done();
}
