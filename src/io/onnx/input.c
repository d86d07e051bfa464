/* input.c - the types of a model's inputs: from the file and from the caller. */
#include <string.h>

#include "base/written.h"
#include "io/onnx/import.h"

const takt_fixed *takt_import_fixed(const takt_import *im, takt_span name)
{
    for (size_t i = 0; i < im->source->fixed_count; i++)
        if (takt_span_is(name, im->source->fixed[i].name))
            return &im->source->fixed[i];
    return NULL;
}

int64_t takt_import_size(const takt_import *im, takt_span name)
{
    for (const char *at = im->source->sizes; at != NULL && *at != '\0'; at += *at == ',') {
        const takt_span item = {at, takt_written_length(at, ",")};
        takt_span word, value;
        int64_t size = 0;
        at += item.length;
        if (!takt_written_pair(item, &word, &value) || !takt_written_is(word, name))
            continue;
        for (size_t i = 0; i < value.length && size >= 0; i++) {
            const bool is_digit = value.at[i] >= '0' && value.at[i] <= '9';
            size = is_digit && i < 18 ? size * 10 + (value.at[i] - '0') : -1;
        }
        return size; /* a range is for the plan */
    }
    return -1;
}

/* ---- labels ----
 *
 * Exporters call the length of a mask `past_sequence_length + 1` even if it can be any number. So
 * an expression is at first a separate name; what the graph implies about it takes precedence over
 * the expression. So does the number of elements that a slice takes from the start of the axis,
 * where the expression is less than that for some sizes: a prompt of several tokens needs a mask of
 * past + seq. In files written by Takt expressions are exact. */

struct takt_onnx_label {
    takt_span text;
    takt_dim least; /* elements that the graph reads; 0: as many as there are */
};

static takt_status add_label(takt_import *im, takt_span text, takt_dim *out)
{
    if (im->label_count == im->label_capacity) {
        const size_t capacity = 2 * im->label_capacity + 8;
        struct takt_onnx_label *labels = takt_arena_array(&im->arena, capacity, sizeof *labels);
        if (labels == NULL)
            return TAKT_ERR_MEMORY;
        if (im->label_count > 0)
            memcpy(labels, im->labels, im->label_count * sizeof *labels);
        im->labels = labels;
        im->label_capacity = capacity;
    }
    im->labels[im->label_count++] = (struct takt_onnx_label){.text = text};
    return takt_dim_hint(im->main->g->dims, text, out);
}

takt_status takt_import_needs(takt_import *im, takt_dim size, takt_dim least)
{
    takt_dim name;
    for (size_t i = 0; i < im->label_count && !takt_dim_is_number(size); i++) {
        TAKT_TRY(takt_dim_hint(im->main->g->dims, im->labels[i].text, &name));
        if (name == size && im->labels[i].least == 0)
            im->labels[i].least = least;
    }
    return TAKT_OK;
}

