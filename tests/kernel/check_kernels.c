/* check_kernels.c - checks every kernel variant that runs here against its scalar reference.
 *
 *     check_kernels [--family NAME] [--isa NAME] [--kernel NAME] [--seed N] [--bench] [--once]
 *                   [--digest] [--list] [--cuda] [--device] [--part I/N]
 *     check_kernels --sweep tile,prefetch [--family NAME]
 *     check_kernels --sweep levels [--family NAME]
 *
 * Variants are found in the registry, checks by the name of the family. A crash is caught, the
 * kernel named, and the run goes on. --digest prints one number per kernel: equal numbers on two
 * machines mean equal bits. --bench shows every variant next to its ceiling, and it is a failure if
 * one shows none; --once looks for that alone, without the time. --cuda checks the device kernels
 * instead, which run on fibers (tests/util/grid.h); with --device, on the first device. --part cuts
 * a run into N processes: I is 0 to N - 1.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <takt/measure.h>

#include "check.h"
#include "cuda_device.h"
#include "cuda_planted.h"
#include "sweep.h"

#define TAKT_CHECK(family) check_fn check_##family;
#include "check_list.inc"
#undef TAKT_CHECK

static const struct {
    const char *family;
    check_fn *run;
} checks[] = {
#define TAKT_CHECK(family) {#family, check_##family},
#include "check_list.inc"
#undef TAKT_CHECK
    {NULL, NULL},
};

/* Variant and reference are compiled by one compiler and could share its bugs; these numbers were
 * the same with gcc and clang, on aarch64 and x86-64. They also change with the check's own data:
 * then compare two machines by --digest before recording new ones. */
static const struct {
    const char *family;
    uint64_t digest; /* with seed 1 */
} recorded[] = {
#include "digests.inc"
};

static sigjmp_buf crash;
static volatile sig_atomic_t crash_armed;
static void *volatile crash_address;

static void on_crash(int signal, siginfo_t *info, void *context)
{
    (void)context;
    crash_address = info->si_addr;
    if (crash_armed)
        siglongjmp(crash, signal);
    _exit(128 + signal);
}

static void give_up(void)
{
    siglongjmp(crash, SIGUSR1);
}

static void catch_crashes(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
}

/* "4 bytes past the end of buffer 1" */
static void describe(const takt_check *c, const unsigned char *at, char *text, size_t size)
{
    snprintf(text, size, "at address %p", (const void *)at);
    for (int i = 0; i < CHECK_SLOTS; i++) {
        const unsigned char *p = c->placed[i].p;
        if (p == NULL)
            continue;
        const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = c->placed[i].bytes;
        if (at >= p + bytes && (size_t)(at - p) < bytes + page)
            snprintf(text, size, "%td bytes past the end of buffer %d", at - p - (ptrdiff_t)bytes,
                     i);
        if (at < p && (size_t)(p - at) <= page)
            snprintf(text, size, "%td bytes before buffer %d", p - at, i);
    }
}

/* Runs one check under the signal handlers; returns the number of failures. */
static int run(takt_check *c, check_fn *check, const takt_kernel *reference)
{
    static takt_kernel guarded; /* outlives a crash */
    const takt_kernel *real = c->kernel;
    const uint64_t state = check_fp_state();
    guarded = *real;
    guarded.run = check_guard(c, real->run);
    c->kernel = &guarded;
    c->failures = 0;
    const int signal = sigsetjmp(crash, 1);
    crash_armed = signal == 0;
    if (signal == 0) {
        check(c, reference);
    } else if (c->give_up != NULL) {
        c->failures++;
    } else {
        char place[100];
        describe(c, crash_address, place, sizeof place);
        check_fail(c, "signal %d (%s) %s", signal, strsignal(signal), place);
    }
    crash_armed = 0;
    c->kernel = real;
    check_set_fp_state(state); /* a crash may have left it changed */
    return c->failures > 0;
}

static bool get_memory(takt_check *c)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < CHECK_SLOTS; i++) {
        unsigned char *p = mmap(NULL, CHECK_SLOT_BYTES + 2 * page, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED || mprotect(p, page, PROT_NONE) != 0 ||
            mprotect(p + page + CHECK_SLOT_BYTES, page, PROT_NONE) != 0)
            return false;
        c->slot[i] = p + page;
    }
    return true;
}

