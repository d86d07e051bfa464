/* augment.c - random augmentation of samples, which depends only on seed, epoch and sample. */
#include <math.h>
#include <string.h>

#include "api/model.h"
#include "api/train/data.h"
#include "base/mem.h"
#include "base/philox.h"
#include "train/hyper.h"

enum { FLIP, SHIFT, CUTOUT, NOISE, CROP, TIME_SHIFT, TIME_MASK, FREQ_MASK, MIXUP, KINDS };

static const takt_hyper kinds[KINDS] = {
    [FLIP] = {"flip", 0, 0, 1, "how likely the last axis is reversed"},
    [SHIFT] = {"shift", 0, 0, 4096, "the farthest the last two axes are moved, zeros follow"},
    [CUTOUT] = {"cutout", 0, 0, 4096, "edge of a square that becomes 0"},
    [NOISE] = {"noise", 0, 0, 1e6, "deviation of what is added"},
    [CROP] = {"crop", 0, 0, 0.9, "the most of each side that is cut off; the rest is enlarged"},
    [TIME_SHIFT] = {"time_shift", 0, 0, 1e9, "the farthest the last axis is moved, zeros follow"},
    [TIME_MASK] = {"time_mask", 0, 0, 1e9, "the longest part of the last axis that becomes 0"},
    [FREQ_MASK] = {"freq_mask", 0, 0, 1e9, "the most rows, the axis before it, that become 0"},
    [MIXUP] = {"mixup", 0, 0, 4, "alpha of the shares that two samples are mixed by"},
};

takt_status takt_mixup_alpha(takt_ctx *ctx, const char *how, double *alpha)
{
    double numbers[KINDS] = {0};
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, how);
    TAKT_NEED(ctx, alpha);
    TAKT_TRY(takt_hyper_change(ctx, "augment", kinds, KINDS, how, numbers));
    *alpha = numbers[MIXUP];
    return TAKT_OK;
}

/* Words of a sample, each drawn for one purpose. */
enum { DRAW_FLIP, DRAW_X, DRAW_Y, DRAW_LEFT, DRAW_TOP, DRAWS = 8 };
enum {
    DRAW_SIDE = DRAWS,
    DRAW_CROP_X,
    DRAW_CROP_Y,
    DRAW_TIME,
    DRAW_WIDTH,
    DRAW_START,
    DRAW_ROWS,
    DRAW_FIRST
};
enum { STREAM = 0x61756701, NOISE_STREAM = 0x61756702, MORE_STREAM = 0x61756703 };

/* One sample: planes of height by width. */
typedef struct sample {
    float *at;
    size_t planes, height, width;
    takt_philox_at words;
    uint64_t number;
    float *spare; /* a plane, where one is cropped */
} sample;

static uint32_t drawn(const sample *s, int purpose)
{
    const takt_philox_at more = {s->words.seed, MORE_STREAM, s->words.step};
    if (purpose >= DRAWS)
        return takt_philox_word(&more, s->number * DRAWS + (uint64_t)(purpose - DRAWS));
    return takt_philox_word(&s->words, s->number * DRAWS + (uint64_t)purpose);
}

/* Uniform in -most … most. */
static ptrdiff_t drawn_shift(const sample *s, int purpose, size_t most)
{
    const uint64_t choices = 2 * (uint64_t)most + 1;
    return (ptrdiff_t)((uint64_t)drawn(s, purpose) * choices >> 32) - (ptrdiff_t)most;
}

/* to[i] = from[i + by], zeros beyond the ends; the two may be the same. */
static void move_row(float *to, const float *from, size_t width, ptrdiff_t by)
{
    const size_t gap = (size_t)(by < 0 ? -by : by) < width ? (size_t)(by < 0 ? -by : by) : width;
    memmove(to + (by < 0 ? gap : 0), from + (by < 0 ? 0 : gap), (width - gap) * sizeof *to);
    memset(to + (by < 0 ? 0 : width - gap), 0, gap * sizeof *to);
}

static void shift(const sample *s, size_t most)
{
    const ptrdiff_t x = drawn_shift(s, DRAW_X, most);
    const ptrdiff_t y = s->height > 1 ? drawn_shift(s, DRAW_Y, most) : 0;
    for (size_t p = 0; p < s->planes; p++)
        for (size_t i = 0; i < s->height; i++) {
            const size_t row = y > 0 ? i : s->height - 1 - i; /* read before it is written */
            const ptrdiff_t from = (ptrdiff_t)row + y;
            float *plane = s->at + p * s->height * s->width, *to = plane + row * s->width;
            if (from < 0 || from >= (ptrdiff_t)s->height)
                memset(to, 0, s->width * sizeof *to);
            else
                move_row(to, plane + (size_t)from * s->width, s->width, x);
        }
}

static void flip(const sample *s)
{
    for (size_t row = 0; row < s->planes * s->height; row++) {
        float *at = s->at + row * s->width;
        for (size_t i = 0; i < s->width / 2; i++) {
            const float kept = at[i];
            at[i] = at[s->width - 1 - i];
            at[s->width - 1 - i] = kept;
        }
    }
}

