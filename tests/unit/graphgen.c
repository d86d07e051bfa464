/* graphgen.c - five hundred random graphs: valid, readable back, and without a failing run. */
#include "util/graphgen.h"

#include <string.h>

#include "interp/interp.h"
#include "op/ops.h"
#include "test.h"

enum { GRAPHS = 500, MAX_OUTPUTS = 4096 };

static takt_ctx *ctx;

static void print_parse(uint64_t seed, const takt_graph *g)
{
    takt_graph *again = NULL;
    takt_text first, second;
    takt_text_init(&first, ctx);
    takt_text_init(&second, ctx);
    takt_graph_print(g, NULL, &first);
    const char *text = takt_text_get(&first);
    if (EXPECT(takt_parse(ctx, "graph", text, strlen(text), NULL, &again) == TAKT_OK,
               "seed %llu: %s\n%s", (unsigned long long)seed, takt_last_error(ctx), text)) {
        takt_graph_print(again, NULL, &second);
        EXPECT(strcmp(text, takt_text_get(&second)) == 0, "seed %llu:\n%s\nbecame\n%s",
               (unsigned long long)seed, text, takt_text_get(&second));
    }
    takt_text_deinit(&first);
    takt_text_deinit(&second);
    takt_graph_destroy(again);
}

static void interpret(uint64_t seed, const takt_gen *gen)
{
    static takt_array out[MAX_OUTPUTS], next[TAKT_GEN_SLOTS];
    static takt_gen_values values;
    const takt_graph *g = gen->graph;
    EXPECT_OK(ctx, takt_gen_values_init(gen, seed, &values));
    const takt_status status = takt_interpret_arrays(ctx, g, values.in, values.slot, out, next);
    if (EXPECT(status == TAKT_OK, "seed %llu: %s (%s)", (unsigned long long)seed,
               takt_last_error(ctx), takt_last_error_info(ctx)->node)) {
        for (size_t i = 0; i < g->output_count; i++)
            takt_array_release(ctx, &out[i]);
        for (size_t i = 0; i < g->slot_count; i++)
            takt_array_release(ctx, &next[i]);
    }
    takt_gen_values_deinit(gen, &values);
}

static void mark_ops(const takt_graph *g, unsigned char *seen)
{
    for (size_t i = 0; i < g->count; i++)
        for (size_t k = 0; k < takt_op_count; k++)
            seen[k] |= g->nodes[i].op == takt_ops[k];
}

/* ---- views of what was just computed ---- */

static const takt_op *const views[] = {&takt_op_slice, &takt_op_reshape,   &takt_op_transpose,
                                       &takt_op_split, &takt_op_concat,    &takt_op_pad,
                                       &takt_op_cast,  &takt_op_broadcast, &takt_op_get};
enum { VIEWS = sizeof views / sizeof *views };
static size_t viewed[VIEWS], met;

static bool is_view(const takt_op *op)
{
    for (size_t k = 0; k < VIEWS; k++)
        if (op == views[k])
            return true;
    return false;
}

/* The value that a chain of views begins with. */
static takt_id source_of(const takt_graph *g, takt_id id)
{
    while (is_view(g->nodes[id].op))
        id = g->nodes[id].in[0];
    return id;
}

static bool is_computed(const takt_graph *g, takt_id id)
{
    return g->nodes[id].in_count > 0 && !is_view(g->nodes[id].op);
}

static void count_views(const takt_graph *g)
{
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        for (size_t k = 0; k < VIEWS; k++)
            viewed[k] += n->op == views[k] && is_computed(g, source_of(g, n->in[0]));
        if ((n->op->traits & TAKT_ELEMENTWISE) == 0 || n->in_count < 2 || n->in[0] == n->in[1] ||
            n->in[0] == TAKT_NONE || n->in[1] == TAKT_NONE)
            continue;
        const takt_id a = source_of(g, n->in[0]);
        met += a == source_of(g, n->in[1]) && is_computed(g, a);
    }
}

static void check_views(void)
{
    for (size_t k = 0; k < VIEWS; k++)
        EXPECT(viewed[k] >= GRAPHS / 50, "%s: only %zu of computed values", views[k]->name,
               viewed[k]);
    EXPECT(met >= GRAPHS, "a value meets a view of itself only %zu times", met);
}

static void all_graphs(void)
{
    static unsigned char seen[4096];
    static takt_gen gen;
    size_t covered = 0;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (uint64_t seed = 0; seed < GRAPHS; seed++) {
        if (!EXPECT(takt_gen_graph(ctx, seed, NULL, &gen) == TAKT_OK, "seed %llu: %s",
                    (unsigned long long)seed, takt_last_error(ctx)))
            continue;
        EXPECT(takt_graph_verify(gen.graph) == TAKT_OK, "seed %llu: %s", (unsigned long long)seed,
               takt_last_error(ctx));
        print_parse(seed, gen.graph);
        interpret(seed, &gen);
        mark_ops(gen.graph, seen);
        count_views(gen.graph);
        takt_gen_deinit(&gen);
    }
    for (size_t k = 0; k < takt_op_count; k++) {
        covered += seen[k];
        EXPECT(seen[k], "%s never occurs", takt_ops[k]->name);
    }
    check_views();
    printf("%d graphs cover %zu of %zu ops\n", GRAPHS, covered, takt_op_count);
    takt_ctx_destroy(ctx);
}

/* The same seed gives the same graph; another seed, another graph. */
static void deterministic(void)
{
    static takt_gen a, b, c;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_gen_graph(ctx, 7, NULL, &a));
    EXPECT_OK(ctx, takt_gen_graph(ctx, 7, NULL, &b));
    EXPECT_OK(ctx, takt_gen_graph(ctx, 8, NULL, &c));
    takt_text texts[3];
    const takt_gen *gens[3] = {&a, &b, &c};
    for (int i = 0; i < 3; i++) {
        takt_text_init(&texts[i], ctx);
        takt_graph_print(gens[i]->graph, NULL, &texts[i]);
    }
    EXPECT_TEXT(takt_text_get(&texts[0]), takt_text_get(&texts[1]));
    EXPECT(strcmp(takt_text_get(&texts[0]), takt_text_get(&texts[2])) != 0);
    for (int i = 0; i < 3; i++)
        takt_text_deinit(&texts[i]);
    takt_gen_deinit(&a);
    takt_gen_deinit(&b);
    takt_gen_deinit(&c);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(all_graphs, deterministic)
