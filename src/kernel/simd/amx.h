/* amx.h - the tile registers of AMX as all kernels here use them: four sums of 16 x 16, two tiles
 * of A and two of B, 16 rows of 64 bytes unless steps are shorter.
 *
 * Only for variant files. The process must have been allowed to use the registers, which detecting
 * the ISA does.
 */
#ifndef TAKT_KERNEL_SIMD_AMX_H
#define TAKT_KERNEL_SIMD_AMX_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Macros, since the intrinsics paste these numbers into register names. */
#define SUM_00 0
#define SUM_01 1
#define SUM_10 2
#define SUM_11 3
#define A_0 4
#define A_1 5
#define B_0 6
#define B_1 7

/* gcc's intrinsics do not say that tile loads read memory and tile stores write it. */
#define TILES_WRITTEN(p) __asm__ volatile("" : : "r"(p) : "memory")

typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t column_bytes[16];
    uint8_t rows[16];
} tile_config;

/* For steps of this many groups of k, at most 16: four bytes of a row of A, a row of B. */
static inline void tiles_begin_with(size_t groups)
{
    const uint16_t bytes = (uint16_t)(4 * groups);
    const uint8_t rows = (uint8_t)groups;
    const tile_config config = {
        .palette = 1,
        .column_bytes = {64, 64, 64, 64, bytes, bytes, 64, 64},
        .rows = {16, 16, 16, 16, 16, 16, rows, rows},
    };
    TILES_WRITTEN(&config);
    _tile_loadconfig(&config);
}

static inline void tiles_begin(void)
{
    tiles_begin_with(16);
}

static inline void tiles_end(void)
{
    _tile_release();
}

/* Where the factors of a step lie, and the distance in bytes between lines of a tile. */
typedef struct tile_step {
    const char *a, *a_next, *b, *b_next;
    size_t a_line, b_line;
} tile_step;

/* Sums += A * B by the instruction `dp`: 32 x 32 of them, or 16 where there is no second tile. */
#define TILES_MULTIPLY(dp, o, two_rows, two_panels)                                                \
    do {                                                                                           \
        _tile_loadd(A_0, (o).a, (o).a_line);                                                       \
        _tile_loadd(B_0, (o).b, (o).b_line);                                                       \
        dp(SUM_00, A_0, B_0);                                                                      \
        if (two_panels) {                                                                          \
            _tile_loadd(B_1, (o).b_next, (o).b_line);                                              \
            dp(SUM_01, A_0, B_1);                                                                  \
        }                                                                                          \
        if (two_rows) {                                                                            \
            _tile_loadd(A_1, (o).a_next, (o).a_line);                                              \
            dp(SUM_10, A_1, B_0);                                                                  \
            if (two_panels)                                                                        \
                dp(SUM_11, A_1, B_1);                                                              \
        }                                                                                          \
    } while (0)

/* The same for tiles that are loaded already; those of the next step, if there is one, replace them
 * as soon as they are free. B is streamed: it stays in L1 only until the step after the next one,
 * for which it is prefetched in quarters between the products; a single large prefetch would delay
 * the loads. */
#define TILES_LOAD(o, two_rows, two_panels)                                                        \
    do {                                                                                           \
        _tile_loadd(A_0, (o).a, (o).a_line);                                                       \
        _tile_stream_loadd(B_0, (o).b, (o).b_line);                                                \
        if (two_panels)                                                                            \
            _tile_stream_loadd(B_1, (o).b_next, (o).b_line);                                       \
        if (two_rows)                                                                              \
            _tile_loadd(A_1, (o).a_next, (o).a_line);                                              \
    } while (0)
