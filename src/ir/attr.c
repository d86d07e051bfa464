/* attr.c - attribute values by the type their definition gives them. */
#include "ir/attr.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "ir/late.h"

/* Constants up to this size are equal if their bytes are; larger ones if their storage is. */
enum { SMALL_BYTES = 64 };

static uint64_t hash_text(uint64_t h, const char *text)
{
    return text == NULL ? takt_hash_word(h, 0) : takt_hash_bytes(h, text, strlen(text));
}

static uint64_t hash_double(uint64_t h, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return takt_hash_word(h, bits);
}

static uint64_t hash_type(uint64_t h, const takt_type *type)
{
    h = takt_hash_word(takt_hash_word(h, type->dtype), (uint64_t)type->rank);
    for (int i = 0; i < type->rank; i++)
        h = takt_hash_word(h, (uint64_t)type->dim[i]);
    return h;
}

static uint64_t hash_tensor(uint64_t h, const takt_tensor *t)
{
    const size_t bytes = takt_tensor_bytes(t);
    h = hash_type(h, &t->type);
    if (bytes <= SMALL_BYTES)
        return takt_hash_bytes(h, takt_tensor_data(t), bytes);
    return takt_hash_word(h, (uint64_t)(uintptr_t)takt_tensor_address(t));
}

static uint64_t hash_list(const takt_attr_def *def, const takt_attr *attr, uint64_t h)
{
    h = takt_hash_word(h, attr->count);
    for (uint32_t i = 0; i < attr->count; i++) {
        if (def->type == TAKT_ATTR_I64S)
            h = takt_hash_word(h, (uint64_t)attr->i64s[i]);
        else if (def->type == TAKT_ATTR_SHAPE)
            h = takt_hash_word(h, (uint64_t)attr->dims[i]);
        else if (def->type == TAKT_ATTR_F64S)
            h = hash_double(h, attr->f64s[i]);
        else
            h = hash_text(h, attr->strings[i]);
    }
    return h;
}

uint64_t takt_attr_hash(const takt_attr_def *def, const takt_attr *attr, uint64_t seed)
{
    const uint64_t h = takt_hash_word(seed, def->type);
    switch (def->type) {
    case TAKT_ATTR_NONE: return h;
    case TAKT_ATTR_I64:
    case TAKT_ATTR_ENUM: return takt_hash_word(h, (uint64_t)attr->i64);
    case TAKT_ATTR_F64: return hash_double(h, attr->f64);
    case TAKT_ATTR_BOOL: return takt_hash_word(h, attr->boolean);
    case TAKT_ATTR_DTYPE: return takt_hash_word(h, attr->dtype);
    case TAKT_ATTR_STRING: return hash_text(h, attr->string);
    case TAKT_ATTR_I64S:
    case TAKT_ATTR_F64S:
    case TAKT_ATTR_STRINGS:
    case TAKT_ATTR_SHAPE: return hash_list(def, attr, h);
    case TAKT_ATTR_TYPE: return hash_type(h, attr->type);
    case TAKT_ATTR_TENSOR: return hash_tensor(h, attr->tensor);
    case TAKT_ATTR_GRAPH: return takt_hash_word(h, (uint64_t)(uintptr_t)attr->graph);
    }
    return h;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_type(const takt_type *a, const takt_type *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]) == 0;
}

static bool same_tensor(const takt_tensor *a, const takt_tensor *b)
{
    const size_t bytes = takt_tensor_bytes(a);
    if (!same_type(&a->type, &b->type))
        return false;
    if (takt_tensor_address(a) == takt_tensor_address(b))
        return true;
    return bytes <= SMALL_BYTES && memcmp(takt_tensor_data(a), takt_tensor_data(b), bytes) == 0;
}

static bool same_list(const takt_attr_def *def, const takt_attr *a, const takt_attr *b)
{
    if (a->count != b->count)
        return false;
    if (a->count == 0)
        return true;
    if (def->type == TAKT_ATTR_STRINGS) {
        for (uint32_t i = 0; i < a->count; i++)
            if (!same_text(a->strings[i], b->strings[i]))
                return false;
        return true;
    }
    /* The others are lists of eight-byte items; doubles are compared by their bits. */
    return memcmp(a->i64s, b->i64s, a->count * sizeof(int64_t)) == 0;
}

