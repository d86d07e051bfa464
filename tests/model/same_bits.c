/* same_bits.c - one digest per model, for any threads, instruction set, passes without a licence,
 * and position in a batch.
 *
 * tests/model/digests.txt holds `model sizes digest` for the standard passes, and again for no
 * licensed ones. The file is the same for every machine: cross-built programs are compared with it
 * too. `same_bits --bless` rewrites it.
 */
#include <string.h>

#include <takt/takt.h>

#include "base/sha256.h"
#include "kernel/isa.h"
#include "pass/pass.h"
#include "test.h"

static takt_ctx *ctx;
static FILE *blessing; /* NULL unless --bless */

typedef struct model {
    const char *path, *sizes;
    const char *batch; /* name of the dimension that counts samples, or NULL */
} model;

static const model models[] = {
    {"examples/mlp.takt", "batch=3", "batch"},
    {"examples/cnn.takt", "batch=2", "batch"},
    {"examples/encoder.takt", "batch=2,seq=19", "batch"},
    {"examples/gpt.takt", NULL, NULL},
    {"examples/stream.takt", NULL, NULL},
};

/* ---- running ---- */

static size_t count_of(const takt_tensor_view *v)
{
    size_t n = 1;
    for (int d = 0; d < v->rank; d++)
        n *= (size_t)v->dims[d];
    return n;
}

/* Values that are the same on every machine: sixteen bits of a small generator. */
static void fill(const takt_tensor_view *v, uint32_t seed, size_t period)
{
    uint32_t x = seed;
    const size_t n = count_of(v);
    for (size_t i = 0; i < n; i++) {
        if (period > 0 && i % period == 0)
            x = seed; /* every sample the same */
        x = x * 1664525u + 1013904223u;
        if (v->dtype == TAKT_F32)
            ((float *)v->data)[i] = ((float)(x >> 16) - 32768.0f) / 16384.0f;
        else if (v->dtype == TAKT_I64)
            ((int64_t *)v->data)[i] = (int64_t)(x >> 16) % 7;
    }
}

static takt_session *open_session(const takt_model *m, const takt_plan_options *options)
{
    takt_plan *plan;
    takt_session *s = NULL;
    if (EXPECT_OK(ctx, takt_plan_create(m, options, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)))
        for (size_t i = 0; i < takt_session_input_count(s); i++)
            fill(takt_session_input(s, i), 12345 + (uint32_t)i, 0);
    takt_plan_destroy(plan);
    return s;
}

/* A digest of all outputs; all NaNs count as equal. */
static void digest(takt_session *s, char hex[65])
{
    takt_sha256 hash;
    takt_sha256_init(&hash);
    for (size_t i = 0; i < takt_session_output_count(s); i++) {
        const takt_tensor_view *v = takt_session_output(s, i);
        const size_t n = count_of(v), bytes = (size_t)takt_dtype_bits(v->dtype) / 8;
        for (size_t k = 0; k < n; k++) {
            const char *at = (const char *)v->data + k * bytes;
            float f = 0;
            memcpy(&f, at, bytes < 4 ? bytes : 4);
            const uint32_t nan = 0x7fc00000;
            const bool is_nan = v->dtype == TAKT_F32 && f != f;
            takt_sha256_add(&hash, is_nan ? (const void *)&nan : at, bytes);
        }
    }
    uint8_t raw[32];
    takt_sha256_end(&hash, raw);
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", raw[i]);
}

static bool digest_of(const takt_model *m, const takt_plan_options *options, char hex[65])
{
    takt_session *s = open_session(m, options);
    const bool ok =
        s != NULL && EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
    if (ok)
        digest(s, hex);
    takt_session_destroy(s);
    return ok;
}

/* ---- the committed digests ---- */

static void compare(const model *m, const char *kind, const char *hex)
{
    if (blessing != NULL) {
        fprintf(blessing, "%s %s %s\n", m->path, kind, hex);
        return;
    }
    FILE *file = fopen("tests/model/digests.txt", "r");
    char path[128], word[32], want[80];
    bool found = false;
    while (file != NULL && fscanf(file, "%127s %31s %79s", path, word, want) == 3)
        if (strcmp(path, m->path) == 0 && strcmp(word, kind) == 0) {
            found = true;
            EXPECT(strcmp(hex, want) == 0, "%s (%s) gives %s, committed is %s", path, kind, hex,
                   want);
        }
    EXPECT(found, "%s (%s) has no committed digest", m->path, kind);
    if (file != NULL)
        fclose(file);
}

/* ---- what must not matter ---- */

static void threads_and_isas(const model *m, const takt_model *loaded, takt_plan_options o,
                             const char *want)
{
    static const int threads[] = {1, 2, 3, 4, 8};
    static const char *const caps[] = {"scalar", "neon", "avx2", NULL};
    const size_t count = TEST_EMULATED ? 2 : sizeof threads / sizeof *threads;
    char hex[65];
    for (size_t i = 0; i < count; i++) {
        o.threads = threads[i];
        if (digest_of(loaded, &o, hex))
            EXPECT(strcmp(hex, want) == 0, "%s with %d threads", m->path, o.threads);
    }
    for (size_t i = 0; i < sizeof caps / sizeof *caps; i++) {
        takt_isa_set set;
        if (caps[i] != NULL && (!takt_isa_cap(takt_isa_detect(), caps[i], &set) ||
                                (i > 0 && set == UINT32_C(1) << TAKT_ISA_scalar)))
            continue; /* not of this machine */
        o.isa = caps[i];
        if (digest_of(loaded, &o, hex))
            EXPECT(strcmp(hex, want) == 0, "%s under %s", m->path, caps[i] ? caps[i] : "all");
    }
}

