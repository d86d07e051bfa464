/* neon_tile.h - the tile of R rows by 64 bytes of columns, in assembly, by sdot or usdot.
 *
 * A template: define FM(acc, b, a, l), which multiplies by lane l of A and adds, ADD_(x, y), which
 * adds, and FINISH(R) with its FINISH_IN, what is done to sums before they are stored.
 *
 * Registers: v0-v5 hold one vector of k for each row of A, v6 and v7 pass the row of B through,
 * v8-v31 accumulate. Both multiplicands come from plain loads (others halve the rate of fmla on
 * Neoverse V1); renaming makes two registers enough for B. gcc 12 gets 86 % of the peak from the
 * same tile in intrinsics.
 */
/* Column vector j of the first R rows: accumulators 8 + j, 12 + j, ... */
#define COLS_2(b, l, c0, c1, c2, c3, c4, c5) FM(c0, b, 0, l) FM(c1, b, 1, l)
#define COLS_3(b, l, c0, c1, c2, c3, c4, c5) COLS_2(b, l, c0, c1, c2, c3, c4, c5) FM(c2, b, 2, l)
#define COLS_4(b, l, c0, c1, c2, c3, c4, c5) COLS_3(b, l, c0, c1, c2, c3, c4, c5) FM(c3, b, 3, l)
#define COLS_5(b, l, c0, c1, c2, c3, c4, c5) COLS_4(b, l, c0, c1, c2, c3, c4, c5) FM(c4, b, 4, l)
#define COLS_6(b, l, c0, c1, c2, c3, c4, c5) COLS_5(b, l, c0, c1, c2, c3, c4, c5) FM(c5, b, 5, l)

/* One k: lane l of A, the 64 bytes of B at `off`. Each half of v6 and v7 is loaded again as soon as
 * it is free (91 to 97 % of the peak, in L1); the last k of a chunk must not load beyond it. */
/* clang-format off */
#define K_STEP(R, l, off)                                                                          \
    K_HALF(R, l, off)                                                                              \
    COLS_##R(6, l, 10, 14, 18, 22, 26, 30) "ldr q6, [%[b], #" #off " + 64]\n\t"                    \
    COLS_##R(7, l, 11, 15, 19, 23, 27, 31) "ldr q7, [%[b], #" #off " + 80]\n\t"
#define K_LAST(R, l, off)                                                                          \
    K_HALF(R, l, off)                                                                              \
    COLS_##R(6, l, 10, 14, 18, 22, 26, 30)                                                         \
    COLS_##R(7, l, 11, 15, 19, 23, 27, 31)
#define K_HALF(R, l, off)                                                                          \
    COLS_##R(6, l, 8, 12, 16, 20, 24, 28) "ldr q6, [%[b], #" #off " + 32]\n\t"                     \
    COLS_##R(7, l, 9, 13, 17, 21, 25, 29) "ldr q7, [%[b], #" #off " + 48]\n\t"

/* A vector of A holds four k: the loop's step, and the last 1 to 4 k. */
#define FOUR_STEPS(R)                                                                              \
    K_STEP(R, 0, 0) K_STEP(R, 1, 64) K_STEP(R, 2, 128) K_STEP(R, 3, 192) "add %[b], %[b], #256\n\t"
#define FOUR_REST(R)                                                                               \
    "cmp %[rest], #2\n\tbhs 21f\n\t" K_LAST(R, 0, 0) "b 3f\n"                                      \
    "21:" K_STEP(R, 0, 0) "cmp %[rest], #3\n\tbhs 22f\n\t" K_LAST(R, 1, 64) "b 3f\n"               \
    "22:" K_STEP(R, 1, 64) "cmp %[rest], #4\n\tbhs 23f\n\t" K_LAST(R, 2, 128) "b 3f\n"             \
    "23:" K_STEP(R, 2, 128) K_LAST(R, 3, 192)
/* clang-format on */

#define LOAD_A_2 "ldp q0, q1, [%[a]], #32\n\t"
#define LOAD_A_3 "ldp q0, q1, [%[a]]\n\tldr q2, [%[a], #32]\n\tadd %[a], %[a], #48\n\t"
#define LOAD_A_4 "ldp q0, q1, [%[a]]\n\tldp q2, q3, [%[a], #32]\n\tadd %[a], %[a], #64\n\t"
#define LOAD_A_5                                                                                   \
    "ldp q0, q1, [%[a]]\n\tldp q2, q3, [%[a], #32]\n\tldr q4, [%[a], #64]\n\t"                     \
    "add %[a], %[a], #80\n\t"
