/* eval.c - the quality of a model on a data set, with confidence intervals. */
#include <stdlib.h>
#include <string.h>

#include "eval_rules.h"
#include "progress.h"
#include "train.h"

typedef struct evaluation {
    takt_tool *t;
    takt_model *model;
    takt_data *data;
    tool_batch batch;
    uint64_t fixed; /* fixed batch size of the model, or 0 */
    takt_evaluation *eval;
    takt_session *session;
    char sizes[TOOL_SIZES];  /* of the session */
    size_t output, labels;   /* which output is compared with which view */
    uint64_t bad, first_bad; /* samples with an output that is not finite */
    tool_constraints rules;  /* are evaluated instead, if there are any */
} evaluation;

static size_t main_output(const takt_model *m)
{
    const bool is_loss =
        takt_model_output_count(m) > 1 && strcmp(takt_model_output(m, 0)->name, "loss") == 0;
    return is_loss ? 1 : 0;
}

/* Class labels are scored by accuracy, other targets by distance. */
static const char *metrics_of(const evaluation *e)
{
    const char *text = tool_text_of(e->t, TAKT_F_EVAL_METRIC);
    if (text != NULL)
        return text;
    const takt_desc *out = takt_model_output(e->model, e->output);
    const takt_tensor_view *labels = &e->batch.view[e->labels].view;
    const bool are_classes = tool_labels_are_whole(e->data) &&
                             (takt_data_classes(e->data) > 0 || labels->rank < out->rank);
    return are_classes ? "top1" : "mse";
}

static takt_status report(const evaluation *e, takt_status status)
{
    if (status != TAKT_OK)
        tool_report_error(e->t, takt_session_error(e->session));
    return status;
}

/* The session for the present batch. */
static int fit_session(evaluation *e)
{
    tool_sizes sizes;
    int code = TAKT_EXIT_OK;
    if (!tool_sizes_init(e->t, e->model, &sizes))
        return TAKT_EXIT_USAGE;
    for (size_t i = 0; i < takt_model_input_count(e->model); i++) {
        const takt_tensor_view *v = &e->batch.view[i].view;
        const takt_desc *d = takt_model_input(e->model, i);
        if (!tool_sizes_from(e->t, &sizes, d, v->rank, v->dims, d->name))
            return TAKT_EXIT_USAGE;
    }
    if (e->session != NULL && strcmp(sizes.text, e->sizes) == 0)
        return code;
    snprintf(e->sizes, sizeof e->sizes, "%s", sizes.text);
    if (e->session != NULL)
        return tool_finish(e->t, takt_session_fit(e->session, e->model, sizes.text));
    takt_plan *plan = e->rules.count > 0 ? tool_constraints_plan(e->t, &e->rules, &sizes, &code)
                                         : tool_make_plan(e->t, e->model, &sizes, false, &code);
    if (plan == NULL)
        return code;
    e->session = tool_make_session(e->t, plan, &code);
    takt_plan_destroy(plan);
    return code;
}

/* Runs the batch in the buffers and scores `count` samples from `first` on. */
static int run_batch(evaluation *e, uint64_t first, size_t count)
{
    const size_t inputs = takt_model_input_count(e->model);
    takt_status status = TAKT_OK;
    int code = fit_session(e);
    for (size_t i = 0; i < inputs && code == TAKT_EXIT_OK && status == TAKT_OK; i++)
        status = takt_session_bind(e->session, e->batch.view[i].name, &e->batch.view[i].view);
    if (code == TAKT_EXIT_OK && status == TAKT_OK)
        status = takt_session_run(e->session);
    if (code != TAKT_EXIT_OK || report(e, status) != TAKT_OK)
        return code != TAKT_EXIT_OK ? code : TAKT_EXIT_FAILED;
    if (e->rules.count > 0) {
        return tool_finish(e->t, tool_constraints_add(&e->rules, e->session, first));
    }
    const takt_tensor_view *all = takt_session_output(e->session, e->output);
    if (all == NULL)
        return tool_report_error(e->t, takt_session_error(e->session));
    takt_tensor_view out = *all, labels = e->batch.view[e->labels].view;
    out.dims[0] = labels.dims[0] = (int64_t)count;
    for (size_t row = 0, at = 0; tool_view_bad(&out, at, count, &row); at = row + 1)
        if (e->bad++ == 0)
            e->first_bad = first + row;
    return tool_finish(e->t, takt_evaluation_add(e->eval, &out, &labels));
}

/* Rows after the last sample are copies of it: a model with a fixed batch gets a full one. */
static int over_all(evaluation *e, uint64_t *rows)
{
    const uint64_t samples = takt_data_count(e->data);
    tool_progress progress = tool_progress_begin(e->t, "evaluating", "samples", samples);
    int code = TAKT_EXIT_OK;
    for (uint64_t at = 0; at < samples && code == TAKT_EXIT_OK; at += e->batch.room) {
        const uint64_t left = samples - at;
        const size_t count = left < e->batch.room ? (size_t)left : e->batch.room;
        const size_t filled = e->fixed > 0 ? e->batch.room : count;
        for (size_t i = 0; i < filled; i++)
            rows[i] = at + (i < count ? i : count - 1);
        code = tool_finish(e->t, tool_batch_fill(&e->batch, e->data, rows, filled));
        if (code == TAKT_EXIT_OK)
            code = run_batch(e, at, count);
        tool_progress_at(&progress, at + count);
    }
    tool_progress_end(&progress);
    return code;
}

static void tell_bad(const evaluation *e)
{
    fprintf(
        stderr,
        "takt: outputs of %llu of %llu samples are not finite, that of sample %llu of %s first\n",
        (unsigned long long)e->bad, (unsigned long long)takt_data_count(e->data),
        (unsigned long long)e->first_bad, takt_data_source(e->data, "x", e->first_bad));
}

