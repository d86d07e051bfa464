/* benchmark_verify.c - is the machine quiet enough, and is the model's result right? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

/* ---- the model ---- */

static size_t not_finite(const takt_tensor_view *v)
{
    size_t count = 1, bad = 0;
    for (int i = 0; i < v->rank; i++)
        count *= (size_t)v->dims[i];
    for (size_t i = 0; i < count; i++) {
        if (v->dtype == TAKT_F32)
            bad += isfinite(((const float *)v->data)[i]) ? 0u : 1u;
        else if (v->dtype == TAKT_F64)
            bad += isfinite(((const double *)v->data)[i]) ? 0u : 1u;
    }
    return bad;
}

/* Runs from the same state; digest and bad values of the outputs. */
static int run_once(takt_tool *t, takt_session *s, char digest[TAKT_DIGEST_TEXT], size_t *bad)
{
    const size_t count = takt_session_output_count(s);
    takt_tensor_view *views = calloc(count + 1, sizeof *views);
    *bad = 0;
    if (views == NULL)
        return tool_finish(t, TAKT_ERR_MEMORY);
    takt_session_reset(s);
    if (takt_session_run(s) != TAKT_OK) {
        free(views);
        return tool_report_error(t, takt_session_error(s));
    }
    for (size_t i = 0; i < count; i++) {
        views[i] = *takt_session_output(s, i);
        *bad += not_finite(&views[i]);
    }
    const int code = tool_finish(t, takt_view_digest(t->ctx, views, count, digest));
    free(views);
    return code;
}

static int verify_model(takt_tool *t)
{
    tool_bench b;
    char first[TAKT_DIGEST_TEXT], second[TAKT_DIGEST_TEXT];
    size_t bad, again;
    takt_plan_info info;
    int code = tool_bench_open(t, &b);
    if (code != TAKT_EXIT_OK)
        return code;
    code = run_once(t, b.session, first, &bad);
    if (code == TAKT_EXIT_OK)
        code = run_once(t, b.session, second, &again);
    if (code == TAKT_EXIT_OK) {
        const bool same = strcmp(first, second) == 0;
        takt_plan_query(b.plan, &info);
        if (tool_on(t, TAKT_F_JSON))
            printf("{\"loads\": true, \"runs\": true, \"finite\": %s, \"same_bits\": %s, "
                   "\"peak_bytes\": %llu}\n",
                   bad == 0 ? "true" : "false", same ? "true" : "false",
                   (unsigned long long)info.peak);
        else
            printf("loads            yes\nruns             yes\n"
                   "finite           %s (%zu values are not)\nsame bits twice  %s\n"
                   "memory           %llu bytes\nwithin limits    yes (%s)\n",
                   bad == 0 ? "yes" : "no", bad, same ? "yes" : "no", (unsigned long long)info.peak,
                   tool_text_of(t, TAKT_F_MEMORY_LIMIT) != NULL ? "--memory-limit"
                                                                : "none was given");
        code = bad == 0 && same ? TAKT_EXIT_OK : TAKT_EXIT_BUDGET;
    }
    tool_bench_close(&b);
    return code;
}

/* ---- the machine ---- */

static int verify_machine(takt_tool *t)
{
    takt_environment found;
    return tool_finish(
        t, takt_environment_check(t->ctx, &found, tool_format_of(t), tool_to_screen, t));
}

static int run(takt_tool *t)
{
    const bool has_model = tool_text_of(t, TAKT_F_MODEL) != NULL || t->arg_count > 0;
    if (!tool_on(t, TAKT_F_ENV) && !has_model)
        return tool_usage_error(t, 1003, "--env for the machine, --model M for a model",
                                "there is nothing to verify");
    int code = TAKT_EXIT_OK;
    if (tool_on(t, TAKT_F_ENV))
        code = verify_machine(t);
    if (code == TAKT_EXIT_OK && has_model)
        code = verify_model(t);
    return code;
}

const takt_verb takt_verb_benchmark_verify = {
    .name = "benchmark-verify",
    .task = TAKT_TASK_MEASURE,
    .summary = "check that the machine is fit to measure on, and that a model runs correctly",
    .arguments = "[MODEL]",
    .arg_min = 0,
    .arg_max = 1,
    .about =
        "--env grades the machine and prints the command that fixes each finding. With a\n"
        "model, checks that it loads and runs, that its outputs are finite, and that two runs\n"
        "give the same bits.",
    .example = "takt benchmark verify --env",
    .often = (const tool_flag_id[]){TAKT_F_DIM, TAKT_F_SHAPE, TAKT_F_THREADS, TAKT_F_BACKEND,
                                    TAKT_F_LEVEL, TAKT_FLAG_IDS},
    .flags = {TAKT_F_ENV, TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_WEIGHTS, TAKT_F_ALLOW_LINKS,
              TAKT_F_INPUT, TAKT_F_SHAPE, TAKT_F_DIM, TAKT_F_SEED, TAKT_F_RANDOM, TAKT_F_THREADS,
              TOOL_PLAN_FLAGS, TAKT_FLAG_IDS},
    .run = run,
};
