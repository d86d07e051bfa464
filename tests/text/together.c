/* together.c - texts that share runs: the scores of each are the same as alone, whichever others
 * join, leave or are inactive; a token allocates nothing. */
#include "api/text/together.h"

#include "api/session/session.h"
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "util/inject.h"

enum { MOST = 8, STEPS = 24, VOCABULARY = 512, CONTEXT = 96, LONGEST = 12 };

static const char *file(const char *kind)
{
    static char path[1024];
    const char *data = getenv("TAKT_DATA");
    snprintf(path, sizeof path, "%s/llm/stories260K/stories260K-%s.gguf",
             data != NULL ? data : "../shared/data", kind);
    return path;
}

/* Text `row` begins with a prompt of its own. */
static size_t prompt_of(size_t row, int32_t *ids)
{
    static const int32_t words[] = {403, 407, 261, 378, 432, 383, 286, 376};
    const size_t count = 1 + (row * 3) % 7;
    ids[0] = 1;
    for (size_t i = 1; i < count; i++)
        ids[i] = words[(row + i) % 8];
    return count;
}

static int32_t best(const float *scores)
{
    int32_t found = 0;
    for (int32_t i = 1; i < VOCABULARY; i++)
        found = scores[i] > scores[found] ? i : found;
    return found;
}

/* A text generated alone, and its last scores. */
typedef struct alone {
    int32_t ids[STEPS];
    float scores[STEPS][VOCABULARY];
} alone;

static void say_alone(takt_ctx *ctx, takt_generator *g, size_t row, alone *to)
{
    int32_t ids[8];
    size_t count = prompt_of(row, ids);
    takt_generator_reset(g);
    for (size_t i = 0; i < STEPS; i++) {
        if (!EXPECT_OK(ctx, takt_generator_read(g, ids, count)))
            return;
        const float *scores = takt_generator_scores(g, &count);
        memcpy(to->scores[i], scores, sizeof to->scores[i]);
        ids[0] = to->ids[i] = best(scores);
        count = 1;
    }
}

typedef struct group {
    takt_generator *texts[MOST];
    takt_together together;
    size_t count;
} group;

static bool open_with(takt_ctx *ctx, group *of, const char *kind, size_t count,
                      takt_generator_options options)
{
    *of = (group){.count = count};
    if (!EXPECT_OK(ctx,
                   takt_generator_open_first(ctx, file(kind), &options, count, 0, &of->texts[0])))
        return false;
    if (!EXPECT(of->texts[0]->engine.rows == count, "%s: texts do not go on together", kind))
        return false;
    for (size_t i = 1; i < count; i++)
        if (!EXPECT_OK(ctx, takt_generator_clone(of->texts[0], i, &of->texts[i])))
            return false;
    return EXPECT_OK(ctx, takt_together_open(&of->together, of->texts, count));
}

static bool open_group(takt_ctx *ctx, group *of, const char *kind, size_t count, int threads)
{
    const takt_generator_options options = {
        .threads = threads, .context = 64, .batch = 16, .activations = "int8"};
    return open_with(ctx, of, kind, count, options);
}

/* All texts can read LONGEST tokens in one run. */
static bool open_parts(takt_ctx *ctx, group *of, const char *kind, size_t count, int threads)
{
    const takt_generator_options options = {.threads = threads,
                                            .context = CONTEXT,
                                            .batch = (int64_t)count * LONGEST,
                                            .activations = "int8"};
    return open_with(ctx, of, kind, count, options);
}

static void close_group(group *of)
{
    takt_together_close(&of->together);
    for (size_t i = of->count; i-- > 0;)
        takt_generator_destroy(of->texts[i]);
}

/* Text `row` begins at step `row`, and every third one is inactive from time to time. */
static bool is_due(size_t row, size_t step, size_t said)
{
    return step >= row && said < STEPS && (row % 3 != 1 || (step + row) % 4 != 0);
}

