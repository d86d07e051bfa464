/* block_f32.c - checks products of floats with block-quantised weights against the scalar one, and
 * that against the product of the same weights as floats. */
#include "kernel/block_f32/block_f32.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_blocks.h"

enum { A = BLOCKS_SLOTS, BIAS, C, WANT };

static void one(takt_check *c, const takt_kernel *reference, size_t m, check_blocks_shape s,
                unsigned bits)
{
    const int where = (int)(bits % CHECK_PLACES), values = (int)(bits / 7 % CHECK_VALUES);
    const unsigned manner = bits % BLOCKS_MANNERS;
    check_case(c, "m=%zu n=%zu k=%zu block %zu of %u bits, manner %#x values %d place %d", m, s.n,
               s.k, s.block, s.bits, manner, values, where);
    takt_block_f32 g = {.m = m, .a_row = s.k + bits % 3, .ldc = s.n + bits % 2};
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
    takt_kernel_as_block_f32(reference)(&g);
    float *got = check_place(c, C, c_count * 4, where);
    memset(got, 0x5a, c_count * 4);
    g.c = got;
    CHECK_CALL(c, takt_kernel_as_block_f32(c->kernel)(&g));
    check_same_f32(c, got, want, c_count);
    check_intact(c, C);
}

static void bench(takt_check *c, size_t m, unsigned bits, float scale)
{
    const size_t n = c->kernel->rank > 0 ? 4096 : 256, k = n, block = 32;
    const size_t words = n / 16 * takt_blocks_words(bits, k) * 4, scales = n * k / block * 4;
    takt_block_f32 g = {.m = m, .a_row = k, .ldc = n};
    g.b = (takt_blocks){.n = n, .k = k, .block = block, .bits = bits, .level = 8};
    const size_t all = words + scales + m * (n + k) * 4;
    char *memory = aligned_alloc(64, all);
    if (memory) {
        char what[64];
        snprintf(what, sizeof what, "%zux%zux%zu, %u bits, scale %g", m, n, k, bits, (double)scale);
        check_fill_bytes(c, memory, words);
        check_fill_f32(c, (float *)(void *)(memory + words), all / 4 - words / 4, CHECK_PLAIN);
        check_blocks_usual((float *)(void *)(memory + words), scales / 4, scale);
        g.b.words = (const uint32_t *)(const void *)memory;
        g.b.scale = memory + words;
        g.a = (const float *)(const void *)(memory + words + scales);
        g.c = (float *)(void *)(memory + words + scales + m * k * 4);
        CHECK_BENCH(c, what, (double)all, 2.0 * (double)(m * n * k),
                    takt_kernel_as_block_f32(c->kernel)(&g));
    }
    free(memory);
}

void check_block_f32(takt_check *c, const takt_kernel *reference)
{
    static const size_t ms[] = {0, 1, 2, 3, 4, 5, 9};
    static const size_t ns[] = {0, 1, 7, 15, 16, 17, 33, 48, 65, 130};
    static const size_t ks[] = {0, 1, 3, 15, 16, 17, 31, 48, 64, 100, 130, 255, 256, 257, 300, 530};
    static const size_t blocks[] = {16, 32, 48, 64, 128, 256, 512};
    enum { MS = sizeof ms / sizeof *ms, NS = sizeof ns / sizeof *ns, KS = sizeof ks / sizeof *ks };
    for (unsigned i = 0; i < MS * NS * KS; i++) {
        const size_t m = ms[i % MS];
        const check_blocks_shape s = {ns[i / MS % NS], ks[i / MS / NS], blocks[i / 3 % 7],
                                      2U << (i / 5 % 3)};
        if (m * s.n * s.k < 60000)
            one(c, reference, m, s, i * 13 % 256);
    }
    for (unsigned bits = 0; bits < 256; bits++) {
        one(c, reference, 1, (check_blocks_shape){70, 77, 32, 2U << bits % 3}, bits);
        one(c, reference, 5, (check_blocks_shape){21, 287, 16, 2U << bits % 3}, bits);
    }
    for (size_t i = 0, count = check_timed(c, 12, 2); i < count; i++)
        bench(c, i % 2 == 0 ? 1 : 4, 2U << i / 2 % 3, i < 6 ? 0.01F : 0.1F);
}
