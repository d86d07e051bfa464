/* perplexity.c - how well a model predicts a text, and how far it is from another. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "divergence.h"
#include "progress.h"

typedef struct job {
    takt_tool *t;
    takt_generator *g, *other; /* other: the reference of --kl-divergence, if it is a model */
    tool_base from, to;        /* the reference as a file, and what is kept */
    bool has_base, keeps;
    int32_t *ids; /* owned; of all pieces, concatenated */
    size_t context, pieces, vocabulary;
    size_t from_token; /* of a piece: the first whose next token counts */
    const int32_t *piece;
    double sum, squares; /* of the negative log-probabilities */
    size_t count;
    float *rows; /* owned; of the reference, for one piece */
    float *logs; /* owned; of one token */
    tool_divergence d;
    const char *trouble; /* why a piece was not read to its end */
} job;

/* ---- one token ---- */

static float *reference_row(const job *j, size_t index)
{
    return j->rows + (index - j->from_token) * j->vocabulary;
}

static int keep_reference(void *user, size_t index, const float *scores, size_t count)
{
    const job *j = user;
    if (index >= j->from_token)
        tool_log_shares(scores, count, reference_row(j, index));
    return 0;
}

static int take(void *user, size_t index, const float *scores, size_t count)
{
    job *j = user;
    const int32_t next = j->piece[index + 1];
    if (index < j->from_token)
        return 0;
    tool_log_shares(scores, count, j->logs);
    j->sum -= (double)j->logs[next];
    j->squares += (double)j->logs[next] * (double)j->logs[next];
    j->count++;
    if (j->has_base && !tool_base_read(&j->from, reference_row(j, j->from_token)))
        j->trouble = "the reference cannot be read";
    else if (j->keeps && !tool_base_write(&j->to, j->logs))
        j->trouble = "the probabilities cannot be written";
    if (j->trouble == NULL && j->rows != NULL &&
        !tool_divergence_add(&j->d, reference_row(j, j->has_base ? j->from_token : index), j->logs,
                             count, next))
        j->trouble = "out of memory";
    return j->trouble != NULL;
}

/* ---- pieces ---- */

/* The token that begins a text, if the tokenizer adds one; else -1. */
static int32_t begin_of(const takt_tokenizer *tokens)
{
    int32_t first = -1;
    takt_token_ids ids = {&first, 1, 0};
    const bool good = takt_tokenize(tokens, "", 0, TAKT_TOKENIZE_ADD, &ids) == TAKT_OK;
    return good && ids.count > 0 && first == takt_token_of_role(tokens, TAKT_TOKEN_BOS) ? first
                                                                                        : -1;
}

/* Each piece begins as a text begins, as in llama.cpp: its first token is replaced. */
static void begin_pieces(job *j)
{
    const int32_t begin = begin_of(takt_generator_tokenizer(j->g));
    for (size_t i = 0; i < j->pieces && begin >= 0; i++)
        j->ids[i * j->context] = begin;
}

/* Whole pieces of the text; a shorter text is one piece. */
static int cut(job *j, const takt_token_ids *ids)
{
    const size_t room = (size_t)takt_generator_context(j->g);
    j->context = ids->count < room ? ids->count : room;
    j->from_token = ids->count < room ? 0 : room / 2;
    j->pieces = j->context > 1 ? ids->count / j->context : 0;
    if (j->pieces == 0)
        return tool_usage_error(j->t, 1003, NULL, "the text is too short: two tokens at least");
    j->ids = calloc(j->pieces * j->context, sizeof *j->ids);
    if (j->ids == NULL)
        return tool_usage_error(j->t, 9003, NULL, "out of memory for the text");
    memcpy(j->ids, ids->at, j->pieces * j->context * sizeof *j->ids);
    begin_pieces(j);
    return TAKT_EXIT_OK;
}

