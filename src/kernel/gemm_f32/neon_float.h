/* neon_float.h - what the assembly tile does to floats: fmla, and the epilogue in registers.
 *
 * A template: define TS ("4s" or "2d"), ES ("s" or "d") and SHIFT, log2 of an element's bytes.
 */
#define FM(acc, b, a, l) "fmla v" #acc "." TS ", v" #b "." TS ", v" #a "." ES "[" #l "]\n\t"
#define ADD_(x, y) "fadd v" #x "." TS ", v" #x "." TS ", v" #y "." TS "\n\t"

/* x < 0 ? +0 : x, so that NaN and -0 pass. */
#define RELU_(x) "fcmlt v0." TS ", v" #x "." TS ", #0.0\n\tbic v" #x ".16b, v" #x ".16b, v0.16b\n\t"
#define RELU(w, x, y, z) RELU_(w) RELU_(x) RELU_(y) RELU_(z)
#define MIN_(x) "fmin v" #x "." TS ", v" #x "." TS ", v5." TS "\n\t"
#define MIN(w, x, y, z) MIN_(w) MIN_(x) MIN_(y) MIN_(z)
#define CLIP_(x) "fmax v" #x "." TS ", v" #x "." TS ", v4." TS "\n\t" MIN_(x)
#define CLIP(w, x, y, z) CLIP_(w) CLIP_(x) CLIP_(y) CLIP_(z)

/* Bias, residual, then RELU (1), CLIP (2) or RELU_MIN (3). */
/* clang-format off */
#define FINISH(R)                                                                                  \
    "ldr %[p], [%[t], %[bias]]\n\tcbz %[p], 5f\n\tldp q0, q1, [%[p]]\n\t"                          \
    "ldp q2, q3, [%[p], #32]\n\t" ROWS_##R(ADD_ROW)                                                \
    "5: ldr %[p], [%[t], %[res]]\n\tcbz %[p], 6f\n\tldr %[s], [%[t], %[ress]]\n\t"                 \
    "lsl %[s], %[s], %[sh]\n\t" ROWS_##R(ADD_MEM)                                                  \
    "6: ldr %[s], [%[t], %[act]]\n\tcbz %[s], 8f\n\tadd %[p], %[t], %[hi]\n\t"                     \
    "ld1r {v5." TS "}, [%[p]]\n\ttbz %[s], #0, 7f\n\t" ROWS_##R(RELU)                             \
    "tbz %[s], #1, 8f\n\t" ROWS_##R(MIN) "b 8f\n\t"                                              \
    "7: add %[p], %[t], %[lo]\n\tld1r {v4." TS "}, [%[p]]\n\t" ROWS_##R(CLIP) "8:\n\t"
/* clang-format on */

#define FINISH_IN                                                                                  \
    , [bias] "i"(offsetof(tile_job, bias)), [res] "i"(offsetof(tile_job, residual)),               \
        [ress] "i"(offsetof(tile_job, residual_stride)), [act] "i"(offsetof(tile_job, act)),       \
        [lo] "i"(offsetof(tile_job, lo)), [hi] "i"(offsetof(tile_job, hi)), [sh] "i"(SHIFT)

_Static_assert(TAKT_GEMM_ACT_RELU == 1 && TAKT_GEMM_ACT_CLIP == 2 && TAKT_GEMM_ACT_RELU_MIN == 3,
               "the assembly tests bits 0 and 1");
