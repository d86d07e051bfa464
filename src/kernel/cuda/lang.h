/* lang.h - the language of device kernels: C and a handful of macros.
 *
 * A file `<family>_cuda[_<note>].cu` is compiled by nvcc into device code. The same file is C: the
 * tests compile it for the CPU, where threads are fibers (tests/util/grid.h), and compare its bits
 * with the family's scalar kernel without a GPU.
 *
 *     KERNEL(takt_cuda_twice, takt_cuda_twice_args, 256)
 *     {
 *         const uint64_t i = INDEX;
 *         if (i < ARG.n)
 *             ARG.dst[i] = 2 * ARG.src[i];
 *     }
 *
 *   KERNEL(name, type, threads)  a kernel whose only parameter is a struct; at most `threads`
 *                                threads; a fourth word says how many blocks fit a multiprocessor
 *   LATE_KERNEL(...)             the same, for a kernel that says BEGIN() itself; what it reads
 *                                before that must be constant
 *   BEGIN()                      from here on, what kernels before this one wrote is there
 *   ARG                          that struct, read only
 *   DEVICE                       before a function that kernels call
 *   SHARED(type, name, count)    an array of the block; not initialised
 *   DYNAMIC(type, name)          the bytes that the launch requests, as an array
 *   SYNC()                       every thread of the block comes here, or none
 *   LANE, LANES                  number of the thread in its block, and how many there are
 *   BLOCK_X, BLOCK_Y, BLOCK_Z    number of the block in the grid
 *   INDEX                        of the thread among those of all blocks of x, 64 bits
 *   least(word, value)           word = min(word, value), atomically
 *   publish()                    what this thread wrote is there before what it writes next
 *   is_last(word, others)        whether this many others came before; the word begins as 0, and
 *                                is 0 again after the last
 *   add_some(word, n), look(word)  n more, and the number before; a word as others left it
 *   AWAIT(word, n)               waits until other blocks have made it n or more; the launch must
 *                                be cooperative (takt_cuda_launch.is_together)
 *   publish_near()               publish() for other blocks; fresh(p) reads what they published
 *   quad_at(p)                   four floats at a multiple of sixteen bytes: else tests trap
 *   copy_async, COPY_WAIT(n)     global to shared memory while other work goes on
 *   address, address_of(p)       of shared memory, held in a register: found once
 *   in_register(n)               n, which is not computed again where it is used
 *
 * Blocks have one dimension. There are no atomics on floats, no fast math, and no fused operation
 * that is not written: fmaf is one rounding, a * b + c is two.
 */
#ifndef TAKT_KERNEL_CUDA_LANG_H
#define TAKT_KERNEL_CUDA_LANG_H

#include <stdint.h>

#ifdef __CUDACC__

/* A kernel may begin while its predecessor in a graph still finishes: it waits here until that
 * one's writes are visible, and lets the next one begin. Other edges make both do nothing. Blocks
 * beyond 8192 do not wait, which costs large grids time: such a grid is given no early edge. */
static __device__ __forceinline__ void takt_begin(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("{ .reg .pred is_first; setp.lt.u32 is_first, %0, 8192;\n\t"
                 "@is_first griddepcontrol.wait;\n\t"
                 "@is_first griddepcontrol.launch_dependents; }" ::"r"(blockIdx.x)
                 : "memory");
#endif
}
#define BEGIN() takt_begin()
#define KERNEL(name, type, ...)                                                                    \
    static __device__ __forceinline__ void name##_body(const type &ARG);                           \
    extern "C" __global__ void __launch_bounds__(__VA_ARGS__)                                      \
        name(const __grid_constant__ type arguments)                                               \
    {                                                                                              \
        takt_begin();                                                                              \
        name##_body(arguments);                                                                    \
    }                                                                                              \
    static __device__ __forceinline__ void name##_body(const type &ARG)
