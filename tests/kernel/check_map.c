/* check_map.c - one check for all element-wise families.
 *
 * Every operation, every tail; operands vary over values, places, single values and in-place use.
 */
#include "check_map.h"

#include <string.h>

enum { ROUNDS = 4, LONG = 3001, OPERANDS = 3, WANT = 7 };

static const size_t sizes[] = {4, 8, 4, 8, 1};

static void fill_ints(takt_check *c, void *p, size_t n, size_t size)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = check_random(c);
        const uint64_t edge[] = {0, 1, UINT64_MAX, UINT64_C(1) << (8 * size - 1),
                                 (UINT64_C(1) << (8 * size - 1)) - 1};
        uint64_t x = r;
        if (r % 4 == 0)
            x = edge[(r >> 8) % 5];
        else if (r % 4 < 3) /* divisors, exponents and shift counts worth having */
            x = (r >> 8) % 140 - 70;
        const uint32_t low = (uint32_t)x;
        memcpy((char *)p + i * size, size == 4 ? (const void *)&low : (const void *)&x, size);
    }
}

static void fill(takt_check *c, void *p, size_t n, map_type type, int values)
{
    switch (type) {
    case MAP_F32: check_fill_f32(c, p, n, values); break;
    case MAP_F64: check_fill_f64(c, p, n, values); break;
    case MAP_BOOL:
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)p)[i] = check_random(c) & 1;
        break;
    default: fill_ints(c, p, n, sizes[type]);
    }
}

static void compare(takt_check *c, takt_map_op op, map_type type, const void *want, size_t n)
{
    const void *got = c->placed[0].p;
    if (takt_map_is_predicate(op))
        check_same_bytes(c, got, want, n);
    else if (type == MAP_F32)
        check_same_f32(c, got, want, n);
    else if (type == MAP_F64)
        check_same_f64(c, got, want, n);
    else
        check_same_bytes(c, got, want, n * sizes[type]);
}

typedef struct setting {
    takt_map_op op;
    map_type type;
    size_t n;
    int round;
} setting;

static bool is_mask(const setting *s, int operand)
{
    return s->op == TAKT_MAP_SELECT && operand == 0;
}

/* Slots 1..3: operands; 0: the result; 7: the expected result. In every other round an operand of
 * the result's size is overwritten: the result's slot then starts as its copy. */
static void check_once(takt_check *c, const takt_kernel *reference, const setting *s)
{
    const int operands = takt_map_operands(s->op);
    const void *src[OPERANDS] = {NULL, NULL, NULL};
    unsigned char one[OPERANDS] = {0, 0, 0};
    int overwritten = 0;
    const size_t size = takt_map_is_predicate(s->op) ? 1 : sizes[s->type];
    for (int k = 0; k < operands; k++) {
        one[k] = check_below(c, 4) == 0;
        const size_t count = one[k] ? 1 : s->n, each = is_mask(s, k) ? 1 : sizes[s->type];
        void *p = check_place(c, 1 + k, count * each, (s->round + k) % CHECK_PLACES);
        fill(c, p, count, is_mask(s, k) ? MAP_BOOL : s->type, (int)check_below(c, CHECK_VALUES));
        src[k] = p;
        if (!one[k] && each == size && s->round % 2 == 1)
            overwritten = 1 + k;
    }
    check_case(c, "%s n=%zu single %d%d%d round %d%s", takt_map_name(s->op), s->n, one[0], one[1],
               one[2], s->round, overwritten ? " in place" : "");
    takt_fault fault = {7, TAKT_FAULT_NONE, 0}, want_fault = fault;
    void *want = check_place(c, WANT, s->n * size, CHECK_AT_END);
    takt_map_find(reference, s->op)(want, src, one, s->n, &want_fault);
    unsigned char *got = check_place(c, 0, s->n * size, s->round % CHECK_PLACES);
    memset(got, 0x5a, s->n * size);
    if (overwritten) {
        memcpy(got, src[overwritten - 1], s->n * size);
        src[overwritten - 1] = got;
    }
    takt_map_fn *run =
        (takt_map_fn *)check_guard(c, (takt_kernel_fn *)takt_map_find(c->kernel, s->op));
    CHECK_CALL(c, run(got, src, one, s->n, &fault));
    compare(c, s->op, s->type, want, s->n);
    for (int k = 0; k <= operands; k++)
        check_intact(c, k);
    if (fault.index != want_fault.index || fault.value != want_fault.value)
        check_fail(c, "fault at %llu, should be at %llu", (unsigned long long)fault.index,
                   (unsigned long long)want_fault.index);
}

static void bench(takt_check *c, const setting *s)
{
    const void *src[OPERANDS];
    const int operands = takt_map_operands(s->op);
    const size_t n = 16384;
    for (int k = 0; k < operands; k++) {
        void *p = check_place(c, 1 + k, n * sizes[s->type], CHECK_AT_START);
        fill(c, p, n, is_mask(s, k) ? MAP_BOOL : s->type, CHECK_PLAIN);
        src[k] = p;
    }
    void *dst = check_place(c, 0, n * sizes[s->type], CHECK_AT_START);
    takt_map_fn *run = takt_map_find(c->kernel, s->op);
    takt_fault fault = {0, TAKT_FAULT_NONE, 0};
    const unsigned char none[OPERANDS] = {0, 0, 0};
    const double bytes = (double)(n * sizes[s->type]) * (operands + 1);
    CHECK_BENCH(c, takt_map_name(s->op), bytes, 0, run(dst, src, none, n, &fault));
}

void check_map(takt_check *c, const takt_kernel *reference, map_type type)
{
    for (int op = 0; op < TAKT_MAP_OP_COUNT; op++) {
        setting s = {(takt_map_op)op, type, 0, 0};
        check_case(c, "%s", takt_map_name(s.op));
        if (!takt_map_find(c->kernel, s.op) != !takt_map_find(reference, s.op))
            check_fail(c, "only one of variant and reference has it");
        if (!takt_map_find(c->kernel, s.op) || !takt_map_find(reference, s.op))
            continue;
        for (s.n = 0; s.n <= CHECK_TAILS; s.n++)
            for (s.round = 0; s.round < ROUNDS; s.round++)
                check_once(c, reference, &s);
        s.n = LONG;
        for (s.round = 0; s.round < CHECK_PLACES; s.round++)
            check_once(c, reference, &s);
    }
    for (int op = 0; c->bench && op < TAKT_MAP_OP_COUNT; op++)
        if (takt_map_find(c->kernel, (takt_map_op)op))
            bench(c, &(setting){(takt_map_op)op, type, 0, 0});
}
