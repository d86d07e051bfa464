/**
 * data.h - data sets: samples to train and to evaluate on.
 *
 *     takt_data *data;
 *     takt_data_options options = {.split = "train"};
 *     takt_data_open(ctx, "mnist/", &options, &data);
 *     uint64_t rows[32], seed = 1, epoch = 0;
 *     for (size_t i = 0; i < 32; i++)
 *         rows[i] = takt_shuffle(takt_data_count(data), seed, epoch, i);
 *     takt_tensor_view x = {.dtype = TAKT_F32, .rank = 2, .dims = {32, 784}, .data = pixels};
 *     takt_data_take(data, "x", rows, 32, &x);
 *
 * A data set has fields: "x", and "labels" if it has labels. It is kept in memory; its readers
 * treat every file as untrusted. It is immutable after takt_data_open, and any number of threads
 * may use it.
 */
#ifndef TAKT_DATA_H
#define TAKT_DATA_H

#include <takt/array.h>
#include <takt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct takt_data takt_data;

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_data_options {
    size_t size;
    const char *split; /**< "train" (default) or "test", where a data set has both */
    uint64_t limit;    /**< use only the first N samples; 0: all */
    /** How integers become floats: (value * scale - mean) / deviation. Default: bytes times 1/255,
     *  others unchanged; mean 0, deviation 1. */
    double scale, mean, deviation;
    int64_t window;    /**< of a text: characters per sample; default 64. Refused for others */
    const char *label; /**< of a table: the column that holds the label; default: the last */
    /** A file that caches the decoded data, which is then mapped instead of kept in memory. It is
     *  used if it was written with the same `cache_stamp`, otherwise written. NULL: none. */
    const char *cache;
    /** What the data was decoded from, for example path, size and time of its files, and the
     *  other options; needed with `cache`. */
    const char *cache_stamp;
    /** Channels (1 or 3, converting between grey and colour) and size of pictures of a folder or
     *  list. All 0: they must have the channels and size of the first. */
    int64_t picture_channels, picture_height, picture_width;
    /** Crop pictures to the requested proportions; default: stretch them. */
    bool picture_crop;
    /** Normalisation of each channel of byte pictures, after `scale`: (value - mean) / deviation. A
     *  deviation of 0 means 1. */
    double picture_mean[3], picture_deviation[3];
    /** Characters per sample of a text if `window` is 0, for example the length that the model
     *  takes; default 64. Ignored for other data. */
    int64_t usual_window;
    /** How a table's missing cells (empty, NA, N/A, NaN, null or "?") are treated: "skip" drops
     *  their rows, a number replaces them, except in the label column. NULL: they are errors. */
    const char *missing;
} takt_data_options;

/** IDX files or a folder of them (also .gz), CIFAR-10 binary files, .csv tables, .npy and .npz
 *  arrays (fields by name), plain text, pictures (PNG by libpng, JPEG by libturbojpeg, PGM, PPM)
 *  and WAV files. Pictures and sounds are in folders, one per class, or are listed in a .tsv file:
 *  path, tab, label. The format is detected from the contents.
 *
 *  @return TAKT_ERR_IO, TAKT_ERR_FORMAT with file and place, TAKT_ERR_LIMIT, TAKT_ERR_MEMORY */
TAKT_API TAKT_MUST_USE takt_status takt_data_open(takt_ctx *ctx, const char *path,
                                                  const takt_data_options *options,
                                                  takt_data **data);
/** Accepts NULL. */
TAKT_API void takt_data_destroy(takt_data *data);

/** Number of samples. */
TAKT_API uint64_t takt_data_count(const takt_data *data);
/** Number of fields of a sample. */
TAKT_API size_t takt_data_field_count(const takt_data *data);
/** dims[0] counts the samples. NULL beyond the last. Valid as long as the data set. */
TAKT_API const takt_desc *takt_data_field(const takt_data *data, size_t index);
/** Number of classes; 0 if the labels are not class numbers. */
TAKT_API int64_t takt_data_classes(const takt_data *data);
/** The name of a class, if a table, list or folder names its classes; NULL if labels are numbers.
 *  Valid as long as the data set. */
TAKT_API const char *takt_data_class_name(const takt_data *data, int64_t index);
/** The file that a field of a sample was read from; the path of the data set if that is not known,
 *  as with cached data. NULL beyond the last sample. Valid as long as the data set. */
TAKT_API const char *takt_data_source(const takt_data *data, const char *field, uint64_t sample);
/** Sample rate of WAV files in Hz; 0 if the data set has none, or it is unknown. takt_data_open
 *  refuses files of different rates. */
TAKT_API int64_t takt_data_rate(const takt_data *data);

/** How many pictures were converted to the channels and size that takt_data_options requests; 0
 *  also if cached data was read. */
TAKT_API uint64_t takt_data_reformed(const takt_data *data);
/** Resizes f32[channels, height, width] to the sizes of `to`, by the triangle filter. Views are
 *  dense and on the host.
 *
 *  @return TAKT_ERR_ARGUMENT for other views, TAKT_ERR_MEMORY */
