/* check.c - clauses, which ONNX does not have: an output with the condition, and an entry
 * "takt.check.OUTPUT" in the metadata: the kind, the line, the sentence and the text. */
#include <stdlib.h>
#include <string.h>

#include "io/onnx/adapt.h"

static const char prefix[] = "takt.check.";

static const takt_pb_entry *entry_of(const takt_import *im, takt_span output)
{
    const size_t length = sizeof prefix - 1;
    for (size_t i = 0; i < im->model.metadata_count; i++) {
        const takt_pb_entry *e = &im->model.metadata[i];
        if (e->key.length == length + output.length && memcmp(e->key.at, prefix, length) == 0 &&
            memcmp(e->key.at + length, output.at, output.length) == 0)
            return e;
    }
    return NULL;
}

/* The text before the next line break, which is consumed too. */
static takt_span line_of(takt_span *rest)
{
    const char *end = memchr(rest->at, '\n', rest->length);
    const size_t length = end != NULL ? (size_t)(end - rest->at) : rest->length;
    const takt_span line = {rest->at, length};
    const size_t skip = length + (end != NULL);
    *rest = (takt_span){rest->at + skip, rest->length - skip};
    return line;
}

static int number_of(takt_span text)
{
    int value = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9' || value > 100000000)
            return 0;
        value = 10 * value + (text.at[i] - '0');
    }
    return value;
}

/* Turns the output into a clause if it is one; returns whether it is. */
takt_status takt_import_check(takt_import *im, takt_graph *g, takt_span output, takt_id id,
                              bool *is_check)
{
    const takt_pb_entry *e = entry_of(im, output);
    *is_check = e != NULL;
    if (e == NULL)
        return TAKT_OK;
    takt_span rest = e->value;
    const takt_span kind = line_of(&rest), line = line_of(&rest), message = line_of(&rest);
    const char *text = takt_arena_text(&im->arena, rest.at, rest.length);
    const char *say = takt_arena_text(&im->arena, message.at, message.length);
    if (text == NULL || say == NULL)
        return TAKT_ERR_MEMORY;
    if (takt_type_of(g, id)->dtype != TAKT_BOOL)
        return takt_wire_fail(im->ctx, e->at, "clause %.*s is not a bool", (int)output.length,
                              output.at);
    takt_graph_check(g, (takt_check){.text = text,
                                     .message = say[0] != '\0' ? say : NULL,
                                     .line = number_of(line),
                                     .is_require = takt_span_is(kind, "require"),
                                     .id = id});
    return g->status;
}