static void say_together(takt_ctx *ctx, group *of, alone (*want)[MOST])
{
    size_t said[MOST] = {0};
    for (size_t step = 0; step < 3 * STEPS; step++) {
        int32_t ids[MOST];
        for (size_t row = 0; row < of->count; row++) {
            takt_generator *g = of->texts[row];
            int32_t first[8];
            ids[row] = -1;
            if (!is_due(row, step, said[row]))
                continue;
            if (said[row] > 0)
                ids[row] = (*want)[row].ids[said[row] - 1];
            else if (!EXPECT_OK(ctx, takt_generator_read(g, first, prompt_of(row, first))))
                return;
        }
        if (!EXPECT_OK(ctx, takt_together_read(&of->together, ids)))
            return;
        for (size_t row = 0; row < of->count; row++) {
            size_t count;
            if (!is_due(row, step, said[row]))
                continue;
            const float *scores = takt_generator_scores(of->texts[row], &count);
            EXPECT(memcmp(scores, (*want)[row].scores[said[row]], sizeof want[0]->scores[0]) == 0,
                   "text %zu of %zu, token %zu: other scores than alone", row, of->count,
                   said[row]);
            said[row]++;
        }
    }
}

static void same_scores(takt_ctx *ctx, const char *kind, size_t count, int threads)
{
    static alone want[MOST];
    const takt_generator_options options = {
        .threads = 1, .context = 64, .batch = 3, .activations = "int8"};
    takt_generator *single = NULL;
    group of;
    if (!EXPECT_OK(ctx, takt_generator_open(ctx, file(kind), &options, &single)))
        return;
    for (size_t i = 0; i < count; i++)
        say_alone(ctx, single, i, &want[i]);
    takt_generator_destroy(single);
    if (open_group(ctx, &of, kind, count, threads))
        say_together(ctx, &of, &want);
    close_group(&of);
}

/* ---- prompts ---- */

/* The first tokens of text `row`, of which it reads `lengths[row]` at a time. */
static void fill_prompt(size_t row, int32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ids[i] = (int32_t)((i * 37 + row * 11 + 3) % VOCABULARY);
}

/* Parts of different lengths in one run, between texts that rest: all have the scores and the
 * caches that they have alone. */
static void join(takt_ctx *ctx, group *of, takt_generator *single, const size_t *lengths)
{
    static int32_t ids[MOST][CONTEXT];
    takt_together_part parts[MOST] = {0};
    size_t members = 0, read[MOST], count;
    for (size_t i = 0; i < of->count; i++) {
        fill_prompt(i, ids[i], CONTEXT);
        read[i] = (size_t)of->texts[i]->position;
        parts[i] = (takt_together_part){.ids = ids[i] + read[i], .count = lengths[i]};
        members += lengths[i] > 0;
    }
    of->together.spare = 1000; /* whatever is computed and discarded */
    takt_together_read_parts(&of->together, parts, of->count);
    for (size_t i = 0; i < of->count; i++) {
        takt_generator *g = of->texts[i];
        EXPECT_EQ(parts[i].status, TAKT_OK);
        EXPECT_EQ(parts[i].is_done, (lengths[i] > 0));
        EXPECT(lengths[i] == 0 || parts[i].together == members, "%zu of %zu texts in one run",
               parts[i].together, members);
        EXPECT_EQ(g->position, read[i] + lengths[i]);
        takt_generator_reset(single);
        if (g->position == 0 || lengths[i] == 0)
            continue;
        EXPECT_OK(ctx, takt_generator_read(single, ids[i], (size_t)g->position));
        EXPECT(memcmp(takt_generator_scores(g, &count), single->scores,
                      VOCABULARY * sizeof(float)) == 0,
               "text %zu of %zu, %zu tokens: other scores than alone", i, of->count, lengths[i]);
    }
}

/* The part of the caches after a text is zero, as if nothing had been there. */
static void is_clean(const group *of)
{
    for (size_t row = 0; row < of->count; row++) {
        const takt_generator *g = of->texts[row];
        const size_t slots = g->engine.token->plan->graph->slot_count;
        for (size_t i = 0; i < slots; i++) {
            const takt_tensor *value = &g->engine.token->slots[i].shared->value;
            const size_t bytes = takt_tensor_bytes(value), used = (size_t)g->position;
            const unsigned char *at = takt_tensor_data(value);
            size_t odd = 0;
            for (size_t k = bytes / CONTEXT * used; bytes > CONTEXT && k < bytes; k++)
                odd += at[k] != 0;
            EXPECT(odd == 0, "text %zu, state %zu: %zu bytes are left behind its tokens", row, i,
                   odd);
        }
    }
}

