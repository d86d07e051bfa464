/* block_floats.c - many rows by block-quantised weights: the bits of the scalar kernel of few rows,
 * whichever product kernel uses the floats, by pieces or by strips. */
#include "backend/cpu/block_floats.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/block_f32/block_f32.h"
#include "test.h"

typedef struct shape {
    size_t m, n, k, block;
    unsigned bits;
    bool has_bias, has_zero;
} shape;

/* Shapes with tails, more columns than a strip, more rows than one, and k of several chunks. */
static const shape shapes[] = {
    {5, 16, 16, 16, 4, false, false},    {7, 33, 40, 32, 4, true, true},
    {33, 400, 530, 32, 4, true, false},  {260, 17, 270, 64, 2, false, true},
    {29, 1, 300, 48, 8, true, false},    {16, 97, 1, 16, 4, true, true},
    {9, 784, 257, 128, 4, false, false},
};

typedef struct data {
    float *a, *bias, *c, *want;
    uint32_t *words;
    float *scale;
    uint8_t *zero;
} data;

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

static float *floats(uint32_t *state, size_t n)
{
    float *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; x && i < n; i++)
        x[i] = (float)next(state) / 0x1p23F - 1;
    return x;
}

static data make(const shape *s, takt_blocks *b)
{
    uint32_t state = 7;
    *b = (takt_blocks){.n = s->n, .k = s->k, .block = s->block, .bits = s->bits, .level = 3};
    const size_t panels = takt_blocks_panels(s->n), each = panels * 16 * takt_blocks_count(b);
    const size_t words = panels * takt_blocks_words(s->bits, takt_blocks_deep(s->k));
    data d = {floats(&state, s->m * s->k),
              floats(&state, s->n),
              calloc(s->m * s->n, 4),
              calloc(s->m * s->n, 4),
              malloc(words * 4),
              floats(&state, each),
              malloc(each)};
    for (size_t i = 0; d.words && i < words; i++)
        d.words[i] = next(&state) ^ next(&state) << 20;
    for (size_t i = 0; d.zero && i < each; i++)
        d.zero[i] = (uint8_t)(next(&state) % (1U << s->bits));
    b->words = d.words;
    b->scale = d.scale;
    b->zero = s->has_zero ? d.zero : NULL;
    return d;
}

static void drop(data *d)
{
    void *all[] = {d->a, d->bias, d->c, d->want, d->words, d->scale, d->zero};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static const takt_kernel *scalar(const char *family)
{
    return takt_kernel_find(family, (takt_isa_set)1 << TAKT_ISA_scalar, NULL, 0, NULL);
}

static void one(const shape *s, const takt_kernel *panels, const takt_kernel *gemm)
{
    takt_blocks b;
    data d = make(s, &b);
    const float *bias = s->has_bias ? d.bias : NULL;
    const takt_block_f32 few = {s->m, d.a, s->k, b, bias, d.want, s->n, NULL};
    takt_kernel_as_block_f32(scalar("block_f32"))(&few);
    takt_block_floats f = {takt_kernel_as_block_panels(panels), takt_kernel_as_gemm_f32(gemm),
                           gemm->info, 0, 0};
    const size_t bytes = (takt_block_floats_scratch(&f, s->m, &b) + 63) / 64 * 64;
    const takt_block_part part = {.a = d.a,
                                  .bias = bias,
                                  .b = b,
                                  .m = s->m,
                                  .ldc = s->n,
                                  .c = d.c,
                                  .scratch = aligned_alloc(64, bytes + 64)};
    takt_block_floats_run(&f, &part);
    EXPECT(memcmp(d.c, d.want, s->m * s->n * sizeof *d.c) == 0, "%s: %zux%zux%zu differs",
           gemm->name, s->m, s->n, s->k);
    free(part.scratch);
    drop(&d);
}

/* Every product that runs here, with the floats of its own instruction set and with scalar ones. */
int main(void)
{
    const takt_isa_set isas = takt_isa_detect();
    for (size_t u = 0; u < takt_kernel_unit_count; u++) {
        const takt_kernel_unit *unit = takt_kernel_units[u];
        if (strcmp(unit->family, "gemm_f32") != 0 || !(isas >> unit->isa & 1))
            continue;
        for (size_t k = 0; k < unit->count; k++)
            for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
                one(&shapes[i], takt_kernel_find("block_panels", isas, NULL, 0, NULL),
                    &unit->kernels[k]);
                one(&shapes[i], scalar("block_panels"), &unit->kernels[k]);
            }
    }
    return test_done();
}
