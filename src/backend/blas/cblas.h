/* cblas.h - a CBLAS library found at run time: its products, its version, its threads. */
#ifndef TAKT_BACKEND_BLAS_CBLAS_H
#define TAKT_BACKEND_BLAS_CBLAS_H

#include <stdbool.h>
#include <stddef.h>

#include "os/library.h"

typedef void takt_sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha,
                           const float *a, int lda, const float *b, int ldb, float beta, float *c,
                           int ldc);
typedef void takt_dgemm_fn(int order, int ta, int tb, int m, int n, int k, double alpha,
                           const double *a, int lda, const double *b, int ldb, double beta,
                           double *c, int ldc);

typedef struct takt_cblas {
    takt_library *library;
    const char *name;  /* "openblas", or "path" */
    char version[160]; /* as the library reports it; "" if it does not */
    bool is_reference; /* Netlib's reference BLAS: correct, but many times slower than cpu */
    takt_sgemm_fn *sgemm;
    takt_dgemm_fn *dgemm;
    void (*set_threads)(int count); /* or NULL: it has no such function */
    int (*get_threads)(void);
    int threads; /* the limit set on it */
} takt_cblas;

/* `which`: openblas, blis, mkl, cblas (libblas.so.3, whatever that is), a path, or NULL for the
 * first one found. The reference BLAS is opened only if `which` names it. */
bool takt_cblas_open(takt_cblas *b, const char *which);
void takt_cblas_close(takt_cblas *b);
/* Limits the library to b->threads. The count belongs to the whole process, so it is checked before
 * every product. */
void takt_cblas_hold(const takt_cblas *b);
/* Name of the i-th library that is searched for; NULL beyond the last. */
const char *takt_cblas_name(size_t i);
/* The library's own description, or how it was recognised: for messages. */
const char *takt_cblas_version(const takt_cblas *b);

#endif
