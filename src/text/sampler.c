/* sampler.c - the settings, and the chain of samplers. */
#include "text/sampler.h"

#include <math.h>
#include <string.h>

#include "base/options.h"

#define TAKT_SAMPLER(name) extern const takt_sampler takt_sampler_##name;
#include "sampler_list.inc"
#undef TAKT_SAMPLER
static const takt_sampler *const samplers[] = {
#define TAKT_SAMPLER(name) &takt_sampler_##name,
#include "sampler_list.inc"
#undef TAKT_SAMPLER
    NULL};

const takt_sampler *takt_sampler_at(size_t index)
{
    return index < sizeof samplers / sizeof *samplers ? samplers[index] : NULL;
}

const takt_sampler *takt_sampler_named(const char *name, size_t length)
{
    for (size_t i = 0; samplers[i] != NULL; i++)
        if ((length == 1 && *name == samplers[i]->letter) ||
            (strlen(samplers[i]->name) == length && memcmp(samplers[i]->name, name, length) == 0))
            return samplers[i];
    return NULL;
}

/* ---- the chain ---- */

static takt_status refuse(takt_ctx *ctx, const char *what)
{
    return takt_fail(ctx, TAKT_E_OPTION, "%s", what);
}

/* Where the name after the one at `at` begins; blanks before it do not count. */
static const char *next_name(const char *at, size_t length)
{
    at += length + (at[length] == ';');
    return at + strspn(at, " ");
}

static takt_status check_order(takt_ctx *ctx, const char *order)
{
    for (const char *at = order; *at != '\0';) {
        const size_t length = strcspn(at, ";");
        if (takt_sampler_named(at, length) == NULL) {
            (void)takt_fail(ctx, TAKT_E_OPTION, "there is no sampler called %.*s", (int)length, at);
            return takt_fail_hint(ctx, "the default is " TAKT_SAMPLER_ORDER);
        }
        at = next_name(at, length);
    }
    return TAKT_OK;
}

/* Replaces zeros by their meaning. */
static void fill(takt_sampling *s)
{
    s->samplers = s->samplers != NULL ? s->samplers : TAKT_SAMPLER_ORDER;
    s->top_p = s->top_p > 0 ? s->top_p : 1;
    s->typical_p = s->typical_p > 0 ? s->typical_p : 1;
    s->repeat_penalty = s->repeat_penalty != 0 ? s->repeat_penalty : 1;
    s->repeat_last_n = s->repeat_last_n != 0 ? s->repeat_last_n : 64;
    s->mirostat_tau = s->mirostat_tau != 0 ? s->mirostat_tau : 5;
    s->mirostat_eta = s->mirostat_eta != 0 ? s->mirostat_eta : 0.1;
    s->dynatemp_exponent = s->dynatemp_exponent != 0 ? s->dynatemp_exponent : 1;
    s->xtc_threshold = s->xtc_threshold != 0 ? s->xtc_threshold : 0.1;
    s->dry_base = s->dry_base != 0 ? s->dry_base : 1.75;
    s->dry_allowed_length = s->dry_allowed_length != 0 ? s->dry_allowed_length : 2;
    s->dry_penalty_last_n = s->dry_penalty_last_n != 0 ? s->dry_penalty_last_n : -1;
}

