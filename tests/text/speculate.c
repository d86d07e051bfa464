/* speculate.c - guesses change the speed of a text, never the text: for every sampler, seed, kind
 * and number of guesses; the final state is the same as without. */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "api/text/engine.h"
#include "base/mem.h"
#include "io/file.h"

enum { TOKENS = 40 };

static takt_ctx *ctx;

typedef struct paper {
    char text[8192];
    size_t length;
} paper;

static int put(void *user, const char *text, size_t length)
{
    paper *p = user;
    if (p->length + length < sizeof p->text) {
        memcpy(p->text + p->length, text, length);
        p->length += length;
        p->text[p->length] = '\0';
    }
    return 0;
}

static const char *file(const char *kind)
{
    static char path[1024];
    const char *data = getenv("TAKT_DATA");
    if (strchr(kind, '/') != NULL)
        return kind;
    snprintf(path, sizeof path, "%s/llm/stories260K/stories260K-%s.gguf",
             data != NULL ? data : "../shared/data", kind);
    return path;
}

static takt_generator *open_as(const char *kind, const takt_generator_options *options)
{
    takt_generator *g = NULL;
    EXPECT_OK(ctx, takt_generator_open(ctx, file(kind), options, &g));
    return g;
}

/* The text, its scores after one more token, and how many guesses were right. */
typedef struct outcome {
    paper p;
    takt_generated result;
    float scores[512];
    int64_t position;
} outcome;

static void write_as(takt_generator *g, const char *prompt, const takt_generate_options *how,
                     outcome *o)
{
    const int32_t one = 4;
    size_t count;
    *o = (outcome){.position = 0};
    takt_generator_reset(g);
    if (!EXPECT_OK(ctx, takt_generate(g, prompt, how, put, &o->p, &o->result)))
        return;
    o->position = takt_generator_position(g);
    if (o->position < takt_generator_context(g) &&
        EXPECT_OK(ctx, takt_generator_read(g, &one, 1))) {
        const float *scores = takt_generator_scores(g, &count);
        memcpy(o->scores, scores, (count < 512 ? count : 512) * sizeof *scores);
    }
}

static const takt_sampling samplings[] = {
    {.temperature = 0},
    {.temperature = 0, .repeat_penalty = 1.3, .presence_penalty = 0.4, .repeat_last_n = 16},
    {.temperature = 0.6, .top_k = 40, .top_p = 0.95, .min_p = 0.05},
    {.temperature = 1.1, .typical_p = 0.9, .frequency_penalty = 0.2},
    {.temperature = 0.8, .mirostat = 2},
    {.temperature = 0.8, .mirostat = 1, .mirostat_tau = 3},
    {.temperature = 0, .dry_multiplier = 2, .dry_allowed_length = 1},
    {.temperature = 0.9, .xtc_probability = 0.5, .top_n_sigma = 2, .dynatemp_range = 0.3},
};

/* `how`: the guesses; returns the number of correct ones. */
static size_t same_text(takt_generator *g, const char *prompt, const takt_generate_options *how)
{
    static outcome plain, guessed;
    size_t accepted = 0;
    for (size_t i = 0; i < sizeof samplings / sizeof *samplings; i++)
        for (uint64_t seed = 1; seed <= (samplings[i].temperature > 0 ? 3 : 1); seed++) {
            takt_generate_options with = *how;
            with.sampling = samplings[i];
            with.sampling.seed = seed;
            takt_generate_options without = with;
            without.draft = NULL;
            without.lookup = false;
            write_as(g, prompt, &without, &plain);
            write_as(g, prompt, &with, &guessed);
            EXPECT(strcmp(plain.p.text, guessed.p.text) == 0, "sampling %zu, seed %d: %s, not %s",
                   i, (int)seed, guessed.p.text, plain.p.text);
            EXPECT_EQ(plain.result.tokens, guessed.result.tokens);
            EXPECT_EQ(plain.result.end, guessed.result.end);
            EXPECT(plain.position == guessed.position &&
                       memcmp(plain.scores, guessed.scores, sizeof plain.scores) == 0,
                   "sampling %zu, seed %d: the state differs behind the text", i, (int)seed);
            EXPECT_EQ(plain.result.drafted, 0);
            EXPECT_IS(guessed.result.accepted, <=, guessed.result.drafted);
            accepted += guessed.result.accepted;
        }
    return accepted;
}

