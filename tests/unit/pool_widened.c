/* pool_widened.c - pools of 16 bits with channels last: against the interpreter, and the same bits
 * for every instruction set, number of threads and place in a batch. */
#include "test.h"

#include <string.h>

#include "util/conv_case.h"

#define POOL(op, inputs, attrs, k, is_plain)                                                       \
    {                                                                                              \
        "model m(" inputs ") { return op." op ", layout=nhwc, " attrs ") }", k, is_plain           \
    }

int main(void)
{
    static const conv_case cases[] = {
        POOL("max_pool(x", "x: f16[2, 9, 8, 19]", "kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1]",
             0, false),
        POOL("avg_pool(x", "x: bf16[2, 9, 8, 70]", "kernel=[3, 2], stride=[2, 2], pad=[1, 0, 1, 1]",
             9, false),
        POOL("avg_pool(x", "x: f16[3, 12, 5]", "kernel=[2], stride=[2]", 4, false),
        /* Windows that do not overlap are summed line by line, more than a block of channels. */
        POOL("avg_pool_dx(d", "d: f16[2, 4, 3, 70]",
             "kernel=[2, 2], stride=[2, 2], shape=[2, 9, 7, 70]", 4, true),
        POOL("max_pool_dx(x, d", "x: f16[3, 13, 11, 70], d: f16[3, 6, 5, 70]",
             "kernel=[2, 2], stride=[2, 2]", 4, true),
        POOL("max_pool_dx(x, d", "x: bf16[2, 7, 6, 3], d: bf16[2, 2, 6, 3]",
             "kernel=[2, 1], stride=[4, 1]", 4, true),
        /* Others by samples. */
        POOL("max_pool_dx(x, d", "x: bf16[3, 7, 6, 70], d: bf16[3, 4, 3, 70]",
             "kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1]", 5, false),
        POOL("avg_pool_dx(d", "d: bf16[2, 4, 3, 37]",
             "kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1], shape=[2, 7, 6, 37]", 9, false),
        POOL("max_pool_dx(x, d", "x: bf16[2, 5, 8, 7, 3], d: bf16[2, 3, 4, 7, 3]",
             "kernel=[2, 2, 1], stride=[1, 2, 1], dilation=[2, 1, 1]", 5, false),
    };
    CONV_CASES(cases);
    return test_done();
}
