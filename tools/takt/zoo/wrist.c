/* wrist.c - HMP, an accelerometer at the wrist, 32 a second: three axes, 96 points (3 s).
 *
 *   falls      whether the wearer goes down: sits or lies down. There are no falls in HMP
 *   gait       walks, climbs or descends stairs
 *   forecast   64 points of any activity: the next 8 of each axis
 *
 * People with an even number are the test part. The archive is unpacked by gzip.
 */
#include <stdlib.h>
#include <string.h>

#include "process.h"
#include "zoo_data.h"

enum { AXES = 3, POINTS = 96, PAST = 64, NEXT = 8, BLOCK = 512, MOST = 1 << 16 };

typedef struct recording {
    const char *name; /* "Walk/Accelerometer-…-walk-f1.txt" */
    const char *text, *end;
    float (*at)[AXES];
    size_t count;
} recording;

/* Numbers from 0 to 63, -1.5 g to 1.5 g. */
static void read_points(recording *r)
{
    const char *at = r->text;
    for (r->count = 0; at < r->end && r->count < MOST; r->count++)
        for (int k = 0; k < AXES; k++) {
            double v;
            if (!tool_zoo_number(&at, &v) || at > r->end)
                return;
            r->at[r->count][k] = (float)((v - 32) / 16);
        }
}

static float *add(tool_zoo_part *p, const recording *r, size_t first, int points, float **y)
{
    float *x = tool_zoo_next(p, y);
    for (int k = 0; x != NULL && k < AXES; k++)
        for (int i = 0; i < points; i++)
            x[k * points + i] = r->at[first + (size_t)i][k];
    return x;
}

static bool add_forecast(tool_zoo_part *p, const recording *r)
{
    for (size_t at = 0; at + PAST + NEXT <= r->count; at += PAST) {
        float *y, *x = add(p, r, at, PAST, &y);
        if (x == NULL)
            return false;
        for (int k = 0; k < AXES; k++)
            for (int i = 0; i < NEXT; i++)
                y[k * NEXT + i] = r->at[at + PAST + (size_t)i][k];
    }
    return true;
}

static bool add_window(tool_zoo_part *p, const recording *r, size_t first, int label)
{
    float *y;
    if (add(p, r, first, POINTS, &y) == NULL)
        return false;
    y[0] = (float)label;
    return true;
}

static bool add_windows(tool_zoo_part *p, const recording *r, int label)
{
    bool is_good = true;
    for (size_t at = 0; is_good && at + POINTS <= r->count; at += POINTS / 2)
        is_good = add_window(p, r, at, label);
    return is_good;
}

/* The wearer goes down only briefly: the middle of a recording, and, for training, windows that
 * begin slightly before and after. */
static bool add_middle(const tool_zoo_job *job, tool_zoo_part *p, const recording *r, int label)
{
    enum { NEAR = 16 };
    if (r->count < POINTS + 2 * NEAR)
        return true;
    const size_t first = (r->count - POINTS) / 2;
    return add_window(p, r, first, label) &&
           (p == job->test ||
            (add_window(p, r, first - NEAR, label) && add_window(p, r, first + NEAR, label)));
}

static bool is_of(const recording *r, const char *folder)
{
    return strncmp(r->name, folder, strlen(folder)) == 0;
}

/* The class of a recording; -1: it is not used. */
static int label_of(const tool_zoo_job *job, const recording *r)
{
    if (strcmp(job->how, "falls") == 0)
        return is_of(r, "Liedown_bed/") || is_of(r, "Sitdown_chair/");
    return is_of(r, "Walk/") ? 0 : is_of(r, "Climb_stairs/") ? 1 : is_of(r, "Descend_") ? 2 : -1;
}

static bool add_recording(tool_zoo_job *job, recording *r)
{
    const char *dash = strrchr(r->name, '-'), *dot = strrchr(r->name, '.');
    if (dash == NULL || dot == NULL || dot < dash || strcmp(dot, ".txt") != 0)
        return true;
    tool_zoo_part *p = (dot[-1] - '0') % 2 == 0 ? job->test : job->train;
    read_points(r);
    if (strcmp(job->how, "forecast") == 0)
        return add_forecast(p, r);
    const int label = label_of(job, r);
    if (label < 0)
        return true;
    return job->how[0] == 'f' ? add_middle(job, p, r, label) : add_windows(p, r, label);
}

/* Repeats the last value. */
static void measure_last(tool_zoo_part *p)
{
    double sum = 0;
    for (size_t i = 0; i < p->count * AXES; i++)
        for (int k = 0; k < NEXT; k++) {
            const double d =
                (double)p->x.at[i * PAST + PAST - 1] - (double)p->y.at[i * NEXT + (size_t)k];
            sum += d < 0 ? -d : d;
        }
    p->baseline = sum / (double)(p->count * AXES * NEXT);
}

/* The files of a tar archive, in order. */
static bool over_files(tool_zoo_job *job, char *tar, size_t length, recording *r)
{
    for (size_t at = 0; length - at >= BLOCK && tar[at] != '\0';) {
        char size[13] = {0};
        memcpy(size, tar + at + 124, 12);
        const size_t bytes = (size_t)strtoull(size, NULL, 8);
        if (bytes > length - at - BLOCK)
            return false;
        tar[at + 99] = '\0';
        *r = (recording){.name = tar + at, .text = tar + at + BLOCK, .at = r->at};
        r->end = r->text + bytes;
        if (!add_recording(job, r))
            return false;
        const size_t whole = BLOCK + (bytes + BLOCK - 1) / BLOCK * BLOCK;
        at += whole < length - at ? whole : length - at;
    }
    return true;
}

static bool make(tool_zoo_job *job)
{
    const int64_t windows[] = {AXES, POINTS, 0}, past[] = {AXES, PAST, 0}, next[] = {AXES, NEXT, 0};
    tool_command c = {0};
    tool_buffer tar = {0};
    recording r = {.at = malloc(MOST * sizeof *r.at)};
    const bool is_forecast = strcmp(job->how, "forecast") == 0;
    if (is_forecast)
        tool_zoo_shape(job, past, false, next, false);
    else
        tool_zoo_shape(job, windows, false, NULL, true);
    tool_command_add(&c, "gzip");
    tool_command_add(&c, "-dc");
    tool_command_add(&c, "%s/hmp.tar.gz", job->from);
    const bool is_good = r.at != NULL && tool_spawn(&c, &tar, NULL) == 0 && tar.at != NULL &&
                         over_files(job, tar.at, tar.length, &r);
    if (is_good && is_forecast)
        measure_last(job->test);
    tool_command_free(&c);
    free(tar.at);
    free(r.at);
    return is_good;
}

const tool_zoo_source tool_zoo_source_wrist = {
    .ways = {"falls", "gait", "forecast"},
    .make = make,
};
