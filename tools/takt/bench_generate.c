/* bench_generate.c - tokens a second of a language model, in rows like llama-bench's: pp512 reads a
 * prompt of 512 tokens, tg128 generates 128, "@ d4096" after 4096 others. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "text.h"

enum { LENGTHS = 16, RUNS_MOST = 1000, TOKENS_MOST = 1 << 24 };

typedef struct lengths {
    size_t at[LENGTHS], count;
} lengths;

typedef struct bench {
    takt_tool *t;
    takt_generator *g;
    int32_t *ids; /* random ones, as many as the longest row needs */
    size_t runs;
    double *rates; /* of one row */
    size_t rows;   /* printed */
    bool is_json;
} bench;

/* ---- flags ---- */

/* "512", "0,4096" */
static bool take_lengths(const takt_tool *t, tool_flag_id id, const char *fallback, lengths *out)
{
    const char *text = tool_text_of(t, id);
    text = text != NULL ? text : fallback;
    *out = (lengths){.count = 0};
    for (const char *at = text; out->count < LENGTHS;) {
        char *end;
        errno = 0;
        const unsigned long value = strtoul(at, &end, 10);
        if (end == at || *at == '-' || errno != 0 || value > TOKENS_MOST)
            break;
        out->at[out->count++] = value;
        if (*end == '\0')
            return true;
        if (*end != ',')
            break;
        at = end + 1;
    }
    (void)tool_usage_error(t, 1003, NULL, "--%s is a number of tokens, or several: 0,4096; not %s",
                           tool_flags[id].name, text);
    return false;
}

static bool take_number(const takt_tool *t, tool_flag_id id, unsigned long fallback,
                        unsigned long *out)
{
    const char *text = tool_text_of(t, id);
    char *end = "";
    *out = text == NULL || strcmp(text, "auto") == 0 ? fallback : strtoul(text, &end, 10);
    if (*end == '\0' && (text == NULL || text[0] != '-') && *out <= RUNS_MOST)
        return true;
    (void)tool_usage_error(t, 1003, NULL, "--%s is one number here, not %s", tool_flags[id].name,
                           text);
    return false;
}

static size_t longest(const lengths *l)
{
    size_t most = 0;
    for (size_t i = 0; i < l->count; i++)
        most = l->at[i] > most ? l->at[i] : most;
    return most;
}

/* ---- one row ---- */

/* `count` tokens in one batch, or one after the other, after `depth` others; seconds. */
static int once(bench *b, size_t depth, size_t count, bool writes, double *seconds)
{
    takt_generator_reset(b->g);
    int code = tool_finish(b->t, takt_generator_read(b->g, b->ids, depth));
    const uint64_t begin = tool_now_ns();
    for (size_t i = 0; code == TAKT_EXIT_OK && i < count; i += writes ? 1 : count)
        code = tool_finish(b->t, takt_generator_read(b->g, b->ids + depth + i, writes ? 1 : count));
    *seconds = (double)(tool_now_ns() - begin) / 1e9;
    return code;
}

static void tell(bench *b, size_t depth, size_t count, bool writes)
{
    double mean = 0, squares = 0;
    char test[64];
    for (size_t i = 0; i < b->runs; i++)
        mean += b->rates[i] / (double)b->runs;
    for (size_t i = 0; i < b->runs; i++)
        squares += (b->rates[i] - mean) * (b->rates[i] - mean);
    const double deviation = b->runs > 1 ? sqrt(squares / (double)(b->runs - 1)) : 0;
    const int length = snprintf(test, sizeof test, "%s%zu", writes ? "tg" : "pp", count);
    if (depth > 0)
        (void)snprintf(test + length, sizeof test - (size_t)length, " @ d%zu", depth);
    if (!b->is_json) {
        if (b->rows++ == 0)
            printf("%-20s %14s\n", "test", "tokens/s");
        printf("%-20s %9.2f ± %.2f\n", test, mean, deviation);
        (void)fflush(stdout);
        return;
    }
    printf("%s{\"test\": \"%s\", \"n_prompt\": %zu, \"n_gen\": %zu, \"n_depth\": %zu, "
           "\"avg_ts\": %.6g, \"stddev_ts\": %.6g, \"samples_ts\": [",
           b->rows++ == 0 ? "" : ",\n ", test, writes ? 0 : count, writes ? count : 0, depth, mean,
           deviation);
    for (size_t i = 0; i < b->runs; i++)
        printf("%s%.6g", i == 0 ? "" : ", ", b->rates[i]);
    printf("]}");
}

