/* replay.c - recorded noise of real comparisons: few false verdicts, and 3 % is found.
 *
 * noise.txt has a line per comparison of a model with itself (`scripts/campaign --record`): the
 * medians of A's blocks, a bar, and those of B's. The checks follow the schedule of a comparison
 * that continues until it is clear.
 */
#include <takt/takt.h>

#include <stdlib.h>
#include <string.h>

#include "stats/compare.h"
#include "test.h"

enum { BLOCKS = 24, LINE = 1024 };

static takt_ctx *ctx;

/* False: no further line. */
static bool read_line(FILE *file, double *a, double *b)
{
    char line[LINE];
    if (fgets(line, sizeof line, file) == NULL)
        return false;
    char *at = line;
    for (int i = 0; i < 2 * BLOCKS; i++) {
        at += strspn(at, " |");
        *(i < BLOCKS ? &a[i] : &b[i - BLOCKS]) = strtod(at, &at);
    }
    return EXPECT(a[0] > 0 && b[BLOCKS - 1] > 0, "a line of %d times: %s", 2 * BLOCKS, line);
}

/* The verdict on A and B times `slower`, with looks before the end. */
static takt_verdict verdict_on(const double *a, const double *b, double slower)
{
    double slowed[BLOCKS];
    takt_comparison c = {.verdict = TAKT_INCONCLUSIVE};
    for (int i = 0; i < BLOCKS; i++)
        slowed[i] = b[i] * slower;
    for (size_t count = 1; count <= BLOCKS; count++) {
        if (!takt_compare_is_look(count) && count < BLOCKS)
            continue;
        EXPECT_OK(ctx, takt_compare_finish(ctx, a, slowed, count, 0.01, &c));
        if (takt_compare_is_done(&c))
            break;
    }
    return c.verdict;
}

static void replay(void)
{
    size_t lines = 0, wrong = 0, found = 0, as_fast = 0;
    double a[BLOCKS], b[BLOCKS];
    FILE *file = fopen("tests/unit/noise.txt", "rb");
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    if (!EXPECT(file != NULL, "tests/unit/noise.txt cannot be read"))
        return;
    for (; read_line(file, a, b); lines++) {
        const takt_verdict same = verdict_on(a, b, 1);
        wrong += same == TAKT_FASTER || same == TAKT_SLOWER;
        as_fast += same == TAKT_SAME;
        found += verdict_on(a, b, 1.03) == TAKT_SLOWER;
    }
    fclose(file);
    EXPECT(lines >= 100, "%zu comparisons", lines);
    EXPECT(20 * wrong <= lines, "%zu of %zu verdicts on A/A", wrong, lines);
    EXPECT(10 * found >= 9 * lines, "3 %% found %zu times of %zu", found, lines);
    EXPECT(4 * as_fast >= lines, "the same: %zu of %zu", as_fast, lines);
    takt_ctx_destroy(ctx);
}

/* A difference that A shows against itself is not a verdict on B, however sure it seems. */
static void disturbed(void)
{
    double a[BLOCKS], b[BLOCKS];
    takt_comparison c;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (int i = 0; i < BLOCKS; i++) {
        a[i] = i % 2 == 0 ? 100 : 60 + i;
        b[i] = a[i] * (1.05 + 0.001 * (i % 3));
    }
    EXPECT_OK(ctx, takt_compare_finish(ctx, a, b, BLOCKS, 0.01, &c));
    EXPECT(c.verdict == TAKT_INCONCLUSIVE && c.more_blocks > 0 && c.noise > 0.06, "%d %g",
           (int)c.verdict, c.noise);
    for (int i = 0; i < BLOCKS; i++)
        b[i] = 2 * a[i];
    EXPECT_OK(ctx, takt_compare_finish(ctx, a, b, BLOCKS, 0.01, &c));
    EXPECT(c.verdict == TAKT_SLOWER && c.ratio == 2, "%g", c.ratio);
    takt_ctx_destroy(ctx);
}

static void looks(void)
{
    size_t count = 0;
    for (size_t blocks = 0; blocks <= 300; blocks++)
        count += takt_compare_is_look(blocks);
    EXPECT(count == 4 && takt_compare_is_look(8) && takt_compare_is_look(72), "%zu", count);
}

TEST_MAIN(looks, disturbed, replay)