static bool has_stories(void)
{
    FILE *f = fopen(file("F32"), "rb");
    if (f != NULL)
        fclose(f);
    return f != NULL;
}

static const char story[] = "Once upon a time, there was a little girl named Lily. She saw a big "
                            "ball. One day, there was a little girl named";

/* A draft of coarser weights, and one that is the model itself: then all its guesses are right. */
static void drafts(void)
{
    static const takt_generator_options ways[] = {{.threads = 1, .context = 128},
                                                  {.threads = 3, .batch = 4, .context = 90}};
    if (!has_stories())
        TEST_SKIP("%s is not there", file("F32"));
    for (size_t i = 0; i < 2; i++) {
        takt_generator *g = open_as("Q8_0", &ways[i]), *coarse = open_as("Q4_0", &ways[i]);
        takt_generator *same = open_as("Q8_0", &ways[i]);
        takt_generate_options how = {.max_tokens = TOKENS, .draft = coarse, .draft_max = 5};
        if (g != NULL && coarse != NULL && same != NULL) {
            EXPECT_IS(same_text(g, story, &how), >, 50);
            how.draft_p_min = -1;
            how.lookup = true;
            EXPECT_IS(same_text(g, story, &how), >, 50);
            how = (takt_generate_options){.max_tokens = TOKENS, .draft = same, .draft_p_min = -1};
            static outcome all;
            write_as(g, story, &how, &all);
            EXPECT(all.result.accepted == all.result.drafted &&
                       all.result.drafted >= TOKENS * 6 / 10,
                   "%zu of %zu", all.result.accepted, all.result.drafted);
        }
        takt_generator_destroy(g);
        takt_generator_destroy(coarse);
        takt_generator_destroy(same);
    }
}

/* Guesses from earlier text, up to the end of a context that is soon full. */
static void lookups(void)
{
    if (!has_stories())
        TEST_SKIP("%s is not there", file("F32"));
    const takt_generator_options small = {.threads = 2, .context = 64};
    takt_generator *g = open_as("F32", &small);
    takt_generate_options how = {.lookup = true, .ignore_eos = true};
    if (g != NULL)
        EXPECT_IS(same_text(g, story, &how), >, 0);
    takt_generator_destroy(g);
}

/* More guesses at once than before: a text continues from the scores of the guesses that were read
 * last, in newly allocated memory. */
static void enlarged(void)
{
    static const char twice[] = "Once upon a time, there was a little girl named Lily. Once upon a "
                                "time, there was";
    const takt_generator_options options = {.threads = 1, .context = 128};
    static paper want, got;
    if (!has_stories())
        TEST_SKIP("%s is not there", file("F32"));
    takt_generator *g = open_as("F32", &options);
    for (size_t tokens = 5; g != NULL && tokens < 12; tokens++) {
        const takt_generate_options plain = {.max_tokens = tokens};
        takt_generate_options how = {.max_tokens = tokens, .lookup = true, .draft_max = 2};
        want.length = got.length = 0;
        takt_generator_reset(g);
        EXPECT_OK(ctx, takt_generate(g, twice, &plain, put, &want, NULL));
        EXPECT_OK(ctx, takt_generate(g, "", &plain, put, &want, NULL));
        takt_generator_destroy(g);
        g = open_as("F32", &options);
        if (g == NULL || !EXPECT_OK(ctx, takt_generate(g, twice, &how, put, &got, NULL)))
            break;
        how.draft_max = 8;
        EXPECT_OK(ctx, takt_generate(g, "", &how, put, &got, NULL));
        EXPECT(strcmp(want.text, got.text) == 0, "%zu tokens: %s, not %s", tokens, got.text,
               want.text);
    }
    takt_generator_destroy(g);
}

