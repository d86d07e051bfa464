/**
 * cpu.h - what this processor can do, and the families of kernels whose vector code can be capped.
 *
 *     takt_cpu cpu;
 *     takt_cpu_caps(&cpu);
 *     printf("%s: %s\n", cpu.model, cpu.isas);   // "Neoverse-V1: scalar neon dotprod ..."
 *
 * Threads: any, at any time.
 */
#ifndef TAKT_CPU_H
#define TAKT_CPU_H

#include <takt/ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

/** X(NAME, text, description of its steps). Values are stable; new ones are added at the end. */
#define TAKT_FAMILY_LIST(X)                                                                        \
    X(MOVE, "move", "copies, transposes, gathers, sorts, and all that no other family does")       \
    X(GEMM, "gemm", "matrix products")                                                             \
    X(CONV, "conv", "convolutions of all kinds and their gradients")                               \
    X(POOL, "pool", "pooling")                                                                     \
    X(MAP, "map", "element-wise arithmetic")                                                       \
    X(ROWS, "rows", "softmax, norms, reductions, cumulative sums")                                 \
    X(ATTENTION, "attention", "attention")                                                         \
    X(RNN, "rnn", "recurrent cells over a sequence")

typedef enum takt_family {
#define X(name, text, about) TAKT_FAMILY_##name,
    TAKT_FAMILY_LIST(X)
#undef X
        TAKT_FAMILIES
} takt_family;

/** "gemm"; NULL beyond the last. */
TAKT_API const char *takt_family_name(takt_family family);

/** One level of cache; bytes 0: unknown or absent. */
typedef struct takt_cpu_cache {
    uint64_t bytes; /**< of one instance */
    int shared_by;  /**< logical processors that share it */
    int line_bytes;
} takt_cpu_cache;

typedef struct takt_cpu {
    char model[128];
    char isas[192];          /**< usable instruction sets, weakest first, separated by spaces */
    int logical;             /**< processors that are online */
    int usable;              /**< those that affinity allows this process */
    int cores;               /**< physical cores among them */
    int threads;             /**< default thread count of a plan */
    takt_cpu_cache cache[4]; /**< [0] is level 1, data or unified */
    uint64_t memory;         /**< bytes that this process may use */
} takt_cpu;

/** Queries the machine on every call. */
TAKT_API void takt_cpu_caps(takt_cpu *cpu);

#ifdef __cplusplus
}
#endif
#endif
