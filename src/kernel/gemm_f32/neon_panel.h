/* neon_panel.h - f32 tiles of up to 8 rows by panels of 12 or 8 columns, in assembly.
 *
 * Registers: v8-v31 accumulate, column vector j of row r in v(8 + 8j + r). With packed A ([k][8],
 * or [k][4] for up to 4 rows) v0-v3 hold the rows of two k in turn and v4-v6 the row of B, each
 * loaded again as soon as it is free. Where A is read in place, each row has a vector of four k, up
 * to v7, and B passes through what is left. Both multiplicands come from plain loads (others halve
 * the rate of fmla on Neoverse V1). The last k of a panel loads nothing beyond it.
 */
/* A run of tiles, as the assembly reads it: the offsets of these fields are fixed. */
typedef struct tile_run {
    const float *sum;
    size_t sum_ld, sum_step; /* bytes, like all that follow */
    const float *bias, *residual;
    size_t residual_ld, act;
    float lo, hi;
    const float *a, *ahead;
    size_t a_step, ahead_share, b_step, c_step, count, bias_step, residual_step;
} tile_run;

_Static_assert(offsetof(tile_run, bias) == 24 && offsetof(tile_run, act) == 48 &&
                   offsetof(tile_run, a) == 64 && offsetof(tile_run, count) == 112,
               "the assembly reads these fields");

#define FM(acc, b, a, l) "fmla v" #acc ".4s, v" #b ".4s, v" #a ".s[" #l "]\n\t"

/* C<j>_<R>: column vector j of R rows, whose values of A are the lanes of x and y. */
#define C0_2(b, x, y) FM(8, b, x, 0) FM(9, b, x, 1)
#define C0_3(b, x, y) C0_2(b, x, y) FM(10, b, x, 2)
#define C0_4(b, x, y) C0_3(b, x, y) FM(11, b, x, 3)
#define C0_5(b, x, y) C0_4(b, x, y) FM(12, b, y, 0)
#define C0_6(b, x, y) C0_5(b, x, y) FM(13, b, y, 1)
#define C0_7(b, x, y) C0_6(b, x, y) FM(14, b, y, 2)
#define C0_8(b, x, y) C0_7(b, x, y) FM(15, b, y, 3)
#define C1_2(b, x, y) FM(16, b, x, 0) FM(17, b, x, 1)
#define C1_3(b, x, y) C1_2(b, x, y) FM(18, b, x, 2)
#define C1_4(b, x, y) C1_3(b, x, y) FM(19, b, x, 3)
#define C1_5(b, x, y) C1_4(b, x, y) FM(20, b, y, 0)
#define C1_6(b, x, y) C1_5(b, x, y) FM(21, b, y, 1)
#define C1_7(b, x, y) C1_6(b, x, y) FM(22, b, y, 2)
#define C1_8(b, x, y) C1_7(b, x, y) FM(23, b, y, 3)
#define C2_2(b, x, y) FM(24, b, x, 0) FM(25, b, x, 1)
#define C2_3(b, x, y) C2_2(b, x, y) FM(26, b, x, 2)
#define C2_4(b, x, y) C2_3(b, x, y) FM(27, b, x, 3)
#define C2_5(b, x, y) C2_4(b, x, y) FM(28, b, y, 0)
#define C2_6(b, x, y) C2_5(b, x, y) FM(29, b, y, 1)
#define C2_7(b, x, y) C2_6(b, x, y) FM(30, b, y, 2)
#define C2_8(b, x, y) C2_7(b, x, y) FM(31, b, y, 3)
/* P<j>_<R>: the same in place, where row r has lane l of register r. */
#define P0_2(b, l) FM(8, b, 0, l) FM(9, b, 1, l)
#define P0_3(b, l) P0_2(b, l) FM(10, b, 2, l)
#define P0_4(b, l) P0_3(b, l) FM(11, b, 3, l)
#define P0_5(b, l) P0_4(b, l) FM(12, b, 4, l)
#define P0_6(b, l) P0_5(b, l) FM(13, b, 5, l)
#define P0_7(b, l) P0_6(b, l) FM(14, b, 6, l)
#define P0_8(b, l) P0_7(b, l) FM(15, b, 7, l)
#define P1_2(b, l) FM(16, b, 0, l) FM(17, b, 1, l)
#define P1_3(b, l) P1_2(b, l) FM(18, b, 2, l)
#define P1_4(b, l) P1_3(b, l) FM(19, b, 3, l)
#define P1_5(b, l) P1_4(b, l) FM(20, b, 4, l)
#define P1_6(b, l) P1_5(b, l) FM(21, b, 5, l)
#define P1_7(b, l) P1_6(b, l) FM(22, b, 6, l)
#define P1_8(b, l) P1_7(b, l) FM(23, b, 7, l)
#define P2_2(b, l) FM(24, b, 0, l) FM(25, b, 1, l)
#define P2_3(b, l) P2_2(b, l) FM(26, b, 2, l)
#define P2_4(b, l) P2_3(b, l) FM(27, b, 3, l)
#define P2_5(b, l) P2_4(b, l) FM(28, b, 4, l)
#define P2_6(b, l) P2_5(b, l) FM(29, b, 5, l)
#define P2_7(b, l) P2_6(b, l) FM(30, b, 6, l)
#define P2_8(b, l) P2_7(b, l) FM(31, b, 7, l)
/* E_<R>: something for the three accumulators of each row. */
#define E_2(M) M(8, 16, 24) M(9, 17, 25)
#define E_3(M) E_2(M) M(10, 18, 26)
#define E_4(M) E_3(M) M(11, 19, 27)
#define E_5(M) E_4(M) M(12, 20, 28)
#define E_6(M) E_5(M) M(13, 21, 29)
#define E_7(M) E_6(M) M(14, 22, 30)
#define E_8(M) E_7(M) M(15, 23, 31)

