/* graph.c - building graphs: merging, limits, sticky failure, several results, subgraphs, state. */
#include "ir/graph.h"

#include <string.h>

#include "op/ops.h"
#include "test.h"

static takt_ctx *ctx;
static const takt_type vector = {.dtype = TAKT_F32, .rank = 1, .dim = {4}};
static const takt_type scalar = {.dtype = TAKT_BOOL};

static takt_graph *new_graph(void)
{
    takt_graph *g = NULL;
    EXPECT_OK(NULL, takt_graph_create(ctx, NULL, &g));
    return g;
}

/* Recreates the context with other limits. */
static void limit(uint64_t nodes, uint64_t depth)
{
    const takt_config config = {.limits = {.nodes = nodes, .depth = depth}};
    takt_ctx_destroy(ctx);
    ctx = NULL;
    EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
}

/* ---- merging ---- */

static takt_id sum(takt_graph *g, takt_id x, bool keep)
{
    const takt_named_attr attr = {"keep", takt_attr_bool(keep)};
    return takt_graph_call(g, &takt_op_reduce_sum, 1, &x, 1, &attr);
}

static void equal_nodes_are_one(void)
{
    takt_graph *g = new_graph();
    const takt_id x = takt_graph_input(g, "x", &vector), y = takt_graph_input(g, "y", &vector);
    const takt_id a = takt_add(g, x, y);
    EXPECT_EQ(takt_add(g, x, y), a);
    EXPECT(takt_add(g, y, x) != a, "order matters until a pass decides");
    EXPECT_EQ(takt_unary(g, &takt_op_exp, a), takt_unary(g, &takt_op_exp, a));
    EXPECT(sum(g, a, false) != sum(g, a, true), "attributes tell nodes apart");
    EXPECT(takt_scalar_like(g, x, 0.5) == takt_scalar_like(g, x, 0.5),
           "small constants by content");
    EXPECT_IS(takt_scalar_like(g, x, 0.0), !=, takt_scalar_like(g, x, -0.0));
    EXPECT_OK(ctx, takt_graph_verify(g));
    takt_graph_destroy(g);
}

static void fallbacks_are_filled_in(void)
{
    takt_graph *g = new_graph();
    const takt_id x = takt_graph_input(g, "x", &vector);
    const takt_named_attr keep = {"keep", takt_attr_bool(false)};
    EXPECT(takt_graph_call(g, &takt_op_reduce_sum, 1, &x, 1, &keep) ==
               takt_graph_call(g, &takt_op_reduce_sum, 1, &x, 0, NULL),
           "an attribute given as its fallback is the fallback");
    takt_graph_destroy(g);
}

static void origins_merge(void)
{
    takt_graph *g = new_graph();
    const takt_id x = takt_graph_input(g, "x", &vector);
    takt_id a = TAKT_NONE;
    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "line%d", i);
        takt_graph_set_origin(g, name, i + 1);
        a = takt_unary(g, &takt_op_exp, x);
        EXPECT_EQ(takt_unary(g, &takt_op_exp, x), a);
    }
    size_t count = 0;
    bool has_first = false;
    for (const takt_origin *o = g->nodes[a].origin; o != NULL; o = o->next, count++)
        has_first |= strcmp(o->name, "line0") == 0;
    EXPECT(count == TAKT_MAX_ORIGINS && has_first, "%zu", count);
    takt_graph_destroy(g);
}

static void random_is_unique(void)
{
    takt_graph *g = new_graph();
    EXPECT_IS(takt_graph_stream(g), !=, takt_graph_stream(g));
    takt_graph *copy = NULL;
    EXPECT_OK(ctx, takt_graph_create(ctx, g, &copy));
    EXPECT(takt_graph_stream(copy) == takt_graph_stream(g), "a copy goes on counting");
    takt_graph_destroy(copy);
    takt_graph_destroy(g);
}

/* ---- failure ---- */

static void failure_sticks(void)
{
    takt_graph *g = new_graph();
    const takt_type other = {.dtype = TAKT_I32, .rank = 1, .dim = {4}};
    const takt_id x = takt_graph_input(g, "x", &vector), i = takt_graph_input(g, "i", &other);
    EXPECT_EQ(takt_add(g, x, i), TAKT_NONE);
    EXPECT_STATUS(NULL, g->status, TAKT_ERR_SHAPE);
    const size_t count = g->count;
    char message[256];
    snprintf(message, sizeof message, "%s", takt_last_error(ctx));
    EXPECT(takt_unary(g, &takt_op_exp, x) == TAKT_NONE, "nothing is built after a failure");
    EXPECT_EQ(takt_graph_input(g, "z", &vector), TAKT_NONE);
    takt_graph_output(g, "y", x);
    takt_graph_set_next(g, "none", x);
    EXPECT_EQ(g->count, count);
    EXPECT_EQ(g->output_count, 0);
    EXPECT_STATUS(NULL, g->status, TAKT_ERR_SHAPE);
    EXPECT(strcmp(message, takt_last_error(ctx)) == 0, "the first failure is the one told");
    EXPECT_STATUS(ctx, takt_graph_verify(g), TAKT_ERR_SHAPE);
    takt_graph_destroy(g);
}

