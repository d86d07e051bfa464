/* rope.c - rotary position settings: rope_theta, rope_scaling and, since version 5 of transformers,
 * rope_parameters. */
#include <math.h>
#include <string.h>

#include "io/hf/hf.h"

static double number_of(const takt_json *object, const char *key, double fallback)
{
    const takt_json *v = takt_hf_member(object, key);
    return v != NULL && v->kind == TAKT_JSON_NUMBER ? v->number : fallback;
}

static int64_t turned_of(const takt_hf *h)
{
    const int64_t heads = takt_hf_integer(h, "attention.head_count", 1);
    const int64_t width = takt_hf_integer(h, "embedding_length", 0);
    const int64_t size = takt_hf_integer(h, "attention.key_length", heads > 0 ? width / heads : 0);
    return takt_hf_integer(h, "rope.dimension_count", size);
}

/* Llama 3.1: a factor for each pair. */
static takt_status put_llama3(takt_hf *h, const takt_json *scaling, double base)
{
    const int64_t pairs = turned_of(h) / 2;
    const double factor = number_of(scaling, "factor", 8);
    const double low = number_of(scaling, "low_freq_factor", 1);
    const double high = number_of(scaling, "high_freq_factor", 4);
    const double first = number_of(scaling, "original_max_position_embeddings", 8192);
    if (pairs < 1 || pairs > 1 << 14 || !(factor > 0) || !(first > 0) || !(high > low))
        return takt_hf_fail(h, TAKT_E_GGUF_MODEL, scaling,
                            "the factors of rope_scaling are impossible");
    float *values = takt_arena_array(h->arena, (size_t)pairs, sizeof *values);
    if (values == NULL)
        return TAKT_ERR_MEMORY;
    for (int64_t i = 0; i < pairs; i++) {
        const double wave = 6.283185307179586 * pow(base, (double)i / (double)pairs);
        const double smooth = (first / wave - low) / (high - low);
        values[i] = (float)(wave < first / high  ? 1
                            : wave > first / low ? factor
                                                 : 1 / ((1 - smooth) / factor + smooth));
    }
    return takt_hf_put_tensor(h, "rope_freqs.weight", values, pairs);
}

static takt_status put_list(takt_hf *h, const takt_json *scaling, const char *key, const char *name)
{
    const takt_json *list = takt_hf_member(scaling, key);
    const int64_t pairs = turned_of(h) / 2;
    size_t i = 0;
    if (list == NULL || list->kind != TAKT_JSON_ARRAY || list->count != (uint64_t)pairs)
        return takt_hf_fail(h, TAKT_E_GGUF_MODEL, scaling, "%s is not a list of %lld numbers", key,
                            (long long)pairs);
    float *values = takt_arena_array(h->arena, list->count, sizeof *values);
    if (values == NULL)
        return TAKT_ERR_MEMORY;
    for (const takt_json *v = takt_json_first(list); v != NULL; v = takt_json_next(v)) {
        if (v->kind != TAKT_JSON_NUMBER || !(v->number > 0) || !isfinite(v->number))
            return takt_hf_fail(h, TAKT_E_GGUF_MODEL, v, "%s holds something else than factors",
                                key);
        values[i++] = (float)v->number;
    }
    return takt_hf_put_tensor(h, name, values, pairs);
}

/* Phi 3: factors for short and for long texts. */
static takt_status put_longrope(takt_hf *h, const takt_json *scaling)
{
    const double most = number_of(h->config, "max_position_embeddings", 4096);
    double first = number_of(h->config, "original_max_position_embeddings", 0);
    first = first > 0 ? first : number_of(scaling, "original_max_position_embeddings", most);
    const double factor = number_of(scaling, "factor", first > 0 ? most / first : 1);
    const double fallback = factor > 1 && first > 1 ? sqrt(1 + log(factor) / log(first)) : 1;
    if (!(first >= 1) || !(first < 1e9))
        return takt_hf_fail(h, TAKT_E_GGUF_MODEL, scaling,
                            "original_max_position_embeddings is impossible");
    TAKT_TRY(put_list(h, scaling, "long_factor", "rope_factors_long.weight"));
    TAKT_TRY(put_list(h, scaling, "short_factor", "rope_factors_short.weight"));
    TAKT_TRY(takt_hf_put_integer(h, "rope.scaling.original_context_length", (int64_t)first));
    return takt_hf_put_number(h, "rope.scaling.attn_factor",
                              number_of(scaling, "attention_factor", fallback));
}