takt_status takt_sampling_settle(takt_ctx *ctx, const takt_sampling *given, takt_sampling *s)
{
    TAKT_TRY(takt_options_read(ctx, "takt_sampling", given, s, sizeof *s));
    const double all[] = {s->temperature,      s->top_p,          s->min_p,
                          s->typical_p,        s->repeat_penalty, s->frequency_penalty,
                          s->presence_penalty, s->mirostat_tau,   s->mirostat_eta,
                          s->dynatemp_range,   s->top_n_sigma,    s->dynatemp_exponent,
                          s->xtc_probability,  s->xtc_threshold,  s->dry_multiplier,
                          s->dry_base};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!isfinite(all[i]))
            return refuse(ctx, "a setting of the sampling is not a finite number");
    if (s->bias == NULL && s->bias_count > 0)
        return refuse(ctx, "there are biases of tokens, but their list is NULL");
    if (s->repeat_penalty < 0)
        return refuse(ctx, "the repeat penalty must be positive");
    if (s->top_p < 0 || s->min_p < 0 || s->min_p > 1 || s->typical_p < 0)
        return refuse(ctx, "top-p, min-p and typical-p lie between 0 and 1");
    if (s->dynatemp_range < 0 || s->dynatemp_exponent < 0)
        return refuse(ctx, "range and exponent of the dynamic temperature are not negative");
    if (s->xtc_probability < 0 || s->xtc_probability > 1 || s->xtc_threshold < 0)
        return refuse(ctx, "probability and threshold of XTC lie between 0 and 1");
    if (s->dry_multiplier < 0 || s->dry_base < 0 || s->dry_allowed_length < 0)
        return refuse(ctx, "multiplier, base and allowed length of DRY are not negative");
    if (s->dry_breakers == NULL && s->dry_breaker_count > 0)
        return refuse(ctx, "there are sequence breakers of DRY, but their list is NULL");
    if (s->mirostat < 0 || s->mirostat > 2)
        return refuse(ctx, "mirostat is 0 (off), 1 or 2");
    fill(s);
    return check_order(ctx, s->samplers);
}

takt_status takt_sampling_check_biases(takt_ctx *ctx, const takt_sampling *s,
                                       const takt_tokenizer *tokenizer)
{
    const size_t count = takt_tokenizer_count(tokenizer);
    for (size_t i = 0; i < s->bias_count; i++) {
        if (s->bias[i].id >= 0 && (size_t)s->bias[i].id < count)
            continue;
        (void)takt_fail(ctx, TAKT_E_OPTION,
                        "a bias is for token %d; the vocabulary has ids from 0 to %zu",
                        s->bias[i].id, count - 1);
        return takt_fail_hint(ctx, "takt tokenize --ids prints the ids of a text");
    }
    return TAKT_OK;
}

static void bias(takt_candidates *c, const takt_sampling *s)
{
    for (size_t i = 0; i < s->bias_count; i++) {
        float *score = takt_candidates_score(c, s->bias[i].id);
        for (size_t k = 0; c->scores == NULL && score == NULL && k < c->count; k++)
            score = c->at[k].id == s->bias[i].id ? &c->at[k].score : NULL;
        if (score != NULL)
            *score += s->bias[i].bias;
        c->has_numbers = c->has_numbers && (score == NULL || !isnan(*score)); /* inf - inf */
    }
}

static void discard_nan(takt_candidates *c)
{
    size_t count = 0;
    if (c->has_numbers)
        return;
    takt_candidates_list(c);
    for (size_t i = 0; i < c->count; i++)
        if (!isnan(c->at[i].score))
            c->at[count++] = c->at[i];
    c->count = count;
    c->has_numbers = true;
}

void takt_sample_apply(takt_candidates *c, const takt_sampling *s)
{
    for (const char *at = s->samplers; *at != '\0';) {
        const size_t length = strcspn(at, ";");
        const takt_sampler *sampler = takt_sampler_named(at, length);
        const bool is_temperature = sampler == &takt_sampler_temperature;
        if (sampler->always || (s->temperature > 0 && (s->mirostat == 0 || is_temperature)))
            sampler->apply(c, s);
        at = next_name(at, length);
    }
}

static takt_status nothing_to_draw(takt_ctx *ctx)
{
    (void)takt_fail(ctx, TAKT_E_GGUF_MODEL,
                    "every score of the next token is NaN: the weights are damaged");
    return takt_fail_hint(ctx, "convert the model again, or take the file from another source");
}

takt_status takt_sample_chain(takt_ctx *ctx, takt_candidates *c, const takt_sampling *s,
                              int32_t *id)
{
    bias(c, s);
    discard_nan(c);
    if (c->count == 0)
        return nothing_to_draw(ctx);
    takt_sample_apply(c, s);
    if (s->temperature <= 0) {
        *id = takt_candidates_first(c);
        return TAKT_OK;
    }
    if (s->mirostat != 0)
        takt_sampler_mirostat.apply(c, s);
    *id = c->at[takt_candidates_draw(c)].id;
    return TAKT_OK;
}
