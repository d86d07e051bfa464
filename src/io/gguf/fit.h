/* fit.h - scales and levels with the least error for a block of weights.
 *
 * The searches follow ggml's reference, including its order of float operations, so blocks are
 * byte-identical. `weight` is the weight of each element's error.
 */
#ifndef TAKT_IO_GGUF_FIT_H
#define TAKT_IO_GGUF_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TAKT_FIT_MOST = 32 }; /* most elements that share a scale */

typedef struct takt_fit {
    const float *x;
    const float *weight;
    int count;
    int most;       /* the highest level; around zero: levels are -most to most - 1 */
    uint8_t *level; /* per element; offset by `most` around zero */
} takt_fit;

/* Half to even. */
int takt_fit_nearest(float x);
/* x = scale * (level - most): nineteen scales are tried. `weight` may be NULL: x squared. */
float takt_fit_around(const takt_fit *f);
/* The same, but changes one level at a time, weighted by x squared. */
float takt_fit_descend(const takt_fit *f);
/* The scales that takt_fit_from tries: levels from most + first on, `count` steps of `step`. */
typedef struct takt_fit_steps {
    float first, step;
    int count;
    bool by_size; /* absolute instead of squared errors */
} takt_fit_steps;
/* x = scale * level - *least. */
float takt_fit_from(const takt_fit *f, const takt_fit_steps *steps, float *least);
/* x = scale * level, for non-negative numbers. */
float takt_fit_positive(const takt_fit *f);

#endif
