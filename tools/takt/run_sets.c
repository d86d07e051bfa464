/* run_sets.c - several files for one input: every file is a run of the same session. */
#define _POSIX_C_SOURCE 200809L
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "media.h"
#include "run.h"

/* ---- the words of -i ---- */

int tool_paths_add(const takt_tool *t, tool_paths *p, const char *path)
{
    if (p->count == p->room) {
        const size_t room = p->room * 2 + 16;
        char **at = realloc(p->at, room * sizeof *at);
        if (at == NULL)
            return tool_finish(t, TAKT_ERR_MEMORY);
        p->at = at;
        p->room = room;
    }
    p->at[p->count] = strdup(path);
    return p->at[p->count++] != NULL ? TAKT_EXIT_OK : tool_finish(t, TAKT_ERR_MEMORY);
}

static void free_paths(tool_paths *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->at[i]);
    free(p->at);
}

static bool is_there(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}

/* "x=clips/[ab]*.npy"; a file with exactly that name takes precedence. */
static bool is_pattern(const char *path)
{
    return strpbrk(path, "*?[") != NULL && !is_there(path);
}

/* The matches of a pattern in the order of their names, each with the NAME= of the word. */
static int add_matches(const takt_tool *t, const char *word, const char *pattern, tool_paths *to)
{
    glob_t found = {0};
    int code = TAKT_EXIT_OK;
    const int error = glob(pattern, 0, NULL, &found);
    if (error == GLOB_NOSPACE)
        code = tool_finish(t, TAKT_ERR_MEMORY);
    else if (error != 0 || found.gl_pathc == 0)
        code = tool_usage_error(t, 1003, NULL, "no file matches %s", pattern);
    for (size_t i = 0; code == TAKT_EXIT_OK && i < found.gl_pathc; i++) {
        const size_t before = (size_t)(pattern - word), size = before + strlen(found.gl_pathv[i]);
        char *one = malloc(size + 1);
        if (one != NULL)
            snprintf(one, size + 1, "%.*s%s", (int)before, word, found.gl_pathv[i]);
        code = one != NULL ? tool_paths_add(t, to, one) : tool_finish(t, TAKT_ERR_MEMORY);
        free(one);
    }
    globfree(&found);
    return code;
}

static bool is_input_file(const char *path)
{
    static const char *const endings[] = {".npy", ".npz", ".pb", ".tsv", ".csv"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(dot, endings[i]) == 0)
            return true;
    return tool_is_media(path) || strcmp(path, "-") == 0 || strcmp(path, TOOL_STDIN) == 0;
}

int tool_expand_inputs(takt_tool *t)
{
    tool_paths words = {0};
    const char *item;
    bool is_new = false;
    int code = TAKT_EXIT_OK;
    for (size_t i = 0; code == TAKT_EXIT_OK && (item = tool_item_of(t, TAKT_F_INPUT, i)) != NULL;
         i++) {
        const char *path = tool_file_in(TAKT_F_INPUT, item);
        const bool matches = is_pattern(path);
        code = matches ? add_matches(t, item, path, &words) : tool_paths_add(t, &words, item);
        is_new = is_new || matches;
    }
    const size_t first = tool_text_of(t, TAKT_F_MODEL) != NULL ? 0 : 1; /* after the model */
    for (size_t i = first; code == TAKT_EXIT_OK && i < t->arg_count; i++) {
        is_new = true;
        code = is_input_file(tool_file_in(TAKT_F_INPUT, t->args[i]))
                   ? tool_paths_add(t, &words, t->args[i])
                   : tool_usage_error(t, 1003,
                                      "files of inputs come after the model: .npy, .npz, "
                                      ".pb, .png, .jpg, .wav, .tsv, .csv",
                                      "takt run does not take the argument %s", t->args[i]);
    }
    if (code == TAKT_EXIT_OK && is_new && !tool_set_list(t, TAKT_F_INPUT, words.at, words.count))
        code = tool_finish(t, TAKT_ERR_MEMORY);
    free_paths(&words);
    return code == TAKT_EXIT_OK && is_new && !tool_check_written(t) ? TAKT_EXIT_USAGE : code;
}

/* ---- how many runs ---- */

static int count_file(tool_run *r, int input, const char *path)
{
    (void)path;
    r->totals[input]++;
    return TAKT_EXIT_OK;
}

/* The input that runs are named after: the first with a file for each run. */
static int lead(const tool_run *r)
{
    for (size_t i = 0; i < r->input_count; i++)
        if (r->totals[i] == r->sets)
            return (int)i;
    return -1;
}

static int name_set(tool_run *r, int input, const char *path)
{
    if (input == lead(r) && r->seen[input] < r->sets)
        r->set_files[r->seen[input]++] = path;
    return TAKT_EXIT_OK;
}

