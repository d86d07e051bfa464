/* chat.c - chat templates: conversations as text, mistakes with their lines, limits, memory.
 *
 * tests/text/templates.py compares them with jinja2.
 */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "base/error.h"
#include "test.h"
#include "util/inject.h"

static takt_ctx *ctx;

typedef struct gathered {
    char text[4096];
    size_t length;
} gathered;

static int gather(void *user, const char *text, size_t length)
{
    gathered *g = user;
    g->length = length;
    if (length < sizeof g->text) {
        memcpy(g->text, text, length);
        g->text[length] = '\0';
    }
    return 0;
}

static takt_status render(const char *template, const char *variables, gathered *out)
{
    takt_chat *chat;
    *out = (gathered){.length = 0};
    takt_status status = takt_chat_parse(ctx, "t", template, 0, &chat);
    if (status != TAKT_OK)
        return status;
    status = takt_chat_render(chat, NULL, variables, NULL, gather, out);
    takt_chat_destroy(chat);
    return status;
}

static const char hello[] = "{\"messages\": [{\"role\": \"system\", \"content\": \"Be kind.\"}, "
                            "{\"role\": \"user\", \"content\": \"Hi\"}]}";

/* ---- what Takt has ---- */

static void own(void)
{
    static const struct {
        const char *name, *want;
    } rows[] = {
        {"chatml", "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
                   "<|im_start|>assistant\n"},
        {"llama3", "<|start_header_id|>system<|end_header_id|>\n\nBe kind.<|eot_id|>"
                   "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
                   "<|start_header_id|>assistant<|end_header_id|>\n\n"},
        {"llama2", "[INST] <<SYS>>\nBe kind.\n<</SYS>>\n\nHi [/INST]"},
        {"mistral", "[INST] Be kind.\n\nHi [/INST]"},
        {"gemma", "<start_of_turn>user\nBe kind.\n\nHi<end_of_turn>\n<start_of_turn>model\n"},
        {"phi3", "<|system|>\nBe kind.<|end|>\n<|user|>\nHi<|end|>\n<|assistant|>\n"},
        {"zephyr", "<|system|>\nBe kind.\n<|user|>\nHi\n<|assistant|>\n"},
        {"vicuna", "Be kind.\n\nUSER: Hi\nASSISTANT:"},
    };
    size_t names = 0;
    while (takt_chat_name(names) != NULL)
        names++;
    EXPECT(names == sizeof rows / sizeof *rows, "%zu templates", names);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        takt_chat *chat;
        gathered out = {.length = 0};
        if (!EXPECT_OK(ctx, takt_chat_named(ctx, rows[i].name, &chat)))
            continue;
        EXPECT_OK(ctx, takt_chat_render(chat, NULL, hello, NULL, gather, &out));
        EXPECT(strcmp(out.text, rows[i].want) == 0, "%s: \"%s\"", rows[i].name, out.text);
        takt_chat_destroy(chat);
    }
    takt_chat *chat;
    EXPECT_STATUS(ctx, takt_chat_named(ctx, "none", &chat), TAKT_ERR_NOT_FOUND);
}

/* The template of a GGUF file, with the names of its tokens; what tokenizing adds is not written.
 */
static void of_model(void)
{
    takt_tokenizer *t;
    takt_chat *chat;
    gathered out;
    if (!EXPECT_OK(ctx, takt_tokenizer_load(ctx, "tests/corpus/gguf/tiny.gguf", &t)))
        return;
    EXPECT(takt_tokenizer_chat_template(t) == NULL);
    EXPECT_STATUS(ctx, takt_chat_of(t, &chat), TAKT_ERR_NOT_FOUND);
    EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_TOKENIZER_MISSING);
    EXPECT_OK(ctx, takt_chat_parse(ctx, "t", "{{ bos_token }}a{{ eos_token }}", 0, &chat));
    EXPECT_OK(ctx, takt_chat_render(chat, t, hello, NULL, gather, &out));
    EXPECT(strcmp(out.text, "a</s>") == 0, "\"%s\"", out.text);
    takt_chat_destroy(chat);
    takt_tokenizer_destroy(t);
}

