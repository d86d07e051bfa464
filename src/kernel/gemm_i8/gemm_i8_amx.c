/* gemm_i8_amx.c - tiles of 32 x 32 in AMX: four sums of 16 x 16, 64 values of k a step.
 *
 * p16x4 is the layout that the matrix unit wants for B. The process must have been allowed to use
 * the tile registers, which detecting the ISA does.
 */
#include "kernel/gemm_i8/gemm_i8.h"

#include <immintrin.h>

#include "kernel/gemm_i8/requant.h"

enum { GROUP = 4, PANELS = 2, MR = 32, A_BYTES = 512 << 10, A_SIZE = 1 };
enum { PIECE = 64, ROW_PAD = 16 };

#include "kernel/gemm_i8/blocked.h"

static int32_t flip(const takt_gemm_i8 *g)
{
    (void)g;
    return 0;
}

static size_t packed_bytes(size_t rows, size_t k)
{
    return round_up(rows, ROW_PAD) * round_up(k, PIECE);
}

/* To [rows][k], padded both ways: zeros add nothing. */
static void pack_tile(const takt_gemm_i8 *g, size_t row, size_t rows, size_t p, size_t k, char *to)
{
    const size_t step = round_up(k, PIECE);
    for (size_t r = 0; r < round_up(rows, ROW_PAD); r++, to += step) {
        const size_t count = r < rows ? k : 0;
        memcpy(to, (const char *)g->a + (row + (count ? r : 0)) * g->a_row + p, count);
        memset(to + count, 0, step - count);
    }
}

typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t column_bytes[16];
    uint8_t rows[16];
} tile_config;

static const tile_config all_whole = {
    .palette = 1,
    .column_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
    .rows = {16, 16, 16, 16, 16, 16, 16, 16},
};

/* Macros, since the intrinsics paste these numbers into register names. */
#define SUM_00 0
#define SUM_01 1
#define SUM_10 2
#define SUM_11 3
#define A_0 4
#define A_1 5
#define B_0 6
#define B_1 7

/* gcc's intrinsics do not say that tile loads read memory. */
#define WRITTEN(p) __asm__ volatile("" : : "r"(p) : "memory")

/* One step: 64 values of k. Sums of rows or panels that do not exist are left alone. */
#define STEP(dp)                                                                                   \
    do {                                                                                           \
        _tile_loadd(A_0, a, stride);                                                               \
        _tile_loadd(B_0, b, 64);                                                                   \
        dp(SUM_00, A_0, B_0);                                                                      \
        if (two_panels) {                                                                          \
            _tile_loadd(B_1, b_next, 64);                                                          \
            dp(SUM_01, A_0, B_1);                                                                  \
        }                                                                                          \
        if (two_rows) {                                                                            \
            _tile_loadd(A_1, a + 16 * stride, stride);                                             \
            dp(SUM_10, A_1, B_0);                                                                  \
            if (two_panels)                                                                        \
                dp(SUM_11, A_1, B_1);                                                              \
        }                                                                                          \
    } while (0)

/* Whole tiles of 16 rows of B: where they lie, and their number. */
typedef struct part {
    const char *a;
    size_t stride;
    const int8_t *b;
    size_t b_panel, steps;
    bool a_unsigned;
} part;

static inline __attribute__((always_inline)) void product(const part *o, const bool two_rows,
                                                          const bool two_panels)
{
    const char *a = o->a;
    const size_t stride = o->stride;
    const int8_t *b = o->b, *b_next = o->b + o->b_panel;
    for (size_t i = 0; i < o->steps; i++, a += 64, b += 1024, b_next += 1024)
        if (o->a_unsigned)
            STEP(_tile_dpbusd);
        else
            STEP(_tile_dpbssd);
}

/* The k that fill no tile: B is completed with zeros. */
static inline __attribute__((always_inline)) void tile_fixed(const tile_job *t, const bool two_rows,
                                                             const bool two_panels)
{
    const size_t whole = t->k / 16, rest = t->k % 16, stride = round_up(t->k * GROUP, PIECE);
    _tile_zero(SUM_00);
    _tile_zero(SUM_01);
    _tile_zero(SUM_10);
    _tile_zero(SUM_11);
    part o = {t->a, stride, t->b, t->b_panel, whole, t->a_unsigned};
    product(&o, two_rows, two_panels);
    if (rest) {
        int8_t last[2][1024] = {{0}};
        memcpy(last[0], t->b + whole * 1024, rest * 64);
        if (two_panels)
            memcpy(last[1], t->b + t->b_panel + whole * 1024, rest * 64);
        WRITTEN(last);
        o = (part){t->a + whole * 64, stride, last[0], sizeof last[0], 1, t->a_unsigned};
        product(&o, two_rows, two_panels);
    }
}

static void tile(size_t rows, size_t panels, const tile_job *t)
{
    int32_t sums[MR][NR];
    WRITTEN(t->a);
    _tile_loadconfig(&all_whole);
    if (rows > 16 && panels == 2)
        tile_fixed(t, true, true);
    else if (rows > 16)
        tile_fixed(t, true, false);
    else if (panels == 2)
        tile_fixed(t, false, true);
    else
        tile_fixed(t, false, false);
    _tile_stored(SUM_00, sums[0], sizeof sums[0]);
    _tile_stored(SUM_01, sums[0] + 16, sizeof sums[0]);
    _tile_stored(SUM_10, sums[16], sizeof sums[0]);
    _tile_stored(SUM_11, sums[16] + 16, sizeof sums[0]);
    _tile_release();
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < 16 * panels; j++) {
            const uint32_t before = t->sum ? (uint32_t)t->sum[r * t->sum_ld + j] : 0;
            t->c[r * t->ldc + j] = (int32_t)((uint32_t)sums[r][j] + before);
        }
}

static void row_panels(const takt_gemm_i8 *g, const int8_t *b, size_t b_step, size_t steps,
                       int32_t *sums, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tile_job t = {.a = g->scratch,
                      .b = b + i * b_step,
                      .c = sums + 16 * i,
                      .ldc = 16,
                      .sum_ld = 16,
                      .a_unsigned = g->a_unsigned};
        size_t p = 0;
        do {
            t.k = least(steps - p, CHUNK);
            tile(1, 1, &t);
            t.sum = t.c;
            t.a += packed_bytes(1, (size_t)CHUNK * GROUP);
            t.b += (size_t)CHUNK * LINE;
            p += CHUNK;
        } while (p < steps);
    }
}

static const takt_gemm_i8_info info = {MR, NR, GROUP, scratch_bytes};

TAKT_KERNELS(gemm_i8, TAKT_KERNEL(gemm_i8, "amx_32x32", 50, run, &info));
