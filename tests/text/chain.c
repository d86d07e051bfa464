/* chain.c - samplers by cases in a file: settings, scores, history, and the expected candidates
 * with their probabilities. Without an argument the file has the results of llama.cpp's samplers
 * (tests/text/samplers_slow.py writes it); tests/text/samplers.py has formulas in plain Python. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../test.h"
#include "text/sampler.h"

enum { MOST = 256, LINE = 1 << 14 };

static takt_ctx *ctx;
static takt_tokenizer *tokens;

typedef struct chain_case {
    char name[64], breakers[8][64];
    const char *breaker_list[8];
    takt_sampling s;
    float scores[MOST];
    int32_t history[MOST];
    double want[MOST];
    size_t count, history_count;
} chain_case;

static chain_case k;
static size_t done;

static const struct {
    const char *name;
    size_t at;
    bool is_real;
} settings[] = {
#define SETTING(name, is_real)                                                                     \
    {                                                                                              \
#name, offsetof(takt_sampling, name), is_real                                              \
    }
    SETTING(temperature, true),
    SETTING(top_p, true),
    SETTING(min_p, true),
    SETTING(typical_p, true),
    SETTING(repeat_penalty, true),
    SETTING(presence_penalty, true),
    SETTING(frequency_penalty, true),
    SETTING(dynatemp_range, true),
    SETTING(top_n_sigma, true),
    SETTING(dynatemp_exponent, true),
    SETTING(xtc_probability, true),
    SETTING(xtc_threshold, true),
    SETTING(dry_multiplier, true),
    SETTING(dry_base, true),
    SETTING(top_k, false),
    SETTING(repeat_last_n, false),
    SETTING(dry_allowed_length, false),
    SETTING(dry_penalty_last_n, false)};

static void set(const char *word)
{
    const size_t length = strcspn(word, "=");
    for (size_t i = 0; word[length] == '=' && i < sizeof settings / sizeof *settings; i++) {
        if (strlen(settings[i].name) != length || strncmp(settings[i].name, word, length) != 0)
            continue;
        char *at = (char *)&k.s + settings[i].at;
        const double value = strtod(word + length + 1, NULL);
        if (settings[i].is_real)
            memcpy(at, &value, sizeof value);
        else
            *(int64_t *)(void *)at = (int64_t)value;
        return;
    }
    EXPECT(false, "%s: there is no setting %s", k.name, word);
}

static void check(const char *order)
{
    static takt_candidate room[MOST];
    static uint16_t times[MOST];
    static uint32_t runs[MOST];
    double surprise = 10;
    takt_breakers breakers = {0};
    takt_sampling s;
    takt_candidates c = {.at = room,
                         .times = times,
                         .runs = runs,
                         .history = k.history,
                         .history_count = k.history_count,
                         .surprise = &surprise,
                         .chance = 0.5,
                         .breakers = &breakers};
    k.s.samplers = order;
    k.s.dry_breakers = k.breaker_list;
    if (EXPECT_OK(ctx, takt_sampling_settle(ctx, &k.s, &s)) &&
        EXPECT_OK(ctx, takt_breakers_make(ctx, tokens, &s, &breakers))) {
        takt_candidates_fill(&c, k.scores, k.count);
        takt_sample_apply(&c, &s);
        takt_candidates_shares(&c);
    }
    for (size_t i = 0; i < c.count; i++) {
        double *want = &k.want[room[i].id];
        EXPECT(fabs(*want - room[i].share) <= 1e-5, "%s: token %d has %.9g, not %.9g", k.name,
               room[i].id, room[i].share, *want);
        *want = 0;
    }
    for (size_t i = 0; i < k.count; i++)
        EXPECT(k.want[i] <= 1e-5 && times[i] == 0, "%s: token %zu is missing", k.name, i);
    takt_breakers_free(ctx, &breakers);
    done++;
}

/* case NAME ORDER key=value ... / scores / history / breaker HEX / want ID:P ... */
static void take(char *line)
{
    static char order[LINE];
    char *word = strtok(line, " \n");
    if (word == NULL)
        return;
    if (strcmp(word, "case") == 0) {
        k = (chain_case){.s = {.size = sizeof k.s}};
        (void)snprintf(k.name, sizeof k.name, "%.60s", strtok(NULL, " \n"));
        (void)snprintf(order, sizeof order, "%s", strtok(NULL, " \n"));
        while ((word = strtok(NULL, " \n")) != NULL)
            set(word);
    } else if (strcmp(word, "scores") == 0) {
        while ((word = strtok(NULL, " \n")) != NULL && k.count < MOST)
            k.scores[k.count++] = strtof(word, NULL);
    } else if (strcmp(word, "history") == 0) {
        while ((word = strtok(NULL, " \n")) != NULL && k.history_count < MOST)
            k.history[k.history_count++] = (int32_t)atoi(word);
    } else if (strcmp(word, "breaker") == 0) {
        char *to = k.breakers[k.s.dry_breaker_count];
        word = strtok(NULL, " \n");
        for (size_t i = 0; word[2 * i] != '\0'; i++) {
            const char digits[] = {word[2 * i], word[2 * i + 1], '\0'};
            to[i] = (char)strtol(digits, NULL, 16);
        }
        k.breaker_list[k.s.dry_breaker_count++] = to;
    } else if (strcmp(word, "want") == 0) {
        while ((word = strtok(NULL, " \n")) != NULL)
            k.want[atoi(word)] = strtod(strchr(word, ':') + 1, NULL);
        check(order);
    }
}

int main(int argc, char **argv)
{
    static char line[LINE];
    FILE *f = fopen(argc > 1 ? argv[1] : "tests/corpus/samplers/llama_cpp.txt", "r");
    if (f == NULL || takt_ctx_create(NULL, &ctx) != TAKT_OK ||
        takt_tokenizer_load(ctx, "tests/corpus/gguf/tiny.gguf", &tokens) != TAKT_OK)
        return EXIT_FAILURE;
    while (fgets(line, sizeof line, f) != NULL)
        take(line);
    fclose(f);
    EXPECT(done > 0, "the file has no case");
    takt_tokenizer_destroy(tokens);
    takt_ctx_destroy(ctx);
    printf("%zu cases\n", done);
    return test_done();
}
