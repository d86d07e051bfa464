/* gguf_read.c - a GGUF file as a model: the text of its architecture, evaluated with the file's
 * data. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/gguf/model.h"

enum {
    CONTEXT_MOST = 4096,    /* default, unless the caller sets it */
    CONTEXT_LIMIT = 1 << 24 /* that a caller can set */
};

/* ---- settings ---- */

/* Settings from which sizes and divisors are computed, and their limits. */
static const struct limit {
    const char *key;
    int64_t least, most;
} limits[] = {
    {"block_count", 1, 4096},
    {"context_length", 1, INT64_C(1) << 24},
    {"embedding_length", 1, 1 << 20},
    {"feed_forward_length", 1, 1 << 22},
    {"attention.head_count", 1, 1 << 14},
    {"attention.head_count_kv", 1, 1 << 14},
    {"attention.key_length", 1, 1 << 14},
    {"attention.value_length", 1, 1 << 14},
    {"rope.dimension_count", 1, 1 << 14},
    {"pooling_type", 0, 4},
    {"ssm.conv_kernel", 2, 1 << 8},
    {"ssm.inner_size", 1, 1 << 20},
    {"ssm.state_size", 1, 1 << 14},
    {"ssm.time_step_rank", 1, 1 << 20},
    {"attention.sliding_window", 0, 1 << 30},
    {"rope.scaling.original_context_length", 1, INT64_C(1) << 24},
    {"expert_count", 0, 1 << 12},
    {"expert_used_count", 0, 1 << 12},
    {"expert_feed_forward_length", 1, 1 << 22},
    {"expert_shared_feed_forward_length", 1, 1 << 22},
    {"decoder_block_count", 1, 4096},
    {"decoder_start_token_id", 0, 1 << 30},
    {"attention.relative_buckets_count", 4, 1 << 12},
    {"attention.relative_max_distance", 2, 1 << 30},
};

static takt_status refuse(const takt_gguf_model *m, const takt_gguf_value *v, const char *wanted)
{
    return takt_gguf_fail(m->g, TAKT_E_GGUF_MODEL, v->offset, "%s is not %s", v->key, wanted);
}

static takt_status check_integer(const takt_gguf_model *m, const takt_gguf_value *v,
                                 const char *key, int64_t value)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (strcmp(limits[i].key, key) == 0 && (value < limits[i].least || value > limits[i].most))
            return takt_gguf_fail(
                m->g, TAKT_E_GGUF_MODEL, v->offset, "%s is %lld; it must lie between %lld and %lld",
                v->key, (long long)value, (long long)limits[i].least, (long long)limits[i].most);
    return TAKT_OK;
}

/* The value in the file; `v` is not an array. */
static takt_status convert(const takt_gguf_model *m, const takt_gguf_value *v, const char *key,
                           takt_given_value *out)
{
    bool must_be_whole = false;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        must_be_whole = must_be_whole || strcmp(limits[i].key, key) == 0;
    if (v->is_array)
        return refuse(m, v, "one value for all blocks, which Takt wants");
    if (v->kind == TAKT_GGUF_STRING) {
        *out = (takt_given_value){.kind = TAKT_GIVEN_TEXT, .text = v->texts[0]};
    } else if (v->kind == TAKT_GGUF_BOOL) {
        *out = (takt_given_value){.kind = TAKT_GIVEN_BOOL, .boolean = v->bytes[0] != 0};
    } else if (v->kind == TAKT_GGUF_F32 || v->kind == TAKT_GGUF_F64) {
        *out = (takt_given_value){.kind = TAKT_GIVEN_NUMBER, .number = takt_gguf_number(v, 0)};
        if (!isfinite(out->number) || out->number < 0 ||
            (out->number == 0 && strstr(key, "epsilon") == NULL))
            return refuse(m, v, "a positive number");
    } else {
        out->kind = TAKT_GIVEN_INTEGER;
        if (!takt_gguf_integer(v, 0, &out->integer))
            return refuse(m, v, "a number that fits into 64 bits with a sign");
        return check_integer(m, v, key, out->integer);
    }
    return must_be_whole ? refuse(m, v, "a whole number") : TAKT_OK;
}

static takt_status setting(void *user, const char *key, takt_given_value *out)
{
    const takt_gguf_model *m = user;
    char full[160];
    *out = (takt_given_value){0};
    if (strcmp(key, "context") == 0) {
        *out = (takt_given_value){.kind = TAKT_GIVEN_INTEGER, .integer = m->context};
        return TAKT_OK;
    }
    for (int i = 0; i < 2; i++)
        if (strcmp(key, i == 0 ? "cache_type_k" : "cache_type_v") == 0) {
            *out = (takt_given_value){.kind = TAKT_GIVEN_TEXT,
                                      .text = {m->cache[i], strlen(m->cache[i])}};
            return TAKT_OK;
        }
    if (strcmp(key, "vocabulary") == 0) {
        const takt_gguf_tensor *t = takt_gguf_tensor_find(m->g, "token_embd.weight");
        if (t != NULL && t->rank == 2)
            *out = (takt_given_value){.kind = TAKT_GIVEN_INTEGER, .integer = t->dims[0]};
        return TAKT_OK;
    }
    (void)snprintf(full, sizeof full, "%s.%s", m->architecture, key);
    const takt_gguf_value *v = takt_gguf_find(m->g, full);
    return v != NULL ? convert(m, v, key, out) : TAKT_OK;
}

