/* bench_training.c - the time of a training iteration: data, forward, gradient, optimizer. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "train.h"

enum { ITERATION, DATA, FORWARD, GRADIENT, OPTIMIZER, REST, PARTS };
enum { WARMUP = 3, FEWEST = 8, MOST = 100000 };

static const char *const names[PARTS] = {"iteration", "data",      "forward",
                                         "gradient",  "optimizer", "rest"};

typedef struct bench {
    takt_tool *t;
    takt_model *model;
    takt_data *data; /* NULL: random samples */
    tool_batch batch;
    takt_trainer *trainer;
    uint64_t *rows;
    uint64_t threads; /* 0: one per core */
    uint64_t place;   /* of the next sample */
    double *ns[PARTS];
    size_t count;
    takt_bench_format format;
    const char *path; /* of the result; "-": standard output */
} bench;

/* ---- batches ---- */

/* Without data: random numbers for what the training step reads. */
static bool make_random(bench *b, uint64_t room, int *code)
{
    tool_train_flags f;
    takt_model *step = NULL;
    const takt_desc *out =
        takt_model_output_count(b->model) > 0 ? takt_model_output(b->model, 0) : NULL;
    const int64_t last = out != NULL && out->rank > 0 ? out->dims[out->rank - 1] : 1;
    *code = TAKT_EXIT_USAGE;
    if (!tool_train_flags_init(b->t, &f))
        return false;
    *code = tool_finish(b->t, takt_train_model(b->model, &f.options, &step));
    tool_train_flags_free(&f);
    if (step == NULL)
        return false;
    if (!tool_batch_random(&b->batch, step, room, last > 0 ? last : 1, b->t->ctx))
        *code = tool_finish(b->t, TAKT_ERR_MEMORY);
    takt_model_destroy(step);
    return *code == TAKT_EXIT_OK;
}

static takt_status next_batch(bench *b)
{
    if (b->data == NULL)
        return TAKT_OK;
    const uint64_t samples = takt_data_count(b->data);
    for (size_t i = 0; i < b->batch.room; i++, b->place++)
        b->rows[i] = takt_shuffle(samples, 0, b->place / samples, b->place % samples);
    return tool_batch_fill(&b->batch, b->data, b->rows, b->batch.room);
}

/* ---- measuring ---- */

static takt_status iterate(bench *b, double ns[PARTS])
{
    takt_step_times times = {0};
    const uint64_t start = tool_now_ns();
    takt_status status = next_batch(b);
    const uint64_t filled = tool_now_ns();
    if (status == TAKT_OK)
        status = takt_trainer_step_timed(b->trainer, b->batch.view, b->batch.count, NULL, &times);
    ns[ITERATION] = (double)(tool_now_ns() - start);
    ns[DATA] = (double)(filled - start);
    ns[FORWARD] = times.forward_ns;
    ns[GRADIENT] = times.gradient_ns;
    ns[OPTIMIZER] = times.optimizer_ns;
    ns[REST] = ns[ITERATION] - ns[DATA] - ns[FORWARD] - ns[GRADIENT] - ns[OPTIMIZER];
    return status;
}

static int measure(bench *b)
{
    uint64_t max_ns;
    double ns[PARTS];
    if (!tool_duration(b->t, TAKT_F_DURATION, 1000000000, &max_ns))
        return TAKT_EXIT_USAGE;
    uint64_t exactly = 0;
    const char *text = tool_text_of(b->t, TAKT_F_ITERATIONS);
    if (text != NULL && strcmp(text, "auto") != 0 &&
        !tool_read_number(TAKT_FLAG_COUNT, text, &exactly))
        return tool_usage_error(b->t, 1003, "write a number, or auto",
                                "--iterations %s is not a number", text);
    const size_t most = exactly > 0 && exactly < MOST ? (size_t)exactly : MOST;
    for (int i = 0; i < PARTS; i++)
        if ((b->ns[i] = calloc(most, sizeof(double))) == NULL)
            return tool_finish(b->t, TAKT_ERR_MEMORY);
    takt_status status = TAKT_OK;
    for (int i = 0; i < WARMUP && status == TAKT_OK; i++)
        status = iterate(b, ns);
    const uint64_t start = tool_now_ns();
    while (status == TAKT_OK && b->count < most &&
           (exactly > 0 || b->count < FEWEST || tool_now_ns() - start < max_ns)) {
        status = iterate(b, ns);
        for (int i = 0; i < PARTS; i++)
            b->ns[i][b->count] = ns[i];
        b->count++;
    }
    return tool_finish(b->t, status);
}

