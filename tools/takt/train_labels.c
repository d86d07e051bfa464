/* train_labels.c - whether the labels of a data set are class numbers that a model has outputs for.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train.h"

enum { BLOCK = 256 };

/* Labels of BLOCK samples at a time: whole numbers as i64, others as f64. */
typedef struct scan {
    const takt_data *data;
    const takt_desc *field;
    size_t each; /* labels of a sample */
    uint64_t rows[BLOCK];
    union {
        int64_t *whole;
        double *real;
        void *any;
    } at;
} scan;

static bool begin(scan *s, const takt_data *d)
{
    *s = (scan){.data = d, .each = 1};
    for (size_t i = 0; i < takt_data_field_count(d); i++)
        if (strcmp(takt_data_field(d, i)->name, "labels") == 0)
            s->field = takt_data_field(d, i);
    for (int i = 1; s->field != NULL && i < s->field->rank; i++)
        s->each *= (size_t)s->field->dims[i];
    s->at.any = s->field != NULL ? malloc((s->each + 1) * BLOCK * sizeof(double)) : NULL;
    return s->at.any != NULL;
}

static bool is_float(takt_dtype dtype)
{
    return takt_dtype_name(dtype)[0] == 'f' || dtype == TAKT_BF16;
}

/* The labels of samples from `first` on; their number, 0 at the end. */
static size_t next(scan *s, uint64_t first, takt_dtype dtype)
{
    const uint64_t left = takt_data_count(s->data) - first;
    const size_t count = left < BLOCK ? (size_t)left : BLOCK;
    takt_tensor_view to = {
        .dtype = dtype, .rank = 2, .dims = {(int64_t)count, (int64_t)s->each}, .data = s->at.any};
    for (size_t i = 0; i < count; i++)
        s->rows[i] = first + i;
    if (count == 0 || takt_data_take(s->data, "labels", s->rows, count, &to) != TAKT_OK)
        return 0;
    return count * s->each;
}

bool tool_labels_are_whole(const takt_data *d)
{
    const double most = 9007199254740992.0; /* 2^53 */
    bool are_whole = true;
    size_t count;
    scan s;
    if (!begin(&s, d))
        return true;
    if (is_float(s.field->dtype))
        for (uint64_t at = 0; are_whole && (count = next(&s, at, TAKT_F64)) > 0; at += BLOCK)
            for (size_t i = 0; are_whole && i < count; i++)
                are_whole = s.at.real[i] == floor(s.at.real[i]) && fabs(s.at.real[i]) <= most;
    free(s.at.any);
    return are_whole;
}

/* The first label that is not a class, and its sample. */
static bool find_outside(scan *s, const tool_classes *classes, int64_t *label, uint64_t *sample)
{
    size_t count;
    for (uint64_t at = 0; (count = next(s, at, TAKT_I64)) > 0; at += BLOCK)
        for (size_t i = 0; i < count; i++) {
            *label = s->at.whole[i];
            *sample = at + i / s->each;
            const bool is_left_out = (classes->ignores && *label == classes->ignored) ||
                                     (classes->is_scored && *label < 0);
            if (!is_left_out && (*label < 0 || *label >= classes->count))
                return true;
        }
    return false;
}

static void report(const takt_tool *t, const scan *s, const tool_classes *classes, int64_t label,
                   uint64_t sample)
{
    const bool is_single = classes->count == 1;
    char hint[160];
    if (is_single)
        snprintf(hint, sizeof hint, "--loss mse takes the labels as numbers");
    else if (label < 0)
        snprintf(hint, sizeof hint, "--loss cross_entropy:ignore=%lld leaves out such samples",
                 (long long)label);
    else
        snprintf(hint, sizeof hint, "labels are class numbers from 0; --label names their column");
    tool_usage_error(t, 7005, hint,
                     "%s: sample %llu has the label %lld, the model has %s%lld class%s",
                     takt_data_source(s->data, "labels", sample), (unsigned long long)sample,
                     (long long)label, is_single ? "an output for " : "outputs for ",
                     (long long)classes->count, is_single ? "" : "es");
}

