/* size.c - division of sizes that are small. */
#include "base/size.h"

size_t takt_quotient(size_t a, size_t b)
{
    if (a < b)
        return 0;
    return (a | b) >> 31 == 0 ? (uint32_t)a / (uint32_t)b : a / b;
}

size_t takt_remainder(size_t a, size_t b)
{
    return a - takt_quotient(a, b) * b;
}