static void bad_edges(void)
{
    const struct {
        const char *what;
        takt_status want;
    } cases[] = {{"a second input x", TAKT_ERR_ARGUMENT},
                 {"a second output", TAKT_ERR_ARGUMENT},
                 {"a second slot", TAKT_ERR_ARGUMENT},
                 {"an output that is not a node", TAKT_ERR_ARGUMENT},
                 {"next of nothing", TAKT_ERR_NOT_FOUND},
                 {"next of another type", TAKT_ERR_SHAPE},
                 {"a missing attribute", TAKT_ERR_ARGUMENT},
                 {"an unknown attribute", TAKT_ERR_ARGUMENT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        takt_graph *g = new_graph();
        const takt_init zero = {0};
        const takt_id x = takt_graph_input(g, "x", &vector);
        takt_graph_slot(g, "s", &vector, &zero, false);
        takt_graph_output(g, "y", x);
        const takt_named_attr attr = {"colour", takt_attr_i64(3)};
        switch (i) {
        case 0: takt_graph_input(g, "x", &vector); break;
        case 1: takt_graph_output(g, "y", x); break;
        case 2: takt_graph_slot(g, "s", &vector, &zero, false); break;
        case 3: takt_graph_output(g, "z", 1000); break;
        case 4: takt_graph_set_next(g, "t", x); break;
        case 5: takt_graph_set_next(g, "s", sum(g, x, false)); break;
        case 6: takt_graph_append(g, &takt_op_cast, 1, &x, NULL); break;
        default: takt_graph_call(g, &takt_op_relu, 1, &x, 1, &attr); break;
        }
        EXPECT(g->status == cases[i].want, "%s: %s: %s", cases[i].what, takt_status_name(g->status),
               takt_last_error(ctx));
        takt_graph_destroy(g);
    }
}

/* ---- limits: one below, at, and one above ---- */

static takt_status chain(size_t nodes)
{
    takt_graph *g = new_graph();
    takt_id x = takt_graph_input(g, "x", &vector);
    for (size_t i = 1; i < nodes; i++)
        x = takt_unary(g, &takt_op_exp, x);
    const takt_status status = g->status;
    EXPECT_EQ((status == TAKT_OK), (g->count == nodes));
    takt_graph_destroy(g);
    return status;
}

static void node_limit(void)
{
    limit(50, 0);
    EXPECT_OK(ctx, chain(49));
    EXPECT_OK(ctx, chain(50));
    EXPECT_STATUS(ctx, chain(51), TAKT_ERR_LIMIT);
    limit(0, 0);
}

/* if(c, inputs of `inner`) with `inner` as both branches. */
static takt_graph *around(takt_graph *inner)
{
    takt_graph *g = NULL;
    EXPECT_OK(ctx, takt_graph_create(ctx, inner, &g));
    const takt_id c = takt_graph_input(g, "c", &scalar), x = takt_graph_input(g, "x", &vector);
    const takt_named_attr attrs[] = {{"then", {.graph = inner, .is_set = true}},
                                     {"else", {.graph = inner, .is_set = true}}};
    const takt_id all[] = {c, c, x}, one[] = {c, x};
    const bool is_first = inner->input_count == 1;
    const takt_id y =
        takt_graph_call(g, &takt_op_if, is_first ? 2 : 3, is_first ? one : all, 2, attrs);
    takt_graph_output(g, "y", y);
    takt_graph_destroy(inner); /* the outer one holds it */
    return g;
}

static takt_status nested(int depth)
{
    takt_graph *g = new_graph();
    const takt_id x = takt_graph_input(g, "x", &vector);
    takt_graph_output(g, "y", takt_unary(g, &takt_op_exp, x));
    for (int i = 0; i < depth && g->status == TAKT_OK; i++) {
        g = around(g);
        EXPECT(g->status != TAKT_OK || g->depth == i + 1, "%d", g->depth);
    }
    const takt_status status = g->status;
    takt_graph_destroy(g);
    return status;
}

static void depth_limit(void)
{
    limit(0, 6);
    EXPECT_OK(ctx, nested(4));
    EXPECT_OK(ctx, nested(5));
    EXPECT_STATUS(ctx, nested(6), TAKT_ERR_LIMIT);
    EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_NESTING);
    limit(0, 0);
}

