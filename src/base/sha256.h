/* sha256.h - SHA-256 of data that arrives in pieces. */
#ifndef TAKT_BASE_SHA256_H
#define TAKT_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#include "base/inner.h"

enum { TAKT_SHA256_BYTES = 32, TAKT_SHA256_TEXT = 65 };

typedef struct takt_sha256 {
    uint32_t state[8];
    uint64_t length;
    uint8_t block[64];
} takt_sha256;

TAKT_INNER void takt_sha256_init(takt_sha256 *sha);
TAKT_INNER void takt_sha256_add(takt_sha256 *sha, const void *bytes, size_t length);
/* The digest; call init before `sha` is used again. */
TAKT_INNER void takt_sha256_end(takt_sha256 *sha, uint8_t digest[TAKT_SHA256_BYTES]);
/* A digest in hexadecimal, terminated. */
TAKT_INNER void takt_sha256_text(const uint8_t digest[TAKT_SHA256_BYTES],
                                 char text[TAKT_SHA256_TEXT]);

#endif
