/* names.c - unique names of values in the file. */
#include <string.h>

#include "base/hash.h"
#include "io/onnx/write/emit.h"

static size_t slot_of(const takt_emit *e, const char *name)
{
    size_t at = (size_t)takt_hash_bytes(0, name, strlen(name)) & (e->used_size - 1);
    while (e->used[at] != NULL && strcmp(e->used[at], name) != 0)
        at = (at + 1) & (e->used_size - 1);
    return at;
}

static bool grow(takt_emit *e)
{
    const size_t size = e->used_size == 0 ? 256 : e->used_size * 2, old_size = e->used_size;
    const char **old = e->used;
    const char **table = takt_arena_array(&e->arena, size, sizeof *table);
    if (table == NULL) {
        e->status = TAKT_ERR_MEMORY;
        return false;
    }
    e->used = table;
    e->used_size = size;
    for (size_t i = 0; i < old_size; i++)
        if (old[i] != NULL)
            e->used[slot_of(e, old[i])] = old[i];
    return true;
}

bool takt_emit_is_used(const takt_emit *e, const char *name)
{
    return e->used_size > 0 && e->used[slot_of(e, name)] != NULL;
}

const char *takt_emit_unique(takt_emit *e, const char *base)
{
    if (e->used_count * 2 >= e->used_size && !grow(e))
        return "";
    const char *name = base;
    for (size_t i = 2; e->used[slot_of(e, name)] != NULL; i++) {
        /* A second name of a kind usually finds its slot immediately: the count is nearly
         * unique. */
        name = takt_arena_format(&e->arena, "%s_%zu", base, i == 2 ? e->used_count : i);
        if (name == NULL) {
            e->status = TAKT_ERR_MEMORY;
            return "";
        }
    }
    if (name == base)
        name = takt_arena_text(&e->arena, base, strlen(base));
    if (name == NULL) {
        e->status = TAKT_ERR_MEMORY;
        return "";
    }
    e->used[slot_of(e, name)] = name;
    e->used_count++;
    return name;
}

const char *takt_emit_fresh(takt_emit *e)
{
    return takt_emit_unique(e, e->out != NULL ? e->out : "value");
}
