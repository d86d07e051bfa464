/**
 * array.h - tensors in files, random tensors, digests, and a readable form.
 *
 *     takt_tensor_view x;
 *     if (takt_npy_load(ctx, "x.npy", &x) == TAKT_OK)
 *         takt_session_bind(session, "x", &x);
 *     ...
 *     takt_view_free(ctx, &x);
 *
 * Views here are dense and row-major. A view that a function creates owns its memory, which comes
 * from the context: free it with takt_view_free.
 *
 * Threads: any; a digest or a source of test data must not be used concurrently.
 */
#ifndef TAKT_ARRAY_H
#define TAKT_ARRAY_H

#include <takt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TAKT_DIGEST_TEXT = 65 };

/** Reads NumPy's .npy, versions 1 to 3, little-endian numbers and bool; Fortran order becomes
 *  row-major. Objects, structures and big-endian types are refused. On failure `data` is NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_npy_load(takt_ctx *ctx, const char *path,
                                                 takt_tensor_view *view);
/** The same from memory, borrowed for the call; `name` is for messages.
 *
 *  @return what takt_npy_load returns for such a file */
TAKT_API TAKT_MUST_USE takt_status takt_npy_load_memory(takt_ctx *ctx, const char *name,
                                                        const void *bytes, size_t length,
                                                        takt_tensor_view *view);
/** Array `member` of an .npz archive, as numpy.savez and numpy.savez_compressed (with zlib) write
 *  it; NULL: its only array. */
TAKT_API TAKT_MUST_USE takt_status takt_npz_load(takt_ctx *ctx, const char *path,
                                                 const char *member, takt_tensor_view *view);
/** One tensor of a file; the format is detected from the contents: .npy, .npz (array `member`;
 *  NULL: its only array), or an ONNX tensor as in test data (.pb). */
TAKT_API TAKT_MUST_USE takt_status takt_view_load(takt_ctx *ctx, const char *path,
                                                  const char *member, takt_tensor_view *view);
/** The same, but an .npy file in Fortran order keeps its order: see the view's strides.
 *
 *  @return what takt_view_load returns */
TAKT_API TAKT_MUST_USE takt_status takt_view_load_ordered(takt_ctx *ctx, const char *path,
                                                          const char *member,
                                                          takt_tensor_view *view);
/** ONNX's test data, input_0.pb and the like: the model file declares what kind of message a file
 *  holds (a tensor, a sequence or an optional). The model need not be loadable. */
typedef struct takt_test_data takt_test_data;
/** `*data` is NULL on failure: TAKT_ERR_IO, TAKT_ERR_FORMAT for a damaged ONNX file,
 *  TAKT_ERR_MEMORY. */
TAKT_API TAKT_MUST_USE takt_status takt_test_data_open(takt_ctx *ctx, const char *model,
                                                       takt_test_data **data);
/** The values of input or output number `place`, owned by `data`: one tensor, with the name that
 *  the model gives it; those of a sequence, called "x.0", "x.1", ...; none where an optional holds
 *  nothing. Models that are not ONNX have tensors without names.
 *
 *  @return TAKT_ERR_IO, TAKT_ERR_FORMAT with the file, or TAKT_ERR_MEMORY: there are then no
 *  values, and `data` can still be used */
TAKT_API TAKT_MUST_USE takt_status takt_test_data_load(takt_test_data *data, bool is_output,
                                                       size_t place, const char *path,
                                                       const takt_known_input **values,
                                                       size_t *count);
/** Accepts NULL. Frees the values as well. */
TAKT_API void takt_test_data_close(takt_test_data *data);
/** Replaces `path` as a whole; on failure the old file stays. bf16 and types below a byte have no
 *  .npy form and are refused. */
TAKT_API TAKT_MUST_USE takt_status takt_npy_save(takt_ctx *ctx, const char *path,
                                                 const takt_tensor_view *view);
/** Writes the same bytes to a sink. */
TAKT_API TAKT_MUST_USE takt_status takt_npy_write(takt_ctx *ctx, const takt_tensor_view *view,
                                                  takt_sink_fn *sink, void *user);
/** Writes `count` arrays by name to one uncompressed .npz archive.
 *
 *  @return what takt_npy_save returns; TAKT_ERR_ARGUMENT for more than 65,535 arrays. On failure
 *  the old file stays */
TAKT_API TAKT_MUST_USE takt_status takt_npz_save(takt_ctx *ctx, const char *path,
                                                 const char *const *names,
                                                 const takt_tensor_view *views, size_t count);

/** An .npy file that is read or written a few rows at a time; a row is one index of the first
 *  dimension. */
