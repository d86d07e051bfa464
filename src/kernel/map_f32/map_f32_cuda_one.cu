/* map_f32_cuda_one.cu - one element-wise operation of floats on a device.
 *
 * Programs of one instruction have kernels of their own: nothing is looked up for every value, and
 * the arguments are one line of the constant cache, which a small kernel waits for. Elementary
 * functions of many elements take sixteen a thread, whose loads are on their way at once.
 */
#include "kernel/map_f32/cuda_words.h"

#define EACH TAKT_CUDA_MAP_EACH
#define NAMED(name) name##_4
#include "kernel/map_f32/cuda_ops.inc"

#include "kernel/map_f32/cuda_one.inc"

KERNEL(takt_cuda_map_one_f32_light, takt_cuda_map_one, TAKT_CUDA_MAP_THREADS, 12)
{
    one_4(&ARG, false SELF);
}

KERNEL(takt_cuda_map_one_f32, takt_cuda_map_one, TAKT_CUDA_MAP_THREADS, 10)
{
    one_4(&ARG, true SELF);
}

#define EACH TAKT_CUDA_MAP_MANY
#define NAMED(name) name##_many
#include "kernel/map_f32/cuda_ops.inc"

#include "kernel/map_f32/cuda_one.inc"

KERNEL(takt_cuda_map_one_f32_many, takt_cuda_map_one, TAKT_CUDA_MAP_THREADS, 10)
{
    one_many(&ARG, true SELF);
}
