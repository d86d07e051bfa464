/* check_blocks.c - random block-quantised weights, packed as a plan packs them. */
#include "check_blocks.h"

#include <math.h>
#include <string.h>

#include "kernel/simd/half.h"

static void fill_scales(takt_check *c, float *x, size_t n, unsigned manner)
{
    check_fill_f32(c, x, n, manner & BLOCKS_ODD ? CHECK_MIXED : CHECK_PLAIN);
}

/* Kernels treat these kinds of scales separately: small and positive, as in models; small with both
 * signs; one in 64 arbitrary; positive but not small, or of any size (with both signs they keep
 * their initial values). */
static void make_usual(takt_check *c, float *x, size_t n)
{
    const unsigned kind = check_random(c) % 8;
    for (size_t i = 0; kind > 1 && i < n; i++) {
        const uint64_t random = check_random(c);
        const float size = kind < 5    ? 0x1p-7F
                           : kind == 7 ? ldexpf(1, (int)(random >> 8 & 127) - 100)
                                       : 1;
        if (kind != 4 || random % 64 != 0)
            x[i] = (kind == 2 ? x[i] : fabsf(x[i])) * size;
    }
}

static void add_scales(takt_check *c, takt_blocks *b, unsigned manner)
{
    const size_t count = takt_blocks_count(b), all = b->n * count;
    const size_t padded = takt_blocks_panels(b->n) * 16 * count;
    const bool is_f16 = (manner & BLOCKS_F16) != 0;
    float *plain = check_place(c, BLOCKS_PLAIN, all * 4 + 4, CHECK_AT_START);
    fill_scales(c, plain, all, manner);
    make_usual(c, plain, all);
    for (size_t i = 0; is_f16 && i < all; i++) {
        const uint16_t h = half_to_f16(plain[i]);
        memcpy((char *)plain + 2 * i, &h, 2);
    }
    void *scale = check_place(c, BLOCKS_SCALE, padded * (is_f16 ? 2 : 4), CHECK_AT_END);
    takt_blocks_pack_floats(&(takt_blocks_job){.n = b->n, .k = count, .src = plain}, is_f16 ? 2 : 4,
                            scale);
    b->scale = scale;
    b->scale_is_f16 = is_f16;
}

static void add_zeros(takt_check *c, takt_blocks *b, unsigned manner)
{
    const size_t count = takt_blocks_count(b), all = b->n * count;
    const size_t padded = takt_blocks_panels(b->n) * 16 * count;
    const bool is_f32 = (manner & BLOCKS_FLOATS) != 0;
    b->level = manner & BLOCKS_EXTREME ? 0 : (uint8_t)(1U << (b->bits - 1));
    if (!(manner & BLOCKS_EXTREME) && check_random(c) % 4 == 0)
        b->level = (uint8_t)(check_random(c) % (1U << b->bits));
    if (!(manner & BLOCKS_ZEROS))
        return;
    void *plain = check_place(c, BLOCKS_PLAIN, all * 4 + 4, CHECK_AT_START);
    void *zero = check_place(c, BLOCKS_ZERO, padded * (is_f32 ? 4 : 1), CHECK_AT_END);
    const takt_blocks_job job = {.n = b->n, .k = count, .bits = b->bits, .src = plain};
    if (is_f32) {
        fill_scales(c, plain, all, manner);
        takt_blocks_pack_floats(&job, 4, zero);
        b->zero_f32 = zero;
        return;
    }
    check_fill_bytes(c, plain, all);
    if (manner & BLOCKS_EXTREME)
        memset(plain, 0, all);
    takt_blocks_pack_levels(&job, zero);
    b->zero = zero;
}

takt_blocks check_blocks(takt_check *c, check_blocks_shape s, unsigned manner)
{
    takt_blocks b = {.n = s.n, .k = s.k, .block = s.block, .bits = s.bits};
    const size_t words = takt_blocks_panels(s.n) * takt_blocks_words(s.bits, takt_blocks_deep(s.k));
    const size_t bytes = (s.n * s.k * s.bits + 7) / 8;
    uint32_t *to = check_place(c, BLOCKS_WORDS, words * sizeof *to, CHECK_AT_END);
    void *plain = check_place(c, BLOCKS_PLAIN, bytes, CHECK_AT_END);
    check_fill_bytes(c, plain, bytes);
    if (manner & BLOCKS_EXTREME)
        memset(plain, 255, bytes);
    const takt_blocks_job job = {.n = s.n,
                                 .k = s.k,
                                 .bits = s.bits,
                                 .is_signed = (manner & BLOCKS_EXTREME) == 0 && s.n % 2 == 1,
                                 .src = plain};
    takt_blocks_pack(&job, to);
    b.words = to;
    add_scales(c, &b, manner);
    add_zeros(c, &b, manner);
    return b;
}

void check_blocks_usual(float *scale, size_t n, float least)
{
    for (size_t i = 0; i < n; i++)
        scale[i] = least * (1 + 0.1F * (float)(i % 7));
}