static void passes_without_licence(const model *m, const takt_model *loaded, takt_plan_options o,
                                   const char *want)
{
    char hex[65], words[64];
    for (size_t i = 0; i < takt_pipeline_count(); i++) {
        const takt_pass *pass = takt_pipeline_pass(i);
        if (pass->licence != NULL)
            continue;
        snprintf(words, sizeof words, "-%s", pass->name);
        o.passes = words;
        if (digest_of(loaded, &o, hex))
            EXPECT(strcmp(hex, want) == 0, "%s without pass %s", m->path, pass->name);
    }
}

/* The highest levels agree, and so do the lowest, which run no licensed pass. */
static void levels(const model *m, const takt_model *loaded, const char *want,
                   const char *unlicensed)
{
    char hex[65];
    for (int level = 0; level <= 3; level++) {
        takt_plan_options o = {.sizes = m->sizes};
        if (EXPECT_OK(NULL, takt_opts_level(&o, level)) && digest_of(loaded, &o, hex))
            EXPECT(strcmp(hex, level >= 2 ? want : unlicensed) == 0, "%s at -O%d", m->path, level);
    }
}

/* No licensed pass: then -O0 (scalar, unfused, everything lowered) must agree too. */
static void unlicensed(const model *m, const takt_model *loaded, const char *standard)
{
    char words[256] = "", hex[65], want[65];
    for (size_t i = 0; i < takt_pipeline_count(); i++)
        if (takt_pipeline_pass(i)->licence != NULL) {
            strncat(words, ",-", sizeof words - strlen(words) - 1);
            strncat(words, takt_pipeline_pass(i)->name, sizeof words - strlen(words) - 1);
        }
    takt_plan_options o = {.sizes = m->sizes, .passes = words};
    if (!digest_of(loaded, &o, want))
        return;
    compare(m, "unlicensed", want);
    levels(m, loaded, standard, want);
    o = (takt_plan_options){.sizes = m->sizes, .passes = words, .no_reuse = true};
    if (digest_of(loaded, &o, hex))
        EXPECT(strcmp(hex, want) == 0, "%s without memory reuse", m->path);
}

/* Five equal samples give five equal results, equal to the sample alone. */
static void place_in_batch(const model *m, const takt_model *loaded)
{
    if (m->batch == NULL)
        return;
    enum { SAMPLES = 5 };
    char sizes[2][64];
    const char *rest = strchr(m->sizes, ',');
    snprintf(sizes[0], sizeof sizes[0], "%s=1%s", m->batch, rest != NULL ? rest : "");
    snprintf(sizes[1], sizeof sizes[1], "%s=%d%s", m->batch, SAMPLES, rest != NULL ? rest : "");
    takt_session *s[2];
    for (int k = 0; k < 2; k++) {
        s[k] = open_session(loaded, &(takt_plan_options){.sizes = sizes[k]});
        if (s[k] == NULL)
            return;
        const takt_tensor_view *x = takt_session_input(s[k], 0);
        fill(x, 777, count_of(x) / (size_t)x->dims[0]);
        EXPECT(takt_session_run(s[k]) == TAKT_OK, "%s", takt_session_error(s[k])->message);
    }
    const takt_tensor_view *one = takt_session_output(s[0], 0),
                           *many = takt_session_output(s[1], 0);
    const size_t bytes = count_of(one) * (size_t)takt_dtype_bits(one->dtype) / 8;
    for (size_t i = 0; i < SAMPLES; i++)
        EXPECT(memcmp((const char *)many->data + i * bytes, one->data, bytes) == 0,
               "%s: sample %zu of %d differs from the sample alone", m->path, i, SAMPLES);
    takt_session_destroy(s[0]);
    takt_session_destroy(s[1]);
}

static void check(const model *m)
{
    takt_model *loaded;
    if (!EXPECT_OK(ctx, takt_model_load(ctx, m->path, NULL, &loaded)))
        return;
    char want[65] = "";
    const takt_plan_options o = {.sizes = m->sizes};
    if (digest_of(loaded, &o, want)) {
        compare(m, "standard", want);
        threads_and_isas(m, loaded, o, want);
        passes_without_licence(m, loaded, o, want);
    }
    unlicensed(m, loaded, want);
    place_in_batch(m, loaded);
    takt_model_destroy(loaded);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--bless") == 0)
        blessing = fopen("tests/model/digests.txt", "w");
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        for (size_t i = 0; i < sizeof models / sizeof *models; i++)
            check(&models[i]);
    takt_ctx_destroy(ctx);
    if (blessing != NULL)
        fclose(blessing);
    return test_done();
}
