/* run_files.c - the inputs of a run: files and random numbers. */
#define _POSIX_C_SOURCE 200809L
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "media.h"

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* ---- inputs ---- */

/* Index of the model's input called so, or -1. */
static int input_index(const tool_run *r, const char *name)
{
    for (size_t i = 0; i < r->input_count; i++)
        if (strcmp(takt_model_input(r->model, i)->name, name) == 0)
            return (int)i;
    return -1;
}

int tool_no_such_port(const tool_run *r, const char *what, const char *name, bool is_input)
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

/* As NumPy calls it; types that it lacks are stored as bytes. */
static const char *numpy_name(takt_dtype dtype)
{
    switch (dtype) {
    case TAKT_F64: return "'float64'";
    case TAKT_F32: return "'float32'";
    case TAKT_F16: return "'float16'";
    case TAKT_I64: return "'int64'";
    case TAKT_I32: return "'int32'";
    case TAKT_I16: return "'int16'";
    case TAKT_I8: return "'int8'";
    case TAKT_U64: return "'uint64'";
    case TAKT_U32: return "'uint32'";
    case TAKT_U16: return "'uint16'";
    case TAKT_U8: return "'uint8'";
    case TAKT_BOOL: return "'bool'";
    default: return "its type";
    }
}

static bool is_relation(const takt_model *model, const char *name, takt_relation *about)
{
    for (size_t i = 0; i < takt_model_relation_count(model); i++)
        if (takt_model_relation(model, i, about) == TAKT_OK && strcmp(about->name, name) == 0)
            return true;
    return false;
}

static int load_one(tool_run *r, int index, const char *path)
{
    takt_tensor_view *view = &r->inputs[index];
    const takt_desc *d = takt_model_input(r->model, (size_t)index);
    if (r->totals[index] > 1 && r->seen[index]++ != r->set)
        return TAKT_EXIT_OK; /* a file of another run */
    if (tool_is_media(path)) {
        const media_file f = {r->t, r->model, d, path};
        const int code = tool_load_media(&f, view, &r->said[index]);
        return code != TAKT_EXIT_OK ? code
               : tool_sizes_from(r->t, &r->sizes, d, view->rank, view->dims, path)
                   ? TAKT_EXIT_OK
                   : TAKT_EXIT_USAGE;
    }
    const bool is_cut = r->cut != NULL && d->rank > 0 && d->dim_names[0] != NULL &&
                        strcmp(d->dim_names[0], r->cut) == 0;
    takt_relation about;
    const bool has_tuples = is_relation(r->model, d->name, &about);
    const bool is_facts = has_tuples && (ends_with(path, ".tsv") || ends_with(path, ".csv"));
    const takt_status status =
        is_facts                            ? takt_relation_load(r->model, d->name, path, view)
        : is_cut && ends_with(path, ".npy") ? takt_npy_open(r->t->ctx, path, &r->files[index], view)
        : r->cut != NULL                    ? takt_view_load(r->t->ctx, path, d->name, view)
                         : takt_view_load_ordered(r->t->ctx, path, d->name, view);
    if (status != TAKT_OK)
        return tool_finish(r->t, status);
    if (view->dtype != d->dtype) {
        char hint[160];
        snprintf(hint, sizeof hint,
                 "Takt never converts silently: numpy.save(file, %.40s.astype(%s))", d->name,
                 numpy_name(d->dtype));
        return tool_usage_error(r->t, 1003, hint, "input %s is %s, in %s it is %s", d->name,
                                takt_dtype_name(d->dtype), path, takt_dtype_name(view->dtype));
    }
    const bool is_set = has_tuples && !is_facts && about.form == TAKT_RELATION_TUPLES &&
                        view->rank == 2 && view->dims[1] == about.arity;
    const takt_status checked = is_set ? takt_relation_check(r->model, d->name, view)
                                       : TAKT_OK; /* else refused for its type */
    if (checked != TAKT_OK)
        return tool_finish(r->t, checked);
    return tool_sizes_from(r->t, &r->sizes, d, view->rank, view->dims, path) ? TAKT_EXIT_OK
                                                                             : TAKT_EXIT_USAGE;
}

