/* weights.c - weights of every kind of file into a model and into one another. */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "base/error.h"
#include "util/sheet.h"

static takt_ctx *ctx;
static char folder[1024];

static const char *at(const char *name)
{
    static char paths[8][1200];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof *paths, "%s/%s", folder, name);
    return path;
}

static takt_model *model_of(const char *width)
{
    char text[400];
    takt_model *m = NULL;
    snprintf(text, sizeof text,
             "model m(x: f32[2, 3]) -> (y: f32[2, 4]) {\n"
             "  param w: f32[3, 4] = uniform(-%s, 1, stream=1)\n"
             "  param b: f32[4] = uniform(-1, 1, stream=2)\n"
             "  return y = x @ w + b\n}\n",
             width);
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &m));
    return m;
}

static void digest_of(const takt_model *m, char text[TAKT_DIGEST_TEXT])
{
    takt_plan *plan;
    takt_session *s;
    text[0] = '\0';
    if (!EXPECT_OK(ctx, takt_plan_create(m, NULL, &plan)))
        return;
    if (EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(s, 0), 1, 0));
        EXPECT_OK(ctx, takt_session_run(s));
        EXPECT_OK(ctx, takt_view_digest(ctx, takt_session_output(s, 0), 1, text));
        takt_session_destroy(s);
    }
    takt_plan_destroy(plan);
}

/* Parameters survive every kind of file; an existing plan does not keep the old ones. */
static void every_kind(void)
{
    static const char *const kinds[] = {"w.safetensors", "w.npz", "w.safetensors.index.json"};
    takt_model *m = model_of("1");
    char want[TAKT_DIGEST_TEXT], before[TAKT_DIGEST_TEXT], got[TAKT_DIGEST_TEXT];
    digest_of(m, want);
    for (size_t i = 0; i < 3; i++) {
        takt_model *n = model_of("2");
        digest_of(n, before);
        EXPECT(strcmp(want, before) != 0);
        EXPECT_OK(ctx, takt_model_save_weights(m, at(kinds[i]), NULL));
        EXPECT_OK(ctx, takt_model_load_weights(n, at(kinds[i])));
        digest_of(n, got);
        EXPECT(strcmp(want, got) == 0, "%s", kinds[i]);
        takt_model_destroy(n);
    }
    takt_model_destroy(m);
}

/* ---- rules ---- */

static void put_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    if (EXPECT(file != NULL)) {
        EXPECT_EQ(fwrite(text, 1, strlen(text), file), strlen(text));
        fclose(file);
    }
}

/* The same numbers under other names, with other axes. */
static takt_model *foreign(void)
{
    static const char text[] = "model m(x: f32[2, 4]) {\n"
                               "  param net.0.fc1.kernel: f32[3, 4] = uniform(-1, 1, stream=1)\n"
                               "  param net.0.fc1.steps: f32[1] = uniform(-1, 1, stream=3)\n"
                               "  param net.1.fc1.bias: f32[4] = uniform(-1, 1, stream=2)\n"
                               "  param cube: f32[2, 3, 4] = uniform(-1, 1, stream=4)\n"
                               "  return x\n}\n";
    takt_model *m = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "f.takt", text, strlen(text), NULL, &m));
    return m;
}

static const char *const ours = "model m(x: f32[2, 3]) -> (y: f32[2, 3]) {\n"
                                "  param fc1_0: f32[4, 3] = ones()\n  param b1: f32[4] = ones()\n"
                                "  param c: f32[4, 2, 3] = ones()\n  return y = x\n}\n";

static const float *value_of(const takt_model *m, const char *name, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < takt_model_param_count(m); i++) {
        takt_param p;
        if (takt_model_param(m, i, &p) != TAKT_OK || strcmp(p.name, name) != 0)
            continue;
        *count = 1;
        for (int d = 0; d < p.value.rank; d++)
            *count *= (size_t)p.value.dims[d];
        return p.value.data;
    }
    return NULL;
}

