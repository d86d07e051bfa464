/* cifar.c - CIFAR-10's binary form: a label, then 3 x 32 x 32 bytes, for each image. */
#include <string.h>

#include "train/data/data.h"

enum { PIXELS = 3 * 32 * 32, ROW = PIXELS + 1 };

static bool recognises(const takt_data_file *f)
{
    const size_t name = strlen(f->path);
    return name > 4 && strcmp(f->path + name - 4, ".bin") == 0 && f->length > 0;
}

takt_status takt_data_cifar_check(takt_data_set *set, const takt_data_file *f)
{
    if (f->length % ROW != 0)
        return takt_data_fail(set, f,
                              "its %zu bytes are not whole pictures of CIFAR-10, of %d bytes each",
                              f->length, ROW);
    for (size_t i = 0; i < f->length / ROW; i++)
        if (f->bytes[i * ROW] > 9)
            return takt_data_fail(set, f, "sample %zu has the label %u; there are 10 classes", i,
                                  f->bytes[i * ROW]);
    return TAKT_OK;
}

static takt_status read(takt_data_set *set, const takt_data_file *f)
{
    TAKT_TRY(takt_data_cifar_check(set, f));
    const int64_t count = (int64_t)(f->length / ROW);
    const takt_type pictures = {.dtype = TAKT_U8, .rank = 4, .dim = {count, 3, 32, 32}};
    const takt_type classes = {.dtype = TAKT_U8, .rank = 1, .dim = {count}};
    takt_tensor *x, *labels;
    TAKT_TRY(takt_data_add(set, f, "x", &pictures, &x));
    uint8_t *pixel = takt_tensor_data(x);
    TAKT_TRY(takt_data_add(set, f, "labels", &classes, &labels));
    uint8_t *label = takt_tensor_data(labels);
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *row = f->bytes + i * ROW;
        label[i] = row[0];
        memcpy(pixel + i * PIXELS, row + 1, PIXELS);
    }
    return TAKT_OK;
}

const takt_data_reader takt_data_cifar = {
    .name = "cifar",
    .summary = "CIFAR-10's binary files",
    .advice = "a sample is a label from 0 to 9 and 3 x 32 x 32 bytes: copy or download the file "
              "again",
    .recognises = recognises,
    .read = read,
};
