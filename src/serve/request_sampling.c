/* request_sampling.c - sampling fields, by their names in OpenAI's API and llama.cpp. */
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "serve/reader.h"

/* The id that a key spells, or -1. */
static int64_t id_of(const char *key)
{
    int64_t id = 0;
    const char *at = key;
    for (; *at >= '0' && *at <= '9' && id < INT32_MAX; at++)
        id = 10 * id + (*at - '0');
    return at != key && *at == '\0' ? id : -1;
}

static bool bad_bias(takt_reader *r, const takt_json *v, bool is_key)
{
    char name[60], what[100];
    (void)snprintf(name, sizeof name, "logit_bias[\"%.30s\"]", v->key);
    (void)snprintf(what, sizeof what, "its key is not a token id from 0 to %zu",
                   takt_tokenizer_count(r->s->tokenizer) - 1);
    return takt_reader_bad(r, name, is_key ? what : "a number is expected");
}

/* {"15": 1.5, ...}: keys are ids. */
static void read_biases(takt_reader *r)
{
    takt_job *job = r->job;
    const takt_json *v = takt_reader_field(r, "logit_bias");
    size_t count = 0;
    if (v != NULL && (v->kind != TAKT_JSON_OBJECT || v->count > TAKT_SERVE_BIASES)) {
        (void)takt_reader_bad(r, "logit_bias",
                              "an object of at most 64 ids and numbers is expected");
        return;
    }
    for (const takt_json *i = v != NULL ? takt_json_first(v) : NULL; i != NULL;
         i = takt_json_next(i)) {
        const int64_t id = id_of(i->key);
        const bool is_id = id >= 0 && (uint64_t)id < takt_tokenizer_count(r->s->tokenizer);
        if (!is_id || i->kind != TAKT_JSON_NUMBER) {
            (void)bad_bias(r, i, !is_id);
            return;
        }
        job->bias[count++] = (takt_token_bias){(int32_t)id, (float)i->number};
    }
    job->options.sampling.bias = job->bias;
    job->options.sampling.bias_count = count;
}

/* DRY: texts that end a repetition. */
static void read_breakers(takt_reader *r, takt_sampling *p)
{
    const takt_json *v = takt_reader_field(r, "dry_sequence_breakers");
    size_t count = 0;
    if (v == NULL)
        return;
    const char **texts = v->kind == TAKT_JSON_ARRAY && v->count <= TAKT_SERVE_BREAKERS
                             ? takt_arena_array(&r->job->arena, v->count + 1, sizeof *texts)
                             : NULL;
    if (texts == NULL) {
        (void)takt_reader_bad(r, "dry_sequence_breakers",
                              "a list of at most 64 strings is expected");
        return;
    }
    for (const takt_json *i = takt_json_first(v); i != NULL; i = takt_json_next(i)) {
        if (!takt_reader_is_text(i)) {
            (void)takt_reader_bad_item(r, "dry_sequence_breakers", count,
                                       "a string is expected, without NUL");
            return;
        }
        texts[count++] = i->text;
    }
    p->dry_breakers = texts;
    p->dry_breaker_count = count;
}

/* ["top_k", "temperature"], or "kt". */
static void read_order(takt_reader *r, takt_sampling *p)
{
    const takt_json *v = takt_reader_field(r, "samplers");
    takt_text text;
    size_t index = 0;
    if (v == NULL)
        return;
    takt_text_init(&text, &r->s->shadow);
    if (v->kind == TAKT_JSON_STRING)
        for (size_t i = 0; i < v->text_length && i < TAKT_SERVE_SAMPLERS; i++)
            takt_text_add(&text, "%s%c", i > 0 ? ";" : "", v->text[i]);
    bool good = v->kind == TAKT_JSON_STRING ||
                (v->kind == TAKT_JSON_ARRAY && v->count <= TAKT_SERVE_SAMPLERS);
    for (const takt_json *i = good && v->kind == TAKT_JSON_ARRAY ? takt_json_first(v) : NULL;
         i != NULL && good; i = takt_json_next(i)) {
        good = takt_reader_is_text(i) && i->text_length > 0 && strchr(i->text, ';') == NULL;
        if (!good)
            (void)takt_reader_bad_item(r, "samplers", index, "the name of a sampler is expected");
        index++;
        takt_text_add(&text, "%s%s", text.length > 0 ? ";" : "", good ? i->text : "");
    }
    char *order = takt_arena_get(&r->job->arena, text.length + 1);
    if (!good)
        (void)takt_reader_bad(r, "samplers",
                              "a list of names, or a string of letters, is expected");
    else if (order == NULL || text.status != TAKT_OK)
        (void)takt_reader_failed(r, "samplers", TAKT_ERR_MEMORY);
    else
        p->samplers = memcpy(order, takt_text_get(&text), text.length + 1);
    takt_text_deinit(&text);
}