bool tool_classes_first(const takt_data *d, const takt_desc *out)
{
    const takt_desc *labels = NULL;
    for (size_t i = 0; i < takt_data_field_count(d); i++)
        if (strcmp(takt_data_field(d, i)->name, "labels") == 0)
            labels = takt_data_field(d, i);
    bool fits_first =
             labels != NULL && out != NULL && out->rank >= 3 && labels->rank == out->rank - 1,
         fits_last = fits_first;
    for (int i = 1; fits_first && i < labels->rank; i++) { /* below 0: not known yet */
        fits_first = out->dims[i + 1] < 0 || labels->dims[i] == out->dims[i + 1];
        fits_last = fits_last && (out->dims[i] < 0 || labels->dims[i] == out->dims[i]);
    }
    return fits_first && !fits_last;
}

bool tool_labels_fit(const takt_tool *t, const takt_data *d, const takt_desc *out,
                     tool_classes classes)
{
    scan s;
    int64_t label;
    uint64_t sample;
    bool fit = true;
    const int axis = out == NULL ? 0 : tool_classes_first(d, out) ? 1 : out->rank - 1;
    if (out == NULL || out->rank < 2 || out->dims[axis] <= 0)
        return true;
    if (classes.is_scored && !tool_labels_are_whole(d)) {
        tool_usage_error(t, 7005, "--metric mse and mae compare labels with what the model returns",
                         "%s: labels are not whole numbers; top1, top5, f1, auc and ppl compare "
                         "class numbers",
                         takt_data_source(d, "labels", 0));
        return false;
    }
    classes.count = out->dims[axis];
    if (classes.is_scored && classes.count == 1)
        classes.count = 2;                      /* one score tells two classes apart */
    const int64_t known = takt_data_classes(d); /* above 0: no label is negative */
    if ((known > 0 && known <= classes.count) || !begin(&s, d))
        return true;
    if (s.field->rank == out->rank - 1 && find_outside(&s, &classes, &label, &sample)) {
        report(t, &s, &classes, label, sample);
        fit = false;
    }
    free(s.at.any);
    return fit;
}

/* ---- labels of a training ---- */

bool tool_adds_loss(const tool_training *g)
{
    for (size_t i = 0; i < takt_model_output_count(g->model); i++)
        if (strcmp(takt_model_output(g->model, i)->name, "loss") == 0)
            return false;
    for (size_t i = takt_model_input_count(g->model); i < g->batch.count; i++)
        if (strcmp(g->batch.view[i].name, "labels") == 0)
            return true;
    return false;
}

static bool is_one_of(const char *loss, const char *const *names, size_t count)
{
    const size_t length = strcspn(loss, ":");
    bool found = false;
    for (size_t i = 0; !found && i < count; i++)
        found = strlen(names[i]) == length && memcmp(names[i], loss, length) == 0;
    return found;
}

/* Whether labels are class numbers for this loss. */
static bool takes_classes(const char *loss)
{
    static const char *const names[] = {"cross_entropy", "focal", "hinge", "distillation"};
    return loss == NULL || (is_one_of(loss, names, 4) && strstr(loss, "soft=1") == NULL);
}

/* Whether the loss can be told the axis of the classes, and was not. */
static bool takes_axis(const char *loss)
{
    static const char *const names[] = {"cross_entropy", "focal"};
    return loss == NULL || (is_one_of(loss, names, 2) && strstr(loss, "axis=") == NULL &&
                            strstr(loss, "soft=1") == NULL);
}

/* Whether every row of numbers is 0 but for one, which is 1. */
static bool are_one_hot(scan *s, size_t classes)
{
    size_t count;
    for (uint64_t at = 0; (count = next(s, at, TAKT_F64)) > 0; at += BLOCK)
        for (size_t i = 0; i < count; i += classes) {
            size_t ones = 0;
            for (size_t k = i; k < i + classes; k++) {
                ones += s->at.real[k] == 1;
                if (s->at.real[k] != 0 && s->at.real[k] != 1)
                    return false;
            }
            if (ones != 1)
                return false;
        }
    return true;
}

/* Whether labels are a share of each class: of the output's shape, for cross_entropy. Without
 * --loss only a single 1 among zeros is such a label. */
static bool has_shares(const tool_training *g, const takt_desc *out, const char *loss)
{
    static const char *const names[] = {"cross_entropy"};
    scan s;
    if (out == NULL ||
        (loss != NULL && (!is_one_of(loss, names, 1) || strchr(loss, ':') != NULL)) ||
        !begin(&s, g->data))
        return false;
    bool is_alike = s.field->rank == out->rank && out->rank > 1 && out->dims[out->rank - 1] > 1;
    for (int i = 1; i < out->rank; i++)
        is_alike = is_alike && s.field->dims[i] == out->dims[i];
    is_alike = is_alike && (loss != NULL || are_one_hot(&s, (size_t)out->dims[out->rank - 1]));
    free(s.at.any);
    return is_alike;
}

