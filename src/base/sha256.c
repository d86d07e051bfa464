/* sha256.c - SHA-256 as specified in FIPS 180-4. */
#include "base/sha256.h"

#include <string.h>

static const uint32_t round_constants[64] = {
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2,
};

static uint32_t rotate(uint32_t x, int bits)
{
    return x >> bits | x << (32 - bits);
}

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void add_block(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64], s[8];
    for (size_t i = 0; i < 16; i++)
        w[i] = big_endian(block + 4 * i);
    for (size_t i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(s, state, sizeof s);
    for (size_t i = 0; i < 64; i++) {
        const uint32_t a = s[0], e = s[4];
        const uint32_t t1 = s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                            ((e & s[5]) ^ (~e & s[6])) + round_constants[i] + w[i];
        const uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                            ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (size_t i = 0; i < 8; i++)
        state[i] += s[i];
}

void takt_sha256_init(takt_sha256 *sha)
{
    static const uint32_t start[8] = {
        0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
        0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
    };
    memcpy(sha->state, start, sizeof start);
    sha->length = 0;
}

void takt_sha256_add(takt_sha256 *sha, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    size_t held = (size_t)(sha->length % 64);
    sha->length += length;
    while (length > 0) {
        if (held == 0 && length >= 64) {
            add_block(sha->state, at);
            at += 64;
            length -= 64;
            continue;
        }
        const size_t count = length < 64 - held ? length : 64 - held;
        memcpy(sha->block + held, at, count);
        held += count;
        at += count;
        length -= count;
        if (held == 64) {
            add_block(sha->state, sha->block);
            held = 0;
        }
    }
}

void takt_sha256_end(takt_sha256 *sha, uint8_t digest[TAKT_SHA256_BYTES])
{
    static const uint8_t padding[64] = {0x80};
    const uint64_t bits = sha->length * 8;
    const size_t held = (size_t)(sha->length % 64);
    uint8_t tail[8];
    for (size_t i = 0; i < 8; i++)
        tail[i] = (uint8_t)(bits >> (56 - 8 * i));
    takt_sha256_add(sha, padding, held < 56 ? 56 - held : 120 - held);
    takt_sha256_add(sha, tail, sizeof tail);
    for (size_t i = 0; i < TAKT_SHA256_BYTES; i++)
        digest[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

void takt_sha256_text(const uint8_t digest[TAKT_SHA256_BYTES], char text[TAKT_SHA256_TEXT])
{
    for (size_t i = 0; i < TAKT_SHA256_BYTES; i++) {
        text[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    text[2 * TAKT_SHA256_BYTES] = '\0';
}
