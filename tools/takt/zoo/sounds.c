/* sounds.c - sounds made by code, 8 kHz.
 *
 *   events     0.5 s: beep, siren, knocks, rush of air, bell, or hum
 *   genres     1 s: four styles that differ in tempo, beat, chord and tone
 *   emotions   0.5 s of a voice-like sound: neutral, happy, sad, angry, by pitch, its course, rate
 *              and force
 */
#include <string.h>

#include "zoo_data.h"

enum { RATE = 8000, SHORT = 4000, LONG = 8000 };

static double up_to(uint64_t *seed, double low, double high)
{
    return low + (high - low) * tool_zoo_chance(seed);
}

static void make_event(uint64_t *seed, int kind, float *x)
{
    const double base = up_to(seed, 300, 900) / RATE, size = up_to(seed, 0.15, 0.5);
    const double swing = up_to(seed, 1.5, 4) / RATE, grain = up_to(seed, 0.03, 0.2);
    const double every = up_to(seed, 500, 1000), fade = 1 - 1 / up_to(seed, 600, 1500);
    double phase = tool_zoo_chance(seed), turn = phase, ring = 1, last = 0,
           next = up_to(seed, 0, 500);
    for (int i = 0; i < SHORT; i++) {
        const double white = tool_zoo_noise(seed);
        double v = 0;
        turn += swing;
        last = 0.8 * last + 0.4 * white;
        phase += kind == 1 ? base * (1.5 + 0.7 * tool_zoo_wave(turn)) : kind == 5 ? base / 8 : base;
        if (i >= (int)next && (kind == 2 || kind == 4)) {
            next += kind == 2 ? every : 4 * every;
            ring = 1;
        }
        ring *= kind == 2 ? 0.985 : fade;
        if (kind <= 1)
            v = tool_zoo_wave(phase);
        else if (kind == 2)
            v = ring * (0.5 * tool_zoo_wave(phase / 2) + white);
        else if (kind == 3)
            v = 1.5 * last;
        else if (kind == 4)
            v = ring * (tool_zoo_wave(phase) + 0.6 * tool_zoo_wave(2.76 * phase));
        else
            v = tool_zoo_wave(phase) + 0.5 * tool_zoo_wave(3 * phase);
        x[i] = (float)(size * v + grain * white);
    }
}

/* Notes of a chord over a beat: their rate, brightness, and the noise of the drum. */
static void make_genre(uint64_t *seed, int kind, float *x)
{
    static const double beats[] = {2.0, 4.0, 3.0, 2.5}, drums[] = {0.1, 0.7, 0.25, 0.4};
    static const double third[] = {1.25, 1.0, 1.2, 1.335}, tone[] = {0, 0.8, 0.3, 0.5};
    const double beat = beats[kind] * up_to(seed, 0.8, 1.2) / RATE;
    const double base = up_to(seed, 130, 330) / RATE, grain = up_to(seed, 0.05, 0.25);
    const double drum = drums[kind] * up_to(seed, 0.6, 1.4);
    double at = tool_zoo_chance(seed), loud = 0.5, phase = tool_zoo_chance(seed);
    for (int i = 0; i < LONG; i++) {
        const double white = tool_zoo_noise(seed);
        at += beat;
        if (at >= 1) {
            at -= 1;
            loud = 1;
        }
        loud *= kind == 0 ? 0.9998 : 0.9992;
        phase += base;
        double v = tool_zoo_wave(phase) + 0.7 * tool_zoo_wave(third[kind] * phase) +
                   0.7 * tool_zoo_wave(1.5 * phase);
        v += tone[kind] * (tool_zoo_wave(3 * phase) + 0.6 * tool_zoo_wave(5 * phase));
        x[i] = (float)(0.15 * loud * v + drum * loud * loud * loud * white * 0.4 + grain * white);
    }
}

/* Glottal pulses through two resonances; the pitch rises or falls, syllables swell and fade. */
static void make_emotion(uint64_t *seed, int kind, float *x)
{
    static const double pitch[] = {130, 190, 105, 170}, course[] = {0, 0.25, -0.2, 0.05};
    static const double rate[] = {4, 5.5, 2.5, 6}, force[] = {0.3, 0.4, 0.18, 0.6};
    const double start = pitch[kind] * up_to(seed, 0.75, 1.3) / RATE;
    const double rise = course[kind] + 0.15 * tool_zoo_noise(seed);
    const double syllables = rate[kind] * up_to(seed, 0.75, 1.25) / RATE;
    const double size = force[kind] * up_to(seed, 0.6, 1.5), breath = up_to(seed, 0.05, 0.3);
    const double rough = kind == 3 ? 0.3 : 0.08, grain = up_to(seed, 0.01, 0.08);
    const double one = 2 * tool_zoo_wave(up_to(seed, 450, 750) / RATE + 0.25) * 0.97;
    const double two = 2 * tool_zoo_wave(up_to(seed, 1100, 1900) / RATE + 0.25) * 0.95;
    double phase = 0, turn = tool_zoo_chance(seed), a[2] = {0}, b[2] = {0};
    for (int i = 0; i < SHORT; i++) {
        const double white = tool_zoo_noise(seed);
        phase += start * (1 + rise * i / SHORT) * (1 + rough * white);
        turn += syllables;
        double pulse = breath * white * 0.2;
        if (phase >= 1) {
            phase -= 1;
            pulse += 1;
        }
        const double v = pulse + one * a[0] - 0.94 * a[1];
        a[1] = a[0];
        a[0] = v;
        const double w = 0.2 * v + two * b[0] - 0.9 * b[1];
        b[1] = b[0];
        b[0] = w;
        const double open = 0.5 + 0.5 * tool_zoo_wave(turn);
        x[i] = (float)(0.3 * size * open * w + grain * white);
    }
}

static const struct way {
    const char *name;
    int64_t length;
    int kinds;
    void (*make)(uint64_t *seed, int kind, float *x);
} ways[] = {{"events", SHORT, 6, make_event},
            {"genres", LONG, 4, make_genre},
            {"emotions", SHORT, 4, make_emotion}};

static bool make(tool_zoo_job *job)
{
    const struct way *w = ways;
    while (strcmp(w->name, job->how) != 0)
        w++;
    tool_zoo_shape(job, (const int64_t[]){w->length, 0}, false, NULL, true);
    for (int k = 0; k < 2; k++) {
        uint64_t seed = k == 0 ? 1 : 2;
        for (int i = 0; i < (k == 0 ? 900 : 600); i++) {
            float *x = tool_zoo_add(k == 0 ? job->train : job->test, i % w->kinds);
            if (x == NULL)
                return false;
            w->make(&seed, i % w->kinds, x);
        }
    }
    return true;
}

const tool_zoo_source tool_zoo_source_sounds = {
    .ways = {"events", "genres", "emotions"},
    .make = make,
};