#define LDR(v, p, at) "ldr q" #v ", [%[" #p "], #" #at "]\n\t"

/* Packed A: the first k; of the k after number i of four; the way to the next four. */
#define LOW_FIRST LDR(0, a, 0)
#define LOW_XY(x, y, i)
#define LOW_X(x, i) LDR(x, a, 16 * i + 16)
#define LOW_Y(y, i)
#define LOW_STEP "add %[a], %[a], #64\n\t"
#define TALL_FIRST "ldp q0, q1, [%[a]]\n\t"
#define TALL_XY(x, y, i)
#define TALL_X(x, i) LDR(x, a, 32 * i + 32)
#define TALL_Y(y, i) LDR(y, a, 32 * i + 48)
#define TALL_STEP "add %[a], %[a], #128\n\t"
/* Within four k a tall strip prefetches its A of eight k further on. With one more instruction
 * there, four k of 8 x 12 take 24.0 cycles instead of 24.2 on Neoverse V1, whatever it prefetches;
 * other tiles gain nothing, and those of 8 columns lose. The next strip, 8 KB further on, should
 * not be prefetched: 256^3 with B packed in the step takes 2 to 6 % longer. */
#define TALL_NEXT_3 "prfm pldl1keep, [%[a], #256]\n\t"
#define TALL_NEXT_2
#define LOW_NEXT_3
#define LOW_NEXT_2
/* Seven rows: with both loads of A before all products, four k of 7 x 12 take 21.0 cycles instead
 * of 22.0, of 7 x 8 15.1 instead of 15.5. Eight rows lose by it. */
#define SEVEN_FIRST TALL_FIRST
#define SEVEN_XY(x, y, i) TALL_X(x, i) TALL_Y(y, i)
#define SEVEN_X(x, i)
#define SEVEN_Y(y, i)
#define SEVEN_STEP TALL_STEP
#define SEVEN_NEXT_3
#define SEVEN_NEXT_2

