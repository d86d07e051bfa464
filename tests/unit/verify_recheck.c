/* verify_recheck.c - the checker of certificates: it refuses claims of a prover with a planted
 * fault, trees that do not cover their box, and every tree of a false claim. */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "base/error.h"
#include "test.h"
#include "verify/goal.h"
#include "verify/program.h"
#include "verify/recheck.h"

static const char *const models[] = {
    "model m(x: f32[1, 4]) seed=1 {\n  h = dense(x, 6, act=relu) + 0.25\n"
    "  h = dense(h, 6, act=relu)\n  return dense(h, 2) + 0.5\n}\n",
    "model m(x: f32[1, 1, 2, 2]) seed=2 {\n  h = relu(conv(x, 3, kernel=2, pad=1) + 0.125)\n"
    "  return dense(flatten(avg_pool(h, 2)), 2)\n}\n",
    "model m(x: f32[1, 4]) seed=3 {\n  return dense(sigmoid(3 * dense(x, 5)), 2)\n}\n",
};

static takt_ctx *ctx;

typedef struct stand {
    takt_model *model;
    takt_graph *graph;
    takt_net net;
    takt_region region;
    double lo[4], hi[4], lower[2], upper[2];
} stand;

static bool open_stand(stand *s, size_t model, bool is_real)
{
    const takt_plan_options options = {.threads = 1, .backend = "cpu", .checks = "off"};
    *s = (stand){0};
    for (int i = 0; i < 4; i++) {
        s->lo[i] = -0.5 + 0.25 * i;
        s->hi[i] = s->lo[i] + 0.5;
    }
    const char *text = models[model];
    return EXPECT_OK(ctx,
                     takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &s->model)) &&
           EXPECT_OK(ctx, takt_program_graph(s->model, &options, &s->graph)) &&
           EXPECT_OK(ctx, takt_net_init(s->graph, is_real, &s->net)) &&
           EXPECT_OK(ctx, takt_region_init(&s->net, TAKT_REGION_ROWS, &s->region));
}

static void close_stand(stand *s)
{
    takt_region_deinit(&s->region);
    takt_net_deinit(&s->net);
    takt_graph_destroy(s->graph);
    takt_model_destroy(s->model);
}

/* Whether the checker confirms that sign * output k is above `bound`, without any split. */
static bool confirms(const stand *s, int k, double sign, double bound, bool is_real)
{
    const takt_term term = {.index = (uint32_t)k, .factor = sign};
    const takt_halfspace row = {.terms = &term, .count = 1, .bound = bound};
    takt_case one = {.lo = s->lo, .hi = s->hi, .rows = &row, .row_count = 1};
    const takt_property p = {.input_count = 4, .output_count = 2, .cases = &one, .case_count = 1};
    const uint32_t proved = 0;
    takt_cut leaf = {.input = UINT32_MAX, .proved = &proved, .proved_count = 1};
    takt_certificate c = {.is_real = is_real, .model = takt_graph_digest(s->graph)};
    c.cuts = &leaf;
    c.count = 1;
    takt_property_digest(&p, c.property);
    bool is_proved = false;
    char why[160];
    size_t boxes;
    EXPECT_OK(ctx, takt_recheck_run(s->graph, &p, &c, &is_proved, why, &boxes));
    return is_proved;
}

/* ---- planted faults ---- */

typedef enum fault {
    NONE,
    WEIGHT_SIGN,
    WEIGHT_SLIGHTLY,
    BIAS_SIGN,
    BIAS_LOST,
    COLUMN_MOVED,
    ENTRY_LOST,
    FACTOR_OF_POOL,
    WINDOW_OF_POOL,
    GAMMA_LOST,
    ERRORS_LOST,
    BELOW_SLOPE,
    ABOVE_SLOPE,
    ABOVE_OFFSET,
    LINES_SWAPPED,
    BOUND_RAISED,
    BOX_SHRUNK,
    FAULTS
} fault;

static takt_net_node *find_sum(takt_net *net, takt_net_form form, size_t skip)
{
    for (size_t i = 0; i < net->count; i++)
        if (net->nodes[i].is_used && net->nodes[i].part_count == 1 &&
            net->nodes[i].parts[0].form == form && skip-- == 0)
            return &net->nodes[i];
    return NULL;
}

static takt_net_node *find_bias(takt_net *net)
{
    for (size_t i = 0; i < net->count; i++)
        if (net->nodes[i].is_used && net->nodes[i].bias != NULL && net->nodes[i].bias[0] != 0)
            return &net->nodes[i];
    return NULL;
}

