/* pool_tiles.c - pools with channels first and short lines of outputs: against the interpreter, and
 * the same bits for every instruction set and number of threads. */
#include "test.h"

#include "util/conv_case.h"

static void short_lines(void)
{
    static const conv_case cases[] = {
        {"model m(x: f32[2, 70, 7, 7]) { return avg_pool(x, 7, stride=1) }", 49, true},
        {"model m(x: f32[1, 130, 7, 7]) { return op.avg_pool(x, kernel=[3, 3], stride=[1, 1], "
         "pad=[1, 1, 1, 1]) }",
         9, true},
        {"model m(x: f32[3, 17, 12, 14]) { return op.avg_pool(x, kernel=[3, 3], stride=[2, 2], "
         "pad=[1, 1, 1, 1], count_pad=true) }",
         9, true},
        {"model m(x: f32[2, 64, 14, 14]) { return op.max_pool(x, kernel=[2, 2], stride=[2, 2]) }",
         0, true},
        {"model m(x: f32[1, 33, 9, 11]) { return op.max_pool(x, kernel=[3, 3], stride=[1, 1], "
         "pad=[1, 1, 1, 1]) }",
         0, true},
        {"model m(x: f32[2, 20, 3, 6, 6]) { return op.avg_pool(x, kernel=[3, 6, 6], stride=[1, 1, "
         "1]) }",
         108, true},
        {"model m(x: f32[2, 48, 40]) { return op.avg_pool(x, kernel=[4], stride=[4]) }", 4, true},
        {"model m(x: f32[1, 16, 40, 40]) { return op.avg_pool(x, kernel=[40, 40]) }", 1600, true},
        {"model m(x: f32[1, 5, 7, 7]) { return op.avg_pool(x, kernel=[7, 7]) }", 49, true},
    };
    CONV_CASES(cases);
}

TEST_MAIN(short_lines)
