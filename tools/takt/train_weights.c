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

/* How many labels of the part that is trained on each class has; a sample has one or, such as a
 * picture with a class for each of its points, several. */
static takt_status count_labels(const tool_training *g, int64_t classes, uint64_t *counts,
                                uint64_t *all)
{
    size_t each = 1;
    for (size_t i = 0; i < takt_data_field_count(g->data); i++) {
        const takt_desc *field = takt_data_field(g->data, i);
        for (int k = 1; strcmp(field->name, "labels") == 0 && k < field->rank; k++)
            each *= (size_t)field->dims[k];
    }
    int64_t *labels = calloc(each + 1, sizeof *labels);
    takt_status status = labels != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    for (uint64_t i = 0; status == TAKT_OK && i < g->samples; i++) {
        const uint64_t row = tool_training_sample(g, i);
        const takt_tensor_view one = {
            .dtype = TAKT_I64, .rank = 2, .dims = {1, (int64_t)each}, .data = labels};
        status = takt_data_take(g->data, "labels", &row, 1, &one);
        for (size_t k = 0; status == TAKT_OK && k < each; k++)
            if (labels[k] >= 0 && labels[k] < classes) { /* others are ignored */
                counts[labels[k]]++;
                ++*all;
            }
    }
    free(labels);
    return status;
}

/* labels / (classes * labels of the class), of the part that is trained on: the mean over labels is
 * 1, and each class weighs the same. A class without labels weighs 0. */
static bool balance(const tool_training *g, int64_t classes, tool_train_flags *f)
{
    uint64_t *counts = NULL, all = 0;
    if (classes < 1 || classes > CLASSES || !tool_labels_are_whole(g->data)) {
        tool_usage_error(g->t, 1003, "give one weight for each class",
                         "--class-weights balanced needs labels that are class numbers");
        return false;
    }
    f->class_weights = calloc((size_t)classes, sizeof *f->class_weights);
    counts = calloc((size_t)classes, sizeof *counts);
    takt_status status = f->class_weights != NULL && counts != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    if (status == TAKT_OK)
        status = count_labels(g, classes, counts, &all);
    for (int64_t i = 0; status == TAKT_OK && i < classes; i++)
        f->class_weights[i] =
            counts[i] > 0 ? (float)((double)all / ((double)classes * (double)counts[i])) : 0;
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
    const int64_t classes = out == NULL || out->rank == 0 ? 0
                            : g->has_classes_first        ? out->dims[1]
                                                          : out->dims[out->rank - 1];
    if (text == NULL)
        return true;
    if (!(strcmp(text, "balanced") == 0 ? balance(g, classes, f) : read_weights(g->t, text, f)))
        return false;
    f->options.class_weights = &f->weights;
    if (classes <= 0 || f->weights.dims[0] == classes)
        return true;
    tool_usage_error(g->t, 1003, "one weight for each output",
                     "--class-weights has %lld numbers, the model has outputs for %lld classes",
                     (long long)f->weights.dims[0], (long long)classes);
    return false;
}
