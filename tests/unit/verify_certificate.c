/* verify_certificate.c - certificate files: written, checked, for another model, damaged. */
#include <string.h>

#include <takt/takt.h>

#include "base/error.h"
#include "test.h"
#include "util/inject.h"
#include "verify/certificate.h"

static takt_ctx *ctx;

static const char net_text[] = "model net(x: f32[2]) {\n  return relu(2 * x) - 0.5 * x\n}\n";
static const char other_text[] = "model net(x: f32[2]) {\n  return relu(2 * x) - 0.25 * x\n}\n";
static char certificate[4096];
static size_t certificate_length;

static int drop(void *user, const char *bytes, size_t length)
{
    (void)user, (void)bytes, (void)length;
    return 0;
}

/* 0, or the id of the error. */
static int verify(const char *text, const takt_verify_options *options)
{
    takt_model *m = NULL;
    int id = 0;
    if (takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &m) != TAKT_OK ||
        takt_model_verify(m, options, TAKT_FORMAT_TEXT, drop, NULL, NULL) != TAKT_OK)
        id = takt_last_error_info(ctx)->id;
    takt_model_destroy(m);
    return id;
}

static const char *file_of(const char *name)
{
    static char path[2][600];
    static int next;
    next = 1 - next;
    const char *folder = getenv("TAKT_TEST_TMP");
    snprintf(path[next], sizeof path[next], "%.500s/%s", folder != NULL ? folder : "/tmp", name);
    return path[next];
}

static void store(const char *path, const char *bytes, size_t length)
{
    FILE *f = fopen(path, "wb");
    EXPECT(f != NULL && fwrite(bytes, 1, length, f) == length, "%s", path);
    if (f != NULL)
        fclose(f);
}

#define BOX                                                                                        \
    "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)"                     \
    "(declare-const Y_1 Real)(assert (>= X_0 -1))(assert (<= X_0 1))(assert (>= X_1 -1))"          \
    "(assert (<= X_1 1))"

static void files(void)
{
    const char *holds = file_of("holds.vnnlib");
    store(holds, BOX "(assert (<= Y_0 -0.1))", strlen(BOX "(assert (<= Y_0 -0.1))"));
    const char *path = file_of("proof.cert");
    takt_verify_options options = {.property = holds, .certificate = path, .threads = 1};
    EXPECT(verify(net_text, &options) == 0, "%s", takt_last_error(ctx));
    FILE *f = fopen(path, "rb");
    if (!EXPECT(f != NULL, "no certificate"))
        return;
    certificate_length = fread(certificate, 1, sizeof certificate, f);
    fclose(f);
    options.certificate = NULL;
    options.check = path;
    EXPECT(verify(net_text, &options) == 0, "%s", takt_last_error(ctx));
    EXPECT(verify(other_text, &options) == TAKT_E_CERTIFICATE_OTHER, "%s", takt_last_error(ctx));
    const char *other = "tests/corpus/vnnlib/good_first";
    options.property = other;
    EXPECT(verify(net_text, &options) == TAKT_E_CERTIFICATE_OTHER, "%s", takt_last_error(ctx));
}

/* Every byte changed, every length: the seal, or the reader, refuses it. */
static void damage(void)
{
    takt_certificate c;
    for (size_t i = 0; i < 2 * certificate_length; i++) {
        char copy[sizeof certificate];
        size_t length = certificate_length;
        memcpy(copy, certificate, length);
        if (i < length)
            copy[i] ^= (char)(1 << i % 7);
        else
            length = i - length;
        EXPECT(takt_certificate_read(ctx, "c", (takt_span){copy, length}, &c) != TAKT_OK &&
                   takt_last_error_info(ctx)->id == TAKT_E_CERTIFICATE,
               "change %zu is not seen", i);
        takt_certificate_deinit(&c);
    }
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_certificate c;
    takt_ctx *own;
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    status = takt_certificate_read(own, "c", (takt_span){certificate, certificate_length}, &c);
    takt_certificate_deinit(&c);
    takt_ctx_destroy(own);
    return status;
}

static void sweeps(void)
{
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
}

static void start(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void stop(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(start, files, damage, sweeps, stop)