static void joined(takt_ctx *ctx, const char *kind, size_t count, int threads)
{
    static const size_t lengths[][MOST] = {{3, 1, 12, 7, 5, 12, 2, 9},
                                           {0, 4, 0, 0, 4, 0, 0, 0},
                                           {5, 0, 0, 1, 0, 2, 0, 11},
                                           {1, 1, 1, 1, 1, 1, 1, 1}};
    const takt_generator_options options = {
        .threads = 1, .context = CONTEXT, .batch = 16, .activations = "int8"};
    takt_generator *single = NULL;
    group of;
    if (!EXPECT_OK(ctx, takt_generator_open(ctx, file(kind), &options, &single)))
        return;
    if (open_parts(ctx, &of, kind, count, threads))
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            join(ctx, &of, single, lengths[i]);
            is_clean(&of);
        }
    close_group(&of);
    takt_generator_destroy(single);
}

/* Only texts that take less time together are joined; if a run fails, those that can still read
 * do. */
static void chosen(takt_ctx *ctx)
{
    static int32_t ids[MOST][CONTEXT];
    takt_together_part parts[MOST];
    group of;
    if (!open_parts(ctx, &of, "Q4_0", 8, 1)) {
        close_group(&of);
        return;
    }
    for (int kind = 0; kind < 4; kind++) {
        static const size_t together[4][MOST] = {
            {4, 4, 4, 4, 1, 0, 0, 0}, {0, 0, 2, 2, 0, 0, 0, 0}, {1, 1, 1, 1, 1, 1, 1, 1}, {0}};
        static const size_t count[4][MOST] = {
            {12, 12, 11, 12, 3, 0, 0, 0}, {0, 0, 5, 5, 0, 0, 0, 0}, {9, 9, 9, 9, 9, 9, 9, 9}, {0}};
        for (size_t i = 0; i < MOST; i++) {
            fill_prompt(i, ids[i], CONTEXT);
            parts[i] = (takt_together_part){.ids = ids[i], .count = count[kind][i]};
            takt_generator_reset(of.texts[i]);
        }
        if (kind == 2)
            ids[5][3] = VOCABULARY;
        takt_together_read_parts(&of.together, parts, MOST);
        for (size_t i = 0; i < MOST; i++) {
            const bool is_bad = kind == 2 && i == 5;
            EXPECT(parts[i].together == together[kind][i] &&
                       parts[i].status == (is_bad ? TAKT_ERR_RANGE : TAKT_OK),
                   "%d: text %zu was read with %zu others, %d", kind, i, parts[i].together,
                   (int)parts[i].status);
            EXPECT_EQ(of.texts[i]->position, is_bad ? 0 : count[kind][i]);
        }
    }
    /* One run, of the text that must be read. */
    for (size_t i = 0; i < MOST; i++) {
        parts[i] = (takt_together_part){.ids = ids[0], .count = i < 6 ? 16 : 4};
        takt_generator_reset(of.texts[i]);
    }
    takt_together_read_parts(&of.together, parts, 6);
    for (size_t i = 0; i < MOST; i++)
        EXPECT(parts[i].is_done == (i > 5) && of.texts[i]->position == (i > 5 ? 4 : 0));
    /* It has nothing to read, so the others wait. */
    parts[6] = (takt_together_part){.count = 0};
    parts[7].is_done = false;
    takt_together_read_parts(&of.together, parts, 6);
    EXPECT(!parts[6].is_done && !parts[7].is_done && of.texts[7]->position == 4);
    close_group(&of);
}

