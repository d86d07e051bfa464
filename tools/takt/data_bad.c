/* data_bad.c - finds the bad files of a data set with one file per sample.
 *
 * Opening such a set stops at the first one. After that failure `takt data` opens every file
 * separately.
 */
#define _DEFAULT_SOURCE /* scandir */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "media.h"
#include "train.h"

enum { DEEPEST = 8, LONGEST = 1024 };

typedef struct search {
    takt_ctx *ctx;
    size_t files, bad;
    int64_t rate; /* of the first sound */
    bool has_first;
    takt_desc first;     /* field 0 of the first sample that can be read */
    char where[LONGEST]; /* and its file */
} search;

/* Sounds have any length; all else must be as in the first sample. */
static bool is_alike(const takt_desc *a, const takt_desc *b)
{
    bool alike = a->dtype == b->dtype && a->rank == b->rank;
    for (int d = 1; alike && a->rank != 2 && d < a->rank; d++)
        alike = a->dims[d] == b->dims[d];
    return alike;
}

static void look_at(search *s, const char *path)
{
    takt_data *data = NULL;
    s->files++;
    if (takt_data_open(s->ctx, path, NULL, &data) != TAKT_OK) {
        fprintf(stderr, "bad: %s\n", takt_last_error_info(s->ctx)->message);
        s->bad++;
        return;
    }
    const takt_desc *field = takt_data_field(data, 0);
    const int64_t rate = takt_data_rate(data);
    if (s->rate == 0)
        s->rate = rate;
    if (!s->has_first && field != NULL) {
        s->first = *field; /* its names are ignored */
        s->has_first = true;
        snprintf(s->where, sizeof s->where, "%s", path);
    } else if (field != NULL && !is_alike(&s->first, field)) {
        fprintf(stderr, "bad: %s has another size or kind than %s\n", path, s->where);
        s->bad++;
    } else if (rate != 0 && rate != s->rate) {
        fprintf(stderr, "bad: %s has %lld samples a second, those before it have %lld\n", path,
                (long long)rate, (long long)s->rate);
        s->bad++;
    }
    takt_data_destroy(data);
}

/* Files of a folder and of those in it, in the order of their names. */
static void look_below(search *s, const char *folder, int depth)
{
    struct dirent **names = NULL;
    const int count = depth < DEEPEST ? scandir(folder, &names, NULL, alphasort) : 0;
    for (int i = 0; i < count; i++) {
        char path[LONGEST];
        const char *name = names[i]->d_name;
        const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
        if (name[0] != '.' && length > 0 && (size_t)length < sizeof path) {
            if (tool_is_media(name))
                look_at(s, path);
            else
                look_below(s, path, depth + 1);
        }
        free(names[i]);
    }
    free(names);
}

/* The first column of a list. */
static void look_along(search *s, const char *list)
{
    const char *slash = strrchr(list, '/');
    const int folder = slash != NULL ? (int)(slash - list) + 1 : 0;
    char line[LONGEST], path[2 * LONGEST];
    FILE *file = fopen(list, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\t\r\n")] = '\0';
        snprintf(path, sizeof path, "%.*s%s", folder, list, line);
        if (tool_is_media(line))
            look_at(s, path);
    }
    if (file != NULL)
        fclose(file);
}

void tool_data_bad(takt_tool *t, const char *path)
{
    const char *dot = strrchr(path, '.');
    search s = {.ctx = t->ctx};
    if (dot != NULL && strcasecmp(dot, ".tsv") == 0)
        look_along(&s, path);
    else if (!tool_is_media(path))
        look_below(&s, path, 0);
    if (s.bad > 0)
        fprintf(stderr, "%zu of %zu files are bad\n", s.bad, s.files);
}
