/* benchmark_prepare.c - prepares everything a benchmark needs: plan, inputs, configuration. */
#include <stdlib.h>
#include <string.h>

#include "measure.h"

/* A file that was written: a line, or a member of the object. */
static void tell(const takt_tool *t, const char *what, const char *path)
{
    if (!tool_on(t, TAKT_F_JSON)) {
        printf("%-9s %s\n", what, path);
        return;
    }
    printf(", \"%s\": ", what);
    tool_print_string(stdout, path);
}

/* <model>.<input>.npy for every input, so that all later runs have the same data. */
static int save_inputs(takt_tool *t, const tool_bench *b, const char *model)
{
    const bool json = tool_on(t, TAKT_F_JSON);
    printf("%s", json ? ", \"inputs\": [" : "");
    for (size_t i = 0; i < takt_session_input_count(b->session); i++) {
        char path[2048];
        const takt_desc *d = takt_session_input_desc(b->session, i);
        const int length = snprintf(path, sizeof path, "%s.%s.npy", model, d->name);
        if (length < 0 || (size_t)length >= sizeof path || strchr(d->name, '/') != NULL)
            return tool_usage_error(t, 1003, NULL, "input %s cannot be a file's name", d->name);
        const int code =
            tool_finish(t, takt_npy_save(t->ctx, path, takt_session_input(b->session, i)));
        if (code != TAKT_EXIT_OK)
            return code;
        if (json) {
            printf("%s", i > 0 ? ", " : "");
            tool_print_string(stdout, path);
        } else {
            tell(t, "input", path);
        }
    }
    printf("%s", json ? "]" : "");
    return TAKT_EXIT_OK;
}

/* Sizes are joined by commas, with spaces or without: a list of flags has one each. */
static void write_sizes(FILE *to, const char *sizes)
{
    const char *before = "";
    size_t length = 0;
    fprintf(to, ",\n  \"dim\": [");
    for (const char *at = NULL; (at = tool_sizes_next(sizes, at, &length)) != NULL;) {
        char one[TOOL_NAME + 32];
        snprintf(one, sizeof one, "%.*s", (int)length, at);
        fprintf(to, "%s", before);
        tool_print_string(to, one);
        before = ", ";
    }
    fprintf(to, "]");
}

/* All settings in effect, as --config reads them: given or default. */
static int save_config(takt_tool *t, const tool_bench *b, const char *model)
{
    static const tool_flag_id kept[] = {TAKT_F_SELECT, TOOL_PLAN_FLAGS};
    char path[2048];
    const char *before = ",";
    takt_plan_info info;
    takt_plan_query(b->plan, &info);
    snprintf(path, sizeof path, "%s.bench.json", model);
    FILE *to = fopen(path, "wb");
    if (to == NULL)
        return tool_cannot_write(t, path);
    fprintf(to, "{\n  \"threads\": \"%d\"", info.threads);
    if (b->run.sizes.length > 0)
        write_sizes(to, b->run.sizes.text);
    fprintf(to, ",\n  \"seed\": %llu", (unsigned long long)tool_number_of(t, TAKT_F_SEED, 0));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        tool_dump_flag(t, to, kept[i], &before);
    fprintf(to, "\n}\n");
    if (fclose(to) != 0)
        return tool_cannot_write(t, path);
    tell(t, "settings", path);
    return TAKT_EXIT_OK;
}

/* model.onnx as model.taktp, which loads without parsing the model again. */
static int save_compiled(takt_tool *t, const tool_bench *b, const char *model)
{
    char path[2048];
    const char *slash = strrchr(model, '/'), *dot = strrchr(model, '.');
    const size_t length =
        dot != NULL && (slash == NULL || dot > slash) ? (size_t)(dot - model) : strlen(model);
    if (dot != NULL && strcmp(dot, ".taktp") == 0)
        return TAKT_EXIT_OK; /* it is one */
    snprintf(path, sizeof path, "%.*s.taktp", (int)length, model);
    const takt_save_options options = {.source = model, .command = "takt benchmark prepare"};
    const int code = tool_finish(t, takt_model_save(b->model, path, &options));
    if (code == TAKT_EXIT_OK)
        tell(t, "compiled", path);
    return code;
}

static int run(takt_tool *t)
{
    tool_bench b;
    takt_plan_info info;
    const bool json = tool_on(t, TAKT_F_JSON);
    const char *model = tool_text_of(t, TAKT_F_MODEL);
    model = model != NULL ? model : t->args[0];
    if (strcmp(model, TOOL_STDIN) == 0)
        return tool_usage_error(t, 1003, "keep it in a file first",
                                "what is prepared lies next to the model, standard input has no "
                                "place");
    int code = tool_bench_open(t, &b);
    if (code != TAKT_EXIT_OK)
        return code;
    takt_plan_query(b.plan, &info);
    code = takt_session_run(b.session) == TAKT_OK
               ? TAKT_EXIT_OK
               : tool_report_error(t, takt_session_error(b.session));
    if (code == TAKT_EXIT_OK) {
        printf(
            json
                ? "{\"load_ms\": %.3f, \"plan_ms\": %.3f, \"steps\": %zu, \"peak_bytes\": %llu, "
                  "\"threads\": %d"
                : "loaded    in %.3f ms\nplanned   in %.3f ms: %zu steps, %llu bytes, %d threads\n",
            b.load_ns * 1e-6, b.plan_ns * 1e-6, info.steps, (unsigned long long)info.peak,
            info.threads);
        code = save_compiled(t, &b, model);
    }
    if (code == TAKT_EXIT_OK)
        code = save_inputs(t, &b, model);
    if (code == TAKT_EXIT_OK)
        code = save_config(t, &b, model);
    printf("%s", json && code == TAKT_EXIT_OK ? "}\n" : "");
    tool_bench_close(&b);
    return code;
}

const takt_verb takt_verb_benchmark_prepare = {
    .name = "benchmark-prepare",
    .task = TAKT_TASK_MEASURE,
    .summary = "load, plan and run a model; store it compiled, with inputs and settings",
    .arguments = "MODEL",
    .arg_min = 1,
    .arg_max = 1,
    .about = "Writes model.taktp, model.onnx.INPUT.npy for every input, and model.onnx.bench.json\n"
             "next to model.onnx. The last one has every setting in effect; --config reads it.",
    .example = "takt benchmark prepare --model mlp.takt --config settings.json",
    .often = (const tool_flag_id[]){TAKT_F_DIM, TAKT_F_SHAPE, TAKT_F_THREADS, TAKT_F_BACKEND,
                                    TAKT_F_LEVEL, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_WEIGHTS, TAKT_F_ALLOW_LINKS, TAKT_F_INPUT,
              TAKT_F_SHAPE, TAKT_F_DIM, TAKT_F_SEED, TAKT_F_RANDOM, TAKT_F_THREADS, TOOL_PLAN_FLAGS,
              TAKT_FLAG_IDS},
    .run = run,
};
