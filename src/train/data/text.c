/* text.c - plain text as bytes: a sample is a window of them, its labels the same window shifted by
 * one byte.
 *
 * Symbols are the bytes that occur, numbered in ascending order. */
#include <string.h>

#include "train/data/data.h"

static bool recognises(const takt_data_file *f)
{
    if (takt_data_is_binary(f->path))
        return false;
    const size_t probe = f->length < 4096 ? f->length : 4096;
    for (size_t i = 0; i < probe; i++)
        if (f->bytes[i] == 0 || (f->bytes[i] < 32 && memchr("\t\n\r\f\v", f->bytes[i], 5) == NULL))
            return false;
    return f->length > 0;
}

static takt_status read(takt_data_set *set, const takt_data_file *f)
{
    uint8_t number[256] = {0};
    bool occurs[256] = {0};
    takt_type type = {.dtype = TAKT_U8, .rank = 1};
    takt_tensor *x;
    for (size_t i = 0; i < f->length; i++)
        occurs[f->bytes[i]] = true;
    for (int c = 0; c < 256; c++)
        if (occurs[c])
            number[c] = (uint8_t)set->classes++;
    if (f->length < (size_t)f->window + 1)
        return takt_data_fail(set, f, "%zu characters are less than a window of %lld and one more",
                              f->length, (long long)f->window);
    type.dim[0] = (int64_t)f->length;
    TAKT_TRY(takt_data_add(set, f, "x", &type, &x));
    uint8_t *to = takt_tensor_data(x);
    for (size_t i = 0; i < f->length; i++)
        to[i] = number[f->bytes[i]];
    set->window = f->window;
    return TAKT_OK;
}

const takt_data_reader takt_data_text = {
    .name = "text",
    .summary = "plain text: windows of characters, labels one character on",
    .advice = "use a longer text, or a smaller --window",
    .recognises = recognises,
    .read = read,
};
