/* zoo_data.c - data of the zoo as samples. Nothing here depends on a library's functions of real
 * numbers, so that samples have the same bits everywhere. */
#define _GNU_SOURCE
#include "zoo_data.h"

#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SOUND = 5600, BEAT = 140, CHANNELS = 6, POINTS = 100, WAVE = 256, KINDS = 4 };

/* Samples of `size` numbers. */
typedef struct part {
    float *x;
    uint8_t *label;
    size_t count, capacity, size;
    uint32_t dims[2]; /* of a sample; the second 0: a row */
    bool is_broken;
} part;

static float *add(part *p, int label)
{
    if (p->count == p->capacity) {
        const size_t more = p->capacity > 0 ? 2 * p->capacity : 64;
        float *x = realloc(p->x, more * p->size * sizeof *x);
        p->x = x != NULL ? x : p->x;
        uint8_t *l = x != NULL ? realloc(p->label, more) : NULL;
        p->label = l != NULL ? l : p->label;
        p->is_broken = p->is_broken || l == NULL;
        if (p->is_broken)
            return NULL;
        p->capacity = more;
    }
    float *to = p->x + p->count * p->size;
    memset(to, 0, p->size * sizeof *to);
    p->label[p->count++] = (uint8_t)label;
    return to;
}

/* ---- IDX ---- */

static void put32(FILE *f, uint32_t v)
{
    const uint8_t bytes[] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
    (void)fwrite(bytes, 1, 4, f);
}

static FILE *create(const char *folder, const char *name, uint32_t kind, size_t count)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (f == NULL)
        return NULL;
    put32(f, kind);
    put32(f, (uint32_t)count);
    return f;
}

static bool finished(FILE *f)
{
    const bool is_good = f != NULL && !ferror(f);
    return f != NULL && fclose(f) == 0 && is_good;
}

static bool write_part(const part *p, const char *folder, bool is_test)
{
    FILE *f = create(folder, is_test ? "t10k-labels-idx1-ubyte" : "train-labels-idx1-ubyte", 0x0801,
                     p->count);
    if (f != NULL)
        (void)fwrite(p->label, 1, p->count, f);
    if (!finished(f))
        return false;
    const uint32_t rank = p->dims[1] > 0 ? 3 : 2;
    f = create(folder, is_test ? "t10k-images-idx3-ubyte" : "train-images-idx3-ubyte",
               0x0d00 | rank, p->count);
    for (uint32_t d = 0; f != NULL && d + 1 < rank; d++)
        put32(f, p->dims[d]);
    for (size_t i = 0; f != NULL && i < p->count * p->size; i++) {
        uint32_t bits;
        memcpy(&bits, &p->x[i], sizeof bits);
        put32(f, bits);
    }
    return finished(f);
}

/* ---- sounds ---- */

static uint32_t get(const uint8_t *at, int bytes)
{
    uint32_t v = 0;
    for (int i = bytes; i-- > 0;)
        v = v << 8 | at[i];
    return v;
}

/* 16 bits, one channel, from the chunk "data"; what is longer is cut. */
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

/* "7_lucas_3.wav": what is said, by whom, which take. */
static bool add_sound(part parts[2], const char *folder, const char *name, bool is_speaker)
{
    static const char *const people[] = {"george", "jackson", "lucas", "yweweler"};
    char who[32], path[1200];
    int digit, take, speaker = 0;
    if (sscanf(name, "%d_%31[a-z]_%d.wav", &digit, who, &take) != 3 || digit < 0 || digit > 9)
        return true;
    while (speaker < KINDS && strcmp(people[speaker], who) != 0)
        speaker++;
    if (speaker == KINDS)
        return true;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    float *x = add(&parts[take < 3], is_speaker ? speaker : digit);
    return x != NULL && read_wav(path, x);
}

static bool sounds(part parts[2], const char *folder, bool is_speaker)
{
    struct dirent **list = NULL;
    const int count = scandir(folder, &list, is_wav, alphasort);
    bool is_good = count > 0;
    parts[0].size = parts[1].size = parts[0].dims[0] = parts[1].dims[0] = SOUND;
    for (int i = 0; i < count; i++) {
        is_good = is_good && add_sound(parts, folder, list[i]->d_name, is_speaker);
        free(list[i]);
    }
    free(list);
    return is_good;
}

/* ---- tables ---- */

/* The next number of a text; the C library rounds it correctly, so it is the same everywhere. */
static bool number(const char **at, double *value)
{
    char *end;
    *value = strtod(*at, &end);
    const bool is_there = end != *at;
    *at = end;
    return is_there;
}

