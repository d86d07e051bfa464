/* json_keys.h - the keys seen so far in large objects, to find duplicates. */
#ifndef TAKT_BASE_JSON_KEYS_H
#define TAKT_BASE_JSON_KEYS_H

#include "base/json.h"

typedef struct takt_json_seen {
    uint32_t value; /* index + 1 of a value with a key; 0: free */
    uint32_t owner;
    uint32_t hash; /* avoids reading other keys, which are far apart in memory */
} takt_json_seen;

typedef struct takt_json_keys {
    takt_json_seen *at;
    size_t slots;
    uint64_t seed;
    uint64_t looks; /* accesses to slots and to other keys: these dominate the time */
} takt_json_keys;

/* Room for `count` keys. */
TAKT_MUST_USE takt_status takt_json_keys_open(takt_json_keys *k, takt_ctx *ctx, size_t count);
void takt_json_keys_close(takt_json_keys *k, takt_ctx *ctx);
/* Adds the key of values[index] in the object values[owner]; false if the object has it already. */
bool takt_json_keys_add(takt_json_keys *k, const takt_json *values, uint32_t owner, uint32_t index);

#endif
