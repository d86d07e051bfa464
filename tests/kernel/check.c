/* check.c - guarded memory, random values, comparison and timing for kernel checks. */
#define _GNU_SOURCE
#if defined __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif
#include "check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CANARY = 0xA5, CANARY_BYTES = 256, SHOWN = 12 };

void check_case(takt_check *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->label, sizeof c->label, format, args);
    va_end(args);
}

void check_fail(takt_check *c, const char *format, ...)
{
    c->failures++;
    if (c->give_up != NULL)
        c->give_up();
    if (c->failures > SHOWN)
        return;
    va_list args;
    va_start(args, format);
    printf("FAIL %s/%s, %s: ", c->unit->family, c->kernel->name, c->label);
    vprintf(format, args);
    printf("\n");
    va_end(args);
}

void *check_place(takt_check *c, int slot, size_t bytes, int where)
{
    unsigned char *start = c->slot[slot], *end = start + CHECK_SLOT_BYTES, *p = start;
    if (where == CHECK_AT_END)
        p = end - bytes;
    else if (where == CHECK_SCRATCH)
        p = end - (bytes + 63) / 64 * 64;
    else if (where == CHECK_MISALIGNED) /* by 8: aligned for every element type */
        p = start + CANARY_BYTES + 8 * (1 + check_below(c, 7));
    c->placed[slot].p = p;
    c->placed[slot].bytes = bytes;
    const size_t before = (size_t)(p - start), after = (size_t)(end - p) - bytes;
    const size_t low = before < CANARY_BYTES ? before : CANARY_BYTES;
    memset(p - low, CANARY, low);
    memset(p + bytes, CANARY, after < CANARY_BYTES ? after : CANARY_BYTES);
    return p;
}

void *check_scratch(takt_check *c, int slot, size_t bytes)
{
    return memset(check_place(c, slot, bytes, CHECK_SCRATCH), 0xff, bytes);
}

static bool is_canary(const unsigned char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (p[i] != CANARY)
            return false;
    return true;
}

void check_intact(takt_check *c, int slot)
{
    const unsigned char *start = c->slot[slot], *p = c->placed[slot].p;
    const size_t bytes = c->placed[slot].bytes, before = (size_t)(p - start);
    const size_t after = CHECK_SLOT_BYTES - before - bytes;
    const size_t low = before < CANARY_BYTES ? before : CANARY_BYTES;
    if (!is_canary(p - low, low))
        check_fail(c, "wrote before the start of buffer %d", slot);
    if (!is_canary(p + bytes, after < CANARY_BYTES ? after : CANARY_BYTES))
        check_fail(c, "wrote past the end of buffer %d", slot);
}

