/* quantize.c - a model whose layers compute on integers. */
#include <string.h>

#include "progress.h"
#include "shrink.h"
#include "train.h"

/* Its operators of integers give integers. */
static bool is_for_litert(const char *path)
{
    static const char ending[] = ".tflite";
    const size_t n = path != NULL ? strlen(path) : 0, k = sizeof ending - 1;
    return n >= k && strcmp(path + n - k, ending) == 0;
}

static int quantize(takt_tool *t, const takt_model *model, takt_quantize_options *o)
{
    static const tool_flag_id reads[] = {TAKT_F_CALIB, TAKT_F_SCORED};
    char command[128];
    takt_model *small = NULL;
    const char *type = tool_text_of(t, TAKT_F_QUANT_TYPE);
    o->type = type;
    o->method = tool_text_of(t, TAKT_F_QUANT_METHOD);
    o->rounding = tool_text_of(t, TAKT_F_ROUNDING);
    o->equalize = tool_on(t, TAKT_F_EQUALIZE);
    if (!tool_real(t, TAKT_F_SMOOTH, 0, 1, &o->smooth))
        return TAKT_EXIT_USAGE;
    o->metric = tool_text_of(t, TAKT_F_SCORE);
    o->accuracy_drop = tool_text_of(t, TAKT_F_ACCURACY_DROP);
    o->size_first = tool_on(t, TAKT_F_SIZE_FIRST);
    o->whole = is_for_litert(tool_text_of(t, TAKT_F_MODEL_FILE));
    o->threads = (int)tool_number_of(t, TAKT_F_THREADS, 0);
    tool_progress bar = {.t = t};
    o->progress = tool_progress_part;
    o->progress_user = &bar;
    const takt_status status =
        takt_model_quantize(model, o, tool_format_of(t), tool_progress_report, &bar, &small);
    tool_progress_end(&bar);
    int code = tool_keep_check(t, o->keeps_user, tool_finish(t, status));
    if (code != TAKT_EXIT_OK) {
        takt_model_destroy(small);
        return code;
    }
    snprintf(command, sizeof command, "takt quantize --type %s%s%s", type != NULL ? type : "int8",
             o->method != NULL ? " --method " : "", o->method != NULL ? o->method : "");
    code = tool_shrink_save(t, small, command, reads, 2);
    takt_model_destroy(small);
    return code;
}

static int with_model(takt_tool *t, const takt_model *model)
{
    tool_keep keep;
    takt_data *calib = NULL, *test = NULL;
    tool_sizes sizes;
    int code = TAKT_EXIT_USAGE;
    if (!tool_sizes_init(t, model, &sizes) || !tool_keep_init(t, &keep))
        return TAKT_EXIT_USAGE;
    takt_quantize_options o = {
        .size = sizeof o, .sizes = sizes.text, .keeps = tool_keeps, .keeps_user = &keep};
    const uint64_t limit = tool_number_of(t, TAKT_F_CALIB_LIMIT, 0);
    if (tool_shrink_data(t, TAKT_F_CALIB, "train", limit, &calib, &code) &&
        tool_shrink_data(t, TAKT_F_SCORED, "test", tool_number_of(t, TAKT_F_SAMPLES, 0), &test,
                         &code)) {
        o.calib = calib;
        o.test = test;
        code = quantize(t, model, &o);
    }
    takt_data_destroy(test);
    takt_data_destroy(calib);
    tool_keep_deinit(&keep);
    return code;
}

/* A given flag that does not apply to blocks; NULL: there is none. */
static const char *foreign_flag(const takt_tool *t)
{
    static const tool_flag_id ids[] = {
        TAKT_F_SELECT,        TAKT_F_WEIGHTS,  TAKT_F_CALIB,    TAKT_F_CALIB_LIMIT, TAKT_F_SCORED,
        TAKT_F_SAMPLES,       TAKT_F_LABEL,    TAKT_F_WINDOW,   TAKT_F_SCALE,       TAKT_F_DIM,
        TAKT_F_QUANT_METHOD,  TAKT_F_ROUNDING, TAKT_F_EQUALIZE, TAKT_F_SMOOTH,      TAKT_F_SCORE,
        TAKT_F_ACCURACY_DROP, TAKT_F_KEEP,     TAKT_F_SHAPE,    TAKT_F_SIZE_FIRST};
    for (size_t i = 0; i < t->value_count; i++)
        for (size_t k = 0; k < sizeof ids / sizeof *ids; k++)
            if (t->values[i].id == ids[k] && t->values[i].from == TAKT_FROM_FLAG)
                return tool_flags[ids[k]].name;
    return NULL;
}

