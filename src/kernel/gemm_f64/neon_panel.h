/* neon_panel.h - f64 tiles of up to 8 rows by panels of 6 or 4 columns, in assembly.
 *
 * Registers: v8-v31 accumulate, column vector j of row r in v(8 + 8j + r). v0-v3 hold the rows of
 * one k, two in each, v4-v6 the row of B; every one is loaded again as soon as it is free, which is
 * 98 % of the peak in L1, and of tiles with 24 sums this one reads least of B: 6 x 8 takes a third
 * more of it from L2. Packed A is [k][rows, an even number]. The last k loads nothing beyond it.
 */
#define FM(acc, b, a, l) "fmla v" #acc ".2d, v" #b ".2d, v" #a ".d[" #l "]\n\t"

/* C<j>_<R>: column vector j of R rows; L(r) comes after the last use of register r of A. */
#define NO_LOAD(r, E, i)
#define PAIR(s, t, b, r, L, E, i) FM(s, b, r, 0) FM(t, b, r, 1) L(r, E, i)
#define COLUMN_2(s0, s1, s2, s3, s4, s5, s6, s7, b, L, E, i) PAIR(s0, s1, b, 0, L, E, i)
#define COLUMN_3(s0, s1, s2, s3, s4, s5, s6, s7, b, L, E, i)                                       \
    COLUMN_2(s0, s1, s2, s3, s4, s5, s6, s7, b, L, E, i) FM(s2, b, 1, 0) L(1, E, i)
#define COLUMN_4(s0, s1, s2, s3, s4, s5, s6, s7, b, L, E, i)                                       \
    COLUMN_2(s0, s1, s2, s3, s4, s5, s6, s7, b, L, E, i) PAIR(s2, s3, b, 1, L, E, i)
#define COLUMN_5(s0, s1, s2, s3, s4, s5, s6, s7, b, L, E, i)                                       \
    COLUMN_4(s0, s1, s2, s3, s4, s5, s6, s7, b, L, E, i) FM(s4, b, 2, 0) L(2, E, i)
#define COLUMN_6(s0, s1, s2, s3, s4, s5, s6, s7, b, L, E, i)                                       \
    COLUMN_4(s0, s1, s2, s3, s4, s5, s6, s7, b, L, E, i) PAIR(s4, s5, b, 2, L, E, i)
#define COLUMN_7(s0, s1, s2, s3, s4, s5, s6, s7, b, L, E, i)                                       \
    COLUMN_6(s0, s1, s2, s3, s4, s5, s6, s7, b, L, E, i) FM(s6, b, 3, 0) L(3, E, i)
#define COLUMN_8(s0, s1, s2, s3, s4, s5, s6, s7, b, L, E, i)                                       \
    COLUMN_6(s0, s1, s2, s3, s4, s5, s6, s7, b, L, E, i) PAIR(s6, s7, b, 3, L, E, i)
#define C0(R, L, E, i) COLUMN_##R(8, 9, 10, 11, 12, 13, 14, 15, 4, L, E, i)
#define C1(R, L, E, i) COLUMN_##R(16, 17, 18, 19, 20, 21, 22, 23, 5, L, E, i)
#define C2(R, L, E, i) COLUMN_##R(24, 25, 26, 27, 28, 29, 30, 31, 6, L, E, i)

/* E_<R>: something for the accumulators of each row. */
#define E_2(M) M(8, 16, 24) M(9, 17, 25)
#define E_3(M) E_2(M) M(10, 18, 26)
#define E_4(M) E_3(M) M(11, 19, 27)
#define E_5(M) E_4(M) M(12, 20, 28)
#define E_6(M) E_5(M) M(13, 21, 29)
#define E_7(M) E_6(M) M(14, 22, 30)
#define E_8(M) E_7(M) M(15, 23, 31)

/* Bytes from one k of packed A to the next; its first k; that of the k after number i. */
#define A_BYTES_2 16
#define A_BYTES_3 32
#define A_BYTES_4 32
#define A_BYTES_5 48
#define A_BYTES_6 48
#define A_BYTES_7 64
#define A_BYTES_8 64
#define A_FIRST_2 "ldr q0, [%[a]]\n\t"
#define A_FIRST_3 "ldp q0, q1, [%[a]]\n\t"
#define A_FIRST_4 A_FIRST_3
#define A_FIRST_5 A_FIRST_3 "ldr q2, [%[a], #32]\n\t"
#define A_FIRST_6 A_FIRST_5
#define A_FIRST_7 A_FIRST_3 "ldp q2, q3, [%[a], #32]\n\t"
#define A_FIRST_8 A_FIRST_7
#define A_NEXT(r, E, i) "ldr q" #r ", [%[a], #(" #i " + 1) * " E " + 16 * " #r "]\n\t"
#define B_NEXT(v, j, W, i) "ldr q" #v ", [%[b], #(" #i " + 1) * 16 * " #W " + 16 * " #j "]\n\t"
#define B_FIRST_3 "ldp q4, q5, [%[b]]\n\tldr q6, [%[b], #32]\n\t"
#define B_FIRST_2 "ldp q4, q5, [%[b]]\n\t"

