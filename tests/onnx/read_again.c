/* read_again.c - a model whose cache has its own size name is read a second time. Failures of the
 * second reading are reported, and nothing is counted twice. */
#include <errno.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "api/model.h"
#include "io/read.h"
#include "util/memfs.h"
#include "util/pb.h"

enum { FLOAT = 1, BOOL = 9, GRAPH = 5, EXTERNAL = 1 };

static takt_memfs *fs;
static takt_files inner;
static size_t opened, fails_at; /* files of weights; the one that is gone, or 0 */

static int open_beneath(void *user, const char *dir, const char *name, int allow_links,
                        takt_file **file)
{
    *file = NULL;
    return ++opened == fails_at ? EIO : inner.open_beneath(user, dir, name, allow_links, file);
}

/* An input or output; dimensions are names, except for a number of one digit. */
static void add_value(pb *graph, uint32_t field, const char *name, int elem, const char *dims)
{
    static pb shape, tensor, type, dim, value;
    shape.length = tensor.length = type.length = value.length = 0;
    for (const char *d = dims; *d != '\0'; d += strcspn(d, " "), d += *d == ' ') {
        dim.length = 0;
        if (*d >= '0' && *d <= '9')
            pb_int(&dim, 1, (uint64_t)(*d - '0'));
        else
            pb_bytes(&dim, 2, d, strcspn(d, " "));
        pb_message(&shape, 1, &dim);
    }
    pb_int(&tensor, 1, (uint64_t)elem);
    pb_message(&tensor, 2, &shape);
    pb_message(&type, 1, &tensor);
    pb_text(&value, 1, name);
    pb_message(&value, 2, &type);
    pb_message(graph, field, &value);
}

static void add_branch(pb *node, const char *name, const char *op, const char *a, const char *b)
{
    static pb graph, inside, attribute;
    graph.length = attribute.length = 0;
    pb_node(&inside, op, a, b, "y");
    pb_message(&graph, 1, &inside);
    pb_text(&graph, 2, name);
    add_value(&graph, 12, "y", FLOAT, "b e 2");
    pb_text(&attribute, 1, name);
    pb_message(&attribute, 6, &graph);
    pb_int(&attribute, 20, GRAPH);
    pb_message(node, 5, &attribute);
}

static void add_outside_weight(pb *graph, const char *name, const char *file)
{
    static pb tensor, entry;
    const pb_shape one = {1, {1}};
    pb_tensor(&tensor, name, FLOAT, &one, NULL, 0);
    entry.length = 0;
    pb_text(&entry, 1, "location");
    pb_text(&entry, 2, file);
    pb_message(&tensor, 13, &entry);
    pb_int(&tensor, 14, EXTERNAL);
    pb_message(graph, 5, &tensor);
}

/* The branch with the cache makes e_out equal to e. */
static void put_model(void)
{
    static pb model, graph, node;
    static const float half = 0.5F;
    pb_node(&node, "If", "c", NULL, "r");
    add_branch(&node, "then_branch", "Add", "past", "h");
    add_branch(&node, "else_branch", "Neg", "h", NULL);
    graph.length = 0;
    pb_message(&graph, 1, &node);
    pb_node(&node, "Add", "r", "half", "z");
    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "g");
    add_outside_weight(&graph, "half", "half.bin");
    add_value(&graph, 11, "h", FLOAT, "b e 2");
    add_value(&graph, 11, "past", FLOAT, "b e_out 2");
    add_value(&graph, 11, "c", BOOL, "");
    add_value(&graph, 12, "z", FLOAT, "b e 2");
    pb_model(&model, &graph, 13);
    EXPECT_EQ(takt_memfs_put(fs, "d/m.onnx", model.at, model.length), 0);
    EXPECT_EQ(takt_memfs_put(fs, "d/half.bin", &half, sizeof half), 0);
}

static takt_status load(takt_ctx *ctx, size_t *nodes)
{
    takt_arena arena;
    takt_model *m = NULL;
    takt_arena_init(&arena, ctx);
    takt_refusals refusals = {.arena = &arena};
    opened = 0;
    const takt_status status = takt_model_load_listing(ctx, "d/m.onnx", NULL, &refusals, &m);
    *nodes = refusals.node_count;
    takt_model_destroy(m);
    takt_arena_deinit(&arena);
    return status;
}

static void reports_what_fails_then(void)
{
    takt_ctx *ctx;
    fs = takt_memfs_create();
    put_model();
    inner = takt_memfs_files(fs);
    takt_files files = inner;
    files.open_beneath = open_beneath;
    EXPECT_OK(NULL, takt_ctx_create(&(takt_config){.files = &files}, &ctx));
    size_t nodes, all;
    EXPECT_OK(ctx, load(ctx, &nodes));
    all = opened;
    EXPECT(all == 2, "the weight was read %zu times", all);
    EXPECT(nodes == 4, "%zu nodes", nodes); /* two, and one in each branch */
    for (fails_at = 1; fails_at <= all; fails_at++)
        EXPECT(load(ctx, &nodes) == TAKT_ERR_FORMAT &&
                   strstr(takt_last_error(ctx), "cannot open half.bin") != NULL,
               "file %zu: %s", fails_at, takt_last_error(ctx));
    takt_ctx_destroy(ctx);
    takt_memfs_destroy(fs);
}

TEST_MAIN(reports_what_fails_then)
