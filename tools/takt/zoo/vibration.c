/* vibration.c - a motor that is sound, unbalanced, misaligned, or whose bearing is worn. */
#include "zoo_data.h"

enum { WAVE = 256, KINDS = 4, TRAIN = 1600, TEST = 800 };

static bool vibration(tool_zoo_part *p, uint64_t seed, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int kind = (int)(i % KINDS);
        float *x = tool_zoo_add(p, kind);
        if (x == NULL)
            return false;
        const double turn = (20 + 12 * tool_zoo_chance(&seed)) / 2048,
                     phase = tool_zoo_chance(&seed);
        const double size = 0.6 + 0.8 * tool_zoo_chance(&seed), other = tool_zoo_chance(&seed);
        const double first = kind == 1 ? 1.0 : 0.35, second = kind == 2 ? 0.8 : 0.1;
        double ring = 0, knock = tool_zoo_chance(&seed);
        for (int k = 0; k < WAVE; k++) {
            double v = first * tool_zoo_wave(turn * k + phase) +
                       second * tool_zoo_wave(2 * turn * k + other);
            knock += 3.6 * turn;
            if (knock >= 1) {
                knock -= 1;
                ring = kind == 3 ? 0.9 : 0;
            }
            v += ring * tool_zoo_wave(0.21 * k);
            ring *= 0.88;
            v += 1.1 * tool_zoo_noise(&seed);
            x[k] = (float)(size * v);
        }
    }
    return true;
}

static bool make(tool_zoo_job *job)
{
    tool_zoo_shape(job, (const int64_t[]){WAVE, 0}, false, NULL, true);
    return vibration(job->train, 1, TRAIN) && vibration(job->test, 2, TEST);
}

const tool_zoo_source tool_zoo_source_vibration = {.ways = {"vibration"}, .make = make};