/* B, by its vectors W: the first k, and the way to the next four. */
#define B_FIRST_3 "ldp q4, q5, [%[b]]\n\tldr q6, [%[b], #32]\n\t"
#define B_FIRST_2 "ldp q4, q5, [%[b]]\n\t"
#define B_STEP_3 "add %[b], %[b], #192\n\t"
#define B_STEP_2 "add %[b], %[b], #128\n\t"

/* Number i of four k, with A in x and y; loads those of the next, A into nx and ny. T: LOW, TALL
 * or SEVEN. */
/* clang-format off */
#define STEP_3(R, T, i, x, y, nx, ny)                                                              \
    T##_XY(nx, ny, i)                                                                              \
    C0_##R(4, x, y) LDR(4, b, 48 * i + 48) T##_X(nx, i)                                            \
    C1_##R(5, x, y) LDR(5, b, 48 * i + 64) T##_Y(ny, i)                                            \
    C2_##R(6, x, y) LDR(6, b, 48 * i + 80)
#define STEP_2(R, T, i, x, y, nx, ny)                                                              \
    T##_XY(nx, ny, i)                                                                              \
    C0_##R(4, x, y) LDR(4, b, 32 * i + 32) T##_X(nx, i)                                            \
    C1_##R(5, x, y) LDR(5, b, 32 * i + 48) T##_Y(ny, i)
#define LAST_3(R, x, y) C0_##R(4, x, y) C1_##R(5, x, y) C2_##R(6, x, y)
#define LAST_2(R, x, y) C0_##R(4, x, y) C1_##R(5, x, y)

/* 1: four k at a time, but never the last; 2: the one to four that are left. */
#define PACKED(R, W, T, ASK)                                                                       \
    "cbz %[rest], 3f\n\t" T##_FIRST B_FIRST_##W "cbz %[groups], 2f\n"                              \
    "1:\n\t" STEP_##W(R, T, 0, 0, 1, 2, 3) ASK##_0                                                 \
    STEP_##W(R, T, 1, 2, 3, 0, 1) ASK##_1                                                          \
    STEP_##W(R, T, 2, 0, 1, 2, 3) T##_NEXT_##W                                                     \
    STEP_##W(R, T, 3, 2, 3, 0, 1) T##_STEP B_STEP_##W                                              \
    "subs %[groups], %[groups], #1\n\tbne 1b\n"                                                    \
    "2: cmp %[rest], #2\n\tbhs 21f\n\t" LAST_##W(R, 0, 1) "b 3f\n"                                 \
    "21:" STEP_##W(R, T, 0, 0, 1, 2, 3) "cmp %[rest], #3\n\tbhs 22f\n\t"                           \
    LAST_##W(R, 2, 3) "b 3f\n"                                                                     \
    "22:" STEP_##W(R, T, 1, 2, 3, 0, 1) "cmp %[rest], #4\n\tbhs 23f\n\t"                           \
    LAST_##W(R, 0, 1) "b 3f\n"                                                                     \
    "23:" STEP_##W(R, T, 2, 0, 1, 2, 3) LAST_##W(R, 2, 3) "3:\n\t"

/* A in place: four k of every row, and where B passes through. */
#define ROW_(r) "ldr q" #r ", [%[a" #r "], %[o]]\n\t"
#define ROWS_2 ROW_(0) ROW_(1)
#define ROWS_3 ROWS_2 ROW_(2)
#define ROWS_4 ROWS_3 ROW_(3)
#define ROWS_5 ROWS_4 ROW_(4)
#define ROWS_6 ROWS_5 ROW_(5)
#define ROWS_7 ROWS_6 ROW_(6)
#define ROWS_8 ROWS_7 ROW_(7)
#define FOUR(R) ROWS_##R "add %[o], %[o], #16\n\t"
#define THROUGH_3 LDR(7, b, 0) LDR(15, b, 16) LDR(23, b, 32)
#define THROUGH_2 "ldp q24, q25, [%[b]]\n\t"
#define HERE_3(R, l)                                                                               \
    P0_##R(7, l) LDR(7, b, 48 * l + 48) P1_##R(15, l) LDR(15, b, 48 * l + 64)                      \
    P2_##R(23, l) LDR(23, b, 48 * l + 80)
