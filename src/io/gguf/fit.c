/* fit.c - scales and levels with the least error for a block of weights. */
#include "io/gguf/fit.h"

#include <math.h>
#include <string.h>

static const float least_size = 1e-15F; /* smaller values count as zero */

int takt_fit_nearest(float x)
{
    const float most = 4194303.0F;
    const float inside = x > most ? most : x < -most ? -most : x;
    return isnan(inside) ? 0 : (int)rintf(inside);
}

static int held(int level, int low, int high)
{
    return level < low ? low : level > high ? high : level;
}

/* The element of largest magnitude, with its sign; 0 if all are negligible. */
static float extreme(const float *x, int count)
{
    float most = 0, found = 0;
    for (int i = 0; i < count; i++)
        if (fabsf(x[i]) > most) {
            most = fabsf(x[i]);
            found = x[i];
        }
    return most < least_size ? 0 : found;
}

/* ---- around zero ---- */

/* Sums over a block: of weight * x * level, and of weight * level squared. */
typedef struct sums {
    float by_x, squares;
} sums;

static sums sum_at(const takt_fit *f, float inverse)
{
    sums s = {0, 0};
    for (int i = 0; i < f->count; i++) {
        const int l = held(takt_fit_nearest(inverse * f->x[i]), -f->most, f->most - 1);
        const float w = f->weight != NULL ? f->weight[i] : f->x[i] * f->x[i];
        s.by_x += w * f->x[i] * (float)l;
        s.squares += w * (float)l * (float)l;
    }
    return s;
}

static void put_levels(const takt_fit *f, float inverse)
{
    for (int i = 0; i < f->count; i++) {
        const int l = held(takt_fit_nearest(inverse * f->x[i]), -f->most, f->most - 1);
        f->level[i] = (uint8_t)(l + f->most);
    }
}

float takt_fit_around(const takt_fit *f)
{
    const float most = extreme(f->x, f->count);
    if (most == 0) {
        memset(f->level, 0, (size_t)f->count);
        return 0;
    }
    float inverse = (float)-f->most / most;
    sums s = sum_at(f, inverse);
    put_levels(f, inverse);
    float scale = s.squares != 0 ? s.by_x / s.squares : 0, best = scale * s.by_x;
    for (int step = -9; step <= 9; step++) {
        if (step == 0)
            continue;
        inverse = -((float)f->most + 0.1F * (float)step) / most;
        s = sum_at(f, inverse);
        if (!(s.squares > 0 && s.by_x * s.by_x > best * s.squares))
            continue;
        put_levels(f, inverse);
        scale = s.by_x / s.squares;
        best = scale * s.by_x;
    }
    return scale;
}

/* Moves one level to where the scale of all others puts it, if that is better. */
static bool improve(const takt_fit *f, int i, float w, int low, int *level, sums *s)
{
    sums others = {s->by_x - w * f->x[i] * (float)*level,
                   s->squares - w * (float)*level * (float)*level};
    if (!(others.by_x > 0) || (low == 0 && !(others.squares > 0)))
        return false;
    int l = takt_fit_nearest(f->x[i] * others.squares / others.by_x);
    l = low == 0 ? (l > f->most ? f->most : l) : held(l, low, f->most - 1);
    if (l == *level)
        return false;
    others.by_x += w * f->x[i] * (float)l;
    others.squares += w * (float)l * (float)l;
    if (!(others.squares > 0 &&
          others.by_x * others.by_x * s->squares > s->by_x * s->by_x * others.squares))
        return false;
    *level = l;
    *s = others;
    return true;
}

float takt_fit_descend(const takt_fit *f)
{
    const float most = extreme(f->x, f->count);
    int level[TAKT_FIT_MOST];
    if (most == 0) {
        memset(f->level, 0, (size_t)f->count);
        return 0;
    }
    const float inverse = (float)-f->most / most;
    const takt_fit plain = {f->x, NULL, f->count, f->most, f->level};
    sums s = sum_at(&plain, inverse);
    for (int i = 0; i < f->count; i++)
        level[i] = held(takt_fit_nearest(inverse * f->x[i]), -f->most, f->most - 1);
    for (int round = 0; round < 5; round++) {
        bool changed = false;
        for (int i = 0; i < f->count; i++)
            changed |= improve(f, i, f->x[i] * f->x[i], -f->most, &level[i], &s);
        if (!changed)
            break;
    }
    for (int i = 0; i < f->count; i++)
        f->level[i] = (uint8_t)(level[i] + f->most);
    return s.squares > 0 ? s.by_x / s.squares : 0;
}

/* ---- from the minimum up ---- */

