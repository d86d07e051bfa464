/* bench_inputs.c - inputs of a measured session: the files of -i, random numbers for the rest. */
#include <string.h>

#include "measure.h"

bool tool_sizes_given(takt_tool *t, const takt_model *m, tool_sizes *sizes)
{
    if (tool_item_of(t, TAKT_F_INPUT, 0) == NULL)
        return tool_sizes_init(t, m, sizes);
    tool_run r = {.t = t, .model = m, .may_lack = true};
    const int code = tool_load_inputs(&r);
    *sizes = r.sizes;
    tool_free_inputs(&r);
    return code == TAKT_EXIT_OK;
}

/* The file of -i for this input, or NULL. A file without a name is for all inputs: the only one, or
 * an archive of them. */
static const char *file_of(const takt_tool *t, const char *name)
{
    const char *item;
    for (size_t i = 0; (item = tool_item_of(t, TAKT_F_INPUT, i)) != NULL; i++) {
        const char *file = strchr(item, '=') == NULL ? item : tool_after(item, '=', name);
        if (file != NULL)
            return file;
    }
    return NULL;
}

/* Element types and sizes were compared when the sizes were taken from the files. A file that does
 * not fit now is for a batch size other than the one that the verb is trying: `*fits` is false. */
static int fill_from(takt_tool *t, const char *path, const char *name, const takt_tensor_view *own,
                     bool *fits)
{
    takt_tensor_view view;
    const int code = tool_finish(t, takt_view_load(t->ctx, path, name, &view));
    if (code != TAKT_EXIT_OK)
        return code;
    size_t bits = (size_t)takt_dtype_bits(own->dtype);
    *fits = view.dtype == own->dtype && view.rank == own->rank;
    for (int i = 0; *fits && i < own->rank; i++) {
        *fits = view.dims[i] == own->dims[i];
        bits *= (size_t)own->dims[i];
    }
    if (*fits && bits > 0)
        memcpy(own->data, view.data, (bits + 7) / 8);
    takt_view_free(t->ctx, &view);
    return TAKT_EXIT_OK;
}

int tool_fill_inputs(takt_tool *t, takt_session *s)
{
    const uint64_t seed = tool_number_of(t, TAKT_F_SEED, 0);
    for (size_t i = 0; i < takt_session_input_count(s); i++) {
        const takt_tensor_view *own = takt_session_input(s, i);
        if (own == NULL)
            return tool_finish(t, TAKT_ERR_MEMORY);
        const char *name = takt_session_input_desc(s, i)->name, *path = file_of(t, name);
        bool fits = false;
        int code = path != NULL ? fill_from(t, path, name, own, &fits) : TAKT_EXIT_OK;
        if (code == TAKT_EXIT_OK && !fits)
            code = tool_finish(t, takt_session_random(s, i, own, seed, (uint32_t)i));
        if (code != TAKT_EXIT_OK)
            return code;
    }
    return TAKT_EXIT_OK;
}
