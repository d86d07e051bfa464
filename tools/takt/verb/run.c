/* run.c - runs a model once or several times. */
#define _POSIX_C_SOURCE 200809L
#include "run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A signal handler has no other way to reach the session. */
static takt_session *volatile running;

/* A run ends between two steps; nothing before it needs cleanup. */
static void interrupt(int signal_number)
{
    static const char words[] = "takt: interrupted before the run began\n";
    (void)signal_number;
    if (running == NULL) {
        const ssize_t told = write(STDERR_FILENO, words, sizeof words - 1);
        (void)told; /* nothing else reports it */
        _exit(TAKT_EXIT_INTERRUPTED);
    }
    takt_session_cancel(running);
}

static void catch_interrupts(bool is_caught)
{
    const struct sigaction act = {.sa_handler = is_caught ? interrupt : SIG_DFL};
    sigaction(SIGINT, &act, NULL);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Repeated as set by --repeat; the times go to `times`. */
static int run_times(tool_run *r, takt_session *s, tool_monitor *m, uint64_t *times)
{
    const uint64_t budget = tool_number_of(r->t, TAKT_F_DEADLINE, 0);
    const size_t count = r->stream != NULL ? tool_stream_chunks(r->stream)
                                           : (size_t)tool_number_of(r->t, TAKT_F_REPEAT, 1);
    takt_status status = TAKT_OK;
    running = s;
    for (size_t i = 0; i < count && status == TAKT_OK; i++) {
        if (r->stream != NULL)
            status = tool_stream_feed(r->stream, s, i);
        const uint64_t start = now_ns();
        if (status == TAKT_OK)
            status = budget > 0 ? takt_session_run_deadline(s, budget) : takt_session_run(s);
        times[i] = now_ns() - start;
        tool_monitor_tell(m);
    }
    return status == TAKT_OK ? TAKT_EXIT_OK : tool_report_error(r->t, takt_session_error(s));
}

static int repeat(tool_run *r, takt_session *s)
{
    tool_monitor m;
    int code;
    if (!tool_monitor_begin(r->t, s, &m, &code))
        return code;
    code = run_times(r, s, &m, r->times_ns);
    catch_interrupts(false);
    running = NULL;
    return tool_monitor_end(&m, code);
}

static bool take_results(takt_session *s, tool_results *o)
{
    if (!tool_results_init(o, takt_session_output_count(s)))
        return false;
    for (size_t i = 0; i < o->count; i++) {
        o->names[i] = takt_session_output_desc(s, i)->name;
        o->views[i] = *takt_session_output(s, i);
    }
    return true;
}

static int finish(tool_run *r, const takt_plan *plan, takt_session *s)
{
    bool printed = false;
    tool_results own = {.count = 0};
    tool_results *o = r->stream != NULL ? tool_stream_results(r->stream) : &own;
    int code = r->stream != NULL || take_results(s, o) ? tool_save_outputs(r, o, &printed)
                                                       : tool_finish(r->t, TAKT_ERR_MEMORY);
    if (code == TAKT_EXIT_OK)
        code = tool_print_result(r, plan, o, printed);
    tool_results_free(&own);
    return code;
}

/* The effect of --precision and --numerics on the results. */
static int measure(tool_run *r, takt_session *s, takt_deviation *d)
{
    if (!tool_deviates(r->t) || tool_on(r->t, TAKT_F_QUIET))
        return TAKT_EXIT_OK;
    r->deviation = d;
    if (r->stream != NULL)
        r->deviation_of = "the last chunk";
    return tool_finish(r->t, tool_deviation(r->t, r->model, &r->sizes, s, d));
}

/* Loads and saves state for --state-in and --state-out, before the first run and after the last. */
static int load_state(tool_run *r, takt_session *s)
{
    const char *path = tool_text_of(r->t, TAKT_F_STATE_IN);
    return path == NULL || takt_session_state_load(s, path) == TAKT_OK
               ? TAKT_EXIT_OK
               : tool_report_error(r->t, takt_session_error(s));
}

static int save_state(tool_run *r, takt_session *s)
{
    const char *path = tool_text_of(r->t, TAKT_F_STATE_OUT);
    return path == NULL || takt_session_state_save(s, path) == TAKT_OK
               ? TAKT_EXIT_OK
               : tool_report_error(r->t, takt_session_error(s));
}

static int run_session(tool_run *r)
{
    int code;
    takt_plan *plan = tool_take_plan(r, &code);
    if (plan == NULL)
        return code;
    if (r->model != NULL)
        code = tool_make_checked(r->t, r->model, &r->sizes);
    takt_session *s = code == TAKT_EXIT_OK ? tool_make_session(r->t, plan, &code) : NULL;
    takt_plan_destroy(r->t->checked); /* the session keeps it alive */
    r->t->checked = NULL;
    if (s != NULL)
        code = tool_bind_inputs(r, s);
    if (code == TAKT_EXIT_OK && r->stream != NULL)
        code = tool_stream_begin(r, s);
    if (code == TAKT_EXIT_OK)
        code = load_state(r, s);
    if (code == TAKT_EXIT_OK && tool_text_of(r->t, TAKT_F_PREPARE) != NULL &&
        takt_session_warmup(s) != TAKT_OK)
        code = tool_report_error(r->t, takt_session_error(s));
    takt_deviation deviation;
    const bool donates = tool_item_of(r->t, TAKT_F_DONATE, 0) != NULL;
    if (code == TAKT_EXIT_OK && donates)
        code = measure(r, s, &deviation); /* a donated input is gone after the run */
    if (code == TAKT_EXIT_OK)
        code = repeat(r, s);
    if (code == TAKT_EXIT_OK)
        code = save_state(r, s);
    if (code == TAKT_EXIT_OK && !donates)
        code = measure(r, s, &deviation);
    if (code == TAKT_EXIT_OK)
        code = finish(r, plan, s);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    return code;
}

/* ---- several files ---- */

/* One session for all files: its plan has the range of their sizes or, if no such plan can be made,
 * the sizes of each file in turn. */
typedef struct sets {
    tool_run *r;
    takt_plan *plan;
    takt_session *s;
    tool_sizes range;
    bool is_ranged;
    takt_deviation deviation;
} sets;

static int open_sets(sets *x)
{
    int code;
    tool_request request;
    tool_run *r = x->r;
    const tool_sizes first = r->sizes;
    x->is_ranged = true;
    if (strcmp(x->range.text, first.text) != 0) { /* the next plan reports a failure */
        code = tool_request_init(r->t, x->range.text, &request);
        if (code != TAKT_EXIT_OK)
            return code;
        x->is_ranged = takt_plan_create(r->model, &request.options, &x->plan) == TAKT_OK;
        tool_request_free(&request);
    }
    const tool_sizes *sizes = x->is_ranged ? &x->range : &first;
    code = TAKT_EXIT_OK;
    if (x->plan == NULL)
        x->plan = tool_make_plan(r->t, r->model, sizes, false, &code);
    if (code == TAKT_EXIT_OK)
        code = tool_make_checked(r->t, r->model, sizes);
    x->s = code == TAKT_EXIT_OK ? tool_make_session(r->t, x->plan, &code) : NULL;
    takt_plan_destroy(r->t->checked); /* the session keeps it alive */
    r->t->checked = NULL;
    return code;
}

/* Runs the session with the files of set `i`. */
static int run_set(sets *x, tool_monitor *m, size_t i)
{
    tool_run *r = x->r;
    const size_t times = (size_t)tool_number_of(r->t, TAKT_F_REPEAT, 1);
    bool printed;
    int code = i > 0 ? tool_load_set(r, i) : TAKT_EXIT_OK;
    if (code == TAKT_EXIT_OK && i > 0 && !x->is_ranged &&
        takt_session_reshape(x->s, r->model, r->sizes.text) != TAKT_OK)
        code = tool_report_error(r->t, takt_session_error(x->s));
    if (code == TAKT_EXIT_OK)
        code = tool_bind_inputs(r, x->s);
    if (code == TAKT_EXIT_OK)
        code = run_times(r, x->s, m, r->times_ns + i * times);
    if (code == TAKT_EXIT_OK && i == 0) {
        code = measure(r, x->s, &x->deviation);
        r->deviation_of = r->set_files[0];
    }
    tool_results o = {.count = 0};
    if (code == TAKT_EXIT_OK)
        code = take_results(x->s, &o) ? tool_save_outputs(r, &o, &printed)
                                      : tool_finish(r->t, TAKT_ERR_MEMORY);
    if (code == TAKT_EXIT_OK)
        code = tool_print_set(r, &o, r->times_ns[i * times]);
    tool_results_free(&o);
    return code;
}

static int run_all_sets(sets *x)
{
    tool_run *r = x->r;
    tool_monitor m;
    int code;
    if (!tool_monitor_begin(r->t, x->s, &m, &code))
        return code;
    size_t done = 0;
    while (done < r->sets && code == TAKT_EXIT_OK) {
        code = run_set(x, &m, done++);
        if (code != TAKT_EXIT_OK && !tool_on(r->t, TAKT_F_JSON))
            fprintf(stderr, "%zu of %zu files: stopped at %s\n", done, r->sets,
                    r->set_files[done - 1]);
    }
    catch_interrupts(false);
    running = NULL;
    code = tool_monitor_end(&m, code);
    return tool_print_sets_end(r, x->plan, x->range.text, code);
}

static int run_sets(tool_run *r)
{
    sets x = {.r = r};
    int code = tool_survey_sets(r, &x.range);
    if (code == TAKT_EXIT_OK)
        code = open_sets(&x);
    if (code == TAKT_EXIT_OK)
        code = load_state(r, x.s);
    if (code == TAKT_EXIT_OK)
        code = run_all_sets(&x);
    if (code == TAKT_EXIT_OK)
        code = save_state(r, x.s);
    takt_session_destroy(x.s);
    takt_plan_destroy(x.plan);
    return code;
}

static int check_sets(const tool_run *r, bool is_cut)
{
    static const tool_flag_id not [] = {TAKT_F_PREPARE, TAKT_F_STATIC_SHAPES, TAKT_F_DONATE};
    if (r->stream != NULL)
        return tool_usage_error(r->t, 1003, NULL, "--stream is one session, -i names %zu files",
                                r->sets);
    if (is_cut)
        return tool_usage_error(r->t, 1003, NULL, "--batch-size cuts one file, not %zu", r->sets);
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++)
        if (tool_text_of(r->t, not [i]) != NULL)
            return tool_usage_error(r->t, 1003, NULL, "--%s is for one file, not %zu",
                                    tool_flags[not [i]].name, r->sets);
    return TAKT_EXIT_OK;
}

