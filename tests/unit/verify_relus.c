/* verify_relus.c - proofs by splits of relus: the checker refuses trees, multipliers and slopes
 * that do not prove what they claim. */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"
#include "verify/program.h"
#include "verify/recheck.h"

static takt_ctx *ctx;

/* y <= 0 everywhere, but the usual lines say only y <= 1. */
static const char text[] = "model m(x: f32[2]) {\n  return x - relu(2 * x)\n}\n";

typedef struct stand {
    takt_model *model;
    takt_graph *graph;
    uint32_t relu;
    double lo[2], hi[2];
    takt_term terms[2];
    takt_halfspace rows[2];
    takt_case cases[2];
    takt_property p;
} stand;

static bool open_stand(stand *s, double most)
{
    const takt_plan_options options = {.threads = 1, .backend = "cpu", .checks = "off"};
    *s = (stand){.lo = {-1, -1}, .hi = {1, 1}};
    if (!EXPECT_OK(ctx,
                   takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &s->model)) ||
        !EXPECT_OK(ctx, takt_program_graph(s->model, &options, &s->graph)))
        return false;
    for (uint32_t i = 0; i < s->graph->count; i++)
        if (strcmp(s->graph->nodes[i].op->name, "relu") == 0)
            s->relu = i;
    for (uint32_t i = 0; i < 2; i++) {
        s->terms[i] = (takt_term){.index = i, .factor = -1};
        s->rows[i] = (takt_halfspace){.terms = &s->terms[i], .count = 1, .bound = -most};
        s->cases[i] = (takt_case){.lo = s->lo, .hi = s->hi, .rows = &s->rows[i], .row_count = 1};
    }
    s->p = (takt_property){.input_count = 2, .output_count = 2, .cases = s->cases, .case_count = 1};
    return true;
}

static void close_stand(stand *s)
{
    takt_graph_destroy(s->graph);
    takt_model_destroy(s->model);
}

static bool accepts(const stand *s, takt_cut *cuts, size_t count)
{
    takt_certificate c = {.model = takt_graph_digest(s->graph), .cuts = cuts, .count = count};
    bool is_proved = false;
    char why[160];
    size_t boxes;
    takt_property_digest(&s->p, c.property);
    EXPECT_OK(ctx, takt_recheck_run(s->graph, &s->p, &c, &is_proved, why, &boxes));
    EXPECT(is_proved || why[0] != '\0', "a sentence says why");
    return is_proved;
}

static const uint32_t numbers[] = {0, 1};
static const double half[] = {0.5}, nothing[] = {0}, whole[] = {1}, negative[] = {-0.5},
                    infinite[] = {INFINITY}, unknown[] = {NAN}, two[] = {0.5, 0.5},
                    first[] = {0.5, 0}, second[] = {0, 0.5};

static takt_cut leaf(uint32_t number, const double *beta, size_t count)
{
    return (takt_cut){.input = UINT32_MAX,
                      .proved = &numbers[number],
                      .proved_count = 1,
                      .beta = beta,
                      .beta_count = count};
}

static takt_cut relu(const stand *s, uint32_t element)
{
    return (takt_cut){.input = s->relu, .element = element, .is_relu = true};
}

#define TREE(...)                                                                                  \
    accepts(&s, (takt_cut[]){__VA_ARGS__}, sizeof((takt_cut[]){__VA_ARGS__}) / sizeof(takt_cut))

static void multipliers(void)
{
    stand s;
    if (!open_stand(&s, 0.1))
        return;
    const takt_cut split = relu(&s, 0), good = leaf(0, half, 1);
    const takt_cut bare = {.input = UINT32_MAX};
    EXPECT(TREE(split, good, good), "both sides");
    EXPECT(!TREE(leaf(0, NULL, 0)), "no split");
    EXPECT(!TREE(good), "a multiplier of no split");
    EXPECT(!TREE(split, good), "the side where it is on is missing");
    EXPECT(!TREE(split, good, bare), "nothing is proved where it is on");
    EXPECT(!TREE(split, bare, good), "nor where it is off");
    EXPECT(!TREE(split, leaf(0, NULL, 0), good), "no multiplier");
    EXPECT(!TREE(split, leaf(0, nothing, 1), good), "a multiplier of 0");
    EXPECT(!TREE(split, leaf(0, whole, 1), good), "one that is too large");
    EXPECT(!TREE(split, leaf(0, negative, 1), good), "a negative one");
    EXPECT(!TREE(split, leaf(0, infinite, 1), good), "an infinite one");
    EXPECT(!TREE(split, leaf(0, unknown, 1), good), "NaN");
    EXPECT(!TREE(split, leaf(0, two, 2), good), "one too many");
    EXPECT(!TREE(relu(&s, 1), good, good), "the wrong element");
    EXPECT(!TREE(relu(&s, 2), good, good), "an element that is not there");
    takt_cut other = split;
    other.input = s.graph->outputs[0].id;
    EXPECT(!TREE(other, good, good), "a node that is not a relu");
    other.input = UINT32_MAX - 1;
    EXPECT(!TREE(other, good, good), "a node that is not there");
    const takt_cut inner = relu(&s, 1), outer = leaf(0, first, 2), late = leaf(0, second, 2);
    EXPECT(TREE(split, inner, outer, outer, good), "the outer split's multiplier comes first");
    EXPECT(!TREE(split, inner, late, late, good), "they are not swapped");
    EXPECT(!TREE(split, inner, outer, good), "an inner side is missing");
    close_stand(&s);
}

