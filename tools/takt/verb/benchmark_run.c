/* benchmark_run.c - measures a model, or every combination of batch sizes and threads. */
#include <stdlib.h>
#include <string.h>

#include "bench_job.h"
#include "text.h"
#include "train.h"

static int write_result(bench_job *j)
{
    const int code = bench_save(j, j->path, j->format);
    const bool is_file = strcmp(j->path, "-") != 0;
    /* A full disk must not lose measurements. */
    if (is_file && (code != TAKT_EXIT_OK || !tool_on(j->t, TAKT_F_QUIET))) {
        const takt_status shown = takt_bench_write(j->bench, TAKT_BENCH_TEXT, tool_to_screen, j->t);
        return code != TAKT_EXIT_OK ? code : tool_finish(j->t, shown);
    }
    return code;
}

enum { WORDS = 64 };

/* The words of the command line, as the system kept them; at most WORDS. */
static size_t read_command(char *text, size_t size, const char **words)
{
    FILE *file = fopen("/proc/self/cmdline", "rb");
    const size_t length = file != NULL ? fread(text, 1, size - 1, file) : 0;
    size_t count = 0;
    if (file != NULL)
        fclose(file);
    text[length] = '\0';
    for (size_t at = 0; at < length && count < WORDS; at += strlen(text + at) + 1)
        words[count++] = text + at;
    return count;
}

/* It is enough if one of several cases passes: the others show why it was chosen. */
static bool meets_slo(const bench_job *j)
{
    for (size_t i = 0; i < takt_bench_count(j->bench); i++)
        if (takt_bench_keeps_slo(j->bench, i))
            return true;
    return false;
}

/* The ceilings take seconds to measure: what is wrong with the model is reported before. */
static int try_model(takt_tool *t)
{
    takt_ceilings known;
    int code = TAKT_EXIT_OK;
    if (tool_text_of(t, TAKT_F_MODEL) == NULL && t->arg_count == 0)
        return tool_usage_error(t, 1003, "takt benchmark run MODEL",
                                "there is no model to measure");
    if (tool_ceilings_known(t, &known))
        return code;
    t->is_trial = true;
    takt_model *model = tool_open_model(t, &code);
    t->is_trial = false;
    takt_model_destroy(model);
    return model != NULL ? TAKT_EXIT_OK : code;
}

static int work(bench_job *j)
{
    char timestamp[32], line[4096];
    const char *command[WORDS];
    takt_tool *t = j->t;
    int code;
    if (!tool_bench_format_of(t, &j->format, &j->path))
        return TAKT_EXIT_USAGE;
    if (!tool_can_write(t, j->path, &code))
        return code;
    code = try_model(t);
    if (code != TAKT_EXIT_OK)
        return code;
    code = tool_ceilings(t, false, &j->ceilings);
    if (code != TAKT_EXIT_OK)
        return code;
    tool_timestamp(timestamp);
    const char *model = tool_text_of(t, TAKT_F_MODEL);
    j->info.model = model != NULL ? model : t->args[0];
    j->info.timestamp = timestamp;
    j->info.command = command;
    j->info.command_count = read_command(line, sizeof line, command);
    j->info.ceilings = &j->ceilings;
    code = tool_finish(t, takt_bench_create(t->ctx, &j->info, &j->bench));
    if (code != TAKT_EXIT_OK)
        return code;
    const uint64_t start = tool_now_ns();
    j->model = tool_open_model(t, &code);
    j->load_ns = (double)(tool_now_ns() - start);
    const uint64_t processes = tool_number_of(t, TAKT_F_REPEAT_PROCESS, 1);
    if (j->model != NULL)
        code = bench_measure_all(j, processes);
    /* An interrupted benchmark keeps its measurements. */
    if (j->model != NULL && takt_bench_count(j->bench) > 0) {
        const int written = write_result(j);
        code = code != TAKT_EXIT_OK ? code : written;
        code = code != TAKT_EXIT_OK || meets_slo(j) ? code : TAKT_EXIT_BUDGET;
    }
    takt_model_destroy(j->model);
    takt_bench_destroy(j->bench);
    return code;
}