static int run_model(tool_run *r)
{
    const bool is_cut = tool_text_of(r->t, TAKT_F_BATCH_SIZE) != NULL;
    if (is_cut && takt_model_input_count(r->model) > 0 && takt_model_input(r->model, 0)->rank > 0)
        r->cut = takt_model_input(r->model, 0)->dim_names[0];
    int code = tool_labels_open(r->t, &r->labels);
    if (code == TAKT_EXIT_OK)
        code = tool_load_inputs(r);
    if (code == TAKT_EXIT_OK && r->sets > 1)
        code = check_sets(r, is_cut);
    if (code != TAKT_EXIT_OK)
        return code;
    catch_interrupts(!is_cut);
    r->runs = r->stream != NULL ? tool_stream_chunks(r->stream)
                                : (size_t)tool_number_of(r->t, TAKT_F_REPEAT, 1) * r->sets;
    r->times_ns = calloc(r->runs, sizeof *r->times_ns);
    code = r->times_ns == NULL ? tool_finish(r->t, TAKT_ERR_MEMORY)
           : is_cut            ? tool_run_batches(r)
           : r->sets > 1       ? run_sets(r)
                               : run_session(r);
    free(r->times_ns);
    return code;
}

static int run(takt_tool *t)
{
    int code;
    const bool is_cut = tool_text_of(t, TAKT_F_BATCH_SIZE) != NULL;
    if (is_cut && tool_text_of(t, TAKT_F_DEADLINE) != NULL)
        return tool_usage_error(t, 1003, NULL,
                                "--deadline is for one run, --batch-size makes many");
    static const tool_flag_id alone[] = {
        TAKT_F_PIN,      TAKT_F_PREPARE,        TAKT_F_STATIC_SHAPES,
        TAKT_F_MONITOR,  TAKT_F_MONITOR_REPORT, TAKT_F_STATE_IN,
        TAKT_F_STATE_OUT};
    for (size_t i = 0; is_cut && i < sizeof alone / sizeof *alone; i++)
        if (tool_text_of(t, alone[i]) != NULL)
            return tool_usage_error(t, 1003, NULL, "--%s is for one session, --batch-size has many",
                                    tool_flags[alone[i]].name);
    if (!is_cut && tool_text_of(t, TAKT_F_JOBS) != NULL)
        return tool_usage_error(t, 1003, "add --batch-size N", "--jobs needs --batch-size");
    if (tool_number_of(t, TAKT_F_REPEAT, 1) > 1 && tool_item_of(t, TAKT_F_DONATE, 0) != NULL)
        return tool_usage_error(t, 1003, NULL,
                                "a donated input is gone after one run, --repeat makes several");
    if (tool_text_of(t, TAKT_F_INTERVAL) != NULL && !tool_on(t, TAKT_F_MONITOR) &&
        tool_text_of(t, TAKT_F_MONITOR_REPORT) == NULL)
        return tool_usage_error(t, 1003, "add --monitor", "--interval is that of --monitor");
    static const tool_flag_id of_tests[] = {TAKT_F_RTOL, TAKT_F_ATOL};
    for (size_t i = 0; i < 2; i++)
        if (tool_text_of(t, of_tests[i]) != NULL && tool_item_of(t, TAKT_F_TEST, 0) == NULL)
            return tool_usage_error(t, 1003, "add --test DIR", "--%s is that of --test",
                                    tool_flags[of_tests[i]].name);
    code = tool_stream_check(t);
    if (code == TAKT_EXIT_OK)
        code = tool_expand_inputs(t);
    if (code == TAKT_EXIT_OK)
        code = tool_check_outputs(t);
    if (code != TAKT_EXIT_OK)
        return code;
    if (!tool_cpu_limit(t, &code))
        return code;
    if (tool_item_of(t, TAKT_F_TEST, 0) != NULL)
        return tool_run_tests(t);
    catch_interrupts(true);
    takt_model *model = tool_open_model(t, &code);
    if (model == NULL)
        return code;
    tool_run r = {.t = t, .model = model, .takes_sets = true};
    code = run_model(&r);
    tool_free_inputs(&r);
    tool_labels_free(r.labels);
    tool_drop_model(&r);
    return code;
}

