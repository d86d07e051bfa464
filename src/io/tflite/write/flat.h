/* flat.h - writes flatbuffers: parts are appended, and references to them filled in.
 *
 * References only go forwards, so a table is written before its targets: takt_fb_table returns the
 * positions of its references, and takt_fb_link points one of them at the part appended next.
 */
#ifndef TAKT_IO_TFLITE_WRITE_FLAT_H
#define TAKT_IO_TFLITE_WRITE_FLAT_H

#include <stdint.h>

#include "base/text.h"

/* A field of a table: `bytes` of a number, or 0 for a reference, whose position is then in
 * `place`. */
typedef struct takt_fb_field {
    int id;
    size_t bytes;
    uint64_t bits;
    size_t place;
} takt_fb_field;

enum { TAKT_FB_FIELDS = 16 };

/* All return the offset of the appended part. Failures are those of the text. */
size_t takt_fb_table(takt_text *to, takt_fb_field *fields, size_t count);
/* `count` numbers of `size` bytes; the first is at a multiple of `align`. */
size_t takt_fb_numbers(takt_text *to, const void *from, size_t count, size_t size, size_t align);
size_t takt_fb_string(takt_text *to, const char *text);
/* References without targets; the first is 4 bytes after the offset. */
size_t takt_fb_references(takt_text *to, size_t count);
void takt_fb_link(takt_text *to, size_t place, size_t at);
void takt_fb_align(takt_text *to, size_t size);
void takt_fb_put(takt_text *to, uint64_t bits, size_t bytes);

#endif
