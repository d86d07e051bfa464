/* lang.h - the language of device kernels: C and a handful of macros.
 *
 * A file `<family>_cuda[_<note>].cu` is compiled by nvcc into device code. The same file is C: the
 * tests compile it for the CPU, where threads are fibers (tests/util/grid.h), and hold its bits to
 * the family's scalar kernel without a GPU.
 *
 *     KERNEL(takt_cuda_twice, takt_cuda_twice_args, 256)
 *     {
 *         const uint64_t i = INDEX;
 *         if (i < ARG.n)
 *             ARG.dst[i] = 2 * ARG.src[i];
 *     }
 *
 *   KERNEL(name, type, threads)  a kernel whose only parameter is a struct; at most so many threads
 *   ARG                          that struct, read only
 *   DEVICE                       before a function that kernels call
 *   SHARED(type, name, count)    an array of the block; it begins with anything
 *   DYNAMIC(type, name)          the bytes that the launch asked for, as an array
 *   SYNC()                       every thread of the block comes here, or none
 *   LANE, LANES                  number of the thread in its block, and how many there are
 *   BLOCK_X, BLOCK_Y, BLOCK_Z    number of the block in the grid
 *   INDEX                        of the thread among those of all blocks of x, 64 bits
 *   least(word, value)           word = min(word, value), whoever else does the same
 *   publish()                    what this thread wrote is there before what it writes next
 *   copy_async, copy_wait_...    global to shared memory while other work goes on
 *
 * Blocks have one dimension. There are no atomics on floats, no fast math, and no fused operation
 * that is not written: fmaf is one rounding, a * b + c is two.
 */
#ifndef TAKT_KERNEL_CUDA_LANG_H
#define TAKT_KERNEL_CUDA_LANG_H

#include <stdint.h>

#ifdef __CUDACC__

#define KERNEL(name, type, threads)                                                                \
    extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ type ARG)
#define DEVICE static __device__ __forceinline__
#define SHARED(type, name, count) __shared__ __align__(16) type name[count]
#define DYNAMIC(type, name)                                                                        \
    extern __shared__ __align__(16) unsigned char takt_dynamic[];                                  \
    type *const name = (type *)takt_dynamic
#define SYNC() __syncthreads()
#define LANE threadIdx.x
#define LANES blockDim.x
#define BLOCK_X blockIdx.x
#define BLOCK_Y blockIdx.y
#define BLOCK_Z blockIdx.z
#define INDEX ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define SELF_PARAMETER
#define SELF
#define ROLL _Pragma("unroll 1")
#define UNROLL _Pragma("unroll")
#define RESTRICT __restrict__

typedef float4 quad;

DEVICE void least(uint64_t *word, uint64_t value)
{
    atomicMin((unsigned long long *)word, (unsigned long long)value);
}

DEVICE void publish(void)
{
    __threadfence_system();
}

/* Sixteen bytes, aligned on both sides. */
DEVICE void copy_async(void *shared, const void *global)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(shared)),
                 "l"(global));
#else
    *(quad *)shared = *(const quad *)global;
#endif
}

/* Four bytes. */
DEVICE void copy_async_one(void *shared, const void *global)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(shared)),
                 "l"(global));
#else
    *(float *)shared = *(const float *)global;
#endif
}

/* Ends a batch of copies. */
DEVICE void copy_end(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;");
#endif
}

/* Waits until this thread has at most one unfinished batch; others need a SYNC after it. */
DEVICE void copy_wait_but_one(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group 1;");
#endif
}

#else

#include <stddef.h>
#include <string.h>

/* A thread of a block, on the CPU; the functions belong to whoever runs the grid. */
typedef struct takt_lane {
    uint32_t thread, threads, block[3], grid[3];
    size_t shared_at; /* bytes of shared memory that this thread has named so far */
    void *group;
} takt_lane;

void takt_lane_sync(takt_lane *self);
void *takt_lane_shared(takt_lane *self, size_t bytes);
void *takt_lane_dynamic(takt_lane *self);

typedef void takt_lane_fn(const void *args, takt_lane *self);

#define KERNEL(name, type, threads)                                                                \
    static void name##_body(const type *arguments, takt_lane *self);                               \
    takt_lane_fn name;                                                                             \
    extern const uint32_t name##_threads;                                                          \
    const uint32_t name##_threads = threads;                                                       \
    void name(const void *args, takt_lane *self)                                                   \
    {                                                                                              \
        name##_body((const type *)args, self);                                                     \
    }                                                                                              \
    static void name##_body(const type *arguments, takt_lane *self)
#define ARG (*arguments)
#define DEVICE static inline
#define SHARED(type, name, count)                                                                  \
    type *const name = (type *)takt_lane_shared(self, sizeof(type) * (count))
#define DYNAMIC(type, name) type *const name = (type *)takt_lane_dynamic(self)
#define SYNC() takt_lane_sync(self)
#define LANE self->thread
#define LANES self->threads
#define BLOCK_X self->block[0]
#define BLOCK_Y self->block[1]
#define BLOCK_Z self->block[2]
#define INDEX ((uint64_t)self->block[0] * self->threads + self->thread)
#define SELF_PARAMETER , takt_lane *self
#define SELF , self
#define ROLL
#define UNROLL
#define RESTRICT

typedef struct quad {
    float x, y, z, w;
} __attribute__((aligned(16))) quad;

DEVICE void least(uint64_t *word, uint64_t value)
{
    *word = value < *word ? value : *word;
}

DEVICE void publish(void) {}
DEVICE void copy_async(void *shared, const void *global)
{
    *(quad *)shared = *(const quad *)global;
}
DEVICE void copy_async_one(void *shared, const void *global)
{
    memcpy(shared, global, 4);
}
DEVICE void copy_end(void) {}
DEVICE void copy_wait_but_one(void) {}

#endif

#endif