static void slopes(void)
{
    stand s;
    if (!open_stand(&s, 0.1))
        return;
    uint16_t steps[2] = {2048, 2048};
    takt_cut_slopes lines = {.node = s.relu, .count = 2, .at = steps};
    takt_cut one = leaf(0, NULL, 0);
    one.slopes = &lines;
    one.slope_count = 1;
    EXPECT(TREE(one), "a slope of about 1/2 needs no split");
    steps[0] = 2457;
    EXPECT(!TREE(one), "0.6 does");
    steps[0] = UINT16_MAX;
    EXPECT(!TREE(one), "no slope is above 1");
    steps[0] = 2048;
    lines.count = 1;
    EXPECT(!TREE(one), "too few");
    lines.count = 2;
    lines.node = s.graph->outputs[0].id;
    EXPECT(!TREE(one), "of no relu");
    lines.node = UINT32_MAX - 1;
    EXPECT(!TREE(one), "of a node that is not there");
    /* They belong to one part: the next has the usual ones. */
    lines.node = s.relu;
    const takt_cut split = {.input = 1, .at = 0};
    EXPECT(!TREE(split, one, leaf(0, NULL, 0)), "slopes of another part");
    close_stand(&s);
}

/* Each case needs one tree that proves it everywhere. */
static void trees(void)
{
    stand s;
    if (!open_stand(&s, 0.1))
        return;
    const takt_cut split = relu(&s, 0), good = leaf(0, half, 1), bare = {.input = UINT32_MAX};
    EXPECT(!TREE(split, good, bare, split, bare, good), "half by one tree, half by another");
    s.p.case_count = 2;
    const takt_cut other = leaf(1, half, 1), last = relu(&s, 1);
    EXPECT(TREE(split, good, good, last, other, other), "a tree for each case");
    EXPECT(!TREE(split, good, good), "one case is left");
    EXPECT(!TREE(split, good, good, split, good, good), "the same again");
    EXPECT(!TREE(split, good, good, last, other, other, bare), "a tree too many");
    close_stand(&s);
}

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(*state >> 33) % below;
}

/* y <= -0.01 is false at 0: no tree proves it. */
static void false_claims(void)
{
    stand s;
    uint64_t state = 7;
    int accepted = 0;
    if (!open_stand(&s, -0.01))
        return;
    for (int i = 0; i < 10000; i++) {
        takt_cut cuts[9];
        double beta[9][4];
        uint16_t steps[9][2];
        takt_cut_slopes lines[9];
        const size_t count = 1 + draw(&state, 9);
        for (size_t k = 0; k < count; k++) {
            cuts[k] = leaf(0, beta[k], draw(&state, 4));
            for (int b = 0; b < 4; b++)
                beta[k][b] = 0.125 * draw(&state, 20) - (draw(&state, 16) == 0);
            steps[k][0] = (uint16_t)draw(&state, 65536);
            steps[k][1] = (uint16_t)draw(&state, 4096);
            lines[k] = (takt_cut_slopes){.node = s.relu, .count = 2, .at = steps[k]};
            cuts[k].slopes = &lines[k];
            cuts[k].slope_count = draw(&state, 2);
            const uint32_t kind = draw(&state, 4);
            if (kind == 0)
                cuts[k].proved_count = cuts[k].beta_count = cuts[k].slope_count = 0;
            if (kind <= 1) {
                cuts[k].is_relu = true;
                cuts[k].input = s.relu;
                cuts[k].element = draw(&state, 2);
            }
        }
        accepted += accepts(&s, cuts, count);
    }
    EXPECT(accepted == 0, "%d certificates of what is false", accepted);
    close_stand(&s);
}

static void start(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void stop(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(start, multipliers, slopes, trees, false_claims, stop)
