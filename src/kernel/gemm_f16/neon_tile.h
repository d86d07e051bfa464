/* neon_tile.h - tiles of 8 x 24 and 8 x 16 by fmla of eight f16, folded into f32 sums in C.
 *
 * A part of neon.h. v0 and v4 are eight rows of packed A, v1-v3 and v5-v7 pass B through, v8-v31
 * sum in f16: three vectors for each row. After TAKT_F16_SUM steps they are added to C.
 */
#define MUL(acc, b, a, r) "fmla v" #acc ".8h, v" #b ".8h, v" #a ".h[" #r "]\n\t"
#define ZR(x) "movi v" #x ".2d, #0\n\t"

/* X(row, its accumulators). */
#define ROW_0(X) X(0, 8, 9, 10)
#define ROW_1(X) X(1, 11, 12, 13)
#define ROW_2(X) X(2, 14, 15, 16)
#define ROW_3(X) X(3, 17, 18, 19)
#define ROW_4(X) X(4, 20, 21, 22)
#define ROW_5(X) X(5, 23, 24, 25)
#define ROW_6(X) X(6, 26, 27, 28)
#define ROW_7(X) X(7, 29, 30, 31)

/* The first rows with four loads between them: six multiplications after each keep all units busy,
 * loads one after another do not. */
#define MIX_1(X, a, b, c, d) a b c d ROW_0(X)
#define MIX_2(X, a, b, c, d)                                                                       \
    a b ROW_0(X)                                                                                   \
    c d ROW_1(X)
#define MIX_3(X, a, b, c, d)                                                                       \
    a ROW_0(X)                                                                                     \
    b c ROW_1(X)                                                                                   \
    d ROW_2(X)
#define MIX_4(X, a, b, c, d)                                                                       \
    a ROW_0(X)                                                                                     \
    b ROW_1(X)                                                                                     \
    c ROW_2(X)                                                                                     \
    d ROW_3(X)
#define MIX_5(X, a, b, c, d)                                                                       \
    ROW_0(X) a ROW_1(X)                                                                            \
    b ROW_2(X)                                                                                     \
    c ROW_3(X)                                                                                     \
    d ROW_4(X)
#define MIX_6(X, a, b, c, d)                                                                       \
    ROW_0(X) a ROW_1(X)                                                                            \
    b ROW_2(X)                                                                                     \
    c ROW_3(X)                                                                                     \
    d ROW_4(X) ROW_5(X)
#define MIX_7(X, a, b, c, d)                                                                       \
    ROW_0(X) a ROW_1(X)                                                                            \
    b ROW_2(X) ROW_3(X) c ROW_4(X) ROW_5(X) d ROW_6(X)
#define MIX_8(X, a, b, c, d)                                                                       \
    ROW_0(X) a ROW_1(X) ROW_2(X) b ROW_3(X) ROW_4(X) c ROW_5(X) ROW_6(X) d ROW_7(X)

#define ZERO_3(r, x, y, z) ZR(x) ZR(y) ZR(z)
#define ZERO_2(r, x, y, z) ZR(x) ZR(y)
#define EVEN_3(r, x, y, z) MUL(x, 1, 0, r) MUL(y, 2, 0, r) MUL(z, 3, 0, r)
#define EVEN_2(r, x, y, z) MUL(x, 1, 0, r) MUL(y, 2, 0, r)
#define ODD_3(r, x, y, z) MUL(x, 5, 4, r) MUL(y, 6, 4, r) MUL(z, 7, 4, r)
#define ODD_2(r, x, y, z) MUL(x, 5, 4, r) MUL(y, 6, 4, r)

/* Loads of W vectors of B and of A with H rows: of the odd step of a pair, which comes next, and of
 * the even one after it; and of the first. */
#define LD(r, from, at) "ldr " #r ", [%[" #from "], #" #at "]\n\t"
#define A_ODD_4 LD(d4, a, 0)
#define A_ODD_8 LD(q4, a, 0)
#define A_EVEN_4 LD(d0, a, 8)
#define A_EVEN_8 LD(q0, a, 16)
#define ODD_LOADS_3(H) LD(q5, b, 0), A_ODD_##H, LD(q6, b, 16), LD(q7, b, 32)
#define ODD_LOADS_2(H) LD(q5, b, 0), A_ODD_##H, LD(q6, b, 16),
#define EVEN_LOADS_3(H) LD(q1, b, 48), A_EVEN_##H, LD(q2, b, 64), LD(q3, b, 80)
#define EVEN_LOADS_2(H) LD(q1, b, 32), A_EVEN_##H, LD(q2, b, 48),
#define FIRST_LOADS_3(H) LD(q1, b, 0) A_FIRST_##H LD(q2, b, 16) LD(q3, b, 32)
#define FIRST_LOADS_2(H) LD(q1, b, 0) A_FIRST_##H LD(q2, b, 16)
#define A_FIRST_4 LD(d0, a, 0)
#define A_FIRST_8 LD(q0, a, 0)
/* Advances by this many steps. */
#define NEXT(what, bytes) "add %[" #what "], %[" #what "], #" #bytes "\n\t"
#define ONE_3 NEXT(b, 48)
#define TWO_3 NEXT(b, 96)
#define ONE_2 NEXT(b, 32)
#define TWO_2 NEXT(b, 64)
#define A_ONE_4 NEXT(a, 8)
#define A_TWO_4 NEXT(a, 16)
#define A_ONE_8 NEXT(a, 16)
#define A_TWO_8 NEXT(a, 32)
/* MIX takes what the lists of loads expand to. */
#define MIXED(mix, X, ...) mix(X, __VA_ARGS__)
#define EACH(mix, X) mix(X, , , , )

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
            const size_t k = least(t->steps - done, SUM);                                          \
            size_t pairs = k / 2;                                                                  \
            float *c = t->c;                                                                       \
            __asm__ volatile(EACH(MIX_##R, ZERO_##W)                                               \
                "cbz %[pairs], 3f\n\t" FIRST_LOADS_##W(H) ONE_##W A_ONE_##H                        \
                "subs %[pairs], %[pairs], #1\n\tbeq 2f\n"                                          \
                "1:\n\t" MIXED(MIX_##R, EVEN_##W, ODD_LOADS_##W(H))                                \
                "subs %[pairs], %[pairs], #1\n\t"                                                  \
                MIXED(MIX_##R, ODD_##W, EVEN_LOADS_##W(H)) TWO_##W A_TWO_##H "bne 1b\n"            \
                "2:\n\t" MIXED(MIX_##R, EVEN_##W, ODD_LOADS_##W(H)) ONE_##W A_ONE_##H              \
                EACH(MIX_##R, ODD_##W)                                                             \
                "3:\n\ttbz %[k], #0, 4f\n\t" FIRST_LOADS_##W(H) ONE_##W A_ONE_##H                  \
                EACH(MIX_##R, EVEN_##W)                                                            \
                "4:\n\t" ONE "cbz %[adds], 5f\n\t" EACH(MIX_##R, FOLD_##W) "b 6f\n"                \
                "5:\n\t" EACH(MIX_##R, FILL_##W) "6:\n"                                            \
                : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [pairs] "+r"(pairs)                       \
                : [k] "r"(k), [adds] "r"((size_t)(t->adds || done > 0)),                           \
                  [ldc] "r"(t->ldc * sizeof *c)                                                    \
                : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",        \
                  "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22",     \
                  "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");  \
            done += SUM;                                                                           \
        } while (done < t->steps);                                                                 \
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
