/* prune.c - a model without its least important channels. */
#include <stdlib.h>
#include <string.h>

#include "kept.h"
#include "shrink.h"
#include "train.h"

/* The fraction that is pruned after this many rounds: 1 - (1 - t)^3 of the whole (M. Zhu and S.
 * Gupta, 2017), or t of it. */
static double gone(double amount, uint64_t round, uint64_t rounds, bool is_linear)
{
    const double rest = 1 - (double)round / (double)rounds;
    return amount * (1 - (is_linear ? rest : rest * rest * rest));
}

/* The pruning, round by round. */
typedef struct pruning {
    takt_tool *t;
    takt_prune_options *o;
    double amount;   /* of the whole */
    uint64_t rounds; /* of them all */
    bool is_linear;  /* every round removes the same amount */
    double gone;     /* nominally, after the rounds that removed something */
    takt_model *small;
    tool_kept report; /* for programs: of the last round that removed something */
} pruning;

/* One round: removes as many of the remaining channels as the schedule requires. Weights that are
 * zero already stay among the others, so the amount refers to all of them. */
static takt_status prune_round(pruning *p, uint64_t round, const takt_model *model,
                               takt_model **next)
{
    const double after = gone(p->amount, round, p->rounds, p->is_linear);
    const bool is_json = tool_on(p->t, TAKT_F_JSON);
    p->o->amount = after;
    if (!p->o->unstructured && p->gone < 1)
        p->o->amount = 1 - (1 - after) / (1 - p->gone);
    if (p->rounds > 1 && !is_json && !tool_on(p->t, TAKT_F_QUIET))
        printf("round %llu of %llu\n", (unsigned long long)round, (unsigned long long)p->rounds);
    const takt_status status = takt_model_prune(model, p->o, tool_format_of(p->t),
                                                is_json ? tool_keep_text : tool_to_screen,
                                                is_json ? (void *)&p->report : p->t, next);
    if (status == TAKT_OK)
        p->gone = after;
    return status;
}

/* A round that can remove nothing is made up for by later ones, unless it is the last. */
static int prune_rounds(pruning *p, const takt_model *model)
{
    enum { NOTHING = 7502 };
    int code = TAKT_EXIT_OK;
    for (uint64_t i = 1; i <= p->rounds && code == TAKT_EXIT_OK; i++) {
        takt_model *next = NULL;
        const size_t length = p->report.length;
        p->report.length = 0;
        const takt_status status = prune_round(p, i, p->small != NULL ? p->small : model, &next);
        if (status != TAKT_OK && takt_last_error_info(p->t->ctx)->id == NOTHING &&
            (i < p->rounds || p->small != NULL)) {
            p->report.length = length;
            if (!tool_on(p->t, TAKT_F_JSON) && !tool_on(p->t, TAKT_F_QUIET))
                printf("nothing can go in this round\n");
            continue;
        }
        code = tool_finish(p->t, status);
        takt_model_destroy(p->small);
        p->small = next;
        if (code == TAKT_EXIT_OK && tool_text_of(p->t, TAKT_F_FINETUNE) != NULL)
            code = tool_finetune(p->t, &p->small);
    }
    return code;
}

static int prune(takt_tool *t, const takt_model *model, takt_prune_options *o)
{
    static const tool_flag_id reads[] = {TAKT_F_SCORED, TAKT_F_FINETUNE};
    enum { SCHEDULED = 4 }; /* default number of rounds if a schedule is given */
    char command[192], multiple[32] = "";
    const char *schedule = tool_text_of(t, TAKT_F_PRUNE_SCHEDULE);
    pruning p = {.t = t,
                 .o = o,
                 .amount = o->amount,
                 .rounds = tool_number_of(t, TAKT_F_ROUNDS, schedule != NULL ? SCHEDULED : 1),
                 .is_linear = schedule != NULL && strcmp(schedule, "linear") == 0};
    if (schedule != NULL && !p.is_linear && strcmp(schedule, "cubic") != 0)
        return tool_usage_error(t, 1003, "write --schedule cubic, or linear",
                                "rounds follow a cubic or a linear schedule, not %s", schedule);
    int code = tool_keep_check(t, o->keeps_user, prune_rounds(&p, model));
    if (code == TAKT_EXIT_OK && p.report.length > 0)
        (void)tool_to_screen(t, p.report.at, p.report.length);
    if (code == TAKT_EXIT_OK) {
        if (o->multiple > 0)
            snprintf(multiple, sizeof multiple, " --multiple %lld", (long long)o->multiple);
        snprintf(command, sizeof command, "takt prune %s --amount %g%s%s --criterion %s%s",
                 o->unstructured ? "--unstructured" : "--structured channels", p.amount,
                 o->is_global ? " --global" : "", multiple,
                 o->criterion != NULL ? o->criterion : "magnitude",
                 tool_text_of(t, TAKT_F_FINETUNE) != NULL ? " --finetune" : "");
        code = tool_shrink_save(t, p.small, command, reads, 2);
    }
    takt_model_destroy(p.small);
    free(p.report.at);
    return code;
}