/* ---- the file ---- */

/* The text after "NAME=" in the caller's sizes (`name` is "NAME="); "" if absent. */
static const char *text_of(const char *sizes, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = sizes; at != NULL && *at != '\0'; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0)
            return at + length;
    }
    return "";
}

/* Same as a number; 0 if absent. */
static int64_t asked_for(const char *sizes, const char *name)
{
    int64_t value = 0;
    for (const char *d = text_of(sizes, name); *d >= '0' && *d <= '9' && value < INT32_MAX; d++)
        value = 10 * value + (*d - '0');
    return value;
}

bool takt_gguf_wants_encoder(const takt_source *source)
{
    return (source->model != NULL && strcmp(source->model, "encoder") == 0) ||
           strncmp(text_of(source->sizes, "part="), "encoder", 7) == 0;
}

static takt_status find_context(takt_gguf_model *m)
{
    takt_given_value trained;
    const int64_t asked = asked_for(m->source->sizes, "context=");
    TAKT_TRY(setting(m, "context_length", &trained));
    const int64_t most = trained.kind == TAKT_GIVEN_INTEGER ? trained.integer : CONTEXT_MOST;
    m->context = asked > 0 ? asked : most < CONTEXT_MOST ? most : CONTEXT_MOST;
    if (asked > CONTEXT_LIMIT) {
        (void)takt_fail(m->ctx, TAKT_E_OPTION,
                        "a context of %lld tokens is impossible: %d are the "
                        "most",
                        (long long)asked, CONTEXT_LIMIT);
        return takt_fail_hint(m->ctx, "%s was trained for %lld; a smaller context is -c N",
                              m->g->file, (long long)most);
    }
    if (asked > most)
        takt_log(m->ctx, TAKT_LOG_WARNING, "%s was trained for %lld tokens; the context has %lld",
                 m->g->file, (long long)most, (long long)asked);
    return TAKT_OK;
}

static takt_status find_cache(takt_gguf_model *m)
{
    static const char *const types[] = {"f32", "f16", "bf16", "q8_0"};
    for (int i = 0; i < 2; i++) {
        const char *text = text_of(m->source->sizes, i == 0 ? "cache_k=" : "cache_v=");
        const size_t length = strcspn(text, ",");
        m->cache[i] = *text == '\0' ? "f32" : NULL;
        for (size_t k = 0; k < sizeof types / sizeof *types; k++)
            if (strlen(types[k]) == length && strncmp(text, types[k], length) == 0)
                m->cache[i] = types[k];
        if (m->cache[i] == NULL)
            return takt_fail(m->ctx, TAKT_E_OPTION, "a cache is f32, f16, bf16 or q8_0, not %.*s",
                             (int)length, text);
    }
    return TAKT_OK;
}

static takt_status find_architecture(takt_gguf_model *m)
{
    takt_span name = {"", 0};
    takt_text known;
    TAKT_TRY(takt_gguf_get_text(m->g, "general.architecture", &name));
    if (name.length == 0)
        return takt_gguf_fail(m->g, TAKT_E_GGUF_MODEL, 0, "general.architecture is missing");
    (void)snprintf(m->architecture, sizeof m->architecture, "%.*s",
                   (int)(name.length < 60 ? name.length : 60), name.at);
    if (strcmp(m->architecture, "common") != 0 && takt_gguf_arch(m->architecture) != NULL)
        return TAKT_OK;
    takt_text_init(&known, m->ctx);
    for (size_t i = 0; takt_gguf_arch_name(i) != NULL; i++)
        if (strcmp(takt_gguf_arch_name(i), "common") != 0)
            takt_text_add(&known, "%s%s", known.length > 0 ? ", " : "", takt_gguf_arch_name(i));
    takt_status status = known.status;
    if (status == TAKT_OK) {
        (void)takt_gguf_fail(m->g, TAKT_E_GGUF_UNSUPPORTED, 0, "the architecture %s is not known",
                             m->architecture);
        status = takt_fail_hint(m->ctx, "known are %s", takt_text_get(&known));
    }
    takt_text_deinit(&known);
    return status;
}

static takt_status check_form(const takt_gguf_model *m)
{
    takt_given_value v;
    TAKT_TRY(setting((void *)m, "rope.scaling.type", &v));
    if (v.kind == TAKT_GIVEN_TEXT && !takt_span_is(v.text, "none") &&
        !takt_span_is(v.text, "linear") && !takt_span_is(v.text, "yarn") &&
        !takt_span_is(v.text, "longrope"))
        return takt_gguf_fail(m->g, TAKT_E_GGUF_UNSUPPORTED, 0,
                              "rope.scaling.type is %.*s; none, linear, yarn and longrope are read",
                              (int)(v.text.length < 40 ? v.text.length : 40), v.text.at);
    return TAKT_OK;
}

