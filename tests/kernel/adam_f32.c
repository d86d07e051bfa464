/* adam_f32.c - checks steps of Adam against those of the scalar kernel. */
#include "kernel/adam_f32/adam_f32.h"

#include <math.h>
#include <string.h>

#include "check.h"

enum { G, M, V, W, MORE, M_NEXT, V_NEXT, W_NEXT, SCALARS, WANT };
enum { OPERANDS = 5, RESULTS = 3 };

check_fn check_adam_f32;

/* Divisors of gradients: the sizes of batches, powers of two and others, and extremes.
 */
static float divisor_of(takt_check *c)
{
    const float some[] = {64, 48, 1, 0x1p-149f, 0x1p127f, -32, 0, INFINITY};
    return some[check_below(c, sizeof some / sizeof *some)];
}

/* Divisors of roots: as in the first and last steps of a training, and values that no training
 * has. */
static float correction_of(takt_check *c)
{
    const float some[] = {0.03f, 1, 0x1.fffffep-1f, 0, 8};
    const size_t count = sizeof some / sizeof *some, at = check_below(c, 4 * count);
    return at < count ? some[at] : (float)(check_below(c, 1 << 24) + 1) / (1 << 24);
}

static takt_adam_f32 step_of(takt_check *c, size_t n, int where, int values, int form)
{
    float *in[OPERANDS];
    for (int i = 0; i < OPERANDS; i++) {
        in[i] = check_place(c, G + i, n * sizeof(float), where);
        check_fill_f32(c, in[i], n, values);
    }
    for (size_t i = 0; i < n; i++)
        in[V][i] = fabsf(in[V][i]);
    float *scalars = check_place(c, SCALARS, 4 * sizeof(float), where);
    memcpy(scalars, (const float[]){divisor_of(c), 0.99f, correction_of(c), 0.001f},
           4 * sizeof(float));
    return (takt_adam_f32){.n = n,
                           .g = in[G],
                           .m = in[M],
                           .v = in[V],
                           .w = in[W],
                           .more = form & 8 ? in[MORE] : NULL,
                           .divisor = form & 1 ? scalars : NULL,
                           .keep = form & 2 ? scalars + 1 : NULL,
                           .correction = scalars + 2,
                           .rate = scalars + 3,
                           .beta1 = 0.9f,
                           .rest1 = 0.1f,
                           .beta2 = 0.999f,
                           .rest2 = 0.001f,
                           .epsilon = 1e-8f};
}

static void one(takt_check *c, const takt_kernel *reference, size_t n, int where, int values,
                int form)
{
    takt_adam_f32 a = step_of(c, n, where, values, form);
    const size_t bytes = n * sizeof(float);
    check_case(c, "n=%zu place %d values %d form %d", n, where, values, form);
    char *want = check_place(c, WANT, RESULTS * bytes, CHECK_AT_END);
    float **const next[RESULTS] = {&a.m_next, &a.v_next, &a.w_next};
    const float *const over[RESULTS] = {a.m, a.g, a.w};
    for (int i = 0; i < RESULTS; i++)
        *next[i] = (float *)(void *)(want + (size_t)i * bytes);
    takt_kernel_as_adam_f32(reference)(&a);
    for (int i = 0; i < RESULTS; i++) { /* apart, or over an operand */
        float *apart = check_place(c, M_NEXT + i, bytes, where);
        memset(apart, 0x5a, bytes);
        *next[i] = form & 4 ? (float *)(uintptr_t)over[i] : apart;
    }
    CHECK_CALL(c, takt_kernel_as_adam_f32(c->kernel)(&a));
    for (int i = 0; i < RESULTS; i++)
        check_same_f32(c, *next[i], (const float *)(const void *)(want + (size_t)i * bytes), n);
    for (int slot = G; slot < WANT; slot++)
        check_intact(c, slot);
}

static void bench(takt_check *c)
{
    enum { COUNT = 4096 };
    const float correction = 0.03f;
    takt_adam_f32 a = step_of(c, COUNT, CHECK_AT_START, CHECK_PLAIN, 0);
    a.correction = &correction;
    a.m_next = check_place(c, M_NEXT, COUNT * sizeof(float), CHECK_AT_START);
    a.v_next = check_place(c, V_NEXT, COUNT * sizeof(float), CHECK_AT_START);
    a.w_next = check_place(c, W_NEXT, COUNT * sizeof(float), CHECK_AT_START);
    CHECK_BENCH(c, "4096 parameters", 28.0 * COUNT, 0, takt_kernel_as_adam_f32(c->kernel)(&a));
}

void check_adam_f32(takt_check *c, const takt_kernel *reference)
{
    for (int form = 0; form < 16; form++)
        for (size_t n = 0; n <= CHECK_TAILS; n++)
            one(c, reference, n, (int)(n % CHECK_PLACES), (int)check_below(c, CHECK_VALUES), form);
    for (int i = 0; i < 64; i++) /* enough parameters for a correction without divisions */
        one(c, reference, 1000, CHECK_AT_END, i % CHECK_VALUES, i % 16);
    if (c->bench)
        bench(c);
}
