/* lang.c - the language, construct by construct: texts and their graphs.
 *
 * tests/unit/lang.txt has the cases: a line "=== title", a text, a line "---", and the graph as it
 * is printed, which must read back as the same graph. With --bless the graphs are rewritten.
 */
#include "lang/parse.h"

#include <string.h>

#include "test.h"
#include "util/golden.h"

#define GOLDEN "tests/unit/lang.txt"

static takt_ctx *ctx;

/* Prints the graph of a text, or its errors. */
static void print(const char *text, size_t length, takt_text *out)
{
    takt_graph *graph = NULL;
    takt_diagnostics list;
    takt_diagnostics_init(&list, ctx);
    const takt_parse_options options = {.diagnostics = &list};
    if (takt_parse(ctx, "m.takt", text, length, &options, &graph) == TAKT_OK) {
        EXPECT_OK(ctx, takt_graph_verify(graph));
        takt_graph_print(graph, NULL, out);
    }
    takt_diagnostics_render(&list, "m.takt", text, length, out);
    takt_graph_destroy(graph);
    takt_diagnostics_deinit(&list);
}

/* The printed text reads back as the same graph. */
static void print_twice(const char *text, size_t length, takt_text *out)
{
    takt_text again;
    takt_text_init(&again, ctx);
    print(text, length, out);
    print(takt_text_get(out), out->length, &again);
    EXPECT(strcmp(takt_text_get(out), takt_text_get(&again)) == 0, "%s\nreads back as\n%s",
           takt_text_get(out), takt_text_get(&again));
    takt_text_deinit(&again);
}

/* Every layer has a text that defines it, and belongs to the list in order. */
static void layers(void)
{
    for (size_t i = 0; takt_layer_name(i) != NULL; i++) {
        const char *name = takt_layer_name(i), *text = takt_layer_text(name);
        char head[80];
        snprintf(head, sizeof head, "\nlayer %s(", name);
        EXPECT(text != NULL && strstr(text, head) != NULL, "%s", name);
        EXPECT(i == 0 || strcmp(takt_layer_name(i - 1), name) < 0, "%s", name);
    }
    EXPECT(takt_layer_text("no such layer") == NULL);
}

/* A text may refer to tensors that come with it. */
static void weights(void)
{
    static const char text[] = "model m(x: f32[2]) { return x + constant(f32[2], ref=0) }\n";
    const takt_type type = {.dtype = TAKT_F32, .rank = 1, .dim = {2}};
    takt_tensor tensor;
    takt_graph *graph = NULL;
    if (!EXPECT_OK(ctx, takt_tensor_create(ctx, &type, &tensor)))
        return;
    memset(takt_tensor_data(&tensor), 0, takt_tensor_bytes(&tensor));
    takt_parse_options options = {.weights = &tensor, .weight_count = 1};
    EXPECT_OK(ctx, takt_parse(ctx, "m.takt", text, strlen(text), &options, &graph));
    takt_graph_destroy(graph);
    options.weight_count = 0;
    EXPECT_STATUS(ctx, takt_parse(ctx, "m.takt", text, strlen(text), &options, &graph),
                  TAKT_ERR_NOT_FOUND);
    takt_tensor_release(&tensor);
}

/* One of several models, by name. */
static void pick(void)
{
    static const char text[] = "model a(x: f32[2]) { return x }\nmodel b(y: f32[2]) { return y }\n";
    takt_graph *graph = NULL;
    takt_parse_options options = {.model = "b"};
    if (EXPECT_OK(ctx, takt_parse(ctx, "m.takt", text, strlen(text), &options, &graph)))
        EXPECT_TEXT(graph->name, "b");
    takt_graph_destroy(graph);
    options.model = "c";
    EXPECT_STATUS(ctx, takt_parse(ctx, "m.takt", text, strlen(text), &options, &graph),
                  TAKT_ERR_NOT_FOUND);
}

int main(int argc, char **argv)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    const size_t count = golden_cases(ctx, GOLDEN, "gives",
                                      argc > 1 && strcmp(argv[1], "--bless") == 0, print_twice);
    EXPECT(count >= 18, "%zu cases", count);
    layers();
    weights();
    pick();
    takt_ctx_destroy(ctx);
    return test_done();
}