/* Whether every flag that was given has an effect; false: usage error, printed. */
static bool has_uses(const takt_tool *t)
{
    static const tool_flag_id training[] = {TAKT_F_EPOCHS, TAKT_F_LR, TAKT_F_TRAIN_BATCH,
                                            TAKT_F_SEED};
    const char *criterion = tool_text_of(t, TAKT_F_CRITERION);
    for (size_t i = 0; i < sizeof training / sizeof *training; i++)
        if (tool_is_flag(t, training[i]) && tool_text_of(t, TAKT_F_FINETUNE) == NULL) {
            (void)tool_usage_error(t, 1003, "add --finetune D, the data to train on",
                                   "--%s is that of --finetune", tool_flags[training[i]].name);
            return false;
        }
    if (!tool_is_flag(t, TAKT_F_SCORED) || (criterion != NULL && strcmp(criterion, "taylor") == 0))
        return true;
    (void)tool_usage_error(t, 1003, "add --criterion taylor; `takt eval` scores a model",
                           "only --criterion taylor reads --data");
    return false;
}

static int with_model(takt_tool *t, const takt_model *model)
{
    tool_keep keep;
    tool_sizes sizes;
    const char *structured = tool_text_of(t, TAKT_F_STRUCTURED);
    takt_prune_options o = {.size = sizeof o,
                            .amount = 0.3,
                            .criterion = tool_text_of(t, TAKT_F_CRITERION),
                            .unstructured = tool_on(t, TAKT_F_UNSTRUCTURED),
                            .keeps = tool_keeps,
                            .multiple = (int64_t)tool_number_of(t, TAKT_F_MULTIPLE, 0),
                            .is_global = tool_on(t, TAKT_F_GLOBAL),
                            .threads = (int)tool_number_of(t, TAKT_F_THREADS, 0)};
    if (structured != NULL && (strcmp(structured, "channels") != 0 || o.unstructured))
        return tool_usage_error(t, 1003, "write --structured channels, or --unstructured",
                                "what goes is channels, or single weights, not %s", structured);
    if (o.unstructured && tool_text_of(t, TAKT_F_FINETUNE) != NULL)
        return tool_usage_error(t, 1003, "write --structured channels, or leave --finetune out",
                                "training would fill the zeros of --unstructured again");
    if (o.unstructured && (o.is_global || o.multiple > 0 || tool_is_flag(t, TAKT_F_CRITERION) ||
                           tool_is_flag(t, TAKT_F_KEEP)))
        return tool_usage_error(t, 1003, "write --structured channels, or leave them out",
                                "--global, --multiple, --criterion and --keep are about channels");
    if (!has_uses(t) || !tool_real(t, TAKT_F_AMOUNT, 0, 1, &o.amount) ||
        !tool_sizes_init(t, model, &sizes) || !tool_keep_init(t, &keep))
        return TAKT_EXIT_USAGE;
    o.keeps_user = &keep;
    o.sizes = sizes.text;
    takt_data *data = NULL;
    int code = TAKT_EXIT_USAGE;
    if (tool_shrink_data(t, TAKT_F_SCORED, "train", tool_number_of(t, TAKT_F_SAMPLES, 0), &data,
                         &code)) {
        o.data = data;
        code = prune(t, model, &o);
    }
    takt_data_destroy(data);
    tool_keep_deinit(&keep);
    return code;
}

static int run(takt_tool *t)
{
    return tool_shrink_model(t, with_model);
}

const takt_verb takt_verb_prune = {
    .name = "prune",
    .task = TAKT_TASK_SHRINK,
    .is_main = true,
    .summary = "remove the least important channels of a model",
    .arguments = "MODEL -o F --amount A",
    .about =
        "Removes channels with everything that depends on them: columns of the next layer,\n"
        "scales of norms, the other branch of a residual, whole attention heads. The result\n"
        "is an ordinary model, which can be trained further: --finetune D does so after every\n"
        "round. Without -o it only reports.",
    .arg_min = 1,
    .arg_max = 1,
    .example = "takt prune examples/cnn.takt --amount 0.5",
    .often = (const tool_flag_id[]){TAKT_F_MODEL_FILE, TAKT_F_STRUCTURED, TAKT_F_UNSTRUCTURED,
                                    TAKT_F_AMOUNT, TAKT_F_CRITERION, TAKT_F_SCORED, TAKT_F_FINETUNE,
                                    TAKT_F_EPOCHS, TAKT_F_THREADS, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL,      TAKT_F_SELECT,      TAKT_F_WEIGHTS,        TAKT_F_ALLOW_LINKS,
              TAKT_F_MODEL_FILE, TAKT_F_STRUCTURED,  TAKT_F_UNSTRUCTURED,   TAKT_F_AMOUNT,
              TAKT_F_GLOBAL,     TAKT_F_MULTIPLE,    TAKT_F_CRITERION,      TAKT_F_KEEP,
              TAKT_F_SCORED,     TAKT_F_SAMPLES,     TAKT_F_LABEL,          TAKT_F_WINDOW,
              TAKT_F_SCALE,      TAKT_F_DIM,         TAKT_F_SHAPE,          TAKT_F_THREADS,
              TAKT_F_FINETUNE,   TAKT_F_ROUNDS,      TAKT_F_PRUNE_SCHEDULE, TAKT_F_EPOCHS,
              TAKT_F_LR,         TAKT_F_TRAIN_BATCH, TAKT_F_SEED,           TAKT_FLAG_IDS},
    .run = run,
};
