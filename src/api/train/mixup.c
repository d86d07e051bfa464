/* mixup.c - mixup: values and targets of two samples, mixed in the same proportion. */
#include <string.h>

#include "api/model.h"
#include "api/train/data.h"
#include "base/philox.h"

enum { OTHER_STREAM = 0x61756710, SHARE_STREAM = 0x61756711 };
enum { TRIES = 1000 };

static uint64_t drawn_other(const takt_augment_key *key, uint64_t row, uint64_t samples)
{
    const takt_philox_at at = {key->seed, OTHER_STREAM, (uint32_t)key->epoch};
    const uint64_t high = takt_philox_word(&at, 2 * row), low = takt_philox_word(&at, 2 * row + 1);
    return (high << 32 | low) % samples;
}

/* The share of the first of two powers that are too small for a double: their quotient is the
 * square of the quotient of their roots. */
static double tiny_share(uint32_t first, uint32_t second, double exponent)
{
    enum { SAFE = 32 }; /* a power of the least number is not 0 */
    int squares = 0;
    for (; exponent > SAFE; exponent /= 2)
        squares++;
    const bool is_less = first < second;
    double quotient = takt_philox_power(is_less ? first : second, exponent) /
                      takt_philox_power(is_less ? second : first, exponent);
    for (; squares > 0; squares--)
        quotient *= quotient;
    return (is_less ? quotient : 1) / (1 + quotient);
}

/* Beta(alpha, alpha) by M. Joehnk: two powers of uniform numbers whose sum is at most 1. */
static double drawn_share(const takt_augment_key *key, uint64_t row, double alpha)
{
    const double exponent = alpha > 1e-300 ? 1 / alpha : 1e300;
    for (uint32_t i = 0; i < TRIES; i++) {
        const takt_philox_at at = {key->seed, SHARE_STREAM + i, (uint32_t)key->epoch};
        const uint32_t a = takt_philox_word(&at, 2 * row), b = takt_philox_word(&at, 2 * row + 1);
        const double x = takt_philox_power(a, exponent), y = takt_philox_power(b, exponent);
        if (x + y <= 1)
            return x + y > 0 ? x / (x + y) : tiny_share(a, b, exponent);
    }
    return 0.5;
}

takt_status takt_data_mixup(takt_ctx *ctx, const takt_mixup *mixup, const uint64_t *rows,
                            size_t count, uint64_t *others, double *shares)
{
    if (ctx == NULL)
        return TAKT_ERR_ARGUMENT;
    if (mixup == NULL || rows == NULL || others == NULL || shares == NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_data_mixup: an argument is NULL");
    if (mixup->samples == 0 || !(mixup->alpha > 0 && mixup->alpha <= 4))
        return takt_fail(ctx, TAKT_E_ARGUMENT,
                         "takt_data_mixup: alpha is above 0 and at most 4, and there are samples");
    for (size_t i = 0; i < count; i++) {
        others[i] = drawn_other(&mixup->key, rows[i], mixup->samples);
        shares[i] = drawn_share(&mixup->key, rows[i], mixup->alpha);
    }
    return TAKT_OK;
}

/* Elements of one sample; false unless it is f32 with a batch of at least `count`. */
static bool sample_size(const takt_tensor_view *v, size_t count, size_t *size)
{
    bool is_good = v->dtype == TAKT_F32 && v->rank >= 1 && v->rank <= TAKT_MAX_RANK &&
                   v->data != NULL && v->dims[0] >= 0 && (uint64_t)v->dims[0] >= count;
    *size = 1;
    for (int i = 1; is_good && i < v->rank; i++) {
        is_good = v->dims[i] >= 0;
        *size *= is_good ? (size_t)v->dims[i] : 1;
    }
    return is_good;
}

takt_status takt_view_mix(takt_ctx *ctx, const double *shares, size_t count,
                          const takt_tensor_view *x, const takt_tensor_view *other)
{
    size_t size, same;
    if (ctx == NULL)
        return TAKT_ERR_ARGUMENT;
    if (shares == NULL || x == NULL || other == NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_view_mix: an argument is NULL");
    if (!sample_size(x, count, &size) || !sample_size(other, count, &same) || size != same)
        return takt_fail(ctx, TAKT_E_ARGUMENT,
                         "takt_view_mix: samples are f32 with a batch axis, of one size");
    float *to = x->data;
    const float *from = other->data;
    for (size_t i = 0; i < count; i++)
        for (size_t k = i * size; k < (i + 1) * size; k++)
            to[k] = (float)(shares[i] * (double)to[k] + (1 - shares[i]) * (double)from[k]);
    return TAKT_OK;
}

/* ---- labels ---- */

static takt_status put_label(const takt_data *d, const char *field, uint64_t row, int64_t label,
                             float *to, size_t classes)
{
    if (label < 0 || (uint64_t)label >= classes)
        return takt_fail(d->set.ctx, TAKT_E_TRAIN_DATA,
                         "%s of sample %llu is %lld; there are %zu classes", field,
                         (unsigned long long)row, (long long)label, classes);
    memset(to, 0, classes * sizeof *to);
    to[label] = 1;
    return TAKT_OK;
}

takt_status takt_data_take_soft(const takt_data *d, const char *field, const uint64_t *rows,
                                size_t count, const takt_tensor_view *to)
{
    TAKT_NEED(NULL, d);
    takt_ctx *ctx = d->set.ctx;
    takt_data_place p;
    size_t size;
    TAKT_NEED(ctx, field);
    TAKT_NEED(ctx, rows);
    TAKT_NEED(ctx, to);
    if (!takt_data_find(d, field, &p) || takt_dtype_is_float(p.tensor->type.dtype))
        return takt_fail(ctx, TAKT_E_TRAIN_DATA, "the data has no class numbers called %s", field);
    const size_t classes = to->rank > 1 && to->rank <= TAKT_MAX_RANK && to->dims[to->rank - 1] > 0
                               ? (size_t)to->dims[to->rank - 1]
                               : 0;
    if (classes == 0 || !sample_size(to, count, &size) || size != p.size * classes)
        return takt_fail(ctx, TAKT_E_ARGUMENT,
                         "takt_data_take_soft: the view has no place for %zu labels a sample",
                         p.size);
    for (size_t i = 0; i < count; i++) {
        if (rows[i] >= d->set.samples)
            return takt_fail(ctx, TAKT_E_ARGUMENT, "there is no sample %llu",
                             (unsigned long long)rows[i]);
        for (size_t k = 0; k < p.size; k++) {
            const size_t at = p.first + (size_t)rows[i] * p.stride + k;
            const int64_t label =
                takt_dtype_get_i(p.tensor->type.dtype, takt_tensor_data(p.tensor), at);
            TAKT_TRY(put_label(d, field, rows[i], label,
                               (float *)to->data + (i * p.size + k) * classes, classes));
        }
    }
    return TAKT_OK;
}