int tool_count_sets(tool_run *r)
{
    size_t most = 0;
    int code = tool_visit_files(r, count_file);
    r->sets = 1;
    for (size_t i = 0; i < r->input_count; i++)
        if (r->totals[i] > r->sets) {
            r->sets = r->totals[i];
            most = i;
        }
    const char *longest = r->input_count > 0 ? takt_model_input(r->model, most)->name : "";
    if (code == TAKT_EXIT_OK && r->sets > 1 && !r->takes_sets)
        return tool_usage_error(r->t, 1003, "`takt run` takes several files for one input",
                                "input %s is given twice", longest);
    for (size_t i = 0; code == TAKT_EXIT_OK && i < r->input_count; i++)
        if (r->totals[i] > 1 && r->totals[i] != r->sets)
            return tool_usage_error(
                r->t, 1003,
                "the files of all inputs are paired in their order; one alone is for "
                "all runs",
                "input %s has %zu files, input %s has %zu", longest, r->sets,
                takt_model_input(r->model, i)->name, r->totals[i]);
    r->set_files = calloc(r->sets + 1, sizeof *r->set_files);
    if (code == TAKT_EXIT_OK && r->set_files == NULL)
        return tool_finish(r->t, TAKT_ERR_MEMORY);
    return code == TAKT_EXIT_OK ? tool_visit_files(r, name_set) : code;
}

/* ---- names of results ---- */

/* Length of the file's name without folder and ending. */
static size_t stem(const char *path, const char **start)
{
    const char *slash = strrchr(path, '/');
    *start = slash != NULL ? slash + 1 : path;
    if (strcmp(*start, TOOL_STDIN) == 0) {
        *start = "stdin";
        return strlen(*start);
    }
    const char *dot = strrchr(*start, '.');
    return dot != NULL && dot != *start ? (size_t)(dot - *start) : strlen(*start);
}

/* The value of a placeholder at `at`; returns its length, or 0 if there is none. */
static size_t put_mark(const tool_run *r, const char *at, char text[1024])
{
    const char *start, *file = r->set_files[r->set];
    if (strncmp(at, "{#}", 3) == 0) {
        const int digits = snprintf(NULL, 0, "%zu", r->sets); /* so that names sort */
        snprintf(text, 1024, "%0*zu", digits, r->set + 1);
        return 3;
    }
    if (strncmp(at, "{}", 2) != 0)
        return 0;
    const size_t length = file != NULL ? stem(file, &start) : 0;
    snprintf(text, 1024, "%.*s", (int)length, length > 0 ? start : "");
    return 2;
}

bool tool_set_name(const tool_run *r, const char *word, char path[1024])
{
    size_t used = 0;
    for (const char *at = word; *at != '\0';) {
        char text[1024] = {*at, '\0'};
        const size_t mark = put_mark(r, at, text);
        if (mark > 0 && text[0] == '\0') {
            tool_usage_error(r->t, 1003, "give a file with -i, or leave {} out",
                             "{} in -o %s is the name of an input's file, and there is none", word);
            return false;
        }
        const int length = snprintf(path + used, 1024 - used, "%s", text);
        if (length < 0 || (size_t)length >= 1024 - used) {
            tool_usage_error(r->t, 1003, NULL, "the name of -o %s is too long", word);
            return false;
        }
        used += (size_t)length;
        at += mark > 0 ? mark : 1;
    }
    path[used] = '\0';
    return true;
}

/* ---- before the first run ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every run writes its own files, and none that was read. */
static int check_written(const tool_run *r, tool_paths *p)
{
    if (p->count > 0)
        qsort(p->at, p->count, sizeof *p->at, by_name);
    for (size_t i = 0; i < p->count; i++) {
        if (strcmp(p->at[i], "-") == 0)
            return tool_usage_error(r->t, 1003, "write -o out-{}.npy",
                                    "standard output takes one result, %zu files give more",
                                    r->sets);
        if (!tool_spares(r->t, p->at[i]))
            return TAKT_EXIT_USAGE;
        if (i > 0 && strcmp(p->at[i], p->at[i - 1]) == 0)
            return tool_usage_error(r->t, 1003,
                                    "in -o, {} is the name of a file and {#} its number: "
                                    "-o out-{#}.npy",
                                    "two of the %zu files would both write %s", r->sets, p->at[i]);
    }
    return TAKT_EXIT_OK;
}

int tool_survey_sets(tool_run *r, tool_sizes *range)
{
    tool_paths written = {0};
    int code = TAKT_EXIT_OK;
    for (size_t i = 0; i < r->sets && code == TAKT_EXIT_OK; i++) {
        if (i > 0) /* the first one exists */
            code = tool_load_set(r, i);
        if (i == 0)
            *range = r->sizes;
        else if (code == TAKT_EXIT_OK && !tool_sizes_widen(r->t, range, &r->sizes))
            code = TAKT_EXIT_USAGE;
        if (code == TAKT_EXIT_OK)
            code = tool_list_outputs(r, &written);
    }
    if (code == TAKT_EXIT_OK)
        code = check_written(r, &written);
    free_paths(&written);
    return code == TAKT_EXIT_OK ? tool_load_set(r, 0) : code;
}