static int run(takt_tool *t)
{
    const char *type = tool_text_of(t, TAKT_F_TYPE);
    bench_job j = {.t = t};
    if (type != NULL && strcmp(type, "system") == 0)
        return tool_measure_system(t);
    if (type != NULL && strcmp(type, "training") == 0)
        return tool_bench_training(t);
    if (type != NULL && strcmp(type, "generate") == 0)
        return tool_bench_generate(t);
    if (tool_text_of(t, TAKT_F_LENGTHS) != NULL)
        return tool_bench_lengths(t);
    return bench_take_flags(&j) ? work(&j) : TAKT_EXIT_USAGE;
}

const takt_verb takt_verb_benchmark_run = {
    .name = "benchmark-run",
    .task = TAKT_TASK_MEASURE,
    .is_main = true,
    .summary = "measure latency, throughput and memory, with intervals",
    .arguments = "MODEL",
    .arg_min = 0,
    .arg_max = 64,
    .about =
        "Lists of batch sizes, threads and precisions (--precision f32,bf16) are measured in\n"
        "every combination. Inputs without -i are random. Percentiles for which there are too\n"
        "few samples are printed as bounds. Ctrl-C keeps the measurements so far, marked as\n"
        "incomplete; the file of -o is updated after every case and process, and every second\n"
        "for a single stream. Exit status 4: no case meets --slo. --type generate measures\n"
        "tokens per second in llama-bench's rows, five runs of each.\n\n"
        "--lengths 1-512 sends requests of different sizes to one session, 1000 of them or\n"
        "--iterations, and reports which share of their time was spent on re-sizing.",
    .example = "takt benchmark run examples/mlp.takt --batch-size 1,8,32 --threads 1,2 -o r.html",
    .often =
        (const tool_flag_id[]){TAKT_F_DIM, TAKT_F_THREAD_LIST, TAKT_F_BATCH_SIZES, TAKT_F_BACKEND,
                               TAKT_F_LEVEL, TAKT_F_TYPE, TAKT_F_SCENARIO, TAKT_F_DURATION,
                               TAKT_F_WARMUP, TAKT_F_FORMAT, TAKT_F_FILE, TAKT_FLAG_IDS},
    .flags =
        {TAKT_F_MODEL,        TAKT_F_SELECT,       TAKT_F_WEIGHTS,        TAKT_F_ALLOW_LINKS,
         TAKT_F_DENSE_LIMIT,  TAKT_F_INPUT,        TAKT_F_SHAPE,          TAKT_F_DIM,
         TAKT_F_SEED,         TAKT_F_THREAD_LIST,  TAKT_F_BATCH_SIZES,    TOOL_PLAN_FLAGS,
         TAKT_F_TYPE,         TAKT_F_SCENARIO,     TAKT_F_STREAMS,        TAKT_F_QPS,
         TAKT_F_SLO,          TAKT_F_FIND_PEAK,    TAKT_F_REPEAT_PROCESS, TAKT_F_COUNTER,
         TAKT_F_COUNTERS,     TAKT_F_ITERATIONS,   TAKT_F_WARMUP,         TAKT_F_DURATION,
         TAKT_F_INCLUDE_COPY, TAKT_F_METRICS,      TAKT_F_CI_WIDTH,       TAKT_F_FORMAT,
         TAKT_F_FILE,         TOOL_THREAD_FLAGS,   TAKT_F_DATA_SET,       TAKT_F_OPTIMIZER,
         TAKT_F_LOSS,         TAKT_F_AMP,          TAKT_F_TRADEOFF,       TAKT_F_ACTIVATION_LIMIT,
         TAKT_F_N_PROMPT,     TAKT_F_N_GEN,        TAKT_F_DEPTH,          TAKT_F_ACTIVATIONS,
         TAKT_F_CACHE_TYPE_K, TAKT_F_CACHE_TYPE_V, TAKT_F_LENGTHS,        TAKT_F_STATE_AUTO,
         TAKT_FLAG_IDS},
    .run = run,
};
