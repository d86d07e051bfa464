/* train_weights.c - weights of classes in the loss: given, or by how rare a class is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train.h"

enum { CLASSES = 1 << 20 };

/* "1,2.5,0": one number for each class. */
static bool read_weights(const takt_tool *t, const char *text, tool_train_flags *f)
{
    size_t count = 1;
    for (const char *at = text; *at != '\0'; at++)
        count += *at == ',';
    f->class_weights = calloc(count, sizeof *f->class_weights);
    if (f->class_weights == NULL)
        return tool_finish(t, TAKT_ERR_MEMORY) == TAKT_EXIT_OK;
    for (size_t i = 0; i < count; i++) {
        char *end;
        f->class_weights[i] = strtof(text, &end);
        if (end == text || (*end != ',' && *end != '\0') || !isfinite(f->class_weights[i]) ||
            f->class_weights[i] < 0) {
            tool_usage_error(t, 1003, "write --class-weights 1,2.5,1 or balanced",
                             "--class-weights: %.*s is not a weight", (int)strcspn(text, ","),
                             text);
            return false;
        }
        text = end + (*end == ',');
    }
    f->weights = (takt_tensor_view){
        .dtype = TAKT_F32, .rank = 1, .dims = {(int64_t)count}, .data = f->class_weights};
    return true;
}

/* samples / (classes * samples of the class), of the part that is trained on: the mean over samples
 * is 1, and each class weighs the same. A class without samples weighs 0. */
static bool balance(const tool_training *g, tool_train_flags *f)
{
    const int64_t classes = takt_data_classes(g->data);
    uint64_t *counts = NULL;
    int64_t label;
    if (classes < 1 || classes > CLASSES) {
        tool_usage_error(g->t, 1003, "give one weight for each class",
                         "--class-weights balanced needs labels that are class numbers");
        return false;
    }
    f->class_weights = calloc((size_t)classes, sizeof *f->class_weights);
    counts = calloc((size_t)classes, sizeof *counts);
    takt_status status = f->class_weights != NULL && counts != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    for (uint64_t row = 0; status == TAKT_OK && row < g->samples; row++) {
        const takt_tensor_view one = {.dtype = TAKT_I64, .rank = 1, .dims = {1}, .data = &label};
        status = takt_data_take(g->data, "labels", &row, 1, &one);
        if (status == TAKT_OK)
            counts[label]++;
    }
    for (int64_t i = 0; status == TAKT_OK && i < classes; i++)
        f->class_weights[i] =
            counts[i] > 0 ? (float)((double)g->samples / ((double)classes * (double)counts[i])) : 0;
    free(counts);
    f->weights = (takt_tensor_view){
        .dtype = TAKT_F32, .rank = 1, .dims = {classes}, .data = f->class_weights};
    return tool_finish(g->t, status) == TAKT_EXIT_OK;
}

bool tool_class_weights(const tool_training *g, tool_train_flags *f)
{
    const char *text = tool_text_of(g->t, TAKT_F_CLASS_WEIGHTS);
    const takt_desc *out =
        takt_model_output_count(g->model) > 0 ? takt_model_output(g->model, 0) : NULL;
    if (text == NULL)
        return true;
    if (!(strcmp(text, "balanced") == 0 ? balance(g, f) : read_weights(g->t, text, f)))
        return false;
    const int64_t classes = out != NULL && out->rank > 0 ? out->dims[out->rank - 1] : 0;
    f->options.class_weights = &f->weights;
    if (classes <= 0 || f->weights.dims[0] == classes)
        return true;
    tool_usage_error(g->t, 1003, "one weight for each output",
                     "--class-weights has %lld numbers, the model has outputs for %lld classes",
                     (long long)f->weights.dims[0], (long long)classes);
    return false;
}
