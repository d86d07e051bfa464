/* labels.c - labels as the loss takes them: [n] for an output of [n, 1], whole numbers as floats,
 * classes that the model has.
 *
 * A column of ages is read as whole numbers and may be classes or amounts: only the loss knows. */
#include <string.h>

#include "api/session/session.h"
#include "api/train/trainer.h"
#include "ir/dtype.h"

/* An axis of one element at the end is added or taken away. */
static void fit_rank(const takt_desc *desc, takt_tensor_view *v)
{
    if (v->rank + 1 == desc->rank && desc->dims[v->rank] == 1) {
        v->strides[v->rank] = takt_view_is_dense(v) ? 0 : 1;
        v->dims[v->rank++] = 1;
    } else if (v->rank == desc->rank + 1 && v->dims[v->rank - 1] == 1) {
        v->strides[--v->rank] = 0;
    }
}

static bool has_same_sizes(const takt_desc *a, const takt_tensor_view *b)
{
    bool same = a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++)
        same = a->dims[d] == b->dims[d];
    return same;
}

/* The session's own memory, which is kept: a step allocates nothing. */
static takt_status convert(takt_session *s, size_t input, const takt_desc *desc,
                           takt_tensor_view *v)
{
    size_t count = 1;
    for (int d = 0; d < v->rank; d++)
        count *= (size_t)v->dims[d];
    TAKT_TRY(takt_session_own(s, TAKT_PLACE_INPUT, input));
    void *to = takt_session_input(s, input)->data;
    for (size_t i = 0; i < count; i++) {
        const double number = (double)takt_dtype_get_i(v->dtype, v->data, i);
        takt_dtype_put_f(desc->dtype, to, i, takt_dtype_round(desc->dtype, number));
    }
    v->data = to;
    v->dtype = desc->dtype;
    return TAKT_OK;
}

takt_status takt_train_labels(takt_session *s, size_t input, takt_tensor_view *v)
{
    const takt_desc *desc = takt_session_input_desc(s, input);
    fit_rank(desc, v);
    const bool is_number = takt_dtype_is_float(desc->dtype) && takt_dtype_is_int(v->dtype) &&
                           v->data != NULL && v->device == 0;
    if (!is_number || !has_same_sizes(desc, v) || !takt_view_is_dense(v))
        return TAKT_OK; /* whatever does not fit is refused when it is bound */
    return convert(s, input, desc, v);
}

/* ---- classes ---- */

/* The place of element `index`, counted in row-major order. */
static int64_t place_of(const takt_tensor_view *v, int64_t index)
{
    int64_t place = 0;
    if (takt_view_is_dense(v))
        return index;
    for (int d = v->rank - 1; d >= 0; index /= v->dims[d--])
        place += index % v->dims[d] * v->strides[d];
    return place;
}

/* The label that does not count; INT64_MIN: all do. */
static int64_t ignored_label(const takt_step_spec *spec)
{
    for (int i = 0; i < TAKT_LOSS_HYPERS; i++)
        if (spec->loss->hyper[i].name != NULL && strcmp(spec->loss->hyper[i].name, "ignore") == 0)
            return (int64_t)spec->loss_hyper[i];
    return INT64_MIN;
}

static takt_status refuse(const takt_trainer *t, int64_t label, int64_t sample)
{
    const long long classes = (long long)t->notes.classes;
    takt_fail(t->ctx, TAKT_E_INDEX,
              "sample %lld of the batch has the label %lld, the model has outputs for %lld class%s",
              (long long)sample, (long long)label, classes, classes == 1 ? "" : "es");
    if (label < 0)
        return takt_fail_hint(t->ctx, "the loss cross_entropy:ignore=%lld leaves out such samples",
                              (long long)label);
    return takt_fail_hint(t->ctx, "labels are class numbers from 0");
}

takt_status takt_train_check_labels(const takt_trainer *t, const takt_tensor_view *v, int64_t first)
{
    int64_t each = 1;
    if (t->notes.classes == 0 || v->dtype != TAKT_I64 || v->device != 0 || v->data == NULL ||
        v->rank == 0)
        return TAKT_OK;
    const int64_t ignored = ignored_label(&t->spec);
    for (int d = 1; d < v->rank; d++)
        each *= v->dims[d];
    for (int64_t i = 0; i < v->dims[0] * each; i++) {
        int64_t label;
        memcpy(&label, (const int64_t *)v->data + place_of(v, i), sizeof label);
        if (label != ignored && (label < 0 || label >= t->notes.classes))
            return refuse(t, label, first + i / each);
    }
    return TAKT_OK;
}
