/* bits_u64.c - checks matrices of bits against the scalar ones: products, packing, every tail. */
#include "kernel/bits_u64/bits_u64.h"

#include <string.h>

#include "check.h"

enum { A, B, RESULT, WANT };

check_fn check_bits_u64;

/* Some words are full, some empty, so that rows are dense, sparse and absent. */
static void fill(takt_check *c, uint64_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t kind = check_below(c, 4);
        p[i] = kind == 0 ? 0 : kind == 1 ? UINT64_MAX : check_random(c);
        p[i] &= kind == 3 ? check_random(c) & check_random(c) : UINT64_MAX;
    }
}

static void product(takt_check *c, const takt_kernel *reference, size_t n, int round)
{
    const int where = round % CHECK_PLACES;
    takt_bits_u64 p = {
        .job = TAKT_BITS_PRODUCT, .m = check_below(c, 6), .n = n, .k = check_below(c, 150)};
    const size_t words = p.m * takt_bits_words(p.k), out = p.m * p.n;
    check_case(c, "product m=%zu words=%zu k=%zu", p.m, p.n, p.k);
    uint64_t *a = check_place(c, A, words * sizeof *a, where);
    uint64_t *b = check_place(c, B, p.k * p.n * sizeof *b, where);
    fill(c, a, words);
    fill(c, b, p.k * p.n);
    p.a = a;
    p.b = b;
    uint64_t *want = check_place(c, WANT, out * sizeof *want, CHECK_AT_END);
    p.c = want;
    takt_kernel_as_bits_u64(reference)(&p);
    p.c = check_place(c, RESULT, out * sizeof *p.c, where);
    CHECK_CALL(c, takt_kernel_as_bits_u64(c->kernel)(&p));
    check_same_bytes(c, p.c, want, out * sizeof *want);
    for (int slot = A; slot <= RESULT; slot++)
        check_intact(c, slot);
}

static void pack(takt_check *c, const takt_kernel *reference, size_t n, int round)
{
    const int where = round % CHECK_PLACES;
    const size_t words = takt_bits_words(n);
    takt_bits_u64 p = {.job = TAKT_BITS_PACK, .k = n};
    check_case(c, "pack and unpack %zu", n);
    uint8_t *x = check_place(c, A, n, where);
    for (size_t i = 0; i < n; i++)
        x[i] = check_below(c, 3) == 0 ? (uint8_t)(1 + i % 255) : 0; /* any but 0 is true */
    p.x = x;
    uint64_t *want = check_place(c, WANT, words * sizeof *want, CHECK_AT_END);
    p.c = want;
    takt_kernel_as_bits_u64(reference)(&p);
    uint64_t *got = check_place(c, B, words * sizeof *got, where);
    p.c = got;
    CHECK_CALL(c, takt_kernel_as_bits_u64(c->kernel)(&p));
    check_same_bytes(c, got, want, words * sizeof *want);
    p = (takt_bits_u64){.job = TAKT_BITS_UNPACK, .k = n, .a = got};
    p.y = check_place(c, RESULT, n, where);
    CHECK_CALL(c, takt_kernel_as_bits_u64(c->kernel)(&p));
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] != 0;
    check_same_bytes(c, p.y, x, n);
    for (int slot = A; slot <= RESULT; slot++)
        check_intact(c, slot);
}

static void bench(takt_check *c)
{
    enum { SIDE = 1024 };
    const size_t words = takt_bits_words(SIDE), count = SIDE * words;
    uint64_t *a = check_place(c, A, count * sizeof *a, CHECK_AT_START);
    uint64_t *b = check_place(c, B, count * sizeof *b, CHECK_AT_START);
    fill(c, a, count);
    fill(c, b, count);
    const takt_bits_u64 p = {.job = TAKT_BITS_PRODUCT,
                             .m = SIDE,
                             .n = words,
                             .k = SIDE,
                             .a = a,
                             .b = b,
                             .c = check_place(c, RESULT, count * sizeof *p.c, CHECK_AT_START)};
    for (size_t i = 0; i < check_timed(c, 1, 1); i++)
        CHECK_BENCH(c, "or-and of 1024^3 bits", 3.0 * (double)(count * sizeof *a), 0,
                    takt_kernel_as_bits_u64(c->kernel)(&p));
}

void check_bits_u64(takt_check *c, const takt_kernel *reference)
{
    for (int round = 0; round < 400; round++) {
        product(c, reference, (size_t)round % 70, round);
        pack(c, reference, (size_t)round % (2 * CHECK_TAILS), round);
    }
    bench(c);
}
