/* gemm_i8_i8mm.c - tiles of 6 x 16 by smmla: two rows by two columns by eight k each.
 *
 * B is p16x8: a vector holds two columns. Packed A holds two rows in a vector. usmmla takes
 * unsigned A as it is. v0-v2 are A, v4-v7 pass B through, v8-v31 sum. Products of few columns are
 * made in direct_i8mm.inc, one row in row_i8mm.inc.
 */
#include "kernel/gemm_i8/gemm_i8.h"

#include <arm_neon.h>

#include "kernel/gemm_i8/finish_neon.inc"
#include "kernel/gemm_i8/requant.inc"

enum { GROUP = 8, PANELS = 1, MR = 6, A_BYTES = 384 << 10, A_SIZE = 1 };
enum { PIECE = 16, ROW_PAD = 2, ROW_AHEAD = 1024 };

#define FINISHES_BYTES
#include "kernel/gemm_i8/blocked.inc"
#include "kernel/gemm_i8/finish_block.inc"
#include "kernel/gemm_i8/load_part.inc"

#include "kernel/gemm_i8/direct_i8mm.inc"
#include "kernel/gemm_i8/row_i8mm.inc"

static int32_t flip(const takt_gemm_i8 *g)
{
    (void)g;
    return 0;
}

static size_t packed_bytes(size_t rows, size_t k)
{
    return round_up(rows, 2) * round_up(k, PIECE);
}

/* To [k / 8][rows / 2][2][8]; an odd last row is paired with itself. */
static void pack_tile(const takt_gemm_i8 *g, const strip *s, size_t k, char *to)
{
    const size_t pairs = (s->rows + 1) / 2;
    for (size_t r = 0; r < pairs; r++) {
        const uint8_t *a = s->at[2 * r], *b = s->at[2 * r + 1 < s->rows ? 2 * r + 1 : 2 * r];
        uint8_t *out = (uint8_t *)to + 16 * r;
        for (size_t i = 0; i < k; i += 16, out += 32 * pairs) {
            /* Bytes behind a row are multiplied by zeros of B; behind a tap comes more of the
             * image. */
            const size_t left = g->a_open || g->image != NULL ? 16 : k - i;
            const uint64x2_t x = vreinterpretq_u64_u8(load_part(a + i, left, i + s->before));
            const uint64x2_t y = vreinterpretq_u64_u8(load_part(b + i, left, i + s->before));
            vst1q_u8(out, vreinterpretq_u8_u64(vzip1q_u64(x, y)));
            vst1q_u8(out + 16 * pairs, vreinterpretq_u8_u64(vzip2q_u64(x, y)));
        }
    }
}

#define MM(op, acc, a, b) op " v" #acc ".4s, v" #a ".16b, v" #b ".16b\n\t"
#define PAIR_1(op, b, x, y, z) MM(op, x, 0, b)
#define PAIR_2(op, b, x, y, z) PAIR_1(op, b, x, y, z) MM(op, y, 1, b)
#define PAIR_3(op, b, x, y, z) PAIR_2(op, b, x, y, z) MM(op, z, 2, b)
#define LOAD_B(r, off) "ldr q" #r ", [%[b], #" #off "]\n\t"

/* Eight columns, each vector of B replaced by the one four further on as soon as it is used. */
#define HALF_1(R, op)                                                                              \
    PAIR_##R(op, 4, 8, 16, 24) LOAD_B(4, 64) PAIR_##R(op, 5, 9, 17, 25) LOAD_B(5, 80)              \
        PAIR_##R(op, 6, 10, 18, 26) LOAD_B(6, 96) PAIR_##R(op, 7, 11, 19, 27) LOAD_B(7, 112)
