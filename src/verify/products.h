/* products.h - rows of coefficients times large dense matrices, in f32.
 *
 * The product of coefficients a and weights w is off by at most gamma * sum of |a[j]| |w[j][k]|,
 * gamma being that of f32 and of the order that gemm_f32 fixes. Over the box that is at most
 * sum of |a[j]| * error[j], error[j] = gamma * sum of |w[j][k]| |x[k]|, which a row pays like every
 * other error (region.h). So the bound holds, at the speed of f32.
 */
#ifndef TAKT_VERIFY_PRODUCTS_H
#define TAKT_VERIFY_PRODUCTS_H

#include "kernel/gemm_f32/gemm_f32.h"
#include "verify/region.h"

/* A dense part of a net in f32. */
struct takt_net_single {
    const float *values;     /* [count][width] */
    const float *packed;     /* the same in panels of gemm_f32 */
    const float *transposed; /* its transpose in panels; or NULL */
    size_t count;
    double most; /* greatest magnitude */
};

/* Gives the dense parts of a net that are large enough their form in f32, before regions are made.
 * `transposes`: also their transposes, for takt_products_forward. */
TAKT_MUST_USE takt_status takt_products_net(takt_net *net, bool transposes);

/* Bytes of scratch for products of `rows` rows and n columns, for every k up to `most`: a smaller k
 * may need more, because blocks of it have more rows. */
size_t takt_products_scratch(const takt_gemm_f32_info *info, size_t rows, size_t n, size_t most);
/* Buffers for the products of a region. */
TAKT_MUST_USE takt_status takt_products_init(takt_region *r);
/* Sets the cost of products through sum `id`, from r->error and r->sizes. */
void takt_products_errors(takt_region *r, size_t id);
/* The errors set by takt_products_errors, one per element, and in *least a row's further cost. A
 * caller that restores r->error must restore these too. NULL: no part of the sum uses f32. */
double *takt_products_kept(const takt_region *r, size_t id, double **least);
/* All errors of the elements of sum `id` if these rows go through it in f32, and *least, what each
 * row costs beyond them; NULL: f32 does not pay off or lacks the range. */
const double *takt_products_error(takt_region *r, size_t id, size_t rows, double *least);
/* rows of the source += a W through part `part` of sum `id`, after takt_products_error; false: this
 * part does not use f32. */
bool takt_products_back(takt_region *r, size_t id, size_t part, size_t rows);
/* out += x W^T for `rows` rows, ignoring errors; false as above. */
bool takt_products_forward(takt_region *r, const takt_net_part *p, const double *x, double *out,
                           size_t rows);

#endif