static int row(bench *b, size_t depth, size_t count, bool writes)
{
    double seconds;
    if (count == 0)
        return TAKT_EXIT_OK;
    int code = once(b, depth, count, writes, &seconds); /* warms up */
    for (size_t i = 0; code == TAKT_EXIT_OK && i < b->runs; i++) {
        code = once(b, depth, count, writes, &seconds);
        b->rates[i] = seconds > 0 ? (double)count / seconds : 0;
    }
    if (code == TAKT_EXIT_OK)
        tell(b, depth, count, writes);
    return code;
}

static int rows(bench *b, const lengths *depths, const lengths *prompts, const lengths *texts)
{
    int code = TAKT_EXIT_OK;
    if (b->is_json)
        printf("[");
    for (size_t d = 0; d < depths->count; d++) {
        for (size_t i = 0; code == TAKT_EXIT_OK && i < prompts->count; i++)
            code = row(b, depths->at[d], prompts->at[i], false);
        for (size_t i = 0; code == TAKT_EXIT_OK && i < texts->count; i++)
            code = row(b, depths->at[d], texts->at[i], true);
    }
    if (b->is_json)
        printf("]\n");
    return code;
}

int tool_bench_generate(takt_tool *t)
{
    bench b = {.t = t, .is_json = tool_format_of(t) == TAKT_FORMAT_JSON};
    takt_generator_options how = tool_writer_options(t);
    lengths depths, prompts, texts;
    unsigned long runs, threads;
    if (!take_lengths(t, TAKT_F_DEPTH, "0", &depths) ||
        !take_lengths(t, TAKT_F_N_PROMPT, "512", &prompts) ||
        !take_lengths(t, TAKT_F_N_GEN, "128", &texts) ||
        !take_number(t, TAKT_F_ITERATIONS, 5, &runs) ||
        !take_number(t, TAKT_F_THREAD_LIST, 0, &threads))
        return TAKT_EXIT_USAGE;
    const char *model = tool_text_of(t, TAKT_F_MODEL);
    if (model == NULL && t->arg_count == 0)
        return tool_usage_error(t, 1003, NULL, "there is no model to measure");
    const size_t more = longest(&prompts) > longest(&texts) ? longest(&prompts) : longest(&texts);
    const size_t all = longest(&depths) + more;
    how.threads = (int)threads;
    how.batch = 512;
    how.context = (int64_t)(all > 0 ? all : 1);
    b.runs = runs > 0 ? runs : 1;
    b.ids = calloc(all + 1, sizeof *b.ids);
    b.rates = calloc(b.runs, sizeof *b.rates);
    int code = b.ids != NULL && b.rates != NULL ? TAKT_EXIT_OK : tool_finish(t, TAKT_ERR_MEMORY);
    if (code == TAKT_EXIT_OK)
        code = tool_finish(
            t, takt_generator_open(t->ctx, model != NULL ? model : t->args[0], &how, &b.g));
    if (code == TAKT_EXIT_OK) {
        const size_t words = takt_tokenizer_count(takt_generator_tokenizer(b.g));
        uint32_t seed = 1;
        for (size_t i = 0; i < all; i++, seed = seed * 1664525 + 1013904223)
            b.ids[i] = (int32_t)((seed >> 8) % words);
        tool_tell_rounding(t, b.g);
        code = rows(&b, &depths, &prompts, &texts);
    }
    takt_generator_destroy(b.g);
    free(b.ids);
    free(b.rates);
    return code;
}
