/* chat.c - a conversation that grows, and its text by a chat template. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "chat.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

char *tool_whole_file(const char *path, size_t *length)
{
    FILE *f = fopen(path, "rb");
    size_t room = 1 << 16;
    char *text = f != NULL ? malloc(room) : NULL;
    *length = 0;
    for (size_t got; text != NULL; *length += got) {
        if (*length + 1 >= room) {
            char *more = realloc(text, room *= 2);
            if (more == NULL) {
                free(text);
                text = NULL;
                break;
            }
            text = more;
        }
        got = fread(text + *length, 1, room - 1 - *length, f);
        if (got == 0)
            break;
    }
    if (text != NULL)
        text[*length] = '\0';
    if (f != NULL)
        fclose(f);
    return text;
}

int tool_chat_open(takt_tool *t, const takt_tokenizer *tokens, tool_chat *c)
{
    const char *given = tool_text_of(t, TAKT_F_CHAT_TEMPLATE);
    size_t length = 0;
    *c = (tool_chat){.tokens = tokens};
    if (given == NULL)
        return tool_finish(t, takt_chat_of(tokens, &c->chat));
    for (size_t i = 0; takt_chat_name(i) != NULL; i++)
        if (strcmp(takt_chat_name(i), given) == 0)
            return tool_finish(t, takt_chat_named(t->ctx, given, &c->chat));
    char *text = tool_whole_file(tool_readable(given), &length);
    if (text == NULL) /* lists the available ones */
        return tool_finish(t, takt_chat_named(t->ctx, given, &c->chat));
    const int code = tool_finish(t, takt_chat_parse(t->ctx, given, text, length, &c->chat));
    free(text);
    return code;
}

void tool_chat_close(tool_chat *c)
{
    takt_chat_destroy(c->chat);
    free(c->messages);
    free(c->text);
    *c = (tool_chat){0};
}

bool tool_chat_say(tool_chat *c, const char *role, const char *content)
{
    char *all = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&all, &length);
    if (to == NULL)
        return false;
    if (c->messages != NULL)
        fprintf(to, "%s, ", c->messages);
    fputs("{\"role\": ", to);
    tool_print_string(to, role);
    fputs(", \"content\": ", to);
    tool_print_string(to, content);
    fputc('}', to);
    if (fclose(to) != 0)
        return false;
    free(c->messages);
    c->messages = all;
    return true;
}

static int keep(void *user, const char *text, size_t length)
{
    tool_chat *c = user;
    char *copy = malloc(length + 1);
    if (copy == NULL)
        return 1;
    memcpy(copy, text, length);
    copy[length] = '\0';
    free(c->text);
    c->text = copy;
    c->length = length;
    return 0;
}

int tool_chat_render(takt_tool *t, tool_chat *c)
{
    const takt_chat_options how = {.size = sizeof how, .seconds = (int64_t)time(NULL)};
    char *all = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&all, &length);
    if (to == NULL)
        return tool_usage_error(t, 9003, NULL, "out of memory for the conversation");
    fprintf(to, "{\"messages\": [%s]}", c->messages != NULL ? c->messages : "");
    if (fclose(to) != 0)
        return tool_usage_error(t, 9003, NULL, "out of memory for the conversation");
    const int code = tool_finish(t, takt_chat_render(c->chat, c->tokens, all, &how, keep, c));
    free(all);
    return code;
}
