/* neon_tile.h - tiles of 8 x 24 and 8 x 16 by fmla of eight f16, folded into f32 sums in C.
 *
 * A part of neon.h. v0 and v4 are eight rows of packed A, v1-v3 and v5-v7 pass B through, v8-v31
 * sum in f16: three vectors for each row. After TAKT_F16_SUM steps they are added to C.
 */
#define MUL(acc, b, a, r) "fmla v" #acc ".8h, v" #b ".8h, v" #a ".h[" #r "]\n\t"
#define ZR(x) "movi v" #x ".2d, #0\n\t"
#define BEGIN(acc, b, a, r) "fmul v" #acc ".8h, v" #b ".8h, v" #a ".h[" #r "]\n\t"

/* X(row, its accumulators) for the first rows. */
#define EACH_1(X) X(0, 8, 9, 10)
#define EACH_2(X) EACH_1(X) X(1, 11, 12, 13)
#define EACH_3(X) EACH_2(X) X(2, 14, 15, 16)
#define EACH_4(X) EACH_3(X) X(3, 17, 18, 19)
#define EACH_5(X) EACH_4(X) X(4, 20, 21, 22)
#define EACH_6(X) EACH_5(X) X(5, 23, 24, 25)
#define EACH_7(X) EACH_6(X) X(6, 26, 27, 28)
#define EACH_8(X) EACH_7(X) X(7, 29, 30, 31)

#define ZERO_3(r, x, y, z) ZR(x) ZR(y) ZR(z)
#define ZERO_2(r, x, y, z) ZR(x) ZR(y)
#define FIRST_3(r, x, y, z) BEGIN(x, 1, 0, r) BEGIN(y, 2, 0, r) BEGIN(z, 3, 0, r)
#define FIRST_2(r, x, y, z) BEGIN(x, 1, 0, r) BEGIN(y, 2, 0, r)
#define EVEN_3(r, x, y, z) MUL(x, 1, 0, r) MUL(y, 2, 0, r) MUL(z, 3, 0, r)
#define EVEN_2(r, x, y, z) MUL(x, 1, 0, r) MUL(y, 2, 0, r)
#define ODD_3(r, x, y, z) MUL(x, 5, 4, r) MUL(y, 6, 4, r) MUL(z, 7, 4, r)
#define ODD_2(r, x, y, z) MUL(x, 5, 4, r) MUL(y, 6, 4, r)

#define A_ODD_4 "ldr d4, [%[a]], #8\n\t"
#define A_ODD_8 "ldr q4, [%[a]], #16\n\t"
#define A_EVEN_4 "ldr d0, [%[a]], #8\n\t"
#define A_EVEN_8 "ldr q0, [%[a]], #16\n\t"
#define B_EVEN_3 "ldp q1, q2, [%[b]], #48\n\tldr q3, [%[b], #-16]\n\t"
#define B_EVEN_2 "ldp q1, q2, [%[b]], #32\n\t"
#define B_ODD_3 "ldp q5, q6, [%[b]], #48\n\tldr q7, [%[b], #-16]\n\t"
#define B_ODD_2 "ldp q5, q6, [%[b]], #32\n\t"

/* Eight sums of f16 to eight of f32 in v#s and v#t. */
#ifdef __ARM_FEATURE_FP16_FML
#define ONE "fmov v6.8h, #1.0\n\t"
#define ADD(x, s, t)                                                                               \
    "fmlal v" #s ".4s, v" #x ".4h, v6.4h\n\tfmlal2 v" #t ".4s, v" #x ".4h, v6.4h\n\t"
#define SET(x, s, t) ZR(s) ZR(t) ADD(x, s, t)
#else
#define ONE
#define SET(x, s, t) "fcvtl v" #s ".4s, v" #x ".4h\n\tfcvtl2 v" #t ".4s, v" #x ".8h\n\t"
#define ADD(x, s, t)                                                                               \
    "fcvtl v6.4s, v" #x ".4h\n\tfcvtl2 v7.4s, v" #x ".8h\n\t"                                      \
    "fadd v" #s ".4s, v" #s ".4s, v6.4s\n\tfadd v" #t ".4s, v" #t ".4s, v7.4s\n\t"
