/* chat.h - a conversation that grows, and its text by a chat template. */
#ifndef TAKT_TOOL_CHAT_H
#define TAKT_TOOL_CHAT_H

#include "tool.h"

typedef struct tool_chat {
    takt_chat *chat;
    const takt_tokenizer *tokens; /* borrowed */
    char *messages;               /* of a JSON list, without brackets; owned */
    char *text;                   /* rendered, terminated; owned */
    size_t length;
} tool_chat;

/* The whole file `path`, terminated; free() it. NULL if it cannot be read. */
char *tool_whole_file(const char *path, size_t *length);
/* The template of --chat-template, or the model's own. An error was printed unless TAKT_EXIT_OK. */
int tool_chat_open(takt_tool *t, const takt_tokenizer *tokens, tool_chat *c);
void tool_chat_close(tool_chat *c);
/* Adds a message. False if out of memory. */
bool tool_chat_say(tool_chat *c, const char *role, const char *content);
/* Renders all messages into `text`. An error was printed unless TAKT_EXIT_OK. */
int tool_chat_render(takt_tool *t, tool_chat *c);

#endif
