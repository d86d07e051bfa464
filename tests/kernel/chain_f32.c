/* chain_f32.c - checks passes of several operations against the operations one by one. */
#include "kernel/chain_f32/chain_f32.h"

#include <string.h>

#include "check.h"
#include "kernel/isa.h"
#include "kernel/simd/half.h"

enum { X, MASK, WITH, OTHER, TO, LAST, WANT };

check_fn check_chain_f32;

static bool rounds(takt_map_op op)
{
    return (int)op == TAKT_CHAIN_F16;
}

/* An operation that a link can compute; a predicate only where it is the last one. */
static takt_map_op draw_op(takt_check *c, bool is_last)
{
    for (;;) {
        const takt_map_op op = (takt_map_op)check_below(c, TAKT_CHAIN_F16 + 1);
        if (takt_chain_has(op) && (is_last || !takt_map_is_predicate(op)))
            return op;
    }
}

/* Some links store their value: the first one in place of x, a later one separately. */
static takt_chain_f32 draw(takt_check *c, size_t n, int where, int values)
{
    takt_chain_f32 chain = {.n = n, .count = 1 + check_below(c, TAKT_CHAIN_MOST)};
    float *x = check_place(c, X, n * sizeof *x, where);
    float *with = check_place(c, WITH, (n + 2) * sizeof *with, where);
    float *other = check_place(c, OTHER, (n + 1) * sizeof *other, where);
    uint8_t *mask = check_place(c, MASK, n, where);
    check_fill_f32(c, x, n, values);
    check_fill_f32(c, with, n + 2, values);
    check_fill_f32(c, other, n + 1, values);
    for (size_t i = 0; i < n; i++)
        mask[i] = (uint8_t)(check_below(c, 2) * 3);
    other[0] = check_below(c, 2) ? 0x1p-3f : other[0]; /* quotients by it are products */
    chain.x = check_below(c, 8) > 0 ? x : with;
    chain.is_scalar = chain.x == with;
    for (size_t k = 0; k < chain.count; k++) {
        takt_chain_link *l = &chain.link[k];
        l->op = draw_op(c, k + 1 == chain.count);
        const bool picks = l->op == TAKT_MAP_SELECT;
        const int operands = rounds(l->op) ? 1 : takt_map_operands(l->op);
        l->at = (unsigned char)((picks ? 1 : 0) + (operands > 1 ? check_below(c, 2) : 0));
        l->is_scalar = operands > 1 && check_below(c, 3) == 0;
        l->with = operands < 2 ? NULL : check_below(c, 2) ? with + 1 : other;
        l->mask = picks ? mask : NULL;
    }
    return chain;
}

static void round_all(float *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] = half_from_f16(half_to_f16(v[i]));
}

/* One link by the operation alone. */
static void step(const takt_kernel *map, const takt_chain_link *l, float *v, void *to, size_t n)
{
    const bool picks = l->op == TAKT_MAP_SELECT;
    const void *src[3] = {v, l->with, NULL};
    unsigned char one[3] = {0, l->is_scalar, 0};
    if (picks || l->at == 1) {
        src[picks] = l->at == 1 + picks ? (const void *)l->with : v;
        one[picks] = l->at == 1 + picks && l->is_scalar;
        src[1 + picks] = l->at == 1 + picks ? v : (const void *)l->with;
        one[1 + picks] = l->at != 1 + picks && l->is_scalar;
    }
    if (picks) {
        src[0] = l->mask;
        one[0] = 0;
    }
    takt_map_find(map, l->op)(to, src, one, n, NULL);
}

static void expect(const takt_kernel *map, const takt_chain_f32 *chain, float *v, uint8_t *bytes)
{
    for (size_t i = 0; i < chain->n; i++)
        v[i] = chain->x[chain->is_scalar ? 0 : i];
    for (size_t k = 0; k < chain->count; k++) {
        const takt_chain_link *l = &chain->link[k];
        if (rounds(l->op)) {
            round_all(v, chain->n);
            continue;
        }
        step(map, l, v, takt_map_is_predicate(l->op) ? (void *)bytes : v, chain->n);
    }
}

static void one(takt_check *c, const takt_kernel *map, size_t n, int where, int values)
{
    takt_chain_f32 chain = draw(c, n, where, values);
    takt_chain_link *last = &chain.link[chain.count - 1];
    const bool tests = takt_map_is_predicate(last->op);
    check_case(c, "n=%zu place %d values %d links %zu last %s", n, where, values, chain.count,
               rounds(last->op) ? "round" : takt_map_name(last->op));
    float *want = check_place(c, WANT, n * sizeof *want, CHECK_AT_END);
    uint8_t *bytes = check_place(c, LAST, n, where);
    float *kept = check_place(c, TO, n * sizeof *kept, where);
    uint8_t truth[2048];
    expect(map, &chain, want, truth);
    /* a value between two links is stored over x, which nothing reads afterwards */
    if (chain.count > 1 && !chain.is_scalar)
        chain.link[0].to = (void *)(uintptr_t)chain.x;
    last->to = tests ? (void *)bytes : kept;
    CHECK_CALL(c, takt_kernel_as_chain_f32(c->kernel)(&chain));
    if (tests)
        check_same_bytes(c, bytes, truth, n);
    else
        check_same_f32(c, kept, want, n);
    for (int slot = X; slot <= WANT; slot++)
        check_intact(c, slot);
}

/* Batch normalisation in training, as a program of element-wise operations. */
static void bench(takt_check *c)
{
    enum { N = 1024 };
    takt_chain_f32 chain = draw(c, N, CHECK_AT_START, CHECK_PLAIN);
    const takt_map_op ops[] = {TAKT_MAP_SUB, TAKT_MAP_MUL, TAKT_MAP_MUL, TAKT_MAP_ADD,
                               TAKT_MAP_RELU};
    chain.count = sizeof ops / sizeof *ops;
    const float *with = (const float *)check_place(c, WITH, N * sizeof *with, CHECK_AT_START);
    for (size_t k = 0; k < chain.count; k++)
        chain.link[k] = (takt_chain_link){.op = ops[k], .with = with};
    chain.link[chain.count - 1].to = check_place(c, TO, N * sizeof(float), CHECK_AT_START);
    CHECK_BENCH(c, "sub, mul, mul, add, relu of 1024", 8.0 * N, 5.0 * N,
                takt_kernel_as_chain_f32(c->kernel)(&chain));
}

void check_chain_f32(takt_check *c, const takt_kernel *reference)
{
    (void)reference;
    const takt_kernel *map =
        takt_kernel_find("map_f32", UINT32_C(1) << TAKT_ISA_scalar, NULL, 0, NULL);
    for (size_t n = 0; n <= 2 * CHECK_TAILS; n++)
        for (int i = 0; i < 12; i++)
            one(c, map, n, (int)(n % CHECK_PLACES), (int)check_below(c, CHECK_VALUES));
    for (int i = 0; i < 64; i++)
        one(c, map, 1000 + check_below(c, 40), CHECK_AT_END, (int)check_below(c, CHECK_VALUES));
    if (c->bench)
        bench(c);
}
