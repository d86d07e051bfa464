/* eager_text.c - a call of one operation written as a model, so that everything else is shared. */
#include <inttypes.h>
#include <string.h>

#include "api/eager.h"
#include "base/json.h"
#include "ir/op.h"

static const takt_attr_def *find(const takt_op *op, const char *key)
{
    for (size_t i = 0; i < takt_op_attr_count(op); i++)
        if (strcmp(op->attrs[i].name, key) == 0)
            return &op->attrs[i];
    return NULL;
}

static bool is_word(const char *text)
{
    const size_t length = strlen(text);
    return length > 0 && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789_") == length;
}

static bool add_string(takt_text *text, const char *from)
{
    for (const char *at = from; *at != '\0'; at++)
        if ((unsigned char)*at < 32 || *at == '"' || *at == '\\')
            return false;
    takt_text_add(text, "\"%s\"", from);
    return true;
}

static bool add_number(takt_text *text, const takt_json *v)
{
    if (v->kind != TAKT_JSON_NUMBER)
        return false;
    if (v->is_integer)
        takt_text_add(text, "%" PRId64, v->integer);
    else
        takt_text_double(text, v->number);
    return true;
}

static bool add_list(takt_text *text, const takt_json *v, bool of_strings)
{
    bool good = v->kind == TAKT_JSON_ARRAY;
    takt_text_add(text, "[");
    for (const takt_json *item = good ? takt_json_first(v) : NULL; item != NULL && good;
         item = takt_json_next(item)) {
        good = !of_strings ? add_number(text, item)
                           : item->kind == TAKT_JSON_STRING && add_string(text, item->text);
        takt_text_add(text, takt_json_next(item) != NULL ? ", " : "");
    }
    takt_text_add(text, "]");
    return good;
}

/* The value as the language writes it; false if it is of another kind. */
static bool add_value(takt_text *text, takt_attr_type type, const takt_json *v)
{
    switch (type) {
    case TAKT_ATTR_I64:
    case TAKT_ATTR_F64: return add_number(text, v);
    case TAKT_ATTR_BOOL:
        takt_text_add(text, "%s", v->boolean ? "true" : "false");
        return v->kind == TAKT_JSON_BOOL;
    case TAKT_ATTR_STRING: return v->kind == TAKT_JSON_STRING && add_string(text, v->text);
    case TAKT_ATTR_ENUM:
    case TAKT_ATTR_DTYPE:
        if (v->kind != TAKT_JSON_STRING || !is_word(v->text))
            return false;
        takt_text_add(text, "%s", v->text);
        return true;
    case TAKT_ATTR_I64S:
    case TAKT_ATTR_F64S:
    case TAKT_ATTR_SHAPE: return add_list(text, v, false);
    case TAKT_ATTR_STRINGS: return add_list(text, v, true);
    default: return false;
    }
}

static takt_status add_attributes(takt_ctx *ctx, const takt_op_call *c, const takt_op *op,
                                  const takt_json *root, takt_text *text)
{
    if (root->kind != TAKT_JSON_OBJECT)
        return takt_fail(ctx, TAKT_E_ATTR, "%s: the attributes are not a JSON object", c->name);
    bool first = c->in_count == 0;
    for (const takt_json *v = takt_json_first(root); v != NULL; v = takt_json_next(v)) {
        const takt_attr_def *def = find(op, v->key);
        if (def == NULL)
            return takt_fail(ctx, TAKT_E_ATTR, "%s has no attribute %s", c->name, v->key);
        if (v->kind == TAKT_JSON_NULL)
            continue;
        takt_text_add(text, "%s%s=", first ? "" : ", ", def->name);
        first = false;
        if (!add_value(text, def->type, v))
            return takt_fail(ctx, TAKT_E_ATTR, "%s: attribute %s is of the wrong kind", c->name,
                             v->key);
    }
    return TAKT_OK;
}

static void add_ports(takt_text *text, char letter, const takt_tensor_view *views, size_t count)
{
    takt_text_add(text, "(");
    for (size_t i = 0; i < count; i++) {
        takt_text_add(text, "%s%c%zu: %s[", i > 0 ? ", " : "", letter, i,
                      takt_dtype_name(views[i].dtype));
        for (int d = 0; d < views[i].rank; d++)
            takt_text_add(text, "%s%" PRId64, d > 0 ? ", " : "", views[i].dims[d]);
        takt_text_add(text, "]");
    }
    takt_text_add(text, ")");
}

static void add_names(takt_text *text, const char *format, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        takt_text_add(text, i > 0 ? ", " : "");
        if (strcmp(format, "y") == 0)
            takt_text_add(text, "y%zu = v%zu", i, i);
        else
            takt_text_add(text, "%s%zu", format, i);
    }
}

takt_status takt_eager_text(takt_ctx *ctx, const takt_op_call *c, takt_text *text)
{
    const takt_op *op = takt_op_find(c->name, strlen(c->name));
    if (op == NULL)
        return takt_fail(ctx, TAKT_E_UNKNOWN_OP, "there is no operation called %s", c->name);
    takt_text_add(text, "model eager");
    add_ports(text, 'x', c->in, c->in_count);
    takt_text_add(text, " -> ");
    add_ports(text, 'y', c->out, c->out_count);
    takt_text_add(text, " {\n  ");
    add_names(text, "v", c->out_count);
    takt_text_add(text, " = op.%s(", op->name);
    add_names(text, "x", c->in_count);
    if (c->attributes != NULL) {
        takt_arena arena;
        const takt_json *root;
        takt_arena_init(&arena, ctx);
        takt_status status =
            takt_json_parse(ctx, &arena, c->attributes, strlen(c->attributes), &root);
        if (status == TAKT_OK)
            status = add_attributes(ctx, c, op, root, text);
        takt_arena_deinit(&arena);
        TAKT_TRY(status);
    }
    takt_text_add(text, ")\n  return ");
    add_names(text, "y", c->out_count);
    takt_text_add(text, "\n}\n");
    return text->status;
}
