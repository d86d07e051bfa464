/* quantize.c - from a model to one of integers: look, round, measure, choose. */
#include "shrink/quantize.h"

#include <string.h>

#include "base/number.h"
#include "base/options.h"
#include "pass/pass.h"
#include "shrink/awq.h"
#include "shrink/equalize.h"
#include "shrink/smooth.h"

enum { BATCH = 8, NOISE_SAMPLES = 64 };

/* ---- options ---- */

takt_status takt_quant_kind_read(takt_ctx *ctx, const char *type, const takt_quant_kind **kind)
{
    const char *word = type != NULL ? type : "int8";
    if (strcmp(word, "int4") == 0)
        word = "w4";
    for (size_t i = 0; i < TAKT_QUANT_TYPES; i++)
        if (strcmp(word, takt_quant_kinds[i].name) == 0) {
            *kind = &takt_quant_kinds[i];
            return TAKT_OK;
        }
    takt_fail(ctx, TAKT_E_OPTION, "there is no quantised type %s", word);
    return takt_fail_hint(ctx, "int8, w8, w4, int16x8 or w4a8");
}

static takt_status read_method(takt_quantizing *z)
{
    static const char *const names[] = {"minmax", "percentile", "mse", "entropy"};
    const char *word = z->o.method != NULL ? z->o.method : "mse";
    const size_t length = strcspn(word, ":");
    z->percent = 99.99;
    for (size_t i = 0; i < 4; i++) {
        if (strlen(names[i]) != length || strncmp(word, names[i], length) != 0)
            continue;
        z->method = (takt_range_method)i;
        if (word[length] == '\0')
            return TAKT_OK;
        const char *number = word + length + 1;
        if (i == TAKT_RANGE_PERCENTILE && takt_number_read(number, strlen(number), &z->percent) &&
            z->percent > 50 && z->percent <= 100)
            return TAKT_OK;
    }
    takt_fail(z->ctx, TAKT_E_OPTION, "there is no method %s", word);
    return takt_fail_hint(z->ctx, "minmax, percentile, percentile:99.9, mse or entropy");
}

/* "0.5%" or 0.005. */
static takt_status read_drop(takt_quantizing *z)
{
    const char *text = z->o.accuracy_drop;
    z->drop = -1;
    if (text == NULL)
        return TAKT_OK;
    const size_t length = strlen(text);
    const bool is_percent = length > 0 && text[length - 1] == '%';
    const bool is_number = takt_number_read(text, length - is_percent, &z->drop);
    z->drop /= is_percent ? 100 : 1;
    if (!is_number || !(z->drop >= 0 && z->drop <= 1)) {
        takt_fail(z->ctx, TAKT_E_OPTION, "an accuracy drop of %s is not a part of the score", text);
        return takt_fail_hint(z->ctx, "half a point is written 0.5%% or 0.005");
    }
    if (z->o.test != NULL)
        return TAKT_OK;
    takt_fail(z->ctx, TAKT_E_SHRINK_DATA, "a budget needs samples with labels to score on");
    return takt_fail_hint(z->ctx, "give them with --data V");
}

static takt_status read_rounding(takt_quantizing *z)
{
    const char *word = z->o.rounding != NULL ? z->o.rounding : "nearest";
    z->is_gptq = strcmp(word, "gptq") == 0;
    z->is_adaround = strcmp(word, "adaround") == 0;
    z->is_awq = strcmp(word, "awq") == 0;
    const bool by_data = z->is_gptq || z->is_adaround || z->is_awq;
    if (!by_data && strcmp(word, "nearest") != 0)
        return takt_fail(z->ctx, TAKT_E_OPTION,
                         "there is no rounding %s: nearest, adaround, gptq or awq", word);
    if (z->is_awq && z->kind->block == 0)
        return takt_fail(z->ctx, TAKT_E_OPTION, "awq is for weights in blocks, w4 or w8: not %s",
                         z->kind->name);
    if (by_data && z->o.calib == NULL) {
        takt_fail(z->ctx, TAKT_E_SHRINK_DATA, "%s needs data: samples of what comes in", word);
        return takt_fail_hint(z->ctx, "give them with --calib D, or round to nearest");
    }
    return TAKT_OK;
}

