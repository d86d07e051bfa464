/* text.h - shared by the text verbs. */
#ifndef TAKT_TOOL_TEXT_H
#define TAKT_TOOL_TEXT_H

#include "tool.h"

/* A text that the user gave. */
typedef struct tool_prompt {
    char *text; /* owned, terminated */
    size_t length;
} tool_prompt;

/* Reads `word` if it is not NULL, else -p, else -f; -e resolves \n and the like. An error was
 * printed unless TAKT_EXIT_OK. */
int tool_take_prompt(takt_tool *t, const char *word, tool_prompt *prompt);
void tool_free_prompt(tool_prompt *prompt);
/* Its tokens; free(ids->at). An error was printed unless TAKT_EXIT_OK. */
int tool_prompt_ids(takt_tool *t, const takt_tokenizer *tokens, const tool_prompt *prompt,
                    unsigned flags, takt_token_ids *ids);

/* Parses -c, -b, -t and --isa. */
takt_generator_options tool_text_options(const takt_tool *t);
/* The same for verbs that score tokens, whose --activations defaults to int8; and the line that
 * reports it, if some weights are in blocks. */
takt_generator_options tool_writer_options(const takt_tool *t);
void tool_tell_rounding(const takt_tool *t, const takt_generator *g);

/* The line of a server's memory, or an object. */
void tool_print_server(const takt_server_memory *memory, bool is_json);

/* A flag that is a number. False: not a number; printed. */
bool tool_real_of(const takt_tool *t, tool_flag_id id, double fallback, double *out);
/* The memory that sampling settings point to. */
enum { TOOL_BIASES = 64, TOOL_BREAKERS = 32, TOOL_BREAKER_BYTES = 64, TOOL_ORDER_BYTES = 256 };
typedef struct tool_sampling_room {
    takt_token_bias bias[TOOL_BIASES];
    const char *breakers[TOOL_BREAKERS];
    char texts[TOOL_BREAKERS][TOOL_BREAKER_BYTES];
    char order[TOOL_ORDER_BYTES];
} tool_sampling_room;

/* Reads -n, -r, samplers, -l and -s. If false, an error was printed. */
bool tool_read_sampling(const takt_tool *t, takt_generate_options *o, tool_sampling_room *room);
/* Reads the flags of dynamic temperature, top-n-sigma, XTC and DRY, and the samplers' order. If
 * false, an error was printed. */
bool tool_read_more_sampling(const takt_tool *t, takt_sampling *s, tool_sampling_room *room);
/* Resolves \n \r \t \\ \" \'; others stay. Returns the new length; terminated. */
size_t tool_unescape(char *text, size_t length);
/* --lookup, --draft, --draft-p-min, and the model of -md, which the caller destroys. The exit
 * status. */
int tool_open_draft(const takt_tool *t, takt_generate_options *o, takt_generator **draft);

/* --prompt-cache: reads the file, if it exists; and writes the tokens read so far, only the first
 * `tokens` unless --prompt-cache-all is given. Returns the exit status. */
int tool_load_prompt(const takt_tool *t, takt_generator *g);
int tool_save_prompt(const takt_tool *t, takt_generator *g, size_t tokens);

/* A usage error if a flag needs another that is not given: --prompt-cache-ro without
 * --prompt-cache, --draft without -md. Returns the exit status. */
int tool_check_pairs(const takt_tool *t);

/* What a model refuses of a command line, by its tokenizer and its context (text_check.c). */
typedef struct tool_text_check {
    takt_tool *t;
    const takt_sampling *sampling;
    const tool_prompt *prompt; /* NULL: none, or one that a template is yet to write */
    bool is_chat;
    int code; /* the exit status; an error was printed unless TAKT_EXIT_OK */
} tool_text_check;

/* takt_generator_options.check; `check` is a tool_text_check. */
takt_status tool_check_text(void *check, const takt_tokenizer *tokens, int64_t context);

/* -f with --parallel: every line of the file is a prompt (text_batch.c). */
bool tool_is_batch(const takt_tool *t);
/* Refuses flags that do not go with it, and a file without a prompt. Returns the exit status. */
int tool_check_batch(const takt_tool *t, const tool_prompt *lines);
int tool_write_batch(takt_tool *t, takt_generator *g, const takt_generate_options *options,
                     const tool_prompt *lines, bool is_chat);

/* Speed of prompt and text as a share of this machine's ceilings, if these are known ("takt
 * benchmark system" measures and stores them): " (61 %)", in JSON "\"share\": 0.61, "; else
 * empty. */
void tool_text_shares(takt_tool *t, const takt_generator *g, const takt_generated *r,
                      char shares[2][40]);

/* takt benchmark run --type generate; the exit status. */
int tool_bench_generate(takt_tool *t);

#endif