/* Whether `a` is at least `b`, judged by some sizes: all equal, and one larger. */
static takt_status covers(takt_import *im, takt_dim a, takt_dim b, bool *does)
{
    takt_dims *dims = im->main->g->dims;
    const size_t count = takt_dims_name_count(dims);
    int64_t *sizes = takt_arena_array(&im->arena, count + 1, sizeof *sizes);
    *does = true;
    for (size_t i = 0; sizes != NULL && *does && i <= count; i++) {
        takt_dim left, right;
        for (size_t k = 0; k < count; k++)
            sizes[k] = k == i ? 1000 : 8;
        TAKT_TRY(takt_dim_substitute(dims, a, sizes, count, &left));
        TAKT_TRY(takt_dim_substitute(dims, b, sizes, count, &right));
        *does = left >= right;
    }
    return sizes != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

/* The size that a label stands for. */
static takt_status size_of_label(takt_import *im, const struct takt_onnx_label *label,
                                 takt_dim *out)
{
    const takt_error before = im->ctx->error;
    bool does;
    TAKT_TRY(takt_onnx_dim(im->ctx, im->main->g->dims, label->text, out));
    if (label->least == 0)
        return TAKT_OK;
    const takt_status status = covers(im, *out, label->least, &does);
    if (status == TAKT_ERR_MEMORY)
        return status;
    if (status != TAKT_OK || !does) /* some sizes of an expression may be negative */
        *out = label->least;
    im->ctx->error = before;
    return TAKT_OK;
}

takt_status takt_import_labels(takt_import *im)
{
    takt_dims *dims = im->main->g->dims;
    for (size_t i = 0; i < im->label_count; i++) {
        takt_dim name, known, said;
        TAKT_TRY(takt_dim_hint(dims, im->labels[i].text, &name));
        TAKT_TRY(takt_dim_resolve(dims, name, &known));
        if (known != name)
            continue;
        TAKT_TRY(size_of_label(im, &im->labels[i], &said));
        const takt_error before = im->ctx->error;
        const takt_status status = takt_dim_unify(dims, name, said);
        TAKT_TRY(status == TAKT_ERR_SHAPE ? TAKT_OK : status);
        im->ctx->error = before; /* an invalid label is treated as a name */
    }
    return TAKT_OK;
}

static takt_status dim_of(takt_import *im, const takt_pb_value *v, size_t index, takt_dim *out)
{
    const takt_pb_dim *d = &v->type->tensor->shape->dims[index];
    if (d->has_value && d->value >= 0) {
        *out = d->value;
        return TAKT_OK;
    }
    takt_span name = d->param;
    if (!takt_onnx_is_named(name)) {
        const char *text =
            takt_arena_format(&im->arena, "%.*s_%zu", (int)v->name.length, v->name.at, index);
        if (text == NULL)
            return TAKT_ERR_MEMORY;
        name = takt_span_of(text);
    }
    const int64_t size = takt_import_size(im, name);
    if (size >= 0) {
        *out = size;
        return TAKT_OK;
    }
    if (takt_onnx_dim_is_expression(name) && !takt_span_is(im->model.producer, "takt"))
        return add_label(im, name, out);
    return takt_onnx_dim(im->ctx, im->main->g->dims, name, out);
}

/* Exporters write the batch size of their sample, and scalars for inputs of any shape: so whether
 * another shape fits is left to the operators. */
static bool gives_way(const takt_import *im, const takt_pb_value *v, int axis, int64_t given)
{
    if (axis != 0 || v->type->tensor->shape->dims[0].value != 1)
        return false;
    takt_log(
        im->ctx, TAKT_LOG_WARNING,
        "input %.*s: dimension 0 is 1 in the file; the model is read for the %lld of the input",
        (int)v->name.length, v->name.at, (long long)given);
    return true;
}

/* A size that is fixed in the file is fixed for the caller too. */
static takt_status check_fixed(const takt_import *im, const takt_pb_value *v, const takt_type *t)
{
    const takt_pb_tensor_type *said = v->type != NULL ? v->type->tensor : NULL;
    if (said != NULL && said->shape != NULL && said->shape->dim_count == 0 && t->rank > 0)
        takt_log(im->ctx, TAKT_LOG_WARNING,
                 "input %.*s is a scalar in the file; the model is read for the %d dimension%s of "
                 "the input",
                 (int)v->name.length, v->name.at, t->rank, t->rank == 1 ? "" : "s");
    if (said == NULL || said->shape == NULL || said->shape->dim_count != (size_t)t->rank)
        return TAKT_OK;
    for (int i = 0; i < t->rank; i++) {
        const takt_pb_dim *d = &said->shape->dims[i];
        if (d->has_value && d->value >= 0 && d->value != t->dim[i] &&
            !gives_way(im, v, i, t->dim[i]))
            return takt_fail(im->ctx, TAKT_E_SHAPE,
                             "dimension %d of input %.*s is %lld in the file, %lld is given", i,
                             (int)v->name.length, v->name.at, (long long)d->value,
                             (long long)t->dim[i]);
    }
    return TAKT_OK;
}

takt_status takt_import_type(takt_import *im, const takt_pb_value *v, takt_type *out)
{
    const takt_fixed *fixed = takt_import_fixed(im, v->name);
    const takt_pb_tensor_type *t = v->type != NULL ? v->type->tensor : NULL;
    takt_dtype dtype;
    if (fixed != NULL && fixed->tensor.type.dtype == TAKT_DTYPE_COUNT && t != NULL &&
        takt_onnx_dtype(t->elem, &dtype)) { /* only the shape is given */
        *out = fixed->tensor.type;
        out->dtype = dtype;
        return check_fixed(im, v, out);
    }
    if (fixed != NULL &&
        (t == NULL || !takt_onnx_dtype(t->elem, &dtype) || dtype == fixed->tensor.type.dtype)) {
        *out = fixed->tensor.type; /* known sizes need no names */
        return check_fixed(im, v, out);
    }
    if (t == NULL || t->shape == NULL)
        return takt_fail(im->ctx, TAKT_E_ONNX_STATIC, "input %.*s has no %s in the file",
                         (int)v->name.length, v->name.at, t == NULL ? "tensor type" : "shape");
    *out = (takt_type){.rank = (int)t->shape->dim_count};
    if (!takt_onnx_dtype(t->elem, &out->dtype))
        return takt_fail(im->ctx, TAKT_E_ONNX_UNSUPPORTED,
                         "input %.*s has element type %lld%s, which Takt does not have",
                         (int)v->name.length, v->name.at, (long long)t->elem,
                         takt_onnx_elem_note(t->elem));
    if (t->shape->dim_count > TAKT_MAX_RANK)
        return takt_wire_fail(im->ctx, v->at, "input %.*s has %zu dimensions", (int)v->name.length,
                              v->name.at, t->shape->dim_count);
    for (size_t i = 0; i < t->shape->dim_count; i++)
        TAKT_TRY(dim_of(im, v, i, &out->dim[i]));
    return TAKT_OK;
}