const takt_verb takt_verb_run = {
    .name = "run",
    .task = TAKT_TASK_RUN,
    .is_main = true,
    .summary = "run a model on inputs from files or on random ones",
    .arguments = "MODEL [FILE...]",
    .arg_min = 1,
    .arg_max = 1 << 20,
    .about = "Inputs without -i are random (--seed); the digest is SHA-256. With --test the exit\n"
             "code is 1 if an output differs. An input may have several files of different sizes:\n"
             "repeat -i, use a pattern (-i 'x=clips/*.wav') or list them after the model. Each is\n"
             "one run of the same session. In -o, {} is the name of the run's file without its\n"
             "extension, {#} its number.",
    .example = "takt run examples/mlp.takt -i x=x.npy -o y.npy --threads 2",
    .often = (const tool_flag_id[]){TAKT_F_INPUT, TAKT_F_OUTPUT, TAKT_F_DIM, TAKT_F_WEIGHTS,
                                    TAKT_F_THREADS, TAKT_F_BACKEND, TAKT_F_LEVEL, TAKT_F_REPEAT,
                                    TAKT_F_SEED, TAKT_F_TEST, TAKT_F_IMAGE, TAKT_F_CLASS_NAMES,
                                    TAKT_F_STREAM, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL,       TAKT_F_SELECT,      TAKT_F_WEIGHTS,
              TAKT_F_ALLOW_LINKS, TAKT_F_DENSE_LIMIT, TAKT_F_MMAP,
              TAKT_F_INPUT,       TAKT_F_OUTPUT,      TAKT_F_SHAPE,
              TAKT_F_DIM,         TAKT_F_SEED,        TAKT_F_RANDOM,
              TAKT_F_THREADS,     TOOL_PLAN_FLAGS,    TAKT_F_DONATE,
              TAKT_F_STATE_IN,    TAKT_F_STATE_OUT,   TAKT_F_DEADLINE,
              TAKT_F_REPEAT,      TAKT_F_BATCH_SIZE,  TAKT_F_JOBS,
              TOOL_THREAD_FLAGS,  TAKT_F_PREPARE,     TAKT_F_STATIC_SHAPES,
              TAKT_F_TEST,        TAKT_F_RTOL,        TAKT_F_ATOL,
              TAKT_F_MONITOR,     TAKT_F_INTERVAL,    TAKT_F_MONITOR_REPORT,
              TAKT_F_CPU_LIMIT,   TAKT_F_STATE_AUTO,  TAKT_F_IMAGE,
              TAKT_F_CLASS_NAMES, TAKT_F_STREAM,      TAKT_FLAG_IDS},
    .run = run,
};
