/* check_rows.h - one check for the row kernels of both float types. */
#ifndef TAKT_TESTS_KERNEL_CHECK_ROWS_H
#define TAKT_TESTS_KERNEL_CHECK_ROWS_H

#include "check.h"
#include "kernel/rows/rows.h"

void check_rows(takt_check *c, const takt_kernel *reference, size_t size);

#endif
