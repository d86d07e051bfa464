/* onnx_edges.c - every operator with every attribute at the edges of 64 bits, alone and in lists:
 * it loads, plans or is refused without undefined behaviour (checked by preset ubsan). The names of
 * attributes are those in the importer's sources. */
#include <dirent.h>
#include <string.h>

#include <takt/takt.h>

#include "io/onnx/list.h"
#include "test.h"
#include "util/golden.h"
#include "util/pb.h"

enum { NAMES = 400, NAME = 48 };
enum { PLANNED = 7 }; /* one of this many: most attributes say nothing to an operator */

static const int64_t edges[] = {INT64_MIN, INT64_MIN + 1, -1, INT64_MAX - 1, INT64_MAX};
enum { EDGES = sizeof edges / sizeof *edges };

static char names[NAMES][NAME];
static size_t name_count, loaded, refused;
static takt_ctx *ctx;

/* Names between quotes behind takt_onnx_i(c, and its like. */
static void collect(const char *folder)
{
    DIR *all = opendir(folder);
    if (!EXPECT(all != NULL, "%s", folder))
        return;
    for (const struct dirent *e; (e = readdir(all)) != NULL;) {
        char path[512];
        size_t length;
        const size_t n = strlen(e->d_name);
        if (n < 3 || strcmp(e->d_name + n - 2, ".c") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        char *text = golden_file(path, &length);
        for (const char *at = text; at != NULL && (at = strstr(at, "takt_onnx_")) != NULL; at++) {
            char name[NAME], kind[16];
            if (sscanf(at, "takt_onnx_%15[a-z](c, \"%47[a-z_A-Z0-9]\"", kind, name) != 2 ||
                (strcmp(kind, "i") != 0 && strcmp(kind, "ints") != 0 && strcmp(kind, "list") != 0))
                continue;
            size_t k = 0;
            while (k < name_count && strcmp(names[k], name) != 0)
                k++;
            if (k == name_count && name_count < NAMES)
                strcpy(names[name_count++], name);
        }
        free(text);
    }
    closedir(all);
}

static void attribute(pb *to, const char *name, const int64_t *values, size_t count)
{
    to->length = 0;
    pb_text(to, 1, name);
    if (count == 0) {
        pb_int(to, 3, (uint64_t)values[0]);
        pb_int(to, 20, 2);
        return;
    }
    for (size_t i = 0; i < count; i++)
        pb_int(to, 8, (uint64_t)values[i]);
    pb_int(to, 20, 7);
}

static void load(const pb *graph, const char *domain, int64_t opset)
{
    static pb model, import;
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    pb_model(&model, graph, opset);
    if (domain != NULL) {
        import.length = 0;
        pb_text(&import, 1, domain);
        pb_int(&import, 2, 1);
        pb_message(&model, 8, &import);
    }
    const takt_plan_options options = {.threads = 1};
    if (takt_model_load_memory(ctx, "edges", model.at, model.length, NULL, &m) != TAKT_OK) {
        refused++;
        return;
    }
    loaded++;
    if (loaded % PLANNED == 0 && takt_plan_create(m, &options, &plan) != TAKT_OK)
        EXPECT_IS(takt_last_error(ctx)[0], !=, '\0');
    takt_plan_destroy(plan);
    takt_model_destroy(m);
}

/* Three inputs of rank 2, the second and third integers that are known. */
static void one(const char *op, const char *domain, const char *name, const int64_t *values,
                size_t count)
{
    static pb node, graph, value, tensor, text;
    const int64_t dims[] = {2, 4}, two[] = {values[0], values[count > 1 ? 1 : 0]};
    const pb_shape shape = {1, {2}};
    node.length = graph.length = 0;
    pb_text(&node, 1, "a");
    pb_text(&node, 1, count == 2 ? "k" : "a");
    pb_text(&node, 2, "p");
    pb_text(&node, 2, "q");
    pb_text(&node, 4, op);
    pb_text(&node, 7, domain != NULL ? domain : "");
    attribute(&text, name, values, count);
    pb_message(&node, 5, &text);
    if (strcmp(name, "axis") == 0) { /* of the first opsets */
        const int64_t yes = 1;
        attribute(&text, "broadcast", &yes, 0);
        pb_message(&node, 5, &text);
    }
    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "g");
    pb_tensor(&tensor, "k", 7, &shape, two, sizeof two);
    pb_message(&graph, 5, &tensor);
    pb_value(&value, "a", 1, 2, dims);
    pb_message(&graph, 11, &value);
    pb_value(&value, "p", 1, 2, dims);
    pb_message(&graph, 12, &value);
    load(&graph, domain, strcmp(name, "axis") == 0 && count == 0 ? 6 : 13);
}

static void each(void *user, const char *op, const char *domain, const char *missing)
{
    (void)user;
    for (size_t n = 0; n < name_count && missing == NULL; n++)
        for (size_t e = 0; e < EDGES; e += EDGES - 1) { /* all of them would take long */
            const int64_t pair[] = {edges[e], edges[EDGES - 1 - e]};
            one(op, domain, names[n], &edges[e], 0);
            one(op, domain, names[n], pair, 2);
        }
}

/* Slices by constants, which are inputs in newer opsets: starts, ends, axes and steps. */
static void slices(void)
{
    static pb node, graph, value, tensor;
    static const char *const in[] = {"a", "s", "e", "x", "t"};
    const int64_t dims[] = {2, 4};
    const pb_shape shape = {1, {1}};
    for (size_t k = 0; k < EDGES * EDGES * EDGES; k++) {
        const int64_t given[] = {edges[k % EDGES], edges[k / EDGES % EDGES], (int64_t)(k % 2),
                                 edges[k / EDGES / EDGES]};
        node.length = graph.length = 0;
        for (size_t i = 0; i < 5; i++)
            pb_text(&node, 1, in[i]);
        pb_text(&node, 2, "p");
        pb_text(&node, 4, "Slice");
        pb_message(&graph, 1, &node);
        pb_text(&graph, 2, "g");
        for (size_t i = 0; i < 4; i++) {
            pb_tensor(&tensor, in[i + 1], 7, &shape, &given[i], 8);
            pb_message(&graph, 5, &tensor);
        }
        pb_value(&value, "a", 1, 2, dims);
        pb_message(&graph, 11, &value);
        pb_value(&value, "p", 1, 2, dims);
        pb_message(&graph, 12, &value);
        load(&graph, NULL, 13);
    }
}

/* Equal parts of the largest possible dimension. */
static void splits(void)
{
    static pb node, graph, value;
    const int64_t dims[] = {INT64_MAX, 0};
    node.length = graph.length = 0;
    pb_text(&node, 1, "a");
    pb_text(&node, 2, "p");
    pb_text(&node, 2, "q");
    pb_text(&node, 4, "Split");
    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "g");
    pb_value(&value, "a", 1, 2, dims);
    pb_message(&graph, 11, &value);
    pb_value(&value, "p", 1, 2, dims);
    pb_message(&graph, 12, &value);
    load(&graph, NULL, 13);
}

static void all(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    collect("src/io/onnx/op");
    collect("src/io/onnx");
    EXPECT(name_count > 30, "%zu attributes", name_count);
    takt_onnx_each(each, NULL);
    slices();
    splits();
    printf("%zu attributes at %d edges: %zu models loaded, %zu refused\n", name_count, (int)EDGES,
           loaded, refused);
    EXPECT_IS(loaded, >, 100);
    EXPECT_IS(refused, >, 100);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(all)
