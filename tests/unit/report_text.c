/* report_text.c - names from files in reports: as text of SVG, and as a tree of layers. */
#include <string.h>

#include <takt/takt.h>

#include "measure/report/report.h"
#include "measure/report/svg.h"
#include "test.h"

static takt_ctx *ctx;

static void is_svg(const char *from, const char *want)
{
    takt_text text;
    takt_text_init(&text, ctx);
    takt_svg_text(&text, from);
    EXPECT(strcmp(takt_text_get(&text), want) == 0, "%s", takt_text_get(&text));
    takt_text_deinit(&text);
}

/* XML has neither bytes that are not characters, nor control characters, nor U+FFFE and U+FFFF. */
static void svg(void)
{
    is_svg("a<b>&\"c", "a&lt;b&gt;&amp;&quot;c");
    is_svg("\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82");
    is_svg("a\xff"
           "b\xc3",
           "a?b?");
    is_svg("a\x01\x1b[2J\tb\nc\x7f", "a??[2J\tb\nc\x7f");
    is_svg("\xed\xa0\x80", "???");
    is_svg("\xef\xbf\xbd\xef\xbf\xbe\xef\xbf\xbf", "\xef\xbf\xbd??????");
}

/* A layer with its own operations after calling others, whose name is the prefix of a longer
 * one. */
static void tree(void)
{
    static const char names[] = "a\0b";
    static takt_graph graph;
    const takt_type type = {.dtype = TAKT_F32};
    takt_layer at[3] = {{.name = "a.b", .type = "dense", .out = &type, .macs = 1},
                        {.name = names, .type = "outer", .out = &type, .macs = 2, .last = 1},
                        {.name = "a.c", .type = "relu", .out = &type, .macs = 4, .last = 2}};
    const takt_layers layers = {.named = &graph, .at = at, .count = 3};
    takt_table table;
    takt_text text;
    takt_text_init(&text, ctx);
    takt_table_init(&table, ctx, "lrrr");
    takt_layers_tree(&layers, &table);
    takt_table_print(&table, &text);
    EXPECT(strcmp(takt_text_get(&text), "  a (outer)    f32[]  0  7\n"
                                        "    b (dense)  f32[]  0  1\n"
                                        "    (outer)    f32[]  0  2\n"
                                        "    c (relu)   f32[]  0  4\n") == 0,
           "%s", takt_text_get(&text));
    takt_table_deinit(&table);
    takt_text_deinit(&text);
}

int main(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    svg();
    tree();
    takt_ctx_destroy(ctx);
    return test_done();
}