/* splitmix64 */
uint64_t check_random(takt_check *c)
{
    uint64_t z = c->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

size_t check_below(takt_check *c, size_t limit)
{
    return limit == 0 ? 0 : (size_t)(check_random(c) % limit);
}

static double plain(takt_check *c)
{
    return (double)(check_random(c) >> 40) * 0x1p-21 - 4.0;
}

static float special_f32(takt_check *c)
{
    static const uint32_t bits[] = {0,          0x80000000, 1,          0x80000001, 0x7fffff,
                                    0x807fffff, 0x800000,   0x7f7fffff, 0xff7fffff, 0x7f800000,
                                    0xff800000, 0x7fc00000, 0x7f800001, 0xffc12345, 0x3f800000,
                                    0xbf800000, 0x3f000000, 0x4b000000, 0xcb000001, 0x4f000000,
                                    0xcf000000, 0x42b17218, 0xc2aeac50, 0x7f000000};
    float x;
    memcpy(&x, &bits[check_below(c, sizeof bits / sizeof *bits)], sizeof x);
    return x;
}

static float value_f32(takt_check *c, int values)
{
    const uint32_t bits = (uint32_t)check_random(c);
    float x;
    memcpy(&x, &bits, sizeof x);
    if (values == CHECK_TINY)
        return (float)plain(c) * (bits & 1 ? 0x1p-127f : 0x1p-64f);
    if (values == CHECK_PLAIN || (values == CHECK_MIXED && bits % 3 == 0))
        return (float)plain(c);
    return values == CHECK_MIXED && bits % 3 == 1 ? x : special_f32(c);
}

void check_fill_f32(takt_check *c, float *p, size_t n, int values)
{
    for (size_t i = 0; i < n; i++)
        p[i] = values == CHECK_EQUAL && i > 0 ? p[0] : value_f32(c, values);
}

static double special_f64(takt_check *c)
{
    static const uint64_t more[] = {1,
                                    0x8000000000000001,
                                    0xfffffffffffff,
                                    0x10000000000000,
                                    0x7fefffffffffffff,
                                    0xffefffffffffffff,
                                    0x40862e42fefa39ef};
    const size_t pick = check_below(c, 2 * sizeof more / sizeof *more);
    if (pick >= sizeof more / sizeof *more)
        return (double)special_f32(c);
    double x;
    memcpy(&x, &more[pick], sizeof x);
    return x;
}

static double value_f64(takt_check *c, int values)
{
    const uint64_t bits = check_random(c);
    double x;
    memcpy(&x, &bits, sizeof x);
    if (values == CHECK_TINY)
        return plain(c) * (bits & 1 ? 0x1p-1023 : 0x1p-512);
    if (values == CHECK_PLAIN || (values == CHECK_MIXED && bits % 3 == 0))
        return plain(c);
    return values == CHECK_MIXED && bits % 3 == 1 ? x : special_f64(c);
}

void check_fill_f64(takt_check *c, double *p, size_t n, int values)
{
    for (size_t i = 0; i < n; i++)
        p[i] = values == CHECK_EQUAL && i > 0 ? p[0] : value_f64(c, values);
}

void check_fill_bytes(takt_check *c, void *p, size_t bytes)
{
    unsigned char *to = p;
    for (size_t i = 0; i < bytes; i += 8) {
        const uint64_t word = check_random(c);
        memcpy(to + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

static void digest(takt_check *c, uint64_t word)
{
    c->digest = (c->digest ^ word) * UINT64_C(0x100000001b3);
    c->digest ^= c->digest >> 29;
}

void check_same_f32(takt_check *c, const float *got, const float *want, size_t n)
{
    c->cases++;
    for (size_t i = 0; i < n; i++) {
        uint32_t a, b;
        memcpy(&a, &got[i], sizeof a);
        memcpy(&b, &want[i], sizeof b);
        const bool nan = isnan(got[i]);
        digest(c, nan ? 0x7fc00000u : a);
        if (nan ? !isnan(want[i]) : a != b) {
            check_fail(c, "[%zu] is %a, should be %a", i, (double)got[i], (double)want[i]);
            return;
        }
    }
}

void check_same_f64(takt_check *c, const double *got, const double *want, size_t n)
{
    c->cases++;
    for (size_t i = 0; i < n; i++) {
        uint64_t a, b;
        memcpy(&a, &got[i], sizeof a);
        memcpy(&b, &want[i], sizeof b);
        const bool nan = isnan(got[i]);
        digest(c, nan ? UINT64_C(0x7ff8000000000000) : a);
        if (nan ? !isnan(want[i]) : a != b) {
            check_fail(c, "[%zu] is %a, should be %a", i, got[i], want[i]);
            return;
        }
    }
}

void check_same_bytes(takt_check *c, const void *got, const void *want, size_t bytes)
{
    const unsigned char *a = got, *b = want;
    c->cases++;
    for (size_t i = 0; i < bytes; i++) {
        digest(c, a[i]);
        if (a[i] != b[i]) {
            check_fail(c, "byte %zu is 0x%02x, should be 0x%02x", i, a[i], b[i]);
            return;
        }
    }
}

#if defined __x86_64__
static bool uppers_in_use(void)
{
    enum { UPPERS = 1 << 2 };
    uint32_t a, d;
    __asm__ volatile("xgetbv\n\tvzeroupper" : "=a"(a), "=d"(d) : "c"(1));
    return (a & UPPERS) != 0;
}

__attribute__((target("avx"), noinline)) static void use_uppers(const float *from, float *to)
{
    _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)));
}

/* Whether the processor tells, and the compiler puts vzeroupper at the ends of functions: gcc does
 * not at -O0, -O1 and -Os. */
static bool are_uppers_cleared(void)
{
    static float from[16], to[8];
    uint32_t a, b, c, d;
    if (__get_cpuid_count(0xd, 1, &a, &b, &c, &d) == 0 || (a >> 2 & 1) == 0 ||
        !__builtin_cpu_supports("avx"))
        return false;
    use_uppers(from, to);
    return !uppers_in_use();
}

/* Whether the upper halves of vectors are in use, which slows down SSE code that runs next; they
 * are not afterwards. False where that cannot be asked of kernels. */
static bool has_uppers(void)
{
    static int is_asked = -1;
    if (is_asked < 0)
        is_asked = are_uppers_cleared();
    return is_asked && uppers_in_use();
}
#endif

uint64_t check_fp_state(void)
{
#if defined __aarch64__
    uint64_t state;
    __asm__ volatile("mrs %0, fpcr" : "=r"(state));
    return state;
#elif defined __x86_64__
    uint32_t state;
    __asm__ volatile("stmxcsr %0" : "=m"(state));
    /* The lower bits are flags that any operation may set. */
    return (state & 0xffc0u) | (uint64_t)has_uppers() << 32;
#else
    return 0;
#endif
}

void check_set_fp_state(uint64_t state)
{
#if defined __aarch64__
    __asm__ volatile("msr fpcr, %0" : : "r"(state));
#elif defined __x86_64__
    const uint32_t control = (uint32_t)state;
    __asm__ volatile("ldmxcsr %0" : : "m"(control));
#else
    (void)state;
#endif
}

double check_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool check_goes_on(const takt_check *c, int round, double begin)
{
    return round == 0 || (!c->once && round < 7 && check_now() - begin < 0.5);
}

size_t check_timed(const takt_check *c, size_t all, size_t few)
{
    if (!c->bench)
        return 0;
    return c->once ? 1 : c->kernel->rank > 0 ? all : few;
}

/* The machine's maximum rate for the operations of the family. */
static double peak_of(const takt_check *c)
{
    const char *family = c->unit->family;
    if (strstr(family, "f64") != NULL)
        return c->ceiling.f64;
    if (strstr(family, "bf16") != NULL)
        return c->ceiling.bf16;
    if (strstr(family, "f16") != NULL)
        return c->ceiling.f16;
    return strstr(family, "i8") != NULL ? c->ceiling.i8 : c->ceiling.f32;
}

/* Whether nearly all bytes are read: weights of products, operands of reductions. */
static bool only_reads(const char *family)
{
    static const char *const families[] = {"gemm_", "block_f32", "block_i8", "reduce_"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strncmp(family, families[i], strlen(families[i])) == 0)
            return true;
    return false;
}

/* The smallest level that holds so much. */
static int level_of(const takt_check *c, double bytes)
{
    int level = 0;
    while (level < 3 &&
           (c->ceiling.level_bytes[level] <= 0 || bytes > c->ceiling.level_bytes[level]))
        level++;
    return level;
}

/* Whichever of bandwidth and arithmetic is nearer to its ceiling, and that; false if neither is
 * known. */
static bool print_share(const takt_check *c, double bytes, double gbs, double gflops)
{
    static const char *const levels[] = {"L1", "L2", "L3", "DRAM"};
    const bool reads = only_reads(c->unit->family);
    const int level = level_of(c, bytes);
    const double most = (reads ? c->ceiling.read_gbs : c->ceiling.copy_gbs)[level];
    const double peak = peak_of(c);
    const double moved = most > 0 ? gbs / most : 0, done = peak > 0 ? gflops / peak : 0;
    if (done > moved)
        printf("  %5.1f %% of the ceiling: %.1f GFLOP/s", 100 * done, peak);
    else if (moved > 0)
        printf("  %5.1f %% of the ceiling: %.1f GB/s %s %s", 100 * moved, most,
               reads ? "read from" : "through", levels[level]);
    return done > 0 || moved > 0;
}

void check_report(takt_check *c, const char *what, double seconds, double bytes, double flops)
{
    if (c->once) { /* without ceilings: whether there would be one to compare with */
        c->timed += bytes > 0 || flops > 0;
        return;
    }
    const double gbs = bytes / seconds * 1e-9, gflops = flops / seconds * 1e-9;
    printf("%-12s %-10s %-28s %10.2f us", c->unit->family, c->kernel->name, what, seconds * 1e6);
    if (bytes > 0)
        printf(" %8.2f GB/s", gbs);
    if (flops > 0)
        printf(" %8.2f GFLOP/s", gflops);
    c->timed += print_share(c, bytes, gbs, gflops) || !c->ceiling.is_known;
    printf("\n");
}
