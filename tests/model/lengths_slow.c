/* lengths_slow.c - the same bits along a random walk of a thousand sizes. */
#include "util/lengths.h"

int main(void)
{
    lengths_check(1000);
    return test_done();
}