static check_fn *find_check(const char *family)
{
    for (size_t i = 0; checks[i].family != NULL; i++)
        if (strcmp(checks[i].family, family) == 0)
            return checks[i].run;
    return NULL;
}

static const takt_kernel *find_reference(const char *family)
{
    for (size_t i = 0; i < takt_kernel_unit_count; i++)
        if (takt_kernel_units[i]->isa == TAKT_ISA_scalar &&
            strcmp(takt_kernel_units[i]->family, family) == 0)
            return &takt_kernel_units[i]->kernels[0];
    return NULL;
}

typedef struct options {
    const char *family, *kernel, *isa, *sweep;
    uint64_t seed;
    size_t part, parts;
    bool bench, once, digest, list, cuda, device;
} options;

static void compare_with_recorded(takt_check *c)
{
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++)
        if (strcmp(recorded[i].family, c->unit->family) == 0 && recorded[i].digest != c->digest)
            check_fail(c, "digest %016" PRIx64 ", recorded as %016" PRIx64, c->digest,
                       recorded[i].digest);
}

static int check_unit(takt_check *c, const takt_kernel_unit *unit, const options *o,
                      takt_isa_set isas)
{
    check_fn *check = find_check(unit->family);
    const takt_kernel *reference = find_reference(unit->family);
    const bool runs = (isas & UINT32_C(1) << unit->isa) != 0;
    int failed = 0;
    for (size_t i = 0; i < unit->count; i++) {
        c->kernel = &unit->kernels[i];
        c->unit = unit;
        if (o->kernel != NULL && strcmp(o->kernel, c->kernel->name) != 0)
            continue;
        if (o->list || !runs) {
            printf("%s/%s%s\n", unit->family, c->kernel->name, runs ? "" : ": cannot run here");
            continue;
        }
        if (check == NULL || reference == NULL) {
            printf("FAIL %s has no %s\n", unit->family,
                   check == NULL ? "check in tests/kernel" : "scalar variant");
            return 1;
        }
        c->random = o->seed;
        c->digest = UINT64_C(0xcbf29ce484222325);
        c->timed = 0;
        failed += run(c, check, reference);
        check_case(c, "all cases");
        if (c->failures == 0) {
            if (c->bench && c->timed == 0)
                check_fail(c, "no time next to its ceiling");
            if (o->seed == 1)
                compare_with_recorded(c);
            failed += c->failures > 0;
        }
        if (o->digest)
            printf("%s/%s %016" PRIx64 "\n", unit->family, c->kernel->name, c->digest);
    }
    return failed;
}

static bool parse_part(const char *text, options *o)
{
    char rest;
    return sscanf(text, "%zu/%zu%c", &o->part, &o->parts, &rest) == 2 && o->part < o->parts;
}

static bool parse(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--bench") == 0)
            o->bench = true;
        else if (strcmp(argv[i], "--once") == 0)
            o->once = true;
        else if (strcmp(argv[i], "--digest") == 0)
            o->digest = true;
        else if (strcmp(argv[i], "--list") == 0)
            o->list = true;
        else if (strcmp(argv[i], "--cuda") == 0)
            o->cuda = true;
        else if (strcmp(argv[i], "--device") == 0)
            o->cuda = o->device = true;
        else if (value != NULL && strcmp(argv[i], "--family") == 0)
            o->family = argv[++i];
        else if (value != NULL && strcmp(argv[i], "--isa") == 0)
            o->isa = argv[++i];
        else if (value != NULL && strcmp(argv[i], "--kernel") == 0)
            o->kernel = argv[++i];
        else if (value != NULL && strcmp(argv[i], "--sweep") == 0)
            o->sweep = argv[++i];
        else if (value != NULL && strcmp(argv[i], "--seed") == 0)
            o->seed = strtoull(argv[++i], NULL, 0);
        else if (value != NULL && strcmp(argv[i], "--part") == 0 && parse_part(value, o))
            i++;
        else
            return false;
    }
    return true;
}