/* In the library 0 selects the default; here, as in llama.cpp, it means 0. */
static void read_more(takt_reader *r, takt_sampling *p)
{
    p->mirostat = (int)takt_reader_integer(r, "mirostat", 0, 0, 2);
    p->mirostat_tau = takt_reader_number(r, "mirostat_tau", 5, 0, 100);
    p->mirostat_eta = takt_reader_number(r, "mirostat_eta", 0.1, 0, 100);
    p->dynatemp_range = takt_reader_number(r, "dynatemp_range", 0, 0, 100);
    p->dynatemp_exponent = takt_reader_number(r, "dynatemp_exponent", 1, 0, 100);
    p->top_n_sigma = takt_reader_number(r, "top_n_sigma", -1, -1, 1000);
    p->xtc_probability = takt_reader_number(r, "xtc_probability", 0, 0, 1);
    p->xtc_threshold = takt_reader_number(r, "xtc_threshold", 0.1, 0, 1);
    p->dry_multiplier = takt_reader_number(r, "dry_multiplier", 0, 0, 1000);
    p->dry_base = takt_reader_number(r, "dry_base", 1.75, 0, 1000);
    p->dry_allowed_length = takt_reader_integer(r, "dry_allowed_length", 2, 1, INT32_MAX);
    p->dry_penalty_last_n = takt_reader_integer(r, "dry_penalty_last_n", -1, -1, INT32_MAX);
    p->dynatemp_exponent = p->dynatemp_exponent != 0 ? p->dynatemp_exponent : DBL_MIN;
    p->xtc_threshold = p->xtc_threshold != 0 ? p->xtc_threshold : DBL_MIN;
    p->dry_base = p->dry_base != 0 ? p->dry_base : DBL_MIN;
    if (p->dry_penalty_last_n == 0)
        p->dry_multiplier = 0;
    read_breakers(r, p);
    read_order(r, p);
}

void takt_serve_read_sampling(takt_reader *r)
{
    takt_sampling *p = &r->job->options.sampling;
    p->temperature = takt_reader_number(r, "temperature", 0.8, 0, 100);
    p->top_p = takt_reader_number(r, "top_p", 0.95, 0, 1);
    p->min_p = takt_reader_number(r, "min_p", 0.05, 0, 1);
    p->typical_p = takt_reader_number(r, "typical_p", 1, 0, 1);
    p->top_k = takt_reader_integer(r, "top_k", 40, 0, INT32_MAX);
    p->repeat_penalty = takt_reader_number(r, "repeat_penalty", 1, 0, 100);
    p->presence_penalty = takt_reader_number(r, "presence_penalty", 0, -100, 100);
    p->frequency_penalty = takt_reader_number(r, "frequency_penalty", 0, -100, 100);
    p->repeat_last_n = takt_reader_integer(r, "repeat_last_n", 64, -1, INT32_MAX);
    p->seed = (uint64_t)takt_reader_integer(r, "seed", -1, INT64_MIN, INT64_MAX);
    if (takt_reader_field(r, "seed") == NULL ||
        takt_reader_integer(r, "seed", 0, INT64_MIN, INT64_MAX) < 0)
        p->seed = takt_serve_now(r->s) % 4294967295u;
    read_biases(r);
    read_more(r, p);
}
