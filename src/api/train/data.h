/* data.h - what a data set holds. */
#ifndef TAKT_API_TRAIN_DATA_H
#define TAKT_API_TRAIN_DATA_H

#include <takt/data.h>

#include "train/data/data.h"

struct takt_data {
    takt_data_set set;
    takt_data_options options;
    const char *path; /* that it was opened by */
    takt_desc desc[TAKT_DATA_FIELDS + 1];
    size_t fields;
};

/* Layout of a field's samples: elements per sample, and the stride between samples. */
typedef struct takt_data_place {
    const takt_tensor *tensor;
    size_t first, size, stride;
} takt_data_place;

/* False if there is no field of that name. */
bool takt_data_find(const takt_data *d, const char *name, takt_data_place *p);

/* Whether the file can be opened. */
bool takt_data_exists(takt_ctx *ctx, const char *path);
/* The five training files of CIFAR-10 in a folder; `*found` is false if one of them is missing. */
TAKT_MUST_USE takt_status takt_data_read_batches(takt_data_set *set, const char *folder,
                                                 bool *found);

#endif
