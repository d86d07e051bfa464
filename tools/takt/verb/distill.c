/* distill.c - trains a small model on the outputs of a large one. */
#include <math.h>

#include "shrink.h"
#include "train.h"

static bool count_samples(tool_training *g)
{
    g->samples = takt_data_count(g->data);
    const uint64_t fixed = tool_fixed_batch(g->model);
    g->batch_size = fixed > 0 ? fixed : tool_number_of(g->t, TAKT_F_TRAIN_BATCH, 32);
    g->batch_size = g->batch_size < g->samples ? g->batch_size : g->samples;
    g->steps_per_epoch = (g->samples + g->batch_size - 1) / g->batch_size;
    g->epochs = tool_number_of(g->t, TAKT_F_EPOCHS, 1);
    g->steps = g->steps_per_epoch * g->epochs;
    g->seed = tool_number_of(g->t, TAKT_F_SEED, 0);
    g->best = INFINITY;
    return true;
}

static int save(tool_training *g, takt_model *student, const takt_distill_options *o)
{
    static const tool_flag_id reads[] = {TAKT_F_TEACHER, TAKT_F_DATA_SET};
    char command[96];
    takt_status status = takt_trainer_export(g->trainer, g->model, false);
    if (status == TAKT_OK)
        status = takt_model_copy_weights(student, g->model);
    if (status != TAKT_OK)
        return tool_finish(g->t, status);
    snprintf(command, sizeof command, "takt distill --temperature %g --alpha %g", o->temperature,
             o->alpha);
    return tool_shrink_save(g->t, student, command, reads, 2);
}

static int train(tool_training *g, takt_model *student, const takt_distill_options *o)
{
    tool_train_flags f;
    tool_request request;
    int code = tool_request_init(g->t, NULL, &request);
    if (code != TAKT_EXIT_OK)
        return code;
    code = TAKT_EXIT_USAGE;
    if (tool_train_flags_init(g->t, &f)) {
        f.options.plan = &request.options;
        f.options.steps = g->steps;
        code = tool_finish(g->t, takt_trainer_create(g->model, &f.options, &g->trainer));
        if (code == TAKT_EXIT_OK && tool_log_open(g, 0, &code)) {
            code = tool_train_loop(g);
            code = tool_log_close(g, code);
        }
        if (code == TAKT_EXIT_OK)
            code = save(g, student, o);
        takt_trainer_destroy(g->trainer);
        tool_train_flags_free(&f);
    }
    tool_request_free(&request);
    return code;
}

static int with_models(takt_tool *t, takt_model *student, const takt_model *teacher)
{
    tool_training g = {.t = t};
    takt_distill_options o = {.size = sizeof o, .temperature = 2, .alpha = 0.5};
    if (!tool_real(t, TAKT_F_TEMPERATURE, 1e-3, 1e3, &o.temperature) ||
        !tool_real(t, TAKT_F_ALPHA, 0, 1, &o.alpha))
        return TAKT_EXIT_USAGE;
    o.labels_only = o.alpha == 0;
    int code = tool_finish(t, takt_model_distill(student, teacher, &o, &g.model));
    if (code != TAKT_EXIT_OK)
        return code;
    g.data = tool_open_data(t, g.model, &code);
    if (g.data != NULL && count_samples(&g) &&
        tool_batch_init(&g.batch, g.model, g.data, g.batch_size, &code, t))
        code = train(&g, student, &o);
    tool_batch_free(&g.batch, t->ctx);
    takt_data_destroy(g.data);
    takt_model_destroy(g.model);
    return code;
}

static int run(takt_tool *t)
{
    int code;
    takt_model *teacher = NULL;
    const char *path = tool_text_of(t, TAKT_F_TEACHER);
    const char *own = tool_text_of(t, TAKT_F_STUDENT);
    if (path == NULL)
        return tool_usage_error(t, 1003, "write --teacher T", "there is no teacher");
    if (own != NULL && t->arg_count > 0)
        return tool_usage_error(t, 1003, NULL, "--student and %s are two students", t->args[0]);
    if (own != NULL && !tool_value_add(t, TAKT_F_MODEL, TAKT_FROM_FLAG, own))
        return tool_usage_error(t, 9003, NULL, "out of memory for the name of the student");
    if (own == NULL && t->arg_count == 0 && tool_text_of(t, TAKT_F_MODEL) == NULL)
        return tool_usage_error(t, 1003, "write --student S", "there is no student");
    if (!tool_shrink_can_save(t))
        return TAKT_EXIT_USAGE;
    t->trains = true;
    takt_model *student = tool_open_model(t, &code);
    if (student == NULL)
        return code;
    code = tool_finish(t, takt_model_load(t->ctx, path, NULL, &teacher));
    if (code == TAKT_EXIT_OK)
        code = with_models(t, student, teacher);
    takt_model_destroy(teacher);
    takt_model_destroy(student);
    return code;
}

const takt_verb takt_verb_distill = {
    .name = "distill",
    .task = TAKT_TASK_SHRINK,
    .summary = "train a small model on the outputs of a larger one",
    .arguments = "--teacher T --student S --data D -o F",
    .about = "The loss is alpha * T^2 times the KL divergence of the student's softmax from the\n"
             "teacher's, both at temperature T, plus 1 - alpha times the cross entropy with the\n"
             "labels.",
    .arg_min = 0,
    .arg_max = 1,
    .example = "takt distill --teacher examples/spirals.takt --student examples/spirals.takt "
               "--data examples/spirals.csv",
    .often = (const tool_flag_id[]){TAKT_F_STUDENT, TAKT_F_TEACHER, TAKT_F_DATA_SET, TAKT_F_EPOCHS,
                                    TAKT_F_LR, TAKT_F_TEMPERATURE, TAKT_F_ALPHA, TAKT_F_MODEL_FILE,
                                    TAKT_F_SEED, TAKT_F_THREADS, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL,    TAKT_F_STUDENT,      TAKT_F_TEACHER,       TAKT_F_TEMPERATURE,
              TAKT_F_ALPHA,    TAKT_F_SELECT,       TAKT_F_WEIGHTS,       TAKT_F_ALLOW_LINKS,
              TAKT_F_DATA_SET, TAKT_F_SPLIT,        TAKT_F_LABEL,         TAKT_F_WINDOW,
              TAKT_F_SAMPLES,  TAKT_F_EPOCHS,       TAKT_F_TRAIN_BATCH,   TAKT_F_OPTIMIZER,
              TAKT_F_LR,       TAKT_F_WEIGHT_DECAY, TAKT_F_RATE_SCHEDULE, TAKT_F_WARMUP_STEPS,
              TAKT_F_CLIP,     TAKT_F_FREEZE,       TAKT_F_NO_SHUFFLE,    TAKT_F_SEED,
              TAKT_F_LOG,      TAKT_F_MODEL_FILE,   TAKT_F_THREADS,       TAKT_FLAG_IDS},
    .run = run,
};