#define HERE_2(R, l) P0_##R(24, l) LDR(24, b, 32 * l + 32) P1_##R(25, l) LDR(25, b, 32 * l + 48)
#define FINAL_3(R) P0_##R(7, 3) P1_##R(15, 3) P2_##R(23, 3)
#define FINAL_2(R) P0_##R(24, 3) P1_##R(25, 3)
#define PLACED(R, W)                                                                               \
    THROUGH_##W "cbz %[groups], 2f\n"                                                              \
    "1:\n\t" FOUR(R) HERE_##W(R, 0) HERE_##W(R, 1) HERE_##W(R, 2) HERE_##W(R, 3) B_STEP_##W        \
    "subs %[groups], %[groups], #1\n\tbne 1b\n"                                                    \
    "2:\n\t" FOUR(R) HERE_##W(R, 0) HERE_##W(R, 1) HERE_##W(R, 2) FINAL_##W(R)

/* The epilogue of sums: earlier ones, bias, residual, then RELU (1), CLIP (2) or RELU_MIN (3). */
#define ZERO_(x) "movi v" #x ".2d, #0\n\t"
#define ADD_(x, y) "fadd v" #x ".4s, v" #x ".4s, v" #y ".4s\n\t"
/* x < 0 ? +0 : x, so that NaN and -0 pass. */
#define RELU_(x) "fcmlt v0.4s, v" #x ".4s, #0.0\n\tbic v" #x ".16b, v" #x ".16b, v0.16b\n\t"
#define MIN_(x) "fmin v" #x ".4s, v" #x ".4s, v5.4s\n\t"
#define CLIP_(x) "fmax v" #x ".4s, v" #x ".4s, v4.4s\n\t" MIN_(x)
#define LOAD_3 "ldp q0, q1, [%[p]]\n\tldr q2, [%[p], #32]\n\t"
#define LOAD_2 "ldp q0, q1, [%[p]]\n\t"
#define NEXT_P "add %[p], %[p], %[s]\n\t"
#define NEXT_C "add %[c], %[c], %[ldc]\n\t"
/* The end of a tile's row: where it begins the tile before has been. */
#define TOUCH_3(x, y, z) "prfm pstl1keep, [%[p], #40]\n\tadd %[p], %[p], %[ldc]\n\t"
#define TOUCH_2(x, y, z) "prfm pstl1keep, [%[p], #24]\n\tadd %[p], %[p], %[ldc]\n\t"
#define ZERO_3(x, y, z) ZERO_(x) ZERO_(y) ZERO_(z)
#define ZERO_2(x, y, z) ZERO_(x) ZERO_(y)
#define ADD_3(x, y, z) ADD_(x, 0) ADD_(y, 1) ADD_(z, 2)
#define ADD_2(x, y, z) ADD_(x, 0) ADD_(y, 1)
#define SUM_3(x, y, z) LOAD_3 NEXT_P ADD_3(x, y, z)
#define SUM_2(x, y, z) LOAD_2 NEXT_P ADD_2(x, y, z)
#define RELU_3(x, y, z) RELU_(x) RELU_(y) RELU_(z)
#define RELU_2(x, y, z) RELU_(x) RELU_(y)
#define MIN_3(x, y, z) MIN_(x) MIN_(y) MIN_(z)
#define MIN_2(x, y, z) MIN_(x) MIN_(y)
#define CLIP_3(x, y, z) CLIP_(x) CLIP_(y) CLIP_(z)
#define CLIP_2(x, y, z) CLIP_(x) CLIP_(y)
#define STORE_3(x, y, z) "stp q" #x ", q" #y ", [%[c]]\n\tstr q" #z ", [%[c], #32]\n\t" NEXT_C
#define STORE_2(x, y, z) "stp q" #x ", q" #y ", [%[c]]\n\t" NEXT_C
/* A run with packed A: the next tile reads the same, this many bytes further on. */
#define ON(field, step)                                                                            \
    "ldr %[s], [%[t], #" #step "]\n\tadd %[s], %[p], %[s]\n\tstr %[s], [%[t], #" #field "]\n\t"
