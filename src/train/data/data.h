/* data.h - readers of data sets: bytes to fields of samples. */
#ifndef TAKT_TRAIN_DATA_DATA_H
#define TAKT_TRAIN_DATA_DATA_H

#include "base/arena.h"
#include "base/text.h"
#include "ir/tensor.h"

enum { TAKT_DATA_FIELDS = 16 };

typedef struct takt_field {
    const char *name;
    const char *file;   /* that it was read from; NULL: unknown */
    takt_tensor tensor; /* dim[0]: samples */
} takt_field;

/* Channels and sizes of a picture. */
typedef struct takt_form {
    int64_t channels, height, width;
} takt_form;

/* The result of a reader. Samples of a text overlap, so its field is not a tensor of samples:
 * sample i begins at element i * stride. */
typedef struct takt_data_set {
    takt_ctx *ctx;
    takt_arena arena;
    takt_field field[TAKT_DATA_FIELDS];
    size_t count;
    uint64_t samples;
    int64_t window; /* of a text: elements of a sample; 0: samples are consecutive */
    int64_t classes;
    int64_t rate;      /* of sounds: samples a second; 0: unknown */
    takt_form form;    /* that pictures get; channels 0: all have that of the first */
    bool is_cropped;   /* from their middle */
    uint64_t reformed; /* pictures that had another one */
    const char *format;
    /* Arrays of an archive that hold other than samples, or the first of other files in folders of
     * classes, and why; of cached data none. */
    const char *left_out[TAKT_DATA_FIELDS], *left_why[TAKT_DATA_FIELDS];
    size_t left_count, left_unnamed;
    const char **class_name; /* of labels that are words */
    size_t names;
    uint64_t skipped;         /* rows of a table without a value, left out */
    const char **sample_file; /* of each sample; NULL: the fields' files hold all of them */
} takt_data_set;

/* One file, decompressed. */
typedef struct takt_data_file {
    const char *path;
    const uint8_t *bytes;
    size_t length;
    bool is_test;        /* the other part of a data set in several files */
    const char *label;   /* of a table, or NULL */
    int64_t window;      /* of a text */
    const char *missing; /* of a table, see takt_data_options; or NULL */
} takt_data_file;

typedef struct takt_data_reader {
    const char *name, *summary;
    const char *advice; /* the hint of errors that have none of their own */
    bool (*recognises)(const takt_data_file *file);
    takt_status (*read)(takt_data_set *set, const takt_data_file *file);
} takt_data_reader;

/* In the order in which they are tried; ends with NULL. */
extern const takt_data_reader *const takt_data_readers[];
extern const takt_data_reader takt_data_idx, takt_data_cifar, takt_data_npy, takt_data_npz,
    takt_data_csv, takt_data_text, takt_data_picture, takt_data_wav, takt_data_files;
/* Whether all of the file is samples of CIFAR-10, with labels that there are. */
TAKT_MUST_USE takt_status takt_data_cifar_check(takt_data_set *set, const takt_data_file *file);
/* Format name of data read by takt_data_read_folder; no reader for single files has it. */
extern const char takt_data_folders[];

/* "PATH: sentence", as TAKT_E_TRAIN_DATA. */
takt_status takt_data_fail(takt_data_set *set, const takt_data_file *file, const char *format, ...)
    TAKT_PRINTF(3, 4);
/* Runs the reader; its errors have a hint. */
TAKT_MUST_USE takt_status takt_data_read(takt_data_set *set, const takt_data_file *file,
                                         const takt_data_reader *reader);
/* No reader recognises the file: it is empty, or not what its ending says. */
takt_status takt_data_unknown(takt_data_set *set, const takt_data_file *file);
/* Bytes of the byte order mark at the start, as some editors write it: 3, or 0 without one. */
size_t takt_data_mark(const takt_data_file *file);
/* Whether a file's name of `length` bytes has this ending, which is in lower case, in any case. */
bool takt_data_ends_with(const char *name, size_t length, const char *ending);
/* Whether the path has an ending of a format that is not text, such as ".png". */
bool takt_data_is_binary(const char *path);
/* A new field of that type, uninitialised. */
TAKT_MUST_USE takt_status takt_data_add(takt_data_set *set, const takt_data_file *file,
                                        const char *name, const takt_type *type, takt_tensor **out);
void takt_data_set_deinit(takt_data_set *set);
/* Numbers `count` words, and names the classes. */
TAKT_MUST_USE takt_status takt_data_number_words(takt_data_set *set, const takt_span *word,
                                                 size_t count, int64_t *to);

/* The data set of a file that takt_data_cache_write has written with the same stamp, mapped; if
 * there is no usable one, `*found` is false, and the set is unchanged. */
TAKT_MUST_USE takt_status takt_data_cache_read(takt_data_set *set, const char *path,
                                               const char *stamp, bool *found);
TAKT_MUST_USE takt_status takt_data_cache_write(const takt_data_set *set, const char *path,
                                                const char *stamp);

/* A folder of folders, one for each class, with images or sounds in them. `*found` is false if
 * there are none. */
TAKT_MUST_USE takt_status takt_data_read_folder(takt_data_set *set, const char *folder,
                                                bool *found);
/* The texts (.txt, .txt.gz) of a folder, or of its part train or test: train.txt, or all in
 * train/. `*found` is false if there are none. */
TAKT_MUST_USE takt_status takt_data_read_texts(takt_data_set *set, const takt_data_file *folder,
                                               bool *found);
/* Resizes every plane. */
TAKT_MUST_USE takt_status takt_form_resize(takt_ctx *ctx, const float *x, const takt_form *from,
                                           float *y, const takt_form *to);
/* A picture of bytes, or its middle of the other's proportions, in another form; 1 and 3 are the
 * channels that there are. */
typedef struct takt_reform {
    takt_form from, to;
    bool is_cropped;
} takt_reform;
TAKT_MUST_USE takt_status takt_form_picture(takt_ctx *ctx, const takt_reform *how,
                                            const uint8_t *from, uint8_t *to);
/* Position -> sample, a permutation of 0 … count - 1 for every key. */
uint64_t takt_permute(uint64_t position, uint64_t count, uint64_t seed, uint64_t epoch);

#endif
