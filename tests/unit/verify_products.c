/* verify_products.c - products in f32: room for every size, range of the rows, and errors that stay
 * those of the box. */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"
#include "verify/products.h"
#include "verify/program.h"
#include "verify/search_hunt.h"

enum { INPUTS = 70, THREADS = 2 };

static const char text[] = "model m(x: f32[1, 70]) seed=12 {\n"
                           "  h = relu(dense(relu(dense(x, 80)), 96))\n  return dense(h, 9)\n}\n";

static takt_ctx *ctx;

typedef struct stand {
    takt_model *model;
    takt_graph *graph;
    takt_net net;
    takt_region regions[THREADS];
    double lo[INPUTS], hi[INPUTS];
    size_t sum; /* the last node with products in f32 */
} stand;

static bool open_stand(stand *s)
{
    const takt_plan_options options = {.threads = 1, .backend = "cpu", .checks = "off"};
    double *least;
    *s = (stand){0};
    if (!EXPECT_OK(ctx,
                   takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &s->model)) ||
        !EXPECT_OK(ctx, takt_program_graph(s->model, &options, &s->graph)) ||
        !EXPECT_OK(ctx, takt_net_init(s->graph, false, &s->net)) ||
        !EXPECT_OK(ctx, takt_products_net(&s->net, true)))
        return false;
    for (int i = 0; i < THREADS; i++)
        if (!EXPECT_OK(ctx, takt_region_init(&s->net, TAKT_REGION_ROWS, &s->regions[i])))
            return false;
    for (size_t i = 0; i < INPUTS; i++) {
        s->lo[i] = -1;
        s->hi[i] = 1;
    }
    takt_region_box(&s->regions[0], s->lo, s->hi);
    takt_region_bound(&s->regions[0], true);
    for (size_t i = 0; i < s->net.count; i++)
        if (takt_products_kept(&s->regions[0], i, &least) != NULL)
            s->sum = i;
    return EXPECT(s->sum > 0, "no product of this net is in f32");
}

static void close_stand(stand *s)
{
    for (int i = 0; i < THREADS; i++)
        takt_region_deinit(&s->regions[i]);
    takt_net_deinit(&s->net);
    takt_graph_destroy(s->graph);
    takt_model_destroy(s->model);
}

static void start(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

/* A kernel that takes taller blocks for small k, as AVX2's does. */
static size_t uneven(const takt_gemm_f32 *g)
{
    return g->k == 100 ? 4096 : g->k;
}

static void scratch(void)
{
    const takt_gemm_f32_info info = {.scratch_bytes = uneven};
    EXPECT(takt_products_scratch(&info, 64, 128, 99) == 99, "up to 99");
    EXPECT(takt_products_scratch(&info, 64, 128, 128) == 4096, "100 is among them");
}

/* Large coefficients stay in f64, whatever the others are. */
static void range(void)
{
    enum { ROWS = 4 };
    static const double first[][ROWS] = {
        {1, 2, 3, 4}, {1e200, 2, 3, 4}, {1e200, NAN, 3, 4}, {1, NAN, 3, 4}, {1, 2, 3, INFINITY}};
    stand s;
    if (open_stand(&s)) {
        takt_region *r = &s.regions[0];
        const uint32_t width = s.net.nodes[s.sum].count;
        for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
            double least = 0;
            for (size_t k = 0; k < (size_t)ROWS * width; k++)
                r->rows[s.sum][k] = k % width == 0 ? first[i][k / width] : 0.5;
            EXPECT((takt_products_error(r, s.sum, ROWS, &least) != NULL) == (i == 0), "case %zu",
                   i);
        }
    }
    close_stand(&s);
}

/* Parts of a box pay its errors, on every thread, and after an attack at a point. */
static void parts(void)
{
    stand s;
    takt_split root = {.input = UINT32_MAX, .parent = UINT32_MAX};
    takt_group group = {.splits = &root, .split_count = 1};
    takt_search search = {0};
    static double slopes[1024], before[1024];
    const takt_property p = {.input_count = INPUTS, .output_count = 9};
    takt_job job = {.slopes = slopes, .beta = slopes};
    takt_arena_init(&search.arena, ctx);
    if (open_stand(&s)) {
        takt_hunt h = {.net = &s.net,
                       .p = &p,
                       .s = &search,
                       .group = &group,
                       .regions = s.regions,
                       .threads = THREADS};
        const size_t count = s.net.nodes[s.sum].count;
        double *least, *error = takt_products_kept(&s.regions[0], s.sum, &least);
        const double row = *least;
        memcpy(before, error, count * sizeof *error);
        if (EXPECT_OK(ctx, takt_hunt_keep(&h, &s.regions[0])) &&
            EXPECT_OK(ctx, takt_hunt_relus(&h))) {
            takt_region_box(&s.regions[0], s.lo, s.lo);
            takt_region_bound(&s.regions[0], false);
            EXPECT(memcmp(error, before, count * sizeof *error) != 0, "a point costs less");
            for (int i = 0; i < THREADS; i++) {
                takt_hunt_enter(&h, &job, i);
                error = takt_products_kept(&s.regions[i], s.sum, &least);
                EXPECT(memcmp(error, before, count * sizeof *error) == 0 && *least == row,
                       "thread %d", i);
            }
        }
    }
    takt_arena_deinit(&search.arena);
    close_stand(&s);
}

static void stop(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(start, scratch, range, parts, stop)