/* ---- what came out ---- */

static void print_json(const bench *b, const takt_stats stats[PARTS], FILE *to)
{
    fprintf(to, "{\n  \"model\": ");
    tool_print_string(to, tool_model_path(b->t));
    fprintf(to,
            ",\n  \"type\": \"training\",\n  \"batch\": %zu,\n  \"iterations\": %zu,\n"
            "  \"samples_per_second\": %.9g,\n  \"parts_ns\": {",
            b->batch.room, b->count, (double)b->batch.room * 1e9 / stats[ITERATION].mean);
    for (int i = 0; i < PARTS; i++)
        fprintf(to,
                "%s\n    \"%s\": {\"mean\": %.9g, \"low\": %.9g, \"high\": %.9g, \"median\": %.9g}",
                i > 0 ? "," : "", names[i], stats[i].mean, stats[i].mean_ci.low,
                stats[i].mean_ci.high, stats[i].median);
    fprintf(to, "\n  }\n}\n");
}

static void print_csv(const bench *b, const takt_stats stats[PARTS], FILE *to)
{
    fprintf(to, "part,batch,iterations,mean_ns,low_ns,high_ns,median_ns\n");
    for (int i = 0; i < PARTS; i++)
        fprintf(to, "%s,%zu,%zu,%.9g,%.9g,%.9g,%.9g\n", names[i], b->batch.room, b->count,
                stats[i].mean, stats[i].mean_ci.low, stats[i].mean_ci.high, stats[i].median);
}

static void print_text(const bench *b, const takt_stats stats[PARTS], FILE *to)
{
    fprintf(to, "%s: training, batch %zu, %zu iterations, %.0f samples/s%s\n",
            tool_model_path(b->t), b->batch.room, b->count,
            (double)b->batch.room * 1e9 / stats[ITERATION].mean,
            b->data != NULL ? "" : ", random samples");
    for (int i = 0; i < PARTS; i++)
        fprintf(to, "  %-10s %10.4f ms  (95 %%: %.4f to %.4f)  %5.1f %%\n", names[i],
                stats[i].mean * 1e-6, stats[i].mean_ci.low * 1e-6, stats[i].mean_ci.high * 1e-6,
                100 * stats[i].mean / stats[ITERATION].mean);
}

static void print_as(const bench *b, const takt_stats stats[PARTS], takt_bench_format format,
                     FILE *to)
{
    if (format == TAKT_BENCH_JSON)
        print_json(b, stats, to);
    else if (format == TAKT_BENCH_CSV)
        print_csv(b, stats, to);
    else
        print_text(b, stats, to);
}

/* The text goes to the screen as well, so that a full disk does not lose results. */
static int save(const bench *b, const takt_stats stats[PARTS])
{
    tool_buffer text = {0};
    FILE *to = open_memstream(&text.at, &text.length);
    if (to == NULL)
        return tool_finish(b->t, TAKT_ERR_MEMORY);
    print_as(b, stats, b->format, to);
    if (fclose(to) != 0) {
        free(text.at);
        return tool_finish(b->t, TAKT_ERR_MEMORY);
    }
    if (!tool_on(b->t, TAKT_F_QUIET))
        print_text(b, stats, stdout);
    return tool_buffer_save(b->t, &text, b->path);
}

static int print(const bench *b)
{
    takt_stats stats[PARTS];
    takt_status status = TAKT_OK;
    for (int i = 0; i < PARTS && status == TAKT_OK; i++)
        status = takt_stats_compute(b->t->ctx, b->ns[i], b->count, &stats[i]);
    if (status != TAKT_OK)
        return tool_finish(b->t, status);
    if (strcmp(b->path, "-") != 0)
        return save(b, stats);
    print_as(b, stats, b->format, stdout);
    return TAKT_EXIT_OK;
}

