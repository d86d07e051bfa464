/* signals.c - series made by code.
 *
 *   pulses   two channels of 128 points, 4 s: blood volume at the wrist, and motion that disturbs
 *            it; whether the heart is normal, fast, slow or irregular
 *   loads    48 hours of a house's power: the next 6
 */
#include <string.h>

#include "zoo_data.h"

enum { POINTS = 128, KINDS = 4, PAST = 48, NEXT = 6, DAY = 24 };

static double up_to(uint64_t *seed, double low, double high)
{
    return low + (high - low) * tool_zoo_chance(seed);
}

/* A beat: a steep rise and a second, lower wave; `t` from 0 to 1. */
static double beat(double t)
{
    if (t < 0.15)
        return t / 0.15;
    if (t < 0.4)
        return 1 - (t - 0.15) * 2.8;
    return t < 0.5 ? 0.3 + (t - 0.4) : t < 1 ? 0.4 - 0.8 * (t - 0.5) : 0;
}

static void make_pulse(uint64_t *seed, int kind, float *x)
{
    static const double low[] = {1.0, 1.75, 0.62, 1.0}, high[] = {1.7, 2.8, 0.98, 1.7};
    const double rate = up_to(seed, low[kind], high[kind]) / 32, size = up_to(seed, 0.6, 1.3);
    const double motion = up_to(seed, 0, 0.7), step = up_to(seed, 1.2, 2.4) / 32;
    double phase = tool_zoo_chance(seed), now = rate, turn = tool_zoo_chance(seed);
    for (int i = 0; i < POINTS; i++) {
        phase += now;
        turn += step;
        if (phase >= 1) {
            phase -= 1;
            now = rate *
                  (1 + (kind == 3 ? 0.9 : 0.12) * tool_zoo_noise(seed) * (kind == 3 ? 0.6 : 1));
        }
        const double moved = motion * tool_zoo_wave(turn);
        x[i] = (float)(size * beat(phase) + 0.5 * moved + 0.15 * tool_zoo_noise(seed) - 0.4);
        x[POINTS + i] = (float)(moved + 0.1 * tool_zoo_noise(seed));
    }
}

/* A base load, mornings and evenings of people who rise early or late, and appliances switched
 * on. */
static void make_load(uint64_t *seed, float *x, float *y)
{
    const double base = up_to(seed, 0.15, 0.4), size = up_to(seed, 0.5, 1.2);
    const double morning = up_to(seed, 6, 9), evening = up_to(seed, 17, 21);
    const int start = tool_zoo_below(seed, DAY);
    double extra = 0;
    for (int i = 0; i < PAST + NEXT; i++) {
        const double hour = (start + i) % DAY;
        const double a = (hour - morning) / 1.5, b = (hour - evening) / 2.5;
        if (tool_zoo_chance(seed) < 0.08)
            extra = up_to(seed, 0.2, 0.8);
        const double v = base + size * (0.6 / (1 + a * a) + 1 / (1 + b * b)) + extra;
        extra *= 0.5;
        *(i < PAST ? x + i : y + i - PAST) = (float)(v + 0.08 * tool_zoo_noise(seed));
    }
}

/* The same hours of yesterday. */
static void measure_yesterday(tool_zoo_part *p)
{
    double sum = 0;
    for (size_t i = 0; i < p->count; i++)
        for (size_t k = 0; k < NEXT; k++) {
            const double d =
                (double)p->y.at[i * NEXT + k] - (double)p->x.at[i * PAST + PAST - DAY + k];
            sum += d < 0 ? -d : d;
        }
    p->baseline = sum / (double)(p->count * NEXT);
}

static bool make(tool_zoo_job *job)
{
    const int64_t channels[] = {2, POINTS, 0}, past[] = {PAST, 0}, next[] = {NEXT, 0};
    const bool is_load = strcmp(job->how, "loads") == 0;
    if (is_load)
        tool_zoo_shape(job, past, false, next, false);
    else
        tool_zoo_shape(job, channels, false, NULL, true);
    for (int k = 0; k < 2; k++) {
        uint64_t seed = k == 0 ? 1 : 2;
        for (int i = 0; i < (k == 0 ? 3000 : 1000); i++) {
            float *y, *x = tool_zoo_next(k == 0 ? job->train : job->test, &y);
            if (x == NULL)
                return false;
            if (is_load)
                make_load(&seed, x, y);
            else
                make_pulse(&seed, i % KINDS, x);
            if (!is_load)
                y[0] = (float)(i % KINDS);
        }
    }
    if (is_load)
        measure_yesterday(job->test);
    return true;
}

const tool_zoo_source tool_zoo_source_signals = {.ways = {"pulses", "loads"}, .make = make};