static size_t find_curve(const takt_net *net)
{
    size_t i = 0;
    while (net->nodes[i].kind != TAKT_NET_CURVE || !net->nodes[i].is_used)
        i++;
    return i;
}

/* Faults of the net, before it is bounded. */
static bool plant_net(stand *s, fault f)
{
    takt_net_node *dense = find_sum(&s->net, TAKT_NET_DENSE, 0);
    takt_net_node *sparse = find_sum(&s->net, TAKT_NET_SPARSE, 0);
    takt_net_node *second = find_sum(&s->net, TAKT_NET_SPARSE, 1);
    takt_net_node *any = dense != NULL ? dense : sparse;
    double *w = (double *)any->parts[0].values;
    switch (f) {
    case WEIGHT_SIGN: w[1] = -w[1]; break;
    case WEIGHT_SLIGHTLY: w[1] *= 1 + 1e-4; break;
    case BIAS_SIGN:
    case BIAS_LOST:
        any = find_bias(&s->net);
        if (any == NULL)
            return false;
        for (uint32_t i = 0; i < any->count; i++)
            ((double *)any->bias)[i] *= f == BIAS_SIGN ? -1 : 0;
        break;
    case COLUMN_MOVED:
        if (sparse == NULL)
            return false;
        ((uint32_t *)sparse->parts[0].columns)[0] ^= 1;
        break;
    case ENTRY_LOST:
        if (sparse == NULL)
            return false;
        ((double *)sparse->parts[0].values)[sparse->parts[0].starts[3]] = 0;
        break;
    case FACTOR_OF_POOL:
        if (second == NULL)
            return false;
        ((double *)second->parts[0].values)[0] *= 1.5;
        break;
    case WINDOW_OF_POOL:
        if (second == NULL)
            return false;
        ((uint32_t *)second->parts[0].columns)[0] = second->parts[0].columns[1];
        break;
    case GAMMA_LOST: any->gamma = 0; break;
    case ERRORS_LOST:
        for (size_t i = 0; i < s->net.count; i++)
            s->net.nodes[i].gamma = s->net.nodes[i].share = s->net.nodes[i].tiny = 0;
        break;
    case BOX_SHRUNK: break;
    default: break;
    }
    return true;
}

/* Faults in lines and bounds, before those in outputs. */
static void plant_lines(stand *s, fault f)
{
    const size_t id = find_curve(&s->net);
    takt_lines *l = &s->region.lines[id];
    for (uint32_t i = 0; i < s->net.nodes[id].count; i++) {
        const double slope = l->below[0][i];
        switch (f) {
        case BELOW_SLOPE: l->below[0][i] += 1e-6; break;
        case ABOVE_SLOPE: l->above[0][i] -= 1e-6; break;
        case ABOVE_OFFSET: l->above_at[i] = l->above_at[i] > 0 ? 0 : l->above_at[i] - 0.01; break;
        case LINES_SWAPPED:
            l->below[0][i] = l->above[0][i];
            l->above[0][i] = slope;
            break;
        case BOUND_RAISED:
            l->below_at[i] += 1e-5;
            l->above_at[i] -= 1e-5;
            break;
        default: break;
        }
    }
}

static void bound_outputs(stand *s, fault f)
{
    double hi[4];
    memcpy(hi, s->hi, sizeof hi);
    if (f == BOX_SHRUNK)
        hi[2] -= 0.01;
    takt_region_box(&s->region, s->lo, hi);
    takt_region_bound(&s->region, true);
    plant_lines(s, f);
    const uint32_t id = s->net.output;
    takt_region_clear(&s->region, id, 4);
    for (int k = 0; k < 2; k++) {
        s->region.rows[id][4 * k + k] = 1;
        s->region.rows[id][4 * k + 2 + k] = -1;
    }
    takt_region_back(&s->region, id, 4);
    for (int k = 0; k < 2; k++) {
        s->lower[k] = takt_region_least(&s->region, (size_t)(2 * k));
        s->upper[k] = -takt_region_least(&s->region, (size_t)(2 * k + 1));
    }
}

/* The checker refuses the claims of a prover with this fault; it confirms those of one without, up
 * to a part `slack` of the width. */
static bool is_caught(size_t model, fault f, bool is_real, double slack, bool *is_planted)
{
    stand s;
    bool caught = false;
    *is_planted = false;
    if (open_stand(&s, model, is_real) && plant_net(&s, f)) {
        *is_planted = true;
        bound_outputs(&s, f);
        for (int k = 0; k < 2; k++) {
            const double by = slack * (s.upper[k] - s.lower[k]);
            caught = caught || !confirms(&s, k, 1, s.lower[k] - by, is_real) ||
                     !confirms(&s, k, -1, -s.upper[k] - by, is_real);
        }
    }
    close_stand(&s);
    return caught;
}

