/* block_panels.c - checks the conversion of blocks to packed floats against the scalar one, for all
 * panels of the product kernels. */
#include "kernel/block_panels/block_panels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_blocks.h"

enum { C = BLOCKS_SLOTS, WANT };

static void one(takt_check *c, const takt_kernel *reference, check_blocks_shape s, size_t first,
                unsigned bits)
{
    static const takt_panels panels[] = {{12, 8}, {16, 16}, {32, 16}, {16, 8}, {7, 5}};
    const int where = (int)(bits % CHECK_PLACES);
    const unsigned manner = bits % BLOCKS_MANNERS;
    const size_t left = s.k > first ? s.k - first : 0;
    takt_block_panels g = {.first = first,
                           .k = left < TAKT_GEMM_CHUNK ? left : TAKT_GEMM_CHUNK,
                           .panels = panels[bits % 5]};
    check_case(c, "n=%zu k=%zu from %zu, block %zu of %u bits, panels of %zu, manner %#x place %d",
               s.n, s.k, first, s.block, s.bits, g.panels.wide, manner, where);
    g.b = check_blocks(c, s, manner);
    const size_t count = takt_panels_columns(g.panels, s.n) * g.k;
    g.dst = check_place(c, WANT, count * 4, CHECK_AT_END);
    const float *want = g.dst;
    takt_kernel_as_block_panels(reference)(&g);
    g.dst = check_place(c, C, count * 4, where);
    memset(g.dst, 0x5a, count * 4);
    CHECK_CALL(c, takt_kernel_as_block_panels(c->kernel)(&g));
    check_same_f32(c, g.dst, want, count);
    check_intact(c, C);
}

static void bench(takt_check *c, unsigned bits, float scale)
{
    enum { N = 192, K = 256, BLOCK = 32 };
    const size_t words = N / 16 * takt_blocks_words(bits, K) * 4, scales = N * K / BLOCK * 4;
    const size_t all = words + scales + N * K * 4;
    char *memory = aligned_alloc(64, all), what[64];
    takt_block_panels g = {.k = K, .panels = {12, 8}};
    g.b = (takt_blocks){.n = N, .k = K, .block = BLOCK, .bits = bits, .level = 8};
    if (memory) {
        snprintf(what, sizeof what, "%d columns, %d rows of %u bits, scale %g", N, K, bits,
                 (double)scale);
        check_fill_bytes(c, memory, words);
        check_blocks_usual((float *)(void *)(memory + words), scales / 4, scale);
        g.b.words = (const uint32_t *)(const void *)memory;
        g.b.scale = memory + words;
        g.dst = (float *)(void *)(memory + words + scales);
        CHECK_BENCH(c, what, (double)all, 2.0 * N * K, takt_kernel_as_block_panels(c->kernel)(&g));
    }
    free(memory);
}

void check_block_panels(takt_check *c, const takt_kernel *reference)
{
    static const size_t ns[] = {1, 5, 12, 15, 16, 17, 24, 33, 48, 65, 100};
    static const size_t ks[] = {1, 15, 16, 17, 48, 100, 256, 290, 530};
    static const size_t blocks[] = {16, 32, 48, 64, 512};
    for (unsigned i = 0; i < 11 * 9 * 15; i++) {
        const check_blocks_shape s = {ns[i % 11], ks[i / 11 % 9], blocks[i % 5], 2U << i / 2 % 3};
        one(c, reference, s, i % 2 * TAKT_GEMM_CHUNK, i * 7);
    }
    for (size_t i = 0, count = check_timed(c, 6, 1); i < count; i++)
        bench(c, 2U << i % 3, i < 3 ? 0.01F : 0.1F);
}
