/* benchmark_run.c - measures a model, or every combination of batch sizes and threads. */
#include <stdlib.h>
#include <string.h>

#include "measure.h"

typedef struct job {
    takt_tool *t;
    takt_model *model;
    takt_bench *bench;
    takt_ceilings ceilings;
    takt_bench_info info;
    takt_bench_case usual;
    uint64_t batches[TAKT_TOOL_LIST], threads[TAKT_TOOL_LIST];
    size_t batch_count, thread_count;
    double load_ns;
} job;

/* ---- what is asked for ---- */

static bool take_metric(job *j, const char *word)
{
    if (strcmp(word, "latency") == 0)
        j->info.latency = true;
    else if (strcmp(word, "throughput") == 0)
        j->info.throughput = true;
    else if (strcmp(word, "memory") == 0 || strcmp(word, "memory_usage") == 0)
        j->info.memory = true;
    else
        return false;
    return true;
}

/* --metrics latency throughput memory: the words after the first come as arguments. */
static bool take_metrics(job *j)
{
    takt_tool *t = j->t;
    const char *item;
    size_t kept = 0;
    for (size_t i = 0; (item = tool_item_of(t, TAKT_F_METRICS, i)) != NULL; i++)
        for (const char *at = item; *at != '\0';) {
            char word[32];
            const size_t length = strcspn(at, ",");
            snprintf(word, sizeof word, "%.*s", (int)length, at);
            if (!take_metric(j, word)) {
                tool_usage_error(t, 1003, "there are latency, throughput and memory",
                                 "there is no metric %s", word);
                return false;
            }
            at += length + (at[length] == ',');
        }
    const bool has_list = tool_text_of(t, TAKT_F_METRICS) != NULL;
    for (size_t i = 0; i < t->arg_count; i++)
        if (!has_list || !take_metric(j, t->args[i]))
            t->args[kept++] = t->args[i];
    t->arg_count = kept;
    return true;
}

static bool take_count(takt_tool *t, tool_flag_id id, uint64_t *to)
{
    const char *text = tool_text_of(t, id);
    if (text == NULL || strcmp(text, "auto") == 0 || tool_read_number(TAKT_FLAG_NUMBER, text, to))
        return true;
    tool_usage_error(t, 1003, "write a number, or auto", "--%s %s is no number",
                     tool_flags[id].name, text);
    return false;
}

static bool take_flags(job *j)
{
    takt_tool *t = j->t;
    takt_timing_options *o = &j->usual.timing;
    const char *type = tool_text_of(t, TAKT_F_TYPE);
    if (type != NULL && strcmp(type, "inference") != 0 && strcmp(type, "memory") != 0) {
        tool_usage_error(t, 1003, "there are inference, memory and system",
                         "there is no benchmark of type %s", type);
        return false;
    }
    j->info.type = type;
    if (!take_metrics(j) || !take_count(t, TAKT_F_ITERATIONS, &o->runs) ||
        !take_count(t, TAKT_F_WARMUP, &o->warmup) ||
        !tool_duration(t, TAKT_F_DURATION, 1000000000, &o->max_ns) ||
        !tool_percent(t, TAKT_F_CI_WIDTH, 0.01, &o->ci_width) ||
        !tool_numbers(t, TAKT_F_BATCH_SIZES, j->batches, &j->batch_count) ||
        !tool_numbers(t, TAKT_F_THREAD_LIST, j->threads, &j->thread_count))
        return false;
    const char *warmup = tool_text_of(t, TAKT_F_WARMUP);
    o->no_warmup = warmup != NULL && strcmp(warmup, "0") == 0;
    if (tool_text_of(t, TAKT_F_DURATION) != NULL)
        o->min_ns = o->max_ns; /* who asks for a duration wants it */
    if (type != NULL && strcmp(type, "memory") == 0 && !j->info.latency && !j->info.throughput)
        j->info.memory = true;
    return true;
}

/* ---- measuring ---- */

static int measure(job *j, takt_plan *plan, int64_t batch, double plan_ns)
{
    takt_session *s;
    takt_bench_case c = j->usual;
    int code = tool_finish(j->t, takt_session_create(plan, NULL, &s));
    if (code != TAKT_EXIT_OK)
        return code;
    c.batch = batch;
    c.load_ns = j->load_ns;
    c.plan_ns = plan_ns;
    code = tool_fill_inputs(j->t, s);
    if (code == TAKT_EXIT_OK) {
        const takt_status status = takt_bench_add(j->bench, s, &c);
        if (status != TAKT_OK && takt_session_error(s)->status == status)
            code = tool_report_error(j->t, takt_session_error(s));
        else
            code = tool_finish(j->t, status);
    }
    takt_session_destroy(s);
    return code;
}

/* The sizes of -D and --shape, and this batch size. */
static bool sizes_for(job *j, uint64_t batch, tool_sizes *sizes)
{
    const char *name = tool_batch_name(j->model);
    if (!tool_sizes_init(j->t, j->model, sizes))
        return false;
    if (batch == 0)
        return true;
    if (name != NULL)
        return tool_sizes_add(j->t, sizes, name, (int64_t)batch, "--batch-size");
    tool_usage_error(j->t, 1003, "its inputs have fixed sizes",
                     "the model has no dimension that --batch-size could mean");
    return false;
}

