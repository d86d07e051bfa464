/* mm_pair.h - one pair of rows by a panel over the blocks of a piece, in registers throughout.
 *
 * A part of block_i8_i8mm.c, for the rows that fill no strip of six and sums below 2^22. v0 is A,
 * v24-v31 B, v8-v15 sum floats, v16-v23 integers; between blocks v0 is dx, v24-v31 scales. The pair
 * may be one of several: what belongs to it lies `apart` bytes apart.
 */
#define PAIR_MM(s, b) "smmla v" #s ".4s, v0.16b, v" #b ".16b\n\t"
#define PAIR_EIGHT(b0, b1, b2, b3)                                                                 \
    "ldr q0, [%[q]]\n\tadd %[q], %[q], %[apart]\n\t"                                               \
    "ldp q24, q25, [%[b], #" #b0 "]\n\tldp q26, q27, [%[b], #" #b1 "]\n\t"                         \
    "ldp q28, q29, [%[b], #" #b2 "]\n\tldp q30, q31, [%[b], #" #b3 "]\n\t" PAIR_MM(16, 24)         \
        PAIR_MM(17, 25) PAIR_MM(18, 26) PAIR_MM(19, 27) PAIR_MM(20, 28) PAIR_MM(21, 29)            \
            PAIR_MM(22, 30) PAIR_MM(23, 31)
#define PAIR_BASE(s) "mov v" #s ".16b, v16.16b\n\t"
#define PAIR_TAKE(s, at)                                                                           \
    "ldr q1, [%[zero], #" #at "]\n\tmov v" #s ".16b, v7.16b\n\tmls v" #s ".4s, v0.4s, v1.4s\n\t"
#define PAIR_FMUL(x) "fmul v" #x ".4s, v" #x ".4s, v0.4s\n\t"
#define PAIR_ALL(op)                                                                               \
    op(8, 16, 24) op(9, 17, 25) op(10, 18, 26) op(11, 19, 27) op(12, 20, 28) op(13, 21, 29)        \
        op(14, 22, 30) op(15, 23, 31)
#define PAIR_LESS(f, s, x) LESS(s)
#define PAIR_TIMES(f, s, x) PAIR_FMUL(x)
#define PAIR_ADD(f, s, x) FMLA(f, x, s)
#define PAIR_LOAD(f, s, x) "ldr q" #f ", [%[at]]\n\tadd %[at], %[at], %[apart]\n\t"
#define PAIR_STORE(f, s, x) "str q" #f ", [%[at]]\n\tadd %[at], %[at], %[apart]\n\t"

static void mm_pair(const mm_blocks *t, float *acc, size_t apart)
{
    const int8_t *q = t->q, *b = t->b;
    const int32_t *sum = t->sum, *zero = t->zero;
    const float *scale = t->scale, *dx = t->dx;
    float *at = acc;
    size_t left = t->left, steps;
    /* clang-format off */
    __asm__ volatile(PAIR_ALL(PAIR_LOAD)
        "movi v7.4s, #0x4b, lsl #24\n\torr v7.4s, #0x40, lsl #16\n" /* 1.5 * 2^23 */
        "1:\n\tcmp %[left], %[most]\n\tcsel %[steps], %[left], %[most], lo\n\t"
        "sub %[left], %[left], %[steps]\n\tcbnz %[zero], 3f\n\t"
        "ldr q16, [%[sum]]\n\t" PAIR_BASE(17) PAIR_BASE(18) PAIR_BASE(19)
        PAIR_BASE(20) PAIR_BASE(21) PAIR_BASE(22) PAIR_BASE(23) "b 4f\n"
        "3:\n\tldr q0, [%[sum]]\n\t"
        PAIR_TAKE(16, 0) PAIR_TAKE(17, 16) PAIR_TAKE(18, 32) PAIR_TAKE(19, 48)
        PAIR_TAKE(20, 64) PAIR_TAKE(21, 80) PAIR_TAKE(22, 96) PAIR_TAKE(23, 112)
        "add %[zero], %[zero], #128\n"
        "4:\n\tadd %[sum], %[sum], %[apart]\n"
        "2:\n\t" PAIR_EIGHT(0, 32, 64, 96) PAIR_EIGHT(128, 160, 192, 224)
        "add %[b], %[b], #256\n\tsubs %[steps], %[steps], #1\n\tbne 2b\n\t"
        PAIR_ALL(PAIR_LESS)
        "ldr q0, [%[dx]]\n\tadd %[dx], %[dx], %[apart]\n\t"
        "ldp q24, q25, [%[scale]]\n\tldp q26, q27, [%[scale], #32]\n\t"
        "ldp q28, q29, [%[scale], #64]\n\tldp q30, q31, [%[scale], #96]\n\t"
        PAIR_ALL(PAIR_TIMES) PAIR_ALL(PAIR_ADD)
        "add %[scale], %[scale], #128\n\tcbnz %[left], 1b\n\t"
        "mov %[at], %[acc]\n\t" PAIR_ALL(PAIR_STORE)
        : [q] "+&r"(q), [b] "+&r"(b), [sum] "+&r"(sum), [zero] "+&r"(zero),
          [scale] "+&r"(scale), [dx] "+&r"(dx), [at] "+&r"(at),
          [left] "+&r"(left), [steps] "=&r"(steps)
        : [acc] "r"(acc), [most] "r"(t->steps), [apart] "r"(apart)
        : "v0", "v1", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17",
          "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29",
          "v30", "v31", "cc", "memory");
    /* clang-format on */
}
