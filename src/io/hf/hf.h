/* hf.h - a folder of Hugging Face, read as if it were a GGUF file.
 *
 * config.json gives the settings, safetensors files the tensors. The text of the architecture maps
 * their names to GGUF in lines that begin with "#:" (rules.c):
 *
 *     #: type llama mistral                      model_type in config.json
 *     #: prefix model.                           may stand before the name of a tensor
 *     #: key attention.head_count num_attention_heads n_head
 *     #: number rope.freq_base rope_theta        the same, always a float
 *     #: set pooling_type 1                      unless config.json had it under a key
 *     #: times feed_forward_length 4 embedding_length   the same, from another key
 *     #: when multi_query true set attention.head_count_kv 1   a conditional line
 *     #: expect hidden_act silu                  refuse any other value
 *     #: tensor blk.*.attn_q layers.*.self_attn.q_proj pairs attention.head_count
 *     #: full 6 attention.sliding_window_pattern every 6th layer, or what the key says, sees all
 *     #: skip *.rotary_emb.inv_freq
 *
 * Lines of common.takt follow those of the architecture; the first line for a key wins. A `*`
 * stands for a number. Both .weight and .bias follow a name, unless it names the whole tensor. A
 * tensor's names may be followed by how its elements are reordered (order.h).
 */
#ifndef TAKT_IO_HF_HF_H
#define TAKT_IO_HF_HF_H

#include "base/json.h"
#include "io/gguf/model.h"
#include "io/held_file.h"
#include "io/hf/order.h"
#include "io/safetensors/safetensors.h"

/* ---- rules ---- */

enum { TAKT_HF_WORDS = 12 };

typedef struct takt_hf_line {
    takt_span word[TAKT_HF_WORDS];
    size_t count;
} takt_hf_line;

/* The lines of an architecture, then those of its encoder, then the common ones. */
typedef struct takt_hf_lines {
    const char *at, *then[2];
} takt_hf_lines;

takt_hf_lines takt_hf_lines_of(const char *architecture);
/* False after the last. */
bool takt_hf_next(takt_hf_lines *lines, takt_hf_line *line);
bool takt_hf_is(const takt_hf_line *line, const char *verb);
typedef struct takt_hf takt_hf;
/* "#: when NAME VALUE REST": if config.json has this value, the line becomes REST. */
bool takt_hf_applies(const takt_hf *h, takt_hf_line *line);

/* The numbers that the stars of a pattern stand for. */
typedef struct takt_hf_match {
    uint32_t number[2];
    size_t count;
    takt_span rest; /* ".weight", ".bias" or "" */
} takt_hf_match;

bool takt_hf_matches(takt_span pattern, takt_span name, takt_hf_match *match);
/* The name that `pattern` and the numbers give, in the arena; NULL: no memory. */
const char *takt_hf_name(takt_arena *arena, takt_span pattern, const takt_hf_match *match);
size_t takt_hf_stars(takt_span pattern);

/* ---- the folder ---- */

typedef struct takt_hf_piece takt_hf_piece;
struct takt_hf_piece {
    const char *name; /* in its file */
    uint32_t file, number;
    uint64_t offset;
    size_t bytes;
    takt_type type;
    takt_hf_piece *next;
};

/* The pieces of one tensor: one, or one per expert. */
typedef struct takt_hf_tensor {
    takt_hf_piece *pieces;
    uint32_t count;
    takt_hf_move move;
    int64_t heads; /* of PAIRS; for BEHIND the rows dropped */
    bool is_stack;
    const float *made; /* computed from config.json, in no file; or NULL */
} takt_hf_tensor;

struct takt_hf {
    takt_ctx *ctx;
    takt_arena *arena;
    const takt_source *source; /* of config.json */
    const char *folder;
    const takt_json *config; /* the part that describes the text model */
    const char *architecture;
    takt_gguf g;
    size_t value_room, tensor_room;
    takt_hf_tensor *tensors; /* parallel to g.tensors */
    takt_held_file **files;
    size_t file_count;
};

/* Reads headers only; tensors stay in their files, which stay open until takt_hf_close and as long
 * as there are recipes for them. Call takt_hf_close in any case. */
TAKT_MUST_USE takt_status takt_hf_open(takt_hf *h, takt_arena *arena, const takt_source *source);
void takt_hf_close(takt_hf *h);
/* takt_gguf_model.recipe; `user` is the folder. */
takt_status takt_hf_recipe(void *user, const takt_gguf_tensor *t, takt_late *late);

bool takt_hf_recognises(const uint8_t *bytes, size_t length);

/* ---- parts of takt_hf_open ---- */

takt_status takt_hf_fail(const takt_hf *h, takt_error_id id, const takt_json *at,
                         const char *format, ...) TAKT_PRINTF(4, 5);
/* Settings of config.json by the rules; `architecture` must be known. */
TAKT_MUST_USE takt_status takt_hf_settings(takt_hf *h);
TAKT_MUST_USE takt_status takt_hf_rope(takt_hf *h);
/* config.json's layer_types. The first function tells whether they remove a window that all layers
 * would otherwise have; the second checks them against the architecture once the settings are
 * known. */
bool takt_hf_has_no_window(const takt_hf *h);
TAKT_MUST_USE takt_status takt_hf_layers(const takt_hf *h);
TAKT_MUST_USE takt_status takt_hf_weights(takt_hf *h);

/* A member of config.json, NULL if it is missing or null. */
const takt_json *takt_hf_member(const takt_json *object, const char *key);
/* An integer setting read so far; `fallback` if absent. */
int64_t takt_hf_integer(const takt_hf *h, const char *key, int64_t fallback);

/* Adds a setting unless it exists; `key` is copied, prefixed with the architecture. */
TAKT_MUST_USE takt_status takt_hf_put_integer(takt_hf *h, const char *key, int64_t value);
TAKT_MUST_USE takt_status takt_hf_put_number(takt_hf *h, const char *key, double value);
TAKT_MUST_USE takt_status takt_hf_put_bool(takt_hf *h, const char *key, bool value);
TAKT_MUST_USE takt_status takt_hf_put_text(takt_hf *h, const char *key, const char *text);
/* Same without the architecture. */
TAKT_MUST_USE takt_status takt_hf_put_general(takt_hf *h, const char *key, const char *text);
/* A tensor of floats computed from config.json; `values` are in the arena. */
TAKT_MUST_USE takt_status takt_hf_put_tensor(takt_hf *h, const char *name, const float *values,
                                             int64_t count);

#endif