#define LATE_KERNEL(name, type, ...)                                                               \
    static __device__ __forceinline__ void name##_body(const type &ARG);                           \
    extern "C" __global__ void __launch_bounds__(__VA_ARGS__)                                      \
        name(const __grid_constant__ type arguments)                                               \
    {                                                                                              \
        name##_body(arguments);                                                                    \
    }                                                                                              \
    static __device__ __forceinline__ void name##_body(const type &ARG)
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
typedef float2 pair;
#define quad_at(p) ((quad *)(p))

DEVICE void least(uint64_t *word, uint64_t value)
{
    atomicMin((unsigned long long *)word, (unsigned long long)value);
}

DEVICE void publish(void)
{
    __threadfence_system();
}

DEVICE void publish_near(void)
{
    __threadfence();
}

DEVICE bool is_last(uint32_t *word, uint32_t others)
{
    return atomicInc(word, others) == others;
}

DEVICE uint32_t add_some(uint32_t *word, uint32_t count)
{
    return atomicAdd(word, count);
}

DEVICE uint32_t look(const uint32_t *word)
{
    return *(const volatile uint32_t *)word;
}

DEVICE void takt_await(const uint32_t *word, uint32_t least)
{
    while ((int32_t)(look(word) - least) < 0) /* it may have begun again at 0 */
        continue;
    __threadfence();
}
#define AWAIT(word, least) takt_await(word, least)

DEVICE quad fresh(const quad *from)
{
    return __ldcg(from);
}

DEVICE float fresh_one(const float *from)
{
    return __ldcg(from);
}

DEVICE double fresh_double(const double *from)
{
    return __ldcg(from);
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

/* Else addresses are computed again for every copy, which takes longer than the copy. */
typedef uint32_t address;

DEVICE uint32_t in_register(uint32_t n)
{
    asm volatile("" : "+r"(n));
    return n;
}
DEVICE address address_of(void *shared)
{
    return in_register((uint32_t)__cvta_generic_to_shared(shared));
}

/* Four bytes, `bytes` beyond `to`. */
DEVICE void copy_async_one_to(address to, uint32_t bytes, const void *global)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to + bytes), "l"(global));
#else
    *(float *)__cvta_shared_to_generic(to + bytes) = *(const float *)global;
#endif
}

/* Sixteen bytes if they are there, without a branch; `bytes` beyond `to`. */
DEVICE void copy_async_if(bool is_there, address to, uint32_t bytes, const void *global)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("{ .reg .pred is_there; setp.ne.u32 is_there, %2, 0;\n\t"
                 "@is_there cp.async.cg.shared.global [%0], [%1], 16; }" ::"r"(to + bytes),
                 "l"(global), "r"((uint32_t)is_there));
#else
    if (is_there)
        *(quad *)__cvta_shared_to_generic(to + bytes) = *(const quad *)global;
#endif
}

/* The same; zeros if they are not. `global` can be read in any case. */
DEVICE void copy_async_filled(bool is_there, address to, uint32_t bytes, const void *global)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + bytes), "l"(global),
                 "r"(is_there ? 16 : 0));
#else
    *(quad *)__cvta_shared_to_generic(to + bytes) =
        is_there ? *(const quad *)global : quad{0.0f, 0.0f, 0.0f, 0.0f};
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

/* Waits until this thread has at most n unfinished batches; others need a SYNC after it. */
#if __CUDA_ARCH__ >= 800
#define COPY_WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#else
#define COPY_WAIT(n) ((void)0)
#endif

#else

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Registers of a tile are set in loops whose bounds gcc cannot relate to those that read them. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

/* A thread of a block, on the CPU; the code that runs the grid supplies the functions. */
typedef struct takt_lane {
    uint32_t thread, threads, block[3], grid[3];
    size_t shared_at; /* bytes of shared memory that this thread has named so far */
    void *group;
} takt_lane;