TAKT_API TAKT_MUST_USE takt_status takt_picture_resize(takt_ctx *ctx, const takt_tensor_view *from,
                                                       const takt_tensor_view *to);

/** The sample at `position` of a shuffled epoch of `count` samples: a permutation that depends on
 *  seed and epoch only, computed without extra memory. `position` must be below `count`. */
TAKT_API uint64_t takt_shuffle(uint64_t count, uint64_t seed, uint64_t epoch, uint64_t position);
/** Copies samples `rows[0 … count)` of a field to `to`, whose first dimension is `count`; the
 *  others must hold as many elements as the field's sample. Converts to the element type of
 *  `to`.
 *
 *  @return TAKT_ERR_NOT_FOUND for another field, TAKT_ERR_FORMAT for a view of another size,
 *  TAKT_ERR_ARGUMENT for a sample that does not exist */
TAKT_API TAKT_MUST_USE takt_status takt_data_take(const takt_data *data, const char *field,
                                                  const uint64_t *rows, size_t count,
                                                  const takt_tensor_view *to);
/** The inputs of random changes, besides the sample. */
typedef struct takt_augment_key {
    uint64_t seed, epoch;
} takt_augment_key;

/** Changes `count` samples at random: "flip=0.5,shift=2,cutout=8,noise=0.1". The changes are, in
 *  the order in which they are made: crop, shift, time_shift, flip, cutout, time_mask, freq_mask,
 *  noise. mixup is left to takt_data_mixup. `x` is f32 with a batch axis; the last two axes are
 *  rows and columns. Samples of one axis, columns, take no flip, shift, crop, cutout or freq_mask.
 *  Random draws depend on the key and on rows[i], the number of the sample, not on its batch.
 *  `count` 0: only checks `how`, and whether `x` suits it, unless it is NULL.
 *
 *  @return TAKT_ERR_ARGUMENT for an unknown change, an impossible number or an unsuitable view */
TAKT_API TAKT_MUST_USE takt_status takt_data_augment(takt_ctx *ctx, const char *how,
                                                     const takt_augment_key *key,
                                                     const uint64_t *rows, size_t count,
                                                     const takt_tensor_view *x);
/** The value of mixup in "flip=0.5,mixup=0.2", for takt_data_mixup; 0: none.
 *
 *  @return what takt_data_augment returns for the same text; `*alpha` is unchanged on failure */
TAKT_API TAKT_MUST_USE takt_status takt_mixup_alpha(takt_ctx *ctx, const char *how, double *alpha);

typedef struct takt_mixup {
    double alpha;     /**< above 0, at most 4 */
    uint64_t samples; /**< of the data set, or of its part used for training */
    takt_augment_key key;
} takt_mixup;

/** Mixup (H. Zhang et al., 2018): the sample that each of `rows` is mixed with, and its own share,
 *  drawn from Beta(alpha, alpha). Both depend only on the key and on rows[i]. The caller takes and
 *  augments both samples, and mixes them and their targets with takt_view_mix.
 *
 *  @return TAKT_ERR_ARGUMENT if there are no samples or alpha is out of range; nothing is then
 *  written */
TAKT_API TAKT_MUST_USE takt_status takt_data_mixup(takt_ctx *ctx, const takt_mixup *mixup,
                                                   const uint64_t *rows, size_t count,
                                                   uint64_t *others, double *shares);
/** x[i] = shares[i] * x[i] + (1 - shares[i]) * other[i] for every i below `count`, along the first
 *  axis of two f32 views of one shape.
 *
 *  @return TAKT_ERR_ARGUMENT for other views; nothing is then written */
TAKT_API TAKT_MUST_USE takt_status takt_view_mix(takt_ctx *ctx, const double *shares, size_t count,
                                                 const takt_tensor_view *x,
                                                 const takt_tensor_view *other);
/** Class numbers of `rows` as distributions: `to` is f32 with the axis of classes last.
 *
 *  @return TAKT_ERR_FORMAT for a label that is not a class; the message names the sample */
TAKT_API TAKT_MUST_USE takt_status takt_data_take_soft(const takt_data *data, const char *field,
                                                       const uint64_t *rows, size_t count,
                                                       const takt_tensor_view *to);
/** SHA-256 of the samples in use and of how they are read, in hexadecimal, to tell whether two data
 *  sets are the same. It covers checksums of the bytes, and does not protect against forgery.
 *
 *  @return TAKT_ERR_ARGUMENT without a data set or text, otherwise TAKT_OK */
TAKT_API TAKT_MUST_USE takt_status takt_data_digest(const takt_data *data,
                                                    char text[TAKT_DIGEST_TEXT]);
/** Samples, types, classes, mean and deviation: `takt data`. */
TAKT_API TAKT_MUST_USE takt_status takt_data_describe(const takt_data *data, takt_format format,
                                                      takt_sink_fn *sink, void *user);

#ifdef __cplusplus
}
#endif
#endif