#define LOAD_A_6                                                                                   \
    "ldp q0, q1, [%[a]]\n\tldp q2, q3, [%[a], #32]\n\tldp q4, q5, [%[a], #64]\n\t"                 \
    "add %[a], %[a], #96\n\t"

/* OP on the four accumulators of a row; ROWS_R repeats a row macro. */
#define ROWS_2(M) M(8, 9, 10, 11) M(12, 13, 14, 15)
#define ROWS_3(M) ROWS_2(M) M(16, 17, 18, 19)
#define ROWS_4(M) ROWS_3(M) M(20, 21, 22, 23)
#define ROWS_5(M) ROWS_4(M) M(24, 25, 26, 27)
#define ROWS_6(M) ROWS_5(M) M(28, 29, 30, 31)

#define ZERO_(x) "movi v" #x ".2d, #0\n\t"
#define ZERO(w, x, y, z) ZERO_(w) ZERO_(x) ZERO_(y) ZERO_(z)
#define ADD_ROW(w, x, y, z) ADD_(w, 0) ADD_(x, 1) ADD_(y, 2) ADD_(z, 3)
#define TOUCH(w, x, y, z) "prfm pstl1keep, [%[p]]\n\tadd %[p], %[p], %[ldc]\n\t"
#define ADD_MEM(w, x, y, z)                                                                        \
    "ldp q0, q1, [%[p]]\n\tldp q2, q3, [%[p], #32]\n\tadd %[p], %[p], %[s]\n\t" ADD_ROW(w, x, y, z)
#define STORE(w, x, y, z)                                                                          \
    "stp q" #w ", q" #x ", [%[c]]\n\tstp q" #y ", q" #z ", [%[c], #32]\n\t"                        \
    "add %[c], %[c], %[ldc]\n\t"

/* clang-format off */
#define EPILOGUE(R)                                                                                \
    "ldr %[p], [%[t], %[sum]]\n\tcbz %[p], 4f\n\tmov %[s], %[sumld]\n\t" ROWS_##R(ADD_MEM)         \
    "4:\n\t" FINISH(R) ROWS_##R(STORE)

/* 1: whole vectors of k, but never the last k; 2: the 1 to QUAD values of k left. */
#define TILE_FUNCTION(R)                                                                           \
    static void tile_##R(const tile_job *t)                                                        \
    {                                                                                              \
        const void *a = t->a, *b = t->b;                                                           \
        elem *c = t->c;                                                                            \
        size_t groups = t->k ? (t->k - 1) / QUAD : 0, p = (size_t)c, s;                            \
        const size_t ldc = t->ldc * sizeof(elem), rest = t->k - groups * QUAD;                     \
        __asm__ volatile(ROWS_##R(TOUCH) ROWS_##R(ZERO)                                            \
            "cbz %[rest], 3f\n\tldp q6, q7, [%[b]]\n\tcbz %[groups], 2f\n"                         \
            "1:\n\t" LOAD_A_##R FOUR_STEPS(R)                                                      \
            "subs %[groups], %[groups], #1\n\tbne 1b\n"                                            \
            "2:\n\t" LOAD_A_##R FOUR_REST(R)                                                       \
            "3:\n\t" EPILOGUE(R)                                                                   \
            : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [groups] "+r"(groups), [p] "+r"(p),           \
              [s] "=&r"(s)                                                                         \
            : [ldc] "r"(ldc), [rest] "r"(rest), [t] "r"(t), [sumld] "r"(t->sum_ld * sizeof(elem)), \
              [sum] "i"(offsetof(tile_job, sum)) FINISH_IN                                         \
            : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",     \
              "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",  \
              "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");                    \
    }

/* clang-format on */

TILE_FUNCTION(2)
TILE_FUNCTION(3)
TILE_FUNCTION(4)
TILE_FUNCTION(5)
TILE_FUNCTION(6)

static void tile(size_t rows, size_t panels, const tile_job *t)
{
    static void (*const by_rows[])(const tile_job *) = {tile_2, tile_3, tile_4, tile_5, tile_6};
    (void)panels;
    by_rows[rows - 2](t);
}
