/* isa.h - instruction sets that kernels are written for.
 *
 * X(name, bit, architecture, what it adds). A set is a bit mask; `scalar` is always in it.
 */
#ifndef TAKT_KERNEL_ISA_H
#define TAKT_KERNEL_ISA_H

#include <stdbool.h>
#include <stdint.h>

#define TAKT_ISA_LIST(X)                                                                           \
    X(scalar, 0, "any", "portable C")                                                              \
    X(neon, 1, "aarch64", "128-bit vectors")                                                       \
    X(dotprod, 2, "aarch64", "int8 dot products")                                                  \
    X(i8mm, 3, "aarch64", "int8 matrix products")                                                  \
    X(fp16, 4, "aarch64", "half-precision arithmetic")                                             \
    X(fhm, 14, "aarch64", "half-precision products added to single precision")                     \
    X(bf16, 5, "aarch64", "bfloat16 matrix products")                                              \
    X(sve256, 6, "aarch64", "scalable vectors of 256 bits")                                        \
    X(sve512, 7, "aarch64", "scalable vectors of 512 bits")                                        \
    X(avx2, 8, "x86_64", "256-bit vectors with FMA and F16C")                                      \
    X(avx512, 9, "x86_64", "512-bit vectors (F, BW, DQ, VL)")                                      \
    X(avx512vnni, 10, "x86_64", "int8 dot products")                                               \
    X(avx512bf16, 11, "x86_64", "bfloat16 dot products")                                           \
    X(avx512fp16, 12, "x86_64", "half-precision arithmetic")                                       \
    X(amx, 13, "x86_64", "matrix tiles")                                                           \
    X(wasm, 16, "wasm32", "128-bit vectors")

typedef enum takt_isa {
#define X(name, bit, arch, adds) TAKT_ISA_##name = bit,
    TAKT_ISA_LIST(X)
#undef X
} takt_isa;

typedef uint32_t takt_isa_set;

/* The ISAs that this processor and kernel can run. Queries the machine each time; callers keep the
 * answer. */
takt_isa_set takt_isa_detect(void);
/* `set` without everything stronger than `cap`: "avx2" drops avx512 and up, "neon" drops dotprod
 * and up, "scalar" or the name of another architecture's ISA leaves only scalar. False, and *capped
 * = set, if `cap` is not the name of an ISA. */
bool takt_isa_cap(takt_isa_set set, const char *cap, takt_isa_set *capped);
/* "neon"; NULL beyond the list. */
const char *takt_isa_name(takt_isa isa);

#endif
