/* adaround.c - weights rounded up or down so that the product on inputs like those of the data
 * changes least.
 *
 * The objective is AdaRound's (M. Nagel and others, 2020): with e the error of a row and H = x' x,
 * e' H e over all ways to round each weight to one of its two neighbours. It is solved by
 * coordinate descent, starting from the nearest levels, until no weight improves. */
#include <math.h>

#include "shrink/gptq.h"

enum { ROUNDS = 32 };

/* A row in progress: errors, and half the gradient of the objective. */
typedef struct row {
    const double *x, *moments;
    int8_t *level;
    const float *scale;
    double *error, *slope;
    int64_t count, block;
    int most;
} row;

static double scale_at(const row *r, int64_t k)
{
    return (double)r->scale[k / r->block];
}

static void begin(row *r)
{
    for (int64_t k = 0; k < r->count; k++)
        r->error[k] = r->level[k] * scale_at(r, k) - r->x[k];
    for (int64_t i = 0; i < r->count; i++) {
        double sum = 0;
        for (int64_t k = 0; k < r->count; k++)
            sum += r->moments[i * r->count + k] * r->error[k];
        r->slope[i] = sum;
    }
}

/* Moves to the neighbour on the other side of the weight, if that is better. */
static bool flip_rounding(row *r, int64_t k)
{
    const double scale = scale_at(r, k), here = r->x[k] / scale;
    const int level = r->level[k] <= here ? r->level[k] + 1 : r->level[k] - 1;
    const double step = (level - r->level[k]) * scale;
    const double gain = 2 * step * r->slope[k] + step * step * r->moments[k * r->count + k];
    if (level > r->most || level < -r->most || fabs(level - here) >= 1 || !(gain < 0))
        return false;
    r->level[k] = (int8_t)level;
    r->error[k] += step;
    for (int64_t i = 0; i < r->count; i++)
        r->slope[i] += step * r->moments[k * r->count + i];
    return true;
}

takt_status takt_adaround_round(takt_arena *arena, const takt_quant_form *form,
                                const double *values, const double *moments, takt_quant_weights *w)
{
    const takt_shrink_layer *l = form->layer;
    const int64_t n = l->inner;
    takt_arena room;
    TAKT_TRY(takt_quant_weights_make(arena, form->base, l, form->kind, values, w));
    takt_arena_init(&room, arena->ctx);
    row r = {.error = takt_arena_array(&room, (size_t)n, sizeof *r.error),
             .slope = takt_arena_array(&room, (size_t)n, sizeof *r.slope),
             .count = n,
             .block = form->kind->block > 0 ? form->kind->block : n,
             .most = (1 << (form->kind->weight_bits - 1)) - 1};
    const bool has_room = r.error != NULL && r.slope != NULL;
    for (int64_t i = 0; has_room && i < l->rows; i++) {
        bool changed = true;
        r.x = values + i * n;
        r.moments = moments + i / (l->rows / l->groups) * n * n;
        r.level = w->level + i * n;
        r.scale = w->scale + i * w->blocks;
        begin(&r);
        for (int round = 0; changed && round < ROUNDS; round++) {
            changed = false;
            for (int64_t k = 0; k < n; k++)
                changed |= flip_rounding(&r, k);
        }
    }
    takt_arena_deinit(&room);
    return has_room ? TAKT_OK : TAKT_ERR_MEMORY;
}
