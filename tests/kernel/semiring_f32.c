/* semiring_f32.c - checks products over semirings, and their gradients, against the scalar ones. */
#include "kernel/semiring_f32/semiring_f32.h"

#include <string.h>

#include "check.h"

enum { A, B, BT, DY, RESULT, SCRATCH, WANT };

check_fn check_semiring_f32;

/* Truth values, with many that are 0, 1 or equal to each other; or arbitrary numbers. */
static void fill(takt_check *c, float *p, size_t n, int values)
{
    check_fill_f32(c, p, n, values);
    for (size_t i = 0; values == CHECK_PLAIN && i < n; i++)
        p[i] = (float)check_below(c, 9) / 8;
}

/* The right-hand side in the layout of a gradient. */
static size_t right_floats(const takt_semiring_f32 *p)
{
    const size_t blocks = (p->n + TAKT_SEMIRING_BLOCK - 1) / TAKT_SEMIRING_BLOCK;
    return p->k * (p->semiring == TAKT_NOISY_OR ? blocks * TAKT_SEMIRING_BLOCK : p->n);
}

static void transpose(const takt_semiring_f32 *p, float *to)
{
    enum { BLOCK = TAKT_SEMIRING_BLOCK };
    for (size_t k = 0; k < p->k && p->semiring == TAKT_NOISY_OR; k++)
        for (size_t j = 0; j < p->n; j++)
            to[j / BLOCK * p->k * BLOCK + k * BLOCK + j % BLOCK] = p->b[k * p->n + j];
    for (size_t k = 0; k < p->k && p->semiring != TAKT_NOISY_OR; k++)
        for (size_t j = 0; j < p->n; j++)
            to[j * p->k + k] = p->b[k * p->n + j];
}

static void one(takt_check *c, const takt_kernel *reference, takt_semiring_f32 p, int round)
{
    const int where = round % CHECK_PLACES, values = round % 4 < 3 ? CHECK_PLAIN : CHECK_MIXED;
    const bool is_grad = round % 2 == 1;
    const size_t out = p.m * (is_grad ? p.k : p.n);
    check_case(c, "%s %d m=%zu n=%zu k=%zu", is_grad ? "gradient" : "product", (int)p.semiring, p.m,
               p.n, p.k);
    float *a = check_place(c, A, p.m * p.k * sizeof *a, where);
    float *b = check_place(c, B, p.k * p.n * sizeof *b, where);
    fill(c, a, p.m * p.k, values);
    fill(c, b, p.k * p.n, values);
    p.a = a;
    p.b = b;
    float *want = check_place(c, WANT, out * sizeof *want, CHECK_AT_END);
    float *got = check_place(c, RESULT, out * sizeof *got, where);
    if (is_grad) {
        float *bt = check_place(c, BT, right_floats(&p) * sizeof *bt, where);
        float *dy = check_place(c, DY, p.m * p.n * sizeof *dy, where);
        transpose(&p, bt);
        check_fill_f32(c, dy, p.m * p.n, CHECK_PLAIN);
        p.bt = bt;
        p.dy = dy;
        const size_t room = takt_semiring_f32_room(p.semiring, p.n, p.k);
        p.scratch = check_scratch(c, SCRATCH, room * sizeof *p.scratch);
    }
    *(is_grad ? &p.da : &p.c) = want;
    takt_kernel_as_semiring_f32(reference)(&p);
    *(is_grad ? &p.da : &p.c) = got;
    memset(got, 0x5a, out * sizeof *got);
    CHECK_CALL(c, takt_kernel_as_semiring_f32(c->kernel)(&p));
    check_same_f32(c, got, want, out);
    check_intact(c, A);
    check_intact(c, B);
    check_intact(c, RESULT);
    if (is_grad) {
        check_intact(c, BT);
        check_intact(c, DY);
        check_intact(c, SCRATCH);
    }
}

static void bench(takt_check *c)
{
    enum { SIDE = 256 };
    static const struct {
        const char *name;
        takt_semiring semiring;
        bool is_grad;
    } rows[] = {{"max_min 256^3", TAKT_MAX_MIN, false},
                {"noisy_or 256^3", TAKT_NOISY_OR, false},
                {"noisy_or gradient 256^3", TAKT_NOISY_OR, true}};
    const size_t bytes = (size_t)SIDE * SIDE * sizeof(float);
    float *a = check_place(c, A, bytes, CHECK_AT_START);
    float *b = check_place(c, B, bytes, CHECK_AT_START);
    float *y = check_place(c, RESULT, bytes, CHECK_AT_START);
    fill(c, a, (size_t)SIDE * SIDE, CHECK_PLAIN);
    fill(c, b, (size_t)SIDE * SIDE, CHECK_PLAIN);
    const size_t room = takt_semiring_f32_room(TAKT_NOISY_OR, SIDE, SIDE);
    float *scratch = check_scratch(c, SCRATCH, room * sizeof *scratch);
    for (size_t i = 0; i < check_timed(c, 3, 1); i++) {
        const takt_semiring_f32 p = {.semiring = rows[i].semiring,
                                     .m = SIDE,
                                     .n = SIDE,
                                     .k = SIDE,
                                     .a = a,
                                     .b = b,
                                     .c = rows[i].is_grad ? NULL : y,
                                     .bt = b,
                                     .dy = a,
                                     .da = y,
                                     .scratch = scratch};
        CHECK_BENCH(c, rows[i].name, 0, 2.0 * SIDE * SIDE * SIDE,
                    takt_kernel_as_semiring_f32(c->kernel)(&p));
    }
}

void check_semiring_f32(takt_check *c, const takt_kernel *reference)
{
    int round = 0;
    for (int s = 0; s < TAKT_SEMIRING_COUNT; s++)
        for (size_t n = 1; n <= 50; n++)
            for (int g = 0; g < 4; g++, round++) {
                const takt_semiring_f32 p = {.semiring = (takt_semiring)s,
                                             .m = 1 + check_below(c, round % 3 == 0 ? 24 : 9),
                                             .n = g < 2 ? n : 1 + check_below(c, 40),
                                             .k = g < 2 ? check_below(c, 20) : n};
                one(c, reference, p, round);
            }
    for (int i = 0; i < 24; i++) { /* enough rows that max_min skips terms, k in several lists */
        const takt_semiring_f32 p = {.semiring = TAKT_MAX_MIN,
                                     .m = 16 + check_below(c, 40),
                                     .n = 1 + check_below(c, 90),
                                     .k = 1 + check_below(c, i % 3 == 0 ? 1200 : 90)};
        one(c, reference, p, 2 * i);
    }
    for (int i = 0; i < 12; i++) { /* products of this many truth values leave the range of f32 */
        const takt_semiring_f32 p = {.semiring = TAKT_NOISY_OR,
                                     .m = 1 + check_below(c, 24),
                                     .n = 1 + check_below(c, 20),
                                     .k = 150 + check_below(c, 300)};
        one(c, reference, p, 4 * i + 1);
    }
    bench(c);
}