static int run(takt_tool *t)
{
    const char *type = tool_text_of(t, TAKT_F_QUANT_TYPE);
    if (tool_is_block_type(type)) {
        const char *foreign = foreign_flag(t);
        return foreign == NULL
                   ? tool_quantize_text(t)
                   : tool_usage_error(t, 1003, "--imatrix and --tensor-type are",
                                      "--%s is not for block types such as %s", foreign, type);
    }
    if (tool_text_of(t, TAKT_F_IMATRIX) != NULL || tool_item_of(t, TAKT_F_TENSOR_TYPE, 0) != NULL)
        return tool_usage_error(t, 1003, "write --type Q4_K -o F.gguf",
                                "--imatrix and --tensor-type are for block types");
    if (tool_text_of(t, TAKT_F_SCORED) == NULL && tool_text_of(t, TAKT_F_SCORE) != NULL)
        return tool_usage_error(t, 1003, "add --data V, samples with labels",
                                "--metric is that of --data");
    return tool_shrink_model(t, with_model);
}

const takt_verb takt_verb_quantize = {
    .name = "quantize",
    .task = TAKT_TASK_SHRINK,
    .is_main = true,
    .summary = "convert the layers of a model to integers",
    .arguments = "MODEL -o F --calib D",
    .about =
        "Reports for every layer its rounding error, its time in f32 and in integers, and\n"
        "whether it was changed: a layer that is not measured to be faster stays f32, unless\n"
        "--size-first. Without -o it only reports; -o F.tflite is for LiteRT, whose integer\n"
        "layers return integers. Exit code 4: --accuracy-drop cannot be met.\n"
        "Language models: --type Q4_0 to Q6_K or IQ4_NL writes a GGUF file in such blocks; it\n"
        "needs -o F.gguf and no data. --imatrix F (takt imatrix) weights errors by column.",
    .arg_min = 1,
    .arg_max = 1,
    .example = "takt quantize examples/spirals.takt --calib examples/spirals.csv --size-first",
    .often = (const tool_flag_id[]){TAKT_F_MODEL_FILE, TAKT_F_CALIB, TAKT_F_QUANT_TYPE,
                                    TAKT_F_QUANT_METHOD, TAKT_F_SCORED, TAKT_F_ACCURACY_DROP,
                                    TAKT_F_KEEP, TAKT_F_ROUNDING, TAKT_F_DIM, TAKT_F_THREADS,
                                    TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL,      TAKT_F_SELECT,       TAKT_F_WEIGHTS,       TAKT_F_ALLOW_LINKS,
              TAKT_F_MODEL_FILE, TAKT_F_CALIB,        TAKT_F_CALIB_LIMIT,   TAKT_F_SCORED,
              TAKT_F_SAMPLES,    TAKT_F_LABEL,        TAKT_F_WINDOW,        TAKT_F_SCALE,
              TAKT_F_QUANT_TYPE, TAKT_F_QUANT_METHOD, TAKT_F_ROUNDING,      TAKT_F_EQUALIZE,
              TAKT_F_SMOOTH,     TAKT_F_SCORE,        TAKT_F_ACCURACY_DROP, TAKT_F_KEEP,
              TAKT_F_IMATRIX,    TAKT_F_TENSOR_TYPE,  TAKT_F_SIZE_FIRST,    TAKT_F_DIM,
              TAKT_F_SHAPE,      TAKT_F_THREADS,      TAKT_FLAG_IDS},
    .run = run,
};
