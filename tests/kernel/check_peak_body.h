/* check_peak_body.h - the peaks add up what they say they do.
 *
 * A template for element types: before including it, define the type `elem`, ELEM, the value of
 * every element, SQUARE, its square as a number, and the functions AS_PEAK and CHECK.
 */
#include <math.h>
#include <stdint.h>

#include "check.h"
#include "kernel/peak/peak.h"

/* `sum` must be what the count of operations implies, and no operation may be left out. */
static void one(takt_check *c, takt_peak_fn *run, const void *x, double square, size_t rounds)
{
    double sum = -1, operations = 0;
    check_case(c, "%zu rounds", rounds);
    CHECK_CALL(c, operations = run(rounds, x, &sum));
    c->cases++;
    if (sum != square * operations / 2)
        check_fail(c, "%.17g, expected %.17g", sum, square * operations / 2);
    if ((operations > 0) != (rounds > 0))
        check_fail(c, "%g operations", operations);
}

static void all(takt_check *c, takt_peak_fn *run, const void *x, double square)
{
    double sum = 0;
    for (size_t rounds = 0; rounds < 20; rounds++)
        one(c, run, x, square, rounds);
    one(c, run, x, square, 1000);
    const double operations = run(4000, x, &sum);
    CHECK_BENCH(c, "x += y * z", 0, operations, run(4000, x, &sum));
}

void CHECK(takt_check *c, const takt_kernel *reference);
void CHECK(takt_check *c, const takt_kernel *reference)
{
    elem *x = check_place(c, 0, TAKT_PEAK_BYTES, CHECK_AT_END);
    for (size_t i = 0; i < TAKT_PEAK_BYTES / sizeof *x; i++)
        x[i] = ELEM;
    (void)reference;
    all(c, AS_PEAK(c->kernel), x, SQUARE);
}
