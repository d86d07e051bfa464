/* data.c - inputs from --data: samples along the first dimension. */
#include "data.h"

#include <stdlib.h>
#include <string.h>

static int add(takt_tool *t, tool_data *d, const char *name, const char *path)
{
    takt_known_input *known = &d->at[d->count];
    known->name = name;
    const takt_status status = takt_view_load(t->ctx, path, name, &known->view);
    d->count += status == TAKT_OK;
    return tool_finish(t, status);
}

static int add_item(takt_tool *t, const takt_model *m, tool_data *d, const char *item)
{
    const char *equals = strchr(item, '=');
    const size_t count = takt_model_input_count(m);
    for (size_t i = 0; equals != NULL && i < count; i++) {
        const char *name = takt_model_input(m, i)->name;
        if (strlen(name) == (size_t)(equals - item) && memcmp(name, item, strlen(name)) == 0)
            return add(t, d, name, equals + 1);
    }
    if (equals != NULL)
        return tool_usage_error(t, 1002, "`takt inspect` shows its inputs",
                                "the model has no input called %.*s", (int)(equals - item), item);
    int code = TAKT_EXIT_OK;
    for (size_t i = 0; i < count && code == TAKT_EXIT_OK; i++)
        code = add(t, d, takt_model_input(m, i)->name, item);
    return code;
}

int tool_data_load(takt_tool *t, const takt_model *m, tool_data *d)
{
    const char *item;
    int code = TAKT_EXIT_OK;
    size_t items = 0;
    *d = (tool_data){NULL, 0};
    while (tool_item_of(t, TAKT_F_DATA, items) != NULL)
        items++;
    if (items == 0)
        return code;
    d->at = calloc(items * takt_model_input_count(m) + 1, sizeof *d->at);
    if (d->at == NULL)
        return tool_finish(t, TAKT_ERR_MEMORY);
    for (size_t i = 0; code == TAKT_EXIT_OK && (item = tool_item_of(t, TAKT_F_DATA, i)) != NULL;
         i++)
        code = add_item(t, m, d, item);
    return code;
}

void tool_data_free(takt_tool *t, tool_data *d)
{
    for (size_t i = 0; i < d->count; i++)
        takt_view_free(t->ctx, &d->at[i].view);
    free(d->at);
    *d = (tool_data){NULL, 0};
}