#define PACKED_SUM                                                                                 \
    "ldp %[groups], %[s], [%[t], #8]\n\tadd %[s], %[p], %[s]\n\tstr %[s], [%[t]]\n\t"              \
    "mov %[s], %[groups]\n\t"
#define PACKED_BIAS ON(24, 120)
#define PACKED_RESIDUAL ON(32, 128)
#define PACKED_AFTER
/* A run with A in place, below each other: so it is with the residual, after all its rows. */
#define PLACED_SUM "ldr %[s], [%[t], #8]\n\t"
#define PLACED_BIAS
#define PLACED_RESIDUAL
#define PLACED_AFTER "str %[p], [%[t], #32]\n\t"
#define FINISH(R, W, RUN)                                                                          \
    "ldr %[p], [%[t]]\n\tcbz %[p], 4f\n\t" RUN##_SUM E_##R(SUM_##W)                                \
    "4: ldr %[p], [%[t], #24]\n\tcbz %[p], 5f\n\t" RUN##_BIAS LOAD_##W E_##R(ADD_##W)              \
    "5: ldr %[p], [%[t], #32]\n\tcbz %[p], 6f\n\t" RUN##_RESIDUAL "ldr %[s], [%[t], #40]\n\t"      \
    E_##R(SUM_##W) RUN##_AFTER                                                                     \
    "6: ldr %[s], [%[t], #48]\n\tcbz %[s], 8f\n\tadd %[p], %[t], #60\n\t"                          \
    "ld1r {v5.4s}, [%[p]]\n\ttbz %[s], #0, 7f\n\t" E_##R(RELU_##W)                                 \
    "tbz %[s], #1, 8f\n\t" E_##R(MIN_##W) "b 8f\n\t"                                               \
    "7: add %[p], %[t], #56\n\tld1r {v4.4s}, [%[p]]\n\t" E_##R(CLIP_##W)                           \
    "8:\n\t" E_##R(STORE_##W)

static tile_run run_of(const tile_job *t)
{
    return (tile_run){.sum = t->sum,
                      .sum_ld = t->sum_ld * sizeof(float),
                      .sum_step = t->sum_step * sizeof(float),
                      .bias = t->bias,
                      .residual = t->residual,
                      .residual_ld = t->residual_stride * sizeof(float),
                      .act = t->act,
                      .lo = t->lo,
                      .hi = t->hi,
                      .a = t->a,
                      .ahead = t->ahead,
                      .ahead_share = t->ahead_share * sizeof(float),
                      .c_step = t->c_step * sizeof(float),
                      .count = t->count};
}

#define CLOBBERS                                                                                   \
    "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", \
    "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27",     \
    "v28", "v29", "v30", "v31", "cc", "memory"

/* 0: a tile; then A begins again and B moves on, or the reverse. */
#define PACKED_RUN(R, W, T, ASK)                                                                   \
    "0:\n\tmov %[p], %[c]\n\t" E_##R(TOUCH_##W) E_##R(ZERO_##W)                                    \
    "ldp %[a], %[f], [%[t], #64]\n\tldp %[p], %[s], [%[t], #80]\n\tadd %[p], %[a], %[p]\n\t"       \
    "add %[s], %[f], %[s]\n\tstp %[p], %[s], [%[t], #64]\n\tmov %[groups], %[fours]\n\t"           \
    PACKED(R, W, T, ASK) FINISH(R, W, PACKED)                                                      \
    "ldp %[p], %[s], [%[t], #96]\n\tadd %[b], %[b], %[p]\n\tadd %[c], %[c], %[s]\n\t"              \
    "ldr %[s], [%[t], #112]\n\tsubs %[s], %[s], #1\n\tstr %[s], [%[t], #112]\n\tbgt 0b\n\t"
