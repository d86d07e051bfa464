/* schedule.h - the learning rate over the steps of a training run. */
#ifndef TAKT_TRAIN_SCHEDULE_H
#define TAKT_TRAIN_SCHEDULE_H

#include "train/hyper.h"

enum { TAKT_SCHEDULE_HYPERS = 4 };

typedef struct takt_schedule {
    const struct takt_schedule_kind *kind;
    double hyper[TAKT_SCHEDULE_HYPERS];
    uint64_t warmup, steps;
    /* of plateau: */
    double scale, best;
    uint64_t bad; /* observations without improvement */
} takt_schedule;

typedef struct takt_schedule_kind {
    const char *name, *summary;
    takt_hyper hyper[TAKT_SCHEDULE_HYPERS];
    bool needs_steps; /* the length of the training must be known */
    bool warms_up;    /* has its own warm-up: `warmup` is not accepted */
    /* The factor at `step` of `steps`, both counted after the warm-up, from 0. */
    double (*factor)(const takt_schedule *s, uint64_t step, uint64_t steps);
} takt_schedule_kind;

extern const takt_schedule_kind takt_schedules[];
extern const size_t takt_schedule_count;

TAKT_MUST_USE takt_status takt_schedule_parse(takt_ctx *ctx, const char *text, takt_schedule *s);
/* The factor of the learning rate at a step, counted from 0. */
double takt_schedule_factor(const takt_schedule *s, uint64_t step);
/* A validation loss, for plateau. */
void takt_schedule_observe(takt_schedule *s, double loss);

#endif