static void rules(void)
{
    static const char good[] = "# theirs -> ours\r\n\n"
                               "net.*.*.kernel -> *_* transpose   # swapped below\n"
                               "*.*.*.steps -> -\nnet.1.fc1.bias -> b1\n"
                               "cube -> c transpose=2,0,1\nnothing.* -> x\n";
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"a -> b\nnet.0.fc1.kernel", ":2: there is no"},
        {"a => b", ":1: there is no"},
        {"a ->", ":1: there is no"},
        {"a.* -> b.*.*", "more stars"},
        {"********* -> b", "more than 8"},
        {"a -> b turned", "is not `transpose`"},
        {"a -> b transpose=", "is not `transpose`"},
        {"a -> b transpose=0,0", "is not `transpose`"},
        {"a -> b transpose=0,2", "is not `transpose`"},
        {"a -> b transpose=1;0", "is not `transpose`"},
        {"a -> b transpose transpose", "is not `transpose`"},
        {"net.*.*.kernel -> fc1_0", "is f32[3, 4], the model has f32[4, 3]"},
        {"net.1.fc1.bias -> b1 transpose", "does not have the axes of rule 1"},
        {"cube -> c transpose=1,0", "does not have the axes of rule 1"},
        {"net.1.fc1.bias -> b1\nnet.0.fc1.steps -> b1", "b1 is there twice"},
    };
    takt_model *from = foreign(), *to = NULL;
    size_t count;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "o.takt", ours, strlen(ours), NULL, &to));
    EXPECT_OK(ctx, takt_model_save_weights(from, at("f.safetensors"), NULL));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_text(at("rules.txt"), bad[i].text);
        const takt_status status =
            takt_model_load_weights_by(to, at("f.safetensors"), at("rules.txt"));
        EXPECT(status != TAKT_OK && strstr(takt_last_error(ctx), bad[i].says) != NULL, "%s: %s",
               bad[i].text, takt_last_error(ctx));
    }
    /* net.*.*.kernel -> *_*: "0_fc1", which the model does not have; "fc1_0" it does */
    put_text(at("rules.txt"), good);
    EXPECT_STATUS(ctx, takt_model_load_weights_by(to, at("f.safetensors"), at("rules.txt")),
                  TAKT_ERR_NOT_FOUND);
    EXPECT(strstr(takt_last_error(ctx), "fc1_0, f32[4, 3] in the model, is missing") != NULL, "%s",
           takt_last_error(ctx));
    put_text(at("more.txt"), "net.0.*.kernel -> *_0 transpose\n*.*.*.steps -> -\n"
                             "net.1.fc1.bias -> b1\ncube -> c transpose=2,0,1\nnothing.* -> x");
    EXPECT_OK(ctx, takt_model_load_weights_by(to, at("f.safetensors"), at("more.txt")));
    const float *kernel = value_of(from, "net.0.fc1.kernel", &count);
    const float *own = value_of(to, "fc1_0", &count);
    for (size_t i = 0; EXPECT(kernel != NULL && own != NULL && count == 12) && i < 12; i++)
        EXPECT(own[i] == kernel[i % 3 * 4 + i / 3], "element %zu", i);
    const float *cube = value_of(from, "cube", &count), *c = value_of(to, "c", &count);
    for (size_t i = 0; EXPECT(cube != NULL && c != NULL && count == 24) && i < 24; i++)
        EXPECT(c[i] == cube[i / 3 % 2 * 12 + i % 3 * 4 + i / 6], "element %zu of c", i);
    takt_model_destroy(from);
    takt_model_destroy(to);
}

/* Its first 20 bytes, which end within the header. */
static void cut(const char *from, const char *to)
{
    char bytes[20];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    if (EXPECT(in != NULL && out != NULL))
        EXPECT(fread(bytes, 1, 20, in) == 20 && fwrite(bytes, 1, 20, out) == 20);
    if (in != NULL)
        fclose(in);
    if (out != NULL)
        fclose(out);
}