/* Labels below 0 do not count; without class numbers, any are distances. */
static bool labels_fit(const evaluation *e)
{
    const tool_classes classes = {.is_scored = true};
    bool are_distances = true;
    for (const char *at = metrics_of(e); *at != '\0';
         at += strcspn(at, ",") + (strchr(at, ',') != NULL))
        are_distances = are_distances && (strncmp(at, "mse", 3) == 0 || strncmp(at, "mae", 3) == 0);
    return are_distances ||
           tool_labels_fit(e->t, e->data, takt_model_output(e->model, e->output), classes);
}

static int evaluate(evaluation *e)
{
    int code = TAKT_EXIT_OK;
    if (e->rules.count == 0)
        code = tool_finish(e->t, takt_evaluation_create(e->t->ctx, metrics_of(e), &e->eval));
    if (code == TAKT_EXIT_OK && e->rules.count == 0 && !labels_fit(e))
        code = TAKT_EXIT_USAGE;
    uint64_t *rows = malloc(e->batch.room * sizeof *rows);
    if (rows == NULL && code == TAKT_EXIT_OK)
        code = tool_finish(e->t, TAKT_ERR_MEMORY);
    if (code == TAKT_EXIT_OK)
        code = over_all(e, rows);
    if (code == TAKT_EXIT_OK && e->rules.count > 0)
        tool_constraints_write(&e->rules, tool_format_of(e->t));
    else if (code == TAKT_EXIT_OK)
        code = tool_finish(
            e->t, takt_evaluation_write(e->eval, tool_format_of(e->t), tool_to_screen, e->t));
    if (code == TAKT_EXIT_OK && e->bad > 0)
        tell_bad(e);
    free(rows);
    takt_session_destroy(e->session);
    takt_evaluation_destroy(e->eval);
    return code;
}

static int with_data(evaluation *e)
{
    int code;
    const uint64_t samples = takt_data_count(e->data);
    uint64_t room = tool_number_of(e->t, TAKT_F_TRAIN_BATCH, 32);
    e->fixed = tool_fixed_batch(e->model);
    room = e->fixed > 0 ? e->fixed : room < samples ? room : samples;
    e->output = main_output(e->model);
    if (takt_model_output_count(e->model) == 0)
        return tool_usage_error(e->t, 1003, NULL, "the model has no output to evaluate");
    if (tool_text_of(e->t, TAKT_F_EVAL_METRIC) == NULL &&
        !tool_constraints_init(e->t, e->model, e->fixed > 0 ? e->fixed : 1, &e->rules))
        return tool_finish(e->t, TAKT_ERR_MEMORY);
    if (e->rules.count > 0)
        room = e->rules.samples; /* each sample has its own truth */
    if (!tool_batch_init(&e->batch, e->model, e->data, room, &code, e->t))
        return code;
    if (e->rules.count > 0)
        return evaluate(e);
    while (e->labels < e->batch.count && strcmp(e->batch.view[e->labels].name, "labels") != 0)
        e->labels++;
    if (e->labels == e->batch.count)
        return tool_usage_error(e->t, 7005, "its labels are compared with the first output",
                                "the data has no labels");
    return evaluate(e);
}

static int run(takt_tool *t)
{
    evaluation e = {.t = t};
    int code;
    e.model = tool_open_model(t, &code);
    if (e.model == NULL)
        return code;
    e.data = tool_open_data(t, e.model, &code);
    if (e.data != NULL)
        code = with_data(&e);
    tool_batch_free(&e.batch, t->ctx);
    tool_constraints_free(&e.rules);
    takt_data_destroy(e.data);
    takt_model_destroy(e.model);
    return code;
}

const takt_verb takt_verb_eval = {
    .name = "eval",
    .task = TAKT_TASK_TRAIN,
    .is_main = true,
    .summary = "evaluate a model on a data set, with 95 % intervals",
    .arguments = "MODEL --data D",
    .about =
        "Metrics are top1, top5, f1, auc, mse, mae and ppl, separated by commas. Non-negative\n"
        "outputs that sum to 1 are treated as probabilities, all others as logits. The\n"
        "default is top1 for class numbers and mse for other targets. For a model with\n"
        "constraints, prints which share of the samples satisfies each (a truth of 0.5 or\n"
        "more) and the first ten counterexamples: samples, and the tuples of the outermost\n"
        "forall that fail in them.",
    .arg_min = 1,
    .arg_max = 1,
    .example = "takt eval examples/spirals.takt --data examples/spirals.csv --metric top1,auc",
    .often = (const tool_flag_id[]){TAKT_F_DATA_SET, TAKT_F_SPLIT, TAKT_F_EVAL_METRIC,
                                    TAKT_F_SAMPLES, TAKT_F_TRAIN_BATCH, TAKT_F_WEIGHTS,
                                    TAKT_F_THREADS, TAKT_F_BACKEND, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL,       TAKT_F_SELECT,      TAKT_F_WEIGHTS,     TAKT_F_ALLOW_LINKS,
              TAKT_F_DENSE_LIMIT, TAKT_F_DATA_SET,    TAKT_F_SPLIT,       TAKT_F_LABEL,
              TAKT_F_WINDOW,      TAKT_F_IMAGE,       TAKT_F_SAMPLES,     TAKT_F_DATA_CACHE,
              TAKT_F_MISSING,     TAKT_F_EVAL_METRIC, TAKT_F_TRAIN_BATCH, TAKT_F_DIM,
              TAKT_F_SHAPE,       TAKT_F_THREADS,     TOOL_PLAN_FLAGS,    TOOL_THREAD_FLAGS,
              TAKT_FLAG_IDS},
    .run = run,
};
