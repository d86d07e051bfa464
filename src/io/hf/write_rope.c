/* write_rope.c - rotary position settings, as config.json has them. */
#include <math.h>
#include <string.h>

#include "io/hf/hf_write.h"

static double size_of_head(const takt_hf_out *o)
{
    const double heads = takt_hf_out_number(o, "attention.head_count", 1);
    const double width = takt_hf_out_number(o, "embedding_length", 0);
    return takt_hf_out_number(o, "attention.key_length", heads > 0 ? width / heads : 0);
}

static void open_scaling(takt_json_writer *w, const char *type)
{
    takt_json_put_open(w, "rope_scaling", '{');
    takt_json_put_string(w, "rope_type", type);
    takt_json_put_string(w, "type", type);
}

/* ---- Llama 3.1 ---- */

typedef struct waves {
    double base, factor, first;
} waves;

/* The factor of pair `i` of `pairs`, as rope.c computes it. */
static float factor_of(const waves *s, size_t i, size_t pairs)
{
    const double wave = 6.283185307179586 * pow(s->base, (double)i / (double)pairs);
    const double smooth = (s->first / wave - 1) / 3;
    return (float)(wave < s->first / 4 ? 1
                   : wave > s->first   ? s->factor
                                       : 1 / ((1 - smooth) / s->factor + smooth));
}

static bool fits(const waves *s, const float *values, size_t pairs)
{
    for (size_t i = 0; i < pairs; i++)
        if (fabs((double)factor_of(s, i, pairs) - (double)values[i]) > 1e-5 * s->factor)
            return false;
    return true;
}

/* The file has only the factors: recovers the settings that produce them. */
static takt_status put_llama3(const takt_hf_out *o, const takt_gguf_tensor *t, takt_json_writer *w)
{
    float *values;
    waves s = {.base = takt_hf_out_number(o, "rope.freq_base", 10000)};
    TAKT_TRY(takt_hf_out_floats(o, t, &values));
    for (size_t i = 0; i < t->count; i++)
        s.factor = (double)values[i] > s.factor ? (double)values[i] : s.factor;
    for (s.first = 16; s.first <= 1 << 24; s.first *= 2) {
        if (!fits(&s, values, t->count))
            continue;
        open_scaling(w, "llama3");
        takt_json_put_real(w, "factor", takt_hf_plain(s.factor));
        takt_json_put_real(w, "low_freq_factor", 1);
        takt_json_put_real(w, "high_freq_factor", 4);
        takt_json_put_integer(w, "original_max_position_embeddings", (int64_t)s.first);
        takt_json_close(w, '}');
        return TAKT_OK;
    }
    return takt_gguf_fail(o->m->g, TAKT_E_GGUF_UNSUPPORTED, t->offset,
                          "%s has factors that no settings of a folder give", t->name);
}

/* ---- others ---- */

static takt_status put_factors(const takt_hf_out *o, const char *tensor, const char *name,
                               takt_json_writer *w)
{
    const takt_gguf_tensor *t = takt_gguf_tensor_find(o->m->g, tensor);
    float *values;
    if (t == NULL)
        return takt_gguf_fail(o->m->g, TAKT_E_GGUF_MODEL, 0, "the tensor %s is missing", tensor);
    TAKT_TRY(takt_hf_out_floats(o, t, &values));
    takt_json_put_open(w, name, '[');
    for (size_t i = 0; i < t->count; i++)
        takt_json_number(w, takt_hf_plain((double)values[i]));
    takt_json_close(w, ']');
    return TAKT_OK;
}

static takt_status put_longrope(const takt_hf_out *o, takt_json_writer *w)
{
    const double first = takt_hf_out_number(o, "rope.scaling.original_context_length",
                                            takt_hf_out_number(o, "context_length", 4096));
    takt_json_put_integer(w, "original_max_position_embeddings", (int64_t)first);
    open_scaling(w, "longrope");
    TAKT_TRY(put_factors(o, "rope_factors_short.weight", "short_factor", w));
    TAKT_TRY(put_factors(o, "rope_factors_long.weight", "long_factor", w));
    takt_json_put_real(w, "attention_factor",
                       takt_hf_plain(takt_hf_out_number(o, "rope.scaling.attn_factor", 1)));
    takt_json_close(w, '}');
    return TAKT_OK;
}

static void put_yarn(const takt_hf_out *o, takt_json_writer *w)
{
    const double factor = takt_hf_out_number(o, "rope.scaling.factor", 1);
    const double attention = takt_hf_out_number(o, "rope.scaling.attn_factor", 1);
    const takt_gguf_value *exact = takt_hf_out_find(o, "rope.scaling.yarn_exact");
    open_scaling(w, "yarn");
    takt_json_put_real(w, "factor", takt_hf_plain(factor));
    takt_json_put_integer(w, "original_max_position_embeddings",
                          (int64_t)takt_hf_out_number(o, "rope.scaling.original_context_length",
                                                      takt_hf_out_number(o, "context_length", 0)));
    takt_json_put_real(w, "beta_fast", takt_hf_out_number(o, "rope.scaling.yarn_beta_fast", 32));
    takt_json_put_real(w, "beta_slow", takt_hf_out_number(o, "rope.scaling.yarn_beta_slow", 1));
    takt_json_put_real(w, "attention_factor", attention * (0.1 * log(factor) + 1));
    if (exact != NULL && exact->kind == TAKT_GGUF_BOOL && exact->bytes[0] != 0)
        takt_json_put_bool(w, "truncate", false);
    takt_json_close(w, '}');
}

takt_status takt_hf_write_rope(const takt_hf_out *o, takt_json_writer *w)
{
    const bool is_neox = strcmp(o->architecture, "gptneox") == 0;
    const double base = takt_hf_out_number(o, "rope.freq_base", 0);
    const double near = takt_hf_out_number(o, "rope.freq_base_swa", 0);
    const double size = size_of_head(o);
    const double rotated = takt_hf_out_number(o, "rope.dimension_count", size);
    const takt_gguf_value *type = takt_hf_out_find(o, "rope.scaling.type");
    const takt_span name =
        type != NULL && type->kind == TAKT_GGUF_STRING ? type->texts[0] : takt_span_of("none");
    const takt_gguf_tensor *factors = takt_gguf_tensor_find(o->m->g, "rope_freqs.weight");
    if (base > 0)
        takt_json_put_real(w, is_neox ? "rotary_emb_base" : "rope_theta", takt_hf_plain(base));
    if (near > 0)
        takt_json_put_real(w, "rope_local_base_freq", takt_hf_plain(near));
    if (rotated > 0 && rotated < size)
        takt_json_put_real(w, is_neox ? "rotary_pct" : "partial_rotary_factor", rotated / size);
    if (factors != NULL)
        return put_llama3(o, factors, w);
    if (takt_gguf_tensor_find(o->m->g, "rope_factors_long.weight") != NULL)
        return put_longrope(o, w);
    if (takt_span_is(name, "yarn")) {
        put_yarn(o, w);
    } else if (takt_span_is(name, "linear")) {
        open_scaling(w, "linear");
        takt_json_put_real(w, "factor",
                           takt_hf_plain(takt_hf_out_number(o, "rope.scaling.factor", 1)));
        takt_json_close(w, '}');
    }
    return TAKT_OK;
}
