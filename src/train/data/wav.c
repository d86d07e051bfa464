/* wav.c - sound: RIFF WAVE files of whole numbers or floats, channels averaged to one.
 *
 * One file is one sample, f32 from -1 to 1.
 */
#include <string.h>

#include "base/cursor.h"
#include "train/data/data.h"

enum { WHOLE = 1, FLOAT = 3, EXTENSIBLE = 0xfffe };
/* Programs that write to a pipe put this or more where the size of the sound would be. */
static const uint32_t UNKNOWN = 0x7ffff000;

typedef struct sound {
    unsigned format, channels, bits;
    uint32_t rate; /* samples a second */
    takt_cursor data;
    bool has_format, has_data;
} sound;

static bool recognises(const takt_data_file *f)
{
    return f->length >= 12 && memcmp(f->bytes, "RIFF", 4) == 0 &&
           memcmp(f->bytes + 8, "WAVE", 4) == 0;
}

static void read_format(takt_cursor c, sound *s)
{
    s->format = takt_cursor_u16le(&c);
    s->channels = takt_cursor_u16le(&c);
    s->rate = takt_cursor_u32le(&c);
    (void)takt_cursor_skip(&c, 6);
    s->bits = takt_cursor_u16le(&c);
    if (s->format == EXTENSIBLE && takt_cursor_skip(&c, 8))
        s->format = takt_cursor_u16le(&c); /* the first bytes of the subformat's name */
    s->has_format = !c.failed;
}

static takt_status read_chunks(takt_data_set *set, const takt_data_file *f, sound *s)
{
    takt_cursor c = takt_cursor_of(f->bytes, f->length, 0);
    (void)takt_cursor_skip(&c, 12);
    while (!s->has_data && takt_cursor_left(&c) >= 8) {
        const uint8_t *name = takt_cursor_take(&c, 4);
        const uint32_t size = takt_cursor_u32le(&c);
        const size_t left = takt_cursor_left(&c), length = size < left ? size : left;
        takt_cursor body = takt_cursor_sub(&c, length);
        if (memcmp(name, "fmt ", 4) == 0)
            read_format(body, s);
        s->has_data = memcmp(name, "data", 4) == 0;
        if (s->has_data && size > left && size < UNKNOWN)
            return takt_data_fail(set, f, "the header promises %u bytes of sound, the file has %zu",
                                  (unsigned)size, left);
        if (s->has_data)
            s->data = body;
        else if (size % 2 != 0)
            (void)takt_cursor_skip(&c, 1);
    }
    if (!s->has_format || !s->has_data)
        return takt_data_fail(set, f, "the WAV file has no format or no sound");
    const bool is_whole =
        s->format == WHOLE && (s->bits == 8 || s->bits == 16 || s->bits == 24 || s->bits == 32);
    if ((!is_whole && !(s->format == FLOAT && s->bits == 32)) || s->channels == 0)
        return takt_data_fail(set, f, "sound of format %u with %u bits cannot be read", s->format,
                              s->bits);
    return TAKT_OK;
}

/* One number, scaled to -1 … 1; bytes are unsigned. */
static double number(takt_cursor *c, const sound *s)
{
    uint32_t bits = 0;
    for (unsigned i = 0; i < s->bits; i += 8)
        bits |= (uint32_t)takt_cursor_u8(c) << i;
    if (s->format == FLOAT) {
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    if (s->bits == 8)
        return ((double)bits - 128) / 128;
    return (double)(int32_t)(bits << (32 - s->bits)) / 2147483648.0;
}

static takt_status read(takt_data_set *set, const takt_data_file *f)
{
    sound s = {0};
    takt_tensor *x;
    TAKT_TRY(read_chunks(set, f, &s));
    const size_t count = takt_cursor_left(&s.data) / (s.bits / 8) / s.channels;
    const takt_type type = {.dtype = TAKT_F32, .rank = 2, .dim = {1, (int64_t)count}};
    TAKT_TRY(takt_data_add(set, f, "x", &type, &x));
    float *to = takt_tensor_data(x);
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        for (unsigned k = 0; k < s.channels; k++)
            sum += number(&s.data, &s);
        to[i] = (float)(sum / s.channels);
    }
    set->rate = s.rate;
    return TAKT_OK;
}

const takt_data_reader takt_data_wav = {
    .name = "wav",
    .summary = "sound, channels averaged",
    .advice = "write it as WAV of 8, 16, 24 or 32 bits or floats, or remove it from the data set",
    .recognises = recognises,
    .read = read,
};