static takt_status read_options(takt_quantizing *z)
{
    const char *metric = z->o.metric != NULL ? z->o.metric : "top1";
    if (takt_quant_kind_read(z->ctx, z->o.type, &z->kind) != TAKT_OK)
        return takt_fail_hint(z->ctx, "int8, w8, w4, int16x8 or w4a8; files of language models: "
                                      "Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K or IQ4_NL");
    TAKT_TRY(read_method(z));
    TAKT_TRY(read_drop(z));
    z->top = strcmp(metric, "top1") == 0 ? 1 : strcmp(metric, "top5") == 0 ? 5 : 0;
    if (z->top == 0)
        return takt_fail(z->ctx, TAKT_E_OPTION, "there is no metric %s: top1 or top5", metric);
    TAKT_TRY(read_rounding(z));
    if (!(z->o.smooth >= 0 && z->o.smooth <= 1))
        return takt_fail(z->ctx, TAKT_E_OPTION, "smoothing is a power from 0 to 1, not %g",
                         z->o.smooth);
    if (z->o.smooth > 0 && z->o.calib == NULL) {
        takt_fail(z->ctx, TAKT_E_SHRINK_DATA, "smoothing needs data: samples of what comes in");
        return takt_fail_hint(z->ctx, "give them with --calib D");
    }
    if (z->kind->x_bits > 0 && z->o.calib == NULL) {
        takt_fail(z->ctx, TAKT_E_SHRINK_DATA, "%s needs data to find the ranges of activations",
                  z->kind->name);
        return takt_fail_hint(z->ctx, "give samples of what the model will see (--calib D); w8 and "
                                      "w4 (--type) do without");
    }
    z->timer = (takt_shrink_timer){.compare = z->o.compare,
                                   .user = z->o.compare_user,
                                   .max_ns = z->o.layer_ns > 0 ? z->o.layer_ns : 100000000,
                                   .sizes = z->o.sizes,
                                   .threads = z->o.threads,
                                   .progress = z->o.progress,
                                   .progress_user = z->o.progress_user};
    return TAKT_OK;
}

/* ---- looking ---- */

static takt_status make_room(takt_quantizing *z)
{
    const size_t layers = z->layers.count + 1, nodes = z->base->count + 1;
    takt_arena *a = &z->arena;
    z->asked = takt_arena_array(a, layers, sizeof *z->asked);
    z->taken = takt_arena_array(a, layers, sizeof *z->taken);
    z->why = takt_arena_array(a, layers, sizeof *z->why);
    z->weights = takt_arena_array(a, layers, sizeof *z->weights);
    z->noise = takt_arena_array(a, layers, sizeof *z->noise);
    z->times = takt_arena_array(a, layers, sizeof *z->times);
    z->lost_by_layer = takt_arena_array(a, layers, sizeof *z->lost_by_layer);
    z->wanted = takt_arena_array(a, nodes, sizeof *z->wanted);
    z->grids = takt_arena_array(a, nodes, sizeof *z->grids);
    return z->asked != NULL && z->taken != NULL && z->why != NULL && z->weights != NULL &&
                   z->noise != NULL && z->times != NULL && z->lost_by_layer != NULL &&
                   z->wanted != NULL && z->grids != NULL
               ? TAKT_OK
               : TAKT_ERR_MEMORY;
}

static takt_status find_layers(takt_quantizing *z)
{
    size_t asked = 0;
    TAKT_TRY(takt_shrink_base(z->model, &z->base));
    if (z->o.equalize)
        TAKT_TRY(takt_shrink_equalize(&z->base, &z->summary.equalized));
    if (z->o.smooth > 0)
        TAKT_TRY(takt_shrink_smooth(&z->calib, &z->base, z->o.smooth, &z->summary.smoothed));
    const takt_awq_request awq = {z->kind, z->o.keeps, z->o.keeps_user};
    if (z->is_awq)
        TAKT_TRY(takt_shrink_awq(&z->calib, &z->base, &awq));
    TAKT_TRY(takt_shrink_layers_init(&z->layers, z->base));
    TAKT_TRY(make_room(z));
    for (size_t i = 0; i < z->layers.count; i++) {
        const bool kept = z->o.keeps != NULL && z->o.keeps(z->o.keeps_user, z->layers.at[i].name);
        z->asked[i] = z->taken[i] = !kept;
        z->why[i] = kept ? "left: it is to be kept" : "taken";
        asked += !kept;
    }
    return asked > 0 ? TAKT_OK : takt_shrink_no_layer(&z->layers);
}

static takt_status find_grids(takt_quantizing *z)
{
    takt_arena seen_arena;
    if (z->kind->x_bits == 0)
        return TAKT_OK;
    TAKT_TRY(takt_qdq_wanted(&z->layers, z->asked, z->o.whole, z->wanted));
    takt_arena_init(&seen_arena, z->ctx);
    takt_range_seen **seen = takt_arena_array(&seen_arena, z->base->count, sizeof *seen);
    takt_status status = seen != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    if (status == TAKT_OK)
        status = takt_observe(&z->calib, z->base, z->wanted, &seen_arena, seen);
    for (size_t i = 0; status == TAKT_OK && i < z->base->count; i++)
        if (seen[i] != NULL)
            z->grids[i] = takt_range_grid(seen[i], z->method, z->percent, z->kind->x_bits,
                                          z->kind->is_symmetric);
    takt_arena_deinit(&seen_arena);
    return status;
}

