/* lang_limits.c - texts that nest, repeat or continue excessively: one message, no crash. */
#include "lang/parse.h"

#include <string.h>

#include "test.h"

static takt_ctx *ctx;

/* head, then `piece` repeated, then tail; the caller frees it. */
static char *build(const char *head, const char *piece, size_t count, const char *tail)
{
    const size_t h = strlen(head), p = strlen(piece), t = strlen(tail);
    char *text = malloc(h + p * count + t + 1);
    memcpy(text, head, h);
    for (size_t i = 0; i < count; i++)
        memcpy(text + h + i * p, piece, p);
    memcpy(text + h + p * count, tail, t + 1);
    return text;
}

static void expect(const char *head, const char *piece, size_t count, const char *tail, int id)
{
    char *text = build(head, piece, count, tail);
    takt_graph *graph = NULL;
    const takt_status status = takt_parse(ctx, "m.takt", text, strlen(text), NULL, &graph);
    const takt_error *error = takt_last_error_info(ctx);
    if (id == 0)
        EXPECT(status == TAKT_OK, "%s x %zu: %s", piece, count, takt_last_error(ctx));
    else
        EXPECT(status != TAKT_OK && error->id == id && error->line > 0, "%s x %zu: %s (%d)", piece,
               count, takt_last_error(ctx), error->id);
    takt_graph_destroy(graph);
    free(text);
}

#define HEAD "model m(x: f32[2]) {\n  y = "
#define TAIL "\n  return y\n}\n"

static void nesting(void)
{
    enum { DEEP = 1000000 };
    expect(HEAD, "(", DEEP, "x" TAIL, TAKT_E_NESTING);
    expect(HEAD, "[", DEEP, TAIL, TAKT_E_NESTING);
    expect(HEAD, "relu(", DEEP, "x" TAIL, TAKT_E_NESTING);
    expect(HEAD, "x[", DEEP, TAIL, TAKT_E_NESTING);
    expect(HEAD, "x ** ", DEEP, "x" TAIL, TAKT_E_NESTING);
    expect(HEAD, "x if true else ", DEEP, "x" TAIL, TAKT_E_NESTING);
    expect(HEAD, "if(x, then=graph() { return ", DEEP, TAIL, TAKT_E_NESTING);
    expect("model m(x: f32[2]) {\n", "repeat 1 {\n", DEEP, "", TAKT_E_NESTING);
    expect("model m(x: f32[2]) {\n", "if true { ", DEEP, "", TAKT_E_NESTING);
    expect("model m(x: f32[2]) {\n", "for y in x {\n", DEEP, "", TAKT_E_NESTING);
    expect(HEAD, "- ", DEEP, "x" TAIL, 0);
    expect("model m(x: bool[2]) {\n  y = ", "not ", DEEP, "x" TAIL, 0);
}

/* limits.depth of 32: blocks 32, expressions 8 times that. */
static void edges(void)
{
    expect("model m(x: f32[2]) {\n y = x\n", "if true {\n", 31,
           "y = x\n}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}\n"
           "return y\n}\n",
           0);
    expect("model m(x: f32[2]) {\n y = x\n", "if true {\n", 32, "", TAKT_E_NESTING);
    char *close = build("x", ")", 255, TAIL);
    expect(HEAD, "(", 255, close, 0);
    free(close);
    expect(HEAD, "(", 256, "", TAKT_E_NESTING);
    char *list = build("", "]", 17, ")" TAIL);
    expect(HEAD "constant(f32[2], ", "[", 17, list, TAKT_E_NESTING);
    free(list);
}

/* Chains lean to the left and are not nesting. */
/* Subgraphs nest as deep as limits.depth; a loop names 256 tensors. */
static void subgraphs(void)
{
    char head[8192], tail[4096];
    static const char choice[] = "model m(x: f32[2], c: bool[]) {\n  y = ";
    for (size_t deep = 30; deep <= 200; deep += 170) {
        char *closing = build("-x", ")", deep, TAIL);
        expect(choice, "x if c else (", deep, closing, deep == 30 ? 0 : TAKT_E_NESTING);
        free(closing);
    }
    for (int more = 0; more < 2; more++) {
        size_t h = (size_t)snprintf(head, sizeof head, "model m(x: f32[2], y: f32[2]) {\n");
        size_t t = (size_t)snprintf(tail, sizeof tail, "  for e in x { y = y");
        for (int i = 0; i < 255 + more; i++) {
            h += (size_t)snprintf(head + h, sizeof head - h, "  a%d = x * %d\n", i, i);
            t += (size_t)snprintf(tail + t, sizeof tail - t, " + a%d", i);
        }
        snprintf(tail + t, sizeof tail - t, " }" TAIL);
        expect(head, "", 0, tail, more == 0 ? 0 : TAKT_E_GRAPH_FULL);
    }
}

static void chains(void)
{
    expect(HEAD "x", " + x", 20000, TAIL, 0);
    expect(HEAD "x", " |> relu()", 20000, TAIL, 0);
    expect(HEAD "x", "[:]", 20000, TAIL, 0);
    expect("model m(x: f32[2]) {\n  if false { y = x }", " else if false { y = x }", 20000,
           " else { y = x }\n  return y\n}\n", 0);
    expect("model m(x: f32[2]) {\n", "  x = relu(x)\n", 20000, "  return x\n}\n", 0);
}

