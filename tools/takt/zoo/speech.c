/* speech.c - the Free Spoken Digit Dataset, 8 kHz: who says what, and the same with noise added.
 *
 *   digits, speakers   0.7 s; which digit, which of four people
 *   voice              0.5 s with noise, a digit in 0.3 s of it: whether each frame is speech
 *   denoise            0.032 s with noise: the samples without it
 *
 * Takes 0 to 2 of every digit and person are the test part.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "zoo_data.h"

enum { SOUND = 5600, PEOPLE = 4, CLIP = 4000, SPOKEN = 2400, HOP = 160, WINDOW = 256, PIECE = 256 };
enum { FRAMES = (CLIP - WINDOW) / HOP + 1 };

static uint32_t get(const uint8_t *at, int bytes)
{
    uint32_t v = 0;
    for (int i = bytes; i-- > 0;)
        v = v << 8 | at[i];
    return v;
}

/* 16 bits, one channel, from the chunk "data"; longer sounds are cut. */
static bool read_wav(const char *path, float *to)
{
    static uint8_t bytes[1 << 17];
    FILE *f = fopen(path, "rb");
    const size_t length = f != NULL ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f != NULL)
        (void)fclose(f);
    if (length < 44 || memcmp(bytes, "RIFF", 4) != 0 || get(bytes + 22, 2) != 1 ||
        get(bytes + 34, 2) != 16)
        return false;
    size_t at = 12;
    while (length - at >= 8 && memcmp(bytes + at, "data", 4) != 0) {
        const size_t step = 8 + (size_t)get(bytes + at + 4, 4);
        if (step > length - at)
            return false;
        at += step;
    }
    if (length - at < 8)
        return false;
    for (size_t i = 0, from = at + 8; i < SOUND && from + 2 <= length; i++, from += 2)
        to[i] = (float)(int16_t)get(bytes + from, 2) / 32768;
    return true;
}

static int is_wav(const struct dirent *e)
{
    const char *dot = strrchr(e->d_name, '.');
    return dot != NULL && strcmp(dot, ".wav") == 0;
}

/* Noise that is white, rough (low), or a hum, of about `size` at most. */
typedef struct noise {
    uint64_t *seed;
    int kind;
    double size, last, turn, phase;
} noise;

static noise noise_of(uint64_t *seed, double size)
{
    noise n = {.seed = seed, .kind = tool_zoo_below(seed, 3), .size = size};
    n.turn = (60 + 200 * tool_zoo_chance(seed)) / 8000;
    n.phase = tool_zoo_chance(seed);
    return n;
}

static double noise_next(noise *n)
{
    const double white = tool_zoo_noise(n->seed);
    n->last = 0.9 * n->last + 0.4 * white;
    n->phase += n->turn;
    n->phase -= n->phase >= 1;
    if (n->kind == 0)
        return n->size * white;
    if (n->kind == 1)
        return n->size * n->last;
    return n->size * (0.7 * tool_zoo_wave(n->phase) + 0.3 * white);
}

/* ---- voice ---- */

/* A frame is speech if its mean square is above a hundredth of the loudest frame's. */
static void label_frames(const float *clean, float *y)
{
    double energy[FRAMES], most = 0;
    for (int f = 0; f < FRAMES; f++) {
        energy[f] = 0;
        for (int i = 0; i < WINDOW; i++)
            energy[f] += (double)clean[f * HOP + i] * (double)clean[f * HOP + i];
        most = energy[f] > most ? energy[f] : most;
    }
    for (int f = 0; f < FRAMES; f++)
        y[f] = energy[f] > 0.01 * most && most > 0;
}

static bool add_voice(tool_zoo_part *p, const float *sound, uint64_t *seed)
{
    static float clean[CLIP];
    float *y, *x = tool_zoo_next(p, &y);
    if (x == NULL)
        return false;
    const int start = tool_zoo_below(seed, CLIP - SPOKEN);
    noise n = noise_of(seed, 0.01 + 0.05 * tool_zoo_chance(seed));
    memset(clean, 0, sizeof clean);
    memcpy(clean + start, sound, SPOKEN * sizeof *sound);
    label_frames(clean, y);
    for (int i = 0; i < CLIP; i++)
        x[i] = (float)((double)clean[i] + noise_next(&n));
    return true;
}