/* ---- mistakes ---- */

static void mistakes(void)
{
    static const struct {
        int id;
        const char *template, *says;
    } rows[] = {
        {TAKT_E_TEMPLATE, "a\n{{ 1 +", "line 2"},
        {TAKT_E_TEMPLATE, "{{ 'a }}", "string is not closed"},
        {TAKT_E_TEMPLATE, "{# a", "comment"},
        {TAKT_E_TEMPLATE, "{% if 1 %}a", "ends before"},
        {TAKT_E_TEMPLATE, "{% if 1 %}a{% endfor %}", "no statement 'endfor'"},
        {TAKT_E_TEMPLATE, "{% for x %}{% endfor %}", "in was expected"},
        {TAKT_E_TEMPLATE, "{% raw %}", "raw"},
        {TAKT_E_TEMPLATE, "{{ a[] }}", "no index"},
        {TAKT_E_TEMPLATE, "{{ 99999999999999999999 }}", "too long"},
        {TAKT_E_TEMPLATE, "{{ a ? b }}", "'?'"},
        {TAKT_E_TEMPLATE, "\xFF", "UTF-8"},
        {TAKT_E_TEMPLATE_UNSUPPORTED, "{% include 'x' %}", "include"},
        {TAKT_E_TEMPLATE_UNSUPPORTED, "{% import 'os' as os %}", "import"},
        {TAKT_E_TEMPLATE_UNSUPPORTED, "{{ 1 | frobnicate }}", "frobnicate"},
        {TAKT_E_TEMPLATE_UNSUPPORTED, "{{ 1 is frobnicated }}", "frobnicated"},
        {TAKT_E_TEMPLATE_UNSUPPORTED, "{% for a in b recursive %}{% endfor %}", "recursive"},
        {TAKT_E_TEMPLATE_FAILED, "{{ raise_exception('no ' ~ 1) }}", "no 1"},
        {TAKT_E_TEMPLATE_FAILED, "\n\n{{ nothing.at_all }}", "line 3"},
        {TAKT_E_TEMPLATE_FAILED, "{{ ''.__class__.__mro__ }}", "undefined"},
        {TAKT_E_TEMPLATE_FAILED, "{{ messages.__class__() }}", "no method"},
        {TAKT_E_TEMPLATE_FAILED, "{{ 1 // 0 }}", "division"},
        {TAKT_E_TEMPLATE_FAILED, "{{ 9223372036854775807 + 1 }}", "too large"},
        {TAKT_E_TEMPLATE_FAILED, "{{ strftime_now('%Y') }}", "date"},
        {TAKT_E_TEMPLATE_FAILED, "{% set messages.x = 1 %}", "namespaces"},
        {TAKT_E_TEMPLATE_FAILED, "{% set a, b = [1] %}", "1 values for 2 names"},
        {TAKT_E_TEMPLATE_LIMIT, "{% for i in range(2000000) %}{% endfor %}", "steps"},
        {TAKT_E_TEMPLATE_LIMIT, "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "deeply"},
        {TAKT_E_TEMPLATE_LIMIT, "{{ 'ab' * 1000000 }}", "too often"},
        {TAKT_E_TEMPLATE_LIMIT,
         "{% set ns = namespace(s='a') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}"
         "{% endfor %}",
         "bytes"},
        {TAKT_E_TEMPLATE_LIMIT,
         "{% set x = 'abcdefgh' * 10000 %}{% for i in range(99) %}{{ x }}{% endfor %}", "writes"},
        {TAKT_E_TEMPLATE_LIMIT,
         "{% set ns = namespace(l=[]) %}{% for i in range(9999) %}{% set ns.l = [ns.l] %}"
         "{% endfor %}{{ ns.l }}",
         "deeply"},
        {TAKT_E_TEMPLATE_LIMIT,
         "{% for a in range(999) %}{% for b in range(999) %}{% for c in range(999) %}{% endfor %}"
         "{% endfor %}{% endfor %}",
         "steps"},
    };
    gathered out;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const takt_status status = render(rows[i].template, hello, &out);
        const takt_error *e = takt_last_error_info(ctx);
        EXPECT(status != TAKT_OK && e->id == rows[i].id && strstr(e->message, rows[i].says),
               "%s: status %d, %d: %s", rows[i].template, status, e->id, e->message);
    }
    EXPECT_STATUS(ctx, render("a", "[1]", &out), TAKT_ERR_ARGUMENT);
    EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_SERVE_REQUEST);
    EXPECT_STATUS(ctx, render("a", "{\"messages\": 1}", &out), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, render("a", "{", &out), TAKT_ERR_FORMAT);
}

