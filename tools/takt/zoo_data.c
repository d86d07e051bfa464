/* zoo_data.c - samples of the zoo: collected, written, and the score without a model. */
#include "zoo_data.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <takt/array.h>
#include <takt/data.h>

#define TAKT_ZOO(stem) extern const tool_zoo_source tool_zoo_source_##stem;
#include "zoo_list.inc"
#undef TAKT_ZOO

static const tool_zoo_source *const sources[] = {
#define TAKT_ZOO(stem) &tool_zoo_source_##stem,
#include "zoo_list.inc"
#undef TAKT_ZOO
};

/* ---- samples ---- */

static void set_shape(tool_zoo_array *a, const int64_t *dims, bool is_whole)
{
    a->size = 1;
    a->is_whole = is_whole;
    for (int i = 0; i < TOOL_ZOO_AXES && dims != NULL && dims[i] > 0; i++) {
        a->dims[i] = dims[i];
        a->size *= (size_t)dims[i];
    }
}

void tool_zoo_shape(tool_zoo_job *job, const int64_t *x, bool x_is_whole, const int64_t *y,
                    bool y_is_whole)
{
    tool_zoo_part *const parts[] = {job->train, job->test};
    for (int i = 0; i < 2; i++) {
        set_shape(&parts[i]->x, x, x_is_whole);
        set_shape(&parts[i]->y, y, y_is_whole);
        parts[i]->baseline = -1;
    }
}

static bool grow(tool_zoo_array *a, size_t count)
{
    float *more = realloc(a->at, count * a->size * sizeof *more);
    a->at = more != NULL ? more : a->at;
    return more != NULL;
}

float *tool_zoo_next(tool_zoo_part *p, float **y)
{
    if (p->count == p->capacity) {
        const size_t more = p->capacity > 0 ? 2 * p->capacity : 64;
        if (!grow(&p->x, more) || !grow(&p->y, more))
            return NULL;
        p->capacity = more;
    }
    float *to = p->x.at + p->count * p->x.size, *target = p->y.at + p->count * p->y.size;
    memset(to, 0, p->x.size * sizeof *to);
    memset(target, 0, p->y.size * sizeof *target);
    p->count++;
    if (y != NULL)
        *y = target;
    return to;
}

float *tool_zoo_add(tool_zoo_part *p, int label)
{
    float *y, *x = tool_zoo_next(p, &y);
    if (x != NULL)
        y[0] = (float)label;
    return x;
}

/* ---- numbers ---- */

/* SplitMix64. */
double tool_zoo_chance(uint64_t *seed)
{
    *seed += 0x9e3779b97f4a7c15;
    uint64_t z = *seed;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

int tool_zoo_below(uint64_t *seed, int count)
{
    return (int)(tool_zoo_chance(seed) * count);
}

double tool_zoo_noise(uint64_t *seed)
{
    double sum = tool_zoo_chance(seed);
    sum += tool_zoo_chance(seed);
    return sum + tool_zoo_chance(seed) - 1.5;
}

double tool_zoo_wave(double turns)
{
    double t = turns - (double)(int64_t)turns;
    t = t > 0.5 ? t - 1 : t;
    const double x = t * 6.283185307179586, y = x * x;
    return x * (1 - y / 6 * (1 - y / 20 * (1 - y / 42 * (1 - y / 72 * (1 - y / 110)))));
}

bool tool_zoo_number(const char **at, double *value)
{
    char *end;
    *value = strtod(*at, &end);
    const bool is_there = end != *at;
    *at = end;
    return is_there;
}

/* ---- files ---- */

char *tool_zoo_read(const char *folder, const char *name, size_t *length)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    long size = -1;
    if (f != NULL && fseek(f, 0, SEEK_END) == 0)
        size = ftell(f);
    char *text = size >= 0 ? malloc((size_t)size + 1) : NULL;
    if (text != NULL) {
        rewind(f);
        *length = fread(text, 1, (size_t)size, f);
        text[*length] = '\0';
    }
    if (f != NULL)
        (void)fclose(f);
    return text;
}

static bool take_pictures(const takt_data *data, tool_zoo_pictures *p)
{
    const takt_tensor_view x = {
        .dtype = TAKT_F32, .rank = 2, .dims = {(int64_t)p->count, (int64_t)p->size}, .data = p->at};
    int64_t *labels = calloc(p->count, sizeof *labels);
    uint64_t *rows = calloc(p->count, sizeof *rows);
    bool is_good = labels != NULL && rows != NULL;
    const takt_tensor_view y = {
        .dtype = TAKT_I64, .rank = 1, .dims = {(int64_t)p->count}, .data = labels};
    for (size_t i = 0; is_good && i < p->count; i++)
        rows[i] = i;
    is_good = is_good && takt_data_take(data, "x", rows, p->count, &x) == TAKT_OK;
    if (is_good && takt_data_field_count(data) > 1)
        is_good = takt_data_take(data, "labels", rows, p->count, &y) == TAKT_OK;
    for (size_t i = 0; is_good && i < p->count; i++)
        p->label[i] = labels[i] >= 0 && labels[i] <= INT_MAX ? (int)labels[i] : -1;
    free(labels);
    free(rows);
    return is_good;
}

