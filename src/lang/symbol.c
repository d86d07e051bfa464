/* symbol.c - two open-addressing tables: text to symbol, symbol to index. */
#include "lang/symbol.h"

#include <string.h>

#include "base/hash.h"

enum { FIRST_SIZE = 16 };

static size_t place(const takt_symbols *s, const char *text, size_t length, uint64_t hash)
{
    size_t i = hash & (s->size - 1);
    while (s->table[i] != NULL && (s->table[i]->hash != hash || s->table[i]->length != length ||
                                   (length > 0 && memcmp(s->table[i]->text, text, length) != 0)))
        i = (i + 1) & (s->size - 1);
    return i;
}

static bool grow(takt_symbols *s)
{
    const size_t old_size = s->size;
    const takt_symbol **old = s->table;
    const size_t size = old_size > 0 ? 2 * old_size : 8 * FIRST_SIZE;
    const takt_symbol **table = takt_arena_array(s->arena, size, sizeof *table);
    if (table == NULL)
        return false;
    s->table = table;
    s->size = size;
    for (size_t i = 0; i < old_size; i++)
        if (old[i] != NULL)
            table[place(s, old[i]->text, old[i]->length, old[i]->hash)] = old[i];
    return true;
}

const takt_symbol *takt_symbol_make(takt_symbols *s, const char *text, size_t length)
{
    if (2 * s->count >= s->size && !grow(s))
        return NULL;
    const uint64_t hash = takt_hash_bytes(length, text, length);
    const size_t i = place(s, text, length, hash);
    if (s->table[i] != NULL)
        return s->table[i];
    takt_symbol *symbol = takt_arena_get(s->arena, sizeof *symbol);
    char *copy = takt_arena_text(s->arena, text, length);
    if (symbol == NULL || copy == NULL)
        return NULL;
    *symbol = (takt_symbol){copy, length, hash};
    s->table[i] = symbol;
    s->count++;
    return symbol;
}

static size_t key_place(const takt_symbol_map *map, const takt_symbol *key)
{
    size_t i = key->hash & (map->size - 1);
    while (map->keys[i] != NULL && map->keys[i] != key)
        i = (i + 1) & (map->size - 1);
    return i;
}

static bool grow_map(takt_symbol_map *map, takt_arena *arena)
{
    const takt_symbol_map old = *map;
    const size_t size = old.size > 0 ? 2 * old.size : FIRST_SIZE;
    takt_symbol_map wide = {.size = size, .count = old.count};
    wide.keys = takt_arena_array(arena, size, sizeof *wide.keys);
    wide.values = takt_arena_array(arena, size, sizeof *wide.values);
    if (wide.keys == NULL || wide.values == NULL)
        return false;
    for (size_t i = 0; i < old.size; i++) {
        if (old.keys[i] == NULL)
            continue;
        const size_t to = key_place(&wide, old.keys[i]);
        wide.keys[to] = old.keys[i];
        wide.values[to] = old.values[i];
    }
    *map = wide;
    return true;
}

uint32_t *takt_symbol_map_put(takt_symbol_map *map, takt_arena *arena, const takt_symbol *key)
{
    if (2 * map->count >= map->size && !grow_map(map, arena))
        return NULL;
    const size_t i = key_place(map, key);
    if (map->keys[i] == NULL) {
        map->keys[i] = key;
        map->values[i] = UINT32_MAX;
        map->count++;
    }
    return &map->values[i];
}

uint32_t *takt_symbol_map_get(const takt_symbol_map *map, const takt_symbol *key)
{
    if (map->size == 0)
        return NULL;
    const size_t i = key_place(map, key);
    return map->keys[i] != NULL ? &map->values[i] : NULL;
}
