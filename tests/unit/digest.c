/* digest.c - CRC-32C and SHA-256: known answers, and pieces against the whole. */
#include <string.h>

#include "base/crc32c.h"
#include "base/sha256.h"
#include "test.h"

static void crc_known(void)
{
    unsigned char bytes[32];
    EXPECT_EQ(takt_crc32c(0, "", 0), 0);
    EXPECT_EQ(takt_crc32c(0, NULL, 0), 0);
    EXPECT_EQ(takt_crc32c(0, "123456789", 9), 0xE3069283u);
    memset(bytes, 0, sizeof bytes); /* RFC 3720, B.4 */
    EXPECT_EQ(takt_crc32c(0, bytes, 32), 0x8A9136AAu);
    memset(bytes, 0xFF, sizeof bytes);
    EXPECT_EQ(takt_crc32c(0, bytes, 32), 0x62A8AB43u);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    EXPECT_EQ(takt_crc32c(0, bytes, 32), 0x46DD794Eu);
}

/* By definition: one bit at a time. */
static uint32_t crc_slow(const unsigned char *at, size_t length)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < length; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    }
    return ~crc;
}

static void crc_pieces(void)
{
    unsigned char bytes[400];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 151 + i / 7);
    for (size_t length = 0; length <= sizeof bytes; length++) {
        const uint32_t want = crc_slow(bytes, length);
        EXPECT(takt_crc32c(0, bytes, length) == want, "length %zu", length);
        EXPECT(takt_crc32c_table(0, bytes, length) == want, "length %zu", length);
        const size_t cut = length * 5 / 11;
        EXPECT(takt_crc32c(takt_crc32c(0, bytes, cut), bytes + cut, length - cut) == want,
               "length %zu cut at %zu", length, cut);
    }
}

static const char *sha(const void *bytes, size_t length, size_t piece)
{
    static char text[TAKT_SHA256_TEXT];
    uint8_t digest[TAKT_SHA256_BYTES];
    takt_sha256 s;
    takt_sha256_init(&s);
    for (size_t i = 0; i < length; i += piece)
        takt_sha256_add(&s, (const char *)bytes + i, length - i < piece ? length - i : piece);
    takt_sha256_end(&s, digest);
    takt_sha256_text(digest, text);
    return text;
}

static void sha_known(void)
{
    EXPECT_TEXT(sha("", 0, 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_TEXT(sha("abc", 3, 9),
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    EXPECT_TEXT(sha(two, 56, 56),
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    static char million[1000000];
    memset(million, 'a', sizeof million);
    for (size_t piece = 1; piece < 4000; piece = piece * 7 + 1)
        EXPECT(strcmp(sha(million, sizeof million, piece),
                      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0") == 0,
               "pieces of %zu", piece);
}

static void sha_pieces(void)
{
    unsigned char bytes[200];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 31);
    for (size_t length = 0; length <= sizeof bytes; length++) {
        char whole[TAKT_SHA256_TEXT];
        memcpy(whole, sha(bytes, length, 1000), sizeof whole);
        EXPECT(strcmp(whole, sha(bytes, length, 1)) == 0, "length %zu", length);
        EXPECT(strcmp(whole, sha(bytes, length, 63)) == 0, "length %zu", length);
    }
}

TEST_MAIN(crc_known, crc_pieces, sha_known, sha_pieces)
