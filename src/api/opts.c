/* opts.c - optimisation levels, caps on vector code, and the settings that follow from options. */
#include "api/opts.h"

#include <string.h>

#include "api/backends.h"
#include "api/require.h"
#include "base/written.h"
#include "os/pool.h"
#include "pass/pass.h"
#include "pass/passes.h"

/* ---- levels ---- */

/* Settings of an optimisation level, as docs/options.md lists them. */
typedef struct plan_level {
    bool is_scalar;  /* no vector code unless requested by name */
    bool lowers_all; /* every composite is decomposed */
    bool is_fused;   /* nodes share a step where they can */
    const char *passes;
    bool searches; /* other orders of the steps are tried */
} plan_level;

static const plan_level levels[] = {
    {.is_scalar = true, .lowers_all = true, .is_fused = false, .passes = "-all"},
    {.is_scalar = false, .lowers_all = false, .is_fused = false, .passes = "-licensed"},
    {.is_scalar = false, .lowers_all = false, .is_fused = true, .passes = NULL},
    {.is_scalar = false, .lowers_all = false, .is_fused = true, .searches = true},
};

enum { LEVELS = sizeof levels / sizeof *levels, USUAL = 2 };

/* `given` as in the options: -1 for -O0, 0 for the default. NULL: there is no such level. */
static const plan_level *level_of(int given)
{
    const int number = given == -1 ? 0 : given == 0 ? USUAL : given;
    return number >= 0 && number < LEVELS ? &levels[number] : NULL;
}

takt_status takt_opts_level(takt_plan_options *o, int level)
{
    if (o == NULL || level < 0 || level >= LEVELS)
        return TAKT_ERR_ARGUMENT;
    o->level = level == 0 ? -1 : level;
    return TAKT_OK;
}

/* ---- families ---- */

/* Values of takt_plan_options.simd for a family: 0 unset, ON, or 1 + an ISA. */
enum { SAID_NOTHING = 0, OFF = 1 + TAKT_ISA_scalar, ON = 255 };

static const char *const families[TAKT_FAMILIES] = {
#define X(name, text, about) [TAKT_FAMILY_##name] = text,
    TAKT_FAMILY_LIST(X)
#undef X
};

const char *takt_family_name(takt_family family)
{
    return (unsigned)family < TAKT_FAMILIES ? families[family] : NULL;
}

/* The code of "on", "off" or an ISA's name; SAID_NOTHING for any other word. */
static unsigned char code_of(const char *cap)
{
    if (strcmp(cap, "on") == 0)
        return ON;
    if (strcmp(cap, "off") == 0)
        return OFF;
    for (int isa = 0; isa < 32; isa++) {
        const char *name = takt_isa_name((takt_isa)isa);
        if (name != NULL && strcmp(name, cap) == 0)
            return (unsigned char)(1 + isa);
    }
    return SAID_NOTHING;
}

takt_status takt_opts_simd(takt_plan_options *o, takt_family family, const char *cap)
{
    if (o == NULL || cap == NULL || (unsigned)family >= TAKT_FAMILIES)
        return TAKT_ERR_ARGUMENT;
    const unsigned char code = code_of(cap);
    if (code == SAID_NOTHING)
        return TAKT_ERR_NOT_FOUND;
    o->simd[family] = code;
    return TAKT_OK;
}

/* The 16-bit kernels that only `numerics = fast` uses; "gemm_bf16/dot" is one of gemm_bf16. */
static bool is_of_fast(const char *name)
{
    static const char *const known[] = {"gemm_bf16", "gemm_f16", "product_bf16", "depthwise_bf16",
                                        "winograd_bf16"};
    const takt_span kernels = {name, strcspn(name, "/")};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (takt_span_is(kernels, known[i]))
            return true;
    return false;
}

