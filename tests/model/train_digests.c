/* train_digests.c - one digest per training, for any number of threads and instruction set.
 *
 * It covers weights, slots of the optimiser, averages, and the log of a hundred steps.
 * The digests are the same on every machine; cross-built programs are compared with them too. They
 * change if the result of any training changes.
 */
#include <string.h>

#include <takt/takt.h>

#include "api/train/trainer.h"
#include "base/sha256.h"
#include "kernel/isa.h"
#include "test.h"

enum { STEPS = 100, ROWS = 6, MOST = 256, CLASSES = 4 };

typedef struct training {
    const char *text;
    int rank;
    int64_t sample[3]; /* the axes behind the batch */
    takt_train_options options;
    const char *digest;
} training;

static const training trainings[] = {
    {.text = "model mlp(x: f32[batch, 19]) seed=1 {\n"
             "  return dense(dense(x, 33, act=gelu) |> dropout(0.2), 4)\n}\n",
     .rank = 1,
     .sample = {19},
     .options = {.optimizer = "adamw", .clip_norm = 1, .schedule = "cosine", .ema = 0.9},
     .digest = "b2093d20398f48b345e35a4b27a21a28e94002a9bb64100472d936348726ba03"},
    {.text = "model cnn(x: f32[batch, 1, 9, 10]) seed=2 {\n"
             "  h = conv(x, 8, 3, pad=1) |> batch_norm() |> relu() |> max_pool(2, stride=2)\n"
             "  h = conv(h, 12, 3, pad=1, act=relu) |> conv(12, 3, groups=12)\n"
             "  return dense(flatten(h), 4, act=softmax)\n}\n",
     .rank = 3,
     .sample = {1, 9, 10},
     .options = {.optimizer = "sgd:momentum=0.9,nesterov=1", .rate = 0.05, .warmup = 10},
     .digest = "0ff8990a1be21d4e2995f518b986fd4975ab7e9b6bd87a9e639ea309f6746b23"},
    {.text = "model sequence(x: f32[batch, 11, 8]) seed=3 {\n"
             "  h = gru(x, 8) |> transformer_block(2, 20, causal=true)\n"
             "  return dense(reduce_mean(layer_norm(h), axes=[1]), 4)\n}\n",
     .rank = 2,
     .sample = {11, 8},
     .options = {.optimizer = "adam", .rate = 3e-3, .shards = 2},
     .digest = "80bbe6e999ca6a842c5b16a6e1cbadcdcddb70ba6d117c1f4628a8bc8725d257"},
};

static takt_ctx *ctx;

/* Numbers that are the same on every machine. */
static void fill(float *x, size_t count, int64_t *labels, uint32_t step)
{
    uint32_t drawn = step * 2654435761u + 1;
    for (size_t i = 0; i < count; i++) {
        drawn = drawn * 1664525u + 1013904223u;
        x[i] = ((float)(drawn >> 16) - 32768.0f) / 16384.0f;
    }
    for (size_t i = 0; i < ROWS; i++)
        labels[i] = (int64_t)((i * 5 + step) % CLASSES);
}

static bool run_steps(const training *what, takt_trainer *t, takt_sha256 *hash)
{
    float x[ROWS * MOST];
    int64_t labels[ROWS];
    size_t count = ROWS;
    takt_named_view batch[2] = {{.name = "x"}, {.name = "labels"}};
    takt_tensor_view *in = &batch[0].view;
    *in = (takt_tensor_view){.dtype = TAKT_F32, .rank = 1 + what->rank, .dims = {ROWS}, .data = x};
    for (int d = 0; d < what->rank; d++) {
        in->dims[1 + d] = what->sample[d];
        count *= (size_t)what->sample[d];
    }
    batch[1].view =
        (takt_tensor_view){.dtype = TAKT_I64, .rank = 1, .dims = {ROWS}, .data = labels};
    for (uint32_t step = 0; step < STEPS; step++) {
        takt_step_result r;
        fill(x, count, labels, step);
        if (!EXPECT_OK(ctx, takt_trainer_step(t, batch, 2, &r)))
            return false;
        const double log[] = {r.loss, r.count, r.hits, r.rate, r.norm, r.scale};
        takt_sha256_add(hash, log, sizeof log);
    }
    return true;
}

static void add_slots(const takt_trainer *t, takt_sha256 *hash)
{
    const takt_graph *g = t->step.model->graph;
    for (size_t i = 0; i < g->slot_count; i++) {
        takt_tensor value;
        if (!EXPECT_OK(ctx, takt_train_slot(t, g->slots[i].name, &value)))
            continue;
        takt_sha256_add(hash, g->slots[i].name, strlen(g->slots[i].name));
        if (EXPECT(value.storage != NULL, "%s has no value", g->slots[i].name))
            takt_sha256_add(hash, takt_tensor_data(&value), takt_tensor_bytes(&value));
        takt_tensor_release(&value);
    }
}

static void check(const training *what, const takt_plan_options *plan)
{
    const takt_load_options load = {.training = true};
    takt_model *m = NULL;
    takt_trainer *t = NULL;
    takt_train_options o = what->options;
    takt_sha256 hash;
    uint8_t raw[32];
    char hex[65];
    o.plan = plan;
    o.steps = STEPS;
    takt_sha256_init(&hash);
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", what->text, strlen(what->text), &load,
                                              &m)) &&
        EXPECT_OK(ctx, takt_trainer_create(m, &o, &t)) && run_steps(what, t, &hash)) {
        add_slots(t, &hash);
        takt_sha256_end(&hash, raw);
        for (int i = 0; i < 32; i++)
            snprintf(hex + 2 * i, 3, "%02x", raw[i]);
        EXPECT(strcmp(hex, what->digest) == 0, "%s with %d threads, %s, gives %s, committed is %s",
               takt_model_name(m), plan->threads, plan->isa != NULL ? plan->isa : "all kernels",
               hex, what->digest);
    }
    takt_trainer_destroy(t);
    takt_model_destroy(m);
}

/* Whether the machine has kernels of this name. */
static bool has(const char *isa)
{
    takt_isa_set set;
    return takt_isa_cap(takt_isa_detect(), isa, &set) &&
           (strcmp(isa, "scalar") == 0 || set != UINT32_C(1) << TAKT_ISA_scalar);
}

int main(void)
{
    static const int threads[] = {1, 2, 3, 4, 8};
    static const char *const caps[] = {"scalar", "neon", "avx2"};
    const size_t count = TEST_EMULATED ? 1 : sizeof threads / sizeof *threads;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    for (size_t i = 0; i < sizeof trainings / sizeof *trainings; i++) {
        for (size_t k = 0; k < count; k++)
            check(&trainings[i], &(takt_plan_options){.threads = threads[k]});
        for (size_t k = 0; k < sizeof caps / sizeof *caps; k++)
            if (has(caps[k]))
                check(&trainings[i], &(takt_plan_options){.threads = 1, .isa = caps[k]});
    }
    takt_ctx_destroy(ctx);
    return test_done();
}
