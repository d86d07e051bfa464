/* run_files.c - the inputs and outputs of a run: files, random numbers, standard output. */
#include "run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* ---- inputs ---- */

/* Index of the model's input called so, or -1. */
static int input_index(const tool_run *r, const char *name, size_t length)
{
    for (size_t i = 0; i < r->input_count; i++) {
        const char *candidate = takt_model_input(r->model, i)->name;
        if (strlen(candidate) == length && strncmp(candidate, name, length) == 0)
            return (int)i;
    }
    return -1;
}

static int no_such_port(const tool_run *r, const char *what, const char *name, bool is_input)
{
    const char *names[64];
    char hint[160] = "`takt inspect` shows what it has";
    const size_t count = is_input ? r->input_count : takt_model_output_count(r->model);
    size_t known = 0;
    for (; known < count && known < sizeof names / sizeof *names; known++)
        names[known] = is_input ? takt_model_input(r->model, known)->name
                                : takt_model_output(r->model, known)->name;
    const int nearest = takt_nearest(name, names, known);
    if (nearest >= 0)
        snprintf(hint, sizeof hint, "did you mean %.100s?", names[nearest]);
    else if (known == 1)
        snprintf(hint, sizeof hint, "its only one is %.100s", names[0]);
    return tool_usage_error(r->t, 1002, hint, "the model has no %s called %s", what, name);
}

static int load_one(tool_run *r, int index, const char *path)
{
    takt_tensor_view *view = &r->inputs[index];
    const takt_desc *d = takt_model_input(r->model, (size_t)index);
    if (view->data != NULL)
        return tool_usage_error(r->t, 1003, NULL, "input %s is given twice", d->name);
    const takt_status status = ends_with(path, ".npz")
                                   ? takt_npz_load(r->t->ctx, path, d->name, view)
                                   : takt_npy_load(r->t->ctx, path, view);
    if (status != TAKT_OK)
        return tool_finish(r->t, status);
    return tool_sizes_from(r->t, &r->sizes, d, view->rank, view->dims, path) ? TAKT_EXIT_OK
                                                                             : TAKT_EXIT_USAGE;
}

/* NAME=FILE; FILE alone if there is only one input, or if it is an archive with all of them. */
static int load_item(tool_run *r, const char *item)
{
    const char *equals = strchr(item, '=');
    if (equals != NULL) {
        const int index = input_index(r, item, (size_t)(equals - item));
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)(equals - item), item);
        return index >= 0 ? load_one(r, index, equals + 1) : no_such_port(r, "input", name, true);
    }
    if (r->input_count != 1 && !ends_with(item, ".npz"))
        return tool_usage_error(r->t, 1003, "write -i NAME=FILE",
                                "the model has %zu inputs: which is %s?", r->input_count, item);
    int code = TAKT_EXIT_OK;
    for (size_t i = 0; i < r->input_count && code == TAKT_EXIT_OK; i++)
        code = load_one(r, (int)i, item);
    return code;
}

int tool_load_inputs(tool_run *r)
{
    const char *item;
    r->input_count = takt_model_input_count(r->model);
    r->inputs = calloc(r->input_count + 1, sizeof *r->inputs);
    if (r->inputs == NULL || !tool_sizes_init(r->t, r->model, &r->sizes))
        return TAKT_EXIT_USAGE;
    size_t given = 0;
    for (; (item = tool_item_of(r->t, TAKT_F_INPUT, given)) != NULL; given++) {
        const int code = load_item(r, item);
        if (code != TAKT_EXIT_OK)
            return code;
    }
    for (size_t i = 0; i < r->input_count; i++) {
        const char *name = takt_model_input(r->model, i)->name;
        const bool is_static = tool_is_static(r->t, name);
        if (r->inputs[i].data != NULL && is_static)
            return tool_usage_error(r->t, 1003, NULL, "input %s is given by -i and --static", name);
        if (r->inputs[i].data != NULL || is_static)
            continue;
        r->random_count++;
        if (given > 0 && !tool_on(r->t, TAKT_F_RANDOM))
            return tool_usage_error(r->t, 1003, "give it with -i, or let --random fill it",
                                    "there is no file for input %s", name);
    }
    return TAKT_EXIT_OK;
}

