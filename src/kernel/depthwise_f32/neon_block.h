/* neon_block.h - three by three taps without dilation: four outputs of two lines, in assembly.
 *
 * Neoverse V1 loads two vectors a cycle and multiplies four, so a block shares what it loads: every
 * value of x serves up to six products, and eight independent sums hide the latency. Compilers copy
 * vectors here and there, and a copied multiplicand halves the rate of fmla on this core.
 *
 * Registers: v24-v27 the sums of the first line, v28-v31 of the second, v0-v2 a row of weights, v6
 * bias, v7 limit, the rest rows of x. The loop goes over vectors of channels.
 */
enum { ACROSS = 4 };

/* One block. What a padded column would read is never read. The assembly knows the order of these
 * fields. */
typedef struct block {
    const float *x[5]; /* one row after the other; 3 + stride of them */
    const float *w[3];
    float *y[2];
    const float *bias;
    size_t bias_step; /* bytes: 16, or 0 if `bias` is one vector that changes nothing */
    size_t vectors;
    size_t relu;   /* 0: none, 1: any, 2: as a maximum with lo */
    size_t column; /* bytes from one column of x or y, or one tap of w, to the next */
    float limit, lo;
} block;

#define X0 "x1"
#define X1 "x2"
#define X2 "x3"
#define X3 "x4"
#define X4 "x5"
#define W0 "x6"
#define W1 "x7"
#define W2 "x8"
#define Y0 "x9"
#define Y1 "x10"
#define BIAS "x11"
#define STEP "x12"
#define COUNT "x13"
#define RELU_HOW "x14"
#define O1 "x15"
#define O2 "x16"
#define O3 "x17"
#define O4 "x20"
#define O5 "x21"
#define O6 "x22"
#define O7 "x23"
#define O8 "x24"

/* clang-format off */
#define FM(acc, x, w) "fmla v" #acc ".4s, v" #x ".4s, v" #w ".4s\n\t"
#define LD(v, base, off) "ldr q" #v ", [" base ", " off "]\n\t"
#define LD_NEXT(v, base) "ldr q" #v ", [" base "], #16\n\t"
#define ZERO(v) "movi v" #v ".2d, #0\n\t"
/* The first and the last column, which may be padding. */
#define IN(v, base, off) LD(v, base, off)
#define IN_NEXT(v, base) LD_NEXT(v, base)
#define IN_HERE(v, base) "ldr q" #v ", [" base "]\n\t"
#define OUT(v, base, off) ZERO(v)
#define OUT_NEXT(v, base) ZERO(v) "add " base ", " base ", #16\n\t"
#define OUT_HERE(v, base) ZERO(v)

/* One tap of all eight outputs: w times columns of the first and the second line. */
#define TAP(w, a, b, c, d, e, f, g, h)                                                             \
    FM(24, a, w) FM(25, b, w) FM(26, c, w) FM(27, d, w)                                            \
    FM(28, e, w) FM(29, f, w) FM(30, g, w) FM(31, h, w)
#define SUMS ZERO(24) ZERO(25) ZERO(26) ZERO(27) ZERO(28) ZERO(29) ZERO(30) ZERO(31)
#define WEIGHTS(p) LD(1, p, O1) LD(2, p, O2) LD_NEXT(0, p)

/* Stride 1: the second line's row is the first line's next. */
#define ROW_6(p, L, R, a, b, c, d, e, f)                                                           \
    LD(b, p, O1) LD(c, p, O2) LD(d, p, O3) LD(e, p, O4) R(f, p, O5) L##_NEXT(a, p)
#define EVEN_1(p, L, R) ROW_6(p, L, R, 8, 9, 10, 11, 12, 13)
#define ODD_1(p, L, R) ROW_6(p, L, R, 14, 15, 16, 17, 18, 19)
#define EVEN_ODD_1                                                                                 \
    TAP(0, 8, 9, 10, 11, 14, 15, 16, 17) TAP(1, 9, 10, 11, 12, 15, 16, 17, 18)                     \
    TAP(2, 10, 11, 12, 13, 16, 17, 18, 19)
#define ODD_EVEN_1                                                                                 \
    TAP(0, 14, 15, 16, 17, 8, 9, 10, 11) TAP(1, 15, 16, 17, 18, 9, 10, 11, 12)                     \
    TAP(2, 16, 17, 18, 19, 10, 11, 12, 13)
#define BODY_1(L, R)                                                                               \
    SUMS WEIGHTS(W0) EVEN_1(X0, L, R) ODD_1(X1, L, R) EVEN_ODD_1                                   \
    WEIGHTS(W1) EVEN_1(X2, L, R) ODD_EVEN_1                                                        \
    WEIGHTS(W2) ODD_1(X3, L, R) EVEN_ODD_1

/* Stride 2: row 2 is read for both lines. */
#define ROW_9(p, L, R, FIRST, a, b, c, d, e, f, g, h, i)                                           \
    LD(c, p, O2) LD(e, p, O4) LD(g, p, O6) LD(b, p, O1) LD(d, p, O3) LD(f, p, O5) LD(h, p, O7)     \
    R(i, p, O8) L##_##FIRST(a, p)
