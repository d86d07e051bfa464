/* verify_joint.c - half-spaces together: weights that prove a case, and boxes that are cut. */
#include "verify/joint.h"

#include <math.h>
#include <string.h>

#include "test.h"
#include "util/random_array.h"
#include "verify/goal.h"

enum { INPUTS = 5, ROWS = 6, TRIES = 4000, POINTS = 200 };

/* A region whose net is its input: rows are the linear functions themselves. */
typedef struct setting {
    takt_net_node node;
    takt_net net;
    takt_region region;
    uint32_t inputs[1];
    double lo[INPUTS], hi[INPUTS], rows[ROWS * INPUTS], constants[ROWS];
    double *los[1], *his[1], *all[1];
    takt_halfspace spaces[ROWS];
    takt_case one;
} setting;

static double between(takt_random *random, double low, double high)
{
    return low + (high - low) * (double)takt_random_below(random, 1 << 20) / (1 << 20);
}

static void make(setting *s, uint64_t seed)
{
    takt_random random = {.state = seed};
    *s = (setting){.node = {.count = INPUTS}};
    s->net = (takt_net){.nodes = &s->node, .count = 1, .inputs = s->inputs, .port_count = 1};
    s->los[0] = s->lo;
    s->his[0] = s->hi;
    s->all[0] = s->rows;
    s->region = (takt_region){.net = &s->net,
                              .lo = s->los,
                              .hi = s->his,
                              .rows = s->all,
                              .constants = s->constants,
                              .own = 0x1p-45};
    s->one = (takt_case){.rows = s->spaces, .row_count = 1 + takt_random_below(&random, ROWS)};
    for (size_t i = 0; i < INPUTS; i++) {
        s->lo[i] = between(&random, -2, 1);
        s->hi[i] = s->lo[i] + between(&random, 0, 2);
    }
    for (size_t k = 0; k < s->one.row_count; k++) {
        for (size_t i = 0; i < INPUTS; i++)
            s->rows[k * INPUTS + i] =
                takt_random_below(&random, 4) == 0 ? 0 : between(&random, -1, 1);
        s->constants[k] = between(&random, -1, 2);
        s->spaces[k].bound = between(&random, -0.5, 0.5);
    }
}

static bool breaks(const setting *s, const double *x)
{
    bool is_so = true;
    for (size_t k = 0; k < s->one.row_count; k++) {
        double sum = s->constants[k];
        for (size_t i = 0; i < INPUTS; i++)
            sum += s->rows[k * INPUTS + i] * x[i];
        is_so = is_so && sum <= s->spaces[k].bound;
    }
    return is_so;
}

/* Whether one half-space proves the case alone. */
static bool is_simple(const setting *s)
{
    bool is_so = false;
    for (size_t k = 0; k < s->one.row_count; k++) {
        double least = s->constants[k] - s->spaces[k].bound;
        for (size_t i = 0; i < INPUTS; i++) {
            const double a = s->rows[k * INPUTS + i];
            least += a * (a > 0 ? s->lo[i] : s->hi[i]);
        }
        is_so = is_so || least > 1e-9;
    }
    return is_so;
}

/* No point that breaks the case is lost, neither by a proof nor by a cut. */
static void random_cases(void)
{
    size_t proofs = 0, together = 0, cuts = 0;
    for (uint64_t seed = 1; seed <= TRIES; seed++) {
        setting s;
        takt_joint j;
        takt_random random = {.state = seed + TRIES};
        make(&s, seed);
        takt_joint_clear(&j);
        const bool is_proved = takt_joint_proves(&j, &s.region, &s.one, 0);
        EXPECT(is_proved || !is_simple(&s), "seed %d: one half-space is enough", (int)seed);
        proofs += is_proved;
        together += is_proved && !is_simple(&s);
        for (size_t i = 0; i < INPUTS && !is_proved; i++)
            cuts += j.lo[i] > s.lo[i] || j.hi[i] < s.hi[i];
        for (int p = 0; p < POINTS; p++) {
            double x[INPUTS];
            bool is_kept = !is_proved;
            for (size_t i = 0; i < INPUTS; i++) {
                const double t = fmin(fmax(between(&random, -0.2, 1.2), 0), 1);
                x[i] = fmin(s.lo[i] + t * (s.hi[i] - s.lo[i]), s.hi[i]);
                is_kept = is_kept && x[i] >= j.lo[i] && x[i] <= j.hi[i];
            }
            if (!EXPECT(is_kept || !breaks(&s, x), "seed %d: a point is lost", (int)seed))
                return;
        }
    }
    EXPECT(proofs > TRIES / 10 && together > TRIES / 100 && cuts > TRIES / 10,
           "%d proofs, %d by several half-spaces, %d cuts", (int)proofs, (int)together, (int)cuts);
}

/* x and 1/2 - x are never both at most 0 ... and neither stays above 0 alone. */
static void two_sides(void)
{
    setting s;
    takt_joint j;
    make(&s, 1);
    memset(s.rows, 0, sizeof s.rows);
    s.one.row_count = 2;
    s.lo[0] = -1;
    s.hi[0] = 1;
    s.rows[0] = 1;
    s.rows[INPUTS] = -1;
    s.constants[0] = 0;
    s.spaces[0].bound = s.spaces[1].bound = 0;
    for (int k = 0; k < 2; k++) {
        s.constants[1] = k == 0 ? 0.5 : -0.5;
        takt_joint_clear(&j);
        EXPECT(takt_joint_proves(&j, &s.region, &s.one, 0) == (k == 0), "offset %g",
               s.constants[1]);
    }
    EXPECT(j.has_point && j.lo[0] >= -0.5 - 1e-9 && j.hi[0] <= 1e-9, "[%g, %g] is left", j.lo[0],
           j.hi[0]);
}

/* A case with more half-spaces than a region has rows may have points everywhere. */
static void too_many(void)
{
    setting s;
    takt_joint j;
    takt_goal goal;
    const uint32_t first = 0;
    make(&s, 1);
    s.one.row_count = TAKT_REGION_ROWS + 1;
    s.region.capacity = TAKT_REGION_ROWS;
    s.region.joint = &j;
    takt_joint_clear(&j);
    const takt_property p = {.cases = &s.one, .case_count = 1};
    takt_goal_bound(&s.region, &p, (takt_case_list){&first, 1}, &goal, NULL, NULL);
    EXPECT(!goal.is_proved && j.is_whole, "the box would be cut");
}

int main(void)
{
    random_cases();
    two_sides();
    too_many();
    return test_done();
}