void takt_lane_sync(takt_lane *self);
void takt_lane_await(takt_lane *self, const uint32_t *word, uint32_t least);
void *takt_lane_shared(takt_lane *self, size_t bytes);
void *takt_lane_dynamic(takt_lane *self);

typedef void takt_lane_fn(const void *args, takt_lane *self);

#define TAKT_FIRST(first, ...) first
#define KERNEL(name, type, ...)                                                                    \
    static void name##_body(const type *arguments, takt_lane *self);                               \
    takt_lane_fn name;                                                                             \
    extern const uint32_t name##_threads;                                                          \
    const uint32_t name##_threads = TAKT_FIRST(__VA_ARGS__, 0);                                    \
    void name(const void *args, takt_lane *self)                                                   \
    {                                                                                              \
        name##_body((const type *)args, self);                                                     \
    }                                                                                              \
    static void name##_body(const type *arguments, takt_lane *self)
#define LATE_KERNEL KERNEL
#define BEGIN() ((void)0)
#define ARG (*arguments)
#define DEVICE static inline
#define SHARED(type, name, count)                                                                  \
    type *const name = (type *)takt_lane_shared(self, sizeof(type) * (count))
#define DYNAMIC(type, name) type *const name = (type *)takt_lane_dynamic(self)
#define SYNC() takt_lane_sync(self)
#define AWAIT(word, least) takt_lane_await(self, word, least)
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
typedef struct pair {
    float x, y;
} __attribute__((aligned(8))) pair;

DEVICE void least(uint64_t *word, uint64_t value)
{
    *word = value < *word ? value : *word;
}

DEVICE void publish(void) {}
DEVICE void publish_near(void) {}
DEVICE bool is_last(uint32_t *word, uint32_t others)
{
    const bool last = *word >= others;
    *word = last ? 0 : *word + 1;
    return last;
}
DEVICE uint32_t add_some(uint32_t *word, uint32_t count)
{
    *word += count;
    return *word - count;
}
DEVICE uint32_t look(const uint32_t *word)
{
    return *word;
}
DEVICE quad fresh(const quad *from)
{
    return *from;
}
DEVICE float fresh_one(const float *from)
{
    return *from;
}
DEVICE double fresh_double(const double *from)
{
    return *from;
}
DEVICE quad *quad_at(const void *p)
{
    if ((uintptr_t)p % sizeof(quad) != 0)
        __builtin_trap();
    return (quad *)(uintptr_t)p;
}
DEVICE void copy_async(void *shared, const void *global)
{
    *quad_at(shared) = *quad_at(global);
}
typedef unsigned char *address;
DEVICE uint32_t in_register(uint32_t n)
{
    return n;
}
DEVICE address address_of(void *shared)
{
    return (address)shared;
}
DEVICE void copy_async_one_to(address to, uint32_t bytes, const void *global)
{
    memcpy(to + bytes, global, sizeof(float));
}
DEVICE void copy_async_if(bool is_there, address to, uint32_t bytes, const void *global)
{
    if (is_there)
        *quad_at(to + bytes) = *quad_at(global);
}
DEVICE void copy_async_filled(bool is_there, address to, uint32_t bytes, const void *global)
{
    const quad zero = {0.0f, 0.0f, 0.0f, 0.0f};
    *quad_at(to + bytes) = is_there ? *quad_at(global) : zero;
}
DEVICE void copy_async_one(void *shared, const void *global)
{
    memcpy(shared, global, 4);
}
DEVICE void copy_end(void) {}
#define COPY_WAIT(n) ((void)(n))

#endif

DEVICE void spread(float *to, quad q)
{
    to[0] = q.x;
    to[1] = q.y;
    to[2] = q.z;
    to[3] = q.w;
}

DEVICE quad quad_of(const float *from)
{
    quad q;
    q.x = from[0];
    q.y = from[1];
    q.z = from[2];
    q.w = from[3];
    return q;
}

#endif
