/* size_hint.c - a window of 512 samples does not fit an input of 1: which sizes do? */
#include "api/size_hint.h"

#include <string.h>

#include "api/layers.h"
#include "base/error_record.h"
#include "base/text.h"

/* "seq=256, width=32": what was not given and cannot be 1. */
static takt_status write_sizes(takt_layers *l, const takt_model *m, const char *given,
                               takt_text *text)
{
    const takt_dims *dims = m->graph->dims;
    int64_t *sizes;
    size_t count;
    TAKT_TRY(takt_parse_sizes(m->ctx, &l->arena, dims, given, &sizes, &count));
    for (size_t i = 0; i < count && i < l->size_count; i++)
        if (sizes[i] < 0 && l->sizes[i] != 1)
            takt_text_add(text, "%s%s=%lld", text->length > 0 ? ", " : "", takt_dims_name(dims, i),
                          (long long)l->sizes[i]);
    return text->status;
}

void takt_size_hint(const takt_model *m, const char *sizes)
{
    takt_error failure;
    takt_layers l = {0};
    takt_text text;
    takt_error_copy(m->ctx, &failure);
    if ((failure.status != TAKT_ERR_SHAPE && failure.id != TAKT_E_ATTR) ||
        failure.hint[0] != '\0' || (sizes != NULL && strstr(sizes, "..") != NULL))
        return;
    takt_text_init(&text, m->ctx);
    const bool is_found = takt_layers_init(&l, m, sizes) == TAKT_OK;
    const bool is_known = is_found && !l.is_all_one && write_sizes(&l, m, sizes, &text) == TAKT_OK;
    takt_error_put_back(m->ctx, &failure);
    if (is_known && text.length > 0)
        (void)takt_fail_hint(m->ctx, "sizes that are not given are 1; %s works",
                             takt_text_get(&text));
    if (is_found)
        takt_layers_deinit(&l);
    takt_text_deinit(&text);
}