static takt_status no_family(takt_ctx *ctx, const char *name)
{
    takt_fail(ctx, TAKT_E_NAME, "there is no kernel family called %s", name);
    if (is_of_fast(name))
        return takt_fail_hint(ctx,
                              "%s kernels are those of --numerics fast: leave it out, or cap "
                              "gemm and conv",
                              name);
    const char *end = strchr(name, '_'); /* the kernels rows_f32 are those of rows */
    takt_family family;
    for (int f = 0; end != NULL && f < TAKT_FAMILIES; f++) {
        family = (takt_family)f;
        if (takt_span_is((takt_span){name, (size_t)(end - name)}, takt_family_name(family)))
            return takt_fail_hint(ctx, "%s kernels belong to the family %s", name,
                                  takt_family_name(family));
    }
#define X(NAME, text, about) " " text
    return takt_fail_hint(ctx, "families are" TAKT_FAMILY_LIST(X));
#undef X
}

/* A comma-separated list of the set's names; "" never, `scalar` is always in it. */
static const char *names_of(takt_isa_set set, char *to, size_t size)
{
    size_t length = 0;
    to[0] = '\0';
    for (int isa = 0; isa < 32; isa++) {
        const char *name = (set >> isa & 1) != 0 ? takt_isa_name((takt_isa)isa) : NULL;
        const size_t need = name != NULL ? strlen(name) + 2 : 0;
        if (name == NULL || length + need >= size)
            continue;
        memcpy(to + length, length > 0 ? ", " : "", length > 0 ? 2 : 0);
        length += length > 0 ? 2 : 0;
        memcpy(to + length, name, strlen(name) + 1);
        length += strlen(name);
    }
    return to;
}

/* A cap must be available on this machine: otherwise it would silently mean scalar. */
static takt_status check_isa(takt_ctx *ctx, const char *name)
{
    const takt_isa_set here = takt_isa_detect();
    const unsigned char code = code_of(name);
    char names[160];
    if (code == SAID_NOTHING || code == ON || strcmp(name, "off") == 0)
        takt_fail(ctx, TAKT_E_NAME, "there is no instruction set called %s", name);
    else if ((here >> (code - 1) & 1) == 0)
        takt_fail(ctx, TAKT_E_OPTION, "this machine cannot run %s", name);
    else
        return TAKT_OK;
    return takt_fail_hint(ctx, "this machine has %s", names_of(here, names, sizeof names));
}

takt_status takt_opts_simd_words(takt_ctx *ctx, takt_plan_options *o, const char *words)
{
    TAKT_NEED(NULL, ctx);
    while (words != NULL && *words != '\0') {
        char word[64];
        const size_t length = strcspn(words, ",");
        if (length >= sizeof word)
            return takt_fail(ctx, TAKT_E_OPTION, "\"%.*s\" is not of the form family=cap", 60,
                             words);
        memcpy(word, words, length);
        word[length] = '\0';
        char *equals = strchr(word, '=');
        if (equals == NULL || equals == word || equals[1] == '\0') {
            takt_fail(ctx, TAKT_E_OPTION, "\"%s\" is not of the form family=cap", word);
            return takt_fail_hint(ctx, "for example gemm=off,conv=on");
        }
        *equals = '\0';
        int family = 0;
        while (family < TAKT_FAMILIES && strcmp(families[family], word) != 0)
            family++;
        if (family == TAKT_FAMILIES)
            return no_family(ctx, word);
        if (strcmp(equals + 1, "on") != 0 && strcmp(equals + 1, "off") != 0)
            TAKT_TRY(check_isa(ctx, equals + 1));
        o->simd[family] = code_of(equals + 1);
        words += length + (words[length] == ',');
    }
    return TAKT_OK;
}

/* ---- settings ---- */

/* ISAs that the steps of each family may use: a family's own setting overrides the level. */
static takt_status settle_isas(takt_ctx *ctx, const takt_plan_options *o, const plan_level *level,
                               takt_plan_settings *s)
{
    takt_isa_set all = takt_isa_detect(), scalar;
    (void)takt_isa_cap(all, "scalar", &scalar);
    if (o->isa != NULL) {
        TAKT_TRY(check_isa(ctx, o->isa));
        (void)takt_isa_cap(all, o->isa, &all);
    }
    s->isas = level->is_scalar && o->isa == NULL ? scalar : all;
    for (int f = 0; f < TAKT_FAMILIES; f++) {
        const unsigned char code = o->simd[f];
        s->family_isas[f] = code == SAID_NOTHING ? s->isas : all;
        if (code == SAID_NOTHING || code == ON)
            continue;
        const char *name = takt_isa_name((takt_isa)(code - 1));
        if (name == NULL)
            return takt_fail(ctx, TAKT_E_OPTION, "simd of family %s is %d, which means nothing",
                             families[f], code);
        TAKT_TRY(check_isa(ctx, name));
        (void)takt_isa_cap(all, name, &s->family_isas[f]);
    }
    return TAKT_OK;
}