/* A square around a random position; at the border only a part of it. */
static void cut_out(const sample *s, size_t edge)
{
    const size_t x = (size_t)((uint64_t)drawn(s, DRAW_LEFT) * s->width >> 32);
    const size_t y = (size_t)((uint64_t)drawn(s, DRAW_TOP) * s->height >> 32);
    const size_t left = x > edge / 2 ? x - edge / 2 : 0, top = y > edge / 2 ? y - edge / 2 : 0;
    const size_t right = x - edge / 2 + edge < s->width ? x - edge / 2 + edge : s->width;
    const size_t bottom = y - edge / 2 + edge < s->height ? y - edge / 2 + edge : s->height;
    for (size_t p = 0; p < s->planes; p++)
        for (size_t i = top; i < bottom && left < right; i++)
            memset(s->at + (p * s->height + i) * s->width + left, 0,
                   (right - left) * sizeof *s->at);
}

/* Source of position `i` of `size` in the crop: between which two, and how far from the first. */
static double place_of(size_t i, size_t size, double first, double side, size_t *low, size_t *high)
{
    const double at = first * (1 - side) * (double)(size - 1) + (double)i * side;
    const size_t floor_of = (size_t)at;
    *low = floor_of < size ? floor_of : size - 1;
    *high = *low + 1 < size ? *low + 1 : *low;
    return at - (double)*low;
}

/* Crops it and scales it back to its size, by linear interpolation. */
static void crop(const sample *s, double most)
{
    const double side = 1 - most * takt_philox_uniform(drawn(s, DRAW_SIDE));
    const double left = takt_philox_uniform(drawn(s, DRAW_CROP_X));
    const double top = takt_philox_uniform(drawn(s, DRAW_CROP_Y));
    for (size_t p = 0; p < s->planes; p++) {
        float *plane = s->at + p * s->height * s->width;
        memcpy(s->spare, plane, s->height * s->width * sizeof *plane);
        for (size_t y = 0; y < s->height; y++) {
            size_t up, down, low, high;
            const double v = place_of(y, s->height, top, side, &up, &down);
            const float *above = s->spare + up * s->width, *below = s->spare + down * s->width;
            for (size_t x = 0; x < s->width; x++) {
                const double u = place_of(x, s->width, left, side, &low, &high);
                const double a = (1 - u) * (double)above[low] + u * (double)above[high];
                const double b = (1 - u) * (double)below[low] + u * (double)below[high];
                plane[y * s->width + x] = (float)((1 - v) * a + v * b);
            }
        }
    }
}

static void shift_time(const sample *s, size_t most)
{
    const ptrdiff_t by = drawn_shift(s, DRAW_TIME, most < s->width ? most : s->width);
    for (size_t row = 0; row < s->planes * s->height; row++)
        move_row(s->at + row * s->width, s->at + row * s->width, s->width, by);
}

/* How many of `size`, at most `most`, and where they begin. */
static size_t drawn_part(const sample *s, int purpose, size_t size, size_t most, size_t *first)
{
    const uint64_t longest = most < size ? most : size;
    const size_t count = (size_t)((uint64_t)drawn(s, purpose) * (longest + 1) >> 32);
    *first = (size_t)((uint64_t)drawn(s, purpose + 1) * (size - count + 1) >> 32);
    return count;
}

static void mask_time(const sample *s, size_t most)
{
    size_t first;
    const size_t count = drawn_part(s, DRAW_WIDTH, s->width, most, &first);
    for (size_t row = 0; row < s->planes * s->height; row++)
        memset(s->at + row * s->width + first, 0, count * sizeof *s->at);
}

static void mask_rows(const sample *s, size_t most)
{
    size_t first;
    const size_t count = drawn_part(s, DRAW_ROWS, s->height, most, &first);
    for (size_t p = 0; p < s->planes; p++)
        memset(s->at + (p * s->height + first) * s->width, 0, count * s->width * sizeof *s->at);
}

static void add_noise(const sample *s, double deviation)
{
    const size_t size = s->planes * s->height * s->width;
    const takt_philox_at at = {s->words.seed, NOISE_STREAM, s->words.step};
    for (size_t i = 0; i < size; i++)
        s->at[i] =
            (float)((double)s->at[i] + deviation * takt_philox_normal(&at, s->number * size + i));
}

static void change(const sample *s, const double *how)
{
    if (how[CROP] > 0)
        crop(s, how[CROP]);
    if (how[SHIFT] > 0)
        shift(s, (size_t)how[SHIFT]);
    if (how[TIME_SHIFT] > 0)
        shift_time(s, (size_t)how[TIME_SHIFT]);
    if (takt_philox_uniform(drawn(s, DRAW_FLIP)) < how[FLIP])
        flip(s);
    if (how[CUTOUT] > 0)
        cut_out(s, (size_t)how[CUTOUT]);
    if (how[TIME_MASK] > 0)
        mask_time(s, (size_t)how[TIME_MASK]);
    if (how[FREQ_MASK] > 0 && s->height > 1)
        mask_rows(s, (size_t)how[FREQ_MASK]);
    if (how[NOISE] > 0)
        add_noise(s, how[NOISE]);
}

