/* text_check.c - a command line against the model it names, before a weight is read: with large
 * models a mistake should not take as long as an answer. */
#include "chat.h"
#include "text.h"

/* The model's own template may be missing, or not be one. */
static int check_template(const tool_text_check *c, const takt_tokenizer *tokens)
{
    tool_chat chat;
    const int code = tool_chat_open(c->t, tokens, &chat);
    tool_chat_close(&chat);
    return code;
}

static int check_biases(const tool_text_check *c, const takt_tokenizer *tokens)
{
    const size_t count = takt_tokenizer_count(tokens);
    for (size_t i = 0; i < c->sampling->bias_count; i++)
        if ((size_t)c->sampling->bias[i].id >= count)
            return tool_usage_error(c->t, 1003, "takt tokenize --ids prints the ids of a text",
                                    "a bias is for token %d; the vocabulary has ids from 0 to %zu",
                                    c->sampling->bias[i].id, count - 1);
    return TAKT_EXIT_OK;
}

static int check_prompt(const tool_text_check *c, const takt_tokenizer *tokens, int64_t context)
{
    const unsigned flags = TAKT_TOKENIZE_PARSE | TAKT_TOKENIZE_ADD;
    takt_token_ids ids = {0};
    const takt_status status =
        takt_tokenize(tokens, c->prompt->text, c->prompt->length, flags, &ids);
    if (status != TAKT_OK || ids.count <= (uint64_t)context)
        return tool_finish(c->t, status);
    return tool_usage_error(c->t, 1001, "a larger context is -c N",
                            "the %zu tokens of the prompt do not fit: the context has room for "
                            "%lld",
                            ids.count, (long long)context);
}

takt_status tool_check_text(void *check, const takt_tokenizer *tokens, int64_t context)
{
    tool_text_check *c = check;
    c->code = check_biases(c, tokens);
    if (c->code == TAKT_EXIT_OK && c->is_chat)
        c->code = check_template(c, tokens);
    if (c->code == TAKT_EXIT_OK && c->prompt != NULL)
        c->code = check_prompt(c, tokens, context);
    return c->code == TAKT_EXIT_OK ? TAKT_OK : TAKT_ERR_CANCELLED;
}