#define PACKED_TILE(name, R, W, T, ASK)                                                            \
    static void name##_##R##_##W(const tile_job *t)                                                \
    {                                                                                              \
        const float *a, *f, *b = t->b;                                                             \
        float *c = t->c;                                                                           \
        const size_t fours = t->k ? (t->k - 1) / 4 : 0, rest = t->k - 4 * fours;                   \
        const size_t ldc = t->ldc * sizeof *c;                                                     \
        size_t groups, p, s;                                                                       \
        tile_run run = run_of(t);                                                                  \
        run.b_step = rest * W * 16 - (t->is_below ? t->k * W * 16 : 0);                            \
        run.a_step = t->is_below ? strip_elems(R, t->k) * sizeof *c : 0;                           \
        run.bias_step = t->is_below ? 0 : W * 16;                                                  \
        run.residual_step = t->is_below ? R * run.residual_ld : W * 16;                            \
        run.c_step -= R * ldc;                                                                     \
        __asm__ volatile(PACKED_RUN(R, W, T, ASK)                                                  \
            : [a] "=&r"(a), [f] "=&r"(f), [b] "+r"(b), [c] "+r"(c), [groups] "=&r"(groups),        \
              [p] "=&r"(p), [s] "=&r"(s)                                                           \
            : [rest] "r"(rest), [fours] "r"(fours), [fs] "r"(t->ahead_step), [ldc] "r"(ldc),       \
              [t] "r"(&run)                                                                        \
            : CLOBBERS);                                                                           \
    }

/* The same with A in place: B begins again, A and C move on. */
#define PLACED_RUN(R, W)                                                                           \
    "0:\n\tmov %[p], %[c]\n\t" E_##R(TOUCH_##W) E_##R(ZERO_##W)                                    \
    "mov %[o], %[from]\n\tmov %[b], %[b0]\n\tmov %[groups], %[fours]\n\t" PLACED(R, W)            \
    FINISH(R, W, PLACED) "add %[from], %[from], %[down]\n\t"                                       \
    "subs %[count], %[count], #1\n\tbgt 0b\n\t"
#define PLACED_TILE(R, W)                                                                          \
    static void placed_##R##_##W(const tile_job *t)                                                \
    {                                                                                              \
        const float *a[8], *b;                                                                     \
        float *c = t->c;                                                                           \
        const size_t fours = (t->k - 1) / 4, ldc = t->ldc * sizeof *c;                             \
        size_t o, groups, p, s, from = 0, count = t->count;                                        \
        tile_run run = run_of(t);                                                                  \
        for (size_t i = 0; i < 8; i++)                                                             \
            a[i] = t->a + (i < R ? i : 0) * t->a_row;                                              \
        __asm__ volatile(PLACED_RUN(R, W)                                                          \
            : [o] "=&r"(o), [b] "=&r"(b), [c] "+r"(c), [groups] "=&r"(groups), [p] "=&r"(p),       \
              [s] "=&r"(s), [from] "+r"(from), [count] "+r"(count)                                 \
            : [a0] "r"(a[0]), [a1] "r"(a[1]), [a2] "r"(a[2]), [a3] "r"(a[3]), [a4] "r"(a[4]),      \
              [a5] "r"(a[5]), [a6] "r"(a[6]), [a7] "r"(a[7]), [b0] "r"(t->b), [fours] "r"(fours),  \
              [down] "r"(R * t->a_row * sizeof *c), [ldc] "r"(ldc), [t] "r"(&run)                  \
            : CLOBBERS);                                                                           \
    }
