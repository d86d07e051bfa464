/* gelu_dx_f32.c - checks the gradient of gelu against that of the scalar kernel, and that one
 * against its operations one by one. */
#include "kernel/gelu_dx_f32/gelu_dx_f32.h"

#include <string.h>

#include "check.h"
#include "kernel/map/map.h"

enum { X, DY, TO, WANT, TILE };

check_fn check_gelu_dx_f32;

static takt_gelu_dx_f32 gradient_of(takt_check *c, size_t n, int where, int values)
{
    float *x = check_place(c, X, n * sizeof(float), where);
    float *dy = check_place(c, DY, n * sizeof(float), where);
    check_fill_f32(c, x, n, values);
    check_fill_f32(c, dy, n, values);
    return (takt_gelu_dx_f32){.n = n,
                              .x = x,
                              .dy = dy,
                              .root_half = 0x1.6a09e6p-1f,
                              .half = 0.5f,
                              .minus_half = -0.5f,
                              .density = 0x1.988454p-2f,
                              .one = 1};
}

/* to = op(a, b), b one value unless it is NULL or `is_full`. */
static void step(const takt_kernel *map, takt_map_op op, float *to, const float *const *in,
                 bool is_full)
{
    const size_t n = (size_t)(in[2] - in[0]);
    takt_map_find(map, op)(to, (const void *[]){in[0], in[1]},
                           (const unsigned char[]){0, is_full ? 0 : 1}, n, NULL);
}

/* The same, operation by operation. */
static void by_operations(takt_check *c, const takt_gelu_dx_f32 *g, float *to)
{
    const takt_kernel *map =
        takt_kernel_find("map_f32", UINT32_C(1) << TAKT_ISA_scalar, NULL, 0, NULL);
    float *bell = check_place(c, TILE, g->n * sizeof *bell, CHECK_AT_END);
#define STEP(op, dst, a, b, is_full)                                                               \
    step(map, TAKT_MAP_##op, dst, (const float *const[]){a, b, (a) + g->n}, is_full)
    STEP(MUL, to, g->x, &g->root_half, false);
    STEP(ERF, to, to, NULL, false);
    STEP(ADD, to, to, &g->one, false);
    STEP(MUL, to, to, &g->half, false);
    STEP(MUL, bell, g->x, g->x, true);
    STEP(MUL, bell, bell, &g->minus_half, false);
    STEP(EXP, bell, bell, NULL, false);
    STEP(MUL, bell, bell, &g->density, false);
    STEP(MUL, bell, g->x, bell, true);
    STEP(ADD, to, to, bell, true);
    STEP(MUL, to, g->dy, to, true);
#undef STEP
}

static void one(takt_check *c, size_t n, int where, int values, int over)
{
    takt_gelu_dx_f32 g = gradient_of(c, n, where, values);
    const size_t bytes = n * sizeof(float);
    check_case(c, "n=%zu place %d values %d over %d", n, where, values, over);
    float *want = check_place(c, WANT, bytes, CHECK_AT_END);
    by_operations(c, &g, want);
    float *apart = check_place(c, TO, bytes, where);
    memset(apart, 0x5a, bytes);
    g.to = over == 0 ? apart : (float *)(uintptr_t)(over == 1 ? g.x : g.dy);
    CHECK_CALL(c, takt_kernel_as_gelu_dx_f32(c->kernel)(&g));
    check_same_f32(c, g.to, want, n);
    for (int slot = X; slot <= TILE; slot++)
        check_intact(c, slot);
}

static void bench(takt_check *c)
{
    enum { COUNT = 4096 };
    takt_gelu_dx_f32 g = gradient_of(c, COUNT, CHECK_AT_START, CHECK_PLAIN);
    g.to = check_place(c, TO, COUNT * sizeof(float), CHECK_AT_START);
    CHECK_BENCH(c, "4096 elements", 12.0 * COUNT, 0, takt_kernel_as_gelu_dx_f32(c->kernel)(&g));
}

void check_gelu_dx_f32(takt_check *c, const takt_kernel *reference)
{
    (void)reference;
    for (int over = 0; over < 3; over++)
        for (size_t n = 0; n <= CHECK_TAILS; n++)
            one(c, n, (int)(n % CHECK_PLACES), (int)check_below(c, CHECK_VALUES), over);
    for (int i = 0; i < 16; i++)
        one(c, 1000, CHECK_AT_END, i % CHECK_VALUES, 0);
    if (c->bench)
        bench(c);
}