static float error_of(const takt_fit *f, const uint8_t *level, float scale, float low, bool by_size)
{
    float sum = 0;
    for (int i = 0; i < f->count; i++) {
        const float d = scale * (float)level[i] + low - f->x[i];
        sum += f->weight[i] * (by_size ? fabsf(d) : d * d);
    }
    return sum;
}

static void levels_from(const takt_fit *f, float inverse, float low, uint8_t *level)
{
    for (int i = 0; i < f->count; i++)
        level[i] = (uint8_t)held(takt_fit_nearest(inverse * (f->x[i] - low)), 0, f->most);
}

/* The weighted least-squares line through these levels; false: there is none. */
static bool line_of(const takt_fit *f, const uint8_t *level, const sums *x, float *scale,
                    float *low)
{
    float l1 = 0, l2 = 0, xl = 0;
    for (int i = 0; i < f->count; i++) {
        const float w = f->weight[i], l = (float)level[i];
        l1 += w * l;
        l2 += w * l * l;
        xl += w * l * f->x[i];
    }
    const float d = x->squares * l2 - l1 * l1; /* x: sums of weight * x and of weights */
    if (!(d > 0))
        return false;
    *scale = (x->squares * xl - x->by_x * l1) / d;
    *low = (l2 * x->by_x - l1 * xl) / d;
    if (*low > 0) {
        *low = 0;
        *scale = xl / l2;
    }
    return true;
}

float takt_fit_from(const takt_fit *f, const takt_fit_steps *steps, float *least)
{
    uint8_t tried[TAKT_FIT_MOST];
    float low = f->x[0], high = f->x[0];
    sums x = {f->weight[0] * f->x[0], f->weight[0]};
    for (int i = 1; i < f->count; i++) {
        low = f->x[i] < low ? f->x[i] : low;
        high = f->x[i] > high ? f->x[i] : high;
        x.squares += f->weight[i];
        x.by_x += f->weight[i] * f->x[i];
    }
    low = low > 0 ? 0 : low;
    *least = -low;
    if (!(high > low)) {
        memset(f->level, 0, (size_t)f->count);
        return 0;
    }
    const float begin = low, span = high - low;
    float scale = 1 / ((float)f->most / span);
    levels_from(f, (float)f->most / span, begin, f->level);
    float best = error_of(f, f->level, scale, low, steps->by_size);
    for (int step = 0; step <= steps->count; step++) {
        float other, at;
        const float inverse =
            (steps->first + steps->step * (float)step + (float)f->most) / (high - low);
        levels_from(f, inverse, low, tried);
        if (!line_of(f, tried, &x, &other, &at))
            continue;
        const float error = error_of(f, tried, other, at, steps->by_size);
        if (error < best) {
            memcpy(f->level, tried, (size_t)f->count);
            best = error;
            scale = other;
            low = at;
        }
    }
    *least = -low;
    return scale;
}

/* ---- scales of blocks ---- */

/* The inverse of the best of nine scales. */
static float inverse_of(const takt_fit *f, float most)
{
    float best = INFINITY, found = 0;
    for (int k = 0; k < 9; k++) { /* the middle first: others must improve on it */
        const int step = k == 0 ? 0 : k <= 4 ? k - 5 : k - 4;
        const float inverse =
            step == 0 ? (float)f->most / most : (0.1F * (float)step + (float)f->most) / most;
        const float scale = 1 / inverse;
        float error = 0;
        for (int i = 0; i < f->count; i++) {
            int l = takt_fit_nearest(inverse * f->x[i]);
            l = step != 0 && l > f->most ? f->most : l;
            const float d = f->x[i] - scale * (float)l;
            error += f->weight[i] * d * d;
        }
        if (error < best) {
            best = error;
            found = inverse;
        }
    }
    return found;
}

float takt_fit_positive(const takt_fit *f)
{
    float most = 0;
    int level[TAKT_FIT_MOST];
    sums s = {0, 0};
    for (int i = 0; i < f->count; i++)
        most = f->x[i] > most ? f->x[i] : most;
    if (most < least_size) {
        memset(f->level, 0, (size_t)f->count);
        return 0;
    }
    const float inverse = inverse_of(f, most);
    for (int i = 0; i < f->count; i++) {
        const int l = takt_fit_nearest(inverse * f->x[i]);
        level[i] = l > f->most ? f->most : l;
        s.by_x += f->weight[i] * f->x[i] * (float)level[i];
        s.squares += f->weight[i] * (float)level[i] * (float)level[i];
    }
    for (int round = 0; round < 5; round++) {
        bool changed = false;
        for (int i = 0; i < f->count; i++)
            changed |= improve(f, i, f->weight[i], 0, &level[i], &s);
        if (!changed)
            break;
    }
    for (int i = 0; i < f->count; i++)
        f->level[i] = (uint8_t)level[i];
    return s.squares > 0 ? s.by_x / s.squares : 0;
}
