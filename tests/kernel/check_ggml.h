/* check_ggml.h - random panels of ggml's block formats for the checks of the kernels that take
 * them. */
#ifndef TAKT_TESTS_KERNEL_CHECK_GGML_H
#define TAKT_TESTS_KERNEL_CHECK_GGML_H

#include "check.h"
#include "kernel/ggml_panels/ggml_panels.h"

/* The slot that they use; a check uses others for the rest. */
enum { GGML_PANELS, GGML_SLOTS };

/* Panels of n columns of `blocks` blocks: any bytes, or with `usual` scales as models have them.
 * Formats without panels are as in a file. */
const void *check_ggml(takt_check *c, takt_ggml_format format, size_t n, size_t blocks, bool usual);
/* The next format that has panels, from `format` on. */
int check_ggml_next(int format);

#endif
