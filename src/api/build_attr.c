/* build_attr.c - types and attributes from text, for models that a program builds. */
#include <string.h>

#include "api/build.h"
#include "base/json.h"
#include "base/near.h"
#include "base/size.h"

/* ---- types ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static takt_span trimmed(takt_span s)
{
    while (s.length > 0 && *s.at == ' ')
        s.at++, s.length--;
    while (s.length > 0 && s.at[s.length - 1] == ' ')
        s.length--;
    return s;
}

static bool read_number(takt_span s, int64_t *out)
{
    int64_t n = 0;
    for (size_t i = 0; i < s.length; i++)
        if (!is_digit(s.at[i]) || !takt_i64_mul(n, 10, &n) || !takt_i64_add(n, s.at[i] - '0', &n))
            return false;
    *out = n;
    return s.length > 0;
}

/* A number or a name. */
static takt_status read_dim(takt_graph *g, takt_span s, takt_dim *dim)
{
    bool is_name = s.length > 0 && is_letter(s.at[0]);
    for (size_t i = 0; i < s.length; i++)
        is_name = is_name && (is_letter(s.at[i]) || is_digit(s.at[i]));
    if (is_name)
        return takt_dim_name(g->dims, s, dim);
    if (read_number(s, dim))
        return TAKT_OK;
    return takt_fail(g->ctx, TAKT_E_DIM, "'%.*s' is neither a number nor a name of a dimension",
                     (int)(s.length < 80 ? s.length : 80), s.at);
}

takt_status takt_build_type(takt_graph *g, const char *text, takt_type *type)
{
    const size_t word = strcspn(text, "[ ");
    const char *open = strchr(text, '['), *close = strrchr(text, ']');
    char name[32] = "";
    if (word < sizeof name)
        memcpy(name, text, word);
    name[word < sizeof name ? word : 0] = '\0';
    *type = (takt_type){.dtype = takt_dtype_find(name)};
    if (type->dtype == TAKT_DTYPE_COUNT)
        return takt_fail(g->ctx, TAKT_E_DTYPE, "'%.80s' does not begin with an element type", text);
    if (open == NULL || close == NULL || close < open ||
        strspn(close + 1, " ") != strlen(close + 1))
        return takt_fail(g->ctx, TAKT_E_DIM, "'%.80s' is not a type: write f32[2, n]", text);
    takt_span rest = trimmed((takt_span){open + 1, (size_t)(close - open - 1)});
    while (rest.length > 0) {
        const char *comma = memchr(rest.at, ',', rest.length);
        const size_t length = comma != NULL ? (size_t)(comma - rest.at) : rest.length;
        if (type->rank == TAKT_MAX_RANK)
            return takt_fail(g->ctx, TAKT_E_RANK, "'%.80s' has more than %d dimensions", text,
                             TAKT_MAX_RANK);
        TAKT_TRY(read_dim(g, trimmed((takt_span){rest.at, length}), &type->dim[type->rank++]));
        rest.at += length, rest.length -= length;
        if (comma == NULL)
            break;
        rest = trimmed((takt_span){rest.at + 1, rest.length - 1});
        if (rest.length == 0)
            return takt_fail(g->ctx, TAKT_E_DIM, "'%.80s' ends with a comma", text);
    }
    return TAKT_OK;
}

/* ---- attributes ---- */

typedef struct reader {
    takt_graph *g;
    const takt_op *op;
    const takt_attr_def *def;
    takt_arena *arena;
} reader;

static takt_status refuse(const reader *r, const char *what)
{
    return takt_fail(r->g->ctx, TAKT_E_ATTR, "%s: attribute %s is %s", r->op->name, r->def->name,
                     what);
}

static takt_status read_enum(const reader *r, const takt_json *v, takt_attr *to)
{
    takt_nearest near = takt_nearest_to(v->text);
    for (int i = 0; r->def->names[i] != NULL; i++) {
        if (strcmp(r->def->names[i], v->text) == 0) {
            to->i64 = i;
            return TAKT_OK;
        }
        takt_nearest_try(&near, r->def->names[i]);
    }
    takt_fail(r->g->ctx, TAKT_E_ATTR, "%s: attribute %s cannot be '%.80s'", r->op->name,
              r->def->name, v->text);
    return near.best != NULL ? takt_fail_hint(r->g->ctx, "did you mean %s?", near.best)
                             : TAKT_ERR_SHAPE;
}