/* Both lines of a step that comes later. */
#define PREFETCH_2 "prfm pldl1keep, [%[b], %[near]]\n\tprfm pldl2keep, [%[b], %[far]]\n\t"
#define PREFETCH_1 "prfm pldl1keep, [%[b], %[near]]\n\tprfm pldl1keep, [%[b], %[far]]\n\t"
#define PREFETCH_3 PREFETCH_2
#define STEP(R, op)                                                                                \
    HALF_1(R, op)                                                                                  \
    PAIR_##R(op, 4, 12, 20, 28) LOAD_B(4, 128) PAIR_##R(op, 5, 13, 21, 29) LOAD_B(5, 144)          \
        PAIR_##R(op, 6, 14, 22, 30) LOAD_B(6, 160) PAIR_##R(op, 7, 15, 23, 31) LOAD_B(7, 176)      \
            PREFETCH_##R "add %[b], %[b], #128\n\t"
#define LAST(R, op)                                                                                \
    HALF_1(R, op)                                                                                  \
    PAIR_##R(op, 4, 12, 20, 28) PAIR_##R(op, 5, 13, 21, 29) PAIR_##R(op, 6, 14, 22, 30)            \
        PAIR_##R(op, 7, 15, 23, 31)

#define LOAD_A_1 "ldr q0, [%[a]], #16\n\t"
#define LOAD_A_2 "ldp q0, q1, [%[a]], #32\n\t"
#define LOAD_A_3 "ldp q0, q1, [%[a]], #32\n\tldr q2, [%[a]], #16\n\t"

#define PAIRS_1(M) M(8, 9, 10, 11, 12, 13, 14, 15)
#define PAIRS_2(M) PAIRS_1(M) M(16, 17, 18, 19, 20, 21, 22, 23)
#define PAIRS_3(M) PAIRS_2(M) M(24, 25, 26, 27, 28, 29, 30, 31)
#define Z(x) "movi v" #x ".2d, #0\n\t"
#define ZERO(a, b, c, d, e, f, g, h) Z(a) Z(b) Z(c) Z(d) Z(e) Z(f) Z(g) Z(h)

/* From 2 x 2 blocks to two rows: even in v0 v2 v4 v6, odd in v1 v3 v5 v7. */
#define ZIP(e, o, x, y)                                                                            \
    "zip1 v" #e ".2d, v" #x ".2d, v" #y ".2d\n\tzip2 v" #o ".2d, v" #x ".2d, v" #y ".2d\n\t"
#define AD(x, y) "add v" #x ".4s, v" #x ".4s, v" #y ".4s\n\t"
/* clang-format off */
#define SUM_ROW(off, w, x, y, z, a, b, c, d)                                                       \
    "ldp q" #a ", q" #b ", [%[c], #" #off "]\n\t"                                                  \
    "ldp q" #c ", q" #d ", [%[c], #" #off " + 32]\n\t" AD(w, a) AD(x, b) AD(y, c) AD(z, d)
/* The odd row of the last pair may not exist: then %[rows] runs out. */
#define STORE(a, b, c, d, e, f, g, h)                                                              \
    ZIP(0, 1, a, b) ZIP(2, 3, c, d) ZIP(4, 5, e, f) ZIP(6, 7, g, h)                                \
    "cbz %[add], 4f\n\t" SUM_ROW(0, 0, 2, 4, 6, a, b, c, d)                                        \
    "4: stp q0, q2, [%[c]]\n\tstp q4, q6, [%[c], #32]\n\t"                                         \
    "cmp %[rows], #1\n\tbeq 6f\n\tcbz %[add], 5f\n\t" SUM_ROW(64, 1, 3, 5, 7, a, b, c, d)          \
    "5: stp q1, q3, [%[c], #64]\n\tstp q5, q7, [%[c], #96]\n\t"                                    \
    "6: add %[c], %[c], #128\n\tsub %[rows], %[rows], #2\n\t"

