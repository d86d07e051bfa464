/* perplexity.c - how well a model predicts a text. */
#include <math.h>
#include <stdlib.h>

#include "progress.h"
#include "text.h"

typedef struct tally {
    double sum, squares; /* of minus the logarithms */
    size_t count;
} tally;

/* Mean surprise as a perplexity, and its standard error. */
static void tell(const takt_tool *t, const tally *a, int64_t context)
{
    const double n = (double)a->count, mean = a->sum / n;
    const double variance = a->count > 1 ? (a->squares - a->sum * mean) / (n - 1) : 0;
    const double perplexity = exp(mean), error = perplexity * sqrt(fmax(variance, 0) / n);
    if (tool_format_of(t) == TAKT_FORMAT_JSON)
        printf("{\"perplexity\": %.6f, \"error\": %.6f, \"tokens\": %zu, \"context\": %lld}\n",
               perplexity, error, a->count, (long long)context);
    else
        printf("perplexity %.4f +/- %.4f over %zu tokens, context %lld\n", perplexity, error,
               a->count, (long long)context);
}

/* Pieces as long as the context, each from an empty state; the first half of a full piece is not
 * scored. */
static int rate(takt_tool *t, takt_generator *g, const takt_token_ids *ids, tally *sum)
{
    const size_t context = (size_t)takt_generator_context(g);
    double *logs = calloc(context, sizeof *logs);
    tool_progress progress = tool_progress_begin(t, "reading", "tokens", ids->count);
    int code = logs != NULL ? TAKT_EXIT_OK : TAKT_EXIT_FAILED;
    for (size_t at = 0; code == TAKT_EXIT_OK && at + 1 < ids->count; at += context) {
        const size_t count = ids->count - at < context ? ids->count - at : context;
        const size_t from = ids->count >= context ? context / 2 : 0;
        if (count < 2 || (at > 0 && count < context))
            break; /* a rest is left out, as it has too little before it */
        code = tool_finish(t, takt_generator_rate(g, ids->at + at, count, logs));
        for (size_t i = from; code == TAKT_EXIT_OK && i + 1 < count; i++) {
            sum->sum -= logs[i];
            sum->squares += logs[i] * logs[i];
            sum->count++;
        }
        tool_progress_at(&progress, at + count);
    }
    tool_progress_end(&progress);
    free(logs);
    return code;
}

static int run(takt_tool *t)
{
    takt_generator *g;
    tool_prompt prompt;
    takt_token_ids ids;
    tally sum = {0};
    takt_generator_options how = tool_writer_options(t);
    how.context = how.context > 0 ? how.context : 512;
    if (how.context < 2)
        return tool_usage_error(t, 1003, NULL, "a context of one token predicts nothing");
    int code = tool_take_prompt(t, t->arg_count > 1 ? t->args[1] : NULL, &prompt);
    if (code != TAKT_EXIT_OK)
        return code;
    code = tool_finish(t, takt_generator_open(t->ctx, tool_readable(tool_model_path(t)), &how, &g));
    if (code == TAKT_EXIT_OK) {
        tool_tell_rounding(t, g);
        code = tool_prompt_ids(t, takt_generator_tokenizer(g), &prompt, TAKT_TOKENIZE_ADD, &ids);
        if (code == TAKT_EXIT_OK) {
            code = rate(t, g, &ids, &sum);
            free(ids.at);
        }
        if (code == TAKT_EXIT_OK && sum.count == 0)
            code = tool_usage_error(t, 1003, NULL, "the text is too short: two tokens at least");
        else if (code == TAKT_EXIT_OK)
            tell(t, &sum, takt_generator_context(g));
        takt_generator_destroy(g);
    }
    tool_free_prompt(&prompt);
    return code;
}

const takt_verb takt_verb_perplexity = {
    .name = "perplexity",
    .task = TAKT_TASK_TEXT,
    .summary = "how well a model predicts a text",
    .arguments = "MODEL [TEXT]",
    .arg_min = 1,
    .arg_max = 2,
    .about = "The text is cut into pieces as long as the context (-c, default 512); of a full\n"
             "piece the second half counts. The lower the perplexity, the better the model.",
    .example = "takt perplexity tests/corpus/gguf/tiny.gguf -p \"a b a b\" -c 8",
    .flags = {TAKT_F_PROMPT, TAKT_F_PROMPT_FILE, TAKT_F_ESCAPE, TAKT_F_TEXT_CONTEXT,
              TAKT_F_TEXT_BATCH, TAKT_F_ACTIVATIONS, TAKT_F_CACHE_TYPE_K, TAKT_F_CACHE_TYPE_V,
              TAKT_F_THREADS, TAKT_F_ISA, TAKT_FLAG_IDS},
    .run = run,
};
