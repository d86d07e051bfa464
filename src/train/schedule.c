/* schedule.c - the learning rate over the steps of a training run. */
#include "train/schedule.h"

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static double progress(uint64_t step, uint64_t steps)
{
    return steps == 0 || step >= steps ? 1 : (double)step / (double)steps;
}

static double constant(const takt_schedule *s, uint64_t step, uint64_t steps)
{
    (void)s, (void)step, (void)steps;
    return 1;
}

enum { EVERY, FACTOR };
static double stairs(const takt_schedule *s, uint64_t step, uint64_t steps)
{
    (void)steps;
    return pow(s->hyper[FACTOR], (double)(step / (uint64_t)s->hyper[EVERY]));
}

enum { FLOOR };
static double cosine(const takt_schedule *s, uint64_t step, uint64_t steps)
{
    const double low = s->hyper[FLOOR];
    return low + (1 - low) * (1 + cos(pi * progress(step, steps))) / 2;
}

static double linear(const takt_schedule *s, uint64_t step, uint64_t steps)
{
    const double low = s->hyper[FLOOR];
    return low + (1 - low) * (1 - progress(step, steps));
}

/* Up from 1 / divisor along a half cosine, then down to 1 / (divisor * last) along another. */
enum { RISE, DIVISOR, LAST };
static double one_cycle(const takt_schedule *s, uint64_t step, uint64_t steps)
{
    const double first = 1 / s->hyper[DIVISOR], last = first / s->hyper[LAST];
    const double top = s->hyper[RISE] * (double)steps - 1, end = (double)steps - 1;
    const double at = (double)(step < steps ? step : steps - (steps > 0));
    const bool rises = at <= top;
    const double from = rises ? first : 1, to = rises ? 1 : last;
    const double share = rises ? (top > 0 ? at / top : 1) : (at - top) / (end - top);
    return to + (from - to) * (1 + cos(pi * share)) / 2;
}

enum { DROP, PATIENCE, THRESHOLD, LEAST };
static double plateau(const takt_schedule *s, uint64_t step, uint64_t steps)
{
    (void)step, (void)steps;
    return s->scale;
}

const takt_schedule_kind takt_schedules[] = {
    {.name = "constant", .summary = "the same rate at every step", .factor = constant},
    {.name = "step",
     .summary = "the rate times a factor every N steps",
     .hyper = {[EVERY] = {"every", 1000, 1, 1e15, "steps between two drops"},
               [FACTOR] = {"factor", 0.1, 0, 1, "what remains of the rate"}},
     .factor = stairs},
    {.name = "cosine",
     .summary = "from the rate to its floor along half a cosine",
     .hyper = {[FLOOR] = {"floor", 0, 0, 1, "share of the rate at the end"}},
     .needs_steps = true,
     .factor = cosine},
    {.name = "linear",
     .summary = "from the rate to its floor in a straight line",
     .hyper = {[FLOOR] = {"floor", 0, 0, 1, "share of the rate at the end"}},
     .needs_steps = true,
     .factor = linear},
    {.name = "one_cycle",
     .summary = "up to the rate and down again, along cosines",
     .hyper = {[RISE] = {"rise", 0.3, 0, 1, "share of the steps on the way up"},
               [DIVISOR] = {"divisor", 25, 1, 1e9, "the first rate is rate / divisor"},
               [LAST] = {"last", 1e4, 1, 1e12, "the last is that / last"}},
     .needs_steps = true,
     .warms_up = true,
     .factor = one_cycle},
    {.name = "plateau",
     .summary = "the rate times a factor when the validation loss stops falling",
     .hyper = {[DROP] = {"factor", 0.1, 0, 1, "what remains of the rate"},
               [PATIENCE] = {"patience", 10, 0, 1e9, "evaluations without improvement"},
               [THRESHOLD] = {"threshold", 1e-4, 0, 1, "least relative improvement"},
               [LEAST] = {"floor", 0, 0, 1, "the rate does not fall below this share"}},
     .factor = plateau},
};
const size_t takt_schedule_count = sizeof takt_schedules / sizeof *takt_schedules;

static const char *name_at(size_t index)
{
    return index < takt_schedule_count ? takt_schedules[index].name : NULL;
}

takt_status takt_schedule_parse(takt_ctx *ctx, const char *text, takt_schedule *s)
{
    const size_t length = takt_hyper_name(text);
    for (size_t i = 0; i < takt_schedule_count; i++) {
        if (strlen(name_at(i)) != length || memcmp(name_at(i), text, length) != 0)
            continue;
        *s = (takt_schedule){.kind = &takt_schedules[i], .scale = 1, .best = INFINITY};
        return takt_hyper_read(ctx, s->kind->name, s->kind->hyper, TAKT_SCHEDULE_HYPERS, text,
                               s->hyper);
    }
    return takt_hyper_unknown(ctx, "schedule", text, name_at);
}

double takt_schedule_factor(const takt_schedule *s, uint64_t step)
{
    const uint64_t warmup = s->kind->warms_up ? 0 : s->warmup;
    if (step < warmup)
        return (double)(step + 1) / (double)warmup * s->scale;
    return s->kind->factor(s, step - warmup, s->steps > warmup ? s->steps - warmup : 0);
}

void takt_schedule_observe(takt_schedule *s, double loss)
{
    if (s->kind->factor != plateau)
        return;
    if (loss < s->best * (1 - s->hyper[THRESHOLD])) {
        s->best = loss;
        s->bad = 0;
    } else if (++s->bad > (uint64_t)s->hyper[PATIENCE]) {
        s->bad = 0;
        s->scale = fmax(s->scale * s->hyper[DROP], s->hyper[LEAST]);
    }
}
