/* motions.c - BasicMotions' two files: six channels of 100 points, and the activity. */
#include <string.h>

#include "zoo_data.h"

enum { CHANNELS = 6, POINTS = 100, KINDS = 4 };

/* Lines of six series with colons between them, and the name of the activity. */
static bool motions_of(tool_zoo_part *p, const char *folder, const char *name)
{
    static const char *const kinds[] = {"Standing", "Running", "Walking", "Badminton"};
    static char line[1 << 15];
    char path[1200];
    bool is_good = true, is_data = false;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    while (f != NULL && is_good && fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        if (!is_data || line[0] == '\0') {
            is_data = is_data || strcmp(line, "@data") == 0;
            continue;
        }
        const char *word = strrchr(line, ':'), *at = line;
        int kind = 0;
        while (word != NULL && kind < KINDS && strcmp(word + 1, kinds[kind]) != 0)
            kind++;
        float *x = word != NULL && kind < KINDS ? tool_zoo_add(p, kind) : NULL;
        is_good = x != NULL;
        for (int i = 0; i < CHANNELS * POINTS && is_good; i++) {
            double v;
            is_good = tool_zoo_number(&at, &v) && (*at == ',' || *at == ':');
            at += *at != '\0';
            x[i] = (float)v;
        }
    }
    if (f != NULL)
        (void)fclose(f);
    return f != NULL && is_good && p->count > 0;
}

static bool make(tool_zoo_job *job)
{
    tool_zoo_shape(job, (const int64_t[]){CHANNELS, POINTS, 0}, false, NULL, true);
    return motions_of(job->train, job->from, "BasicMotions_TRAIN.ts") &&
           motions_of(job->test, job->from, "BasicMotions_TEST.ts");
}

const tool_zoo_source tool_zoo_source_motions = {.ways = {"motions"}, .make = make};