/* NAME=FILE; FILE alone if there is only one input, or if it is an archive with all of them. */
static int visit_item(tool_run *r, const char *item, tool_file_fn *visit)
{
    char name[TOOL_NAME];
    const char *path = tool_after_name(item, '=', false, name);
    if (path != NULL) {
        const int index = input_index(r, name);
        return index >= 0 ? visit(r, index, path) : tool_no_such_port(r, "input", name, true);
    }
    if (r->input_count != 1 && !ends_with(item, ".npz"))
        return tool_usage_error(r->t, 1003, "write -i NAME=FILE",
                                "the model has %zu inputs: which is %s?", r->input_count, item);
    int code = TAKT_EXIT_OK;
    for (size_t i = 0; i < r->input_count && code == TAKT_EXIT_OK; i++)
        code = visit(r, (int)i, item);
    return code;
}

int tool_visit_files(tool_run *r, tool_file_fn *visit)
{
    const char *item;
    int code = TAKT_EXIT_OK;
    for (size_t i = 0; code == TAKT_EXIT_OK && (item = tool_item_of(r->t, TAKT_F_INPUT, i)) != NULL;
         i++)
        code = visit_item(r, item, visit);
    return code;
}

/* For messages after a plan has taken the model. */
static bool copy_names(tool_run *r)
{
    r->name = strdup(takt_model_name(r->model));
    r->names = calloc(r->input_count + 1, sizeof *r->names);
    bool good = r->name != NULL && r->names != NULL;
    for (size_t i = 0; i < r->input_count && good; i++)
        good = (r->names[i] = strdup(takt_model_input(r->model, i)->name)) != NULL;
    return good;
}

static int make_tables(tool_run *r)
{
    r->input_count = takt_model_input_count(r->model);
    r->inputs = calloc(r->input_count + 1, sizeof *r->inputs);
    r->files = calloc(r->input_count + 1, sizeof *r->files);
    r->is_random = calloc(r->input_count + 1, sizeof *r->is_random);
    r->said = calloc(r->input_count + 1, sizeof *r->said);
    r->totals = calloc(r->input_count + 1, sizeof *r->totals);
    r->seen = calloc(r->input_count + 1, sizeof *r->seen);
    return r->inputs != NULL && r->files != NULL && r->is_random != NULL && r->said != NULL &&
                   r->totals != NULL && r->seen != NULL && copy_names(r)
               ? TAKT_EXIT_OK
               : tool_finish(r->t, TAKT_ERR_MEMORY);
}

/* Inputs without a file are random, if that is allowed. */
static int note_random(tool_run *r)
{
    const bool is_given = tool_item_of(r->t, TAKT_F_INPUT, 0) != NULL;
    r->random_count = 0;
    for (size_t i = 0; i < r->input_count; i++) {
        const char *name = takt_model_input(r->model, i)->name;
        const bool is_static = tool_is_static(r->t, name);
        if (tool_input_given(r, i) && is_static)
            return tool_usage_error(r->t, 1003, NULL, "input %s is given by -i and --static", name);
        if (tool_input_given(r, i) || is_static)
            continue;
        r->is_random[i] = true;
        r->random_count++;
        if ((is_given || r->needs_all) && !r->may_lack && !tool_on(r->t, TAKT_F_RANDOM))
            return tool_usage_error(r->t, 1003, "give it with -i, or let --random fill it",
                                    "there is no file for input %s", name);
    }
    return TAKT_EXIT_OK;
}