static takt_status put_yarn(takt_hf *h, const takt_json *scaling)
{
    const double most = number_of(h->config, "max_position_embeddings", 4096);
    const double factor = number_of(scaling, "factor", 1);
    const double first = number_of(scaling, "original_max_position_embeddings", most);
    const double scale = number_of(scaling, "mscale", 0);
    const double all = number_of(scaling, "mscale_all_dim", 0);
    const takt_json *cut = takt_hf_member(scaling, "truncate");
    if (!(factor >= 1) || !(first >= 1) || !(first < 1e9))
        return takt_hf_fail(h, TAKT_E_GGUF_MODEL, scaling,
                            "the factors of rope_scaling are impossible");
    double attention = 0.1 * log(factor) + 1;
    if (scale > 0 && all > 0)
        attention = (0.1 * scale * log(factor) + 1) / (0.1 * all * log(factor) + 1);
    attention = number_of(scaling, "attention_factor", attention);
    TAKT_TRY(takt_hf_put_text(h, "rope.scaling.type", "yarn"));
    TAKT_TRY(takt_hf_put_number(h, "rope.scaling.factor", factor));
    TAKT_TRY(takt_hf_put_integer(h, "rope.scaling.original_context_length", (int64_t)first));
    TAKT_TRY(
        takt_hf_put_number(h, "rope.scaling.yarn_beta_fast", number_of(scaling, "beta_fast", 32)));
    TAKT_TRY(
        takt_hf_put_number(h, "rope.scaling.yarn_beta_slow", number_of(scaling, "beta_slow", 1)));
    const bool is_exact = cut != NULL && cut->kind == TAKT_JSON_BOOL && !cut->boolean;
    TAKT_TRY(takt_hf_put_bool(h, "rope.scaling.yarn_exact", is_exact));
    /* Files store it without the factor's effect. */
    return takt_hf_put_number(h, "rope.scaling.attn_factor", attention / (0.1 * log(factor) + 1));
}

/* {"sliding_attention": {...}, "full_attention": {...}}: uses the second, and the first's base. */
static takt_status part(takt_hf *h, const takt_json **scaling)
{
    const takt_json *full = takt_hf_member(*scaling, "full_attention");
    const takt_json *near = takt_hf_member(*scaling, "sliding_attention");
    const double base =
        number_of(near, "rope_theta", number_of(h->config, "rope_local_base_freq", 0));
    if (base > 0)
        TAKT_TRY(takt_hf_put_number(h, "rope.freq_base_swa", base));
    *scaling = full != NULL ? full : *scaling;
    return TAKT_OK;
}

static takt_status scale(takt_hf *h, const takt_json *scaling, double base)
{
    const takt_json *type = takt_hf_member(scaling, "rope_type");
    type = type != NULL ? type : takt_hf_member(scaling, "type");
    const char *name = type != NULL && type->kind == TAKT_JSON_STRING ? type->text : "default";
    if (strcmp(name, "default") == 0)
        return TAKT_OK;
    if (strcmp(name, "linear") == 0) {
        TAKT_TRY(takt_hf_put_text(h, "rope.scaling.type", "linear"));
        return takt_hf_put_number(h, "rope.scaling.factor", number_of(scaling, "factor", 1));
    }
    if (strcmp(name, "llama3") == 0)
        return put_llama3(h, scaling, base);
    if (strcmp(name, "yarn") == 0)
        return put_yarn(h, scaling);
    if (strcmp(name, "longrope") == 0 || strcmp(name, "su") == 0)
        return put_longrope(h, scaling);
    return takt_hf_fail(h, TAKT_E_GGUF_UNSUPPORTED, type,
                        "rope_scaling is of type %.40s; linear, llama3, yarn and longrope are read",
                        name);
}

takt_status takt_hf_rope(takt_hf *h)
{
    const takt_json *scaling = takt_hf_member(h->config, "rope_parameters");
    scaling = scaling != NULL ? scaling : takt_hf_member(h->config, "rope_scaling");
    TAKT_TRY(part(h, &scaling));
    const double base =
        number_of(scaling, "rope_theta",
                  number_of(h->config, "rope_theta", number_of(h->config, "rotary_emb_base", 0)));
    double share = number_of(
        scaling, "partial_rotary_factor",
        number_of(h->config, "partial_rotary_factor", number_of(h->config, "rotary_pct", 1)));
    if (base < 0 || !(share > 0) || share > 1)
        return takt_hf_fail(h, TAKT_E_GGUF_MODEL, scaling,
                            "rope_theta or partial_rotary_factor is "
                            "impossible");
    if (base > 0)
        TAKT_TRY(takt_hf_put_number(h, "rope.freq_base", base));
    if (share < 1)
        TAKT_TRY(takt_hf_put_integer(h, "rope.dimension_count",
                                     (int64_t)((double)turned_of(h) * share)));
    return scale(h, scaling, base > 0 ? base : 10000);
}
