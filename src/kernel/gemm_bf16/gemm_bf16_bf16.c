/* gemm_bf16_bf16.c - tiles of 8 x 12 by bfmmla: two rows by two columns by four k each.
 *
 * A vector of B holds two columns, one of packed A two rows. v0-v3 are A, v4-v7 pass B through,
 * v8-v31 sum: four pairs of rows by six, or four, pairs of columns.
 */
#include "kernel/gemm_bf16/gemm_bf16.h"

#include <arm_neon.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float elem;
typedef uint32_t word;
typedef takt_epilogue_f32 epilogue;
enum { WIDE = 12, NARROW = 8, MR = 8, GROUP = 4, PIECE = 4, CHUNK = 1024, A_BYTES = 320 << 10 };
enum { B_BYTES = 0, BY_PANELS = 0 };

#include "kernel/gemm_f32/epilogue.inc"

#include "kernel/gemm_bf16/blocked.inc"

static void begin(void) {}

static void end(void) {}

static size_t strip_elems(size_t rows, size_t k)
{
    return round_up(rows, 2) * round_up(k, GROUP);
}

static bfloat16x4_t four_of(const takt_gemm_f32 *g, const float *a, size_t left)
{
    float part[4] = {0};
    if (g->a_col == 1 && left >= 4)
        return vcvt_bf16_f32(vld1q_f32(a));
    for (size_t q = 0; q < left && q < 4; q++)
        part[q] = a[q * g->a_col];
    return vcvt_bf16_f32(vld1q_f32(part));
}

/* Eight k of two rows. */
static inline void put_eight(const float *x, const float *y, uint16_t *to, size_t step)
{
    const bfloat16x8_t a = vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(vld1q_f32(x)), vld1q_f32(x + 4));
    const bfloat16x8_t b = vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(vld1q_f32(y)), vld1q_f32(y + 4));
    const uint64x2_t c = vreinterpretq_u64_bf16(a), d = vreinterpretq_u64_bf16(b);
    vst1q_u16(to, vreinterpretq_u16_u64(vzip1q_u64(c, d)));
    vst1q_u16(to + step, vreinterpretq_u16_u64(vzip2q_u64(c, d)));
}

/* To [k / 4][rows / 2][2][4]; an odd last row is paired with itself. */
static void pack_strip(const takt_gemm_f32 *g, const float *a, size_t rows, size_t k, uint16_t *to)
{
    const size_t pairs = (rows + 1) / 2, step = 8 * pairs;
    for (size_t r = 0; r < pairs; r++) {
        const float *x = a + 2 * r * g->a_row, *y = 2 * r + 1 < rows ? x + g->a_row : x;
        uint16_t *out = to + 8 * r;
        size_t p = 0;
        for (; g->a_col == 1 && p + 8 <= k; p += 8, out += 2 * step)
            put_eight(x + p, y + p, out, step);
        for (; p < k; p += 4, out += step) {
            const bfloat16x4_t upper = four_of(g, x + p * g->a_col, k - p),
                               lower = four_of(g, y + p * g->a_col, k - p);
            vst1q_u16(out, vreinterpretq_u16_bf16(vcombine_bf16(upper, lower)));
        }
    }
}

static void pack_image(const takt_bf16_image *m, const strip *s, uint16_t *to)
{
    const size_t pairs = (s->rows + 1) / 2, step = 8 * pairs;
    for (size_t r = 0; r < pairs; r++) {
        const size_t row = s->row + 2 * r, next = 2 * r + 1 < s->rows ? row + 1 : row;
        uint16_t *out = to + 8 * r;
        for (size_t p = 0, run; p < s->k; p += run) {
            const uint16_t *x = takt_bf16_image_at(m, row, s->p + p),
                           *y = takt_bf16_image_at(m, next, s->p + p);
            run = least(m->channels - (s->p + p) % m->channels, s->k - p);
            for (size_t q = 0; q < run; q += 8, out += 2 * step) {
                const uint64x2_t a = vreinterpretq_u64_u16(vld1q_u16(x + q)),
                                 b = vreinterpretq_u64_u16(vld1q_u16(y + q));
                vst1q_u16(out, vreinterpretq_u16_u64(vzip1q_u64(a, b)));
                vst1q_u16(out + step, vreinterpretq_u16_u64(vzip2q_u64(a, b)));
            }
        }
    }
}

#include "kernel/gemm_bf16/bfmmla.h"

/* clang-format off */
#define Z(x) "movi v" #x ".2d, #0\n\t"
#define ZERO(a, b, c, d, e, f) Z(a) Z(b) Z(c) Z(d) Z(e) Z(f)

