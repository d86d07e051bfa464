/* hf_write.h - a GGUF file as a folder of Hugging Face: the rules of hf.h, backwards.
 *
 * Architectures that can be written have lines in their text that give the names to use:
 *
 *     #: as mixtral MixtralForCausalLM model. expert_count   if the file has this setting
 *     #: as llama LlamaForCausalLM model.                     otherwise; tensors begin with model.
 *     #: has attention_bias blk.0.attn_q.bias                 a switch for tensors that may be
 * there
 *
 * The output is read back and compared with the settings of the file.
 */
#ifndef TAKT_IO_HF_HF_WRITE_H
#define TAKT_IO_HF_HF_WRITE_H

#include "io/hf/hf.h"

typedef struct takt_hf_out {
    takt_ctx *ctx;
    takt_arena *arena;
    const takt_gguf_model *m;
    const char *architecture, *folder;
    const takt_gguf_type *type; /* type of matrices; NULL: unchanged, blocks as F32 */
    takt_span model_type, class, prefix;
    int64_t bos, eos, pad; /* -1: none */
} takt_hf_out;

/* Finds the model's type; TAKT_ERR_UNSUPPORTED if it cannot be written as a folder. */
TAKT_MUST_USE takt_status takt_hf_out_begin(takt_hf_out *o);
/* Writes config.json and model.safetensors, and checks that they mean the same. */
TAKT_MUST_USE takt_status takt_hf_write(takt_hf_out *o);

/* ---- parts of it ---- */

TAKT_MUST_USE takt_status takt_hf_write_weights(const takt_hf_out *o);
/* rope_theta, rope_scaling and the like. */
TAKT_MUST_USE takt_status takt_hf_write_rope(const takt_hf_out *o, takt_json_writer *w);
/* A setting by its key without the architecture; NULL if missing. */
const takt_gguf_value *takt_hf_out_find(const takt_hf_out *o, const char *key);
/* Same as a number. */
double takt_hf_out_number(const takt_hf_out *o, const char *key, double fallback);
/* A float as the shortest decimal that reads back as the same value. */
double takt_hf_plain(double value);
/* All elements of a small tensor; in the arena. */
TAKT_MUST_USE takt_status takt_hf_out_floats(const takt_hf_out *o, const takt_gguf_tensor *t,
                                             float **values);

#endif