static void drop_values(tool_run *r)
{
    for (size_t i = 0; r->inputs != NULL && r->files != NULL && i < r->input_count; i++) {
        takt_view_free(r->t->ctx, &r->inputs[i]);
        takt_npy_close(r->files[i]);
        r->files[i] = NULL;
    }
    for (size_t i = 0; r->said != NULL && i < r->input_count; i++) {
        free(r->said[i]);
        r->said[i] = NULL;
    }
}

int tool_load_set(tool_run *r, size_t set)
{
    drop_values(r);
    r->set = set;
    memset(r->seen, 0, r->input_count * sizeof *r->seen);
    if (!tool_sizes_init(r->t, r->model, &r->sizes))
        return TAKT_EXIT_USAGE;
    int code = tool_visit_files(r, load_one);
    if (code == TAKT_EXIT_OK && r->stream == NULL)
        code = tool_stream_open(r);
    return code == TAKT_EXIT_OK ? note_random(r) : code;
}

static bool is_picture(const char *path)
{
    return tool_is_media(path) && !media_is_sound(path);
}

static bool has_pictures(const takt_tool *t)
{
    const char *item;
    bool found = false;
    for (size_t i = 0; !found && (item = tool_item_of(t, TAKT_F_INPUT, i)) != NULL; i++)
        found = is_picture(item);
    for (size_t i = 0; !found && i < t->arg_count; i++)
        found = is_picture(t->args[i]);
    return found;
}

int tool_load_inputs(tool_run *r)
{
    media_image how;
    int code = make_tables(r);
    if (code == TAKT_EXIT_OK && !media_read_options(r->t, &how))
        code = TAKT_EXIT_USAGE;
    if (code == TAKT_EXIT_OK && tool_text_of(r->t, TAKT_F_IMAGE) != NULL && !has_pictures(r->t))
        code = tool_usage_error(r->t, 1003, "give one with -i NAME=F.png, or leave --image out",
                                "--image is for pictures, and no input is one");
    if (code == TAKT_EXIT_OK)
        code = tool_count_sets(r);
    return code == TAKT_EXIT_OK ? tool_load_set(r, 0) : code;
}

bool tool_input_given(const tool_run *r, size_t i)
{
    return r->inputs[i].data != NULL || r->files[i] != NULL;
}

void tool_free_inputs(tool_run *r)
{
    drop_values(r);
    tool_stream_close(r);
    for (size_t i = 0; r->names != NULL && i < r->input_count; i++)
        free(r->names[i]);
    free(r->said);
    free(r->names);
    free(r->name);
    free(r->inputs);
    free(r->files);
    free(r->is_random);
    free(r->totals);
    free(r->seen);
    free(r->set_files);
}

/* Random numbers for input `i` of the model, which is `at` of the session. */
static int fill_random(tool_run *r, takt_session *s, size_t i, size_t at)
{
    const uint64_t seed = tool_number_of(r->t, TAKT_F_SEED, 0);
    const takt_tensor_view *own = takt_session_input(s, at);
    if (own == NULL)
        return tool_report_error(r->t, takt_session_error(s));
    r->inputs[i] = *own; /* for the message; the memory stays the session's */
    r->inputs[i].data = NULL;
    return tool_finish(r->t, takt_session_random(s, at, own, seed, (uint32_t)i));
}

int tool_bind_inputs(tool_run *r, takt_session *s)
{
    for (size_t i = 0; i < r->input_count; i++)
        if (r->inputs[i].data != NULL && !tool_is_static(r->t, r->names[i]) &&
            takt_session_bind(s, r->names[i], &r->inputs[i]) != TAKT_OK)
            return tool_report_error(r->t, takt_session_error(s));
    size_t index = 0; /* of the session, which has no static inputs */
    for (size_t i = 0; i < r->input_count; i++) {
        if (tool_is_static(r->t, r->names[i]))
            continue;
        const size_t at = index++;
        const int code = r->inputs[i].data == NULL ? fill_random(r, s, i, at) : TAKT_EXIT_OK;
        if (code != TAKT_EXIT_OK)
            return code;
    }
    return TAKT_EXIT_OK;
}
