/* block_i8.c - checks products with rows rounded to bytes against the scalar one: tails, zero
 * points, extremes, blocks that do not fit, and more of them than one chunk has. */
#include "kernel/block_i8/block_i8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_blocks.h"

enum { A = BLOCKS_SLOTS, BIAS, C, WANT, SCRATCH, ROUNDED };

/* Rows rounded beforehand, in parts, and the columns in two calls that both read them. */
static void by_parts(takt_check *c, const takt_block_i8 *whole, const takt_block_i8_info *info)
{
    enum { PARTS = 3 };
    takt_block_i8 g = *whole;
    const size_t bytes = info->rounded_bytes(&g), left = g.b.n / 2 / TAKT_BLOCKS_PANEL;
    char *rounded = check_scratch(c, ROUNDED, bytes);
    for (size_t i = 0; i < PARTS; i++)
        CHECK_CALL(c, info->round(&g, i, PARTS, rounded));
    g.rounded = rounded;
    const size_t own = info->scratch_bytes(&g), columns = left * TAKT_BLOCKS_PANEL;
    g.scratch = check_scratch(c, SCRATCH, own);
    for (size_t i = 0, first; i < 2; i++) {
        first = i == 0 ? 0 : columns;
        g.b = takt_blocks_cut(&whole->b, first, i == 0 ? columns : whole->b.n - columns);
        g.bias = whole->bias ? whole->bias + first : NULL;
        g.c = whole->c + first;
        CHECK_CALL(c, takt_kernel_as_block_i8(c->kernel)(&g));
    }
}

static void one(takt_check *c, const takt_kernel *reference, size_t m, check_blocks_shape s,
                unsigned bits)
{
    const int where = (int)(bits % CHECK_PLACES), values = (int)(bits / 7 % CHECK_VALUES);
    const unsigned manner = bits % BLOCKS_MANNERS & ~(unsigned)BLOCKS_FLOATS;
    check_case(c, "m=%zu n=%zu k=%zu block %zu of %u bits, manner %#x values %d place %d", m, s.n,
               s.k, s.block, s.bits, manner, values, where);
    takt_block_i8 g = {.m = m, .a_row = s.k + bits % 3, .ldc = s.n + bits % 2};
    g.b = check_blocks(c, s, manner);
    const size_t a_count = m && s.k ? (m - 1) * g.a_row + s.k : 0;
    const size_t c_count = m && s.n ? (m - 1) * g.ldc + s.n : 0;
    float *a = check_place(c, A, a_count * 4, where);
    float *bias = check_place(c, BIAS, s.n * 4, CHECK_AT_END);
    check_fill_f32(c, a, a_count, bits & 64 ? values : CHECK_PLAIN);
    check_fill_f32(c, bias, s.n, CHECK_PLAIN);
    g.a = a;
    g.bias = bits & 32 ? bias : NULL;
    float *want = check_place(c, WANT, c_count * 4, CHECK_AT_END);
    memset(want, 0x5a, c_count * 4);
    g.c = want;
    g.scratch =
        check_scratch(c, SCRATCH, ((const takt_block_i8_info *)reference->info)->scratch_bytes(&g));
    takt_kernel_as_block_i8(reference)(&g);
    float *got = check_place(c, C, c_count * 4, where);
    memset(got, 0x5a, c_count * 4);
    g.c = got;
    const takt_block_i8_info *info = c->kernel->info ? c->kernel->info : reference->info;
    g.scratch = check_scratch(c, SCRATCH, info->scratch_bytes(&g));
    CHECK_CALL(c, takt_kernel_as_block_i8(c->kernel)(&g));
    check_same_f32(c, got, want, c_count);
    check_intact(c, C);
    check_intact(c, SCRATCH);
    if (info->round != NULL && g.b.n > 0) {
        memset(got, 0x5a, c_count * 4);
        by_parts(c, &g, info);
        check_same_f32(c, got, want, c_count);
        check_intact(c, C);
        check_intact(c, ROUNDED);
    }
}