/* Brackets, blocks and operators nested as deep as the limit, and deeper. */
static void deep(void)
{
    static char text[1 << 17];
    static const char *const parts[][3] = {
        {"{{ ", "(", "1"},     {"{{ ", "[", "1"},      {"{{ ", "-", "1"},
        {"{{ ", "not ", "1"},  {"{{ 1", "+1", ""},     {"{{ a", ".a", ""},
        {"{{ a", "|trim", ""}, {"", "{% if 1 %}", ""}, {"{{ 1", " if 1 else 1", ""}};
    gathered out;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t length = 0;
        length += (size_t)sprintf(text + length, "%s", parts[i][0]);
        for (int k = 0; k < 5000; k++)
            length += (size_t)sprintf(text + length, "%s", parts[i][1]);
        length += (size_t)sprintf(text + length, "%s", parts[i][2]);
        for (int k = 0; k < 5000 && i < 2; k++)
            text[length++] = i == 0 ? ')' : ']';
        sprintf(text + length, " }}");
        EXPECT(render(text, hello, &out) != TAKT_OK &&
                   takt_last_error_info(ctx)->id == TAKT_E_TEMPLATE_LIMIT,
               "%s: %s", parts[i][1], takt_last_error(ctx));
    }
}

/* A context that allows fewer trips of a loop allows a template as few steps. */
static void fewer_steps(void)
{
    static const char text[] = "{% for i in range(99) %}.{% endfor %}";
    const takt_config config = {.limits = {.trip_count = 50}};
    takt_ctx *const other = ctx;
    gathered out;
    EXPECT_OK(ctx, render(text, hello, &out));
    if (!EXPECT_OK(ctx, takt_ctx_create(&config, &ctx))) {
        ctx = other;
        return;
    }
    EXPECT(render(text, hello, &out) != TAKT_OK &&
               strstr(takt_last_error(ctx), "more than 50 steps") != NULL,
           "%s", takt_last_error(ctx));
    takt_ctx_destroy(ctx);
    ctx = other;
}

/* ---- memory ---- */

static const char busy[] =
    "{% macro f(a, b=[1]) %}{{ a ~ b }}{% endmacro %}{% set ns = namespace(x='') %}"
    "{% for m in messages[::-1] if m.role is defined %}{% set ns.x = ns.x + f(m.content) %}"
    "{{ m | tojson(indent=1) }}{{ m.items() | list }}{% endfor %}{{ ns.x | upper | replace('A', "
    "'bb') }}{{ 'a b'.split() | map('title') | sort | join(', ') }}{% set t %}{{ 1.5 }}{% endset %}"
    "{{ t }}{{ {'a': [1, (2,)]} }}{{ strftime_now('%Y %b') }}";

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own_ctx;
    takt_chat *chat;
    gathered out;
    const takt_chat_options options = {.size = sizeof options, .seconds = 1};
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own_ctx);
    if (status != TAKT_OK)
        return status;
    status = takt_chat_parse(own_ctx, "t", busy, 0, &chat);
    if (status == TAKT_OK)
        status = takt_chat_render(chat, NULL, hello, &options, gather, &out);
    takt_chat_destroy(chat);
    takt_ctx_destroy(own_ctx);
    return status;
}

static void memory(void)
{
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
}

static void begin(void)
{
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        exit(EXIT_FAILURE);
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, own, of_model, mistakes, deep, fewer_steps, memory, end)
