/**
 * model.h - a model: what is computed, and the weights it is computed with.
 *
 *     takt_model *model;
 *     if (takt_model_load(ctx, "mlp.takt", NULL, &model) != TAKT_OK)
 *         fprintf(stderr, "%s\n", takt_last_error(ctx));
 *
 * Threads: any number may read a model; one at a time may change it (takt.h).
 */
#ifndef TAKT_MODEL_H
#define TAKT_MODEL_H

#include <stdbool.h>
#include <takt/ctx.h>
#include <takt/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct takt_model takt_model;

/** The value that an input will have, or with data NULL its shape alone. In some formats shapes
 *  may depend on it. */
typedef struct takt_known_input {
    const char *name;      /**< NULL: the input at this place of the list */
    takt_tensor_view view; /**< dense; borrowed for the call. With data NULL, dtype may be
                                TAKT_DTYPE_COUNT: whatever the file says */
} takt_known_input;

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_load_options {
    size_t size;       /**< sizeof(takt_load_options), or 0 */
    uint64_t seed;     /**< for weights that the file does not hold; default: the model's own */
    const char *model; /**< which model, if a text holds several */
    takt_sink_fn *complaint; /**< receives a text's errors as a compiler prints them */
    void *complaint_user;
    bool allow_links; /**< external data may be reached through links */
    /** Inputs whose values may be built into the model where a shape depends on them (an ONNX
     *  Reshape whose shape is an input): the model is then valid for these values only. */
    const takt_known_input *known;
    size_t known_count;
    /** "batch=1,seq=64": named dimensions of the inputs that become numbers while the model is
     * read, for formats in which the meaning of a node may depend on them; may be NULL. */
    const char *sizes;
    /** Load the model to be trained: dropout is active, batch normalisation uses the statistics of
     * the batch. Such a model is for takt_trainer_create. */
    bool training;
    /** Map the file, and files of weights that are loaded later, instead of reading them: weights
     *  are used in place unless they need another form. For trusted files only: if such
     *  a file becomes shorter while it is in use, the process is killed. Where files cannot be
     *  mapped they are read. */
    bool map;
    /** Read quantised layers of a TensorFlow Lite model as floats between dequantize and quantize,
     *  with the scales of the file, instead of LiteRT's integer arithmetic: for models that are
     *  written as .tflite again, where such layers become integers with the same scales. */
    bool keep_scales;
    /** Bytes that a Boolean relation of a text with rules may take as bits; larger ones become sets
     *  of tuples. 0: 256 MiB. The words `dense` and `sparse` of the text take precedence. */
    uint64_t dense_limit;
} takt_load_options;

/** An input or output. A dimension that is not a number is -1 and has a name. */
typedef struct takt_desc {
    const char *name;
    takt_dtype dtype;
    int rank;
    int64_t dims[TAKT_MAX_RANK];
    /** NULL where the dimension is a number. A name as takt_name_write writes it, or an expression
     *  such as "2*seq + 1". */
    const char *dim_names[TAKT_MAX_RANK];
} takt_desc;

/** Names in option texts ("batch=8,seq=2", "A,B") and in flags may be any UTF-8 text. A name with
 *  characters that have a meaning there is quoted in backquotes, with the escapes of the language:
 *  "`a,b`=8". Reads the name at `text`, quoted or not, up to the first byte of `ends` or the end of
 *  the text, into `name`, which has room for `size` bytes. Returns the bytes of `text` that it
 *  takes; 0 if there is no name, it has an unknown escape, or it does not fit. */
TAKT_API size_t takt_name_read(const char *text, const char *ends, char *name, size_t size);
/** Writes a name in the form that option texts and flags accept: unchanged, or in backquotes.
 *  Returns the bytes that it needs without the terminator; if more than `size` - 1, it was cut. */
TAKT_API size_t takt_name_write(const char *name, char *to, size_t size);

/** The format is detected from the contents. On failure `*model` is NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_model_load(takt_ctx *ctx, const char *path,
                                                   const takt_load_options *options,
                                                   takt_model **model);
/** The same from memory, which is borrowed for the call only; `name` is for messages.
 *
 *  @return what takt_model_load returns */
TAKT_API TAKT_MUST_USE takt_status takt_model_load_memory(takt_ctx *ctx, const char *name,
                                                          const void *bytes, size_t length,
                                                          const takt_load_options *options,
                                                          takt_model **model);
/** Parameters by name from a safetensors file, the parts that a `….index.json` lists, or .npz;
 * plans made afterwards use them. Every parameter must be present, with its element type and shape;
 * other names are ignored. All mismatches are reported at once.
 *
 * The file is read twice: it is checked as a whole, then its values are taken one by one, mostly
 * into the memory of the old ones. A file that does not fit or is damaged changes nothing. If
 * reading fails, memory runs out or the file changes after the check, the call fails; each
 * parameter then has either its new or its old value, and the model can be used or loaded again. */
TAKT_API TAKT_MUST_USE takt_status takt_model_load_weights(takt_model *model, const char *path);
/** Accepts NULL. Plans and sessions made from the model remain valid. */
TAKT_API void takt_model_destroy(takt_model *model);

