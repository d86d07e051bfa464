/* verify_softmax.c - rows of linear bounds through attention: differences are bounded once, and
 * moved factors of products are traced back to their source. */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"
#include "verify/alpha.h"
#include "verify/program.h"
#include "verify/region.h"

enum { TOKENS = 5, WIDTH = 3, INPUTS = TOKENS * WIDTH };

static const char text[] = "model m(x: f32[5, 3]) seed=4 {\n"
                           "  s = softmax(matmul(x, x, transpose_b=true), axis=-1)\n"
                           "  return matmul(s, dense(x, 2))\n}\n";

static takt_ctx *ctx;
static takt_model *model;
static takt_graph *graph;
static takt_net net;
static takt_region region;

static bool start(void)
{
    const takt_plan_options options = {.threads = 1, .backend = "cpu", .checks = "off"};
    double lo[INPUTS], hi[INPUTS];
    for (size_t i = 0; i < INPUTS; i++) {
        lo[i] = 0.125 * (double)(i * 7 % 11) - 0.5;
        hi[i] = lo[i] + 0.0625;
    }
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &model)) ||
        !EXPECT_OK(ctx, takt_program_graph(model, &options, &graph)) ||
        !EXPECT_OK(ctx, takt_net_init(graph, false, &net)) ||
        !EXPECT_OK(ctx, takt_region_init(&net, TAKT_REGION_ROWS, &region)))
        return false;
    takt_region_box(&region, lo, hi);
    takt_region_bound(&region, true);
    return true;
}

static uint32_t differences(void)
{
    for (uint32_t i = 0; i < net.count; i++)
        if (net.nodes[i].negative != NULL)
            return i;
    return UINT32_MAX;
}

/* Each pair of tokens has a difference and its negative; a token has none with itself. */
static void once(void)
{
    const uint32_t id = differences();
    if (!EXPECT(id != UINT32_MAX && net.nodes[id].count == TOKENS * TOKENS * TOKENS, "no node"))
        return;
    const uint32_t *negative = net.nodes[id].negative;
    for (uint32_t k = 0; k < net.nodes[id].count; k++) {
        const uint32_t other = negative[k];
        const bool is_same = k / TOKENS % TOKENS == k % TOKENS;
        EXPECT(negative[other] == k && (other == k) == is_same, "%u and %u", k, other);
        EXPECT(region.lo[id][k] == -region.hi[id][other], "%u: %g and %g", k, region.lo[id][k],
               region.hi[id][other]);
        EXPECT(is_same == (region.lo[id][k] == 0 && region.hi[id][k] == 0), "%u", k);
    }
}

/* A row of each result skips nodes that only move elements, and holds at the middle of the box. */
static void moved(void)
{
    const uint32_t count = net.nodes[net.output].count;
    size_t moves = 0;
    takt_region_clear(&region, net.output, count);
    for (uint32_t i = 0; i < count; i++)
        region.rows[net.output][i * count + i] = 1;
    const uint64_t before = region.backs;
    takt_region_back(&region, net.output, count);
    EXPECT(region.backs - before == count, "rows");
    for (uint32_t i = 0; i < net.count; i++) {
        moves += net.nodes[i].is_used && net.nodes[i].is_move;
        EXPECT(!net.nodes[i].is_move || !region.is_touched[i], "node %u is passed", i);
    }
    EXPECT(moves >= 4, "%zu moves", moves);
    for (uint32_t i = 0; i < count; i++)
        EXPECT(takt_region_least(&region, i) >= region.lo[net.output][i] - 1e-3 &&
                   takt_region_least(&region, i) <= region.hi[net.output][i],
               "row %u", i);
}

/* Slope updates read moved elements, although no row passes through them. */
static void valued(void)
{
    const uint32_t count = net.nodes[net.output].count;
    double best[TAKT_REGION_ROWS];
    if (!EXPECT_OK(ctx, takt_alpha_init(&region, 2)))
        return;
    takt_region_bound(&region, true);
    takt_region_clear(&region, net.output, count);
    for (uint32_t i = 0; i < count; i++)
        region.rows[net.output][i * count + i] = 1;
    takt_region_best(&region, net.output, count, best);
    for (uint32_t i = 0; i < net.count; i++) {
        const takt_net_node *n = &net.nodes[i];
        for (uint32_t k = 0; n->is_used && n->is_move && k < n->count; k++)
            EXPECT(region.alpha->value[i][k] ==
                       region.alpha->value[n->parts[0].source][n->parts[0].columns[k]],
                   "element %u of node %u", k, i);
    }
}

static void stop(void)
{
    takt_region_deinit(&region);
    takt_net_deinit(&net);
    takt_graph_destroy(graph);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

static void all(void)
{
    if (start()) {
        once();
        moved();
        valued();
    }
    stop();
}

TEST_MAIN(all)
