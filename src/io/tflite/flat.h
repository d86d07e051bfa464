/* flat.h - flatbuffers: tables, vectors and texts over a bounded cursor.
 *
 * Nothing is trusted: every access is checked against the file, and what is visited is counted, so
 * that parts which are shared a thousand times cannot make a small file a large one. Failures are
 * sticky: after the first, everything reads as absent, so that one check at the end is enough.
 */
#ifndef TAKT_IO_TFLITE_FLAT_H
#define TAKT_IO_TFLITE_FLAT_H

#include "base/cursor.h"
#include "base/text.h"
#include "io/skim.h"

typedef struct takt_flat {
    takt_ctx *ctx;
    takt_cursor all;
    const takt_skim *skim; /* holds bytes that are not in memory, so no table may be there; or
                            * NULL */
    uint64_t budget;       /* entries and bytes of memory that may still be allocated */
    takt_status status;
} takt_flat;

/* A table; at == 0: there is none. */
typedef struct takt_flat_table {
    size_t at; /* offset in the file */
    size_t fields,
        size_bytes; /* offset of its vtable's entries; bytes of that vtable and its own */
    size_t bytes;
} takt_flat_table;

/* A vector; `at` is the offset of its first element. */
typedef struct takt_flat_vector {
    size_t at, count;
} takt_flat_vector;

takt_flat takt_flat_of(takt_ctx *ctx, const uint8_t *bytes, size_t length);
/* TAKT_E_TFLITE with the offset; sticky. */
takt_status takt_flat_fail(takt_flat *f, size_t at, const char *format, ...) TAKT_PRINTF(3, 4);

/* False, with a failure, if a file of this length may not have this much visited or made. */
bool takt_flat_spend(takt_flat *f, size_t at, uint64_t count);

takt_flat_table takt_flat_root(takt_flat *f);
bool takt_flat_has(const takt_flat_table *t, int field);
takt_flat_table takt_flat_child(takt_flat *f, const takt_flat_table *t, int field);
/* A vector of elements of this many bytes; empty if absent. */
takt_flat_vector takt_flat_list(takt_flat *f, const takt_flat_table *t, int field, size_t bytes);
/* Element of a vector of tables. */
takt_flat_table takt_flat_item(takt_flat *f, takt_flat_vector v, size_t index);
takt_span takt_flat_text(takt_flat *f, const takt_flat_table *t, int field);

/* Numbers of a table, `fallback` where the field is absent. */
uint8_t takt_flat_u8(takt_flat *f, const takt_flat_table *t, int field, uint8_t fallback);
int32_t takt_flat_i32(takt_flat *f, const takt_flat_table *t, int field, int32_t fallback);
uint64_t takt_flat_u64(takt_flat *f, const takt_flat_table *t, int field, uint64_t fallback);
float takt_flat_f32(takt_flat *f, const takt_flat_table *t, int field, float fallback);
/* Elements of vectors of numbers. */
uint8_t takt_flat_u8_at(takt_flat *f, takt_flat_vector v, size_t index);
uint16_t takt_flat_u16_at(takt_flat *f, takt_flat_vector v, size_t index);
int32_t takt_flat_i32_at(takt_flat *f, takt_flat_vector v, size_t index);
int64_t takt_flat_i64_at(takt_flat *f, takt_flat_vector v, size_t index);
float takt_flat_f32_at(takt_flat *f, takt_flat_vector v, size_t index);

#endif
