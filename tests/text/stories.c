/* stories.c - a trained model in GGUF: the same scores and texts as llama.cpp, the same bits for
 * any threads, instruction set and parts of the prompt. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "base/error.h"

static takt_ctx *ctx;

enum { PROMPT = 10, VOCABULARY = 512 };
static const int32_t prompt[PROMPT] = {1, 403, 407, 261, 378, 432, 383, 286, 261, 376};

static const char *file(const char *name)
{
    static char path[1024];
    const char *data = getenv("TAKT_DATA");
    snprintf(path, sizeof path, "%s/llm/stories260K/%s", data != NULL ? data : "../shared/data",
             name);
    return path;
}

static takt_generator *open_as(const char *kind, const takt_generator_options *options)
{
    char name[64];
    takt_generator *g = NULL;
    snprintf(name, sizeof name, "stories260K-%s.gguf", kind);
    EXPECT_OK(ctx, takt_generator_open(ctx, file(name), options, &g));
    return g;
}

/* ---- scores ---- */

/* Not fmax, on which gcc 12 fails at -O3. */
static double larger(double a, double b)
{
    return b > a ? b : a;
}

static void scores_of(const char *kind, const char *golden, double tolerance)
{
    char name[64];
    float want[PROMPT][VOCABULARY];
    takt_generator *g = open_as(kind, NULL);
    double worst = 0;
    size_t count;
    snprintf(name, sizeof name, "golden/%s.logits.f32", golden);
    FILE *f = fopen(file(name), "rb");
    if (g == NULL || !EXPECT(f != NULL && fread(want, sizeof want, 1, f) == 1, "%s", name))
        return;
    fclose(f);
    for (size_t i = 0; i < PROMPT; i++) {
        if (!EXPECT_OK(ctx, takt_generator_read(g, &prompt[i], 1)))
            break;
        const float *got = takt_generator_scores(g, &count);
        for (size_t k = 0; k < count; k++)
            worst = larger(worst, fabs((double)got[k] - (double)want[i][k]));
    }
    EXPECT(worst <= tolerance, "%s: scores differ by %g", kind, worst);
    takt_generator_destroy(g);
}

static void scores(void)
{
    scores_of("F32", "F32", 1e-4);
    scores_of("F16", "F16", 1e-4);
    scores_of("Q8_0", "Q8_0.dequantF32", 1e-4);
    scores_of("Q4_0", "Q4_0.dequantF32", 1e-4);
    scores_of("Q5_1", "Q5_1.dequantF32", 1e-4);
}

/* ---- texts ---- */

typedef struct paper {
    char text[4096];
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

static void write_as(const char *kind, const takt_generator_options *options,
                     const takt_sampling *sampling, paper *p)
{
    const takt_generate_options how = {.max_tokens = 64, .sampling = *sampling};
    takt_generator *g = open_as(kind, options);
    takt_generated result;
    *p = (paper){0};
    if (g == NULL)
        return;
    EXPECT_OK(ctx, takt_generate(g, "Once upon a time, there was a little", &how, put, p, &result));
    EXPECT(result.prompt_tokens == PROMPT && result.tokens == 64 && result.end == TAKT_TEXT_LENGTH,
           "%zu and %zu tokens", result.prompt_tokens, result.tokens);
    takt_generator_destroy(g);
}

static void texts(void)
{
    static const char want[] =
        " girl named Lily. She loved to play outside in the park. One day, she saw a big, red "
        "ball. She wanted to play with it, but it was too high.\nLily's mom said, \"Lily,";
    static const char *const kinds[] = {"F32", "F16", "Q8_0"};
    paper p;
    for (size_t i = 0; i < 3; i++) {
        write_as(kinds[i], NULL, &(takt_sampling){0}, &p);
        EXPECT(strncmp(p.text, want, strlen(want)) == 0, "%s: %s", kinds[i], p.text);
    }
}

/* A drawn text has the same digest in every way to compute it. */
static void same_bits(void)
{
    static const takt_sampling drawn = {.temperature = 1.2, .top_k = 40, .top_p = 0.95, .seed = 7};
    static const takt_generator_options ways[] = {{.threads = 2},
                                                  {.threads = 8, .batch = 3},
                                                  {.threads = 1, .batch = 1},
                                                  {.batch = 7},
                                                  {.context = 80},
                                                  {.threads = 3, .isa = "scalar"},
                                                  {.batch = 64, .context = 100}};
    paper first, p;
    for (size_t k = 0; k < 2; k++) {
        const char *kind = k == 0 ? "F32" : "Q4_0";
        write_as(kind, NULL, &drawn, &first);
        EXPECT_IS(first.length, >, 100);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            write_as(kind, &ways[i], &drawn, &p);
            EXPECT(strcmp(p.text, first.text) == 0, "%s, way %zu: %s, not %s", kind, i, p.text,
                   first.text);
        }
    }
    takt_sampling other = drawn;
    other.seed = 8;
    write_as("F32", NULL, &other, &p);
    write_as("F32", NULL, &drawn, &first);
    EXPECT(strcmp(p.text, first.text) != 0, "another seed gives the same text");
}

