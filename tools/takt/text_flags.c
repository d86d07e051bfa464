/* text_flags.c - flags for text generation. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "text.h"

bool tool_real_of(const takt_tool *t, tool_flag_id id, double fallback, double *out)
{
    char *end;
    const char *text = tool_text_of(t, id);
    *out = text != NULL ? strtod(text, &end) : fallback;
    if (text == NULL || (end != text && *end == '\0' && isfinite(*out)))
        return true;
    (void)tool_usage_error(t, 1003, NULL, "--%s is a number, not %s", tool_flags[id].name, text);
    return false;
}

/* "15+1", "15-inf" */
static bool read_bias(const takt_tool *t, const char *text, takt_token_bias *to, size_t *count)
{
    char *end;
    const long id = strtol(text, &end, 10);
    const double bias = end != text && (*end == '+' || *end == '-') ? strtod(end, &end) : NAN;
    if (isnan(bias) || *end != '\0' || id < 0 || id > INT32_MAX || *count == TOOL_BIASES) {
        (void)tool_usage_error(t, 1003, "--logit-bias 15+1, or 15-inf for never",
                               "%s is not a bias of a token, or there are too many", text);
        return false;
    }
    to[(*count)++] = (takt_token_bias){(int32_t)id, (float)bias};
    return true;
}

/* A different one each time. */
static uint64_t some_seed(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return ((uint64_t)now.tv_sec * 1000003 + (uint64_t)now.tv_nsec) % 4294967295u;
}

/* Settings are checked where a token is chosen; here from a single one, before a model is read. */
static bool can_draw(const takt_tool *t, const takt_sampling *s)
{
    const float score = 0;
    int32_t id;
    return tool_finish(t, takt_token_draw(t->ctx, &score, 1, s, NULL, &id)) == TAKT_EXIT_OK;
}

bool tool_read_sampling(const takt_tool *t, takt_generate_options *o, tool_sampling_room *room)
{
    takt_sampling *s = &o->sampling;
    double last = 64;
    const char *bias;
    o->max_tokens = (size_t)tool_number_of(t, TAKT_F_TEXT_LENGTH, 128);
    o->stop = tool_text_of(t, TAKT_F_REVERSE_PROMPT);
    o->ignore_eos = tool_on(t, TAKT_F_IGNORE_EOS);
    o->show_control = tool_on(t, TAKT_F_SHOW_SPECIAL);
    s->bias = room->bias;
    s->top_k = (int64_t)tool_number_of(t, TAKT_F_TOP_K, 40);
    s->mirostat = (int)tool_number_of(t, TAKT_F_MIROSTAT, 0);
    for (size_t i = 0; (bias = tool_item_of(t, TAKT_F_LOGIT_BIAS, i)) != NULL; i++)
        if (!read_bias(t, bias, room->bias, &s->bias_count))
            return false;
    const bool good = tool_real_of(t, TAKT_F_TEMP, 0.8, &s->temperature) &&
                      tool_real_of(t, TAKT_F_TOP_P, 0.95, &s->top_p) &&
                      tool_real_of(t, TAKT_F_MIN_P, 0.05, &s->min_p) &&
                      tool_real_of(t, TAKT_F_TYPICAL, 1, &s->typical_p) &&
                      tool_real_of(t, TAKT_F_REPEAT_PENALTY, 1, &s->repeat_penalty) &&
                      tool_real_of(t, TAKT_F_PRESENCE_PENALTY, 0, &s->presence_penalty) &&
                      tool_real_of(t, TAKT_F_FREQUENCY_PENALTY, 0, &s->frequency_penalty) &&
                      tool_real_of(t, TAKT_F_MIROSTAT_LR, 0.1, &s->mirostat_eta) &&
                      tool_real_of(t, TAKT_F_MIROSTAT_ENT, 5, &s->mirostat_tau) &&
                      tool_real_of(t, TAKT_F_REPEAT_LAST_N, 64, &last);
    /* In the library 0 means the default; here, as in llama.cpp, it turns penalties off. */
    s->repeat_last_n = last < 0 || last > INT32_MAX ? -1 : (int64_t)last;
    if (last == 0) {
        s->repeat_penalty = 1;
        s->presence_penalty = s->frequency_penalty = 0;
    }
    s->seed = tool_number_of(t, TAKT_F_TEXT_SEED, some_seed());
    return good && tool_read_more_sampling(t, s, room) && can_draw(t, s);
}

/* With the tokenizer of the model, which is not open yet. */
static takt_status open_draft(const takt_tool *t, const char *path, takt_generator **draft)
{
    takt_generator_options how = tool_writer_options(t);
    takt_tokenizer *tokens;
    takt_status status = takt_tokenizer_load(t->ctx, tool_readable(tool_model_path(t)), &tokens);
    if (status != TAKT_OK)
        return status;
    how.draft_for = tokens;
    status = takt_generator_open(t->ctx, tool_readable(path), &how, draft);
    takt_tokenizer_destroy(tokens);
    return status;
}

int tool_open_draft(const takt_tool *t, takt_generate_options *o, takt_generator **draft)
{
    const char *path = tool_text_of(t, TAKT_F_MODEL_DRAFT);
    double least;
    o->lookup = tool_on(t, TAKT_F_LOOKUP);
    o->draft_max = (size_t)tool_number_of(t, TAKT_F_DRAFT, 0);
    if (!tool_real_of(t, TAKT_F_DRAFT_P_MIN, 0.75, &least))
        return TAKT_EXIT_USAGE;
    o->draft_p_min = least > 0 ? least : -1;
    if (path == NULL)
        return TAKT_EXIT_OK;
    const int code = tool_finish(t, open_draft(t, path, draft));
    o->draft = *draft;
    return code;
}
