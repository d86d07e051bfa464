/* lang_samples.c - every sample of every op is read, printed and read back as the same graph. */
#include "lang/parse.h"
#include "op/ops.h"

#include <string.h>

#include "test.h"

static takt_ctx *ctx;

static void round_trip(const takt_op *op, const char *sample)
{
    takt_graph *first, *second = NULL;
    takt_sample_ranges ranges;
    takt_text text, again;
    if (!EXPECT_OK(ctx, takt_sample_graph(ctx, op, sample, &first, &ranges)))
        return;
    EXPECT(ranges.count == first->input_count, "%s", sample);
    EXPECT(first->output_count > 0, "%s", sample);
    takt_text_init(&text, ctx);
    takt_text_init(&again, ctx);
    takt_graph_print(first, NULL, &text);
    if (EXPECT_OK(ctx,
                  takt_parse(ctx, "printed", takt_text_get(&text), text.length, NULL, &second))) {
        takt_graph_print(second, NULL, &again);
        EXPECT(strcmp(takt_text_get(&text), takt_text_get(&again)) == 0, "%s gave\n%sthen\n%s",
               sample, takt_text_get(&text), takt_text_get(&again));
        EXPECT(takt_graph_digest(first) == takt_graph_digest(second), "%s", sample);
        EXPECT_OK(ctx, takt_graph_verify(second));
    } else {
        printf("%s\n", takt_text_get(&text));
    }
    takt_text_deinit(&again);
    takt_text_deinit(&text);
    takt_graph_destroy(second);
    takt_graph_destroy(first);
}

static void every_sample(void)
{
    size_t count = 0;
    for (size_t i = 0; i < takt_op_count; i++) {
        for (size_t s = 0; s < 10 && takt_ops[i]->samples[s] != NULL; s++, count++)
            round_trip(takt_ops[i], takt_ops[i]->samples[s]);
    }
    EXPECT(count > takt_op_count, "%zu samples of %zu ops", count, takt_op_count);
}

static void ranges_and_numbers(void)
{
    takt_graph *graph;
    takt_sample_ranges ranges;
    if (!EXPECT_OK(ctx, takt_sample_graph(ctx, NULL, "add(mul(f32[2] in (-1, 0.5), f32[n]), 3)",
                                          &graph, &ranges)))
        return;
    EXPECT_EQ(ranges.count, 2);
    EXPECT(ranges.at[0].is_set);
    EXPECT(!ranges.at[1].is_set);
    EXPECT_EQ(ranges.at[0].low, -1);
    EXPECT_EQ(ranges.at[0].high, 0.5);
    EXPECT_EQ(graph->output_count, 1);
    EXPECT_TEXT(graph->outputs[0].name, "out");
    takt_graph_destroy(graph);
}

static void wrong_samples(void)
{
    static const char *const wrong[] = {
        "relu(f32[2])",       "log(f32[2]",          "log()", "log(3", "log(f32[2]) 3",
        "log(f32[2] in (0))", "dense(f32[2, 3], 4)", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        takt_graph *graph;
        EXPECT(takt_sample_graph(ctx, &takt_op_log, wrong[i], &graph, NULL) != TAKT_OK, "%s",
               wrong[i]);
        EXPECT_SAME(graph, NULL);
    }
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    every_sample();
    ranges_and_numbers();
    wrong_samples();
    takt_ctx_destroy(ctx);
    return test_done();
}
