/* train_settings.c - what a checkpoint records about the training that made it.
 *
 * The note of a checkpoint has a line of numbers, then a line for each of: the digest of the data,
 * the digest of the model, and every flag that changes the bits of the result. A training on other
 * data or of another model is refused; other flags are the user's choice, and are reported.
 */
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "train.h"
#include "zoo.h"

static const tool_flag_id flags[] = {
    TAKT_F_OPTIMIZER,    TAKT_F_LR,         TAKT_F_WEIGHT_DECAY,  TAKT_F_LOSS, TAKT_F_RATE_SCHEDULE,
    TAKT_F_WARMUP_STEPS, TAKT_F_CLIP,       TAKT_F_CLIP_VALUE,    TAKT_F_EMA,  TAKT_F_FREEZE,
    TAKT_F_AUGMENT,      TAKT_F_NO_SHUFFLE, TAKT_F_SEED,          TAKT_F_QAT,  TAKT_F_KEEP,
    TAKT_F_NUMERICS,     TAKT_F_ON_NAN,     TAKT_F_CLASS_WEIGHTS, TAKT_F_IMAGE};

static void add(tool_buffer *b, const char *text)
{
    (void)tool_to_buffer(b, text, strlen(text));
}

/* "key value" in a line; 1e-2 and 0.01 are the same. */
static void add_line(tool_buffer *b, const char *key, const char *value)
{
    char *end, number[32];
    const double real = strtod(value, &end);
    add(b, "\n");
    add(b, key);
    add(b, " ");
    if (value[0] != '\0' && *end == '\0') {
        snprintf(number, sizeof number, "%.15g", real);
        value = number;
    }
    for (const char *at = value; *at != '\0'; at++)
        (void)tool_to_buffer(b, *at == '\n' ? " " : at, 1);
}

static void add_flags(const tool_training *g, tool_buffer *b)
{
    char name[64];
    const char *item;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const tool_flag_id id = flags[i];
        const char *value =
            id == TAKT_F_NO_SHUFFLE ? (tool_on(g->t, id) ? "yes" : NULL) : tool_text_of(g->t, id);
        snprintf(name, sizeof name, "--%s", tool_flags[id].name);
        if (value != NULL)
            add_line(b, name, value);
    }
    for (size_t i = 0; (item = tool_item_of(g->t, TAKT_F_GROUP, i)) != NULL; i++)
        add_line(b, "--group", item);
    if (tool_text_of(g->t, TAKT_F_RATE_SCHEDULE) != NULL) { /* its rates depend on the length */
        snprintf(name, sizeof name, "%llu", (unsigned long long)g->steps);
        add_line(b, "steps", name);
    }
}

takt_status tool_settings_init(tool_training *g)
{
    char digest[TAKT_DIGEST_TEXT];
    tool_buffer b = {0};
    if (tool_text_of(g->t, TAKT_F_CHECKPOINT) == NULL)
        return TAKT_OK;
    takt_status status = takt_data_digest(g->data, digest);
    if (status == TAKT_OK) {
        add_line(&b, "data", digest);
        status = tool_zoo_digest(g->t, g->model, digest);
    }
    if (status == TAKT_OK) {
        add_line(&b, "model", digest);
        add_flags(g, &b);
        (void)tool_to_buffer(&b, "", 1);
        status = b.at != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    }
    if (status == TAKT_OK)
        g->settings = b.at;
    else
        free(b.at);
    return status;
}

/* The line of `text` that begins as `like` does up to its space; or NULL. */
static const char *line_like(const char *text, const char *like)
{
    const size_t key = strcspn(like, " \n");
    for (const char *at = strchr(text, '\n'); at != NULL; at = strchr(at + 1, '\n'))
        if (strncmp(at + 1, like, key) == 0 && at[1 + key] == ' ')
            return at + 1;
    return NULL;
}

static bool has_line(const char *text, const char *line)
{
    const size_t length = strcspn(line, "\n");
    for (const char *at = strchr(text, '\n'); at != NULL; at = strchr(at + 1, '\n'))
        if (strcspn(at + 1, "\n") == length && strncmp(at + 1, line, length) == 0)
            return true;
    return false;
}

bool tool_settings_fit(const tool_training *g, const char *note, const char *key)
{
    const char *own = g->settings != NULL ? line_like(g->settings, key) : NULL;
    return own == NULL || line_like(note, key) == NULL || has_line(note, own);
}

/* Lines of `from` that `other` does not have, each after `word`. */
static int print_others(const char *from, const char *other, const char *word, int count)
{
    for (const char *at = strchr(from, '\n'); at != NULL; at = strchr(at + 1, '\n')) {
        if (has_line(other, at + 1))
            continue;
        fprintf(stderr, "%s%.*s %s", count > 0 ? ", " : "", (int)strcspn(at + 1, "\n"), at + 1,
                word);
        count++;
    }
    return count;
}

void tool_settings_compare(const tool_training *g, const char *note)
{
    bool is_other = false;
    if (g->settings == NULL || line_like(note, "data ") == NULL || tool_on(g->t, TAKT_F_QUIET))
        return; /* of a version that did not write them */
    for (const char *at = strchr(g->settings, '\n'); at != NULL; at = strchr(at + 1, '\n'))
        is_other = is_other || !has_line(note, at + 1);
    for (const char *at = strchr(note, '\n'); at != NULL; at = strchr(at + 1, '\n'))
        is_other = is_other || !has_line(g->settings, at + 1);
    if (!is_other)
        return;
    fprintf(stderr, "takt: the checkpoint was made with other settings: ");
    const int count = print_others(note, g->settings, "then", 0);
    (void)print_others(g->settings, note, "now", count);
    fprintf(stderr, "\n");
}
