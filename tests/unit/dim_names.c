/* dim_names.c - dimensions under names that exporters write: any UTF-8 text, through option texts,
 * descriptions and every format, without a change. */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "base/written.h"
#include "ir/name.h"
#include "test.h"
#include "util/pb.h"

static takt_ctx *ctx;
static char long_name[1000];

static const char *const names[] = {
    "batch",     "p2o.DynamicDimension.0",
    "n 0",       "batch.size",
    "\xc3\xa9",  "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e",
    "a-b",       "a,b",
    "a=b",       "a;b",
    "a:b",       "if",
    "0n",        "12",
    "x",         "y",
    "f32",       "min",
    "graph",     "none",
    "_",         "??",
    "-1",        ".",
    "a..b",      "a.",
    "`",         "`q`",
    "a`b\\c",    "`a,b`=3",
    "tab\there", "line\nbreak",
    "cr\rhere",  "\x1b[31mred",
    "\x7f",      "\xc2\x9b",
    "\"",        "#",
    "n(",        "2 n +",
    " ",         " n ",
    "=",         ",",
    long_name,
};
enum { COUNT = sizeof names / sizeof *names };

/* Relu of x: f32[name, 3]. */
static void make(pb *model, const char *name)
{
    static pb graph, node, value, tensor, shape, type, dim;
    graph.length = value.length = tensor.length = shape.length = type.length = dim.length = 0;
    pb_text(&dim, 2, name);
    pb_message(&shape, 1, &dim);
    dim.length = 0;
    pb_int(&dim, 1, 3);
    pb_message(&shape, 1, &dim);
    pb_int(&tensor, 1, 1);
    pb_message(&tensor, 2, &shape);
    pb_message(&type, 1, &tensor);
    pb_text(&value, 1, "x");
    pb_message(&value, 2, &type);
    pb_node(&node, "Relu", "x", NULL, "y");
    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "g");
    pb_message(&graph, 11, &value);
    value.length = 0;
    pb_text(&value, 1, "y");
    pb_message(&graph, 12, &value);
    pb_model(model, &graph, 21);
}

/* The plan for 4 samples has 4 rows; so has a session that was made for 1 and reshaped. */
static void expect_size(const takt_model *m, const char *name, const char *written)
{
    char sizes[4096];
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    snprintf(sizes, sizeof sizes, "%s=4", written);
    const takt_plan_options options = {.sizes = sizes, .threads = 1};
    if (!EXPECT(takt_plan_create(m, &options, &plan) == TAKT_OK, "%s as %s: %s", name, written,
                takt_last_error(ctx)))
        return;
    if (EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)))
        EXPECT(takt_session_input_desc(s, 0)->dims[0] == 4, "%s", name);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    if (EXPECT_OK(ctx, takt_plan_create(m, NULL, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        EXPECT(takt_session_reshape(s, m, sizes) == TAKT_OK, "%s", takt_last_error(ctx));
        EXPECT(takt_session_output_desc(s, 0)->dims[0] == 4, "%s", name);
        takt_session_destroy(s);
    }
    takt_plan_destroy(plan);
}

static bool is_known_by(const takt_model *m, const char *written)
{
    const takt_desc *in = takt_model_input(m, 0), *out = takt_model_output(m, 0);
    return EXPECT(in->dim_names[0] != NULL && strcmp(in->dim_names[0], written) == 0 &&
                      out->dim_names[0] != NULL && strcmp(out->dim_names[0], written) == 0,
                  "%s is %s and %s", written, in->dim_names[0], out->dim_names[0]);
}

static void expect_formats(const takt_model *m, const char *name, const char *written)
{
    static const char *const endings[] = {"onnx", "takt", "taktp"};
    const char *tmp = getenv("TAKT_TEST_TMP");
    for (size_t i = 0; i < 3; i++) {
        char path[512];
        takt_model *again = NULL;
        snprintf(path, sizeof path, "%s/named.%s", tmp != NULL ? tmp : "/tmp", endings[i]);
        if (EXPECT(takt_model_save(m, path, NULL) == TAKT_OK, "%s: %s", name,
                   takt_last_error(ctx)) &&
            EXPECT(takt_model_load(ctx, path, NULL, &again) == TAKT_OK, "%s in %s: %s", name, path,
                   takt_last_error(ctx)) &&
            is_known_by(again, written))
            expect_size(again, name, written);
        takt_model_destroy(again);
    }
}

static void each_name(void)
{
    static pb model;
    memset(long_name, 'l', sizeof long_name - 1);
    memcpy(long_name + 500, "\xc3\xa9 ", 3);
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < COUNT; i++) {
        char written[2048], sizes[2100], back[2048];
        takt_model *m = NULL;
        EXPECT_IS(takt_name_write(names[i], written, sizeof written), <, sizeof written);
        EXPECT(takt_name_read(written, ",", back, sizeof back) == strlen(written) &&
                   strcmp(back, names[i]) == 0,
               "%s was read as %s", written, back);
        make(&model, names[i]);
        if (!EXPECT(takt_model_load_memory(ctx, "m.onnx", model.at, model.length, NULL, &m) ==
                        TAKT_OK,
                    "%s: %s", names[i], takt_last_error(ctx)))
            continue;
        if (is_known_by(m, written)) {
            expect_size(m, names[i], written);
            if (strpbrk(names[i], ",`") == NULL)
                expect_size(m, names[i], names[i]); /* without quotes too */
            expect_formats(m, names[i], written);
        }
        takt_model_destroy(m);
        snprintf(sizes, sizeof sizes, "%s=5", written); /* while it is read */
        const takt_load_options options = {.sizes = sizes};
        if (EXPECT_OK(ctx,
                      takt_model_load_memory(ctx, "m.onnx", model.at, model.length, &options, &m)))
            EXPECT(takt_model_input(m, 0)->dims[0] == 5, "%s", names[i]);
        takt_model_destroy(m);
    }
    takt_ctx_destroy(ctx);
}