/* From 2 x 2 blocks to two rows: even in v0 v2 v4, odd in v1 v3 v5. */
#define ZIP(e, o, x, y)                                                                            \
    "zip1 v" #e ".2d, v" #x ".2d, v" #y ".2d\n\tzip2 v" #o ".2d, v" #x ".2d, v" #y ".2d\n\t"
#define AD(x, y) "fadd v" #x ".4s, v" #x ".4s, v" #y ".4s\n\t"
#define SUM_6(x, y, z, a, b, c)                                                                    \
    "ldp q" #a ", q" #b ", [%[c]]\n\tldr q" #c ", [%[c], #32]\n\t" AD(x, a) AD(y, b) AD(z, c)
#define SUM_4(x, y, z, a, b, c) "ldp q" #a ", q" #b ", [%[c]]\n\t" AD(x, a) AD(y, b)
#define PUT_6(x, y, z) "stp q" #x ", q" #y ", [%[c]]\n\tstr q" #z ", [%[c], #32]\n\t"
#define PUT_4(x, y, z) "stp q" #x ", q" #y ", [%[c]]\n\t"
#define ZIPS_6(a, b, c, d, e, f) ZIP(0, 1, a, b) ZIP(2, 3, c, d) ZIP(4, 5, e, f)
#define ZIPS_4(a, b, c, d, e, f) ZIP(0, 1, a, b) ZIP(2, 3, c, d)
/* The odd row of the last pair may not exist: then %[rows] runs out. */
#define STORE(W, a, b, c, d, e, f)                                                                 \
    ZIPS_##W(a, b, c, d, e, f)                                                                     \
    "cbz %[add], 4f\n\t" SUM_##W(0, 2, 4, a, b, c)                                                 \
    "4: " PUT_##W(0, 2, 4) "add %[c], %[c], %[ldc]\n\t"                                            \
    "cmp %[rows], #1\n\tbeq 6f\n\tcbz %[add], 5f\n\t" SUM_##W(1, 3, 5, a, b, c)                    \
    "5: " PUT_##W(1, 3, 5) "add %[c], %[c], %[ldc]\n\t"                                            \
    "6: sub %[rows], %[rows], #2\n\t"
#define STORE_6(a, b, c, d, e, f) STORE(6, a, b, c, d, e, f)
#define STORE_4(a, b, c, d, e, f) STORE(4, a, b, c, d, e, f)

#define TILE_FUNCTION(R, W)                                                                        \
    static void tile_##R##_##W(const tile_job *t, size_t rows)                                     \
    {                                                                                              \
        const void *a = t->a, *b = t->b;                                                           \
        float *c = t->c;                                                                           \
        size_t steps = t->steps;                                                                   \
        __asm__ volatile(PAIRS_##R(ZERO)                                                           \
            "cbz %[steps], 3f\n\tldp q4, q5, [%[b]]\n\tldp q6, q7, [%[b], #32]\n\t"                \
            "subs %[steps], %[steps], #1\n\tbeq 2f\n"                                              \
            "1:\n\t" LOAD_A_##R STEP_##W(R) "subs %[steps], %[steps], #1\n\tbne 1b\n"              \
            "2:\n\t" LOAD_A_##R LAST_##W(R)                                                        \
            "3:\n\t" PAIRS_##R(STORE_##W)                                                          \
            : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [steps] "+r"(steps), [rows] "+r"(rows)        \
            : [add] "r"((size_t)t->adds), [ldc] "r"(t->ldc * sizeof *c)                            \
            : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",     \
              "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",  \
              "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");                    \
    }
/* clang-format on */

TILE_FUNCTION(1, 6)
TILE_FUNCTION(2, 6)
TILE_FUNCTION(3, 6)
TILE_FUNCTION(4, 6)
TILE_FUNCTION(1, 4)
TILE_FUNCTION(2, 4)
TILE_FUNCTION(3, 4)
TILE_FUNCTION(4, 4)

static void tile(size_t rows, size_t cols, const tile_job *t)
{
    typedef void tile_fn(const tile_job *t, size_t rows);
    static tile_fn *const by_pairs[2][4] = {{tile_1_4, tile_2_4, tile_3_4, tile_4_4},
                                            {tile_1_6, tile_2_6, tile_3_6, tile_4_6}};
    by_pairs[cols == WIDE][(rows + 1) / 2 - 1](t, rows);
}

#include "kernel/gemm_bf16/neon_row.inc"

static const takt_gemm_bf16_info info = {
    {MR, {WIDE, NARROW}, scratch_bytes, 0, 0}, GROUP, CHUNK, 8, 0, 0};

TAKT_KERNELS(gemm_bf16, TAKT_KERNEL(gemm_bf16, "bf16_8x12", 20, run_any, &info));