static int take_base(job *j)
{
    if ((size_t)j->from.vocabulary != j->vocabulary)
        return tool_usage_error(j->t, 1003, "both models need the same tokens",
                                "the reference has %d tokens, the model %zu", j->from.vocabulary,
                                j->vocabulary);
    j->context = (size_t)j->from.context;
    j->from_token = j->context / 2;
    j->pieces = (size_t)j->from.pieces;
    j->ids = j->from.tokens;
    j->from.tokens = NULL;
    begin_pieces(j);
    return TAKT_EXIT_OK;
}

static int read_pieces(job *j)
{
    tool_progress progress = tool_progress_begin(j->t, "reading", "tokens", j->pieces * j->context);
    int code = TAKT_EXIT_OK;
    for (size_t i = 0; code == TAKT_EXIT_OK && i < j->pieces; i++) {
        j->piece = j->ids + i * j->context;
        takt_status status = TAKT_OK;
        if (j->other != NULL)
            status = takt_generator_rate_each(j->other, j->piece, j->context, keep_reference, j);
        if (status == TAKT_OK)
            status = takt_generator_rate_each(j->g, j->piece, j->context, take, j);
        code = tool_finish(j->t, status);
        if (code == TAKT_EXIT_OK && j->trouble != NULL)
            code = tool_usage_error(j->t, 3002, NULL, "%s", j->trouble);
        tool_progress_at(&progress, (i + 1) * j->context);
    }
    tool_progress_end(&progress);
    return code;
}

/* ---- what is reported ---- */

static void tell_divergence(const job *j, bool is_json)
{
    tool_divergence d = j->d;
    const tool_figure mean = tool_divergence_mean(&d), same = tool_divergence_same(&d),
                      high = tool_divergence_quantile(&d, 0.999),
                      middle = tool_divergence_quantile(&d, 0.5),
                      base = tool_mean(d.surprise, d.squares, d.count);
    const double perplexity = exp(base.value), most = d.each[d.count - 1];
    if (is_json)
        printf(", \"reference_perplexity\": %.6f, \"reference_error\": %.6f, "
               "\"kl_divergence\": {\"mean\": %.9g, \"mean_error\": %.9g, \"p99.9\": %.9g, "
               "\"p99.9_error\": %.9g, \"median\": %.9g, \"median_error\": %.9g, "
               "\"maximum\": %.9g, \"same_top\": %.9g, \"same_top_error\": %.9g}",
               perplexity, perplexity * base.error, mean.value, mean.error, high.value, high.error,
               middle.value, middle.error, most, same.value, same.error);
    else
        printf("reference perplexity %.4f +/- %.4f\n"
               "KL divergence  mean %.6f +/- %.6f\n"
               "             99.9 %% %.6f +/- %.6f\n"
               "             median %.6f +/- %.6f\n"
               "            maximum %.6f\n"
               "same top     %.3f %% +/- %.3f %%\n",
               perplexity, perplexity * base.error, mean.value, mean.error, high.value, high.error,
               middle.value, middle.error, most, 100 * same.value, 100 * same.error);
}

static void tell(const job *j)
{
    const bool is_json = tool_format_of(j->t) == TAKT_FORMAT_JSON;
    const tool_figure mean = tool_mean(j->sum, j->squares, j->count);
    const double perplexity = exp(mean.value), error = perplexity * mean.error;
    printf(is_json ? "{\"perplexity\": %.6f, \"error\": %.6f, \"tokens\": %zu, \"context\": %lld"
                   : "perplexity %.4f +/- %.4f over %zu tokens, context %lld\n",
           perplexity, error, j->count, (long long)takt_generator_context(j->g));
    if (j->rows != NULL)
        tell_divergence(j, is_json);
    if (is_json)
        printf("}\n");
}

/* ---- what it needs ---- */

