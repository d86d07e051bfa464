/* read.h - bytes to graph. The format is detected from the contents, never from the name. */
#ifndef TAKT_IO_READ_H
#define TAKT_IO_READ_H

#include "base/text.h"
#include "io/file.h"
#include "io/skim.h"
#include "ir/graph.h"

/* The value that an input will have: for formats in which shapes may depend on it. */
typedef struct takt_fixed {
    const char *name;   /* NULL: the input at this place of the list */
    takt_tensor tensor; /* borrowed; dtype TAKT_DTYPE_COUNT: any, the shape alone is known */
} takt_fixed;

/* Nodes of a model in another format that Takt cannot import. */
typedef struct takt_refusal {
    const char *node, *type, *domain, *reason, *hint;
    int opset;
    struct takt_refusal *next;
} takt_refusal;

typedef struct takt_refusals {
    takt_arena *arena;
    takt_refusal *first, *last;
    size_t count, node_count; /* refused, and examined */
} takt_refusals;

/* One file being read. */
typedef struct takt_source {
    takt_ctx *ctx;
    const char *name;   /* for messages */
    const char *folder; /* where external data may lie, or NULL */
    const uint8_t *bytes;
    size_t length;
    takt_skim *skim;       /* the owner of `bytes`, or NULL: then all of them are present */
    takt_storage *mapping; /* the whole file, if it is mapped: `bytes` are its; or NULL */
    const char *model;     /* which one, if the file holds several, or NULL */
    takt_text *complaints; /* rendered diagnostics of a text, or NULL */
    bool allow_links;
    bool training;        /* the model is to be trained */
    bool keep_scales;     /* quantised layers: floats between dequantize and quantize */
    uint64_t dense_limit; /* bytes of a dense relation; 0: the default */
    const takt_fixed *fixed;
    size_t fixed_count;
    const char *sizes;       /* "batch=1,seq=64" of named dimensions, or NULL */
    takt_text *lineage;      /* receives where the model came from, if the format says; or NULL */
    takt_refusals *refusals; /* receives what is refused; or NULL */
} takt_source;

typedef struct takt_reader {
    const char *name; /* "text", "onnx" */
    const char *summary;
    bool (*recognises)(const uint8_t *bytes, size_t length);
    takt_status (*read)(const takt_source *source, takt_graph **graph);
    takt_status (*skim)(takt_skim *s); /* the part that `read` needs; or NULL: the whole file */
} takt_reader;

extern const takt_reader takt_reader_text, takt_reader_onnx, takt_reader_taktp, takt_reader_tflite,
    takt_reader_gguf, takt_reader_hf;

/* By the first reader that recognises the bytes. */
TAKT_MUST_USE takt_status takt_read_graph(const takt_source *source, takt_graph **graph);

/* The parts of the file that its reader needs in memory. */
TAKT_MUST_USE takt_status takt_read_skimmed(takt_skim *s);
/* Reads bytes of the source, wherever it is. */
TAKT_MUST_USE takt_status takt_source_copy(const takt_source *source, const uint8_t *from, void *to,
                                           size_t count);

/* A whole file beneath the source's folder, never reached through links unless allow_links says so.
 * `path` is relative to it. */
TAKT_MUST_USE takt_status takt_read_beneath(const takt_source *source, const char *path,
                                            void **bytes, size_t *length);
/* Puts a file's name before the message of a malformed file, unless it is there. */
takt_status takt_fail_in_file(takt_ctx *ctx, const char *name);

#endif
