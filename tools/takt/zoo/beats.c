/* beats.c - heartbeats of ECG5000: normal or not; every fourth row is the test part. */
#include "zoo_data.h"

enum { BEAT = 140 };

static bool make(tool_zoo_job *job)
{
    static char line[1 << 14];
    char path[1200];
    snprintf(path, sizeof path, "%s/ECG5000_TRAIN.txt", job->from);
    FILE *f = fopen(path, "r");
    bool is_good = f != NULL;
    tool_zoo_shape(job, (const int64_t[]){BEAT, 0}, false, NULL, true);
    for (size_t row = 0; is_good && fgets(line, sizeof line, f) != NULL; row++) {
        const char *at = line;
        double v;
        is_good = tool_zoo_number(&at, &v);
        float *x = is_good ? tool_zoo_add(row % 4 == 3 ? job->test : job->train, v != 1) : NULL;
        for (int i = 0; i < BEAT && x != NULL && is_good; i++) {
            is_good = tool_zoo_number(&at, &v);
            x[i] = (float)v;
        }
        is_good = is_good && x != NULL;
    }
    if (f != NULL)
        (void)fclose(f);
    return is_good;
}

const tool_zoo_source tool_zoo_source_beats = {.ways = {"beats"}, .make = make};
