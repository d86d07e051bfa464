/* lengths.c - the same bits at every length, whatever the previous lengths were. */
#include "util/lengths.h"

int main(void)
{
    lengths_check(16);
    return test_done();
}