static bool beats(part parts[2], const char *folder)
{
    static char line[1 << 14];
    char path[1200];
    snprintf(path, sizeof path, "%s/ECG5000_TRAIN.txt", folder);
    FILE *f = fopen(path, "r");
    bool is_good = f != NULL;
    parts[0].size = parts[1].size = parts[0].dims[0] = parts[1].dims[0] = BEAT;
    for (size_t row = 0; is_good && fgets(line, sizeof line, f) != NULL; row++) {
        const char *at = line;
        double v;
        is_good = number(&at, &v);
        float *x = is_good ? add(&parts[row % 4 == 3], v != 1) : NULL;
        for (int i = 0; i < BEAT && x != NULL && is_good; i++) {
            is_good = number(&at, &v);
            x[i] = (float)v;
        }
        is_good = is_good && x != NULL;
    }
    if (f != NULL)
        (void)fclose(f);
    return is_good;
}

/* Lines of six series with colons between them, and the name of what was done. */
static bool motions_of(part *p, const char *folder, const char *name)
{
    static const char *const kinds[] = {"Standing", "Running", "Walking", "Badminton"};
    static char line[1 << 15];
    char path[1200];
    bool is_good = true, is_data = false;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    p->size = CHANNELS * POINTS;
    p->dims[0] = CHANNELS;
    p->dims[1] = POINTS;
    while (f != NULL && is_good && fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        if (!is_data || line[0] == '\0') {
            is_data = is_data || strcmp(line, "@data") == 0;
            continue;
        }
        const char *word = strrchr(line, ':'), *at = line;
        int kind = 0;
        while (word != NULL && kind < KINDS && strcmp(word + 1, kinds[kind]) != 0)
            kind++;
        float *x = word != NULL && kind < KINDS ? add(p, kind) : NULL;
        is_good = x != NULL;
        for (int i = 0; i < CHANNELS * POINTS && is_good; i++) {
            double v;
            is_good = number(&at, &v) && (*at == ',' || *at == ':');
            at += *at != '\0';
            x[i] = (float)v;
        }
    }
    if (f != NULL)
        (void)fclose(f);
    return f != NULL && is_good && p->count > 0;
}

/* ---- vibration ---- */

/* SplitMix64, and a number from 0 to 1. */
static double chance(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15;
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* The sine of 2 pi `turns`, by a polynomial: a wave, not to the last bit but the same everywhere.
 */
static double wave(double turns)
{
    double t = turns - (double)(int64_t)turns;
    t = t > 0.5 ? t - 1 : t;
    const double x = t * 6.283185307179586, y = x * x;
    return x * (1 - y / 6 * (1 - y / 20 * (1 - y / 42 * (1 - y / 72 * (1 - y / 110)))));
}

static bool vibration(part *p, uint64_t seed, size_t count)
{
    p->size = p->dims[0] = WAVE;
    for (size_t i = 0; i < count; i++) {
        const int kind = (int)(i % KINDS);
        float *x = add(p, kind);
        if (x == NULL)
            return false;
        const double turn = (20 + 12 * chance(&seed)) / 2048, phase = chance(&seed);
        const double size = 0.6 + 0.8 * chance(&seed), other = chance(&seed);
        const double first = kind == 1 ? 1.0 : 0.35, second = kind == 2 ? 0.8 : 0.1;
        double ring = 0, knock = chance(&seed);
        for (int k = 0; k < WAVE; k++) {
            double v = first * wave(turn * k + phase) + second * wave(2 * turn * k + other);
            knock += 3.6 * turn;
            if (knock >= 1) {
                knock -= 1;
                ring = kind == 3 ? 0.9 : 0;
            }
            v += ring * wave(0.21 * k);
            ring *= 0.88;
            v += 1.1 * (chance(&seed) + chance(&seed) + chance(&seed) - 1.5);
            x[k] = (float)(size * v);
        }
    }
    return true;
}

bool tool_zoo_prepare(const takt_tool *t, const char *how, const char *from, const char *to)
{
    enum { TRAIN = 1600, TEST = 800 };
    part parts[2] = {{0}};
    bool is_good = false;
    if (strcmp(how, "digits") == 0 || strcmp(how, "speakers") == 0)
        is_good = sounds(parts, from, how[0] == 's');
    else if (strcmp(how, "beats") == 0)
        is_good = beats(parts, from);
    else if (strcmp(how, "motions") == 0)
        is_good = motions_of(&parts[0], from, "BasicMotions_TRAIN.ts") &&
                  motions_of(&parts[1], from, "BasicMotions_TEST.ts");
    else if (strcmp(how, "vibration") == 0)
        is_good = vibration(&parts[0], 1, TRAIN) && vibration(&parts[1], 2, TEST);
    if (!is_good)
        (void)tool_usage_error(t, 1003, "`takt zoo show` tells where the data comes from",
                               "%s holds no data of the kind %s", from, how);
    for (int i = 0; i < 2 && is_good; i++) {
        is_good = write_part(&parts[i], to, i == 1);
        if (!is_good)
            (void)tool_usage_error(t, 1003, NULL, "cannot write samples to %s", to);
    }
    for (int i = 0; i < 2; i++) {
        free(parts[i].x);
        free(parts[i].label);
    }
    return is_good;
}