static takt_status find_moments(takt_quantizing *z)
{
    if (!z->is_gptq && !z->is_adaround)
        return TAKT_OK;
    bool any = false, *suits = takt_arena_array(&z->arena, z->layers.count, sizeof *suits);
    z->moments = takt_arena_array(&z->arena, z->layers.count, sizeof *z->moments);
    if (suits == NULL || z->moments == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < z->layers.count; i++) {
        suits[i] = z->asked[i] && takt_gptq_suits(&z->layers.at[i]);
        any = any || suits[i];
    }
    return any ? takt_gptq_observe(&z->calib, &z->layers, suits, &z->arena, z->moments) : TAKT_OK;
}

static takt_status round_weights(takt_quantizing *z)
{
    takt_arena room;
    takt_status status = TAKT_OK;
    for (size_t i = 0; status == TAKT_OK && i < z->layers.count; i++) {
        const takt_shrink_layer *l = &z->layers.at[i];
        if (z->o.progress != NULL)
            z->o.progress(z->o.progress_user, "rounding", i, z->layers.count);
        if (!z->asked[i])
            continue;
        takt_arena_init(&room, z->ctx);
        double *values = takt_arena_array(&room, (size_t)(l->rows * l->inner), sizeof *values);
        status = values != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
        if (status == TAKT_OK) {
            takt_shrink_weights(z->base, l, values);
            status = takt_shrink_check(&z->layers, l, values);
        }
        const takt_quant_form form = {z->base, l, z->kind, NULL};
        const double *moments = z->moments != NULL ? z->moments[i] : NULL;
        if (status == TAKT_OK && moments != NULL)
            status = z->is_gptq
                         ? takt_gptq_round(&z->arena, &form, values, moments, &z->weights[i])
                         : takt_adaround_round(&z->arena, &form, values, moments, &z->weights[i]);
        else if (status == TAKT_OK)
            status =
                takt_quant_weights_make(&z->arena, z->base, l, z->kind, values, &z->weights[i]);
        takt_arena_deinit(&room);
    }
    return status;
}

/* The mean of the error goes into the bias. */
static takt_status hear_noise(takt_quantizing *z, const takt_qdq *q)
{
    if (z->o.calib == NULL)
        return TAKT_OK;
    TAKT_TRY(takt_observe_noise(&z->calib, q, NOISE_SAMPLES, &z->arena, z->noise));
    for (size_t i = 0; i < z->layers.count && !z->o.no_correction; i++) {
        if (!z->asked[i])
            continue;
        for (int64_t r = 0; r < z->layers.at[i].rows; r++)
            z->weights[i].bias[r] += z->noise[i].shift[r];
        z->weights[i].has_bias = true;
    }
    return TAKT_OK;
}

/* ---- choosing ---- */

static void choose_fast(takt_quantizing *z)
{
    for (size_t i = 0; i < z->layers.count; i++) {
        const takt_comparison *c = &z->times[i];
        if (!z->asked[i] || c->verdict == TAKT_FASTER)
            continue;
        if (z->o.size_first) {
            z->why[i] = "taken: size comes first";
            continue;
        }
        z->taken[i] = false;
        z->why[i] = c->verdict == TAKT_INCONCLUSIVE ? "left: not clearly faster"
                    : c->verdict == TAKT_SAME       ? "left: as fast in f32"
                                                    : "left: slower";
    }
}

takt_status takt_quantizing_build(takt_quantizing *z, takt_graph **out)
{
    static const takt_pass live = {.name = "live", .summary = "copy what is live"};
    const takt_qdq q = {&z->layers, z->kind, z->taken, z->weights, z->grids, z->o.whole};
    takt_graph *g;
    TAKT_TRY(takt_qdq_build(&q, &g));
    const takt_status status = takt_pass_apply(&live, g, NULL, out);
    takt_graph_destroy(g);
    return status;
}

static size_t count_taken(const takt_quantizing *z)
{
    size_t count = 0;
    for (size_t i = 0; i < z->layers.count; i++)
        count += z->taken[i];
    return count;
}

