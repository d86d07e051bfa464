/* pool_half.c - the largest of bf16: NaN wins whatever its sign, +0 is larger than -0, and of
 * nothing it is -infinity. */
#include "test.h"

#include "backend/cpu/conv/pool.h"

enum { CHANNELS = 5 };

static bool is_nan(uint16_t bits)
{
    return (bits & 0x7fff) > 0x7f80;
}

int main(void)
{
    static const uint16_t x[2][CHANNELS] = {{0xffc0, 0x7f80, 0x8000, 0xc000, 0xff80},
                                            {0x3f80, 0x7fa0, 0x0000, 0xbf80, 0xff81}};
    const takt_pool_shape c = {.dtype = TAKT_BF16,
                               .op = &takt_op_max_pool,
                               .is_nhwc = true,
                               .batch = 1,
                               .channels = CHANNELS,
                               .in = {1, 1, 2},
                               .out = {1, 1, 2},
                               .kernel = {1, 1, 2},
                               .stride = {1, 1, 2},
                               .dilation = {1, 1, 1},
                               .x_sample = 2 * CHANNELS};
    uint16_t y[2][CHANNELS];
    int16_t line[64];
    EXPECT(takt_pool_half_scratch(&c) <= sizeof line, "%zu", takt_pool_half_scratch(&c));
    takt_pool_half(&c, x[0], y[0], 0, line);
    EXPECT(is_nan(y[0][0]) && is_nan(y[0][1]) && is_nan(y[0][4]), "%x %x %x", y[0][0], y[0][1],
           y[0][4]);
    EXPECT(y[0][2] == 0, "%x", y[0][2]);
    EXPECT(y[0][3] == 0xbf80, "%x", y[0][3]);
    for (int i = 0; i < CHANNELS; i++)
        EXPECT(y[1][i] == 0xff80, "beyond x: %x", y[1][i]);
    return test_done();
}
