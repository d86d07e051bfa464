/* target.h - common to all fuzz targets: the entry point, and how failures are reported. */
#ifndef TAKT_TESTS_FUZZ_TARGET_H
#define TAKT_TESTS_FUZZ_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Whatever the bytes are, it returns 0, with nothing left behind. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An invariant. libFuzzer keeps the input of an abort on all platforms, of a trap not on ARM. */
static inline void must(bool holds)
{
    if (!holds)
        abort();
}

#endif