/* Rounded activations: near the exact scores, not equal, and the same bits for any threads. */
static void rounded(void)
{
    static const takt_generator_options ways[] = {{.threads = 1},
                                                  {.threads = 1, .activations = "int8"},
                                                  {.threads = 4, .activations = "int8", .batch = 3},
                                                  {.isa = "scalar", .activations = "int8"}};
    static const char *const kinds[] = {"Q8_0", "Q4_0", "Q5_1"};
    for (size_t k = 0; k < 3; k++) {
        float exact[VOCABULARY] = {0}, first[VOCABULARY] = {0};
        double worst = 0;
        for (size_t i = 0; i < 4; i++) {
            takt_generator *g = open_as(kinds[k], &ways[i]);
            if (g == NULL || !EXPECT_OK(ctx, takt_generator_read(g, prompt, PROMPT)))
                return;
            const float *got = takt_generator_scores(g, NULL);
            if (i < 2)
                memcpy(i == 0 ? exact : first, got, sizeof exact);
            else
                EXPECT(memcmp(got, first, sizeof first) == 0, "%s, way %zu", kinds[k], i);
            takt_generator_destroy(g);
        }
        for (size_t i = 0; i < VOCABULARY; i++)
            worst = larger(worst, fabs((double)first[i] - (double)exact[i]));
        EXPECT(worst > 0 && worst < 0.5, "%s: %g", kinds[k], worst);
    }
}

/* ---- limits ---- */

static void limits(void)
{
    const takt_generator_options small = {.context = 16};
    takt_generator *g = open_as("F32", &small);
    const int32_t bad = VOCABULARY;
    takt_generate_options how = {0};
    takt_generated result;
    paper p = {0};
    if (g == NULL)
        return;
    EXPECT(takt_generator_context(g) == 16 && takt_generator_scores(g, NULL) == NULL);
    EXPECT_STATUS(ctx, takt_generator_read(g, &bad, 1), TAKT_ERR_RANGE);
    EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_TOKEN_ID);
    EXPECT_OK(ctx, takt_generator_read(g, prompt, PROMPT));
    EXPECT_STATUS(ctx, takt_generator_read(g, prompt, 7), TAKT_ERR_ARGUMENT);
    EXPECT_EQ(takt_generator_position(g), PROMPT);
    takt_generator_reset(g);
    EXPECT_OK(ctx, takt_generate(g, "Once upon", &how, put, &p, &result));
    EXPECT_EQ(result.end, TAKT_TEXT_CONTEXT);
    EXPECT_EQ(takt_generator_position(g), 16);
    takt_generator_reset(g);
    how.stop = "upon";
    p = (paper){0};
    how.stop = "time";
    EXPECT_OK(ctx, takt_generate(g, "Once upon", &how, put, &p, &result));
    EXPECT(result.end == TAKT_TEXT_STOP && strcmp(p.text, " a ") == 0, "\"%s\"", p.text);
    takt_generator_destroy(g);
}

/* Probabilities of a text, in parts and at once. */
static void rating(void)
{
    const takt_generator_options parts = {.batch = 3};
    double logs[2][PROMPT] = {0};
    for (size_t i = 0; i < 2; i++) {
        takt_generator *g = open_as("F32", i == 0 ? NULL : &parts);
        if (g == NULL)
            return;
        EXPECT_OK(ctx, takt_generator_rate(g, prompt, PROMPT, logs[i]));
        EXPECT_OK(ctx, takt_generator_read(g, prompt, 1));
        takt_generator_destroy(g);
    }
    EXPECT_EQ(memcmp(logs[0], logs[1], sizeof logs[0]), 0);
    EXPECT(logs[0][2] > -1 && logs[0][2] < 0, "%g", logs[0][2]); /* "a" after "Once upon" */
}

static void begin(void)
{
    FILE *f = fopen(file("stories260K-F32.gguf"), "rb");
    if (f == NULL)
        TEST_SKIP("%s is not there", file("stories260K-F32.gguf"));
    fclose(f);
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        exit(EXIT_FAILURE);
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, scores, texts, same_bits, rounded, limits, rating, end)
