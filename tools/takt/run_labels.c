/* run_labels.c - class names for results, from a file with one name per line. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

enum { SHOWN = 5 };

struct tool_labels {
    char *text;
    const char **names;
    size_t count;
};

void tool_labels_free(tool_labels *l)
{
    if (l != NULL) {
        free(l->text);
        free(l->names);
    }
    free(l);
}

static char *whole_file(const char *path)
{
    enum { MOST = 16 << 20 };
    FILE *file = fopen(path, "rb");
    char *text = file != NULL ? malloc(MOST + 1) : NULL;
    const size_t length = text != NULL ? fread(text, 1, MOST, file) : 0;
    const bool is_read = file != NULL && ferror(file) == 0;
    if (file != NULL)
        fclose(file);
    if (text == NULL || !is_read || length == MOST || memchr(text, '\0', length) != NULL) {
        free(text);
        return NULL;
    }
    text[length] = '\0';
    return text;
}

static bool split(tool_labels *l)
{
    size_t room = 1;
    for (const char *at = l->text; *at != '\0'; at++)
        room += *at == '\n';
    l->names = malloc(room * sizeof *l->names);
    if (l->names == NULL)
        return false;
    for (char *at = l->text; *at != '\0';) {
        const size_t length = strcspn(at, "\r\n");
        const char end = at[length];
        at[length] = '\0';
        l->names[l->count++] = at;
        at += length + (end != '\0');
        at += end == '\r' && *at == '\n';
    }
    return true;
}

int tool_labels_open(takt_tool *t, tool_labels **labels)
{
    const char *path = tool_text_of(t, TAKT_F_CLASS_NAMES);
    *labels = NULL;
    if (path == NULL)
        return TAKT_EXIT_OK;
    tool_labels *l = calloc(1, sizeof *l);
    if (l == NULL)
        return tool_finish(t, TAKT_ERR_MEMORY);
    l->text = whole_file(path);
    if (l->text == NULL && access(path, R_OK) != 0) {
        free(l);
        return tool_cannot_open(t, path);
    }
    if (l->text == NULL) {
        free(l);
        return tool_usage_error(t, 1003, "a text file with one name a line, class 0 first",
                                "the labels in %s cannot be read", path);
    }
    if (!split(l)) {
        tool_labels_free(l);
        return tool_finish(t, TAKT_ERR_MEMORY);
    }
    *labels = l;
    return TAKT_EXIT_OK;
}

/* The output with one score per label: its last dimension has that size. */
static const takt_tensor_view *scores(const tool_labels *l, const tool_results *o, size_t *index)
{
    for (*index = 0; *index < o->count; ++*index) {
        const takt_tensor_view *v = &o->views[*index];
        if (v->data != NULL && v->dtype == TAKT_F32 && v->rank > 0 &&
            v->dims[v->rank - 1] == (int64_t)l->count)
            return v;
    }
    return NULL;
}

/* NaN is less than any number. */
static bool is_better(float a, float b)
{
    return a > b || (isnan(b) && !isnan(a));
}

/* The best classes of a row, best first; equal ones in the order of their numbers. */
static size_t best_of(const float *row, size_t count, size_t best[SHOWN])
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = found < SHOWN ? found : SHOWN;
        while (at > 0 && is_better(row[i], row[best[at - 1]]))
            at--;
        if (at == SHOWN)
            continue;
        const size_t last = found < SHOWN ? found++ : SHOWN - 1;
        memmove(best + at + 1, best + at, (last - at) * sizeof *best);
        best[at] = i;
    }
    return found;
}

static void print_row(const tool_labels *l, const float *row, bool is_json)
{
    size_t best[SHOWN];
    const size_t found = best_of(row, l->count, best);
    for (size_t k = 0; k < found; k++) {
        if (!is_json) {
            printf("%s%s %.4g", k > 0 ? ", " : "", l->names[best[k]], (double)row[best[k]]);
            continue;
        }
        printf("%s{\"class\": %zu, \"label\": ", k > 0 ? ", " : "", best[k]);
        tool_print_string(stdout, l->names[best[k]]);
        /* Like values: JSON has no infinity. */
        if (isfinite(row[best[k]]))
            printf(", \"score\": %.9g}", (double)row[best[k]]);
        else
            printf(", \"score\": null}");
    }
}

int tool_check_labels(const takt_tool *t, const tool_labels *l, const tool_results *o)
{
    size_t index;
    if (l == NULL || scores(l, o, &index) != NULL)
        return TAKT_EXIT_OK;
    return tool_usage_error(t, 1003, "one name a line, class 0 first",
                            "no f32 output has as many classes as %s has labels, %zu",
                            tool_text_of(t, TAKT_F_CLASS_NAMES), l->count);
}

void tool_print_labels(const takt_tool *t, const tool_labels *l, const tool_results *o)
{
    const bool is_json = tool_on(t, TAKT_F_JSON);
    size_t index, rows = 1;
    const takt_tensor_view *v = l != NULL ? scores(l, o, &index) : NULL;
    if (v == NULL)
        return;
    for (int i = 0; i + 1 < v->rank; i++)
        rows *= (size_t)v->dims[i];
    printf("%s", is_json ? ", \"labels\": [" : "");
    for (size_t i = 0; i < rows; i++) {
        if (is_json)
            printf("%s[", i > 0 ? ", " : "");
        else
            printf("best of %s: ", o->names[index]);
        print_row(l, (const float *)v->data + i * l->count, is_json);
        printf("%s", is_json ? "]" : "\n");
    }
    printf("%s", is_json ? "]" : "");
}