#endif
#define GET_3 "ldp q0, q1, [%[c]]\n\tldp q2, q3, [%[c], #32]\n\tldp q4, q5, [%[c], #64]\n\t"
#define GET_2 "ldp q0, q1, [%[c]]\n\tldp q2, q3, [%[c], #32]\n\t"
#define PUT_3                                                                                      \
    "stp q0, q1, [%[c]]\n\tstp q2, q3, [%[c], #32]\n\tstp q4, q5, [%[c], #64]\n\t"                 \
    "add %[c], %[c], %[ldc]\n\t"
#define PUT_2 "stp q0, q1, [%[c]]\n\tstp q2, q3, [%[c], #32]\n\tadd %[c], %[c], %[ldc]\n\t"
#define FOLD_3(r, x, y, z) GET_3 ADD(x, 0, 1) ADD(y, 2, 3) ADD(z, 4, 5) PUT_3
#define FOLD_2(r, x, y, z) GET_2 ADD(x, 0, 1) ADD(y, 2, 3) PUT_2
#define FILL_3(r, x, y, z) SET(x, 0, 1) SET(y, 2, 3) SET(z, 4, 5) PUT_3
#define FILL_2(r, x, y, z) SET(x, 0, 1) SET(y, 2, 3) PUT_2

/* clang-format off */
/* R rows by W vectors; packed A holds H rows. */
#define TILE_FUNCTION(R, W, H)                                                                     \
    static void tile_##R##_##W(const tile_job *t)                                                  \
    {                                                                                              \
        const void *a = t->a, *b = t->b;                                                           \
        size_t done = 0;                                                                           \
        do {                                                                                       \
            const size_t k = least(t->k - done, SUM);                                              \
            size_t pairs = k / 2;                                                                  \
            float *c = t->c;                                                                       \
            __asm__ volatile(                                                                      \
                "cbz %[pairs], 6f\n\t" A_EVEN_##H B_EVEN_##W A_ODD_##H B_ODD_##W                   \
                EACH_##R(FIRST_##W) "subs %[pairs], %[pairs], #1\n\t"                              \
                EACH_##R(ODD_##W) "beq 2f\n"                                                       \
                "1:\n\t" A_EVEN_##H B_EVEN_##W A_ODD_##H B_ODD_##W                                 \
                EACH_##R(EVEN_##W) "subs %[pairs], %[pairs], #1\n\t"                               \
                EACH_##R(ODD_##W) "bne 1b\n\tb 2f\n"                                              \
                "6:\n\t" EACH_##R(ZERO_##W)                                                       \
                "2:\n\ttbz %[k], #0, 3f\n\t" A_EVEN_##H B_EVEN_##W EACH_##R(EVEN_##W)              \
                "3:\n\t" ONE "cbz %[adds], 4f\n\t" EACH_##R(FOLD_##W) "b 5f\n"                     \
                "4:\n\t" EACH_##R(FILL_##W) "5:\n"                                                 \
                : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [pairs] "+r"(pairs)                       \
                : [k] "r"(k), [adds] "r"((size_t)(t->adds || done > 0)),                           \
                  [ldc] "r"(t->ldc * sizeof *c)                                                    \
                : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",        \
                  "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22",     \
                  "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");  \
            done += SUM;                                                                           \
        } while (done < t->k);                                                                     \
    }
/* clang-format on */

#define TILES(W)                                                                                   \
    TILE_FUNCTION(1, W, 4)                                                                         \
    TILE_FUNCTION(2, W, 4)                                                                         \
    TILE_FUNCTION(3, W, 4)                                                                         \
    TILE_FUNCTION(4, W, 4)                                                                         \
    TILE_FUNCTION(5, W, 8)                                                                         \
    TILE_FUNCTION(6, W, 8)                                                                         \
    TILE_FUNCTION(7, W, 8)                                                                         \
    TILE_FUNCTION(8, W, 8)

TILES(3)
TILES(2)

static void tile(size_t rows, size_t cols, const tile_job *t)
{
    typedef void tile_fn(const tile_job *t);
    static tile_fn *const by_rows[2][MR] = {
        {tile_1_2, tile_2_2, tile_3_2, tile_4_2, tile_5_2, tile_6_2, tile_7_2, tile_8_2},
        {tile_1_3, tile_2_3, tile_3_3, tile_4_3, tile_5_3, tile_6_3, tile_7_3, tile_8_3}};
    by_rows[cols == WIDE][rows - 1](t);
}
