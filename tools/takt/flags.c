/* flags.c - the table of flags, the list of verbs, and how numbers are written in them. */
#include <string.h>
#include <strings.h>

#include "tool.h"

const tool_flag tool_flags[TAKT_FLAG_IDS] = {
#define X(ID, name, letter, kind, argument, summary)                                               \
    {name, letter, TAKT_FLAG_##kind, argument, summary},
#include "flags.def"
#undef X
};

bool tool_flag_is_list(tool_flag_id id)
{
    const tool_flag_kind kind = tool_flags[id].kind;
    return kind == TAKT_FLAG_LIST || kind == TAKT_FLAG_READS || kind == TAKT_FLAG_WRITES;
}

bool tool_flag_reads(tool_flag_id id)
{
    return tool_flags[id].kind == TAKT_FLAG_READ || tool_flags[id].kind == TAKT_FLAG_READS;
}

bool tool_flag_writes(tool_flag_id id)
{
    const tool_flag_kind kind = tool_flags[id].kind;
    return kind == TAKT_FLAG_WRITE || kind == TAKT_FLAG_WRITES || kind == TAKT_FLAG_MAYBE_WRITE;
}

bool tool_flag_is_help(tool_flag_id id)
{
    return id == TAKT_F_HELP || id == TAKT_F_HELP_ALL;
}

bool tool_wants_help(const takt_tool *t)
{
    return tool_on(t, TAKT_F_HELP) || tool_on(t, TAKT_F_HELP_ALL);
}

const tool_flag_id tool_common_flags[] = {TAKT_F_JSON,    TAKT_F_QUIET,    TAKT_F_COLOR,
                                          TAKT_F_MAX_RAM, TAKT_F_CONFIG,   TAKT_F_DUMP_CONFIG,
                                          TAKT_F_HELP,    TAKT_F_HELP_ALL, TAKT_FLAG_IDS};

#define TAKT_VERB(name) extern const takt_verb takt_verb_##name;
#include "verb_list.inc"
#undef TAKT_VERB

const takt_verb *const tool_verbs[] = {
#define TAKT_VERB(name) &takt_verb_##name,
#include "verb_list.inc"
#undef TAKT_VERB
};

const size_t tool_verb_count = sizeof tool_verbs / sizeof *tool_verbs;

const takt_verb *tool_verb_find(const char *name)
{
    for (size_t i = 0; i < tool_verb_count; i++)
        if (strcmp(tool_verbs[i]->name, name) == 0)
            return tool_verbs[i];
    return NULL;
}

static bool has(const tool_flag_id *ids, tool_flag_id id)
{
    for (; *ids != TAKT_FLAG_IDS; ids++)
        if (*ids == id)
            return true;
    return false;
}

tool_flag_id tool_flag_companion(tool_flag_id id)
{
    return id == TAKT_F_WEIGHTS ? TAKT_F_WEIGHT_RULES : TAKT_FLAG_IDS;
}

bool tool_verb_takes(const takt_verb *verb, tool_flag_id id)
{
    for (const tool_flag_id *own = verb->flags; *own != TAKT_FLAG_IDS; own++)
        if (*own == id || tool_flag_companion(*own) == id)
            return true;
    return has(tool_common_flags, id);
}

/* ---- numbers ---- */

typedef struct unit {
    const char *name;
    uint64_t scale;
} unit;

static const unit bytes[] = {
    {"", 1},           {"B", 1},           {"K", 1u << 10},   {"KB", 1000},
    {"KiB", 1u << 10}, {"M", 1u << 20},    {"MB", 1000000},   {"MiB", 1u << 20},
    {"G", 1u << 30},   {"GB", 1000000000}, {"GiB", 1u << 30}, {NULL, 0},
};
static const unit times[] = {
    {"ns", 1},       {"us", 1000},      {"\u00b5s", 1000}, {"\u03bcs", 1000}, /* both letters mu */
    {"ms", 1000000}, {"s", 1000000000}, {NULL, 0},
};
static const unit plain[] = {{"", 1}, {NULL, 0}};

/* Digits with at most three after a point, then a unit in any case: exact in integers. */
static bool read_scaled(const char *text, const unit *units, uint64_t *value)
{
    uint64_t whole = 0, thousandths = 0, place = 1000;
    size_t digits = 0;
    for (; *text >= '0' && *text <= '9'; text++, digits++) {
        const uint64_t digit = (uint64_t)(*text - '0');
        if (whole > (UINT64_MAX - digit) / 10)
            return false;
        whole = 10 * whole + digit;
    }
    if (digits > 0 && *text == '.' && units[1].name != NULL)
        for (text++; *text >= '0' && *text <= '9' && place > 1; text++) {
            place /= 10;
            thousandths += place * (uint64_t)(*text - '0');
        }
    for (; digits > 0 && units->name != NULL; units++) {
        if (strcasecmp(units->name, text) != 0)
            continue;
        if (whole > UINT64_MAX / units->scale - 1)
            return units->scale == 1 && thousandths == 0 && (*value = whole, true);
        *value = whole * units->scale + thousandths * units->scale / 1000;
        return true;
    }
    return false;
}

/* "80%" of the memory that this process may use. */
static bool read_memory(const char *text, uint64_t *value)
{
    static const unit percent[] = {{"%", 1000}, {"%", 1000}, {NULL, 0}};
    takt_usage usage;
    uint64_t thousandths;
    if (!read_scaled(text, percent, &thousandths) || thousandths > 100000)
        return read_scaled(text, bytes, value);
    takt_resource_usage(NULL, &usage);
    *value = (uint64_t)((double)usage.memory_bytes / 100000 * (double)thousandths);
    return true;
}

bool tool_read_number(tool_flag_kind kind, const char *text, uint64_t *value)
{
    switch (kind) {
    case TAKT_FLAG_BYTES: return read_memory(text, value) && *value > 0;
    case TAKT_FLAG_TIME: return read_scaled(text, times, value) && *value > 0;
    case TAKT_FLAG_COUNT:
        return read_scaled(text, plain, value) && *value > 0 && *value <= INT32_MAX;
    case TAKT_FLAG_LEVEL: return read_scaled(text, plain, value) && *value <= 3;
    default: return read_scaled(text, plain, value);
    }
}