/* Output of the result: checked before anything is measured. */
static bool take_file(bench *b, int *code)
{
    *code = TAKT_EXIT_USAGE;
    if (!tool_bench_format_of(b->t, &b->format, &b->path))
        return false;
    if (b->format != TAKT_BENCH_TEXT && b->format != TAKT_BENCH_JSON &&
        b->format != TAKT_BENCH_CSV) {
        tool_usage_error(b->t, 1003, "write -o F.json, F.csv or F.txt",
                         "of a training there is text, json and csv");
        return false;
    }
    return tool_can_write(b->t, b->path, code);
}

/* ---- the whole ---- */

static int with_batch(bench *b)
{
    tool_train_flags f;
    tool_request request;
    int code = tool_request_init(b->t, NULL, &request);
    if (code != TAKT_EXIT_OK)
        return code;
    code = TAKT_EXIT_USAGE;
    if (tool_train_flags_init(b->t, &f)) {
        f.options.plan = &request.options;
        request.options.threads = (int)b->threads;
        const uint64_t fixed = tool_fixed_batch(b->model);
        if (fixed > 0)
            f.options.shards = (int64_t)(b->batch.room / fixed);
        f.options.steps = MOST;
        f.options.take_weights = true;
        code = tool_finish(b->t, takt_trainer_create(b->model, &f.options, &b->trainer));
        if (code == TAKT_EXIT_OK)
            code = measure(b);
        if (code == TAKT_EXIT_OK)
            code = print(b);
        takt_trainer_destroy(b->trainer);
        tool_train_flags_free(&f);
    }
    tool_request_free(&request);
    return code;
}

int tool_bench_training(takt_tool *t)
{
    bench b = {.t = t};
    int code;
    uint64_t sizes[TAKT_TOOL_LIST] = {32};
    size_t size_count = 1, thread_count = 0;
    uint64_t threads[TAKT_TOOL_LIST] = {0};
    if (t->arg_count == 0 && tool_text_of(t, TAKT_F_MODEL) == NULL)
        return tool_usage_error(t, 1003, "takt benchmark run MODEL --type training",
                                "there is no model to measure");
    if (tool_text_of(t, TAKT_F_BATCH_SIZES) != NULL &&
        !tool_numbers(t, TAKT_F_BATCH_SIZES, sizes, &size_count))
        return TAKT_EXIT_USAGE;
    const char *text = tool_text_of(t, TAKT_F_THREAD_LIST);
    if (text != NULL && strcmp(text, "auto") != 0 &&
        !tool_numbers(t, TAKT_F_THREAD_LIST, threads, &thread_count))
        return TAKT_EXIT_USAGE;
    if (size_count != 1 || thread_count > 1)
        return tool_usage_error(t, 1003, NULL,
                                "a training is measured with one batch size and number of threads");
    b.threads = threads[0];
    if (!take_file(&b, &code))
        return code;
    t->trains = true;
    b.model = tool_open_model(t, &code);
    if (b.model == NULL)
        return code;
    code = TAKT_EXIT_OK;
    if (tool_text_of(t, TAKT_F_DATA_SET) != NULL)
        b.data = tool_open_data(t, b.model, &code);
    const uint64_t fixed = tool_fixed_batch(b.model);
    const uint64_t room = fixed > 0 ? (sizes[0] + fixed - 1) / fixed * fixed : sizes[0];
    b.rows = calloc((size_t)room, sizeof *b.rows);
    if (code == TAKT_EXIT_OK && b.rows == NULL)
        code = tool_finish(t, TAKT_ERR_MEMORY);
    if (code == TAKT_EXIT_OK &&
        (b.data != NULL ? tool_batch_init(&b.batch, b.model, b.data, room, &code, t)
                        : make_random(&b, room, &code)))
        code = with_batch(&b);
    for (int i = 0; i < PARTS; i++)
        free(b.ns[i]);
    free(b.rows);
    tool_batch_free(&b.batch, t->ctx);
    takt_data_destroy(b.data);
    takt_model_destroy(b.model);
    return code;
}
