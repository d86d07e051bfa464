/* data_take.c - samples of a data set, converted to the type that a model takes. */
#include <string.h>

#include "api/model.h"
#include "api/train/data.h"

static double scaled(const takt_data_options *o, takt_dtype from, double value)
{
    const double scale = o->scale != 0 ? o->scale : from == TAKT_U8 ? 1.0 / 255 : 1;
    return (value * scale - o->mean) / (o->deviation != 0 ? o->deviation : 1);
}

enum { CHANNELS = 3 };

/* How bytes become f32, for each channel of pictures; without an axis of channels there is one. */
typedef struct levels {
    float value[CHANNELS][256];
    size_t channels;
    bool is_plain; /* channels are not treated by themselves */
} levels;

static bool is_picture(const char *field, const takt_type *t)
{
    return t->dtype == TAKT_U8 && strcmp(field, "labels") != 0 &&
           (t->rank == 3 || (t->rank == 4 && t->dim[1] <= CHANNELS));
}

static void make_levels(const takt_data *d, const char *field, const takt_data_place *p, levels *l)
{
    const takt_data_options *o = &d->options;
    const takt_type *t = &p->tensor->type;
    const bool has_levels = is_picture(field, t);
    l->channels = has_levels && t->rank == 4 && t->dim[1] > 0 ? (size_t)t->dim[1] : 1;
    l->is_plain = true;
    for (size_t c = 0; c < l->channels; c++) {
        const double mean = has_levels ? o->picture_mean[c] : 0;
        const double deviation = has_levels ? o->picture_deviation[c] : 0;
        l->is_plain = l->is_plain && mean == 0 && (deviation == 0 || deviation == 1);
        for (int i = 0; i < 256; i++)
            l->value[c][i] =
                (float)((scaled(o, TAKT_U8, i) - mean) / (deviation != 0 ? deviation : 1));
    }
}

/* Bytes to f32, the most common case: by tables of 256 values, rounded as in `convert`. */
static void convert_bytes(const takt_data_place *p, size_t row, const levels *l, float *to)
{
    const uint8_t *from = (const uint8_t *)takt_tensor_data(p->tensor) + p->first + row * p->stride;
    const size_t area = p->size / l->channels;
    for (size_t c = 0; c < l->channels; c++)
        for (size_t i = c * area; i < (c + 1) * area; i++)
            to[i] = l->value[c][from[i]];
}

/* Whether `convert` would leave every element unchanged. */
static bool is_kept(const takt_data_options *o, takt_dtype from, takt_dtype to)
{
    return from == to && takt_dtype_bits(to) % 8 == 0 &&
           (!takt_dtype_is_float(to) || ((o->scale == 0 || o->scale == 1) && o->mean == 0 &&
                                         (o->deviation == 0 || o->deviation == 1)));
}

/* NaN and numbers beyond those of i64 become the least of them, never a class. */
static int64_t whole(double value)
{
    const double bound = 9223372036854775808.0;
    return value >= -bound && value < bound ? (int64_t)value : INT64_MIN;
}

static void convert(const takt_data *d, const takt_data_place *p, size_t row,
                    const takt_tensor_view *to, size_t at)
{
    const takt_dtype from = p->tensor->type.dtype;
    const void *data = takt_tensor_data(p->tensor);
    const size_t first = p->first + row * p->stride;
    const bool is_float = takt_dtype_is_float(to->dtype);
    for (size_t i = 0; i < p->size; i++) {
        if (!is_float) {
            const int64_t value = takt_dtype_is_float(from)
                                      ? whole(takt_dtype_get_f(from, data, first + i))
                                      : takt_dtype_get_i(from, data, first + i);
            takt_dtype_put_i(to->dtype, to->data, at + i, value);
            continue;
        }
        const double value = takt_dtype_is_float(from)
                                 ? takt_dtype_get_f(from, data, first + i)
                                 : (double)takt_dtype_get_i(from, data, first + i);
        takt_dtype_put_f(to->dtype, to->data, at + i,
                         takt_dtype_round(to->dtype, scaled(&d->options, from, value)));
    }
}

takt_status takt_data_take(const takt_data *d, const char *field, const uint64_t *rows,
                           size_t count, const takt_tensor_view *to)
{
    TAKT_NEED(NULL, d);
    takt_data_place p;
    size_t size = 1;
    takt_ctx *ctx = d->set.ctx;
    if (!takt_data_find(d, field, &p))
        return takt_fail(ctx, TAKT_E_NAME, "the data set has no field called %s", field);
    for (int i = 1; i < to->rank; i++)
        size *= (size_t)to->dims[i];
    if (to->data == NULL || to->rank < 1 || (size_t)to->dims[0] != count || size != p.size)
        return takt_fail(ctx, TAKT_E_TRAIN_DATA,
                         "%s: a sample has %zu elements, the model takes %zu", field, p.size, size);
    const bool is_bytes = p.tensor->type.dtype == TAKT_U8 && to->dtype == TAKT_F32;
    const size_t copied = is_kept(&d->options, p.tensor->type.dtype, to->dtype)
                              ? (size_t)takt_dtype_bits(to->dtype) / 8
                              : 0;
    const char *data = takt_tensor_data(p.tensor);
    levels table;
    make_levels(d, field, &p, &table);
    if (!table.is_plain && !is_bytes)
        return takt_fail(ctx, TAKT_E_TRAIN_DATA, "%s: pictures less their mean are f32", field);
    for (size_t i = 0; i < count; i++) {
        if (rows[i] >= d->set.samples)
            return takt_fail(ctx, TAKT_E_ARGUMENT, "there is no sample %llu: there are %llu",
                             (unsigned long long)rows[i], (unsigned long long)d->set.samples);
        if (copied > 0)
            memcpy((char *)to->data + i * p.size * copied,
                   data + (p.first + (size_t)rows[i] * p.stride) * copied, p.size * copied);
        else if (is_bytes)
            convert_bytes(&p, (size_t)rows[i], &table, (float *)to->data + i * p.size);
        else
            convert(d, &p, (size_t)rows[i], to, i * p.size);
    }
    return TAKT_OK;
}
