/* data_digest.c - whether two data sets are the same, as resuming a training requires.
 *
 * SHA-256 over the type of every field, how its values are scaled, and a CRC-32C for every 64 KiB
 * of its samples: fast enough for data that is larger than memory, safe against accidents, not
 * against a deliberate collision.
 */
#include <string.h>

#include "api/model.h"
#include "api/train/data.h"
#include "base/crc32c.h"
#include "base/sha256.h"

enum { PIECE = 1 << 16 };

static void add_number(takt_sha256 *sha, uint64_t value)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    takt_sha256_add(sha, bytes, sizeof bytes);
}

static void add_real(takt_sha256 *sha, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_number(sha, bits);
}

static void add_bytes(takt_sha256 *sha, const uint8_t *bytes, size_t length)
{
    for (size_t at = 0; at < length; at += PIECE)
        add_number(sha, takt_crc32c(0, bytes + at, length - at < PIECE ? length - at : PIECE));
}

/* The samples in use, which may be the first of all. */
static void add_field(takt_sha256 *sha, const takt_data *d, const takt_field *field)
{
    const takt_type *type = &field->tensor.type;
    takt_data_place p;
    takt_sha256_add(sha, field->name, strlen(field->name) + 1);
    add_number(sha, (uint64_t)type->dtype);
    add_number(sha, (uint64_t)type->rank);
    for (int i = 1; i < type->rank; i++)
        add_number(sha, (uint64_t)type->dim[i]);
    if (!takt_data_find(d, field->name, &p))
        return;
    const bool is_window = d->set.window > 0; /* then the last label follows the samples */
    const size_t count = (size_t)d->set.samples * p.stride + is_window;
    const size_t bits = (size_t)takt_dtype_bits(type->dtype);
    add_bytes(sha, takt_tensor_data(&field->tensor), (count * bits + 7) / 8);
}

takt_status takt_data_digest(const takt_data *d, char text[TAKT_DIGEST_TEXT])
{
    TAKT_NEED(NULL, d);
    TAKT_NEED(d->set.ctx, text);
    takt_sha256 sha;
    uint8_t digest[TAKT_SHA256_BYTES];
    takt_sha256_init(&sha);
    add_number(&sha, d->set.samples);
    add_number(&sha, (uint64_t)d->set.window);
    add_real(&sha, d->options.scale);
    add_real(&sha, d->options.mean);
    add_real(&sha, d->options.deviation);
    for (size_t i = 0; i < d->set.count; i++)
        add_field(&sha, d, &d->set.field[i]);
    takt_sha256_end(&sha, digest);
    takt_sha256_text(digest, text);
    return TAKT_OK;
}
