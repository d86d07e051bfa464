/* value.c - descriptions of values. */
#include "lang/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

double takt_value_double(const takt_value *v)
{
    if (v->kind == TAKT_V_FLOAT)
        return v->f;
    return v->kind == TAKT_V_INT ? (double)v->i : (double)v->u;
}

const char *takt_value_kind_text(const takt_value *v)
{
    static const char *const texts[] = {
        [TAKT_V_POISON] = "an error",       [TAKT_V_INT] = "an integer",
        [TAKT_V_BIG] = "an integer",        [TAKT_V_DIM] = "a dimension",
        [TAKT_V_FLOAT] = "a number",        [TAKT_V_BOOL] = "a truth value",
        [TAKT_V_STRING] = "a string",       [TAKT_V_BYTES] = "hex data",
        [TAKT_V_DTYPE] = "an element type", [TAKT_V_WORD] = "a word",
        [TAKT_V_LIST] = "a list",           [TAKT_V_TYPE] = "a type",
        [TAKT_V_TENSOR] = "a tensor",       [TAKT_V_RESULTS] = "several results",
        [TAKT_V_TUPLE] = "several results", [TAKT_V_GRAPH] = "a graph",
    };
    return texts[v->kind];
}

static void dim_text(const takt_graph *g, takt_dim d, char *buffer)
{
    takt_type type = {.dtype = TAKT_F32, .rank = 1, .dim = {d}};
    char text[TAKT_TYPE_TEXT];
    takt_type_text(g->dims, &type, text); /* "f32[batch]" */
    const size_t length = strlen(text);
    snprintf(buffer, TAKT_VALUE_TEXT, "%.*s", length > 5 ? (int)(length - 5) : 0, text + 4);
}

static void list_text(const takt_graph *g, const takt_value *v, char *buffer)
{
    size_t at = (size_t)snprintf(buffer, TAKT_VALUE_TEXT, "[");
    for (uint32_t i = 0; i < v->count && at + 24 < TAKT_VALUE_TEXT; i++) {
        char item[TAKT_VALUE_TEXT];
        if (v->items[i].kind == TAKT_V_LIST)
            snprintf(item, sizeof item, "[...]");
        else
            takt_value_text(g, &v->items[i], item);
        const int n =
            snprintf(buffer + at, TAKT_VALUE_TEXT - at, "%s%.20s", i > 0 ? ", " : "", item);
        at += n > 0 ? (size_t)n : 0;
    }
    if (at + 2 < TAKT_VALUE_TEXT)
        snprintf(buffer + at, TAKT_VALUE_TEXT - at, "]");
}

const char *takt_value_text(const takt_graph *g, const takt_value *v,
                            char buffer[static TAKT_VALUE_TEXT])
{
    const size_t size = TAKT_VALUE_TEXT;
    switch ((takt_value_kind)v->kind) {
    case TAKT_V_INT: snprintf(buffer, size, "%" PRId64, v->i); break;
    case TAKT_V_BIG: snprintf(buffer, size, "%" PRIu64, v->u); break;
    case TAKT_V_FLOAT: buffer[takt_number_write(v->f, buffer)] = '\0'; break;
    case TAKT_V_BOOL: snprintf(buffer, size, "%s", v->b ? "true" : "false"); break;
    case TAKT_V_STRING:
        snprintf(buffer, size, "\"%.*s\"", v->text.length < 40 ? (int)v->text.length : 40,
                 v->text.at);
        break;
    case TAKT_V_DTYPE: snprintf(buffer, size, "%s", takt_dtype_name(v->dtype)); break;
    case TAKT_V_WORD: snprintf(buffer, size, "%.80s", v->word->text); break;
    case TAKT_V_DIM: dim_text(g, v->dim, buffer); break;
    case TAKT_V_LIST: list_text(g, v, buffer); break;
    case TAKT_V_TYPE: takt_type_text(g->dims, v->type, buffer); break;
    case TAKT_V_TENSOR: takt_type_text(g->dims, takt_type_of(g, v->id), buffer); break;
    case TAKT_V_POISON:
    case TAKT_V_BYTES:
    case TAKT_V_RESULTS:
    case TAKT_V_TUPLE:
    case TAKT_V_GRAPH: snprintf(buffer, size, "%s", takt_value_kind_text(v)); break;
    }
    return buffer;
}