/* The last token of a prompt goes with next tokens of other texts, and alone it stays a part. */
static void ended(takt_ctx *ctx)
{
    enum { READ = 5, ALONE = 2, SINGLE = 7 };
    static int32_t ids[MOST][CONTEXT];
    takt_together_part parts[MOST] = {0};
    int32_t next[MOST];
    group of;
    const size_t count = open_parts(ctx, &of, "Q4_0", MOST, 2) ? MOST : 0;
    takt_generator *single = of.texts[SINGLE];
    for (size_t i = 0; i < count; i++) {
        fill_prompt(i, ids[i], CONTEXT);
        EXPECT_OK(ctx, takt_generator_read(of.texts[i], ids[i], READ));
        parts[i] = (takt_together_part){.ids = ids[i] + READ, .count = i == ALONE};
        next[i] = -1;
    }
    takt_together_join_next(&of.together, parts, next);
    EXPECT(count == 0 || (parts[ALONE].count == 1 && next[ALONE] == -1));
    parts[4].count = 1;
    parts[6].count = 4;
    next[1] = ids[1][READ];
    takt_together_join_next(&of.together, parts, next);
    EXPECT(count == 0 || takt_together_read(&of.together, next) == TAKT_OK);
    for (size_t i = 0; i < count && i != SINGLE; i++) {
        const size_t more = i == 1 || i == ALONE || i == 4;
        EXPECT(parts[i].is_next == (more && i != 1) && parts[i].count == (i == 6 ? 4 : 0));
        EXPECT_EQ(of.texts[i]->position, READ + more);
        takt_generator_reset(single);
        EXPECT_OK(ctx, takt_generator_read(single, ids[i], READ));
        EXPECT_OK(ctx, takt_generator_read(single, ids[i] + READ, more));
        EXPECT(!more || memcmp(of.texts[i]->scores, single->scores, sizeof(float[VOCABULARY])) == 0,
               "text %zu has other scores than alone", i);
    }
    close_group(&of);
}

/* An inactive text is full: it is dropped, and the others continue. */
static void full(takt_ctx *ctx)
{
    group of;
    int32_t ids[3] = {1, 1, 1};
    if (open_group(ctx, &of, "Q4_0", 3, 1)) {
        for (int i = 0; i < 64; i++)
            EXPECT_OK(ctx, takt_together_read(&of.together, ids));
        EXPECT_STATUS(ctx, takt_together_read(&of.together, ids), TAKT_ERR_ARGUMENT);
        takt_generator_reset(of.texts[0]);
        takt_generator_reset(of.texts[2]);
        ids[1] = -1;
        EXPECT_OK(ctx, takt_together_read(&of.together, ids));
        EXPECT_EQ(takt_generator_position(of.texts[1]), 0);
        EXPECT_EQ(takt_generator_position(of.texts[2]), 1);
        ids[2] = VOCABULARY;
        EXPECT_STATUS(ctx, takt_together_read(&of.together, ids), TAKT_ERR_RANGE);
        EXPECT_EQ(takt_generator_position(of.texts[0]), 1);
    }
    close_group(&of);
}

static void no_allocation(void)
{
    takt_inject inject;
    takt_config config = {0};
    takt_ctx *own;
    group of;
    takt_inject_init(&inject);
    takt_inject_config(&inject, &config);
    if (!EXPECT(takt_ctx_create(&config, &own) == TAKT_OK))
        return;
    if (open_group(own, &of, "Q4_0", 4, 2)) {
        const int32_t ids[4] = {1, 1, 1, 1};
        EXPECT_OK(own, takt_together_read(&of.together, ids));
        const uint64_t before = inject.gets;
        for (int i = 0; i < 8; i++)
            EXPECT_OK(own, takt_together_read(&of.together, ids));
        EXPECT(inject.gets == before, "%llu allocations",
               (unsigned long long)(inject.gets - before));
    }
    close_group(&of);
    takt_ctx_destroy(own);
    EXPECT_EQ(takt_inject_deinit(&inject), 0);
    EXPECT_EQ(inject.faults, 0);
}

static void scores(void)
{
    takt_ctx *ctx;
    FILE *f = fopen(file("F32"), "rb");
    if (f == NULL)
        TEST_SKIP("%s is not there", file("F32"));
    fclose(f);
    if (!EXPECT(takt_ctx_create(NULL, &ctx) == TAKT_OK))
        return;
    same_scores(ctx, "F32", 2, 1);
    same_scores(ctx, "Q4_0", 5, 2);
    same_scores(ctx, "Q8_0", 8, 3);
    full(ctx);
    joined(ctx, "F32", 2, 1);
    joined(ctx, "Q4_0", 5, 2);
    joined(ctx, "Q8_0", 8, 3);
    chosen(ctx);
    ended(ctx);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(scores, no_allocation)
