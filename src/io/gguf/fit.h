/* fit.h - scales and levels that cost a block of weights least.
 *
 * The searches are those of ggml's reference, in its order of float operations: the bytes of a
 * block are its bytes. `weight` says how much the error of each element counts.
 */
#ifndef TAKT_IO_GGUF_FIT_H
#define TAKT_IO_GGUF_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TAKT_FIT_MOST = 32 }; /* elements that share a scale, at most */

typedef struct takt_fit {
    const float *x;
    const float *weight;
    int count;
    int most;       /* the highest level; around zero: levels are -most to most - 1 */
    uint8_t *level; /* of each element; those around zero are `most` higher */
} takt_fit;

/* Half to even. */
int takt_fit_nearest(float x);
/* x = scale * (level - most): nineteen scales are tried. `weight` may be NULL: x squared. */
float takt_fit_around(const takt_fit *f);
/* The same by changing one level after another, with weights of x squared. */
float takt_fit_descend(const takt_fit *f);
/* Which scales takt_fit_from tries: levels from most + first on, `count` steps of `step`. */
typedef struct takt_fit_steps {
    float first, step;
    int count;
    bool by_size; /* errors count by their size, not by its square */
} takt_fit_steps;
/* x = scale * level - *least. */
float takt_fit_from(const takt_fit *f, const takt_fit_steps *steps, float *least);
/* x = scale * level, of numbers that are not negative. */
float takt_fit_positive(const takt_fit *f);

#endif