/* clang-format on */

_Static_assert(TAKT_GEMM_ACT_RELU == 1 && TAKT_GEMM_ACT_CLIP == 2 && TAKT_GEMM_ACT_RELU_MIN == 3,
               "the assembly tests bits 0 and 1");

/* Side by side, tiles prefetch B of the next block, into L2; one below the other, the next panel,
 * into L1. Where B comes from far away, for a single strip or the first of a block, they prefetch
 * all of it, 3.5 KB ahead: for a single strip 2 KB are too few, with 4 or 6 KB it is slower than
 * without, and so is one line in three. */
#define BESIDE_0 "prfm pldl2keep, [%[f]]\n\t"
#define BESIDE_1 "add %[f], %[f], %[fs]\n\t"
#define BELOW_0 "prfm pldl1keep, [%[f]]\n\t"
#define BELOW_1 BESIDE_1
#define ALONE_0 "prfm pldl2keep, [%[b], #3584]\n\tprfm pldl2keep, [%[b], #3648]\n\t"
#define ALONE_1 "prfm pldl2keep, [%[b], #3712]\n\t"
#define PACKED_TILES(R, T)                                                                         \
    PACKED_TILE(beside, R, 3, T, BESIDE)                                                           \
    PACKED_TILE(beside, R, 2, T, BESIDE)                                                           \
    PACKED_TILE(below, R, 3, T, BELOW)                                                             \
    PACKED_TILE(below, R, 2, T, BELOW)                                                             \
    PACKED_TILE(alone, R, 3, T, ALONE)                                                             \
    PACKED_TILE(alone, R, 2, T, ALONE)

PACKED_TILES(2, LOW)
PACKED_TILES(3, LOW)
PACKED_TILES(4, LOW)
PACKED_TILES(5, TALL)
PACKED_TILES(6, TALL)
PACKED_TILES(7, SEVEN)
PACKED_TILES(8, TALL)
PLACED_TILE(2, 3)
PLACED_TILE(2, 2)
PLACED_TILE(3, 3)
PLACED_TILE(3, 2)
PLACED_TILE(4, 3)
PLACED_TILE(4, 2)
PLACED_TILE(5, 3)
PLACED_TILE(5, 2)
PLACED_TILE(6, 3)
PLACED_TILE(6, 2)
PLACED_TILE(7, 3)
PLACED_TILE(7, 2)
PLACED_TILE(8, 2)

static void tile(size_t rows, size_t cols, const tile_job *t)
{
    typedef void tile_fn(const tile_job *);
    static tile_fn *const beside[2][7] = {
        {beside_2_2, beside_3_2, beside_4_2, beside_5_2, beside_6_2, beside_7_2, beside_8_2},
        {beside_2_3, beside_3_3, beside_4_3, beside_5_3, beside_6_3, beside_7_3, beside_8_3}};
    static tile_fn *const below[2][7] = {
        {below_2_2, below_3_2, below_4_2, below_5_2, below_6_2, below_7_2, below_8_2},
        {below_2_3, below_3_3, below_4_3, below_5_3, below_6_3, below_7_3, below_8_3}};
    static tile_fn *const alone[2][7] = {
        {alone_2_2, alone_3_2, alone_4_2, alone_5_2, alone_6_2, alone_7_2, alone_8_2},
        {alone_2_3, alone_3_3, alone_4_3, alone_5_3, alone_6_3, alone_7_3, alone_8_3}};
    static tile_fn *const placed[2][7] = {
        {placed_2_2, placed_3_2, placed_4_2, placed_5_2, placed_6_2, placed_7_2, placed_8_2},
        {placed_2_3, placed_3_3, placed_4_3, placed_5_3, placed_6_3, placed_7_3, NULL}};
    (t->a_row > 0  ? placed
     : t->is_below ? below
     : t->is_far   ? alone
                   : beside)[cols == WIDE][rows - 2](t);
}