/* Errors in the architecture's text are caused by the file: "llama:12:3: sentence" without its
 * position. */
static takt_status blame(const takt_gguf_model *m, takt_status status)
{
    char why[TAKT_ERROR_TEXT];
    const takt_error *e = &m->ctx->error;
    if (status == TAKT_OK || status == TAKT_ERR_MEMORY || status == TAKT_ERR_IO)
        return status;
    if (strstr(e->message, "a cache in q8_0") != NULL) { /* the caller's setting */
        (void)takt_fail(m->ctx, TAKT_E_OPTION,
                        "%s: a cache in q8_0 needs heads of a multiple of 32 numbers", m->g->file);
        return takt_fail_hint(m->ctx, "f16 takes half the bytes of f32: -ctk f16 -ctv f16");
    }
    const bool is_known = e->id >= TAKT_E_GGUF && e->id <= TAKT_E_GGUF_MODEL;
    const char *sentence = strstr(e->message, ": ");
    sentence = sentence != NULL ? sentence + 2 : e->message;
    const size_t length = strlen(m->g->file);
    if (strncmp(sentence, m->g->file, length) == 0 && strncmp(sentence + length, ": ", 2) == 0)
        sentence += length + 2;
    (void)snprintf(why, sizeof why, "%s", sentence);
    return takt_gguf_fail(m->g, is_known ? (takt_error_id)e->id : TAKT_E_GGUF_MODEL, 0, "%s", why);
}

static takt_status evaluate(takt_gguf_model *m, takt_graph **graph)
{
    const takt_parse_given given = {.user = m,
                                    .setting = setting,
                                    .is_stored = takt_gguf_is_stored,
                                    .stored = takt_gguf_stored,
                                    .project = takt_gguf_project,
                                    .rows = takt_gguf_rows,
                                    .packed = takt_gguf_packed,
                                    .unpacked = takt_gguf_unpacked,
                                    .is_rounded = takt_gguf_is_rounded,
                                    .chosen = takt_gguf_chosen};
    const char *encoder = takt_gguf_arch_encoder(m->architecture);
    const bool is_part = encoder != NULL && takt_gguf_wants_encoder(m->source);
    char name[80];
    takt_diagnostics list;
    takt_text text;
    (void)snprintf(name, sizeof name, is_part ? "%sencoder" : "%s", m->architecture);
    takt_text_init(&text, m->ctx);
    takt_text_add(&text, "%s%s%s", takt_gguf_arch("common"), encoder != NULL ? encoder : "",
                  takt_gguf_arch(m->architecture));
    takt_status status = text.status;
    if (status == TAKT_OK) {
        takt_diagnostics_init(&list, m->ctx);
        const takt_parse_options options = {
            .model = encoder != NULL ? name : NULL, .given = &given, .diagnostics = &list};
        status =
            takt_parse(m->ctx, m->architecture, takt_text_get(&text), text.length, &options, graph);
        takt_diagnostics_deinit(&list);
    }
    takt_text_deinit(&text);
    return blame(m, status);
}

takt_status takt_gguf_build(takt_gguf_model *m, takt_graph **graph)
{
    takt_text *lineage = m->source->lineage;
    TAKT_TRY(find_architecture(m));
    TAKT_TRY(check_form(m));
    TAKT_TRY(find_context(m));
    m->is_int8 = asked_for(m->source->sizes, "activations=") == 8;
    m->reads_late = strncmp(text_of(m->source->sizes, "weights="), "late", 4) == 0;
    TAKT_TRY(find_cache(m));
    if (lineage != NULL) {
        takt_text_add(lineage, "{\"format\": \"%s\", \"version\": %u, \"tensors\": %zu}", m->format,
                      m->g->version, m->g->tensor_count);
        TAKT_TRY(lineage->status);
    }
    return evaluate(m, graph);
}

static takt_status read(const takt_source *source, takt_graph **graph)
{
    takt_arena arena;
    takt_gguf g;
    takt_gguf_shards shards = {.count = 0};
    takt_arena_init(&arena, source->ctx);
    takt_status status =
        takt_gguf_parse(&arena, source->name, source->bytes, source->length, source->length, &g);
    if (status == TAKT_OK)
        status = takt_gguf_shards_open(&shards, &arena, source, &g);
    if (status == TAKT_OK) {
        takt_gguf_model m = {
            .ctx = source->ctx, .source = source, .g = &g, .shards = &shards, .format = "gguf"};
        status = takt_gguf_build(&m, graph);
    }
    takt_gguf_shards_close(&shards);
    takt_arena_deinit(&arena);
    return status;
}

const takt_reader takt_reader_gguf = {
    .name = "gguf",
    .summary = "language models of llama.cpp (.gguf)",
    .recognises = takt_gguf_recognises,
    .read = read,
    .skim = takt_gguf_skim,
};
