/* augment.c - samples changed at random: by seed, epoch and sample, and by nothing else. */
#include <math.h>
#include <string.h>

#include "api/model.h"
#include "api/train/data.h"
#include "base/philox.h"
#include "train/hyper.h"

enum { FLIP, SHIFT, CUTOUT, NOISE, KINDS };

static const takt_hyper kinds[KINDS] = {
    [FLIP] = {"flip", 0, 0, 1, "how likely the last axis is reversed"},
    [SHIFT] = {"shift", 0, 0, 4096, "the farthest the last two axes are moved, zeros follow"},
    [CUTOUT] = {"cutout", 0, 0, 4096, "edge of a square that becomes 0"},
    [NOISE] = {"noise", 0, 0, 1e6, "deviation of what is added"},
};

/* Words of a sample, each drawn for one purpose. */
enum { DRAW_FLIP, DRAW_X, DRAW_Y, DRAW_LEFT, DRAW_TOP, DRAWS = 8 };
enum { STREAM = 0x61756701, NOISE_STREAM = 0x61756702 };

/* One sample: planes of height by width. */
typedef struct sample {
    float *at;
    size_t planes, height, width;
    takt_philox_at words;
    uint64_t number;
} sample;

static uint32_t drawn(const sample *s, int purpose)
{
    return takt_philox_word(&s->words, s->number * DRAWS + (uint64_t)purpose);
}

/* -most … most, each alike. */
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

/* A square around a place drawn from all of them; at the border a part of it. */
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
    if (how[SHIFT] > 0)
        shift(s, (size_t)how[SHIFT]);
    if (takt_philox_uniform(drawn(s, DRAW_FLIP)) < how[FLIP])
        flip(s);
    if (how[CUTOUT] > 0)
        cut_out(s, (size_t)how[CUTOUT]);
    if (how[NOISE] > 0)
        add_noise(s, how[NOISE]);
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
    if (count == 0)
        return TAKT_OK;
    bool is_good = x->dtype == TAKT_F32 && x->rank >= 2 && x->rank <= TAKT_MAX_RANK &&
                   x->data != NULL && x->dims[0] >= 0 && (uint64_t)x->dims[0] >= count;
    for (int i = 1; is_good && i < x->rank; i++)
        is_good = x->dims[i] >= 0;
    if (!is_good)
        return takt_fail(ctx, TAKT_E_ARGUMENT,
                         "takt_data_augment: samples are f32 with a batch axis");
    sample s = {.planes = 1,
                .height = x->rank > 2 ? (size_t)x->dims[x->rank - 2] : 1,
                .width = (size_t)x->dims[x->rank - 1],
                .words = {key->seed, STREAM, (uint32_t)key->epoch}};
    for (int i = 1; i < x->rank - 2; i++)
        s.planes *= (size_t)x->dims[i];
    for (size_t i = 0; i < count && s.width * s.height > 0; i++) {
        s.number = rows[i];
        s.at = (float *)x->data + i * s.planes * s.height * s.width;
        change(&s, numbers);
    }
    return TAKT_OK;
}