/* The family has vector kernels here. */
static bool has_fast(const takt_plan_settings *s, const char *family)
{
    const takt_kernel *kernel =
        takt_kernel_find(family, s->family_isas[TAKT_FAMILY_CONV], NULL, 0, NULL);
    return kernel != NULL && kernel->rank > 0;
}

/* Other backends have no kernels for 16-bit activations. */
static bool narrows_activations(const takt_plan_settings *s)
{
    return s->is_fast && !s->lower_all && s->backend == s->fallback &&
           takt_pass_is_on(&takt_pass_narrow_activations, s->passes_off) &&
           has_fast(s, "product_bf16") && has_fast(s, "depthwise_bf16");
}

/* They are steps of their own without fusion, and have twice the bytes. */
static bool widens_activations(const takt_plan_settings *s)
{
    return !s->is_fast && !s->lower_all && s->fuse && s->backend == s->fallback &&
           s->hint != TAKT_HINT_MEMORY &&
           takt_pass_is_on(&takt_pass_widen_activations, s->passes_off);
}

static takt_status settle_numerics(takt_ctx *ctx, const char *word, takt_plan_settings *s)
{
    s->is_fast = word != NULL && strcmp(word, "fast") == 0;
    if (word == NULL || s->is_fast || strcmp(word, "exact") == 0)
        return TAKT_OK;
    takt_fail(ctx, TAKT_E_OPTION, "there are no numerics called %s", word);
    return takt_fail_hint(ctx, "numerics are exact and fast");
}

static takt_status settle_passes(takt_ctx *ctx, const takt_plan_options *o, const plan_level *level,
                                 takt_plan_settings *s)
{
    takt_pass_choice choice = {0};
    TAKT_TRY(takt_pass_choose(ctx, level->passes, &choice));
    if (s->is_fast &&
        has_fast(s, "gemm_bf16")) /* which beats the transform, and bf16 would not survive it */
        TAKT_TRY(takt_pass_choose(ctx, "-winograd,-join-attention", &choice));
    const bool had_winograd = takt_pass_is_on(&takt_pass_winograd, choice.off);
    if (s->recomputes) /* its packed weights take four times the bytes */
        TAKT_TRY(takt_pass_choose(ctx, "-winograd", &choice));
    TAKT_TRY(takt_pass_choose(ctx, o->passes, &choice));
    s->no_winograd =
        s->recomputes && had_winograd && !takt_pass_is_on(&takt_pass_winograd, choice.off);
    s->passes_off = choice.off;
    s->fuse = choice.fuse == 0 ? level->is_fused : choice.fuse > 0;
    s->min_gain = choice.min_gain;
    return TAKT_OK;
}

static takt_status settle_hint(takt_ctx *ctx, const takt_plan_options *o, const plan_level *level,
                               takt_plan_settings *s)
{
    const char *hint = o->hint != NULL ? o->hint : "latency";
    const bool is_memory = strcmp(hint, "memory") == 0,
               is_throughput = strcmp(hint, "throughput") == 0;
    if (!is_memory && !is_throughput && strcmp(hint, "latency") != 0) {
        takt_fail(ctx, TAKT_E_OPTION, "there is no hint %s", hint);
        return takt_fail_hint(ctx, "hints are latency, throughput and memory");
    }
    if (is_throughput && o->threads == 0)
        s->threads = 1;
    s->searches = is_memory || level->searches;
    s->recomputes = is_memory;
    s->hint = is_memory       ? TAKT_HINT_MEMORY
              : is_throughput ? TAKT_HINT_THROUGHPUT
                              : TAKT_HINT_LATENCY;
    return TAKT_OK;
}