static void bench(takt_check *c, size_t m, unsigned bits, size_t block)
{
    const size_t n = c->kernel->rank > 0 ? 4096 : 256, k = n;
    const takt_block_i8_info *info = c->kernel->info;
    const size_t words = n / 16 * takt_blocks_words(bits, k) * 4, scales = n * k / block * 4;
    takt_block_i8 g = {.m = m, .a_row = k, .ldc = n};
    g.b = (takt_blocks){.n = n, .k = k, .block = block, .bits = bits, .level = 8};
    const size_t all = words + scales + m * (n + k) * 4;
    char *memory = aligned_alloc(64, all);
    g.scratch = aligned_alloc(64, (info->scratch_bytes(&g) + 63) / 64 * 64);
    if (memory && g.scratch) {
        char what[64];
        snprintf(what, sizeof what, "%zux%zux%zu, %u bits, blocks of %zu", m, n, k, bits, block);
        check_fill_bytes(c, memory, words);
        check_fill_f32(c, (float *)(void *)(memory + words), all / 4 - words / 4, CHECK_PLAIN);
        g.b.words = (const uint32_t *)(const void *)memory;
        g.b.scale = memory + words;
        g.a = (const float *)(const void *)(memory + words + scales);
        g.c = (float *)(void *)(memory + words + scales + m * k * 4);
        CHECK_BENCH(c, what, (double)all, 2.0 * (double)(m * n * k),
                    takt_kernel_as_block_i8(c->kernel)(&g));
    }
    free(memory);
    free(g.scratch);
}

void check_block_i8(takt_check *c, const takt_kernel *reference)
{
    static const size_t ms[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17};
    static const size_t ns[] = {0, 1, 7, 15, 16, 17, 33, 48, 64, 65, 130};
    static const size_t ks[] = {0, 1, 3, 15, 16, 17, 31, 48, 64, 100, 130, 272};
    static const size_t blocks[] = {16, 32, 48, 64, 128, 256};
    enum { MS = sizeof ms / sizeof *ms, NS = sizeof ns / sizeof *ns, KS = sizeof ks / sizeof *ks };
    for (unsigned i = 0; i < MS * NS * KS; i++) {
        const size_t m = ms[i % MS];
        const check_blocks_shape s = {ns[i / MS % NS], ks[i / MS / NS], blocks[i % 6],
                                      2U << (i / 5 % 3)};
        if (m * s.n * s.k < 60000)
            one(c, reference, m, s, i * 13 % 256);
    }
    for (unsigned bits = 0; bits < 256; bits++) {
        one(c, reference, 1, (check_blocks_shape){70, 77, 32, 2U << bits % 3}, bits);
        one(c, reference, 5, (check_blocks_shape){21, 77, 16, 2U << bits % 3}, bits);
    }
    for (unsigned bits = 0; bits < 64; bits += 7) { /* more blocks than a chunk; sums of 31 bits */
        one(c, reference, 1 + bits % 3, (check_blocks_shape){17, 4500, 16, 2U << bits % 3}, bits);
        one(c, reference, 3, (check_blocks_shape){5, 4500, 65536, 2U << bits % 3}, bits);
        one(c, reference, 2, (check_blocks_shape){3, 66000, 65536, 8}, bits | BLOCKS_EXTREME);
    }
    one(c, reference, 140, (check_blocks_shape){3, 4100, 32, 4}, 3);
    for (unsigned bits = 0; bits < 36; bits += 5) { /* strips of rows, pieces of odd blocks */
        one(c, reference, 33, (check_blocks_shape){19, 1500, 80, 2U << bits % 3}, bits);
        one(c, reference, 18, (check_blocks_shape){3, 2300, 1024 + bits % 2 * 16, 4}, bits);
    }
    static const size_t rows[] = {1, 8, 32, 128};
    for (size_t i = 0, count = check_timed(c, 4, 1); i < count; i++) {
        bench(c, rows[i], 4, 32);
        bench(c, rows[i], 4, 128);
        bench(c, rows[i], 8, 32);
    }
}
