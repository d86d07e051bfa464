/* fit.c - shapes that a model runs with although its file does not say so.
 *
 * Read without sizes, an ONNX model in which two named dimensions meet treats them as one;
 * exporters write an unintended batch of 1, and scalars for inputs of any shape. Where the shapes
 * of a run, or the sizes of -D, differ from those, the model is read again for them. */
#include <stdlib.h>
#include <string.h>

#include "tool.h"

enum { MOST = 64 };

typedef struct shapes {
    takt_known_input at[MOST];
    char names[MOST][TOOL_NAME];
    size_t count;
} shapes;

/* ---- do they fit? ---- */

static const takt_desc *input_of(const takt_model *m, const takt_known_input *given, size_t place)
{
    for (size_t i = 0; given->name != NULL && i < takt_model_input_count(m); i++)
        if (strcmp(takt_model_input(m, i)->name, given->name) == 0)
            return takt_model_input(m, i);
    return given->name == NULL ? takt_model_input(m, place) : NULL;
}

/* Whether `name` is `size` in the dimensions before `axis` of input number `place`. */
static bool agrees(const takt_model *m, const takt_known_input *given, size_t place, int axis)
{
    const takt_desc *last = input_of(m, &given[place], place);
    for (size_t i = 0; i <= place; i++) {
        const takt_desc *d = input_of(m, &given[i], i);
        for (int k = 0; d != NULL && k < (i < place ? d->rank : axis); k++)
            if (d->dim_names[k] != NULL && strcmp(d->dim_names[k], last->dim_names[axis]) == 0 &&
                k < given[i].view.rank && given[i].view.dims[k] != given[place].view.dims[axis])
                return false;
    }
    return true;
}

static bool fit(const takt_model *m, const takt_known_input *given, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const takt_desc *d = input_of(m, &given[i], i);
        if (d != NULL && d->rank == 0 && given[i].view.rank > 0)
            return false; /* files call inputs of any shape scalars */
        if (d == NULL || d->rank != given[i].view.rank)
            continue; /* reported elsewhere */
        for (int k = 0; k < d->rank; k++)
            if (d->dim_names[k] == NULL ? d->dims[k] != given[i].view.dims[k]
                                        : !agrees(m, given, i, k))
                return false;
    }
    return true;
}

void tool_refit(takt_tool *t, const char *path, const takt_load_options *options,
                takt_model **model)
{
    takt_model *better = NULL;
    if (fit(*model, options->known, options->known_count))
        return;
    tool_notes_begin(t);
    const takt_status status = takt_model_load(t->ctx, path, options, &better);
    tool_notes_end(t, status == TAKT_OK);
    if (status != TAKT_OK)
        return; /* callers that need the sizes report contradictions */
    takt_model_destroy(*model);
    *model = better;
}

/* ---- shapes of the command line ---- */

static takt_known_input *next(shapes *s, const char *name)
{
    if (s->count == MOST || strlen(name) >= TOOL_NAME)
        return NULL;
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->names[i], name) == 0)
            return NULL; /* of several files the first */
    strcpy(s->names[s->count], name);
    s->at[s->count].name = s->names[s->count];
    return &s->at[s->count];
}

/* A file that cannot be read is reported when its values are needed. */
static void add_file(const takt_tool *t, shapes *s, const char *name, const char *path)
{
    takt_known_input *at = next(s, name);
    takt_tensor_view v = {.rank = 0};
    if (at == NULL || takt_view_load(t->ctx, path, at->name, &v) != TAKT_OK)
        return;
    at->view = v;
    at->view.data = NULL; /* only the shape */
    at->view.dtype = TAKT_DTYPE_COUNT;
    takt_view_free(t->ctx, &v);
    s->count++;
}

static void gather(const takt_tool *t, const takt_model *m, shapes *s)
{
    const char *item;
    char name[TOOL_NAME];
    for (size_t i = 0; (item = tool_item_of(t, TAKT_F_INPUT, i)) != NULL; i++) {
        const char *path = tool_after_name(item, '=', false, name);
        if (path != NULL)
            add_file(t, s, name, path);
        for (size_t k = 0; path == NULL && k < takt_model_input_count(m); k++)
            add_file(t, s, takt_model_input(m, k)->name, item);
    }
    for (size_t i = 0; (item = tool_item_of(t, TAKT_F_SHAPE, i)) != NULL; i++) {
        const char *shape = tool_after_name(item, ':', true, name);
        takt_known_input *at = shape != NULL ? next(s, name) : NULL;
        if (at == NULL || !tool_read_shape(shape, at->view.dims, &at->view.rank))
            continue;
        at->view.dtype = TAKT_DTYPE_COUNT;
        s->count++;
    }
}

/* ---- sizes of the command line ---- */

static bool is_mentioned(const takt_model *m, const char *name)
{
    for (size_t i = 0; i < takt_model_input_count(m); i++) {
        const takt_desc *d = takt_model_input(m, i);
        for (int k = 0; k < d->rank; k++)
            if (d->dim_names[k] != NULL && strstr(d->dim_names[k], name) != NULL)
                return true;
    }
    return false;
}

/* Whether -D has another size for a name than the model, which has bound it to others. */
static bool is_contradicted(const takt_tool *t, const takt_model *m, const char *sizes)
{
    const char *item;
    char name[TOOL_NAME];
    bool is_bound = false;
    takt_model *sized = NULL;
    for (size_t i = 0; (item = tool_item_of(t, TAKT_F_DIM, i)) != NULL; i++)
        is_bound =
            is_bound || (tool_after_name(item, '=', false, name) != NULL && !is_mentioned(m, name));
    if (!is_bound || takt_model_sized(m, sizes, &sized) != TAKT_OK)
        return is_bound;
    takt_model_destroy(sized);
    return false;
}

/* Callers that need the sizes report contradictions. */
static void refit_sizes(takt_tool *t, const char *path, const takt_load_options *options,
                        takt_model **model)
{
    takt_model *better = NULL;
    takt_load_options again = *options;
    char *sizes = tool_joined(t, TAKT_F_DIM);
    again.sizes = sizes;
    if (sizes != NULL && is_contradicted(t, *model, sizes) &&
        takt_model_load(t->ctx, path, &again, &better) == TAKT_OK) {
        takt_model_destroy(*model);
        *model = better;
        t->has_fixed_sizes = true;
    }
    free(sizes);
}

void tool_refit_given(takt_tool *t, const char *path, const takt_load_options *options,
                      takt_model **model)
{
    const bool is_given =
        tool_item_of(t, TAKT_F_INPUT, 0) != NULL || tool_item_of(t, TAKT_F_SHAPE, 0) != NULL;
    const bool is_cut = tool_text_of(t, TAKT_F_BATCH_SIZE) != NULL; /* files of any length */
    if (is_cut || takt_model_lineage(*model) == NULL)
        return;
    if (!is_given) {
        refit_sizes(t, path, options, model);
        return;
    }
    shapes *s = calloc(1, sizeof *s);
    char *sizes = tool_joined(t, TAKT_F_DIM);
    takt_model *const first = *model;
    takt_load_options again = *options;
    if (s != NULL) {
        gather(t, first, s);
        again.known = s->at;
        again.known_count = s->count;
        again.sizes = sizes;
        tool_refit(t, path, &again, model);
        t->has_fixed_sizes = t->has_fixed_sizes || (*model != first && sizes != NULL);
    }
    free(sizes);
    free(s);
}
