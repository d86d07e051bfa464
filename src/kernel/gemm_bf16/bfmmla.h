/* bfmmla.h - the steps of a tile of 8 x 12 or 8 x 8 sums by bfmmla, as assembly.
 *
 * v0-v3 are A: four k of two rows each; v4-v7 pass B through: four k of two columns; v8-v31 sum,
 * four pairs of rows by six, or four, pairs of columns. STEP_W(R) is one group of k for R pairs of
 * rows, LAST_W(R) the last one, LOAD_A_R before either; PAIRS_R(M) is M of the sums of each pair of
 * rows.
 */
#define MM(acc, a, b) "bfmmla v" #acc ".4s, v" #a ".8h, v" #b ".8h\n\t"
#define PAIR_1(b, w, x, y, z) MM(w, 0, b)
#define PAIR_2(b, w, x, y, z) PAIR_1(b, w, x, y, z) MM(x, 1, b)
#define PAIR_3(b, w, x, y, z) PAIR_2(b, w, x, y, z) MM(y, 2, b)
#define PAIR_4(b, w, x, y, z) PAIR_3(b, w, x, y, z) MM(z, 3, b)
#define LOAD_B(r, off) "ldr q" #r ", [%[b], #" #off "]\n\t"

#define LOAD_A_1 "ldr q0, [%[a]], #16\n\t"
#define LOAD_A_2 "ldp q0, q1, [%[a]], #32\n\t"
#define LOAD_A_3 "ldp q0, q1, [%[a]], #32\n\tldr q2, [%[a]], #16\n\t"
#define LOAD_A_4 "ldp q0, q1, [%[a]], #64\n\tldp q2, q3, [%[a], #-32]\n\t"

/* clang-format off */
/* Each vector of B is replaced by the one four further on as soon as it is used; the last step must
 * not load beyond the panel. */
#define FIRST_6(R)                                                                                 \
    PAIR_##R(4, 8, 14, 20, 26) LOAD_B(4, 64) PAIR_##R(5, 9, 15, 21, 27) LOAD_B(5, 80)
#define STEP_6(R)                                                                                  \
    FIRST_6(R)                                                                                     \
    PAIR_##R(6, 10, 16, 22, 28) LOAD_B(6, 128) PAIR_##R(7, 11, 17, 23, 29) LOAD_B(7, 144)          \
    PAIR_##R(4, 12, 18, 24, 30) LOAD_B(4, 96) PAIR_##R(5, 13, 19, 25, 31) LOAD_B(5, 112)           \
    "add %[b], %[b], #96\n\t"
#define LAST_6(R)                                                                                  \
    FIRST_6(R) PAIR_##R(6, 10, 16, 22, 28) PAIR_##R(7, 11, 17, 23, 29)                             \
    PAIR_##R(4, 12, 18, 24, 30) PAIR_##R(5, 13, 19, 25, 31)
#define STEP_4(R)                                                                                  \
    PAIR_##R(4, 8, 14, 20, 26) LOAD_B(4, 64) PAIR_##R(5, 9, 15, 21, 27) LOAD_B(5, 80)              \
    PAIR_##R(6, 10, 16, 22, 28) LOAD_B(6, 96) PAIR_##R(7, 11, 17, 23, 29) LOAD_B(7, 112)           \
    "add %[b], %[b], #64\n\t"
#define LAST_4(R)                                                                                  \
    PAIR_##R(4, 8, 14, 20, 26) PAIR_##R(5, 9, 15, 21, 27)                                          \
    PAIR_##R(6, 10, 16, 22, 28) PAIR_##R(7, 11, 17, 23, 29)

#define PAIRS_1(M) M(8, 9, 10, 11, 12, 13)
#define PAIRS_2(M) PAIRS_1(M) M(14, 15, 16, 17, 18, 19)
#define PAIRS_3(M) PAIRS_2(M) M(20, 21, 22, 23, 24, 25)
#define PAIRS_4(M) PAIRS_3(M) M(26, 27, 28, 29, 30, 31)
/* clang-format on */
