/* mm_tile.h - six rows by eight columns over the blocks of a piece, in registers throughout.
 *
 * A part of block_i8_i8mm.c, for sums below 2^22. v0-v2 are A, v3-v6 B, v8-v19 sum floats, v20-v31
 * integers; between blocks v0-v2 are dx, v3 a scale, v4-v6 their products. The processor loads 1.6
 * vectors a cycle and multiplies 4: a tile of 8 x 4 loads a third more for the same work, and one
 * of 8 x 8 has to keep its floats in memory.
 */
typedef struct mm_blocks {
    const int8_t *q, *b;
    const int32_t *sum; /* [block][3][4]: what sums begin with; or, if there is a zero, sums of A */
    const int32_t *zero; /* [block][8][4], or NULL */
    const float *scale, *dx;
    size_t steps, left; /* of sixteen k: in a block, and in all; the last block may have fewer */
} mm_blocks;

#define MM(s, a, b) "smmla v" #s ".4s, v" #a ".16b, v" #b ".16b\n\t"
#define MM_3(b, s0, s1, s2) MM(s0, 0, b) MM(s1, 1, b) MM(s2, 2, b)
#define EIGHT(q0, q2, b0, b1)                                                                      \
    "ldp q3, q4, [%[b], #" #b0 "]\n\tldp q0, q1, [%[q], #" #q0 "]\n\tldr q2, [%[q], #" #q2 "]\n\t" \
    "ldp q5, q6, [%[b], #" #b1 "]\n\t" MM_3(3, 20, 21, 22) MM_3(4, 23, 24, 25) MM_3(5, 26, 27, 28) \
        MM_3(6, 29, 30, 31)
#define COPY(s, from) "mov v" #s ".16b, v" #from ".16b\n\t"
#define COPY_3(s0, s1, s2) COPY(s0, 20) COPY(s1, 21) COPY(s2, 22)
#define TAKE(s, x) COPY(s, 7) "mls v" #s ".4s, v" #x ".4s, v3.4s\n\t"
#define TAKE_3(at, s0, s1, s2) "ldr q3, [%[zero], #" #at "]\n\t" TAKE(s0, 0) TAKE(s1, 1) TAKE(s2, 2)
#define FMUL(to, x) "fmul v" #to ".4s, v" #x ".4s, v3.4s\n\t"
#define LESS(s) "fsub v" #s ".4s, v" #s ".4s, v7.4s\n\t"
#define FMLA(to, x, y) "fmla v" #to ".4s, v" #x ".4s, v" #y ".4s\n\t"
#define COMBINE(at, f0, f1, f2, s0, s1, s2)                                                        \
    "ldr q3, [%[scale], #" #at "]\n\t" LESS(s0) LESS(s1) LESS(s2) FMUL(4, 0) FMUL(5, 1) FMUL(6, 2) \
        FMLA(f0, 4, s0) FMLA(f1, 5, s1) FMLA(f2, 6, s2)
#define ALL_OF(op)                                                                                 \
    op " q8, q9, [%[acc]]\n\t" op " q10, q11, [%[acc], #32]\n\t" op                                \
       " q12, q13, [%[acc], #64]\n\t" op " q14, q15, [%[acc], #96]\n\t" op                         \
       " q16, q17, [%[acc], #128]\n\t" op " q18, q19, [%[acc], #160]\n\t"

static void mm_tile(const mm_blocks *t, float *acc)
{
    const int8_t *q = t->q, *b = t->b;
    const int32_t *sum = t->sum, *zero = t->zero;
    const float *scale = t->scale, *dx = t->dx;
    size_t left = t->left, steps;
    /* clang-format off */
    __asm__ volatile(ALL_OF("ldp")
        "movi v7.4s, #0x4b, lsl #24\n\torr v7.4s, #0x40, lsl #16\n" /* 1.5 * 2^23 */
        "1:\n\tcmp %[left], %[most]\n\tcsel %[steps], %[left], %[most], lo\n\t"
        "sub %[left], %[left], %[steps]\n\t"
        "cbnz %[zero], 3f\n\tldp q20, q21, [%[sum]]\n\tldr q22, [%[sum], #32]\n\t"
        COPY_3(23, 24, 25) COPY_3(26, 27, 28) COPY_3(29, 30, 31) "b 4f\n"
        "3:\n\tldp q0, q1, [%[sum]]\n\tldr q2, [%[sum], #32]\n\t"
        TAKE_3(0, 20, 21, 22) TAKE_3(16, 23, 24, 25) TAKE_3(32, 26, 27, 28) TAKE_3(48, 29, 30, 31)
        "add %[zero], %[zero], #128\n"
        "4:\n\tadd %[sum], %[sum], #48\n"
        "2:\n\t" EIGHT(0, 32, 0, 32) EIGHT(48, 80, 128, 160)
        "add %[q], %[q], #96\n\tadd %[b], %[b], #256\n\tsubs %[steps], %[steps], #1\n\t"
        "bne 2b\n\tldp q0, q1, [%[dx]]\n\tldr q2, [%[dx], #32]\n\t"
        COMBINE(0, 8, 9, 10, 20, 21, 22) COMBINE(16, 11, 12, 13, 23, 24, 25)
        COMBINE(32, 14, 15, 16, 26, 27, 28) COMBINE(48, 17, 18, 19, 29, 30, 31)
        "add %[scale], %[scale], #128\n\tadd %[dx], %[dx], #48\n\t"
        "cbnz %[left], 1b\n\t" ALL_OF("stp")
        : [q] "+&r"(q), [b] "+&r"(b), [sum] "+&r"(sum), [zero] "+&r"(zero),
          [scale] "+&r"(scale), [dx] "+&r"(dx),
          [left] "+&r"(left), [steps] "=&r"(steps)
        : [acc] "r"(acc), [most] "r"(t->steps)
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
          "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
          "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
    /* clang-format on */
}