bool takt_attr_same(const takt_attr_def *def, const takt_attr *a, const takt_attr *b)
{
    switch (def->type) {
    case TAKT_ATTR_NONE: return true;
    case TAKT_ATTR_I64:
    case TAKT_ATTR_ENUM: return a->i64 == b->i64;
    case TAKT_ATTR_F64: return memcmp(&a->f64, &b->f64, sizeof a->f64) == 0;
    case TAKT_ATTR_BOOL: return a->boolean == b->boolean;
    case TAKT_ATTR_DTYPE: return a->dtype == b->dtype;
    case TAKT_ATTR_STRING: return same_text(a->string, b->string);
    case TAKT_ATTR_I64S:
    case TAKT_ATTR_F64S:
    case TAKT_ATTR_STRINGS:
    case TAKT_ATTR_SHAPE: return same_list(def, a, b);
    case TAKT_ATTR_TYPE: return same_type(a->type, b->type);
    case TAKT_ATTR_TENSOR: return same_tensor(a->tensor, b->tensor);
    case TAKT_ATTR_GRAPH: return a->graph == b->graph;
    }
    return false;
}

static takt_status copy_strings(takt_graph *g, const takt_attr *from, takt_attr *to)
{
    const char **copies = takt_arena_array(&g->arena, from->count, sizeof *copies);
    if (copies == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t i = 0; i < from->count; i++) {
        copies[i] = takt_arena_text(&g->arena, from->strings[i], strlen(from->strings[i]));
        if (copies[i] == NULL)
            return TAKT_ERR_MEMORY;
    }
    to->strings = copies;
    return TAKT_OK;
}

takt_status takt_attr_copy(takt_graph *g, const takt_attr_def *def, const takt_attr *from,
                           takt_attr *to)
{
    *to = *from;
    switch (def->type) {
    case TAKT_ATTR_STRING:
        if (from->string == NULL)
            return TAKT_OK;
        to->string = takt_arena_text(&g->arena, from->string, strlen(from->string));
        return to->string != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    case TAKT_ATTR_I64S:
    case TAKT_ATTR_F64S:
    case TAKT_ATTR_SHAPE:
        if (from->count == 0)
            return TAKT_OK;
        to->i64s = takt_arena_copy(&g->arena, from->i64s, from->count * sizeof(int64_t));
        return to->i64s != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    case TAKT_ATTR_STRINGS: return copy_strings(g, from, to);
    case TAKT_ATTR_TYPE:
        to->type = takt_arena_copy(&g->arena, from->type, sizeof *from->type);
        return to->type != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    case TAKT_ATTR_TENSOR: return takt_graph_hold_tensor(g, from->tensor, &to->tensor);
    case TAKT_ATTR_GRAPH: return takt_graph_hold_child(g, from->graph);
    default: return TAKT_OK;
    }
}

void takt_string_print(const char *text, takt_text *to)
{
    takt_text_put(to, "\"", 1);
    for (; text != NULL && *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            takt_text_add(to, "\\%c", c);
        else if (c == '\n' || c == '\t')
            takt_text_put(to, c == '\n' ? "\\n" : "\\t", 2);
        else if (c < 0x20 || c == 0x7F)
            takt_text_add(to, "\\u{%x}", c);
        else
            takt_text_put(to, text, 1);
    }
    takt_text_put(to, "\"", 1);
}

static void print_list(takt_dims *dims, const takt_attr_def *def, const takt_attr *attr,
                       takt_text *text)
{
    takt_text_put(text, "[", 1);
    for (uint32_t i = 0; i < attr->count; i++) {
        if (i > 0)
            takt_text_put(text, ", ", 2);
        if (def->type == TAKT_ATTR_I64S)
            takt_text_add(text, "%" PRId64, attr->i64s[i]);
        else if (def->type == TAKT_ATTR_SHAPE)
            takt_dim_print(dims, attr->dims[i], text);
        else if (def->type == TAKT_ATTR_F64S)
            takt_text_double(text, attr->f64s[i]);
        else
            takt_string_print(attr->strings[i], text);
    }
    takt_text_put(text, "]", 1);
}

void takt_attr_print(takt_dims *dims, const takt_attr_def *def, const takt_attr *attr,
                     takt_text *text)
{
    switch (def->type) {
    case TAKT_ATTR_NONE:
    case TAKT_ATTR_TENSOR:
    case TAKT_ATTR_GRAPH: break;
    case TAKT_ATTR_I64: takt_text_add(text, "%" PRId64, attr->i64); break;
    case TAKT_ATTR_F64: takt_text_double(text, attr->f64); break;
    case TAKT_ATTR_BOOL: takt_text_add(text, "%s", attr->boolean ? "true" : "false"); break;
    case TAKT_ATTR_STRING: takt_string_print(attr->string, text); break;
    case TAKT_ATTR_ENUM: takt_text_add(text, "%s", def->names[attr->i64]); break;
    case TAKT_ATTR_DTYPE: takt_text_add(text, "%s", takt_dtype_name(attr->dtype)); break;
    case TAKT_ATTR_TYPE: takt_type_print(dims, attr->type, text); break;
    case TAKT_ATTR_I64S:
    case TAKT_ATTR_F64S:
    case TAKT_ATTR_STRINGS:
    case TAKT_ATTR_SHAPE: print_list(dims, def, attr, text); break;
    }
}
