/* train_mixup.c - --augment: whether it suits the data, and mixup, which mixes pairs of samples
 * into one, and their labels. */
#include <string.h>

#include "train.h"

static const char wants[] = "mixup needs one input of floats, and --loss cross_entropy or targets "
                            "that are numbers";

/* Whether the loss is cross_entropy: named so, or by default. */
static bool is_entropy(const tool_training *g)
{
    static const char name[] = "cross_entropy";
    const char *loss = tool_text_of(g->t, TAKT_F_LOSS);
    for (size_t i = 0; loss == NULL && i < takt_model_output_count(g->model); i++)
        if (strcmp(takt_model_output(g->model, i)->name, "loss") == 0)
            return false;
    const size_t length = sizeof name - 1;
    return loss == NULL ||
           (strncmp(loss, name, length) == 0 && (loss[length] == '\0' || loss[length] == ':'));
}

/* Reads mixup in --augment, and turns labels into distributions. If false, an error was printed. */
static bool begin_mixup(tool_training *g, int *code)
{
    takt_status status = takt_mixup_alpha(g->t->ctx, g->augment, &g->alpha);
    if (status == TAKT_OK && g->alpha > 0 && is_entropy(g) &&
        !tool_batch_soften(&g->batch, g->model, g->t->ctx))
        status = TAKT_ERR_MEMORY;
    if (status != TAKT_OK) {
        *code = tool_finish(g->t, status);
        return false;
    }
    bool is_good = takt_model_input_count(g->model) == 1;
    for (size_t i = 0; i < g->batch.count; i++)
        is_good = is_good && g->batch.view[i].view.dtype == TAKT_F32;
    if (g->alpha == 0 || is_good)
        return true;
    *code = tool_usage_error(g->t, 1003, wants,
                             "--augment %s: samples of this training cannot be "
                             "mixed",
                             g->augment);
    return false;
}

bool tool_augment_begin(tool_training *g, int *code)
{
    const takt_augment_key key = {0};
    g->augment = tool_text_of(g->t, TAKT_F_AUGMENT);
    *code = TAKT_EXIT_OK;
    if (g->augment != NULL && begin_mixup(g, code))
        *code = tool_finish(
            g->t, takt_data_augment(g->t->ctx, g->augment, &key, NULL, 0, &g->batch.view[0].view));
    return *code == TAKT_EXIT_OK;
}

bool tool_mixup_loss(const tool_training *g, tool_train_flags *f)
{
    const char *loss = f->options.loss != NULL ? f->options.loss : "cross_entropy";
    if (g->batch.soft == 0)
        return true;
    const int length = snprintf(f->loss, sizeof f->loss, "%s%ssoft=1", loss,
                                strchr(loss, ':') != NULL ? "," : ":");
    f->options.loss = f->loss;
    if (length > 0 && (size_t)length < sizeof f->loss)
        return true;
    tool_usage_error(g->t, 1003, NULL, "--loss %s is too long", loss);
    tool_train_flags_free(f);
    return false;
}