/* ---- several results, state, digest ---- */

static void several_results(void)
{
    takt_graph *g = new_graph();
    const takt_id x = takt_graph_input(g, "x", &vector);
    const takt_named_attr k = {"k", takt_attr_i64(2)};
    const takt_id top = takt_graph_call(g, &takt_op_top_k, 1, &x, 1, &k);
    EXPECT_EQ(g->nodes[top].out_count, 2);
    const takt_id values = takt_graph_get(g, top, 0), indices = takt_graph_get(g, top, 1);
    EXPECT_IS(values, !=, indices);
    EXPECT_EQ(takt_graph_get(g, top, 0), values);
    EXPECT_EQ(takt_type_of(g, values)->dtype, TAKT_F32);
    EXPECT_EQ(takt_type_of(g, indices)->dtype, TAKT_I64);
    EXPECT(takt_graph_get(g, x, 0) == x, "the only result of a node is the node");
    EXPECT_EQ(takt_graph_get(g, top, 2), TAKT_NONE);
    EXPECT_IS(g->status, !=, TAKT_OK);
    takt_graph_destroy(g);
    g = new_graph();
    const takt_id y = takt_graph_input(g, "x", &vector);
    takt_unary(g, &takt_op_exp, takt_graph_call(g, &takt_op_top_k, 1, &y, 1, &k));
    EXPECT(g->status == TAKT_ERR_ARGUMENT, "two results are not an input");
    takt_graph_destroy(g);
}

/* Enough of them that a linear search would be noticed. */
static void many_slots(void)
{
    enum { COUNT = 5000 };
    takt_graph *g = new_graph();
    const takt_init zero = {0};
    char name[24];
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "s%d", i);
        const takt_id s = takt_graph_slot(g, name, &vector, &zero, i % 2 == 0);
        takt_graph_input(g, name, &vector); /* an output may have the same name */
        takt_graph_output(g, name, s);
        takt_graph_set_next(g, name, s);
    }
    EXPECT_OK(ctx, takt_graph_verify(g));
    EXPECT_EQ(g->slot_count, COUNT);
    EXPECT_EQ(g->input_count, COUNT);
    EXPECT_EQ(g->output_count, COUNT);
    for (int i = 0; i < COUNT; i += 7) {
        snprintf(name, sizeof name, "s%d", i);
        const takt_slot *s = takt_graph_find_slot(g, name);
        EXPECT(s == &g->slots[i] && s->next == s->value && s->is_trainable == (i % 2 == 0));
    }
    EXPECT(takt_graph_find_slot(g, "s5000") == NULL && takt_graph_find_slot(g, "") == NULL);
    takt_graph_destroy(g);
}

static uint64_t digest_of(bool swapped, const char *names, double c)
{
    takt_graph *g = new_graph();
    const takt_id x = takt_graph_input(g, "x", &vector);
    takt_id a, b;
    g->next_name = names;
    if (swapped) {
        b = takt_unary(g, &takt_op_tanh, x);
        takt_unary(g, &takt_op_cos, x); /* that nobody needs */
        a = takt_mul_scalar(g, takt_unary(g, &takt_op_exp, x), c);
    } else {
        a = takt_mul_scalar(g, takt_unary(g, &takt_op_exp, x), c);
        b = takt_unary(g, &takt_op_tanh, x);
    }
    takt_graph_output(g, "y", takt_add(g, a, b));
    const uint64_t digest = takt_graph_digest(g);
    takt_graph_destroy(g);
    return digest;
}

static void digests(void)
{
    const uint64_t first = digest_of(false, NULL, 2);
    EXPECT(digest_of(false, "name", 2) == first, "names of values do not matter");
    EXPECT(digest_of(true, NULL, 2) == first, "nor does numbering");
    EXPECT(digest_of(false, NULL, 3) != first, "constants do");
    EXPECT_IS(digest_of(false, NULL, -2), !=, first);
}

int main(void)
{
    limit(0, 0);
    equal_nodes_are_one();
    fallbacks_are_filled_in();
    origins_merge();
    random_is_unique();
    failure_sticks();
    bad_edges();
    node_limit();
    depth_limit();
    several_results();
    many_slots();
    digests();
    takt_ctx_destroy(ctx);
    return test_done();
}