void tool_free_inputs(tool_run *r)
{
    for (size_t i = 0; r->inputs != NULL && i < r->input_count; i++)
        takt_view_free(r->t->ctx, &r->inputs[i]);
    free(r->inputs);
}

int tool_bind_inputs(tool_run *r, takt_session *s)
{
    const uint64_t seed = tool_number_of(r->t, TAKT_F_SEED, 0);
    size_t index = 0; /* of the session, which has no static inputs */
    for (size_t i = 0; i < r->input_count; i++) {
        const char *name = takt_model_input(r->model, i)->name;
        if (tool_is_static(r->t, name))
            continue;
        const size_t at = index++;
        if (r->inputs[i].data != NULL) {
            if (takt_session_bind(s, name, &r->inputs[i]) != TAKT_OK)
                return tool_report_error(r->t, takt_session_error(s));
            continue;
        }
        const takt_tensor_view *own = takt_session_input(s, at);
        if (own == NULL)
            return tool_finish(r->t, TAKT_ERR_MEMORY);
        const int code = tool_finish(r->t, takt_view_random(r->t->ctx, own, seed, (uint32_t)i));
        if (code != TAKT_EXIT_OK)
            return code;
    }
    return TAKT_EXIT_OK;
}

/* ---- outputs ---- */

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static int save_one(tool_run *r, takt_session *s, size_t index, const char *path, bool *printed)
{
    const takt_tensor_view *view = takt_session_output(s, index);
    if (strcmp(path, "-") != 0)
        return tool_finish(r->t, takt_npy_save(r->t->ctx, path, view));
    *printed = true;
    return tool_finish(r->t, takt_npy_write(r->t->ctx, view, tool_to_stdout, NULL));
}

static int save_archive(tool_run *r, takt_session *s, const char *path)
{
    const size_t count = takt_session_output_count(s);
    const char **names = calloc(count + 1, sizeof *names);
    takt_tensor_view *views = calloc(count + 1, sizeof *views);
    takt_status status = TAKT_ERR_MEMORY;
    if (names != NULL && views != NULL) {
        for (size_t i = 0; i < count; i++) {
            names[i] = takt_session_output_desc(s, i)->name;
            views[i] = *takt_session_output(s, i);
        }
        status = takt_npz_save(r->t->ctx, path, names, views, count);
    }
    free(names);
    free(views);
    return tool_finish(r->t, status);
}

static int save_folder(tool_run *r, takt_session *s, const char *folder)
{
    int code = TAKT_EXIT_OK;
    for (size_t i = 0; i < takt_session_output_count(s) && code == TAKT_EXIT_OK; i++) {
        char path[2048];
        bool printed;
        const char *name = takt_session_output_desc(s, i)->name;
        if (strchr(name, '/') != NULL)
            return tool_usage_error(r->t, 1003, "write -o NAME=FILE",
                                    "output %s cannot be a file's name", name);
        snprintf(path, sizeof path, "%s/%s.npy", folder, name);
        code = save_one(r, s, i, path, &printed);
    }
    return code;
}

static int save_item(tool_run *r, takt_session *s, const char *item, bool *printed)
{
    const char *equals = strchr(item, '=');
    const size_t count = takt_session_output_count(s);
    if (equals == NULL) {
        if (is_folder(item))
            return save_folder(r, s, item);
        if (ends_with(item, ".npz"))
            return save_archive(r, s, item);
        if (count == 1)
            return save_one(r, s, 0, item, printed);
        return tool_usage_error(r->t, 1003, "write -o NAME=FILE, -o FOLDER or -o ALL.npz",
                                "the model has %zu outputs: which one goes to %s?", count, item);
    }
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)(equals - item), item);
    for (size_t i = 0; i < count; i++)
        if (strcmp(takt_session_output_desc(s, i)->name, name) == 0)
            return save_one(r, s, i, equals + 1, printed);
    return no_such_port(r, "output", name, false);
}

int tool_save_outputs(tool_run *r, takt_session *s, bool *printed)
{
    const char *item;
    *printed = false;
    for (size_t i = 0; (item = tool_item_of(r->t, TAKT_F_OUTPUT, i)) != NULL; i++) {
        const int code = save_item(r, s, item, printed);
        if (code != TAKT_EXIT_OK)
            return code;
    }
    return TAKT_EXIT_OK;
}
