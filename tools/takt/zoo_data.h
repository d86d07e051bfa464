/* zoo_data.h - data of the zoo as samples: a training and a test part.
 *
 * A file of tools/takt/zoo makes samples of one source, in one or several ways, which recipes name.
 * Nothing there depends on a library's floating-point functions or on the order of a folder, so
 * that samples have the same bits everywhere.
 */
#ifndef TAKT_TOOL_ZOO_DATA_H
#define TAKT_TOOL_ZOO_DATA_H

#include "tool.h"

enum { TOOL_ZOO_AXES = 3, TOOL_ZOO_WAYS = 8 };

/* Numbers of every sample. */
typedef struct tool_zoo_array {
    int64_t dims[TOOL_ZOO_AXES]; /* of one sample; 0 ends them */
    bool is_whole;               /* integers: tokens, class numbers */
    size_t size;
    float *at;
} tool_zoo_array;

typedef struct tool_zoo_part {
    tool_zoo_array x, y; /* inputs, and targets */
    size_t count, capacity;
    /* Mean absolute error of an answer that needs no model, such as the last value; below 0: that
     * of the mean of the training part. */
    double baseline;
} tool_zoo_part;

typedef struct tool_zoo_job {
    const takt_tool *t;
    const char *how, *from; /* of the recipe; the folder with data, or "" */
    tool_zoo_part *train, *test;
} tool_zoo_job;

typedef struct tool_zoo_source {
    const char *ways[TOOL_ZOO_WAYS]; /* their names in recipes */
    bool (*make)(tool_zoo_job *job);
} tool_zoo_source;

/* ---- samples ---- */

/* Shapes of both parts; dims end with 0. `y` NULL: one class number. `x` holds integers if it is
 * tokens, `y` if it is classes. */
void tool_zoo_shape(tool_zoo_job *job, const int64_t *x, bool x_is_whole, const int64_t *y,
                    bool y_is_whole);
/* One more sample, all zero: its x, and its y unless NULL. NULL: out of memory. */
float *tool_zoo_next(tool_zoo_part *p, float **y);
/* One more sample of class `label`. */
float *tool_zoo_add(tool_zoo_part *p, int label);

/* ---- numbers ---- */

/* A number from 0 to 1, and an integer below `count`. */
double tool_zoo_chance(uint64_t *seed);
int tool_zoo_below(uint64_t *seed, int count);
/* About Gaussian: mean 0, deviation 0.5, never beyond 1.5. */
double tool_zoo_noise(uint64_t *seed);
/* The sine of 2 pi `turns`, by a polynomial: not exact to the last bit, but the same everywhere. */
double tool_zoo_wave(double turns);
/* The next number of a text, correctly rounded. */
bool tool_zoo_number(const char **at, double *value);

/* ---- files ---- */

/* A whole file with a terminating 0, to be freed; NULL: it cannot be read. */
char *tool_zoo_read(const char *folder, const char *name, size_t *length);

/* Samples of each class in a data set of pictures. */
typedef struct tool_zoo_pictures {
    size_t count, size;
    float *at; /* 0 to 1 */
    int *label;
} tool_zoo_pictures;

/* The first `count` samples of a part ("train", "test"). */
bool tool_zoo_pictures_open(const tool_zoo_job *job, const char *split, size_t count,
                            tool_zoo_pictures *p);
void tool_zoo_pictures_free(tool_zoo_pictures *p);

/* Prepares the data of recipe `how` from the folder `from`, which may be "", as train.npz and
 * test.npz in `to`. `chance` receives the score by `metric` of answers without a model. Returns an
 * exit code; errors are printed. */
int tool_zoo_prepare(const takt_tool *t, const char *how, const char *from, const char *to,
                     const char *metric, double *chance);

#endif
