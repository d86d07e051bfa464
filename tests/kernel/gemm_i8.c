/* gemm_i8.c - holds products of bytes to the scalar one: tails, signs, zero points, requantisation.
 */
#include "kernel/gemm_i8/gemm_i8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernel/gemm_i8/fixed.h"

enum { A, B, C, PLAIN, SUMS, SCRATCH, WANT, B_SCALAR, IMAGE, WIDE };

typedef struct shape {
    size_t m, n, k;
} shape;

/* Of packed B: rows of a group, and after how many rows a new one begins, or 0. */
typedef struct layout {
    size_t group, run;
} layout;

/* Per-column operands, in one slot. */
typedef struct columns {
    int32_t *sum, *zero, *bias;
    float *scale;
    int32_t *multiplier, *shift;
    double *wide;
    bool goes_right;
} columns;

static size_t ceil_div(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

static columns make_columns(takt_check *c, size_t n)
{
    int32_t *p = check_place(c, SUMS, 6 * n * sizeof *p, CHECK_AT_END);
    columns o = {p,         p + n,     p + 2 * n, (float *)(void *)(p + 5 * n),
                 p + 3 * n, p + 4 * n, NULL,      check_below(c, 2) != 0};
    o.wide = check_place(c, WIDE, n * sizeof *o.wide, CHECK_AT_END);
    for (size_t j = 0; j < n; j++) {
        o.zero[j] = (int32_t)check_below(c, 9) - 4;
        o.bias[j] = (int32_t)check_below(c, 40000) - 20000;
        o.scale[j] = (float)check_below(c, 1000) * 1e-6f;
        o.multiplier[j] = (int32_t)(check_below(c, 1 << 30) + (1u << 30));
        o.shift[j] = 1 - (int32_t)check_below(c, 16);
        if (o.goes_right) {
            o.shift[j] = -1 - (int32_t)check_below(c, 31);
        } else if (j % 8 == 5) { /* what wraps */
            o.multiplier[j] = j % 16 == 5 ? INT32_MIN : -(int32_t)check_below(c, 1 << 30);
            o.shift[j] = j % 16 == 5 ? 31 : 40 - (int32_t)check_below(c, 80);
        }
        o.wide[j] = j % 3 == 0 ? 0.5 : (double)check_below(c, 1000) * 1e-6;
    }
    if (n >
        3) { /* scales that saturate, and one that makes NaN of a sum of 0 and infinities else */
        const uint32_t infinity = 0x7f800000;
        memcpy(&o.scale[3], &infinity, sizeof infinity);
        o.scale[2] = 1e30f;
    }
    o.goes_right = takt_fixed_goes_right(o.multiplier, o.shift, n);
    return o;
}

/* Packed into `slot`, ending at the inaccessible page. */
static const int8_t *packed(takt_check *c, int slot, shape s, const int8_t *b, layout l,
                            int32_t *sums)
{
    const size_t bytes = ceil_div(s.n, 16) * 16 * takt_i8_deep(s.k, l.run, l.group);
    int8_t *to = check_place(c, slot, bytes, CHECK_AT_END);
    takt_pack_i8(&(takt_pack_i8_job){.k = s.k,
                                     .n = s.n,
                                     .group = l.group,
                                     .src = b,
                                     .row = s.n,
                                     .col = 1,
                                     .run = l.run,
                                     .dst = to,
                                     .sums = sums});
    return to;
}

/* `bits`: target type, bias, scale per column, unsigned A, zero point of A, of B, extreme values,
 * fixed point, wide scales. */
static takt_requant choose_requant(const columns *o, unsigned bits, const takt_epilogue_f32 *e)
{
    const takt_requant_to to = (takt_requant_to)(bits & 3);
    const int32_t least = to == TAKT_REQUANT_U8 ? 0 : -128; /* as zero point and lo: a relu's */
    return (takt_requant){.to = to,
                          .bias = bits & 4 ? o->bias : NULL,
                          .scale = bits & 768 ? NULL : o->scale,
                          .wide = bits & 512 ? o->wide : NULL,
                          .multiplier = bits & 256 ? o->multiplier : NULL,
                          .shift = bits & 256 ? o->shift : NULL,
                          .goes_right = o->goes_right,
                          .scale_per_column = (bits & 8) != 0,
                          .zero = bits & 16 ? 3 : least,
                          .lo = bits & 32 ? 2 : least,
                          .hi = to == TAKT_REQUANT_U8 ? 255
                                : bits & 4            ? 100
                                                      : 127,
                          .epilogue = bits & 4 ? e : NULL};
}

static void fill(takt_check *c, void *p, size_t bytes, bool extreme, int value)
{
    check_fill_bytes(c, p, bytes);
    if (extreme)
        memset(p, value, bytes);
}

static void cleared(takt_gemm_i8 *g, takt_check *c, int slot, int where)
{
    const size_t size =
        g->requant->to == TAKT_REQUANT_S8 || g->requant->to == TAKT_REQUANT_U8 ? 1 : 4;
    const size_t bytes = g->m && g->n ? ((g->m - 1) * g->ldc + g->n) * size : 0;
    g->c = check_place(c, slot, bytes, where);
    memset(g->c, 0x5a, bytes);
}

static void compare(takt_check *c, const takt_gemm_i8 *g, const void *want)
{
    const size_t count = g->m && g->n ? (g->m - 1) * g->ldc + g->n : 0;
    if (g->requant->to == TAKT_REQUANT_F32)
        check_same_f32(c, g->c, want, count);
    else
        check_same_bytes(c, g->c, want, count * (g->requant->to == TAKT_REQUANT_I32 ? 4 : 1));
}

static takt_gemm_i8 product(shape s, unsigned bits, const columns *o, const takt_requant *q)
{
    return (takt_gemm_i8){.m = s.m,
                          .n = s.n,
                          .k = s.k,
                          .a_row = s.k + bits % 3,
                          .ldc = s.n + bits % 2,
                          .a_unsigned = (bits & 16) != 0,
                          .a_zero = bits & 32 ? 17 : 0,
                          .b_sum = o->sum,
                          .b_zero = bits & 64 ? o->zero : NULL,
                          .requant = q};
}

/* g->a by B, whose sums go to `sums`, by the reference; then by the kernel, from the image if there
 * is one. */
static void hold(takt_check *c, const takt_kernel *reference, takt_gemm_i8 *g, int32_t *sums,
                 const takt_i8_image *m, int where)
{
    const takt_gemm_i8_info *info = c->kernel->info;
    const shape s = {g->m, g->n, g->k};
    const int8_t *b = (const int8_t *)c->placed[PLAIN].p;
    g->b = packed(c, B_SCALAR, s, b, (layout){4, 0}, sums);
    g->b_panel = ceil_div(s.k, 4) * 64;
    cleared(g, c, WANT, CHECK_AT_END);
    const void *want = g->c;
    takt_kernel_as_gemm_i8(reference)(g);
    const layout l = {info->group, m != NULL ? m->run : 0};
    g->b = packed(c, B, s, b, l, NULL);
    g->b_panel = takt_i8_deep(s.k, l.run, l.group) * 16;
    g->image = m;
    g->a = m == NULL ? g->a : NULL;
    cleared(g, c, C, where);
    g->scratch = check_scratch(c, SCRATCH, info->scratch_bytes(g));
    CHECK_CALL(c, takt_kernel_as_gemm_i8(c->kernel)(g));
    compare(c, g, want);
    check_intact(c, C);
}

static void one(takt_check *c, const takt_kernel *reference, shape s, unsigned bits, int where)
{
    check_case(c, "m=%zu n=%zu k=%zu bits %#x place %d", s.m, s.n, s.k, bits, where);
    const columns o = make_columns(c, s.n);
    const takt_epilogue_f32 e = {.bias = o.scale, .act = TAKT_GEMM_ACT_RELU};
    const takt_requant q = choose_requant(&o, bits, &e);
    const bool extreme = (bits & 128) != 0;
    takt_gemm_i8 g = product(s, bits, &o, &q);
    g.a_open = (s.m + s.k) % 3 == 0;
    const size_t a_bytes =
        s.m && s.k ? (s.m - 1) * g.a_row + s.k + (g.a_open ? TAKT_I8_OPEN : 0) : 0;
    void *a = check_place(c, A, a_bytes, where);
    int8_t *b = check_place(c, PLAIN, s.k * s.n, CHECK_AT_END);
    fill(c, a, a_bytes, extreme, g.a_unsigned ? 255 : -128);
    fill(c, b, s.k * s.n, extreme, -128);
    g.a = a;
    hold(c, reference, &g, o.sum, NULL, where);
}

/* A in an image of rows with gaps between them, against the same rows one after another. `runs`:
 * bytes of a tap, or 0 for its channels. */
static void image(takt_check *c, const takt_kernel *reference, shape s, size_t channels,
                  size_t runs, unsigned bits)
{
    enum { PITCH = 9, WIDTH = 7 };
    const size_t run = runs > 0 ? runs : channels, taps = s.k / run;
    const size_t lines = (s.m - 1) / WIDTH + 4;
    const size_t count = (lines * PITCH + TAKT_I8_BEYOND) * channels;
    size_t at[8];
    check_case(c, "image of %zu channels, runs of %zu, m=%zu n=%zu k=%zu bits %#x", channels, run,
               s.m, s.n, s.k, bits);
    const columns o = make_columns(c, s.n);
    const takt_epilogue_f32 e = {.bias = o.scale, .act = TAKT_GEMM_ACT_RELU};
    const takt_requant q = choose_requant(&o, bits, &e);
    takt_gemm_i8 g = product(s, bits, &o, &q);
    uint8_t *data = check_place(c, IMAGE, count, CHECK_AT_END);
    uint8_t *a = check_place(c, A, s.m * g.a_row, CHECK_AT_END);
    int8_t *b = check_place(c, PLAIN, s.k * s.n, CHECK_AT_END);
    check_fill_bytes(c, data, count);
    check_fill_bytes(c, b, s.k * s.n);
    for (size_t t = 0; t < taps; t++)
        at[t] = (t % 3 * PITCH + t / 3) * channels;
    for (size_t i = 0; i < s.m * taps; i++) {
        const size_t r = i / taps, t = i % taps;
        memcpy(a + r * g.a_row + t * run, data + (r / WIDTH * PITCH + r % WIDTH) * channels + at[t],
               run);
    }
    const takt_i8_image m = {
        .data = data, .width = WIDTH, .pitch = PITCH, .channels = channels, .at = at, .run = runs};
    g.a = a;
    hold(c, reference, &g, o.sum, &m, CHECK_AT_END);
    check_intact(c, IMAGE);
}

static void images(takt_check *c, const takt_kernel *reference)
{
    static const size_t ms[] = {1, 7, 8, 20, 33, 100}, ns[] = {1, 16, 33, 70};
    const takt_gemm_i8_info *info = c->kernel->info;
    unsigned bits = 0;
    for (size_t i = 0; info->image > 0 && i < 24; i++)
        for (size_t taps = 1; taps <= 5; taps += 4)
            for (size_t more = 1; more <= 3; more += 2, bits = (bits + 37) % 128) {
                const size_t channels = more * takt_i8_image_multiple(info, ns[i / 6]);
                const shape s = {ms[i % 6], ns[i / 6], taps * channels};
                image(c, reference, s, channels, 0, bits);
            }
    for (size_t run = 1; info->reads_runs && run < 25; run++)
        for (size_t n = 3; n < 40; n += 13, bits = (bits + 37) % 256)
            image(c, reference, (shape){1 + 3 * run, n, (1 + run % 4) * run}, 1 + run / 2, run,
                  bits);
    for (size_t n = 31; info->image > 0 && n < 34; n++) /* more than a chunk of k */
        image(c, reference, (shape){40, n, 8 * 192}, 192, 0, 80 + (unsigned)n);
    if (info->image > 0) /* more columns than most */
        image(c, reference, (shape){9, 300, 3 * 16 * info->image}, 16 * info->image, 0, 17);
}

/* p16x4 repacked for smmla is the same as packing for it. */
static void repacking(takt_check *c, shape s)
{
    check_case(c, "repack, n=%zu k=%zu", s.n, s.k);
    int8_t *b = check_place(c, PLAIN, s.k * s.n, CHECK_AT_END);
    check_fill_bytes(c, b, s.k * s.n);
    const int8_t *four = packed(c, B_SCALAR, s, b, (layout){4, 0}, NULL);
    const int8_t *eight = packed(c, B, s, b, (layout){8, 0}, NULL);
    const size_t bytes = ceil_div(s.n, 16) * ceil_div(s.k, 8) * 128;
    int8_t *got = check_place(c, C, bytes, CHECK_AT_END);
    takt_repack_i8(s.k, s.n, four, got);
    check_same_bytes(c, got, eight, bytes);
}

static void bench(takt_check *c, shape s, takt_requant_to to)
{
    const takt_gemm_i8_info *info = c->kernel->info;
    const float scale = 1e-4f;
    const takt_requant q = {.to = to, .scale = &scale, .lo = -128, .hi = 127};
    takt_gemm_i8 g = {.m = s.m,
                      .n = s.n,
                      .k = s.k,
                      .a_row = s.k,
                      .a_unsigned = true,
                      .ldc = s.n,
                      .b_panel = s.k * 16,
                      .requant = &q};
    const size_t sums = s.n * 4, all = (s.m + s.n) * s.k + sums + s.m * s.n * 4;
    char *memory = aligned_alloc(64, (all + 63) / 64 * 64);
    g.scratch = aligned_alloc(64, (info->scratch_bytes(&g) + 127) / 64 * 64);
    if (memory && g.scratch) {
        char what[64];
        snprintf(what, sizeof what, "%zux%zux%zu to %s", s.m, s.n, s.k,
                 to == TAKT_REQUANT_I32 ? "i32" : "s8");
        check_fill_bytes(c, memory, all);
        g.c = memory;
        g.b_sum = (const int32_t *)(const void *)(memory + s.m * s.n * 4);
        g.b = (const int8_t *)memory + s.m * s.n * 4 + sums;
        g.a = g.b + s.n * s.k;
        CHECK_BENCH(c, what, (double)all, 2.0 * (double)s.m * (double)s.n * (double)s.k,
                    takt_kernel_as_gemm_i8(c->kernel)(&g));
    }
    free(memory);
    free(g.scratch);
}

void check_gemm_i8(takt_check *c, const takt_kernel *reference)
{
    static const size_t ms[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16, 17, 29, 33, 47, 65};
    static const size_t ns[] = {0, 1, 5, 15, 16, 17, 31, 32, 33, 64, 67, 130};
    static const size_t ks[] = {0,  1,  2,  3,  4,  5,   7,    8,    9,    15,
                                16, 17, 63, 64, 65, 255, 1023, 1024, 1025, 2050};
    enum { MS = sizeof ms / sizeof *ms, NS = sizeof ns / sizeof *ns, KS = sizeof ks / sizeof *ks };
    for (unsigned i = 0; i < MS * NS * KS; i++) {
        const shape s = {ms[i % MS], ns[i / MS % NS], ks[i / MS / NS]};
        if (s.m * s.n * s.k < 100000)
            one(c, reference, s, i * 5 % 256, (int)(i % CHECK_PLACES));
    }
    for (unsigned bits = 0; bits < 256; bits++) {
        one(c, reference, (shape){13, 21, 77}, bits, CHECK_AT_END);
        one(c, reference, (shape){1, 70, 77}, bits, CHECK_AT_START);
        if ((bits & 3) != TAKT_REQUANT_S8 && (bits & 3) != TAKT_REQUANT_U8)
            continue;
        one(c, reference, (shape){13, 21, 77}, bits + 256, CHECK_AT_START);
        one(c, reference, (shape){1, 70, 77}, bits + 256, CHECK_AT_END);
        one(c, reference, (shape){40, 67, 30}, bits + 256, CHECK_AT_END);
        one(c, reference, (shape){13, 21, 77}, bits + 512, CHECK_AT_START);
        one(c, reference, (shape){1, 70, 77}, bits + 512, CHECK_AT_END);
    }
    one(c, reference, (shape){7, 5, 70000}, 3, CHECK_AT_END);
    one(c, reference, (shape){200, 16, 500}, 20, CHECK_AT_END);
    images(c, reference);
    for (size_t k = 0; k < 20; k++)
        repacking(c, (shape){0, 1 + 3 * k, k});
    static const shape timed[] = {{256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024},
                                  {1, 4096, 4096}, {8, 4096, 4096}, {32, 3072, 768}};
    const size_t count = check_timed(c, sizeof timed / sizeof *timed, 1);
    for (size_t i = 0; i < count; i++) {
        bench(c, timed[i], TAKT_REQUANT_I32);
        bench(c, timed[i], TAKT_REQUANT_S8);
    }
}