#define TILE_FUNCTION(R, name, op)                                                                 \
    static void name##R(const tile_job *t, size_t rows)                                            \
    {                                                                                              \
        const void *a = t->a, *b = t->b;                                                           \
        int32_t *c = t->c;                                                                         \
        size_t steps = t->k;                                                                       \
        __asm__ volatile(PAIRS_##R(ZERO)                                                           \
            "cbz %[steps], 3f\n\tldp q4, q5, [%[b]]\n\tldp q6, q7, [%[b], #32]\n\t"                \
            "subs %[steps], %[steps], #1\n\tbeq 2f\n"                                              \
            "1:\n\t" LOAD_A_##R STEP(R, op) "subs %[steps], %[steps], #1\n\tbne 1b\n"              \
            "2:\n\t" LOAD_A_##R LAST(R, op)                                                        \
            "3:\n\t" PAIRS_##R(STORE)                                                              \
            : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [steps] "+r"(steps), [rows] "+r"(rows)        \
            : [add] "r"(t->sum), [far] "r"(t->far), [near] "r"(t->near)                            \
            : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",     \
              "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",  \
              "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");                    \
    }

/* clang-format on */

TILE_FUNCTION(1, signed_, "smmla")
TILE_FUNCTION(2, signed_, "smmla")
TILE_FUNCTION(3, signed_, "smmla")
TILE_FUNCTION(1, unsigned_, "usmmla")
TILE_FUNCTION(2, unsigned_, "usmmla")
TILE_FUNCTION(3, unsigned_, "usmmla")

typedef void tile_fn(const tile_job *t, size_t rows);

static void tile(size_t rows, size_t panels, const tile_job *t)
{
    static tile_fn *const by_pairs[2][3] = {{signed_1, signed_2, signed_3},
                                            {unsigned_1, unsigned_2, unsigned_3}};
    (void)panels;
    by_pairs[t->a_unsigned][(rows + 1) / 2 - 1](t, rows);
}

/* Sixteen sums of 2 x 2 for two panels, of which a single row uses half. */
static inline __attribute__((always_inline)) void row_fixed(const takt_gemm_i8 *g, const int8_t *b,
                                                            size_t b_step, size_t steps,
                                                            int32_t *sums, const size_t count)
{
    const bool a_unsigned = g->a_unsigned;
    int32x4_t s[2][8];
    for (size_t i = 0; i < count; i++)
        for (int j = 0; j < 8; j++)
            s[i][j] = vdupq_n_s32(0);
    for (size_t p = 0; p < steps; p++) {
        const int8x16_t x = vld1q_s8((const int8_t *)g->scratch + 16 * p);
        for (size_t i = 0; i < count; i++) {
            __builtin_prefetch(b + i * b_step + p * 128 + ROW_AHEAD);
            __builtin_prefetch(b + i * b_step + p * 128 + ROW_AHEAD + 64);
        }
        for (size_t i = 0; i < count; i++)
            for (int j = 0; j < 8; j++) {
                const int8x16_t y = vld1q_s8(b + i * b_step + p * 128 + 16 * j);
                s[i][j] = a_unsigned ? vusmmlaq_s32(s[i][j], vreinterpretq_u8_s8(x), y)
                                     : vmmlaq_s32(s[i][j], x, y);
            }
    }
    /* Whole vectors, loaded as such. */
    for (size_t i = 0; i < count; i++)
        for (int j = 0; j < 8; j += 2)
            vst1q_s32(sums + 16 * i + 2 * j, direct_even(s[i][j], s[i][j + 1]));
}

static void row_panels(const takt_gemm_i8 *g, const int8_t *b, size_t b_step, size_t steps,
                       int32_t *sums, size_t count)
{
    for (; count >= 2; count -= 2, b += 2 * b_step, sums += 32)
        row_fixed(g, b, b_step, steps, sums, 2);
    if (count)
        row_fixed(g, b, b_step, steps, sums, 1);
}

static void run_i8mm(const takt_gemm_i8 *g)
{
    if (direct_fits(g))
        direct_run(g);
    else if (row_fits(g))
        row_run(g);
    else
        run(g);
}

static const takt_gemm_i8_info info = {
    .rows = MR,
    .columns = NR,
    .group = GROUP,
    .scratch_bytes = scratch_bytes,
    .image = GROUP,
    .few_image = GROUP,
};

TAKT_KERNELS(gemm_i8, TAKT_KERNEL(gemm_i8, "i8mm_6x16", 30, run_i8mm, &info));
