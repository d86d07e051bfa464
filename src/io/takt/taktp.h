/* taktp.h - compiled models: a header, a table of sections, and the sections, all little-endian.
 *
 *     header   64 bytes: magic 8, major u16, minor u16, numerics u32, file length u64,
 *              sections u32, CRC32C of the table u32, zeros, CRC32C of the 60 bytes before it u32
 *     table    32 bytes a section: kind u32, flags u32, offset u64, length u64, CRC32C u32, zero
 * u32 sections in the order of the table, each at the next multiple of 64, zeros between them
 *
 * "grph" is the graph as text, in which constants are ref=N; "wght" describes weight N: dtype u32,
 * rank u32, dims i64 each, offset u64 in "data", length u64, CRC32C u32, length of its name u32,
 * name. "data" has the weights, each at the next multiple of 64; it is covered by their checksums
 * and has no separate one. "line" is lineage, a JSON object. "tokn" is the tokenizer of a language
 * model: a GGUF file without tensors. An unknown section with the flag OPTIONAL is skipped; any
 * other unknown section means that the file is too new.
 */
#ifndef TAKT_IO_TAKT_TAKTP_H
#define TAKT_IO_TAKT_TAKTP_H

#include "io/read.h"

enum {
    TAKTP_MAJOR = 1,
    TAKTP_MINOR = 0,
    TAKTP_EXACT = 1, /* numerics; 2 is reserved for `portable` */
    TAKTP_ALIGN = 64,
    TAKTP_HEADER = 64,
    TAKTP_ENTRY = 32,
    TAKTP_SECTIONS = 64, /* at most */
    TAKTP_OPTIONAL = 1,  /* flag */
};

#define TAKTP_MAGIC "\x89TAKTP\x1a\n"
#define TAKTP_KIND(a, b, c, d)                                                                     \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define TAKTP_GRAPH TAKTP_KIND('g', 'r', 'p', 'h')
#define TAKTP_WEIGHTS TAKTP_KIND('w', 'g', 'h', 't')
#define TAKTP_DATA TAKTP_KIND('d', 'a', 't', 'a')
#define TAKTP_LINEAGE TAKTP_KIND('l', 'i', 'n', 'e')
#define TAKTP_TOKENS TAKTP_KIND('t', 'o', 'k', 'n')

typedef struct takt_taktp_parts {
    const takt_graph *graph;
    const takt_tensor *slots; /* value of each slot of the graph, where the storage is not NULL */
    const char *lineage;      /* may be NULL */
    takt_span tokens;         /* may be empty */
} takt_taktp_parts;
/* The file in one block; free it with takt_mem_put. */
TAKT_MUST_USE takt_status takt_taktp_write(const takt_taktp_parts *parts, void **bytes,
                                           size_t *length);
/* Replaces the file at `path`, or leaves the old one. Late weights stay late. */
TAKT_MUST_USE takt_status takt_taktp_save(const takt_taktp_parts *parts, const char *path);

bool takt_taktp_recognises(const uint8_t *bytes, size_t length);
/* The tokenizer in the file, within the source's bytes; empty: it has none. */
TAKT_MUST_USE takt_status takt_taktp_tokens(const takt_source *source, takt_span *tokens);

#endif
