/* benchmark_prepare.c - everything a benchmark needs, made before: plan, inputs, configuration. */
#include <stdlib.h>
#include <string.h>

#include "measure.h"

/* <model>.<input>.npy for every input, so that all later runs have the same data. */
static int save_inputs(takt_tool *t, const tool_bench *b, const char *model)
{
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
        printf("input     %s\n", path);
    }
    return TAKT_EXIT_OK;
}

/* The flags in force, as --config reads them. */
static int save_config(takt_tool *t, const tool_bench *b, const char *model)
{
    char path[2048], text[1400];
    tool_buffer buffer = {0};
    takt_plan_info info;
    takt_plan_query(b->plan, &info);
    snprintf(path, sizeof path, "%s.bench.json", model);
    int length = snprintf(text, sizeof text, "{\"threads\": \"%d\"", info.threads);
    if (b->run.sizes.length > 0)
        length += snprintf(text + length, sizeof text - (size_t)length, ", \"dim\": [\"%s\"]",
                           b->run.sizes.text);
    length += snprintf(text + length, sizeof text - (size_t)length, ", \"seed\": %llu}\n",
                       (unsigned long long)tool_number_of(t, TAKT_F_SEED, 0));
    /* Sizes are joined by commas; a list of flags has one each. */
    char *dims = strstr(text, "[\"");
    for (char *at = dims; at != NULL && *at != '\0' && *at != ']'; at++)
        if (*at == ',' && (size_t)length + 3 < sizeof text) {
            memmove(at + 3, at + 1, strlen(at + 1) + 1);
            memcpy(at, "\",\"", 3);
            at += 2;
            length += 2;
        }
    if (tool_to_buffer(&buffer, text, strlen(text)) != 0)
        return tool_finish(t, TAKT_ERR_MEMORY);
    const int code = tool_buffer_save(t, &buffer, path);
    if (code == TAKT_EXIT_OK)
        printf("settings  %s\n", path);
    return code;
}

static int run(takt_tool *t)
{
    tool_bench b;
    takt_plan_info info;
    const char *model = tool_text_of(t, TAKT_F_MODEL);
    int code = tool_bench_open(t, &b);
    if (code != TAKT_EXIT_OK)
        return code;
    model = model != NULL ? model : t->args[0];
    takt_plan_query(b.plan, &info);
    code = takt_session_run(b.session) == TAKT_OK
               ? TAKT_EXIT_OK
               : tool_report_error(t, takt_session_error(b.session));
    if (code == TAKT_EXIT_OK) {
        printf("loaded    in %.3f ms\nplanned   in %.3f ms: %zu steps, %llu bytes, %d threads\n",
               b.load_ns * 1e-6, b.plan_ns * 1e-6, info.steps, (unsigned long long)info.peak,
               info.threads);
        code = save_inputs(t, &b, model);
    }
    if (code == TAKT_EXIT_OK)
        code = save_config(t, &b, model);
    tool_bench_close(&b);
    return code;
}

const takt_verb takt_verb_benchmark_prepare = {
    .name = "benchmark-prepare",
    .summary = "load, plan and run a model once; keep its inputs and settings beside it",
    .arguments = "MODEL",
    .arg_min = 1,
    .arg_max = 1,
    .about = "Writes MODEL.INPUT.npy for every input and MODEL.bench.json, which --config reads.",
    .example = "takt benchmark prepare --model mlp.takt --config settings.json",
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_INPUT, TAKT_F_SHAPE, TAKT_F_DIM, TAKT_F_SEED,
              TAKT_F_RANDOM, TAKT_F_THREADS, TOOL_PLAN_FLAGS, TAKT_FLAG_IDS},
    .run = run,
};