/* Whether a label is as many numbers as the model returns. */
static bool takes_alike(const char *loss)
{
    static const char *const names[] = {"mse",        "mae",    "huber", "bce",
                                        "bce_logits", "kl_div", "cosine"};
    return loss != NULL && (is_one_of(loss, names, 7) || strstr(loss, "soft=1") != NULL);
}

/* Whether a sample has as many labels as the model returns numbers. */
static bool fits_numbers(const tool_training *g, const takt_desc *out, const char *loss)
{
    long long returned = 1, given = 1;
    scan s;
    if (out == NULL || !begin(&s, g->data))
        return true;
    given = (long long)s.each;
    free(s.at.any);
    for (int i = 1; i < out->rank; i++)
        returned *= out->dims[i] > 0 ? out->dims[i] : 0; /* 0: not known yet */
    if (returned == 0 || returned == given)
        return true;
    const char *file = takt_data_source(g->data, "labels", 0);
    if (loss == NULL)
        tool_usage_error(g->t, 7005,
                         "class numbers are whole; other labels are compared with one number each",
                         "%s: labels are not whole numbers, %lld a sample, and the model returns "
                         "%lld",
                         file, given, returned);
    else
        tool_usage_error(g->t, 7005,
                         "the loss decides: cross_entropy takes class numbers, mse and mae as many "
                         "numbers as the model returns",
                         "%s: a sample has %lld label%s, %s compares %lld numbers", file, given,
                         given == 1 ? "" : "s", loss, returned);
    return false;
}

bool tool_training_labels_fit(tool_training *g)
{
    const char *loss = tool_text_of(g->t, TAKT_F_LOSS);
    const char *ignore = loss != NULL ? strstr(loss, "ignore=") : NULL;
    const takt_desc *out =
        takt_model_output_count(g->model) > 0 ? takt_model_output(g->model, 0) : NULL;
    if (!tool_adds_loss(g))
        return true;
    g->has_shares = has_shares(g, out, loss);
    if (g->has_shares)
        return true;
    g->fits_numbers = loss == NULL && !tool_labels_are_whole(g->data);
    g->has_classes_first = !g->fits_numbers && takes_axis(loss) && tool_classes_first(g->data, out);
    if (g->fits_numbers)
        return fits_numbers(g, out, NULL);
    if (takes_alike(loss))
        return fits_numbers(g, out, loss);
    if (!takes_classes(loss))
        return true;
    const tool_classes classes = {
        .ignores = ignore != NULL,
        .ignored = ignore != NULL ? strtoll(ignore + strlen("ignore="), NULL, 10) : 0};
    return tool_labels_fit(g->t, g->data, out, classes);
}

/* A model without a loss of its own, and data without labels. */
bool tool_training_has_labels(const tool_training *g)
{
    for (size_t i = 0; i < takt_model_output_count(g->model); i++)
        if (strcmp(takt_model_output(g->model, i)->name, "loss") == 0)
            return true;
    if (g->batch.count > takt_model_input_count(g->model))
        return true;
    tool_usage_error(g->t, 7005,
                     "IDX files come in pairs, arrays have a field y, folders one folder for each "
                     "class; or the model returns an output called loss",
                     "%s has no labels, and the model no loss of its own",
                     takt_data_source(g->data, "labels", 0));
    return false;
}

/* ---- samples that are not finite ---- */

bool tool_view_bad(const takt_tensor_view *v, size_t from, size_t count, size_t *row)
{
    size_t each = 1;
    for (int k = 1; k < v->rank; k++)
        each *= (size_t)v->dims[k];
    if (v->dtype != TAKT_F32 || v->rank == 0 || v->data == NULL)
        return false;
    for (size_t k = from * each; k < count * each; k++)
        if (!isfinite(((const float *)v->data)[k])) {
            *row = k / each;
            return true;
        }
    return false;
}

bool tool_batch_bad(const tool_batch *b, size_t count, size_t *row, const char **field)
{
    for (size_t i = 0; i < b->count; i++)
        if (tool_view_bad(&b->view[i].view, 0, count, row)) {
            *field = b->field[i];
            return true;
        }
    return false;
}