/* ---- denoise ---- */

/* Three pieces of the sound at equal loudness; the baseline returns its input. */
static bool add_pieces(tool_zoo_part *p, const float *sound, uint64_t *seed)
{
    for (int k = 0; k < 3; k++) {
        float *y, *x = tool_zoo_next(p, &y);
        const float *from = sound + 300 + 600 * k;
        double most = 0.02;
        if (x == NULL)
            return false;
        for (int i = 0; i < PIECE; i++) {
            const double v = (double)(from[i] < 0 ? -from[i] : from[i]);
            most = v > most ? v : most;
        }
        noise n = noise_of(seed, 0.1 + 0.3 * tool_zoo_chance(seed));
        for (int i = 0; i < PIECE; i++) {
            y[i] = (float)((double)from[i] / most);
            x[i] = (float)((double)y[i] + noise_next(&n));
        }
    }
    return true;
}

static void measure_nothing(tool_zoo_part *p)
{
    double sum = 0;
    for (size_t i = 0; i < p->count * PIECE; i++)
        sum +=
            (double)(p->x.at[i] > p->y.at[i] ? p->x.at[i] - p->y.at[i] : p->y.at[i] - p->x.at[i]);
    p->baseline = sum / (double)(p->count * PIECE);
}

/* ---- all of it ---- */

/* "7_lucas_3.wav": digit, speaker, take. */
static bool add_sound(tool_zoo_job *job, const char *name, uint64_t *seed)
{
    static const char *const people[] = {"george", "jackson", "lucas", "yweweler"};
    static float sound[SOUND];
    char who[32], path[1200];
    int digit, take, speaker = 0;
    if (sscanf(name, "%d_%31[a-z]_%d.wav", &digit, who, &take) != 3 || digit < 0 || digit > 9)
        return true;
    while (speaker < PEOPLE && strcmp(people[speaker], who) != 0)
        speaker++;
    if (speaker == PEOPLE)
        return true;
    snprintf(path, sizeof path, "%s/%s", job->from, name);
    memset(sound, 0, sizeof sound);
    if (!read_wav(path, sound))
        return false;
    tool_zoo_part *p = take < 3 ? job->test : job->train;
    if (strcmp(job->how, "voice") == 0)
        return add_voice(p, sound, seed) && (p == job->test || add_voice(p, sound, seed));
    if (strcmp(job->how, "denoise") == 0)
        return add_pieces(p, sound, seed);
    float *x = tool_zoo_add(p, job->how[0] == 's' ? speaker : digit);
    if (x != NULL)
        memcpy(x, sound, sizeof sound);
    return x != NULL;
}

static void shape(tool_zoo_job *job)
{
    const int64_t whole[] = {SOUND, 0}, clip[] = {CLIP, 0}, frames[] = {FRAMES, 0};
    const int64_t piece[] = {PIECE, 0};
    if (strcmp(job->how, "voice") == 0)
        tool_zoo_shape(job, clip, false, frames, true);
    else if (strcmp(job->how, "denoise") == 0)
        tool_zoo_shape(job, piece, false, piece, false);
    else
        tool_zoo_shape(job, whole, false, NULL, true);
}

static bool make(tool_zoo_job *job)
{
    struct dirent **list = NULL;
    uint64_t seed = 1;
    const int count = scandir(job->from, &list, is_wav, alphasort);
    bool is_good = count > 0;
    shape(job);
    for (int i = 0; i < count; i++) {
        is_good = is_good && add_sound(job, list[i]->d_name, &seed);
        free(list[i]);
    }
    free(list);
    if (is_good && strcmp(job->how, "denoise") == 0)
        measure_nothing(job->test);
    return is_good;
}

const tool_zoo_source tool_zoo_source_speech = {
    .ways = {"digits", "speakers", "voice", "denoise"},
    .make = make,
};