/* A model that is the reference computes exactly. */
static int open_reference(job *j, const takt_generator_options *how, const char *path)
{
    takt_generator_options exact = *how;
    size_t rows = 1;
    exact.activations = exact.cache_type_k = exact.cache_type_v = "f32";
    if (!j->has_base) {
        const int code = tool_finish(
            j->t, takt_generator_open(j->t->ctx, tool_readable(path), &exact, &j->other));
        if (code != TAKT_EXIT_OK)
            return code;
        rows = j->context - j->from_token;
        if (takt_generator_vocabulary(j->other) != j->vocabulary)
            return tool_usage_error(j->t, 1003, "both models need the same tokens",
                                    "%s has %zu tokens, the model %zu", path,
                                    takt_generator_vocabulary(j->other), j->vocabulary);
    }
    j->rows = calloc(rows * j->vocabulary, sizeof *j->rows);
    return j->rows != NULL ? TAKT_EXIT_OK
                           : tool_usage_error(j->t, 9003, "a shorter context (-c) needs less",
                                              "out of memory for the reference");
}

static int open_kept(job *j, const char *path)
{
    const tool_base like = {.context = (int32_t)j->context,
                            .vocabulary = (int32_t)j->vocabulary,
                            .pieces = (int32_t)j->pieces};
    j->keeps = true;
    if (j->from_token != j->context / 2)
        return tool_usage_error(j->t, 1003, "a context (-c) no longer than the text",
                                "of a text of one short piece nothing can be kept");
    return tool_base_create(j->t, path, &like, j->ids, &j->to);
}

static int work(job *j, const takt_generator_options *how, const takt_token_ids *ids)
{
    const char *reference = tool_text_of(j->t, TAKT_F_KL_DIVERGENCE);
    const char *kept = tool_text_of(j->t, TAKT_F_KL_DIVERGENCE_BASE);
    int code = j->has_base ? take_base(j) : cut(j, ids);
    j->logs = calloc(j->vocabulary, sizeof *j->logs);
    if (code == TAKT_EXIT_OK && j->logs == NULL)
        code = tool_usage_error(j->t, 9003, NULL, "out of memory for the probabilities");
    if (code == TAKT_EXIT_OK && reference != NULL)
        code = open_reference(j, how, reference);
    if (code == TAKT_EXIT_OK && kept != NULL)
        code = open_kept(j, kept);
    if (code == TAKT_EXIT_OK)
        code = read_pieces(j);
    if (!tool_base_close(&j->to) && code == TAKT_EXIT_OK)
        code = tool_usage_error(j->t, 3003, NULL, "cannot write %s", kept);
    if (code == TAKT_EXIT_OK)
        tell(j);
    return code;
}

/* A reference that is not a model is refused before the weights of the other one are read. */
static int check_reference(const job *j)
{
    const char *path = tool_text_of(j->t, TAKT_F_KL_DIVERGENCE);
    takt_tokenizer *tokens;
    if (path == NULL || j->has_base)
        return TAKT_EXIT_OK;
    const int code =
        tool_finish(j->t, takt_tokenizer_load(j->t->ctx, tool_readable(path), &tokens));
    takt_tokenizer_destroy(tokens);
    return code;
}

typedef struct reading {
    job *j;
    tool_prompt prompt;
    takt_token_ids ids;
    int code;
} reading;

/* takt_generator_options.check: a text that is too short is refused before weights are read. */
static takt_status read_ids(void *user, const takt_tokenizer *tokens, int64_t context)
{
    reading *r = user;
    (void)context;
    r->code = tool_prompt_ids(r->j->t, tokens, &r->prompt, TAKT_TOKENIZE_ADD, &r->ids);
    if (r->code == TAKT_EXIT_OK && r->ids.count < 2)
        r->code =
            tool_usage_error(r->j->t, 1003, NULL, "the text is too short: two tokens at least");
    return r->code == TAKT_EXIT_OK ? TAKT_OK : TAKT_ERR_CANCELLED;
}

