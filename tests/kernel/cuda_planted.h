/* cuda_planted.h - the broken device kernels, as check_kernels runs them. */
#ifndef TAKT_TESTS_KERNEL_CUDA_PLANTED_H
#define TAKT_TESTS_KERNEL_CUDA_PLANTED_H

#include "check.h"

/* Runs all; how many were not caught. `find`: the check of a family. */
int device_planted(takt_check *c, check_fn *find(const char *family),
                   int (*run)(takt_check *c, check_fn *check, const takt_kernel *reference));

#endif
