/* symbol.h - names, each kept once, so that equal names are equal pointers. */
#ifndef TAKT_LANG_SYMBOL_H
#define TAKT_LANG_SYMBOL_H

#include "base/arena.h"
#include "base/text.h"

typedef struct takt_symbol {
    const char *text; /* terminated */
    size_t length;
    uint64_t hash;
} takt_symbol;

typedef struct takt_symbols {
    takt_arena *arena;
    const takt_symbol **table; /* open addressing */
    size_t size, count;
} takt_symbols;

/* NULL if out of memory. */
const takt_symbol *takt_symbol_make(takt_symbols *symbols, const char *text, size_t length);

/* A map from symbols to indices; its user defines their meaning. Lives in an arena. */
typedef struct takt_symbol_map {
    const takt_symbol **keys;
    uint32_t *values;
    size_t size, count;
} takt_symbol_map;

/* The slot of `key`'s value, created (and set to UINT32_MAX) if new; NULL if out of memory. */
uint32_t *takt_symbol_map_put(takt_symbol_map *map, takt_arena *arena, const takt_symbol *key);
/* NULL if there is none. */
uint32_t *takt_symbol_map_get(const takt_symbol_map *map, const takt_symbol *key);

#endif
