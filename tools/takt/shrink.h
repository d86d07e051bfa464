/* shrink.h - shared by the verbs that make smaller models. */
#ifndef TAKT_TOOL_SHRINK_H
#define TAKT_TOOL_SHRINK_H

#include <regex.h>

#include "tool.h"

/* Opens the data set that the flag names, or its part `split` if it has two. True with `*data` NULL
 * if the flag is not given. If false, an error was printed and `*code` is set. */
bool tool_shrink_data(takt_tool *t, tool_flag_id id, const char *split, uint64_t limit,
                      takt_data **data, int *code);
/* The expression of --keep, and whether it matched. */
typedef struct tool_keep {
    regex_t regex;
    bool is_given, has_matched;
} tool_keep;

/* False: usage error, printed. */
bool tool_keep_init(takt_tool *t, tool_keep *keep);
/* Whether a layer is left unchanged; `user` is a tool_keep. */
bool tool_keeps(void *user, const char *layer);
/* `code`, or after a success without a match that of the usage error, printed. */
int tool_keep_check(takt_tool *t, const tool_keep *keep, int code);
void tool_keep_deinit(tool_keep *keep);
/* `*model` trained on the data of --finetune, by `takt train` in a separate process with the
 * training flags that were given. */
int tool_finetune(takt_tool *t, takt_model **model);
/* Whether a type is one of ggml's block formats, as in language models. */
bool tool_is_block_type(const char *type);
/* `takt quantize` of a language model: a GGUF file of blocks. */
int tool_quantize_text(takt_tool *t);
/* Whether -o, if given, names a model format. If false, an error was printed. */
bool tool_shrink_can_save(const takt_tool *t);
/* Opens the model and calls `shrink` with it; not if -o cannot be written. */
int tool_shrink_model(takt_tool *t, int (*shrink)(takt_tool *t, const takt_model *model));
/* Writes the model that a verb made to -o, with its lineage: the source model and the data sets of
 * these flags. Without -o nothing is written. */
int tool_shrink_save(takt_tool *t, const takt_model *model, const char *command,
                     const tool_flag_id *reads, size_t count);

#endif