static bool is_suitable(const takt_tensor_view *x, size_t count)
{
    bool is_good = x->dtype == TAKT_F32 && x->rank >= 2 && x->rank <= TAKT_MAX_RANK &&
                   x->data != NULL && x->dims[0] >= 0 && (uint64_t)x->dims[0] >= count;
    for (int i = 1; is_good && i < x->rank; i++)
        is_good = x->dims[i] >= 0;
    return is_good;
}

/* The length that a number is to be less than: beyond it nothing of a sample would be left. */
static int64_t bound_of(int kind, const takt_tensor_view *x)
{
    const int64_t width = x->dims[x->rank - 1], height = x->rank > 2 ? x->dims[x->rank - 2] : width;
    switch (kind) {
    case SHIFT:
    case CUTOUT: return width < height ? width : height;
    case TIME_SHIFT:
    case TIME_MASK: return width;
    case FREQ_MASK: return height;
    default: return INT64_MAX;
    }
}

static takt_status check_lengths(takt_ctx *ctx, const double *numbers, const takt_tensor_view *x)
{
    for (int i = 0; i < KINDS; i++) {
        const int64_t bound = bound_of(i, x);
        if (numbers[i] > 0 && bound > 0 && numbers[i] >= (double)bound) {
            const takt_status status = takt_fail(
                ctx, TAKT_E_ARGUMENT, "augment: %s=%g may take away all of an axis of %lld",
                kinds[i].name, numbers[i], (long long)bound);
            return bound < 2
                       ? status
                       : takt_fail_hint(ctx, "an eighth of the axis is usual: %s=%lld",
                                        kinds[i].name, (long long)(bound / 8 > 0 ? bound / 8 : 1));
        }
    }
    return TAKT_OK;
}

/* A sample of one axis is a row of a table or a sound: mirrored or cropped, its columns would
 * change places, and rows to mask it has none. */
static takt_status check_axes(takt_ctx *ctx, const double *numbers, const takt_tensor_view *x)
{
    static const int of_pictures[] = {FLIP, SHIFT, CROP, CUTOUT, FREQ_MASK};
    for (size_t i = 0; x->rank == 2 && i < sizeof of_pictures / sizeof *of_pictures; i++) {
        const takt_hyper *kind = &kinds[of_pictures[i]];
        if (!(numbers[of_pictures[i]] > 0))
            continue;
        takt_fail(ctx, TAKT_E_ARGUMENT, "augment: %s is for rows and columns, a sample is [%lld]",
                  kind->name, (long long)x->dims[1]);
        return takt_fail_hint(ctx, "noise, mixup, time_shift and time_mask change samples of one "
                                   "axis");
    }
    return TAKT_OK;
}

takt_status takt_data_augment(takt_ctx *ctx, const char *how, const takt_augment_key *key,
                              const uint64_t *rows, size_t count, const takt_tensor_view *x)
{
    double numbers[KINDS] = {0};
    if (ctx == NULL)
        return TAKT_ERR_ARGUMENT;
    if (how == NULL || (count > 0 && (key == NULL || rows == NULL || x == NULL)))
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_data_augment: an argument is NULL");
    TAKT_TRY(takt_hyper_change(ctx, "augment", kinds, KINDS, how, numbers));
    if (x == NULL)
        return TAKT_OK;
    if (!is_suitable(x, count))
        return takt_fail(ctx, TAKT_E_ARGUMENT, "augment: samples are f32 with a batch axis");
    TAKT_TRY(check_axes(ctx, numbers, x));
    TAKT_TRY(check_lengths(ctx, numbers, x));
    if (count == 0)
        return TAKT_OK;
    sample s = {.planes = 1,
                .height = x->rank > 2 ? (size_t)x->dims[x->rank - 2] : 1,
                .width = (size_t)x->dims[x->rank - 1],
                .words = {key->seed, STREAM, (uint32_t)key->epoch}};
    for (int i = 1; i < x->rank - 2; i++)
        s.planes *= (size_t)x->dims[i];
    const size_t plane = s.height * s.width;
    void *spare = NULL;
    if (numbers[CROP] > 0 && plane > 0)
        TAKT_TRY(takt_mem_zero(ctx, plane, sizeof(float), "a plane to crop", &spare));
    s.spare = spare;
    for (size_t i = 0; i < count && plane > 0; i++) {
        s.number = rows[i];
        s.at = (float *)x->data + i * s.planes * plane;
        change(&s, numbers);
    }
    takt_mem_put(ctx, spare, spare != NULL ? plane * sizeof(float) : 0);
    return TAKT_OK;
}