static takt_status finish(takt_quantizing *z, takt_model **out)
{
    takt_graph *g, *before, *after;
    takt_quantize_summary *s = &z->summary;
    s->taken = count_taken(z);
    s->bytes_before = takt_shrink_bytes(z->base);
    s->bytes_after = s->bytes_before;
    if (s->taken == 0)
        return TAKT_OK;
    TAKT_TRY(takt_quantizing_build(z, &g));
    takt_graph_retain(g);
    before = z->base;
    takt_graph_retain(before);
    after = g;
    s->bytes_after = takt_shrink_bytes(g);
    takt_shrink_timer whole = z->timer;
    whole.max_ns *= 5;
    takt_status status = takt_shrink_time(&whole, z->model, before, z->model, after, &s->time);
    if (status != TAKT_OK) {
        takt_graph_destroy(g);
        return status;
    }
    TAKT_TRY(takt_model_derive(z->model, g, out));
    if (z->model->lineage != NULL)
        (*out)->lineage =
            takt_arena_text(&(*out)->arena, z->model->lineage, strlen(z->model->lineage));
    return takt_quantizing_returns(*out, z->o.sizes, &s->returns);
}

static takt_status work(takt_quantizing *z, takt_model **out)
{
    TAKT_TRY(read_options(z));
    if (z->o.calib != NULL)
        TAKT_TRY(takt_feed_init(&z->calib, z->model, z->o.calib, z->o.sizes, BATCH, 0));
    if (z->o.test != NULL)
        TAKT_TRY(takt_feed_init(&z->test, z->model, z->o.test, z->o.sizes, BATCH, 0));
    z->calib.threads = z->test.threads = z->o.threads;
    z->calib.progress = z->test.progress = z->o.progress;
    z->calib.progress_user = z->test.progress_user = z->o.progress_user;
    z->calib.part = "observing";
    z->test.part = "scoring";
    TAKT_TRY(find_layers(z));
    z->summary.layers = z->layers.count;
    TAKT_TRY(find_grids(z));
    TAKT_TRY(find_moments(z));
    TAKT_TRY(round_weights(z));
    const takt_qdq q = {&z->layers, z->kind, z->asked, z->weights, z->grids, z->o.whole};
    TAKT_TRY(hear_noise(z, &q));
    TAKT_TRY(takt_shrink_time_layers(&z->timer, z->model, &q, z->wanted, z->times));
    choose_fast(z);
    TAKT_TRY(takt_quantizing_budget(z));
    return finish(z, out);
}

/* Whether the result counts as a success; the report is written either way. */
static takt_status conclude(const takt_quantizing *z)
{
    if (z->summary.taken == 0) {
        takt_fail(z->ctx, TAKT_E_SHRINK_NOTHING, "no layer is measured faster as %s here",
                  z->kind->name);
        return takt_fail_hint(z->ctx, "size_first (--size-first) takes them all the same");
    }
    if (z->summary.time.verdict == TAKT_SLOWER && !z->o.size_first) {
        takt_fail(z->ctx, TAKT_E_SHRINK_NOTHING,
                  "the whole is measured slower than in f32, by a factor of %.2f",
                  z->summary.time.ratio);
        return takt_fail_hint(z->ctx, "size_first (--size-first) takes it all the same");
    }
    return TAKT_OK;
}

takt_status takt_model_quantize(const takt_model *model, const takt_quantize_options *options,
                                takt_format format, takt_sink_fn *sink, void *user,
                                takt_model **quantized)
{
    takt_quantizing z = {.model = model};
    if (quantized != NULL)
        *quantized = NULL;
    if (model == NULL)
        return TAKT_ERR_ARGUMENT;
    z.ctx = model->ctx;
    if (quantized == NULL || sink == NULL)
        return takt_fail(z.ctx, TAKT_E_ARGUMENT, "takt_model_quantize: quantized or sink is NULL");
    TAKT_TRY(takt_options_read(z.ctx, "takt_quantize_options", options, &z.o, sizeof z.o));
    takt_arena_init(&z.arena, z.ctx);
    takt_status status = work(&z, quantized);
    if (status == TAKT_OK)
        status = takt_quantizing_report(&z, format, sink, user);
    if (status == TAKT_OK && z.o.summary != NULL)
        *z.o.summary = z.summary;
    if (status == TAKT_OK)
        status = conclude(&z);
    if (status != TAKT_OK) {
        takt_model_destroy(*quantized);
        *quantized = NULL;
    }
    takt_feed_deinit(&z.calib);
    takt_feed_deinit(&z.test);
    takt_shrink_layers_deinit(&z.layers);
    takt_graph_destroy(z.base);
    takt_arena_deinit(&z.arena);
    return status;
}