/* The path of stories260K whose last weights are not numbers; NULL: it could not be written. */
static const char *write_broken(void)
{
    static char path[1024];
    enum { BYTES = 256 * sizeof(float) };
    const char *tmp = getenv("TAKT_TEST_TMP");
    void *bytes;
    size_t length;
    snprintf(path, sizeof path, "%s/broken.gguf", tmp != NULL ? tmp : "/tmp");
    if (!EXPECT_OK(ctx, takt_read_file(ctx, file("F32"), &bytes, &length)))
        return NULL;
    memset((char *)bytes + length - BYTES, 0xFF, BYTES);
    const bool is_good = EXPECT_OK(ctx, takt_write_file(ctx, path, bytes, length));
    takt_mem_put(ctx, bytes, length);
    return is_good ? path : NULL;
}

/* A draft that fails costs its guesses, not the text. */
static void broken(void)
{
    const takt_generator_options options = {.threads = 1, .context = 128};
    if (!has_stories())
        TEST_SKIP("%s is not there", file("F32"));
    const char *path = write_broken();
    takt_generator *g = open_as("F32", &options);
    takt_generator *draft = path != NULL ? open_as(path, &options) : NULL;
    takt_generate_options how = {.max_tokens = 12, .draft = draft, .draft_p_min = -1};
    if (g != NULL && draft != NULL) {
        EXPECT_EQ(same_text(g, story, &how), 0);
        EXPECT(takt_last_error_info(ctx)->id == 0, "%s", takt_last_error(ctx));
    }
    takt_generator_destroy(draft);
    takt_generator_destroy(g);
}

/* A grammar, stop strings and ends of texts, with a model from the repository. */
static void ends(void)
{
    static const char tiny[] = "tests/corpus/gguf/tiny.gguf";
    static const char rule[] = "root ::= \"a\" (\" b\" \" a\")*";
    takt_grammar *grammar = NULL;
    takt_generator *g = open_as(tiny, NULL), *draft = open_as(tiny, NULL);
    takt_generate_options how = {.max_tokens = 20, .draft = draft, .draft_p_min = -1};
    if (g != NULL && draft != NULL &&
        EXPECT_OK(ctx, takt_grammar_parse(ctx, rule, strlen(rule), &grammar))) {
        EXPECT_IS(same_text(g, "a b a b", &how), >, 0);
        how.stop = "b";
        (void)same_text(g, "a b a b", &how);
        how.stop = NULL;
        how.lookup = true;
        how.grammar = grammar;
        (void)same_text(g, "a b a b", &how);
    }
    takt_grammar_destroy(grammar);
    takt_generator_destroy(g);
    takt_generator_destroy(draft);
}

static void refused(void)
{
    takt_generator *g = open_as("tests/corpus/gguf/tiny.gguf", NULL);
    takt_generator *other = open_as("tests/corpus/hf_tiny", NULL);
    takt_generate_options how = {.max_tokens = 4, .draft = other};
    paper p = {.length = 0};
    if (g != NULL && other != NULL) {
        EXPECT_STATUS(ctx, takt_generate(g, "a", &how, put, &p, NULL), TAKT_ERR_UNSUPPORTED);
        EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_SPECULATION);
        how.draft = g;
        EXPECT_STATUS(ctx, takt_generate(g, "a", &how, put, &p, NULL), TAKT_ERR_ARGUMENT);
        how.draft = NULL;
        how.lookup = true;
        how.draft_p_min = 0.0 / 0.0;
        EXPECT_STATUS(ctx, takt_generate(g, "a", &how, put, &p, NULL), TAKT_ERR_ARGUMENT);
    }
    takt_generator_destroy(g);
    takt_generator_destroy(other);
}

static void all(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    ends();
    refused();
    lookups();
    enlarged();
    broken();
    drafts();
    takt_ctx_destroy(ctx);
}

TEST_MAIN(all)
