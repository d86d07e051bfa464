/* run.c - runs a model once or several times. */
#define _POSIX_C_SOURCE 200809L
#include "run.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

/* A signal handler has no other way to reach the session. */
static takt_session *volatile running;

static void interrupt(int signal_number)
{
    (void)signal_number;
    if (running != NULL)
        takt_session_cancel(running);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static int repeat(tool_run *r, takt_session *s)
{
    const uint64_t budget = tool_number_of(r->t, TAKT_F_DEADLINE, 0);
    const struct sigaction act = {.sa_handler = interrupt};
    struct sigaction old;
    takt_status status = TAKT_OK;
    running = s;
    sigaction(SIGINT, &act, &old);
    for (size_t i = 0; i < r->runs && status == TAKT_OK; i++) {
        const uint64_t start = now_ns();
        status = budget > 0 ? takt_session_run_deadline(s, budget) : takt_session_run(s);
        r->times_ns[i] = now_ns() - start;
    }
    sigaction(SIGINT, &old, NULL);
    running = NULL;
    return status == TAKT_OK ? TAKT_EXIT_OK : tool_report_error(r->t, takt_session_error(s));
}

/* The session only lends its memory for inputs and outputs; smaller ones do the work. */
static int run_many(tool_run *r, takt_session *s)
{
    tool_request plan;
    const int code = tool_request_init(r->t, r->sizes.text, &plan);
    if (code != TAKT_EXIT_OK)
        return code;
    plan.options.threads = plan.options.threads > 0 ? plan.options.threads : 1;
    const takt_many_options options = {.batch_size =
                                           (int64_t)tool_number_of(r->t, TAKT_F_BATCH_SIZE, 32),
                                       .jobs = (int)tool_number_of(r->t, TAKT_F_JOBS, 0),
                                       .plan = &plan.options};
    const size_t ins = takt_session_input_count(s), outs = takt_session_output_count(s);
    takt_named_view *views = calloc(ins + outs, sizeof *views);
    takt_status status = views != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    for (size_t i = 0; views != NULL && i < ins + outs; i++) {
        const takt_tensor_view *v =
            i < ins ? takt_session_input(s, i) : takt_session_output(s, i - ins);
        views[i].name = i < ins ? takt_session_input_desc(s, i)->name
                                : takt_session_output_desc(s, i - ins)->name;
        status = v != NULL ? status : TAKT_ERR_MEMORY;
        views[i].view = v != NULL ? *v : (takt_tensor_view){.data = NULL};
    }
    for (size_t i = 0; i < r->runs && status == TAKT_OK; i++) {
        const uint64_t start = now_ns();
        status = takt_run_many(r->model, &options, views, ins + outs);
        r->times_ns[i] = now_ns() - start;
    }
    free(views);
    tool_request_free(&plan);
    return tool_finish(r->t, status);
}

static int run_session(tool_run *r, takt_plan *plan)
{
    takt_session *s;
    bool printed = false;
    int code = tool_finish(r->t, takt_session_create(plan, NULL, &s));
    if (code != TAKT_EXIT_OK)
        return code;
    code = tool_bind_inputs(r, s);
    if (code == TAKT_EXIT_OK)
        code = tool_text_of(r->t, TAKT_F_BATCH_SIZE) != NULL ? run_many(r, s) : repeat(r, s);
    if (code == TAKT_EXIT_OK)
        code = tool_save_outputs(r, s, &printed);
    if (code == TAKT_EXIT_OK && !printed)
        code = tool_print_result(r, plan, s);
    takt_session_destroy(s);
    return code;
}

static int run_model(tool_run *r)
{
    int code = tool_load_inputs(r);
    if (code != TAKT_EXIT_OK)
        return code;
    takt_plan *plan = tool_make_plan(r->t, r->model, &r->sizes, false, &code);
    if (plan == NULL)
        return code;
    r->runs = (size_t)tool_number_of(r->t, TAKT_F_REPEAT, 1);
    r->times_ns = calloc(r->runs, sizeof *r->times_ns);
    code = r->times_ns != NULL ? run_session(r, plan) : tool_finish(r->t, TAKT_ERR_MEMORY);
    free(r->times_ns);
    takt_plan_destroy(plan);
    return code;
}

static int run(takt_tool *t)
{
    int code;
    const bool is_cut = tool_text_of(t, TAKT_F_BATCH_SIZE) != NULL;
    if (is_cut && tool_text_of(t, TAKT_F_DEADLINE) != NULL)
        return tool_usage_error(t, 1003, NULL,
                                "--deadline is for one run, --batch-size makes many");
    if (!is_cut && tool_text_of(t, TAKT_F_JOBS) != NULL)
        return tool_usage_error(t, 1003, "add --batch-size N", "--jobs needs --batch-size");
    if (tool_number_of(t, TAKT_F_REPEAT, 1) > 1 && tool_item_of(t, TAKT_F_DONATE, 0) != NULL)
        return tool_usage_error(t, 1003, NULL,
                                "a donated input is gone after one run, --repeat makes several");
    takt_model *model = tool_open_model(t, &code);
    if (model == NULL)
        return code;
    tool_run r = {.t = t, .model = model};
    code = run_model(&r);
    tool_free_inputs(&r);
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_run = {
    .name = "run",
    .summary = "run a model on inputs from files or on random ones",
    .arguments = "MODEL",
    .arg_min = 1,
    .arg_max = 1,
    .about =
        "Without -i, inputs are random numbers that depend on --seed alone. Sizes of named\n"
        "dimensions come from the files, from --shape or from -D. The digest is the SHA-256 of\n"
        "the outputs' bytes, all NaNs being one.",
    .example = "takt run examples/mlp.takt -i x=x.npy -o y.npy --threads 2",
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_INPUT, TAKT_F_OUTPUT, TAKT_F_SHAPE, TAKT_F_DIM,
              TAKT_F_SEED, TAKT_F_RANDOM, TAKT_F_THREADS, TOOL_PLAN_FLAGS, TAKT_F_DONATE,
              TAKT_F_DEADLINE, TAKT_F_REPEAT, TAKT_F_BATCH_SIZE, TAKT_F_JOBS, TAKT_FLAG_IDS},
    .run = run,
};