/* One element of a list: of integers, of numbers, of dimensions, of words. */
static takt_status read_item(const reader *r, const takt_json *v, void *list, size_t i)
{
    const bool is_string = v->kind == TAKT_JSON_STRING;
    switch (r->def->type) {
    case TAKT_ATTR_F64S:
        ((double *)list)[i] = v->number;
        return v->kind == TAKT_JSON_NUMBER ? TAKT_OK : refuse(r, "a list of numbers");
    case TAKT_ATTR_STRINGS:
        ((const char **)list)[i] = v->text;
        return is_string ? TAKT_OK : refuse(r, "a list of strings");
    case TAKT_ATTR_SHAPE:
        if (is_string)
            return read_dim(r->g, (takt_span){v->text, v->text_length}, &((takt_dim *)list)[i]);
        break;
    default: break;
    }
    ((int64_t *)list)[i] = v->integer;
    if (v->kind != TAKT_JSON_NUMBER || !v->is_integer)
        return refuse(r, "a list of integers");
    if (r->def->type == TAKT_ATTR_SHAPE && v->integer < 0)
        return refuse(r, "a list of dimensions, which are not negative");
    return TAKT_OK;
}

static takt_status read_list(const reader *r, const takt_json *v, takt_attr *to)
{
    if (v->kind != TAKT_JSON_ARRAY)
        return refuse(r, "a list");
    void *list = takt_arena_array(r->arena, v->count, sizeof(int64_t));
    if (list == NULL)
        return TAKT_ERR_MEMORY;
    size_t i = 0;
    for (const takt_json *item = takt_json_first(v); item != NULL; item = takt_json_next(item))
        TAKT_TRY(read_item(r, item, list, i++));
    to->i64s = list;
    to->count = v->count;
    return TAKT_OK;
}

static takt_status read_value(const reader *r, const takt_json *v, takt_attr *to)
{
    const bool is_string = v->kind == TAKT_JSON_STRING;
    switch (r->def->type) {
    case TAKT_ATTR_I64:
        to->i64 = v->integer;
        return v->kind == TAKT_JSON_NUMBER && v->is_integer ? TAKT_OK : refuse(r, "an integer");
    case TAKT_ATTR_F64:
        to->f64 = v->is_integer ? (double)v->integer : v->number;
        return v->kind == TAKT_JSON_NUMBER ? TAKT_OK : refuse(r, "a number");
    case TAKT_ATTR_BOOL:
        to->boolean = v->boolean;
        return v->kind == TAKT_JSON_BOOL ? TAKT_OK : refuse(r, "true or false");
    case TAKT_ATTR_STRING: to->string = v->text; return is_string ? TAKT_OK : refuse(r, "a string");
    case TAKT_ATTR_DTYPE:
        to->dtype = is_string ? takt_dtype_find(v->text) : TAKT_DTYPE_COUNT;
        return to->dtype != TAKT_DTYPE_COUNT ? TAKT_OK : refuse(r, "an element type, as \"f32\"");
    case TAKT_ATTR_ENUM: return is_string ? read_enum(r, v, to) : refuse(r, "a word");
    case TAKT_ATTR_I64S:
    case TAKT_ATTR_F64S:
    case TAKT_ATTR_SHAPE:
    case TAKT_ATTR_STRINGS: return read_list(r, v, to);
    default: return refuse(r, "not for builders: write the model in the language");
    }
}

takt_status takt_build_attrs(takt_graph *g, const takt_op *op, const char *json, takt_arena *arena,
                             takt_attr attrs[static TAKT_MAX_ATTRS])
{
    const takt_json *root;
    const int stream = takt_op_attr_index(op, "stream");
    if (json != NULL) {
        TAKT_TRY(takt_json_parse(g->ctx, arena, json, strlen(json), &root));
        if (root->kind != TAKT_JSON_OBJECT)
            return takt_fail(g->ctx, TAKT_E_ATTR, "%s: the attributes are not a JSON object",
                             op->name);
        for (const takt_json *v = takt_json_first(root); v != NULL; v = takt_json_next(v)) {
            const int index = takt_op_attr_index(op, v->key);
            if (index < 0)
                return takt_fail(g->ctx, TAKT_E_ATTR, "%s has no attribute %.80s", op->name,
                                 v->key);
            if (v->kind == TAKT_JSON_NULL)
                continue;
            const reader r = {g, op, &op->attrs[index], arena};
            TAKT_TRY(read_value(&r, v, &attrs[index]));
            attrs[index].is_set = true;
        }
    }
    if (stream >= 0 && op->attrs[stream].is_required && !attrs[stream].is_set)
        attrs[stream] = (takt_attr){.i64 = takt_graph_stream(g), .is_set = true};
    return TAKT_OK;
}