static int64_t batch_of(const job *j, uint64_t asked)
{
    const char *item;
    const char *name = tool_batch_name(j->model);
    if (asked > 0)
        return (int64_t)asked;
    for (size_t i = 0; name != NULL && (item = tool_item_of(j->t, TAKT_F_DIM, i)) != NULL; i++)
        if (strncmp(item, name, strlen(name)) == 0 && item[strlen(name)] == '=')
            return strtoll(item + strlen(name) + 1, NULL, 10);
    return 1;
}

static int one(job *j, uint64_t threads, uint64_t batch)
{
    tool_sizes sizes;
    int code;
    if (!sizes_for(j, batch, &sizes))
        return TAKT_EXIT_USAGE;
    const uint64_t start = tool_now_ns();
    takt_plan *plan = tool_plan_for(j->t, j->model, sizes.text, (int)threads, &code);
    if (plan == NULL)
        return code;
    const double plan_ns = (double)(tool_now_ns() - start);
    code = measure(j, plan, batch_of(j, batch), plan_ns);
    takt_plan_destroy(plan);
    return code;
}

static int all(job *j)
{
    const size_t threads = j->thread_count > 0 ? j->thread_count : 1;
    const size_t batches = j->batch_count > 0 ? j->batch_count : 1;
    for (size_t i = 0; i < threads; i++)
        for (size_t k = 0; k < batches; k++) {
            const int code = one(j, j->thread_count > 0 ? j->threads[i] : 0,
                                 j->batch_count > 0 ? j->batches[k] : 0);
            if (code != TAKT_EXIT_OK)
                return code;
        }
    return TAKT_EXIT_OK;
}

static int write_result(job *j)
{
    takt_bench_format format;
    const char *path;
    tool_buffer text = {0};
    if (!tool_bench_format_of(j->t, &format, &path))
        return TAKT_EXIT_USAGE;
    const int code = tool_finish(j->t, takt_bench_write(j->bench, format, tool_to_buffer, &text));
    const int saved = tool_buffer_save(j->t, &text, path);
    if (code == TAKT_EXIT_OK && saved == TAKT_EXIT_OK && strcmp(path, "-") != 0 &&
        !tool_on(j->t, TAKT_F_QUIET))
        return tool_finish(j->t, takt_bench_write(j->bench, TAKT_BENCH_TEXT, tool_to_stdout, NULL));
    return code != TAKT_EXIT_OK ? code : saved;
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

static int work(job *j)
{
    char timestamp[32], line[4096];
    const char *command[WORDS];
    takt_tool *t = j->t;
    takt_bench_format format;
    const char *path;
    if (!tool_bench_format_of(t, &format, &path))
        return TAKT_EXIT_USAGE;
    int code = tool_ceilings(t, false, &j->ceilings);
    if (code != TAKT_EXIT_OK)
        return code;
    tool_timestamp(timestamp);
    const char *model = tool_text_of(t, TAKT_F_MODEL);
    if (model == NULL && t->arg_count == 0)
        return tool_usage_error(t, 1003, "takt benchmark run MODEL",
                                "there is no model to measure");
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
    if (j->model != NULL)
        code = all(j);
    /* A benchmark that broke off leaves what it measured. */
    if (j->model != NULL && takt_bench_count(j->bench) > 0) {
        const int written = write_result(j);
        code = code != TAKT_EXIT_OK ? code : written;
    }
    takt_model_destroy(j->model);
    takt_bench_destroy(j->bench);
    return code;
}

static int run(takt_tool *t)
{
    const char *type = tool_text_of(t, TAKT_F_TYPE);
    job j = {.t = t};
    if (type != NULL && strcmp(type, "system") == 0) {
        takt_ceilings ceilings;
        const int code = tool_ceilings(t, true, &ceilings);
        return code != TAKT_EXIT_OK
                   ? code
                   : tool_finish(t, takt_machine_describe(t->ctx, &ceilings, tool_format_of(t),
                                                          tool_to_stdout, NULL));
    }
    return take_flags(&j) ? work(&j) : TAKT_EXIT_USAGE;
}

const takt_verb takt_verb_benchmark_run = {
    .name = "benchmark-run",
    .summary = "time a model: latency, throughput and memory, with intervals",
    .arguments = "MODEL",
    .arg_min = 0,
    .arg_max = 64,
    .about =
        "Lists of batch sizes and threads are measured in every combination. Percentiles that\n"
        "the sample is too small for are printed as bounds.",
    .example = "takt benchmark run examples/mlp.takt --batch-size 1,8,32 --threads 1,2 -o r.html",
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_SHAPE, TAKT_F_DIM, TAKT_F_SEED,
              TAKT_F_THREAD_LIST, TAKT_F_BATCH_SIZES, TOOL_PLAN_FLAGS, TAKT_F_TYPE,
              TAKT_F_ITERATIONS, TAKT_F_WARMUP, TAKT_F_DURATION, TAKT_F_METRICS, TAKT_F_CI_WIDTH,
              TAKT_F_FORMAT, TAKT_F_FILE, TAKT_FLAG_IDS},
    .run = run,
};