#define TILES_MULTIPLY_LOADED(dp, has_next, next, two_rows, two_panels)                            \
    do {                                                                                           \
        tiles_ask_quarter(&(next), 0, two_panels);                                                 \
        dp(SUM_00, A_0, B_0);                                                                      \
        tiles_ask_quarter(&(next), 1, two_panels);                                                 \
        if (two_panels)                                                                            \
            dp(SUM_01, A_0, B_1);                                                                  \
        tiles_ask_quarter(&(next), 2, two_panels);                                                 \
        if (has_next)                                                                              \
            _tile_loadd(A_0, (next).a, (next).a_line);                                             \
        if ((two_rows) && (two_panels))                                                            \
            dp(SUM_11, A_1, B_1);                                                                  \
        if ((has_next) && (two_panels))                                                            \
            _tile_stream_loadd(B_1, (next).b_next, (next).b_line);                                 \
        tiles_ask_quarter(&(next), 3, two_panels);                                                 \
        if (two_rows)                                                                              \
            dp(SUM_10, A_1, B_0);                                                                  \
        if ((has_next) && (two_rows))                                                              \
            _tile_loadd(A_1, (next).a_next, (next).a_line);                                        \
        if (has_next)                                                                              \
            _tile_stream_loadd(B_0, (next).b, (next).b_line);                                      \
    } while (0)

/* Prefetches a quarter of what follows the B of step `o`: two panels are line by line one piece, or
 * two pieces. */
static inline __attribute__((always_inline)) void
tiles_ask_quarter(const tile_step *o, const size_t quarter, const bool two_panels)
{
    const bool is_two = two_panels && o->b_line == 64;
    const size_t bytes = 16 * o->b_line, some = is_two ? bytes / 2 : bytes / 4;
    const char *b = is_two && quarter >= 2 ? o->b_next : o->b;
    const uintptr_t from = (uintptr_t)b + bytes + (is_two ? quarter % 2 : quarter) * some;
    for (size_t i = 0; i < some; i += 64)
        _mm_prefetch((const char *)(from + i), _MM_HINT_T0); /* may be behind the end */
}

/* Prefetches the line of memory at `to` for writing. */
static inline __attribute__((always_inline)) void tiles_ask_to_write(void *to)
{
#ifdef __x86_64__
    __asm__ volatile("prefetchw %0"
                     :
                     : "m"(*(const char *)to)); /* every processor with AMX has it */
#else
    __builtin_prefetch(to, 1);
#endif
}

static inline void tiles_clear(void)
{
    _tile_zero(SUM_00);
    _tile_zero(SUM_01);
    _tile_zero(SUM_10);
    _tile_zero(SUM_11);
}

/* Sums of 32 rows, or of 16, whose lines are `line` bytes apart, four bytes each. */
static inline __attribute__((always_inline)) void tiles_store(void *to, size_t line, bool two_rows,
                                                              bool two_panels)
{
    char *first = to, *second = first + 16 * line;
    _tile_stored(SUM_00, first, line);
    if (two_panels)
        _tile_stored(SUM_01, first + 64, line);
    if (two_rows)
        _tile_stored(SUM_10, second, line);
    if (two_rows && two_panels)
        _tile_stored(SUM_11, second + 64, line);
    TILES_WRITTEN(to);
}

static inline void tiles_load(const void *from, size_t line, bool two_rows, bool two_panels)
{
    const char *first = from, *second = first + 16 * line;
    TILES_WRITTEN(from);
    _tile_loadd(SUM_00, first, line);
    if (two_panels)
        _tile_loadd(SUM_01, first + 64, line);
    if (two_rows)
        _tile_loadd(SUM_10, second, line);
    if (two_rows && two_panels)
        _tile_loadd(SUM_11, second + 64, line);
}

/* f(…, two_rows, two_panels) with both known to the compiler. */
#define TILES_CALL(f, two_rows, two_panels, ...)                                                   \
    do {                                                                                           \
        if ((two_rows) && (two_panels))                                                            \
            f(__VA_ARGS__, true, true);                                                            \
        else if (two_rows)                                                                         \
            f(__VA_ARGS__, true, false);                                                           \
        else if (two_panels)                                                                       \
            f(__VA_ARGS__, false, true);                                                           \
        else                                                                                       \
            f(__VA_ARGS__, false, false);                                                          \
    } while (0)

#endif