static int open_all(job *j, takt_generator_options *how)
{
    reading r = {.j = j};
    const char *model = tool_readable(tool_model_path(j->t));
    int code = check_reference(j);
    if (code == TAKT_EXIT_OK && !j->has_base)
        code = tool_take_prompt(j->t, j->t->arg_count > 1 ? j->t->args[1] : NULL, &r.prompt);
    if (!j->has_base) {
        how->check = read_ids;
        how->check_user = &r;
    }
    if (code == TAKT_EXIT_OK) {
        const takt_status status = takt_generator_open(j->t->ctx, model, how, &j->g);
        code = r.code != TAKT_EXIT_OK ? r.code : tool_finish(j->t, status);
    }
    how->check = NULL; /* of the reference */
    if (code == TAKT_EXIT_OK) {
        tool_tell_rounding(j->t, j->g);
        j->vocabulary = takt_generator_vocabulary(j->g);
        code = work(j, how, &r.ids);
    }
    free(r.ids.at);
    tool_free_prompt(&r.prompt);
    return code;
}

static int run(takt_tool *t)
{
    job j = {.t = t};
    takt_generator_options how = tool_writer_options(t);
    const char *reference = tool_text_of(t, TAKT_F_KL_DIVERGENCE);
    const bool has_text = t->arg_count > 1 || tool_text_of(t, TAKT_F_PROMPT) != NULL ||
                          tool_text_of(t, TAKT_F_PROMPT_FILE) != NULL;
    int code = TAKT_EXIT_OK;
    j.has_base = reference != NULL && tool_is_base(tool_readable(reference));
    const char *dot = strrchr(tool_model_path(t), '.');
    const bool is_compiled = dot != NULL && strcmp(dot, ".taktp") == 0;
    how.context = how.context > 0 || is_compiled ? how.context : 512;
    /* Of two tokens, the second half is one that nothing follows. */
    if (!is_compiled && how.context < 3)
        return tool_usage_error(t, 1003, "3 tokens (-c) is the least",
                                "a context of %s predicts nothing that counts",
                                how.context < 2 ? "one token" : "two tokens");
    if (j.has_base && has_text)
        return tool_usage_error(t, 1003, "leave the text out", "%s has the text already",
                                reference);
    if (j.has_base) {
        code = tool_base_open(t, tool_readable(reference), &j.from);
        how.context = j.from.context;
    }
    if (code == TAKT_EXIT_OK)
        code = open_all(&j, &how);
    takt_generator_destroy(j.other);
    takt_generator_destroy(j.g);
    (void)tool_base_close(&j.from);
    free(j.ids);
    free(j.rows);
    free(j.logs);
    free(j.d.each);
    return code;
}

const takt_verb takt_verb_perplexity = {
    .name = "perplexity",
    .task = TAKT_TASK_TEXT,
    .summary = "measure how well a model predicts a text",
    .arguments = "MODEL [TEXT]",
    .arg_min = 1,
    .arg_max = 2,
    .about =
        "The text is split into pieces of the context size (-c, default 512); only the second\n"
        "half of a full piece is scored. Lower is better. --kl-divergence prints how far the\n"
        "probabilities are from those of a reference: a model, or a file that\n"
        "--kl-divergence-base or llama.cpp wrote, which contains the text.",
    .example = "takt perplexity tests/corpus/gguf/tiny.gguf -p \"a b a b\" -c 8",
    .often = (const tool_flag_id[]){TAKT_F_PROMPT, TAKT_F_PROMPT_FILE, TAKT_F_TEXT_CONTEXT,
                                    TAKT_F_KL_DIVERGENCE, TAKT_F_KL_DIVERGENCE_BASE,
                                    TAKT_F_ACTIVATIONS, TAKT_F_CACHE_TYPE_K, TAKT_F_CACHE_TYPE_V,
                                    TAKT_F_THREADS, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL, TAKT_F_PROMPT, TAKT_F_PROMPT_FILE, TAKT_F_ESCAPE, TAKT_F_TEXT_CONTEXT,
              TAKT_F_TEXT_BATCH, TAKT_F_TEXT_UBATCH, TAKT_F_THREADS_BATCH, TAKT_F_KL_DIVERGENCE,
              TAKT_F_KL_DIVERGENCE_BASE, TAKT_F_ACTIVATIONS, TAKT_F_CACHE_TYPE_K,
              TAKT_F_CACHE_TYPE_V, TAKT_F_THREADS, TAKT_F_ISA, TAKT_FLAG_IDS},
    .run = run,
};