#define EVEN_2(p, L, R) ROW_9(p, L, R, NEXT, 8, 9, 10, 11, 12, 13, 14, 15, 16)
#define ODD_2(p, L, R, FIRST) ROW_9(p, L, R, FIRST, 17, 18, 19, 20, 21, 22, 23, 4, 5)
#define EVEN_ODD_2                                                                                 \
    TAP(0, 8, 10, 12, 14, 17, 19, 21, 23) TAP(1, 9, 11, 13, 15, 18, 20, 22, 4)                     \
    TAP(2, 10, 12, 14, 16, 19, 21, 23, 5)
#define BODY_2(L, R)                                                                               \
    SUMS WEIGHTS(W0) EVEN_2(X0, L, R) ODD_2(X2, L, R, HERE) EVEN_ODD_2                             \
    WEIGHTS(W1) EVEN_2(X1, L, R) ODD_2(X3, L, R, NEXT) EVEN_ODD_2                                  \
    WEIGHTS(W2) EVEN_2(X2, L, R) ODD_2(X4, L, R, NEXT) EVEN_ODD_2

/* x + bias, x < 0 ? +0 : x, minimum(x, limit). With a bias that is not -0 no sum is -0, and only
 * for -0 is relu not a maximum with +0. */
#define ADD(v) "fadd v" #v ".4s, v" #v ".4s, v6.4s\n\t"
#define RELU(v, t)                                                                                 \
    "fcmlt v" #t ".4s, v" #v ".4s, #0.0\n\tbic v" #v ".16b, v" #v ".16b, v" #t ".16b\n\t"          \
    "fmin v" #v ".4s, v" #v ".4s, v7.4s\n\t"
#define ST(v, base, off) "str q" #v ", [" base ", " off "]\n\t"
#define ST_NEXT(v, base) "str q" #v ", [" base "], #16\n\t"
#define MAX(v) "fmax v" #v ".4s, v" #v ".4s, v0.4s\n\t"
#define MIN(v) "fmin v" #v ".4s, v" #v ".4s, v7.4s\n\t"
#define LO "ldr s0, [x25, #4]\n\tdup v0.4s, v0.s[0]\n\t"
#define ALL(M) M(24) M(25) M(26) M(27) M(28) M(29) M(30) M(31)
#define FINISH                                                                                     \
    "ldr q6, [" BIAS "]\n\tadd " BIAS ", " BIAS ", " STEP "\n\t" ALL(ADD)                          \
    "cbz " RELU_HOW ", 2f\n\ttbnz " RELU_HOW ", #0, 3f\n\t" LO ALL(MAX) ALL(MIN) "b 2f\n"          \
    "3:\n\t" RELU(24, 0) RELU(25, 1) RELU(26, 2) RELU(27, 3) RELU(28, 4) RELU(29, 5) RELU(30, 8)   \
    RELU(31, 9) "2:\n\t" ST(25, Y0, O1) ST(26, Y0, O2) ST(27, Y0, O3) ST_NEXT(24, Y0)              \
    ST(29, Y1, O1) ST(30, Y1, O2) ST(31, Y1, O3) ST_NEXT(28, Y1)

#define START                                                                                      \
    "ldp " X0 ", " X1 ", [%[k]]\n\tldp " X2 ", " X3 ", [%[k], #16]\n\t"                            \
    "ldp " X4 ", " W0 ", [%[k], #32]\n\tldp " W1 ", " W2 ", [%[k], #48]\n\t"                       \
    "ldp " Y0 ", " Y1 ", [%[k], #64]\n\tldp " BIAS ", " STEP ", [%[k], #80]\n\t"                   \
    "ldp " COUNT ", " RELU_HOW ", [%[k], #96]\n\tldr " O1 ", [%[k], #112]\n\t"                     \
    "add " O2 ", " O1 ", " O1 "\n\tadd " O3 ", " O2 ", " O1 "\n\tadd " O4 ", " O2 ", " O2 "\n\t"   \
    "add " O5 ", " O4 ", " O1 "\n\tadd " O6 ", " O3 ", " O3 "\n\tadd " O7 ", " O6 ", " O1 "\n\t"   \
    "add " O8 ", " O4 ", " O4 "\n\tadd x25, %[k], #120\n\tld1r {v7.4s}, [x25]\n\t"

#define BLOCK(name, S, L, R)                                                                       \
    static void name(const block *k)                                                               \
    {                                                                                              \
        __asm__ volatile(START "1:\n\t" BODY_##S(L, R) FINISH                                      \
            "subs " COUNT ", " COUNT ", #1\n\tbne 1b\n\t"                                          \
            :                                                                                      \
            : [k] "r"(k)                                                                           \
            : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",    \
              "x14", "x15", "x16", "x17", "x20", "x21", "x22", "x23", "x24", "x25", "v0", "v1",    \
              "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",   \
              "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26",  \
              "v27", "v28", "v29", "v30", "v31", "cc", "memory");                                  \
    }
/* clang-format on */

_Static_assert(offsetof(block, w) == 40 && offsetof(block, y) == 64 &&
                   offsetof(block, bias) == 80 && offsetof(block, vectors) == 96 &&
                   offsetof(block, column) == 112 && offsetof(block, limit) == 120 &&
                   offsetof(block, lo) == 124,
               "the assembly reads these fields");

BLOCK(inner_1, 1, IN, IN)
BLOCK(left_1, 1, OUT, IN)
BLOCK(right_1, 1, IN, OUT)
BLOCK(only_1, 1, OUT, OUT)
BLOCK(inner_2, 2, IN, IN)
BLOCK(left_2, 2, OUT, IN)
BLOCK(right_2, 2, IN, OUT)
BLOCK(only_2, 2, OUT, OUT)
