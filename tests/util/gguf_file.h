/* gguf_file.h - GGUF files of any kind, right or wrong, written piece by piece. */
#ifndef TAKT_TESTS_UTIL_GGUF_FILE_H
#define TAKT_TESTS_UTIL_GGUF_FILE_H

#include <stdint.h>
#include <string.h>

enum { GGUF_FILE_BYTES = 1 << 19 };

typedef struct gguf_file {
    uint8_t bytes[GGUF_FILE_BYTES];
    size_t length;
} gguf_file;

static inline void gguf_put(gguf_file *f, const void *bytes, size_t count)
{
    if (count > sizeof f->bytes - f->length)
        count = sizeof f->bytes - f->length;
    if (count > 0)
        memcpy(f->bytes + f->length, bytes, count);
    f->length += count;
}

static inline void gguf_number(gguf_file *f, uint64_t value, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        const uint8_t byte = (uint8_t)(value >> 8 * i);
        gguf_put(f, &byte, 1);
    }
}

static inline void gguf_u8(gguf_file *f, uint8_t value)
{
    gguf_number(f, value, 1);
}

static inline void gguf_u32(gguf_file *f, uint32_t value)
{
    gguf_number(f, value, 4);
}

static inline void gguf_u64(gguf_file *f, uint64_t value)
{
    gguf_number(f, value, 8);
}

static inline void gguf_f32(gguf_file *f, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    gguf_u32(f, bits);
}

static inline void gguf_text(gguf_file *f, const char *text)
{
    gguf_u64(f, strlen(text));
    gguf_put(f, text, strlen(text));
}

static inline void gguf_begin(gguf_file *f, uint32_t version, uint64_t tensors, uint64_t keys)
{
    f->length = 0;
    gguf_put(f, "GGUF", 4);
    gguf_u32(f, version);
    gguf_u64(f, tensors);
    gguf_u64(f, keys);
}

static inline void gguf_key_head(gguf_file *f, const char *key, uint32_t kind)
{
    gguf_text(f, key);
    gguf_u32(f, kind);
}

static inline void gguf_key_u32(gguf_file *f, const char *key, uint32_t value)
{
    gguf_key_head(f, key, 4);
    gguf_u32(f, value);
}

static inline void gguf_key_f32(gguf_file *f, const char *key, float value)
{
    gguf_key_head(f, key, 6);
    gguf_f32(f, value);
}

static inline void gguf_key_text(gguf_file *f, const char *key, const char *value)
{
    gguf_key_head(f, key, 8);
    gguf_text(f, value);
}

/* Dimensions as the file has them: the contiguous one first. */
static inline void gguf_tensor(gguf_file *f, const char *name, uint32_t type, uint32_t rank,
                               const uint64_t *dims, uint64_t offset)
{
    gguf_text(f, name);
    gguf_u32(f, rank);
    for (uint32_t i = 0; i < rank && i < 8; i++)
        gguf_u64(f, rank <= 5 ? dims[i] : 1);
    gguf_u32(f, type);
    gguf_u64(f, offset);
}

static inline void gguf_zeros(gguf_file *f, size_t count)
{
    for (size_t i = 0; i < count; i++)
        gguf_u8(f, 0);
}

static inline void gguf_pad(gguf_file *f, size_t align)
{
    while (f->length % align != 0)
        gguf_u8(f, 0);
}

#endif
