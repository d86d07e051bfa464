/* tfl_points.c - functions of 16 bits between points, where points are beyond the type and beyond
 * f32: LiteRT's numbers, whose slopes wrap, and the same on every processor. */
#include "test.h"

#include <math.h>

#include "io/tflite/quant.h"

static double grow(double x, const void *user)
{
    (void)user;
    return exp(x);
}

static double never(double x, const void *user)
{
    (void)x;
    (void)user;
    return (double)NAN;
}

int main(void)
{
    /* exp beyond the last float; an int16 file with these scales gives these in LiteRT 2.3 */
    static const int32_t of_litert[][2] = {{15648, 32767}, {15710, -32768}, {32767, 32511}};
    takt_tfl_points p;
    takt_tfl_set_points(&p, (takt_tfl_quant){.scale = 0.00485f}, 7.06e-06f, grow, NULL);
    for (size_t i = 0; i < sizeof of_litert / sizeof *of_litert; i++)
        EXPECT_EQ(takt_tfl_between(&p, of_litert[i][0]), of_litert[i][1]);
    takt_tfl_set_points(&p, (takt_tfl_quant){.scale = 1}, 1, never, NULL);
    for (int32_t x = -32768; x < 32768; x += 77)
        EXPECT_EQ(takt_tfl_between(&p, x), 0);
    return test_done();
}