takt_status takt_precision_of(takt_ctx *ctx, const char *word, takt_dtype *precision)
{
    static const struct {
        const char *word;
        takt_dtype dtype;
    } known[] = {{"f32", TAKT_F32}, {"f16", TAKT_F16}, {"bf16", TAKT_BF16}};
    *precision = TAKT_F32;
    for (size_t i = 0; word != NULL && i < sizeof known / sizeof *known; i++)
        if (strcmp(word, known[i].word) == 0) {
            *precision = known[i].dtype;
            return TAKT_OK;
        }
    if (word == NULL)
        return TAKT_OK;
    takt_fail(ctx, TAKT_E_OPTION, "there is no precision %s", word);
    return takt_fail_hint(ctx, "weights are stored in f32, f16 or bf16");
}

takt_status takt_checks_of(takt_ctx *ctx, const char *word, bool *on)
{
    *on = word == NULL || strcmp(word, "on") == 0;
    if (*on || strcmp(word, "off") == 0)
        return TAKT_OK;
    takt_fail(ctx, TAKT_E_OPTION, "checks are on or off, not %s", word);
    return takt_fail_hint(ctx, "for every 100th run: takt_session_options.check_every");
}

/* "x,y": every one must be an input. */
static takt_status settle_donated(const takt_model *m, const takt_plan_options *o,
                                  takt_plan_settings *s)
{
    const char *words = o->donate;
    while (words != NULL && *words != '\0') {
        const size_t length = takt_written_length(words, ",");
        bool found = false;
        for (size_t i = 0; i < m->graph->input_count && !found; i++)
            found =
                takt_written_is((takt_span){words, length}, takt_span_of(m->graph->inputs[i].name));
        if (!found) {
            takt_fail(m->ctx, TAKT_E_NAME, "the model has no input called %.*s", (int)length,
                      words);
            return takt_fail_hint(m->ctx, "`takt inspect MODEL` shows its inputs");
        }
        words += length + (words[length] == ',');
    }
    s->donated = o->donate;
    return TAKT_OK;
}

takt_status takt_plan_settle(const takt_model *m, const takt_plan_options *o, takt_plan_settings *s)
{
    takt_ctx *ctx = m->ctx;
    const plan_level *level = level_of(o->level);
    const char *backend = o->backend != NULL ? o->backend : m->graph->backend;
    TAKT_TRY(takt_require_words(ctx, o->require, o->blas));
    s->backend = s->fallback = takt_backend_default();
    if (backend != NULL)
        TAKT_TRY(takt_backend_find(ctx, backend, o->blas, &s->backend));
    if (o->threads < 0 || o->threads > TAKT_POOL_MAX)
        return takt_fail(ctx, TAKT_E_OPTION, "%d threads: give 1 to %d", o->threads, TAKT_POOL_MAX);
    if (level == NULL)
        return takt_fail(ctx, TAKT_E_OPTION, "there is no optimisation level %d", o->level);
    s->threads = o->threads > 0 ? o->threads : takt_pool_default_threads();
    TAKT_TRY(settle_hint(ctx, o, level, s));
    TAKT_TRY(settle_donated(m, o, s));
    TAKT_TRY(takt_settle_blocking(ctx, &o->cache, s));
    TAKT_TRY(takt_precision_of(ctx, o->precision, &s->precision));
    TAKT_TRY(settle_numerics(ctx, o->numerics, s));
    TAKT_TRY(settle_isas(ctx, o, level, s));
    TAKT_TRY(settle_passes(ctx, o, level, s));
    s->fuse = s->fuse && !s->backend->is_reference;
    s->lower_all = level->lowers_all && !s->backend->is_reference;
    s->narrows_activations = narrows_activations(s);
    s->widens_activations = widens_activations(s);
    s->library = takt_backend_which(backend, o->blas);
    s->reuse = !o->no_reuse;
    s->in_place = !o->no_in_place;
    s->memory_limit = (size_t)o->memory_limit;
    s->activation_limit = (size_t)o->activation_limit;
    TAKT_TRY(takt_settle_tradeoff(ctx, o->tradeoff, s));
    TAKT_TRY(takt_settle_limits(ctx, o->space_limits, s));
    s->is_dry = o->dry;
    return TAKT_OK;
}
