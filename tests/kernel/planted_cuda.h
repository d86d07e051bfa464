/* planted_cuda.h - device kernels broken on purpose: check_kernels --cuda must catch every one.
 *
 * A file planted_cuda_<bug>.c includes this, breaks a word of the kernel language, and includes the
 * kernels; theirs are then called <bug>_<kernel>. The rows of planted_cuda.c name them.
 */
#ifndef TAKT_TESTS_KERNEL_PLANTED_CUDA_H
#define TAKT_TESTS_KERNEL_PLANTED_CUDA_H

#include "kernel/cuda/lang.h"
#include "kernel/kernel.h"

#undef KERNEL
#define KERNEL(name, type, ...)                                                                    \
    static void name##_body(const type *arguments, takt_lane *self);                               \
    takt_lane_fn TAKT_JOIN(BUG, name);                                                             \
    void TAKT_JOIN(BUG, name)(const void *args, takt_lane *self)                                   \
    {                                                                                              \
        name##_body((const type *)args, self);                                                     \
    }                                                                                              \
    static void name##_body(const type *arguments, takt_lane *self)

#endif
