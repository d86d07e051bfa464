/* simulate.c - Takt itself in valgrind, for figures that the processor does not provide. */
#include "simulate.h"

#include <string.h>

#include "process.h"

static void carry(tool_command *c, const takt_tool *t, const tool_flag_id *carried)
{
    for (const tool_flag_id *id = carried; *id != TAKT_FLAG_IDS; id++)
        for (size_t i = 0; i < t->value_count; i++)
            if (t->values[i].id == *id)
                tool_command_add(c, "--%s=%s", tool_flags[*id].name, t->values[i].text);
}

static void carry_sizes(tool_command *c, const char *sizes)
{
    for (const char *at = sizes; at != NULL && *at != '\0';) {
        const size_t length = strcspn(at, ",");
        tool_command_add(c, "--dim=%.*s", (int)length, at);
        at += length + (at[length] == ',');
    }
}

bool tool_simulate(const takt_tool *t, const tool_simulation *s, int runs, tool_buffer *said)
{
    tool_command c = {0};
    char self[4096];
    tool_command_add(&c, "valgrind");
    for (const char *const *option = s->options; *option != NULL; option++)
        tool_command_add(&c, "%s", *option);
    tool_command_add(&c, "%s", tool_self(self, sizeof self));
    tool_command_add(&c, "run");
    tool_command_add(&c, "--random");
    tool_command_add(&c, "--quiet"); /* printed times take more or fewer digits */
    tool_command_add(&c, "--threads=1");
    tool_command_add(&c, "--repeat=%d", runs);
    carry(&c, t, s->carried);
    carry_sizes(&c, s->sizes);
    tool_command_add(&c, "%s", s->model);
    const bool good = tool_spawn(&c, NULL, said) == 0 && said->at != NULL;
    tool_command_free(&c);
    return good;
}

/* Valgrind writes 1,234,567. */
bool tool_simulated(const tool_buffer *said, const char *label, double *value)
{
    const char *at = strstr(said->at, label);
    bool any = false;
    *value = 0;
    if (at == NULL)
        return false;
    for (at += strlen(label); *at == ' ';)
        at++;
    for (; (*at >= '0' && *at <= '9') || *at == ','; at++) {
        if (*at == ',')
            continue;
        *value = 10 * *value + (*at - '0');
        any = true;
    }
    return any;
}
