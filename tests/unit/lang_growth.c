/* lang_growth.c - a few bytes of text that request gigabytes: lists in a `repeat`. The memory of a
 * text is bounded by a constant plus a multiple of its size. Repeated statements take none. */
#include <string.h>

#include "lang/parse.h"
#include "test.h"
#include "util/inject.h"

static void expect(const char *text, takt_status want)
{
    enum { MOST = 512 << 20 };
    takt_inject inject;
    takt_config config = {0};
    takt_ctx *ctx;
    takt_graph *graph = NULL;
    takt_inject_init(&inject);
    takt_inject_config(&inject, &config);
    if (EXPECT_OK(NULL, takt_ctx_create(&config, &ctx))) {
        EXPECT_STATUS(ctx, takt_parse(ctx, "m", text, strlen(text), NULL, &graph), want);
        takt_graph_destroy(graph);
        takt_ctx_destroy(ctx);
    }
    EXPECT(inject.peak_bytes < MOST, "%s: %llu bytes", text, (unsigned long long)inject.peak_bytes);
    EXPECT_EQ(takt_inject_deinit(&inject), 0);
}

static void lists(void)
{
    expect("model m(x: f32[4]) {\n  l = [1]\n  repeat 15 { l = l + l }\n"
           "  repeat 100000 { k = l[1:] }\n  return x\n}\n",
           TAKT_ERR_LIMIT);
    expect("model m(x: f32[4]) {\n  l = [1]\n  repeat 15 { l = l + l }\n"
           "  repeat 100000 { k = l + [2] }\n  return x\n}\n",
           TAKT_ERR_LIMIT);
    expect("layer same(l) { return l[0:] }\nmodel m(x: f32[4]) {\n  l = [1]\n"
           "  repeat 15 { l = l + l }\n  repeat 100000 { k = same(l) }\n  return x\n}\n",
           TAKT_ERR_LIMIT);
    expect("model m(x: f32[4]) {\n  l = [1]\n  repeat 15 { l = l + l }\n"
           "  repeat 100000 { k = [l, l] }\n  return x\n}\n",
           TAKT_OK); /* lists in lists are not copied */
    expect("model m(x: f32[4]) {\n  l = [1]\n  repeat 12 { l = l + l }\n"
           "  repeat 20 { k = l[1:] }\n  return x\n}\n",
           TAKT_OK);
}

/* Sixteen million steps that make nothing: they take time, and no memory. */
static void statements(void)
{
    expect("model m(x: f32[4]) {\n  repeat 1000 { repeat 1000 { repeat 1000 { y = 1\n z = 2 } } }\n"
           "  return x\n}\n",
           TAKT_ERR_LIMIT);
}

TEST_MAIN(lists, statements)