/* Layers that call one another without end, and repeats that would take forever. */
static void endless(void)
{
    expect("layer a(x) { return b(x) }\nlayer b(x) { return a(x) }\nmodel m(x: f32[2]) {\n", "", 0,
           "  return a(x)\n}\n", TAKT_E_NESTING);
    expect("model m(x: f32[2]) {\n", "repeat 1000000 {\n", 4, "z = 1\n}}}}\n  return x\n}\n",
           TAKT_E_GRAPH_FULL);
    expect("model m(x: f32[2]) {\n", "repeat 1000000 {\n", 4, "}}}}\n  return x\n}\n",
           TAKT_E_GRAPH_FULL);
    expect("model m(x: f32[2]) {\n  repeat 1000001 {}\n", "", 0, "  return x\n}\n",
           TAKT_E_TRIP_COUNT);
    expect("model m(x: f32[2]) {\n  l = [1]\n", "  l = l + l\n", 60, "  return x\n}\n",
           TAKT_E_OVERFLOW);
    expect("layer a(x) { return b(b(x)) }\nlayer b(x) { return relu(relu(x)) }\n"
           "model m(x: f32[2]) {\n",
           "  x = a(x)\n", 1000, "  return x\n}\n", 0);
    expect("layer d(x) { return d(d(x)) }\nmodel m(x: f32[2]) {\n", "", 0, "  return d(x)\n}\n",
           TAKT_E_NESTING);
}

/* Layers that double 30 times: a graph of 2^30 nodes in a text of one page. */
static void doubling(void)
{
    char text[4096] = "layer l0(x) { return x }\n";
    takt_graph *graph = NULL;
    size_t at = strlen(text);
    for (int i = 1; i <= 30; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "layer l%d(x) { return l%d(l%d(x)) }\n",
                               i, i - 1, i - 1);
    snprintf(text + at, sizeof text - at, "model m(x: f32[2]) { return l30(x) }\n");
    EXPECT_STATUS(NULL, takt_parse(ctx, "m.takt", text, strlen(text), NULL, &graph),
                  TAKT_ERR_LIMIT);
    EXPECT(takt_last_error_info(ctx)->id == TAKT_E_GRAPH_FULL, "%s", takt_last_error(ctx));
}

static void sizes(void)
{
    expect("model m(x: f32[2]) {\n  param w: [4000000000, 4000000000, 4000000000] = 0\n", "", 0,
           "  return x\n}\n", 0); /* nothing is allocated for it here */
    expect("model m(x: f32[2]) {\n  w = constant(f32[4000000000, 4000000000], [1])\n", "", 0,
           "  return x\n}\n", TAKT_E_DIM);
    expect("model m(x: f32[1", ", 1", 16, "]) { return x }\n", TAKT_E_RANK);
    expect("model m(x: f32[99999999999999999999]) { return x }\n", "", 0, "", TAKT_E_DIM);
    expect("model ", "m", 4097, "(x: f32[2]) { return x }\n", TAKT_E_SYNTAX);
    expect("model ", "m", 4096, "(x: f32[2]) { return x }\n", 0);
}

/* Only a limited number of complaints about one text. */
static void many_errors(void)
{
    char *text = build("model m(x: f32[2]) {\n", "  y = x + nothing\n", 100, "  return x\n}\n");
    takt_diagnostics list;
    takt_graph *graph = NULL;
    takt_diagnostics_init(&list, ctx);
    const takt_parse_options options = {.diagnostics = &list};
    EXPECT_STATUS(NULL, takt_parse(ctx, "m.takt", text, strlen(text), &options, &graph),
                  TAKT_ERR_SYNTAX);
    EXPECT(list.count == 21 && list.is_full, "%zu", list.count);
    EXPECT_EQ(list.at[20].id, TAKT_E_TOO_MANY_ERRORS);
    EXPECT_EQ(list.error_count, 20);
    takt_text out;
    takt_text_init(&out, ctx);
    takt_diagnostics_render(&list, "m.takt", text, strlen(text), &out);
    EXPECT(strstr(takt_text_get(&out), "there are more errors than the 20 above") != NULL);
    takt_text_deinit(&out);
    takt_diagnostics_deinit(&list);
    free(text);
}

/* Every prefix of a text is refused or read, never worse. */
static void prefixes(void)
{
    static const char text[] =
        "# a comment\nlayer two(x, n: int, act=relu) { return act(x), x[-n:, ...] }\n"
        "model m(x: f32[n, 4]) -> (y: f32[n, 4], z: f32[2, 4]) seed=3 {\n"
        "  param w.0: [4, 2] = uniform(-0.5, 1e-3, stream=2)\n"
        "  c = constant(i8[2], hex\"01ff\")\n"
        "  a, b = two(x, 2)\n"
        "  repeat 2 as i { if i == 0x1 and not false { a = a + -1.5 } else { a = a } }\n"
        "  return y = a, z = b if 1 < 2 else \"text \\u{1F600}\"\n}\n";
    for (size_t length = 0; length < sizeof text - 1; length++) {
        takt_graph *graph = NULL;
        char *copy = malloc(length + 1);
        memcpy(copy, text, length);
        const takt_status status = takt_parse(ctx, "m.takt", copy, length, NULL, &graph);
        EXPECT((status == TAKT_OK) == (graph != NULL), "%zu", length);
        EXPECT(status == TAKT_OK || takt_last_error(ctx)[0] != '\0', "%zu", length);
        takt_graph_destroy(graph);
        free(copy);
    }
    takt_graph *graph = NULL;
    EXPECT_OK(ctx, takt_parse(ctx, "m.takt", text, sizeof text - 1, NULL, &graph));
    takt_graph_destroy(graph);
}

int main(void)
{
    const takt_config config = {.limits.nodes = 200000};
    if (!EXPECT_OK(NULL, takt_ctx_create(&config, &ctx)))
        return 1;
    nesting();
    edges();
    subgraphs();
    chains();
    endless();
    doubling();
    sizes();
    many_errors();
    prefixes();
    takt_ctx_destroy(ctx);
    return test_done();
}