/** The name, valid as long as the model; NULL, and counts of 0, without a model. */
TAKT_API const char *takt_model_name(const takt_model *model);
TAKT_API size_t takt_model_input_count(const takt_model *model);
TAKT_API size_t takt_model_output_count(const takt_model *model);
/** Valid as long as the model; NULL beyond the last. */
TAKT_API const takt_desc *takt_model_input(const takt_model *model, size_t index);
TAKT_API const takt_desc *takt_model_output(const takt_model *model, size_t index);

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_save_options {
    size_t size;
    /** File that the model came from: its name and SHA-256 are kept, and by .taktp the tokenizer of
     * a language model. */
    const char *source;
    const char *command; /**< how it was made, stored verbatim */
    /** Write the optimised graph, with parameters as constants. Only passes that suit every engine
     *  are applied, so that other engines can run the file. */
    bool optimize;
    const char *sizes; /**< "batch=8,seq=128": numbers for named dimensions; may be NULL */
    /** "f16" or "bf16": weights of products and tables are written in that type, in half the bytes;
     *  this implies `optimize`. NULL or "f32": unchanged. */
    const char *precision;
    const char *const *reads; /**< further files that went into it: their SHA-256 are kept, too */
    size_t read_count;
} takt_save_options;

/** The part of a model between named values, as a model of its own. `from` ("a,b", or NULL) become
 *  inputs, `to` outputs; NULL: the model's own. Names are those of inputs and outputs, of values as
 *  takt_model_print writes them, or of layers, which stand for their last value. Parts that run in
 *  order, each fed with the outputs of the one before, give the bits of the whole, unless a pass
 *  with a licence (docs/numerics.md) would have worked across the cut. */
TAKT_API TAKT_MUST_USE takt_status takt_model_extract(const takt_model *model, const char *from,
                                                      const char *to, takt_model **part);
/** The model with numbers for named dimensions: "batch=8,seq=128". Names that are not mentioned
 * stay. Fails where the numbers break a rule of the model. */
TAKT_API TAKT_MUST_USE takt_status takt_model_sized(const takt_model *model, const char *sizes,
                                                    takt_model **sized);
/** A decoder whose cache is state: every input that an output appends rows to (past_key_values and
 *  present, as exporters write them) becomes a state with room for `room` rows, which runs write
 *  in place, and the output is removed. How many rows are in use follows from the size of another
 *  input, such as an attention mask, or is counted in a state of its own.
 *
 *  @return TAKT_ERR_ARGUMENT if the model has no such cache, or for a room below 1: `*grown` is
 *  then NULL */
TAKT_API TAKT_MUST_USE takt_status takt_model_grow(const takt_model *model, int64_t room,
                                                   takt_model **grown);
/** A model of one sample as a model of any number of them: all inputs and outputs, and states that
 *  depend on inputs, get a leading dimension called `dim`. Every sample gives the same bits as on
 *  its own.
 *
 *  @return TAKT_ERR_UNSUPPORTED if an operation mixes samples, TAKT_ERR_ARGUMENT if the name is in
 *  use, TAKT_ERR_SHAPE if a value has no room for another dimension: `*batched` is then NULL */
TAKT_API TAKT_MUST_USE takt_status takt_model_batch(const takt_model *model, const char *dim,
                                                    takt_model **batched);

/** A model with the outputs "grad.NAME" besides its own: the gradients of the sum of `output`
 * (NULL: the first) with respect to `names` ("x,dense_0.weight": inputs, parameters and states;
 * NULL: every trainable parameter), each with the type of its value. TAKT_ERR_UNSUPPORTED if an
 * operation on the way has no gradient. Apply it to the result for second derivatives. */
TAKT_API TAKT_MUST_USE takt_status takt_model_gradient(const takt_model *model, const char *output,
                                                       const char *names, takt_model **gradient);

/** Writes a model; the path's ending selects the format.
 *  .onnx: ONNX for any engine; an operation without an ONNX operator is written as its parts, or,
 *  if it is a primitive, as a node of domain "takt". Weights of 2 GiB and more go to `path`.data.
 *  .takt: the model language, weights included.
 *  Anything else: a compiled model (.taktp): graph, weights, first values of states and lineage,
 *  with checksums over every byte.
 *  takt_model_load reads all of them back. If this fails, a file that existed at `path` is
 *  unchanged. */
TAKT_API TAKT_MUST_USE takt_status takt_model_save(const takt_model *model, const char *path,
                                                   const takt_save_options *options);
/** Where a model came from, as a JSON object: the sources of a compiled model; opsets, producer and
 *  metadata of an ONNX model; NULL for texts. */
TAKT_API const char *takt_model_lineage(const takt_model *model);
/** The sample rate that a model of sounds expects, in Hz: the `rate` of its first log_mel or mfcc
 *  layer. 0 if it has none, or if its values have lost their names. Any thread may call it. */
TAKT_API double takt_model_sample_rate(const takt_model *model);

#ifdef __cplusplus
}
#endif
#endif
