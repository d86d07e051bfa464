/* tile.h - tiles of 8 x 12 or 8 x 8 sums by bfmmla, for every kernel on bf16 activations.
 *
 * A vector of packed A holds four k of two rows, one of B four k of two columns, a sum two rows by
 * two columns. v0-v3 are A, v4-v7 pass B through, v8-v31 sum. Sums begin with `init`, six (or four)
 * vectors for every pair of rows, or with zeros. They end as they are, in the same order, or as
 * rows of bf16.
 */
#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

enum { WIDE = 12, NARROW = 8, MR = 8, GROUP = 4 };

typedef struct tile_job {
    const uint16_t *a, *b;
    size_t steps;      /* groups of k */
    const float *init; /* 4 * W floats a pair of rows, */
    size_t init_step;  /* this many bytes from pair to pair */
    void *c;           /* rows of bf16, or sums */
    size_t ldc;        /* bytes */
    const float *ends; /* lo, hi: of rows of bf16 */
    size_t strips; /* this many tiles: A goes on where it ended, C too, B and init are the same */
    size_t c_skip; /* after this many bytes */
} tile_job;

#include "kernel/gemm_bf16/bfmmla.h"

/* clang-format off */
#define FROM_INIT_4(a, b, c, d, e, f)                                                              \
    "ldp q" #a ", q" #b ", [%[init]]\n\tldp q" #c ", q" #d ", [%[init], #32]\n\t"                  \
    "add %[init], %[init], %[istep]\n\t"
#define FROM_INIT_6(a, b, c, d, e, f)                                                              \
    "ldp q" #e ", q" #f ", [%[init], #64]\n\t" FROM_INIT_4(a, b, c, d, e, f)
#define Z(x) "movi v" #x ".2d, #0\n\t"
#define FROM_ZERO_4(a, b, c, d, e, f) Z(a) Z(b) Z(c) Z(d)
#define FROM_ZERO_6(a, b, c, d, e, f) FROM_ZERO_4(a, b, c, d, e, f) Z(e) Z(f)

#define SUMS_4(a, b, c, d, e, f)                                                                   \
    "stp q" #a ", q" #b ", [%[c]], #64\n\tstp q" #c ", q" #d ", [%[c], #-32]\n\t"
#define SUMS_6(a, b, c, d, e, f)                                                                   \
    "stp q" #a ", q" #b ", [%[c]], #96\n\tstp q" #c ", q" #d ", [%[c], #-64]\n\t"                  \
    "stp q" #e ", q" #f ", [%[c], #-32]\n\t"

#define CLIP(x) "fmax v" #x ".4s, v" #x ".4s, v0.4s\n\tfmin v" #x ".4s, v" #x ".4s, v1.4s\n\t"
/* Four columns of two rows; v2 is zero. */
#define ROUND(to, x, y)                                                                            \
    "raddhn v" #to ".4h, v" #x ".4s, v2.4s\n\traddhn2 v" #to ".8h, v" #y ".4s, v2.4s\n\t"
#define APART(even, odd, x, y)                                                                     \
    "uzp1 v" #even ".4s, v" #x ".4s, v" #y ".4s\n\tuzp2 v" #odd ".4s, v" #x ".4s, v" #y ".4s\n\t"
#define ROWS_4(a, b, c, d, e, f)                                                                   \
    CLIP(a) CLIP(b) CLIP(c) CLIP(d) ROUND(3, a, b) ROUND(4, c, d) APART(6, 7, 3, 4)                \
    "str q6, [%[c]]\n\tadd %[c], %[c], %[ldc]\n\tstr q7, [%[c]]\n\tadd %[c], %[c], %[ldc]\n\t"
#define ROWS_6(a, b, c, d, e, f)                                                                   \
    CLIP(e) CLIP(f) CLIP(a) CLIP(b) CLIP(c) CLIP(d)                                                \
    ROUND(5, e, f) ROUND(3, a, b) ROUND(4, c, d) APART(6, 7, 3, 4) APART(3, 4, 5, 5)               \
    "str q6, [%[c]]\n\tstr d3, [%[c], #16]\n\tadd %[c], %[c], %[ldc]\n\t"                          \
    "str q7, [%[c]]\n\tstr d4, [%[c], #16]\n\tadd %[c], %[c], %[ldc]\n\t"
#define ENDS_ROWS "ld1r {v0.4s}, [%[ends]]\n\tadd %[ends], %[ends], #4\n\t"                        \
    "ld1r {v1.4s}, [%[ends]]\n\tmovi v2.2d, #0\n\t"
#define ENDS_SUMS

#define TILE_FUNCTION(BEGIN, END, R, W)                                                            \
    static void tile_##BEGIN##_##END##_##R##_##W(const tile_job *t)                                \
    {                                                                                              \
        const void *a = t->a, *b, *init, *ends;                                                    \
        void *c = t->c;                                                                            \
        size_t steps, strips = t->strips;                                                          \
        __asm__ volatile(                                                                          \
            "7: mov %[init], %[init0]\n\tmov %[b], %[b0]\n\tmov %[steps], %[steps0]\n\t"           \
            PAIRS_##R(FROM_##BEGIN##_##W)                                                          \
            "cbz %[steps], 3f\n\tldp q4, q5, [%[b]]\n\tldp q6, q7, [%[b], #32]\n\t"                \
            "subs %[steps], %[steps], #1\n\tbeq 2f\n"                                              \
            "1:\n\t" LOAD_A_##R STEP_##W(R) "subs %[steps], %[steps], #1\n\tbne 1b\n"              \
            "2:\n\t" LOAD_A_##R LAST_##W(R)                                                        \
            "3: mov %[ends], %[ends0]\n\t" ENDS_##END PAIRS_##R(END##_##W)                         \
            "add %[c], %[c], %[skip]\n\tsubs %[strips], %[strips], #1\n\tbne 7b\n"                 \
            : [a] "+r"(a), [b] "=&r"(b), [c] "+r"(c), [steps] "=&r"(steps), [init] "=&r"(init),    \
              [ends] "=&r"(ends), [strips] "+r"(strips)                                            \
            : [ldc] "r"(t->ldc), [istep] "r"(t->init_step), [b0] "r"(t->b), [init0] "r"(t->init),  \
              [steps0] "r"(t->steps), [ends0] "r"(t->ends), [skip] "r"(t->c_skip)                  \
            : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",     \
              "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",  \
              "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");                    \
    }
#define TILE_FUNCTIONS(BEGIN, END)                                                                 \
    TILE_FUNCTION(BEGIN, END, 1, 6) TILE_FUNCTION(BEGIN, END, 2, 6)                                \
    TILE_FUNCTION(BEGIN, END, 3, 6) TILE_FUNCTION(BEGIN, END, 4, 6)                                \
    TILE_FUNCTION(BEGIN, END, 1, 4) TILE_FUNCTION(BEGIN, END, 2, 4)                                \
    TILE_FUNCTION(BEGIN, END, 3, 4) TILE_FUNCTION(BEGIN, END, 4, 4)
#define TILE_TABLE(NAME)                                                                           \
    {{NAME##_1_4, NAME##_2_4, NAME##_3_4, NAME##_4_4},                                             \
     {NAME##_1_6, NAME##_2_6, NAME##_3_6, NAME##_4_6}}
/* clang-format on */

typedef void tile_fn(const tile_job *t);