/* clang-format off */
#define STEP_3(R, E, i)                                                                            \
    C0(R, NO_LOAD, E, i) B_NEXT(4, 0, 3, i) C1(R, NO_LOAD, E, i) B_NEXT(5, 1, 3, i)                \
    C2(R, A_NEXT, E, i) B_NEXT(6, 2, 3, i)
#define STEP_2(R, E, i)                                                                            \
    C0(R, NO_LOAD, E, i) B_NEXT(4, 0, 2, i) C1(R, A_NEXT, E, i) B_NEXT(5, 1, 2, i)
#define LAST_3(R) C0(R, NO_LOAD, , ) C1(R, NO_LOAD, , ) C2(R, NO_LOAD, , )
#define LAST_2(R) C0(R, NO_LOAD, , ) C1(R, NO_LOAD, , )

/* 1: two k at a time, but never the last; 2: the one or two that are left. */
#define TEXT(x) TEXT_(x)
#define TEXT_(x) #x
#define PRODUCT(R, W, E)                                                                           \
    "cbz %[rest], 3f\n\t" A_FIRST_##R B_FIRST_##W "cbz %[groups], 2f\n"                            \
    "1:\n\t" STEP_##W(R, E, 0) "prfm pldl2keep, [%[f]]\n\tadd %[f], %[f], %[fs]\n\t"               \
    STEP_##W(R, E, 1) "add %[a], %[a], #2 * " E "\n\tadd %[b], %[b], #32 * " #W "\n\t"             \
    "subs %[groups], %[groups], #1\n\tbne 1b\n"                                                    \
    "2: cmp %[rest], #2\n\tbhs 21f\n\t" LAST_##W(R) "b 3f\n"                                       \
    "21:" STEP_##W(R, E, 0) LAST_##W(R) "3:\n\t"

/* Sums of earlier chunks, bias, residual, then RELU (1), CLIP (2) or RELU_MIN (3). */
#define ADD_(x, y) "fadd v" #x ".2d, v" #x ".2d, v" #y ".2d\n\t"
/* x < 0 ? +0 : x, so that NaN and -0 pass. */
#define RELU_(x) "fcmlt v0.2d, v" #x ".2d, #0.0\n\tbic v" #x ".16b, v" #x ".16b, v0.16b\n\t"
#define MIN_(x) "fmin v" #x ".2d, v" #x ".2d, v5.2d\n\t"
#define CLIP_(x) "fmax v" #x ".2d, v" #x ".2d, v4.2d\n\t" MIN_(x)
#define ZERO_(x) "movi v" #x ".2d, #0\n\t"
#define ZERO_3(x, y, z) ZERO_(x) ZERO_(y) ZERO_(z)
#define ZERO_2(x, y, z) ZERO_(x) ZERO_(y)
#define LOAD_3 "ldp q0, q1, [%[p]]\n\tldr q2, [%[p], #32]\n\t"
#define LOAD_2 "ldp q0, q1, [%[p]]\n\t"
#define ADD_3(x, y, z) ADD_(x, 0) ADD_(y, 1) ADD_(z, 2)
#define ADD_2(x, y, z) ADD_(x, 0) ADD_(y, 1)
#define SUM_3(x, y, z) LOAD_3 "add %[p], %[p], %[s]\n\t" ADD_3(x, y, z)
#define SUM_2(x, y, z) LOAD_2 "add %[p], %[p], %[s]\n\t" ADD_2(x, y, z)
#define RELU_3(x, y, z) RELU_(x) RELU_(y) RELU_(z)
#define RELU_2(x, y, z) RELU_(x) RELU_(y)
#define MIN_3(x, y, z) MIN_(x) MIN_(y) MIN_(z)
#define MIN_2(x, y, z) MIN_(x) MIN_(y)
#define CLIP_3(x, y, z) CLIP_(x) CLIP_(y) CLIP_(z)
#define CLIP_2(x, y, z) CLIP_(x) CLIP_(y)
#define TOUCH(x, y, z) "prfm pstl1keep, [%[p]]\n\tadd %[p], %[p], %[ldc]\n\t"
#define STORE_3(x, y, z)                                                                           \
    "stp q" #x ", q" #y ", [%[c]]\n\tstr q" #z ", [%[c], #32]\n\tadd %[c], %[c], %[ldc]\n\t"
