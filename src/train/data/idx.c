/* idx.c - IDX, the format of MNIST: two zero bytes, element type, rank, big-endian sizes, data. */
#include <string.h>

#include "train/data/data.h"

static const struct {
    uint8_t code;
    takt_dtype dtype;
} types[] = {{0x08, TAKT_U8},  {0x09, TAKT_I8},  {0x0b, TAKT_I16},
             {0x0c, TAKT_I32}, {0x0d, TAKT_F32}, {0x0e, TAKT_F64}};

static bool type_of(uint8_t code, takt_dtype *dtype)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == code) {
            *dtype = types[i].dtype;
            return true;
        }
    return false;
}

static bool recognises(const takt_data_file *f)
{
    takt_dtype dtype;
    return f->length >= 8 && f->bytes[0] == 0 && f->bytes[1] == 0 && type_of(f->bytes[2], &dtype) &&
           f->bytes[3] >= 1 && f->bytes[3] <= TAKT_MAX_RANK;
}

/* Converts big-endian elements to native order. */
static void copy(uint8_t *to, const uint8_t *from, size_t count, size_t bytes)
{
    const uint16_t probe = 1;
    const bool is_little = *(const uint8_t *)&probe == 1;
    if (bytes == 1 || !is_little) {
        memcpy(to, from, count * bytes);
        return;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < bytes; k++)
            to[i * bytes + k] = from[i * bytes + bytes - 1 - k];
}

/* One dimension means labels, more mean samples. */
static takt_status read(takt_data_set *set, const takt_data_file *f)
{
    takt_type type = {.rank = f->bytes[3]};
    const size_t head = 4 + 4 * (size_t)type.rank;
    takt_tensor *to;
    size_t bytes;
    (void)type_of(f->bytes[2], &type.dtype);
    if (f->length < head)
        return takt_data_fail(set, f, "the header ends at byte %zu", f->length);
    for (int i = 0; i < type.rank; i++) {
        const uint8_t *d = f->bytes + 4 + 4 * i;
        type.dim[i] = (int64_t)((uint32_t)d[0] << 24 | (uint32_t)d[1] << 16 | (uint32_t)d[2] << 8 |
                                (uint32_t)d[3]);
    }
    if (!takt_type_bytes(&type, &bytes))
        return takt_data_fail(set, f, "the sizes in the header are too large");
    if (bytes != f->length - head)
        return takt_data_fail(set, f, "the header promises %zu bytes of data, the file has %zu",
                              bytes, f->length - head);
    TAKT_TRY(takt_data_add(set, f, type.rank == 1 ? "labels" : "x", &type, &to));
    size_t size = 1;
    (void)takt_dtype_bytes(type.dtype, 1, &size);
    copy(takt_tensor_data(to), f->bytes + head, bytes / size, size);
    return TAKT_OK;
}

const takt_data_reader takt_data_idx = {
    .name = "idx",
    .summary = "IDX files, as MNIST has them",
    .advice = "copy or download the file again: it is cut off or damaged",
    .recognises = recognises,
    .read = read,
};
