/* quantize_text.c - a language model as a GGUF file of blocks. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "shrink.h"

enum { RULES = 64 };

/* One --tensor-type. */
typedef struct rule {
    regex_t names;
    char type[16];
} rule;

typedef struct rules {
    rule at[RULES];
    size_t count;
} rules;

/* Whether a type is one of these, in letters of either case. */
static bool is_one_of(const char *type, const char *const *known, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (type[k] != '\0' && toupper((unsigned char)type[k]) == known[i][k])
            k++;
        if (type[k] == '\0' && known[i][k] == '\0')
            return true;
    }
    return false;
}

bool tool_is_block_type(const char *type)
{
    static const char *const known[] = {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0",  "Q2_K",
                                        "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL"};
    return type != NULL && is_one_of(type, known, sizeof known / sizeof *known);
}

static bool is_float_type(const char *type)
{
    static const char *const known[] = {"F32", "F16", "BF16"};
    return is_one_of(type, known, sizeof known / sizeof *known);
}

static const char *type_of(void *user, const char *tensor)
{
    const rules *r = user;
    for (size_t i = 0; i < r->count; i++)
        if (regexec(&r->at[i].names, tensor, 0, NULL, 0) == 0)
            return r->at[i].type;
    return NULL;
}

/* "attn_v|output=Q6_K" */
static bool add_rule(const takt_tool *t, const char *item, rules *r)
{
    char names[256];
    const char *equals = strrchr(item, '=');
    rule *one = &r->at[r->count];
    const size_t length = equals != NULL ? (size_t)(equals - item) : 0;
    if (equals == NULL || length == 0 || length >= sizeof names || r->count == RULES ||
        (!tool_is_block_type(equals + 1) && !is_float_type(equals + 1))) {
        tool_usage_error(t, 1003, "write --tensor-type 'output=Q6_K'",
                         "--tensor-type %s is not a REGEX=TYPE, or there are more than %d", item,
                         RULES);
        return false;
    }
    memcpy(names, item, length);
    names[length] = '\0';
    snprintf(one->type, sizeof one->type, "%s", equals + 1);
    const int code = regcomp(&one->names, names, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        char why[128];
        regerror(code, &one->names, why, sizeof why);
        tool_usage_error(t, 1003, NULL, "--tensor-type %s: %s", item, why);
        return false;
    }
    r->count++;
    return true;
}

static void tell(const takt_tool *t, const char *to, const char *type)
{
    if (tool_on(t, TAKT_F_QUIET))
        return;
    if (!tool_on(t, TAKT_F_JSON)) {
        printf("%s: %s\n", to, type);
        return;
    }
    printf("{\"file\": ");
    tool_print_string(stdout, to);
    printf(", \"type\": \"%s\"}\n", type);
}

static int write_blocks(takt_tool *t, const char *to, rules *r)
{
    const takt_text_quantize_options o = {.size = sizeof o,
                                          .type = tool_text_of(t, TAKT_F_QUANT_TYPE),
                                          .imatrix = tool_text_of(t, TAKT_F_IMATRIX),
                                          .type_of = type_of,
                                          .user = r};
    tool_spare_reads(t);
    tool_notes_begin(t);
    const takt_status status =
        takt_text_quantize(t->ctx, tool_readable(tool_model_path(t)), to, &o);
    tool_notes_end(t, status == TAKT_OK);
    if (tool_spared(t) != NULL)
        return tool_usage_error(t, 1003, "write to another file",
                                "%s is read for this, and would be written over", tool_spared(t));
    const int code = tool_finish(t, status);
    if (code == TAKT_EXIT_OK)
        tell(t, to, o.type);
    return code;
}

int tool_quantize_text(takt_tool *t)
{
    const char *to = tool_text_of(t, TAKT_F_MODEL_FILE), *item;
    const size_t length = to != NULL ? strlen(to) : 0;
    rules r = {.count = 0};
    int code = TAKT_EXIT_OK;
    if (length < 6 || strcmp(to + length - 5, ".gguf") != 0)
        return tool_usage_error(t, 1003, "write -o F.gguf",
                                "blocks of type %s are written to GGUF files",
                                tool_text_of(t, TAKT_F_QUANT_TYPE));
    for (size_t i = 0;
         code == TAKT_EXIT_OK && (item = tool_item_of(t, TAKT_F_TENSOR_TYPE, i)) != NULL; i++)
        code = add_rule(t, item, &r) ? TAKT_EXIT_OK : TAKT_EXIT_USAGE;
    if (code == TAKT_EXIT_OK)
        code = write_blocks(t, to, &r);
    for (size_t i = 0; i < r.count; i++)
        regfree(&r.at[i].names);
    return code;
}
