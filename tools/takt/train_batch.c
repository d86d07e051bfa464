/* train_batch.c - batches of a data set. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "media.h"
#include "train.h"

bool tool_real(const takt_tool *t, tool_flag_id id, double low, double high, double *value)
{
    const char *text = tool_text_of(t, id);
    char *end;
    if (text == NULL)
        return true;
    *value = strtod(text, &end);
    if (end != text && strcmp(end, "%") == 0 && high <= 1) {
        *value /= 100;
        end++;
    }
    if (end != text && *end == '\0' && *value >= low && *value <= high)
        return true;
    const char *hint = high <= 1 ? "such as 0.25, or 25%" : NULL;
    tool_usage_error(t, 1003, hint, "--%s is a number from %g to %g, not %s", tool_flags[id].name,
                     low, high, text);
    return false;
}

static const takt_desc *field_called(const takt_data *d, const char *name)
{
    for (size_t i = 0; i < takt_data_field_count(d); i++)
        if (strcmp(takt_data_field(d, i)->name, name) == 0)
            return takt_data_field(d, i);
    return NULL;
}

/* Readers call labels "labels", whatever their name in a file. */
static bool is_label(const char *name)
{
    static const char *const names[] = {"labels", "label", "y", "target", "targets"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* The field besides labels, whatever its name is (X, features, images); NULL: there are several. */
static const takt_desc *only_field(const takt_data *d)
{
    const takt_desc *only = NULL;
    for (size_t i = 0; i < takt_data_field_count(d); i++) {
        const takt_desc *field = takt_data_field(d, i);
        if (strcmp(field->name, "labels") == 0 || strcmp(field->name, "teacher") == 0)
            continue;
        if (only != NULL)
            return NULL;
        only = field;
    }
    return only;
}

/* A field by the input's name; the first input may also be "x", or the only one. */
static const takt_desc *field_for(const takt_data *d, const takt_desc *input, size_t index)
{
    const takt_desc *field = field_called(d, input->name);
    if (field == NULL && index == 0)
        field = field_called(d, "x");
    if (field == NULL && index == 0)
        field = only_field(d);
    return field == NULL && is_label(input->name) ? field_called(d, "labels") : field;
}

static size_t elements(const takt_desc *d)
{
    size_t count = 1;
    for (int i = 1; i < d->rank; i++)
        count *= d->dims[i] > 0 ? (size_t)d->dims[i] : 1;
    return count;
}

/* Elements of 2 and 4 bits share bytes. */
static size_t bytes_of(const takt_tensor_view *v, size_t room)
{
    size_t bits = (size_t)takt_dtype_bits(v->dtype);
    for (int i = 0; i < v->rank; i++)
        bits *= i == 0 ? room : (size_t)v->dims[i];
    return bits > 8 ? (bits + 7) / 8 : 1;
}

/* Named dimensions after the batch take the sizes of the field where ranks agree. */
static bool add(tool_batch *b, takt_ctx *ctx, const char *name, const takt_desc *like,
                const takt_desc *field, uint64_t room)
{
    takt_named_view *v = &b->view[b->count];
    v->name = name;
    v->view = (takt_tensor_view){.dtype = like->dtype, .rank = like->rank};
    for (int i = 0; i < like->rank; i++) {
        const int64_t own = i == 0 ? (int64_t)room : like->dims[i];
        const int64_t other = field->rank == like->rank ? field->dims[i] : 1;
        v->view.dims[i] = own >= 0 ? own : other > 0 ? other : 1;
    }
    snprintf(b->field[b->count], sizeof *b->field, "%s", field->name);
    v->view.data = takt_alloc(ctx, bytes_of(&v->view, (size_t)room));
    b->count += v->view.data != NULL;
    return v->view.data != NULL;
}

static int missing(takt_tool *t, const takt_desc *input, const takt_data *d)
{
    char names[256] = "";
    for (size_t i = 0; i < takt_data_field_count(d); i++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "",
                 takt_data_field(d, i)->name);
    }
    char hint[320];
    if (strncmp(input->name, "train.", strlen("train.")) == 0)
        snprintf(
            hint, sizeof hint,
            "this is a checkpoint of a training: takt train with its --checkpoint, --resume and "
            "-o FILE writes the model");
    else
        snprintf(hint, sizeof hint, "its fields are %s", names);
    return tool_usage_error(t, 7005, hint, "the data has no field for the input %s", input->name);
}

/* "[28, 28]": the sizes of one sample. */
static const char *sample_shape(int rank, const int64_t *dims, char *to, size_t size)
{
    snprintf(to, size, "[");
    for (int i = 1; i < rank; i++)
        snprintf(to + strlen(to), size - strlen(to), "%s%lld", i > 1 ? ", " : "",
                 (long long)dims[i]);
    snprintf(to + strlen(to), size - strlen(to), "]");
    return to;
}

/* Whether the buffer added last takes samples of the field. */
static bool takes_samples(takt_tool *t, const tool_batch *b, const takt_desc *field)
{
    const takt_named_view *v = &b->view[b->count - 1];
    const char *data = tool_text_of(t, TAKT_F_DATA_SET);
    size_t wanted = 1;
    char hint[TOOL_DATA_PATH + 80], has[96], takes[96];
    for (int i = 1; i < v->view.rank; i++)
        wanted *= (size_t)v->view.dims[i];
    const int last = v->view.rank - 1;
    const bool is_turned = field->rank == 4 && last == 3 && field->dims[1] == 3 &&
                           v->view.dims[1] != 3 && v->view.dims[3] == 3;
    if (wanted == elements(field) && !is_turned)
        return true;
    snprintf(hint, sizeof hint, "`takt data %.1000s` shows what the data has",
             data != NULL ? data : "FILE");
    if (is_turned)
        snprintf(hint, sizeof hint,
                 "pictures have their channels first: transpose(x, [0, 2, 3, 1]) "
                 "in the model, or arrays of that shape");
    tool_usage_error(t, 7005, hint, "%s: a sample of the data is %s, the model takes %s", v->name,
                     sample_shape(field->rank, field->dims, has, sizeof has),
                     sample_shape(v->view.rank, v->view.dims, takes, sizeof takes));
    return false;
}

uint64_t tool_fixed_batch(const takt_model *m)
{
    for (size_t i = 0; i < takt_model_input_count(m); i++) {
        const takt_desc *input = takt_model_input(m, i);
        if (input->rank > 0)
            return input->dims[0] > 0 ? (uint64_t)input->dims[0] : 0;
    }
    return 0;
}

bool tool_batch_init(tool_batch *b, const takt_model *m, const takt_data *d, uint64_t room,
                     int *code, takt_tool *t)
{
    const size_t inputs = takt_model_input_count(m);
    const takt_desc *labels = field_called(d, "labels");
    bool has_labels = false;
    *b = (tool_batch){.room = (size_t)room};
    b->view = calloc(inputs + 2, sizeof *b->view);
    b->field = calloc(inputs + 2, sizeof *b->field);
    const char *path = tool_text_of(t, TAKT_F_DATA_SET);
    *code = media_check_rate(t, m, path != NULL ? path : "the data", takt_data_rate(d));
    if (*code != TAKT_EXIT_OK)
        return false;
    bool ok = b->view != NULL && b->field != NULL;
    for (size_t i = 0; i < inputs && ok; i++) {
        const takt_desc *input = takt_model_input(m, i), *field = field_for(d, input, i);
        if (field == NULL) {
            *code = missing(t, input, d);
            return false;
        }
        has_labels = has_labels || is_label(input->name);
        ok = add(b, t->ctx, input->name, input, field, room);
        if (ok && !takes_samples(t, b, field)) {
            *code = TAKT_EXIT_USAGE;
            return false;
        }
    }
    if (ok && labels != NULL && !has_labels) {
        takt_desc like = *labels;
        const takt_desc *out = takt_model_output_count(m) > 0 ? takt_model_output(m, 0) : labels;
        const bool is_classes =
            tool_labels_are_whole(d) && (labels->rank < out->rank || takt_data_classes(d) > 0);
        like.dtype = is_classes ? TAKT_I64 : out->dtype;
        if (!is_classes && elements(labels) == elements(out)) {
            like = *out; /* a vector of targets for a model that returns [batch, 1] */
        }
        ok = add(b, t->ctx, "labels", &like, labels, room);
    }
    /* Additional inputs of a loss: logits of a teacher. */
    const takt_desc *teacher = field_called(d, "teacher");
    if (ok && teacher != NULL && takt_model_output_count(m) > 0)
        ok = add(b, t->ctx, "teacher", takt_model_output(m, 0), teacher, room);
    if (!ok)
        *code = tool_finish(t, TAKT_ERR_MEMORY);
    return ok;
}

bool tool_batch_soften(tool_batch *b, const takt_model *m, takt_ctx *ctx)
{
    const takt_desc *out = takt_model_output_count(m) > 0 ? takt_model_output(m, 0) : NULL;
    for (size_t i = 0; i < b->count && out != NULL; i++) {
        takt_tensor_view *v = &b->view[i].view;
        if (strcmp(b->view[i].name, "labels") != 0 || v->dtype != TAKT_I64 ||
            v->rank != out->rank - 1 || out->dims[v->rank] <= 0)
            continue;
        takt_free(ctx, v->data);
        v->dtype = TAKT_F32;
        v->dims[v->rank] = out->dims[v->rank];
        v->rank++;
        size_t size = sizeof(float);
        for (int d = 0; d < v->rank; d++)
            size *= (size_t)v->dims[d];
        v->data = takt_alloc(ctx, size);
        b->soft = i + 1;
        return v->data != NULL;
    }
    return true;
}

bool tool_batch_copy(tool_batch *b, const tool_batch *like, takt_ctx *ctx)
{
    *b = (tool_batch){.room = like->room, .soft = like->soft};
    b->view = calloc(like->count + 1, sizeof *b->view);
    b->field = calloc(like->count + 1, sizeof *b->field);
    for (size_t i = 0; b->view != NULL && b->field != NULL && i < like->count; i++) {
        b->view[i] = like->view[i];
        memcpy(b->field[i], like->field[i], sizeof *b->field);
        b->view[i].view.data = takt_alloc(ctx, bytes_of(&like->view[i].view, like->room));
        if (b->view[i].view.data == NULL)
            break;
        b->count++;
    }
    return b->count == like->count && b->view != NULL && b->field != NULL;
}

bool tool_batch_random(tool_batch *b, const takt_model *step, uint64_t room, int64_t bound,
                       takt_ctx *ctx)
{
    const size_t inputs = takt_model_input_count(step);
    bool ok = true;
    *b = (tool_batch){.room = (size_t)room};
    b->view = calloc(inputs + 1, sizeof *b->view);
    b->field = calloc(inputs + 1, sizeof *b->field);
    for (size_t i = 0; i < inputs && b->view != NULL && b->field != NULL && ok; i++) {
        const takt_desc *input = takt_model_input(step, i);
        if (strncmp(input->name, "train.", 6) == 0)
            continue;
        ok = add(b, ctx, input->name, input, input, room);
        if (!ok)
            break;
        takt_named_view *v = &b->view[b->count - 1];
        v->name = b->field[b->count - 1]; /* outlives the model */
        ok = takt_view_random_below(ctx, &v->view, 0, (uint32_t)i, bound) == TAKT_OK;
    }
    return ok && b->view != NULL && b->field != NULL;
}

void tool_batch_free(tool_batch *b, takt_ctx *ctx)
{
    for (size_t i = 0; i < b->count; i++)
        takt_free(ctx, b->view[i].view.data);
    free(b->view);
    free(b->field);
}

takt_status tool_batch_fill(tool_batch *b, const takt_data *d, const uint64_t *rows, size_t count)
{
    for (size_t i = 0; i < b->count; i++) {
        b->view[i].view.dims[0] = (int64_t)count;
        const takt_status status = (i + 1 == b->soft ? takt_data_take_soft : takt_data_take)(
            d, b->field[i], rows, count, &b->view[i].view);
        if (status != TAKT_OK)
            return status;
    }
    return TAKT_OK;
}