#define STORE_2(x, y, z) "stp q" #x ", q" #y ", [%[c]]\n\tadd %[c], %[c], %[ldc]\n\t"
#define ENDING(R, W)                                                                               \
    "ldr %[p], [%[t], %[sum]]\n\tcbz %[p], 4f\n\tmov %[s], %[sumld]\n\t" E_##R(SUM_##W)            \
    "4: ldr %[p], [%[t], %[bias]]\n\tcbz %[p], 5f\n\t" LOAD_##W E_##R(ADD_##W)                     \
    "5: ldr %[p], [%[t], %[res]]\n\tcbz %[p], 6f\n\tldr %[s], [%[t], %[ress]]\n\t"                 \
    "lsl %[s], %[s], #3\n\t" E_##R(SUM_##W)                                                     \
    "6: ldr %[s], [%[t], %[act]]\n\tcbz %[s], 8f\n\tadd %[p], %[t], %[hi]\n\t"                     \
    "ld1r {v5.2d}, [%[p]]\n\ttbz %[s], #0, 7f\n\t" E_##R(RELU_##W)                                 \
    "tbz %[s], #1, 8f\n\t" E_##R(MIN_##W) "b 8f\n\t"                                               \
    "7: add %[p], %[t], %[lo]\n\tld1r {v4.2d}, [%[p]]\n\t" E_##R(CLIP_##W)                         \
    "8:\n\t" E_##R(STORE_##W)

_Static_assert(TAKT_GEMM_ACT_RELU == 1 && TAKT_GEMM_ACT_CLIP == 2 && TAKT_GEMM_ACT_RELU_MIN == 3,
               "the assembly tests bits 0 and 1");

#define TILE_FUNCTION(R, W)                                                                        \
    static void tile_##R##_##W(const tile_job *t)                                                  \
    {                                                                                              \
        const double *a = t->a, *b = t->b, *f = t->ahead;                                          \
        double *c = t->c;                                                                          \
        size_t groups = t->k ? (t->k - 1) / 2 : 0, p = (size_t)c, s;                               \
        const size_t ldc = t->ldc * sizeof *c, rest = t->k - groups * 2;                           \
        __asm__ volatile(E_##R(TOUCH) E_##R(ZERO_##W) PRODUCT(R, W, TEXT(A_BYTES_##R))             \
            ENDING(R, W)                                                                           \
            : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [f] "+r"(f), [groups] "+r"(groups),           \
              [p] "+r"(p), [s] "=&r"(s)                                                            \
            : [ldc] "r"(ldc), [rest] "r"(rest), [t] "r"(t), [fs] "r"(t->ahead_step),               \
              [sumld] "r"(t->sum_ld * sizeof *c), [sum] "i"(offsetof(tile_job, sum)),              \
              [bias] "i"(offsetof(tile_job, bias)), [res] "i"(offsetof(tile_job, residual)),       \
              [ress] "i"(offsetof(tile_job, residual_stride)), [act] "i"(offsetof(tile_job, act)), \
              [lo] "i"(offsetof(tile_job, lo)), [hi] "i"(offsetof(tile_job, hi))                   \
            : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v8", "v9", "v10", "v11", "v12", "v13",    \
              "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",  \
              "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");                           \
    }
/* clang-format on */

TILE_FUNCTION(2, 2)
TILE_FUNCTION(3, 2)
TILE_FUNCTION(4, 2)
TILE_FUNCTION(5, 2)
TILE_FUNCTION(6, 2)
TILE_FUNCTION(7, 2)
TILE_FUNCTION(8, 2)
TILE_FUNCTION(2, 3)
TILE_FUNCTION(3, 3)
TILE_FUNCTION(4, 3)
TILE_FUNCTION(5, 3)
TILE_FUNCTION(6, 3)
TILE_FUNCTION(7, 3)
TILE_FUNCTION(8, 3)

static void tile(size_t rows, size_t cols, const tile_job *t)
{
    static void (*const by_shape[2][7])(const tile_job *) = {
        {tile_2_2, tile_3_2, tile_4_2, tile_5_2, tile_6_2, tile_7_2, tile_8_2},
        {tile_2_3, tile_3_3, tile_4_3, tile_5_3, tile_6_3, tile_7_3, tile_8_3}};
    by_shape[cols == WIDE][rows - 2](t);
}
