/* chat.c - chat templates: built-in ones and those of models, and rendering conversations. */
#include <string.h>
#include <takt/chat.h>

#include "base/mem.h"
#include "base/options.h"
#include "text/jinja/jinja.h"
#include "text/tokenizer.h"

struct takt_chat {
    takt_ctx *ctx;
    takt_jinja jinja;
};

static const struct {
    const char *name, *text;
} texts[] = {
#define TAKT_LAYER_TEXT(name, text) {name, text},
#include "chat.inc"
#undef TAKT_LAYER_TEXT
    {NULL, NULL}};

const char *takt_chat_name(size_t index)
{
    return index < sizeof texts / sizeof *texts ? texts[index].name : NULL;
}

const char *takt_tokenizer_chat_template(const takt_tokenizer *t)
{
    return t != NULL ? t->chat : NULL;
}

takt_status takt_chat_parse(takt_ctx *ctx, const char *name, const char *text, size_t length,
                            takt_chat **chat)
{
    void *block;
    TAKT_NEED(ctx, ctx);
    TAKT_NEED(ctx, chat);
    *chat = NULL;
    TAKT_NEED(ctx, name);
    TAKT_NEED(ctx, text);
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof **chat, "a chat template", &block));
    takt_chat *c = block;
    c->ctx = ctx;
    const takt_span all = {text, length > 0 ? length : strlen(text)};
    const takt_status status = takt_jinja_parse(&c->jinja, ctx, name, all);
    if (status == TAKT_OK)
        *chat = c;
    else
        takt_mem_put(ctx, c, sizeof *c);
    return status;
}

takt_status takt_chat_named(takt_ctx *ctx, const char *name, takt_chat **chat)
{
    TAKT_NEED(ctx, ctx);
    TAKT_NEED(ctx, chat);
    *chat = NULL;
    TAKT_NEED(ctx, name);
    for (size_t i = 0; texts[i].name != NULL; i++)
        if (strcmp(texts[i].name, name) == 0)
            return takt_chat_parse(ctx, name, texts[i].text, 0, chat);
    (void)takt_fail(ctx, TAKT_E_NAME, "there is no chat template called %.100s", name);
    return takt_fail_hint(ctx, "chatml, gemma, llama2, llama3, mistral, phi3, vicuna, zephyr");
}

takt_status takt_chat_of(const takt_tokenizer *t, takt_chat **chat)
{
    TAKT_NEED(NULL, t);
    TAKT_NEED(t->ctx, chat);
    *chat = NULL;
    if (t->chat != NULL)
        return takt_chat_parse(t->ctx, "the model's chat template", t->chat, 0, chat);
    (void)takt_fail(t->ctx, TAKT_E_TOKENIZER_MISSING, "the model comes without a chat template");
    return takt_fail_hint(t->ctx, "give one: --chat-template chatml, or a file");
}

void takt_chat_destroy(takt_chat *c)
{
    if (c == NULL)
        return;
    takt_jinja_deinit(&c->jinja);
    takt_mem_put(c->ctx, c, sizeof *c);
}

static takt_jv role_text(const takt_tokenizer *t, takt_token_role role)
{
    const int32_t id = t != NULL ? t->roles[role] : -1;
    return takt_jv_span(id >= 0 ? t->texts[id] : takt_span_of(""));
}

/* Bytes at the beginning that tokenizing with TAKT_TOKENIZE_ADD would add again. */
static size_t added_bytes(const takt_tokenizer *t, const takt_text *text)
{
    if (t == NULL || t->prefix_count == 0)
        return 0;
    const takt_span first = t->texts[t->prefix[0]];
    return first.length > 0 && first.length <= text->length &&
                   memcmp(takt_text_get(text), first.at, first.length) == 0
               ? first.length
               : 0;
}

static takt_status render(const takt_chat *c, const takt_tokenizer *t, const takt_json *variables,
                          const takt_chat_options *o, takt_text *text)
{
    const takt_json *messages =
        variables->kind == TAKT_JSON_OBJECT ? takt_json_get(variables, "messages") : NULL;
    if (messages == NULL || messages->kind != TAKT_JSON_ARRAY)
        return takt_fail(c->ctx, TAKT_E_SERVE_REQUEST,
                         "a conversation is an object with a list of messages");
    const takt_jextra extra[] = {{"bos_token", role_text(t, TAKT_TOKEN_BOS)},
                                 {"eos_token", role_text(t, TAKT_TOKEN_EOS)},
                                 {"add_generation_prompt", takt_jv_bool(!o->is_complete)},
                                 {NULL, takt_jv_none()}};
    return takt_jinja_run(&c->jinja, variables, extra, o->seconds > 0 ? o->seconds : -1, text);
}

takt_status takt_chat_render(const takt_chat *c, const takt_tokenizer *t, const char *variables,
                             const takt_chat_options *options, takt_sink_fn *sink, void *user)
{
    takt_chat_options o;
    takt_arena arena;
    takt_text text;
    const takt_json *root;
    TAKT_NEED(NULL, c);
    TAKT_NEED(c->ctx, variables);
    TAKT_NEED(c->ctx, sink);
    TAKT_TRY(takt_options_read(c->ctx, "takt_chat_options", options, &o, sizeof o));
    takt_arena_init(&arena, c->ctx);
    takt_text_init(&text, c->ctx);
    takt_status status = takt_json_parse(c->ctx, &arena, variables, strlen(variables), &root);
    if (status == TAKT_OK)
        status = render(c, t, root, &o, &text);
    if (status == TAKT_OK) {
        const size_t skip = added_bytes(t, &text);
        if (sink(user, takt_text_get(&text) + skip, text.length - skip) != 0)
            status = takt_fail(c->ctx, TAKT_E_FILE_WRITE, "the reader of a text refused it");
    }
    takt_text_deinit(&text);
    takt_arena_deinit(&arena);
    return status;
}
