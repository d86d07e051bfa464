/* cuda_kind.h - which device kernel an element-wise operation needs; for host and device. */
#ifndef TAKT_KERNEL_MAP_F32_CUDA_KIND_H
#define TAKT_KERNEL_MAP_F32_CUDA_KIND_H

#include "kernel/map/map.h"

typedef enum takt_cuda_map_kind {
    TAKT_CUDA_MAP_LIGHT,  /* arithmetic and comparisons */
    TAKT_CUDA_MAP_COMMON, /* sigmoid, tanh, erf, gelu, exp, log */
    TAKT_CUDA_MAP_RARE    /* everything else */
} takt_cuda_map_kind;

#ifdef __CUDACC__
static __device__ __forceinline__
#else
static inline
#endif
    takt_cuda_map_kind
    takt_cuda_map_kind_of(uint8_t op)
{
    switch (op) {
    case TAKT_MAP_SIGMOID:
    case TAKT_MAP_TANH:
    case TAKT_MAP_ERF:
    case TAKT_MAP_GELU:
    case TAKT_MAP_GELU_TANH:
    case TAKT_MAP_HARD_SWISH:
    case TAKT_MAP_SILU:
    case TAKT_MAP_EXP:
    case TAKT_MAP_LOG: return TAKT_CUDA_MAP_COMMON;
    default:
        return op <= TAKT_MAP_RELU || (op >= TAKT_MAP_NOT && op <= TAKT_MAP_DIV) ||
                       op >= TAKT_MAP_MIN
                   ? TAKT_CUDA_MAP_LIGHT
                   : TAKT_CUDA_MAP_RARE;
    }
}

#endif
