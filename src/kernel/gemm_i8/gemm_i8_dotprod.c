/* gemm_i8_dotprod.c - tiles of 6 x 16 by sdot: the f32 tile with four bytes in place of a float.
 *
 * sdot multiplies signed by signed bytes: unsigned A is moved down by 128, and the sums of B's
 * columns compensate for that.
 */
#include "kernel/gemm_i8/gemm_i8.h"

#include <arm_neon.h>

#include "kernel/gemm_i8/finish_neon.inc"
#include "kernel/gemm_i8/requant.inc"

enum { GROUP = 4, PANELS = 1, MR = 6, A_BYTES = 384 << 10, A_SIZE = 1 };
enum { PIECE = 16, ROW_PAD = 1, QUAD = 4 };

#define FINISHES_BYTES
#include "kernel/gemm_i8/blocked.inc"
#include "kernel/gemm_i8/finish_block.inc"
#include "kernel/gemm_i8/load_part.inc"

static int32_t flip(const takt_gemm_i8 *g)
{
    return g->a_unsigned ? -128 : 0;
}

static size_t packed_bytes(size_t rows, size_t k)
{
    return rows * round_up(k, PIECE);
}

/* To [k / 16][rows][16]. */
static void pack_tile(const takt_gemm_i8 *g, const strip *s, size_t k, char *to)
{
    const uint8x16_t top = vdupq_n_u8(g->a_unsigned ? 0x80 : 0);
    for (size_t r = 0; r < s->rows; r++)
        for (size_t i = 0; i < k; i += 16)
            vst1q_u8((uint8_t *)to + i * s->rows + 16 * r,
                     veorq_u8(load_part(s->at[r] + i, k - i, s->before + i), top));
}

#define elem int32_t
#define FM(acc, b, a, l) "sdot v" #acc ".4s, v" #b ".16b, v" #a ".4b[" #l "]\n\t"
#define ADD_(x, y) "add v" #x ".4s, v" #x ".4s, v" #y ".4s\n\t"
#define FINISH(R)
#define FINISH_IN

#include "kernel/gemm_i8/neon_tile.inc"

#undef elem

static inline __attribute__((always_inline)) void dot_row(int32x4_t *s, const int8_t *b,
                                                          int8x16_t a, const int lane)
{
    for (int j = 0; j < 4; j++) {
        const int8x16_t row = vld1q_s8(b + 16 * j);
        s[j] = lane == 0   ? vdotq_laneq_s32(s[j], row, a, 0)
               : lane == 1 ? vdotq_laneq_s32(s[j], row, a, 1)
               : lane == 2 ? vdotq_laneq_s32(s[j], row, a, 2)
                           : vdotq_laneq_s32(s[j], row, a, 3);
    }
}

static inline __attribute__((always_inline)) void row_fixed(const char *a, const int8_t *b,
                                                            size_t b_step, size_t steps,
                                                            int32_t *sums, const size_t count)
{
    int32x4_t s[4][4];
    for (size_t i = 0; i < count; i++)
        for (int j = 0; j < 4; j++)
            s[i][j] = vdupq_n_s32(0);
    size_t p = 0;
    for (; p + 4 <= steps; p += 4) {
        const int8x16_t x = vld1q_s8((const int8_t *)a + 4 * p);
        for (size_t i = 0; i < count; i++) {
            dot_row(s[i], b + i * b_step + p * 64, x, 0);
            dot_row(s[i], b + i * b_step + p * 64 + 64, x, 1);
            dot_row(s[i], b + i * b_step + p * 64 + 128, x, 2);
            dot_row(s[i], b + i * b_step + p * 64 + 192, x, 3);
        }
    }
    for (; p < steps; p++) {
        int8x16_t x = vdupq_n_s8(0);
        memcpy(&x, a + 4 * p, 4);
        for (size_t i = 0; i < count; i++)
            dot_row(s[i], b + i * b_step + p * 64, x, 0);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < 4; j++)
            vst1q_s32(sums + 16 * i + 4 * j, s[i][j]);
}

static void row_panels(const takt_gemm_i8 *g, const int8_t *b, size_t b_step, size_t steps,
                       int32_t *sums, size_t count)
{
    if (count == 4)
        row_fixed(g->scratch, b, b_step, steps, sums, 4);
    else
        row_fixed(g->scratch, b, b_step, steps, sums, 1);
}

static const takt_gemm_i8_info info = {
    .rows = MR,
    .columns = NR,
    .group = GROUP,
    .scratch_bytes = scratch_bytes,
    .image = PIECE,
    .few_image = PIECE,
};

TAKT_KERNELS(gemm_i8, TAKT_KERNEL(gemm_i8, "dotprod_6x16", 20, run, &info));
