/* calls.h - tool calls in a model's output, in the formats that chat templates use. */
#ifndef TAKT_TEXT_CALLS_H
#define TAKT_TEXT_CALLS_H

#include "base/json.h"
#include "base/spans.h"

typedef enum takt_call_format {
    TAKT_CALLS_NONE,
    TAKT_CALLS_TAGGED, /* Hermes, Qwen: <tool_call>{"name": .., "arguments": ..}</tool_call> */
    TAKT_CALLS_LISTED, /* Mistral: [TOOL_CALLS][{"name": .., "arguments": ..}], or name{..} */
    TAKT_CALLS_BARE,   /* Llama 3: {"name": .., "parameters": ..} is the whole answer */
} takt_call_format;

/* The format that a Jinja template uses. */
takt_call_format takt_calls_of(takt_span source);

typedef struct takt_call {
    takt_span name;
    const takt_json *arguments; /* an object */
} takt_call;

enum { TAKT_CALLS_MOST = 32 };

typedef struct takt_calls {
    takt_span content; /* the text before them */
    takt_call at[TAKT_CALLS_MOST];
    size_t count; /* 0: the text has none, or is malformed */
} takt_calls;

/* Names and arguments are in the arena or in the text. Fails only if out of memory. */
TAKT_MUST_USE takt_status takt_calls_read(takt_ctx *ctx, takt_arena *arena, takt_call_format format,
                                          takt_span text, takt_calls *calls);
/* Bytes at the beginning of an incomplete text that belong to no call, whatever follows. */
size_t takt_calls_safe(takt_call_format format, takt_span text);

#endif