static void faults(void)
{
    int planted = 0;
    for (fault f = NONE; f < FAULTS; f++) {
        bool was = false, caught = false;
        for (size_t m = 0; m < 3; m++)
            for (int real = 0; real < 2; real++) {
                bool is_planted;
                /* Rounding of f32 is about 1e-7: its faults are searched at that size. */
                const bool is_rounding = f == GAMMA_LOST || f == ERRORS_LOST;
                const double slack = real == 1 ? 1e-9 : is_rounding ? 3e-8 : 1e-6;
                const bool c = is_caught(m, f, real == 1, slack, &is_planted);
                was = was || is_planted;
                caught = caught || (c && is_planted);
                if (f == NONE)
                    EXPECT(!c, "model %zu, %s: the checker refuses a proof", m,
                           real == 1 ? "real" : "f32");
            }
        planted += f != NONE && was;
        EXPECT(f == NONE || caught, "fault %d is not caught", (int)f);
    }
    EXPECT(planted == FAULTS - 1 && planted >= 16, "%d faults", planted);
}

/* ---- trees ---- */

static const uint32_t first_case = 0;

static takt_cut leaf_of(bool is_proved)
{
    return (takt_cut){
        .input = UINT32_MAX, .proved = &first_case, .proved_count = is_proved ? 1 : 0};
}

static bool accepts(const stand *s, const takt_property *p, takt_cut *cuts, size_t count)
{
    takt_certificate c = {.model = takt_graph_digest(s->graph), .cuts = cuts, .count = count};
    bool is_proved = false;
    char why[160];
    size_t boxes;
    takt_property_digest(p, c.property);
    EXPECT_OK(ctx, takt_recheck_run(s->graph, p, &c, &is_proved, why, &boxes));
    EXPECT(is_proved || why[0] != '\0', "a sentence says why");
    return is_proved;
}

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(*state >> 33) % below;
}

/* Random trees: for a property that holds, and for one that an input violates. */
static void trees(void)
{
    stand s;
    uint64_t state = 5;
    if (!open_stand(&s, 0, false))
        return;
    bound_outputs(&s, NONE);
    const takt_term term = {.index = 0, .factor = 1};
    takt_halfspace row = {.terms = &term, .count = 1, .bound = s.lower[0] - 0.1};
    takt_case one = {.lo = s.lo, .hi = s.hi, .rows = &row, .row_count = 1};
    const takt_property p = {.input_count = 4, .output_count = 2, .cases = &one, .case_count = 1};
    takt_cut leaf = leaf_of(true), bare = leaf_of(false);
    takt_cut split = {.input = 1, .at = 0};
    EXPECT(accepts(&s, &p, &leaf, 1), "it holds");
    EXPECT(accepts(&s, &p, (takt_cut[]){split, leaf, leaf}, 3), "and by halves");
    EXPECT(!accepts(&s, &p, &bare, 1), "a leaf that proves nothing");
    EXPECT(!accepts(&s, &p, (takt_cut[]){split, leaf, bare}, 3), "half of it");
    EXPECT(!accepts(&s, &p, (takt_cut[]){split, leaf}, 2), "a missing leaf");
    EXPECT(!accepts(&s, &p, (takt_cut[]){leaf, leaf}, 2), "a leaf too many");
    EXPECT(!accepts(&s, &p, &leaf, 0), "nothing");
    split.at = 7;
    EXPECT(!accepts(&s, &p, (takt_cut[]){split, leaf, leaf}, 3), "a split outside");
    split.at = NAN;
    EXPECT(!accepts(&s, &p, (takt_cut[]){split, leaf, leaf}, 3), "a split nowhere");
    split.input = 4;
    split.at = 0;
    EXPECT(!accepts(&s, &p, (takt_cut[]){split, leaf, leaf}, 3), "an input that is not there");
    /* The middle of the box violates this one. */
    row.bound = 0.5 * (s.lower[0] + s.upper[0]) + 10;
    int accepted = 0;
    for (int i = 0; i < 10000; i++) {
        takt_cut cuts[9];
        const size_t count = 1 + draw(&state, 9);
        for (size_t k = 0; k < count; k++) {
            cuts[k] = leaf_of(draw(&state, 2) == 1);
            if (draw(&state, 2) == 1) {
                cuts[k].input = draw(&state, 4);
                cuts[k].at = -0.5 + 0.125 * draw(&state, 12);
            }
        }
        accepted += accepts(&s, &p, cuts, count);
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

TEST_MAIN(start, faults, trees, stop)