/* Expressions, and names that look like one, go through ONNX. */
static void expressions(void)
{
    static const char *const texts[] = {"`n 0`", "`n+1`", "2*`a,b` + `c d`", "floordiv(`a b`, 2)",
                                        "`(x)`", "n + 1"};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[256], path[512];
        const char *tmp = getenv("TAKT_TEST_TMP");
        takt_model *m = NULL, *again = NULL;
        snprintf(text, sizeof text, "model m(x: f32[%s, 3]) { return relu(x) }\n", texts[i]);
        snprintf(path, sizeof path, "%s/expression.onnx", tmp != NULL ? tmp : "/tmp");
        if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m)) &&
            EXPECT_OK(ctx, takt_model_save(m, path, NULL)) &&
            EXPECT_OK(ctx, takt_model_load(ctx, path, NULL, &again)))
            is_known_by(again, texts[i]);
        takt_model_destroy(again);
        takt_model_destroy(m);
    }
    takt_ctx_destroy(ctx);
}

/* Lists of names, sizes to prepare, batches. */
static void lists(void)
{
    static const char text[] = "model m(`a,b`: f32[`n,0`, `m 1`], x: f32[`n,0`, `m 1`]) {\n"
                               "  return `r=1` = `a,b` + x, `s,t` = x * 2\n}\n";
    takt_model *m = NULL, *part = NULL;
    takt_plan *plan = NULL;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m))) {
        const takt_plan_options options = {
            .sizes = "`n,0`=3,m 1=2", .donate = "`a,b`,x", .outputs = "`s,t`", .threads = 1};
        EXPECT_OK(ctx, takt_plan_create(m, &options, &plan));
        takt_plan_destroy(plan);
        if (EXPECT_OK(ctx, takt_model_extract(m, NULL, "`s,t`", &part)))
            EXPECT_TEXT(takt_model_output(part, 0)->name, "s,t");
        takt_model_destroy(part);
        const takt_plan_options others = {.sizes = "`m 1`=2,`n,0`=7", .threads = 1};
        EXPECT_OK(ctx, takt_prepare(m, &others, "`n,0`=1,8;m 1=2,3", NULL, NULL));
        float a[6] = {1, 2, 3, 4, 5, 6}, r[6] = {0}, s[6] = {0};
        const takt_tensor_view v = {.dtype = TAKT_F32, .rank = 2, .dims = {3, 2}};
        takt_named_view views[] = {{"a,b", v}, {"x", v}, {"r=1", v}, {"s,t", v}};
        float *data[] = {a, a, r, s};
        for (size_t i = 0; i < 4; i++)
            views[i].view.data = data[i];
        const takt_plan_options two = {.sizes = "m 1=2"};
        const takt_many_options many = {.dim = "n,0", .batch_size = 2, .jobs = 1, .plan = &two};
        EXPECT_OK(ctx, takt_run_many(m, &many, views, 4));
        EXPECT(r[5] == 12 && s[4] == 10, "%g %g", (double)r[5], (double)s[4]);
    }
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

/* No UTF-8, a NUL, an unknown name, an unknown escape: an error each. */
static void refusals(void)
{
    static pb model;
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    char back[8];
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    make(&model, "\xff");
    EXPECT_IS(takt_model_load_memory(ctx, "m", model.at, model.length, NULL, &m), !=, TAKT_OK);
    make(&model, "n 0");
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", model.at, model.length, NULL, &m))) {
        static const char *const wrong[] = {
            "n=4", "`n\\q0`=4", "`n 0`", "`n 0`=", "=4", "n 0=4,", "n 0=x"};
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            const takt_plan_options options = {.sizes = wrong[i]};
            const bool good = takt_plan_create(m, &options, &plan) == TAKT_OK;
            EXPECT(good == (strcmp(wrong[i], "n 0=4,") == 0), "%s", wrong[i]);
            takt_plan_destroy(plan);
        }
        const takt_plan_options options = {.sizes = "n 1=4"};
        EXPECT_IS(takt_plan_create(m, &options, &plan), !=, TAKT_OK);
        EXPECT(strstr(takt_last_error_info(ctx)->hint, "`n 0`") != NULL, "%s",
               takt_last_error_info(ctx)->hint);
    }
    takt_model_destroy(m);
    EXPECT_EQ(takt_name_read("abcdefgh", ",", back, sizeof back), 0);
    EXPECT_EQ(back[0], '\0');
    EXPECT_EQ(takt_name_read("abcdefg,", ",", back, sizeof back), 7);
    EXPECT_EQ(takt_name_read("", ",", back, sizeof back), 0);
    EXPECT_EQ(takt_name_read("`\\u{0}`", ",", back, sizeof back), 0);
    EXPECT_EQ(takt_name_read("`\\u{e9}`,", ",", back, sizeof back), 8);
    EXPECT_TEXT(back, "\xc3\xa9");
    EXPECT_EQ(takt_name_write("a b", back, 3), 5);
    EXPECT_IS(strlen(back), <, 3);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(each_name, expressions, lists, refusals)