static bool is_wanted(const takt_kernel_unit *unit, size_t index, const options *o)
{
    const char *isa = takt_isa_name(unit->isa);
    return index % o->parts == o->part &&
           (o->family == NULL || strcmp(o->family, unit->family) == 0) &&
           (o->isa == NULL || (isa != NULL && strcmp(o->isa, isa) == 0));
}

/* Checks without a family, such as the kernels that are broken on purpose. */
static bool is_rest_wanted(const options *o)
{
    return o->part == 0 && !o->device && !o->list && !o->digest && o->family == NULL &&
           o->kernel == NULL && o->isa == NULL && (o->cuda || !o->bench);
}

/* Shares are left out where the machine cannot be measured. */
static void measure_ceiling(takt_check *c)
{
    takt_ctx *ctx;
    takt_ceilings all;
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        return;
    if (takt_ceilings_get(ctx, NULL, false, &all) == TAKT_OK) {
        c->ceiling.is_known = true;
        c->ceiling.f32 = all.one.f32_gflops;
        c->ceiling.f64 = all.one.f64_gflops;
        c->ceiling.i8 = all.one.int8_gops;
        c->ceiling.f16 = all.one.f16_gflops;
        c->ceiling.bf16 = all.one.bf16_gflops;
        for (int i = 0; i < 4; i++) {
            const double read = all.one.read_gbs[i], copy = all.one.copy_gbs[i];
            c->ceiling.read_gbs[i] = read;
            c->ceiling.copy_gbs[i] = read > copy ? read : copy;
            c->ceiling.level_bytes[i] = (double)all.cache_bytes[i];
        }
    }
    takt_ctx_destroy(ctx);
}

int main(int argc, char **argv)
{
    static takt_check c;
    options o = {.seed = 1, .parts = 1};
    if (!parse(argc, argv, &o)) {
        fprintf(stderr,
                "usage: check_kernels [--family NAME] [--isa NAME] [--kernel NAME] [--seed N] "
                "[--bench] [--once] [--digest] [--list] [--cuda] "
                "[--device] [--part I/N] | --sweep tile,prefetch | --sweep "
                "levels [--family NAME]\n");
        return 2;
    }
    if (o.sweep == NULL && o.family != NULL && find_check(o.family) == NULL) {
        fprintf(stderr, "check_kernels: there is no family %s; --list names them\n", o.family);
        return 2;
    }
    if (o.sweep != NULL)
        return (strcmp(o.sweep, "levels") == 0 ? check_sweep_levels(o.family, false)
                                               : check_sweep(o.sweep, o.family)) != 0;
    if (!get_memory(&c)) {
        fprintf(stderr, "check_kernels: no memory for guarded buffers\n");
        return 2;
    }
    const char *why = o.device ? device_open() : NULL;
    if (why != NULL) {
        printf("check_kernels: skipped: %s\n", why);
        return 77;
    }
    catch_crashes();
    setvbuf(stdout, NULL, _IOLBF, 0);
    c.bench = o.bench || o.once;
    c.once = o.once;
    if (c.bench && !c.once)
        measure_ceiling(&c);
    const takt_isa_set isas = takt_isa_detect();
    int failed = 0;
    for (size_t i = 0; i < takt_kernel_unit_count && !o.cuda; i++)
        if (is_wanted(takt_kernel_units[i], i, &o))
            failed += check_unit(&c, takt_kernel_units[i], &o, isas);
    for (size_t i = 0; o.cuda && device_unit(i) != NULL; i++)
        if (is_wanted(device_unit(i), i, &o))
            failed += check_unit(&c, device_unit(i), &o, isas);
    if (o.cuda && is_rest_wanted(&o)) {
        c.give_up = give_up;
        c.bench = false;
        failed += device_planted(&c, find_check, run) != 0;
    }
    if (!o.list && o.isa != NULL && c.cases == 0) {
        printf("FAIL no kernel for %s runs here\n", o.isa);
        failed++;
    }
    if (!o.cuda && is_rest_wanted(&o)) {
        c.give_up = give_up;
        c.bench = false;
        failed += check_planted(&c, run);
        failed += o.once && check_sweep_levels(NULL, true) != 0;
    }
    printf("%lu cases, seed %" PRIu64 ": %s\n", c.cases, o.seed, failed ? "FAILED" : "all equal");
    return failed != 0;
}