bool tool_zoo_pictures_open(const tool_zoo_job *job, const char *split, size_t count,
                            tool_zoo_pictures *p)
{
    const takt_data_options options = {.split = split, .limit = count};
    takt_data *data = NULL;
    *p = (tool_zoo_pictures){0};
    if (takt_data_open(job->t->ctx, job->from, &options, &data) != TAKT_OK)
        return false;
    const takt_desc *d = takt_data_field(data, 0);
    p->count = (size_t)takt_data_count(data);
    p->size = 1;
    for (int i = 1; i < d->rank; i++)
        p->size *= (size_t)d->dims[i];
    p->at = calloc(p->count * p->size, sizeof *p->at);
    p->label = calloc(p->count, sizeof *p->label);
    const bool is_good =
        p->count > 0 && p->at != NULL && p->label != NULL && take_pictures(data, p);
    takt_data_destroy(data);
    return is_good;
}

void tool_zoo_pictures_free(tool_zoo_pictures *p)
{
    free(p->at);
    free(p->label);
}

/* A view of all samples of an array; integers are copied to `whole`, which is the caller's. */
static bool view_of(const tool_zoo_array *a, size_t count, int64_t **whole, takt_tensor_view *v)
{
    *v = (takt_tensor_view){.dtype = TAKT_F32, .rank = 1, .dims = {(int64_t)count}, .data = a->at};
    for (int i = 0; i < TOOL_ZOO_AXES && a->dims[i] > 0; i++)
        v->dims[v->rank++] = a->dims[i];
    *whole = NULL;
    if (!a->is_whole)
        return true;
    *whole = malloc(count * a->size * sizeof **whole);
    for (size_t i = 0; *whole != NULL && i < count * a->size; i++)
        (*whole)[i] = (int64_t)a->at[i];
    v->dtype = TAKT_I64;
    v->data = *whole;
    return *whole != NULL;
}

static takt_status write_part(const takt_tool *t, const tool_zoo_part *p, const char *folder,
                              const char *name)
{
    static const char *const names[] = {"x", "labels"};
    char path[1200];
    int64_t *whole[2] = {NULL, NULL};
    takt_tensor_view views[2];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const bool is_held = view_of(&p->x, p->count, &whole[0], &views[0]) &&
                         view_of(&p->y, p->count, &whole[1], &views[1]);
    const takt_status status =
        is_held ? takt_npz_save(t->ctx, path, names, views, 2) : TAKT_ERR_MEMORY;
    free(whole[0]);
    free(whole[1]);
    return status;
}

/* ---- what needs no model ---- */

/* The most frequent class for every row: its share, or its F1 score averaged over classes. Of two
 * classes, the F1 score of answering 1 always. */
static double chance_of_classes(const tool_zoo_part *p, bool is_f1)
{
    enum { CLASSES = 256 };
    double counts[CLASSES] = {0}, all = 0;
    int best = 0, classes = 0;
    for (size_t i = 0; i < p->count * p->y.size; i++) {
        const int label = (int)p->y.at[i];
        if (label < 0 || label >= CLASSES)
            continue;
        counts[label]++;
        all++;
        classes = label >= classes ? label + 1 : classes;
        best = counts[label] > counts[best] ? label : best;
    }
    const int answer = is_f1 && classes == 2 ? 1 : best;
    const double share = all > 0 ? counts[answer] / all : 0, f1 = 2 * share / (1 + share);
    if (!is_f1)
        return share;
    return classes > 2 ? f1 / classes : f1;
}

/* Mean absolute error of the training part's mean, element by element. */
static double chance_of_numbers(const tool_zoo_part *train, const tool_zoo_part *test)
{
    double sum = 0;
    if (test->baseline >= 0)
        return test->baseline;
    for (size_t k = 0; k < test->y.size; k++) {
        double mean = 0;
        for (size_t i = 0; i < train->count; i++)
            mean += (double)train->y.at[i * train->y.size + k];
        mean /= (double)train->count;
        for (size_t i = 0; i < test->count; i++)
            sum += fabs((double)test->y.at[i * test->y.size + k] - mean);
    }
    return sum / (double)(test->count * test->y.size);
}

static const tool_zoo_source *find(const char *how)
{
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        for (int k = 0; k < TOOL_ZOO_WAYS && sources[i]->ways[k] != NULL; k++)
            if (strcmp(sources[i]->ways[k], how) == 0)
                return sources[i];
    return NULL;
}

int tool_zoo_prepare(const takt_tool *t, const char *how, const char *from, const char *to,
                     const char *metric, double *chance)
{
    tool_zoo_part train = {.baseline = -1}, test = train;
    tool_zoo_job job = {t, how, from, &train, &test};
    const tool_zoo_source *source = find(how);
    int code = TAKT_EXIT_OK;
    if (source == NULL || !source->make(&job) || train.count == 0 || test.count == 0) {
        code = tool_usage_error(t, 1003, "`takt zoo show` tells where the data comes from",
                                "%s holds no data of the kind %s", from, how);
    } else {
        *chance = strcmp(metric, "mae") == 0 ? chance_of_numbers(&train, &test)
                                             : chance_of_classes(&test, strcmp(metric, "f1") == 0);
        takt_status status = write_part(t, &train, to, "train.npz");
        if (status == TAKT_OK)
            status = write_part(t, &test, to, "test.npz");
        code = tool_finish(t, status);
    }
    free(train.x.at);
    free(train.y.at);
    free(test.x.at);
    free(test.y.at);
    return code;
}