typedef struct takt_npy takt_npy;
/** `view` receives type and shape; its data is NULL. On failure `*npy` is NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_npy_open(takt_ctx *ctx, const char *path, takt_npy **npy,
                                                 takt_tensor_view *view);
/** Rows [first, first + count), row-major whatever the order of the file.
 *
 *  @return TAKT_ERR_ARGUMENT for rows that the file does not have, TAKT_ERR_STATE if the file is
 *  being written, TAKT_ERR_IO, TAKT_ERR_FORMAT for a bool that is neither 0 nor 1; `to` is then
 *  undefined */
TAKT_API TAKT_MUST_USE takt_status takt_npy_read_rows(takt_npy *npy, int64_t first, int64_t count,
                                                      void *to);
/** A new file for rows of the view's type and shape; its data is ignored.
 *
 *  @return TAKT_ERR_SHAPE for a type without .npy form, TAKT_ERR_ARGUMENT for a shape that is too
 *  large, TAKT_ERR_IO, TAKT_ERR_MEMORY: `*npy` is then NULL. What is at `path` stays until
 *  takt_npy_commit */
TAKT_API TAKT_MUST_USE takt_status takt_npy_create(takt_ctx *ctx, const char *path,
                                                   const takt_tensor_view *view, takt_npy **npy);
/** The next `count` rows.
 *
 *  @return TAKT_ERR_ARGUMENT for more rows than the shape has, TAKT_ERR_STATE if the file is being
 *  read, TAKT_ERR_IO: the file can then only be closed */
TAKT_API TAKT_MUST_USE takt_status takt_npy_write_rows(takt_npy *npy, const void *from,
                                                       int64_t count);
/** Call it once all rows are written: replaces the file at the path.
 *
 *  @return TAKT_ERR_STATE if rows are missing, TAKT_ERR_IO: the old file then stays */
TAKT_API TAKT_MUST_USE takt_status takt_npy_commit(takt_npy *npy);
/** Accepts NULL. A file that was not committed disappears. */
TAKT_API void takt_npy_close(takt_npy *npy);

/** Memory for the view's type and shape, zeroed; `data` receives it.
 *
 *  @return TAKT_ERR_LIMIT for a tensor above the limits of the context, TAKT_ERR_MEMORY: `data` is
 *  then NULL */
TAKT_API TAKT_MUST_USE takt_status takt_view_alloc(takt_ctx *ctx, takt_tensor_view *view);
/** Accepts a view whose data is NULL. Type and shape must be unchanged. */
TAKT_API void takt_view_free(takt_ctx *ctx, takt_tensor_view *view);

/** Element `index`, in row-major order, of a dense view as a double: exact but for integers beyond
 *  2^53; NaN beyond the last. */
TAKT_API double takt_view_element(const takt_tensor_view *view, size_t index);
/** Floats uniform in [-1, 1), integers 0 to 9, bools 0 or 1, by the counter-based generator: an
 *  element depends only on seed, stream and its index.
 *
 *  @return TAKT_ERR_ARGUMENT for a view that is not dense or has no data, TAKT_ERR_DEVICE for
 *  memory of a device */
TAKT_API TAKT_MUST_USE takt_status takt_view_random(takt_ctx *ctx, const takt_tensor_view *view,
                                                    uint64_t seed, uint32_t stream);
/** The same, but integers are below `bound`: for indices into a table of that many rows.
 *
 *  @return what takt_view_random returns */
TAKT_API TAKT_MUST_USE takt_status takt_view_random_below(takt_ctx *ctx,
                                                          const takt_tensor_view *view,
                                                          uint64_t seed, uint32_t stream,
                                                          int64_t bound);
/** SHA-256 over the bytes of `count` tensors, one after another, in hexadecimal. All NaNs hash
 *  alike.
 *
 *  @return what takt_view_random returns for the same view; `text` is unchanged on failure */
TAKT_API TAKT_MUST_USE takt_status takt_view_digest(takt_ctx *ctx, const takt_tensor_view *views,
                                                    size_t count, char text[TAKT_DIGEST_TEXT]);
/** The same in pieces, for data that does not fit into memory: create, add, end, which frees it. */
typedef struct takt_digest takt_digest;
/** On failure, TAKT_ERR_MEMORY, `*digest` is NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_digest_create(takt_ctx *ctx, takt_digest **digest);
/** A view that is refused, as by takt_view_random, does not count. */
TAKT_API TAKT_MUST_USE takt_status takt_digest_add(takt_digest *digest,
                                                   const takt_tensor_view *view);
/** Frees the digest; `text` may be NULL. */
TAKT_API void takt_digest_end(takt_digest *digest, char text[TAKT_DIGEST_TEXT]);
/** As text: rows in brackets, the middle of long axes left out, no newline at the end. As JSON: an
 *  object of dtype, shape and values in row-major order, the first 4096 at most. */
TAKT_API TAKT_MUST_USE takt_status takt_view_print(takt_ctx *ctx, const takt_tensor_view *view,
                                                   takt_format format, takt_sink_fn *sink,
                                                   void *user);

#ifdef __cplusplus
}
#endif
#endif
