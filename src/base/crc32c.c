/* crc32c.c - the Castagnoli checksum: by instruction if available, else eight bytes per step. */
#include "base/crc32c.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

static const uint32_t table[8][256] = {
#include "base/crc32c_table.inc"
};

static uint64_t load(const uint8_t *at)
{
    uint64_t word = 0;
    for (size_t i = 0; i < 8; i++)
        word |= (uint64_t)at[i] << (8 * i);
    return word;
}

uint32_t takt_crc32c_table(uint32_t crc, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    crc = ~crc;
    for (; length >= 8; length -= 8, at += 8) {
        const uint64_t word = load(at) ^ crc;
        crc = 0;
        for (size_t i = 0; i < 8; i++)
            crc ^= table[7 - i][word >> (8 * i) & 0xFF];
    }
    for (size_t i = 0; i < length; i++)
        crc = crc >> 8 ^ table[0][(crc ^ at[i]) & 0xFF];
    return ~crc;
}

#if defined(__ARM_FEATURE_CRC32)

#include <arm_acle.h>

static bool can(void)
{
    return true;
}

static uint32_t step(uint32_t crc, uint64_t word)
{
    return __crc32cd(crc, word);
}

#elif defined(__aarch64__) && defined(__linux__)

/* The instruction is optional in the first version of the architecture, so it is detected. */
static bool can(void)
{
    enum { HAS_CRC32 = 1 << 7 };
    return (getauxval(AT_HWCAP) & HAS_CRC32) != 0;
}

static uint32_t step(uint32_t crc, uint64_t word)
{
    __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
    return crc;
}

#elif defined(__x86_64__)

static bool can(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSE4_2) != 0;
}

static uint32_t step(uint32_t crc, uint64_t word)
{
    uint64_t wide = crc;
    __asm__("crc32q %1, %0" : "+r"(wide) : "r"(word));
    return (uint32_t)wide;
}

#else

static bool can(void)
{
    return false;
}

static uint32_t step(uint32_t crc, uint64_t word)
{
    return crc ^ (uint32_t)word; /* never reached */
}

#endif

uint32_t takt_crc32c(uint32_t crc, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    if (length >= 64 && can()) {
        crc = ~crc;
        for (; length >= 8; length -= 8, at += 8)
            crc = step(crc, load(at));
        crc = ~crc;
    }
    return takt_crc32c_table(crc, at, length);
}