static void conversions(void)
{
    static const char *const chain[] = {"w.safetensors", "c.npz", "c.index.json", "d.safetensors"};
    const takt_convert_options options = {.shard_bytes = 20};
    takt_model *m = model_of("1"), *n = model_of("2");
    char want[TAKT_DIGEST_TEXT], got[TAKT_DIGEST_TEXT];
    bool holds;
    EXPECT_OK(ctx, takt_model_save_weights(m, at(chain[0]), NULL));
    for (size_t i = 0; i + 1 < 4; i++) {
        EXPECT_OK(ctx, takt_weights_convert(ctx, at(chain[i]), at(chain[i + 1]), &options));
        EXPECT(takt_weights_probe(ctx, at(chain[i]), &holds) == TAKT_OK && holds, "%s", chain[i]);
    }
    /* 48 bytes and 16 bytes in parts of at most 20: one each. */
    takt_tensor_view v;
    EXPECT_OK(ctx,
              takt_weights_convert(ctx, at("c-00002-of-00002.safetensors"), at("b.npy"), NULL));
    EXPECT_EQ(takt_npy_load(ctx, at("b.npy"), &v), TAKT_OK);
    EXPECT_EQ(v.rank, 1);
    EXPECT_EQ(v.dims[0], 4);
    takt_view_free(ctx, &v);
    EXPECT_OK(ctx, takt_weights_convert(ctx, at("b.npy"), at("b.safetensors"), NULL));
    EXPECT_OK(ctx, takt_model_load_weights(n, at(chain[3])));
    digest_of(m, want);
    digest_of(n, got);
    EXPECT_TEXT(want, got);
    EXPECT_STATUS(ctx, takt_weights_convert(ctx, at(chain[0]), at("x.npy"), NULL),
                  TAKT_ERR_NOT_FOUND);
    EXPECT_STATUS(ctx, takt_weights_convert(ctx, at(chain[0]), at("x.onnx"), NULL),
                  TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_weights_convert(ctx, at("missing"), at("x.npz"), NULL), TAKT_ERR_IO);
    EXPECT_STATUS(ctx, takt_weights_probe(ctx, at("missing"), &holds), TAKT_ERR_IO);
    EXPECT(strstr(takt_last_error(ctx), "missing: No such file") != NULL, "%s",
           takt_last_error(ctx));
    EXPECT_STATUS(ctx, takt_weights_probe(ctx, NULL, &holds), TAKT_ERR_ARGUMENT);
    if (EXPECT_OK(NULL, takt_weights_probe(ctx, "examples/mlp.takt", &holds)))
        EXPECT(!holds);
    cut(at("b.safetensors"), at("cut.safetensors"));
    if (EXPECT_OK(NULL, takt_weights_probe(ctx, at("cut.safetensors"), &holds)))
        EXPECT(holds);
    EXPECT_STATUS(ctx, takt_weights_convert(ctx, at("cut.safetensors"), at("x.npz"), NULL),
                  TAKT_ERR_FORMAT);
    EXPECT(strstr(takt_last_error(ctx), "longer than the file") != NULL, "%s",
           takt_last_error(ctx));
    takt_model_destroy(m);
    takt_model_destroy(n);
}

/* Names, types and bytes of each kind of file, and the parts that hold them. */
static void contents(void)
{
    static const char *const files[] = {"w.safetensors", "c.npz", "c.index.json", "b.npy"};
    for (size_t i = 0; i < 4; i++) {
        sheet text = {.length = 0}, json = {.length = 0};
        const bool is_one = i == 3;
        EXPECT_OK(ctx,
                  takt_weights_inspect(ctx, at(files[i]), TAKT_FORMAT_TEXT, sheet_keep, &text));
        EXPECT_OK(ctx,
                  takt_weights_inspect(ctx, at(files[i]), TAKT_FORMAT_JSON, sheet_keep, &json));
        EXPECT(strstr(text.at, is_one ? "1 tensor, 4 elements, 16 bytes"
                                      : "2 tensors, 16 elements, 64 bytes") != NULL,
               "%s: %s", files[i], text.at);
        EXPECT(strstr(text.at, "f32[4]") != NULL && strstr(json.at, "\"f32[4]\"") != NULL, "%s: %s",
               files[i], json.at);
        EXPECT((strstr(text.at, "c-00002-of-00002") != NULL) == (i == 2), "%s: %s", files[i],
               text.at);
    }
    sheet none = {.length = 0};
    EXPECT_STATUS(ctx,
                  takt_weights_inspect(ctx, at("missing"), TAKT_FORMAT_TEXT, sheet_keep, &none),
                  TAKT_ERR_IO);
    EXPECT(none.length == 0, "%s", none.at);
}

