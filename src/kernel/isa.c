/* isa.c - detects what the processor can run, and applies a cap by name. */
#define _GNU_SOURCE /* for syscall() */
#include "kernel/isa.h"

#include "base/inner.h"

#include <string.h>

#define BIT(isa) (UINT32_C(1) << TAKT_ISA_##isa)

#if defined __aarch64__ && defined __linux__
#include <sys/auxv.h>

/* Bytes of a scalable vector, where there are any: rdvl x0, #1, for assemblers of every setting. */
static size_t vector_bytes(void)
{
    register size_t bytes __asm__("x0");
    __asm__ volatile(".inst 0x04bf5020" : "=r"(bytes));
    return bytes;
}

static takt_isa_set detect(void)
{
    const unsigned long one = getauxval(AT_HWCAP), two = getauxval(AT_HWCAP2);
    takt_isa_set set = BIT(neon);
    set |= one & (1ul << 20) ? BIT(dotprod) : 0; /* ASIMDDP */
    set |= two & (1ul << 13) ? BIT(i8mm) : 0;
    set |= (one & 0x600ul) == 0x600ul ? BIT(fp16) : 0;      /* FPHP and ASIMDHP */
    set |= (one & 0x800600ul) == 0x800600ul ? BIT(fhm) : 0; /* and ASIMDFHM */
    set |= two & (1ul << 14) ? BIT(bf16) : 0;
    if ((one & (1ul << 22)) != 0) {
        const size_t bytes = vector_bytes(); /* kernels are made for one length */
        set |= bytes == 32 ? BIT(sve256) : bytes == 64 ? BIT(sve512) : 0;
    }
    return set;
}

#elif defined __aarch64__

static takt_isa_set detect(void)
{
    return BIT(neon);
}

#elif defined __x86_64__
#include <cpuid.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

typedef struct leaf {
    unsigned a, b, c, d;
} leaf;

/* Zeros beyond `last`, the highest leaf. Each question takes 20 us in some virtual machines. */
static leaf cpuid(unsigned last, unsigned number, unsigned sub)
{
    leaf r = {0, 0, 0, 0};
    if (last >= number)
        __cpuid_count(number, sub, r.a, r.b, r.c, r.d);
    return r;
}

/* Which register files the operating system saves: without that, an instruction cannot be used.
 * Written as bytes because the intrinsic needs -mxsave. */
static uint64_t saved_state(void)
{
    uint32_t low, high;
    __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* Linux enables the large tile registers only for processes that request them. */
static bool tiles_granted(void)
{
#ifdef __linux__
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
    return false;
#endif
}

static takt_isa_set detect(void)
{
    const unsigned has_xsave = 1u << 27, has_fma_f16c = 1u << 12 | 1u << 29;
    const unsigned f_dq_bw_vl = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
    const unsigned last = (unsigned)__get_cpuid_max(0, NULL);
    const leaf one = cpuid(last, 1, 0), seven = cpuid(last, 7, 0), seven_1 = cpuid(last, 7, 1);
    if (!(one.c & has_xsave))
        return 0;
    const uint64_t saved = saved_state();
    takt_isa_set set = 0;
    if ((saved & 0x6) != 0x6 || (one.c & has_fma_f16c) != has_fma_f16c || !(seven.b & 1u << 5))
        return set;
    set |= BIT(avx2);
    if ((saved & 0xe6) != 0xe6 || (seven.b & f_dq_bw_vl) != f_dq_bw_vl)
        return set;
    set |= BIT(avx512);
    set |= seven.c & 1u << 11 ? BIT(avx512vnni) : 0;
    set |= seven_1.a & 1u << 5 ? BIT(avx512bf16) : 0;
    set |= seven.d & 1u << 23 ? BIT(avx512fp16) : 0;
    const unsigned tile_bf16_int8 = 1u << 22 | 1u << 24 | 1u << 25;
    if ((set & BIT(avx512vnni)) != 0 && (set & BIT(avx512bf16)) != 0 &&
        (saved & 0x60000) == 0x60000 && (seven.d & tile_bf16_int8) == tile_bf16_int8)
        set |= tiles_granted() ? BIT(amx) : 0;
    return set;
}

#elif defined __wasm_simd128__

static takt_isa_set detect(void)
{
    return BIT(wasm);
}

#else

static takt_isa_set detect(void)
{
    return 0;
}

#endif

TAKT_INNER takt_isa_set takt_isa_detect(void)
{
    return BIT(scalar) | detect();
}

typedef struct row {
    const char *name, *arch;
    takt_isa isa;
} row;

static const row rows[] = {
#define X(name, bit, arch, adds) {#name, arch, TAKT_ISA_##name},
    TAKT_ISA_LIST(X)
#undef X
};

enum { ROWS = sizeof rows / sizeof *rows };

bool takt_isa_cap(takt_isa_set set, const char *cap, takt_isa_set *capped)
{
    size_t c = 0;
    while (c < ROWS && strcmp(rows[c].name, cap) != 0)
        c++;
    *capped = set;
    if (c == ROWS)
        return false;
    takt_isa_set keep = BIT(scalar);
    for (size_t i = 0; i <= c; i++)
        if (strcmp(rows[i].arch, rows[c].arch) == 0)
            keep |= UINT32_C(1) << rows[i].isa;
    *capped = set & keep;
    return true;
}

TAKT_INNER const char *takt_isa_name(takt_isa isa)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].isa == isa)
            return rows[i].name;
    return NULL;
}
