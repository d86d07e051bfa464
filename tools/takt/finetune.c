/* finetune.c - fine-tunes a model that was made smaller. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "process.h"
#include "shrink.h"

enum { PATH = 512 };

static void add_flag(const takt_tool *t, tool_command *c, tool_flag_id id)
{
    if (tool_text_of(t, id) != NULL)
        tool_command_add(c, "--%s=%s", tool_flags[id].name, tool_text_of(t, id));
}

static int train(takt_tool *t, const char *from, const char *to)
{
    static const tool_flag_id flags[] = {TAKT_F_EPOCHS, TAKT_F_LR,    TAKT_F_TRAIN_BATCH,
                                         TAKT_F_SEED,   TAKT_F_LABEL, TAKT_F_WINDOW,
                                         TAKT_F_THREADS};
    char self[PATH];
    tool_command c = {0};
    tool_buffer err = {0};
    tool_command_add(&c, "%s", tool_self(self, sizeof self));
    tool_command_add(&c, "train");
    tool_command_add(&c, "%s", from);
    tool_command_add(&c, "--data=%s", tool_text_of(t, TAKT_F_FINETUNE));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        add_flag(t, &c, flags[i]);
    tool_command_add(&c, "--schedule=cosine"); /* few epochs: a rate that stays loses a point */
    tool_command_add(&c, "--quiet");
    tool_command_add(&c, "--output=%s", to);
    const int code = tool_spawn(&c, NULL, &err);
    if (code != 0 && err.at != NULL)
        (void)fputs(err.at, stderr);
    free(err.at);
    tool_command_free(&c);
    return code == 0 ? TAKT_EXIT_OK : TAKT_EXIT_FAILED;
}

int tool_finetune(takt_tool *t, takt_model **model)
{
    char folder[PATH], before[PATH + 32], after[PATH + 32];
    const char *place = getenv("TMPDIR");
    takt_model *trained = NULL;
    snprintf(folder, sizeof folder, "%.400s/takt-tune-XXXXXX", place != NULL ? place : "/tmp");
    if (mkdtemp(folder) == NULL)
        return tool_cannot_write(t, folder);
    snprintf(before, sizeof before, "%s/before.taktp", folder);
    snprintf(after, sizeof after, "%s/after.taktp", folder);
    int code = tool_finish(t, takt_model_save(*model, before, NULL));
    if (code == TAKT_EXIT_OK)
        code = train(t, before, after);
    if (code == TAKT_EXIT_OK)
        code = tool_finish(t, takt_model_load(t->ctx, after, NULL, &trained));
    (void)unlink(before);
    (void)unlink(after);
    (void)rmdir(folder);
    if (code == TAKT_EXIT_OK) {
        takt_model_destroy(*model);
        *model = trained;
    }
    return code;
}
