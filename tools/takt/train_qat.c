/* train_qat.c - quantisation-aware training. */
#include <string.h>

#include "shrink.h"
#include "train.h"

static bool is_for_litert(const char *path)
{
    static const char ending[] = ".tflite";
    const size_t n = path != NULL ? strlen(path) : 0, k = sizeof ending - 1;
    return n >= k && strcmp(path + n - k, ending) == 0;
}

bool tool_qat_begin(tool_training *g, int *code)
{
    const char *type = tool_text_of(g->t, TAKT_F_QAT);
    tool_keep keep;
    takt_model *aware = NULL;
    if (type == NULL)
        return true;
    *code = TAKT_EXIT_USAGE;
    if (!tool_keep_init(g->t, &keep))
        return false;
    const takt_aware_options o = {.size = sizeof o,
                                  .type = type,
                                  .calib = g->data,
                                  .keeps = tool_keeps,
                                  .keeps_user = &keep,
                                  .threads = (int)tool_number_of(g->t, TAKT_F_THREADS, 0),
                                  .whole = is_for_litert(tool_text_of(g->t, TAKT_F_MODEL_FILE))};
    *code = tool_finish(g->t, takt_model_aware(g->model, &o, &aware));
    *code = tool_keep_check(g->t, &keep, *code);
    tool_keep_deinit(&keep);
    if (*code != TAKT_EXIT_OK) {
        takt_model_destroy(aware);
        return false;
    }
    takt_model_destroy(g->model);
    g->model = aware;
    return true;
}

int tool_qat_save(tool_training *g)
{
    static const tool_flag_id reads[] = {TAKT_F_DATA_SET};
    char command[64];
    takt_model *integers;
    int code = tool_finish(g->t, takt_model_aware_convert(g->model, &integers));
    if (code != TAKT_EXIT_OK)
        return code;
    snprintf(command, sizeof command, "takt train --qat %s", tool_text_of(g->t, TAKT_F_QAT));
    code = tool_shrink_save(g->t, integers, command, reads, 1);
    takt_model_destroy(integers);
    return code;
}