/* Everything that does not fit is reported at once, and the model is unchanged. */
static void mismatches(void)
{
    static const char text[] = "model m(x: f32[2, 3]) {\n"
                               "  param w: f32[3, 5] = 1\n  param c: f32[5] = 1\n"
                               "  return x @ w + c\n}\n";
    takt_model *m = model_of("1"), *n = NULL;
    char before[TAKT_DIGEST_TEXT], after[TAKT_DIGEST_TEXT];
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "n.takt", text, strlen(text), NULL, &n));
    EXPECT_OK(ctx, takt_model_save_weights(m, at("w.npz"), NULL));
    digest_of(n, before);
    EXPECT_STATUS(ctx, takt_model_load_weights(n, at("w.npz")), TAKT_ERR_NOT_FOUND);
    EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_WEIGHTS);
    EXPECT(strstr(takt_last_error(ctx), "in 2 places: w is f32[3, 4], the model has f32[3, 5]; "
                                        "c, f32[5] in the model, is missing") != NULL,
           "%s", takt_last_error(ctx));
    digest_of(n, after);
    EXPECT_TEXT(before, after);
    takt_model_destroy(m);
    takt_model_destroy(n);
}

/* Parameters without a file: reading them, and replacing one. */
static void by_name(void)
{
    takt_model *m = model_of("1");
    char before[TAKT_DIGEST_TEXT], after[TAKT_DIGEST_TEXT];
    float numbers[12] = {1, 2, 3};
    takt_tensor_view v = {.dtype = TAKT_F32, .rank = 2, .dims = {3, 4}, .data = numbers};
    takt_param p;
    digest_of(m, before);
    EXPECT_EQ(takt_model_param_count(m), 2);
    EXPECT_EQ(takt_model_param_count(NULL), 0);
    EXPECT_OK(ctx, takt_model_param(m, 0, &p));
    EXPECT_TEXT(p.name, "w");
    EXPECT(p.is_trainable);
    EXPECT_EQ(p.value.dims[1], 4);
    EXPECT_STATUS(ctx, takt_model_param(m, 2, &p), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_model_param_put(m, "W", &v), TAKT_ERR_NOT_FOUND);
    v.dims[0] = 2;
    EXPECT_STATUS(ctx, takt_model_param_put(m, "w", &v), TAKT_ERR_NOT_FOUND);
    EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_WEIGHTS);
    digest_of(m, after);
    EXPECT(strcmp(before, after) == 0, "failures changed the model");
    v.dims[0] = 3;
    EXPECT_OK(ctx, takt_model_param_put(m, "w", &v));
    EXPECT_OK(ctx, takt_model_param(m, 0, &p));
    EXPECT_EQ(((const float *)p.value.data)[2], 3);
    EXPECT(p.value.data != (void *)numbers);
    digest_of(m, after);
    EXPECT(strcmp(before, after) != 0, "a plan made afterwards has the old weights");
    takt_model_destroy(m);
}

static void views(void)
{
    static const uint8_t pb[] = {0x08, 0x02, 0x10, 0x01, 0x42, 0x01, 'x', 0x4a, 0x08,
                                 0,    0,    0x80, 0x3f, 0,    0,    0,   0xc0};
    takt_tensor_view v;
    FILE *f = fopen(at("x.pb"), "wb");
    EXPECT(f != NULL && fwrite(pb, 1, sizeof pb, f) == sizeof pb && fclose(f) == 0);
    if (EXPECT_OK(ctx, takt_view_load(ctx, at("x.pb"), NULL, &v))) {
        EXPECT_EQ(v.dtype, TAKT_F32);
        EXPECT_EQ(v.rank, 1);
        EXPECT_EQ(v.dims[0], 2);
        EXPECT_EQ(takt_view_element(&v, 0), 1);
        EXPECT_EQ(takt_view_element(&v, 1), -2);
        EXPECT(takt_view_element(&v, 2) != takt_view_element(&v, 2), "NaN beyond the last");
        EXPECT_OK(ctx, takt_npy_save(ctx, at("x.npy"), &v));
        takt_view_free(ctx, &v);
    }
    if (EXPECT_OK(ctx, takt_view_load(ctx, at("x.npy"), NULL, &v)))
        EXPECT_EQ(takt_view_element(&v, 1), -2);
    takt_view_free(ctx, &v);
    EXPECT_STATUS(ctx, takt_view_load(ctx, at("w.safetensors"), NULL, &v), TAKT_ERR_FORMAT);
    EXPECT_STATUS(ctx, takt_view_load(ctx, NULL, NULL, &v), TAKT_ERR_ARGUMENT);
}

int main(void)
{
    const char *tmp = getenv("TAKT_TEST_TMP");
    snprintf(folder, sizeof folder, "%s", tmp != NULL ? tmp : "/tmp");
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    every_kind();
    rules();
    conversions();
    contents();
    mismatches();
    by_name();
    views();
    takt_ctx_destroy(ctx);
    return test_done();
}
