/* prune.c - a model without the channels that are worth least. */
#include <string.h>

#include "shrink.h"
#include "train.h"

/* The part that is gone after so many of the rounds: 1 - (1 - t)^3 of it all (M. Zhu and S. Gupta,
 * 2017). */
static double gone(double amount, uint64_t round, uint64_t rounds)
{
    const double rest = 1 - (double)round / (double)rounds;
    return amount * (1 - rest * rest * rest);
}

static int to_nowhere(void *user, const char *text, size_t length)
{
    (void)user;
    (void)text;
    (void)length;
    return 0;
}

/* One round: of what is left so much goes that the whole comes out right. Reports of rounds before
 * the last are no part of a report for programs. */
static int prune_round(takt_tool *t, takt_prune_options *o, double amount, uint64_t round,
                       const takt_model *model, takt_model **small)
{
    const uint64_t rounds = tool_number_of(t, TAKT_F_ROUNDS, 1);
    const double before = gone(amount, round - 1, rounds), after = gone(amount, round, rounds);
    const bool is_told = round == rounds || !tool_on(t, TAKT_F_JSON);
    o->amount = before < 1 ? 1 - (1 - after) / (1 - before) : 1;
    if (rounds > 1 && is_told && !tool_on(t, TAKT_F_JSON) && !tool_on(t, TAKT_F_QUIET))
        printf("round %llu of %llu\n", (unsigned long long)round, (unsigned long long)rounds);
    return tool_finish(t, takt_model_prune(model, o, tool_format_of(t),
                                           is_told ? tool_to_screen : to_nowhere, t, small));
}

static int prune(takt_tool *t, const takt_model *model, takt_prune_options *o)
{
    static const tool_flag_id reads[] = {TAKT_F_SCORED, TAKT_F_FINETUNE};
    char command[160];
    takt_model *small = NULL;
    const double amount = o->amount;
    const uint64_t rounds = tool_number_of(t, TAKT_F_ROUNDS, 1);
    int code = TAKT_EXIT_OK;
    for (uint64_t i = 1; i <= rounds && code == TAKT_EXIT_OK; i++) {
        takt_model *next = NULL;
        code = prune_round(t, o, amount, i, small != NULL ? small : model, &next);
        takt_model_destroy(small);
        small = next;
        if (code == TAKT_EXIT_OK && tool_text_of(t, TAKT_F_FINETUNE) != NULL)
            code = tool_finetune(t, &small);
    }
    if (code == TAKT_EXIT_OK) {
        snprintf(command, sizeof command, "takt prune %s --amount %g --criterion %s%s",
                 o->unstructured ? "--unstructured" : "--structured channels", amount,
                 o->criterion != NULL ? o->criterion : "magnitude",
                 tool_text_of(t, TAKT_F_FINETUNE) != NULL ? " --finetune" : "");
        code = tool_shrink_save(t, small, command, reads, 2);
    }
    takt_model_destroy(small);
    return code;
}

static int with_model(takt_tool *t, const takt_model *model)
{
    regex_t room, *keep = NULL;
    tool_sizes sizes;
    const char *structured = tool_text_of(t, TAKT_F_STRUCTURED);
    takt_prune_options o = {.size = sizeof o,
                            .amount = 0.3,
                            .criterion = tool_text_of(t, TAKT_F_CRITERION),
                            .unstructured = tool_on(t, TAKT_F_UNSTRUCTURED),
                            .keeps = tool_keeps,
                            .threads = (int)tool_number_of(t, TAKT_F_THREADS, 0)};
    if (structured != NULL && (strcmp(structured, "channels") != 0 || o.unstructured))
        return tool_usage_error(t, 1003, "write --structured channels, or --unstructured",
                                "what goes is channels, or single weights, not %s", structured);
    if (!tool_real(t, TAKT_F_AMOUNT, 0, 1, &o.amount) || !tool_sizes_init(t, model, &sizes) ||
        !tool_keep_init(t, &room, &keep))
        return TAKT_EXIT_USAGE;
    o.keeps_user = keep;
    o.sizes = sizes.text;
    takt_data *data = NULL;
    int code = TAKT_EXIT_USAGE;
    if (tool_shrink_data(t, TAKT_F_SCORED, "train", tool_number_of(t, TAKT_F_SAMPLES, 0), &data,
                         &code)) {
        o.data = data;
        code = prune(t, model, &o);
    }
    takt_data_destroy(data);
    if (keep != NULL)
        regfree(keep);
    return code;
}

static int run(takt_tool *t)
{
    int code;
    takt_model *model = tool_open_model(t, &code);
    if (model == NULL)
        return code;
    code = with_model(t, model);
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_prune = {
    .name = "prune",
    .summary = "a model without the channels that are worth least",
    .arguments = "MODEL -o F --amount A",
    .about =
        "Channels go with everything that belongs to them: columns of the next layer, scales\n"
        "of norms, the other branch of a residual, whole heads of attention. The result is an\n"
        "ordinary model, which can be trained on: --finetune D does so after every round. Without\n"
        "-o only the report is made.",
    .arg_min = 1,
    .arg_max = 1,
    .example = "takt prune examples/cnn.takt --amount 0.5",
    .flags = {TAKT_F_MODEL,      TAKT_F_SELECT,     TAKT_F_WEIGHTS,      TAKT_F_ALLOW_LINKS,
              TAKT_F_MODEL_FILE, TAKT_F_STRUCTURED, TAKT_F_UNSTRUCTURED, TAKT_F_AMOUNT,
              TAKT_F_CRITERION,  TAKT_F_KEEP,       TAKT_F_SCORED,       TAKT_F_SAMPLES,
              TAKT_F_LABEL,      TAKT_F_WINDOW,     TAKT_F_SCALE,        TAKT_F_DIM,
              TAKT_F_SHAPE,      TAKT_F_THREADS,    TAKT_F_FINETUNE,     TAKT_F_ROUNDS,
              TAKT_F_EPOCHS,     TAKT_F_LR,         TAKT_F_TRAIN_BATCH,  TAKT_F_SEED,
              TAKT_FLAG_IDS},
    .run = run,
};
