/* lang_alloc.c - reading a text when memory runs out, at every allocation. */
#include "lang/parse.h"

#include <string.h>

#include "test.h"
#include "util/inject.h"

typedef struct job {
    const char *text;
    takt_status want;    /* of a run in which nothing fails */
    const char *printed; /* its graph */
} job;

/* If a text is read although a request failed, it is read correctly. */
static void expect_same(takt_ctx *ctx, const takt_graph *graph, const job *j)
{
    takt_text text;
    takt_text_init(&text, ctx);
    takt_graph_print(graph, NULL, &text);
    EXPECT(text.status != TAKT_OK || strcmp(takt_text_get(&text), j->printed) == 0,
           "%s\nwas read as\n%s", j->text, takt_text_get(&text));
    takt_text_deinit(&text);
}

/* A text with mistakes is refused in the same way whenever memory suffices. */
static takt_status scenario(takt_inject *inject, void *user)
{
    const job *j = user;
    takt_config config = {0};
    takt_ctx *ctx;
    takt_graph *graph = NULL;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    takt_diagnostics list;
    takt_diagnostics_init(&list, ctx);
    const takt_parse_options options = {.diagnostics = &list};
    status = takt_parse(ctx, "m.takt", j->text, strlen(j->text), &options, &graph);
    EXPECT_EQ((status == TAKT_OK), (graph != NULL));
    EXPECT(status == TAKT_OK || takt_last_error(ctx)[0] != '\0');
    if (graph != NULL)
        expect_same(ctx, graph, j);
    takt_text text;
    takt_text_init(&text, ctx);
    takt_diagnostics_render(&list, "m.takt", j->text, strlen(j->text), &text);
    takt_text_deinit(&text);
    takt_graph_destroy(graph);
    takt_diagnostics_deinit(&list);
    takt_ctx_destroy(ctx);
    return status == j->want ? TAKT_OK : status;
}

static void sweep(const char *text, takt_status want)
{
    takt_ctx *ctx;
    takt_graph *graph;
    takt_text printed;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_text_init(&printed, ctx);
    EXPECT(takt_parse(ctx, "m.takt", text, strlen(text), NULL, &graph) == want, "%s",
           takt_last_error(ctx));
    if (graph != NULL)
        takt_graph_print(graph, NULL, &printed);
    job j = {text, want, takt_text_get(&printed)};
    const takt_sweep_report r = takt_sweep(scenario, &j, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s\n%s", text, r.message);
    EXPECT(r.operations > 5 && r.runs > r.operations, "%llu operations",
           (unsigned long long)r.operations);
    takt_graph_destroy(graph);
    takt_text_deinit(&printed);
    takt_ctx_destroy(ctx);
}

static void models(void)
{
    sweep(
        "layer two(x) { return relu(x), x[0] }\n"
        "model m(x: f32[n, 4], c: bool[]) seed=3 {\n"
        "  param w: [4, 2] = tensor([1, 2, 3, 4, 5, 6, 7, 8])\n"
        "  state s: [4] = uniform(0, 1)\n"
        "  h = dense(x, 4, act=relu)\n"
        "  a, b = two(h @ w)\n"
        "  v, _ = top_k(b + 2.5, k=1)\n"
        "  z = if(c, v, then=graph(q: f32[1]) { return q }, else=graph(q: f32[1]) { return -q })\n"
        "  next s = s + 1\n"
        "  return a, `the value` = z, reshape(x, shape=[-1, 2])\n"
        "}\n",
        TAKT_OK);
}

static void loops(void)
{
    sweep("model m(x: f32[n, 4], c: bool[], k: i64[]) {\n"
          "  h = x[0]\n"
          "  repeat 6 {\n"
          "    for row in x {\n"
          "      h = h + row\n"
          "      collect y = h * 2\n"
          "    }\n"
          "    for i in k { h = h * 0.5 }\n"
          "  }\n"
          "  for i in n { collect z = h }\n"
          "  return h if c else -h, y, z\n"
          "}\n",
          TAKT_OK);
}

static void mistakes(void)
{
    sweep("model m(x: f32[2, 3]) {\n"
          "  a = dense(x)\n"
          "  b = x + y\n"
          "  c = x @ x\n"
          "  d = \"open\n"
          "  return conv(x, 3)\n"
          "}\n",
          TAKT_ERR_SYNTAX);
    sweep("model m(x: f32[2, 3]) {\n  a = x @ x\n  return conv(x, 3)\n}\n", TAKT_ERR_SHAPE);
}

static takt_status sample(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *ctx;
    takt_graph *graph = NULL;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = takt_sample_graph(ctx, NULL, user, &graph, NULL);
    takt_graph_destroy(graph);
    takt_ctx_destroy(ctx);
    return status;
}

static void samples(void)
{
    char text[] = "add(mul(f32[2, n] in (0, 1), f32[]), 3)";
    const takt_sweep_report r = takt_sweep(sample, text, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
}

TEST_MAIN(models, loops, mistakes, samples)
