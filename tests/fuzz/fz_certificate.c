/* fz_certificate.c - any bytes as a certificate, unchanged and with a matching seal: what is read
 * is written and read again. */
#include <stdio.h>

#include "base/ctx.h"
#include "fuzz/target.h"
#include "util/meter.h"
#include "verify/certificate.h"

static void again(takt_ctx *ctx, const takt_certificate *c)
{
    takt_certificate other;
    takt_text text;
    takt_text_init(&text, ctx);
    takt_certificate_write(c, &text);
    must(text.status == TAKT_OK);
    must(takt_certificate_read(ctx, "written", (takt_span){text.at, text.length}, &other) ==
         TAKT_OK);
    must(other.count == c->count && other.model == c->model && other.is_real == c->is_real);
    for (size_t i = 0; i < c->count; i++) {
        must(other.cuts[i].input == c->cuts[i].input && other.cuts[i].at == c->cuts[i].at);
        must(other.cuts[i].proved_count == c->cuts[i].proved_count);
    }
    takt_certificate_deinit(&other);
    takt_text_deinit(&text);
}

static void read_one(takt_ctx *ctx, const char *bytes, size_t size)
{
    takt_certificate c;
    const takt_status status = takt_certificate_read(ctx, "fuzz", (takt_span){bytes, size}, &c);
    must(status != TAKT_ERR_INTERNAL && (status == TAKT_OK || takt_last_error(ctx)[0] != '\0'));
    if (status == TAKT_OK)
        again(ctx, &c);
    takt_certificate_deinit(&c);
}

/* Appends the seal that a writer would put there. */
static void read_sealed(takt_ctx *ctx, const uint8_t *data, size_t size)
{
    uint8_t digest[TAKT_SHA256_BYTES];
    char hex[TAKT_SHA256_TEXT];
    takt_sha256 sha;
    takt_text text;
    takt_sha256_init(&sha);
    takt_sha256_add(&sha, data, size);
    takt_sha256_end(&sha, digest);
    takt_sha256_text(digest, hex);
    takt_text_init(&text, ctx);
    takt_text_put(&text, (const char *)data, size);
    takt_text_add(&text, "end %s\n", hex);
    if (text.status == TAKT_OK)
        read_one(ctx, text.at, text.length);
    takt_text_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    meter m = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&m);
    const takt_config config = {.allocator = &allocator, .limits.bytes = 1 << 28};
    takt_ctx *ctx;
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        return 0;
    read_one(ctx, (const char *)data, size);
    read_sealed(ctx, data, size);
    takt_ctx_destroy(ctx);
    must(m.live == 0);
    return 0;
}
