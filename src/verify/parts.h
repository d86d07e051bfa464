/* parts.h - rows of coefficients through one part of a sum, in f64. */
#ifndef TAKT_VERIFY_PARTS_H
#define TAKT_VERIFY_PARTS_H

#include "verify/net.h"

typedef struct takt_parts_size {
    size_t count, width, rows; /* elements of the sum, and of its source */
} takt_parts_size;

/* out[r] += a[r] W, W being the part: a is [rows][count], out [rows][width]. Coefficients that are
 * 0 add nothing, and terms are added in the order of the sum's elements. */
void takt_parts_back(const takt_net_part *p, const double *a, double *out, takt_parts_size size);

#endif
