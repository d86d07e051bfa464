/* divergence_base.c - probabilities of a text in a file, in the format of llama.cpp's
 * --kl-divergence-base, so that each program reads the other's files. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "divergence.h"

static const char magic[8] = {'_', 'l', 'o', 'g', 'i', 't', 's', '_'};

enum { HEAD = 20, STEPS = 65535 };
/* Smaller probabilities are kept as this much less than the most probable token's. */
static const float reach = 16;

/* 16-bit words in a row: two floats, then an even number of tokens. */
static size_t row_words(const tool_base *b)
{
    return 4 + 2 * (((size_t)b->vocabulary + 1) / 2);
}

static uint64_t file_bytes(const tool_base *b)
{
    const uint64_t tokens = (uint64_t)b->pieces * (uint64_t)b->context;
    const uint64_t rows = (uint64_t)b->pieces * (uint64_t)(b->context - 1 - b->context / 2);
    return HEAD + 4 * tokens + 2 * rows * row_words(b);
}

bool tool_is_base(const char *path)
{
    char begin[sizeof magic];
    FILE *f = fopen(path, "rb");
    const bool is = f != NULL && fread(begin, 1, sizeof begin, f) == sizeof begin &&
                    memcmp(begin, magic, sizeof begin) == 0;
    if (f != NULL)
        fclose(f);
    return is;
}

static bool make_room(tool_base *b)
{
    b->tokens = calloc((size_t)b->pieces * (size_t)b->context + 1, sizeof *b->tokens);
    b->row = calloc(row_words(b), sizeof *b->row);
    return b->tokens != NULL && b->row != NULL;
}

/* Numbers that a file can have, whose product its length confirms. */
static bool read_head(tool_base *b)
{
    char begin[sizeof magic];
    int32_t head[3];
    if (fread(begin, 1, sizeof begin, b->file) != sizeof begin ||
        memcmp(begin, magic, sizeof begin) != 0 || fread(head, sizeof *head, 3, b->file) != 3)
        return false;
    b->context = head[0];
    b->vocabulary = head[1];
    b->pieces = head[2];
    if (b->context < 3 || b->context > 1 << 24 || b->vocabulary < 1 || b->vocabulary > 1 << 24 ||
        b->pieces < 1 || b->pieces > 1 << 24 || fseek(b->file, 0, SEEK_END) != 0)
        return false;
    const long length = ftell(b->file);
    return length >= 0 && (uint64_t)length == file_bytes(b) && fseek(b->file, HEAD, SEEK_SET) == 0;
}

int tool_base_open(const takt_tool *t, const char *path, tool_base *b)
{
    *b = (tool_base){.file = fopen(path, "rb")};
    if (b->file == NULL)
        return tool_usage_error(t, 3001, NULL, "cannot open %s: %s", path, strerror(errno));
    if (!read_head(b))
        return tool_usage_error(t, 3002, "it is as long as its header says, or it is damaged",
                                "%s is not a complete file of --kl-divergence-base", path);
    if (!make_room(b))
        return tool_usage_error(t, 9003, NULL, "out of memory for %s", path);
    const size_t count = (size_t)b->pieces * (size_t)b->context;
    if (fread(b->tokens, sizeof *b->tokens, count, b->file) != count)
        return tool_usage_error(t, 3002, NULL, "cannot read %s", path);
    for (size_t i = 0; i < count; i++)
        if (b->tokens[i] < 0 || b->tokens[i] >= b->vocabulary)
            return tool_usage_error(t, 3002, NULL, "%s: token %zu is %d, of %d", path, i,
                                    b->tokens[i], b->vocabulary);
    return TAKT_EXIT_OK;
}

int tool_base_create(const takt_tool *t, const char *path, const tool_base *like,
                     const int32_t *tokens, tool_base *b)
{
    const int32_t head[3] = {like->context, like->vocabulary, like->pieces};
    const size_t count = (size_t)like->pieces * (size_t)like->context;
    *b = (tool_base){.context = like->context,
                     .vocabulary = like->vocabulary,
                     .pieces = like->pieces,
                     .file = fopen(path, "wb")};
    if (b->file == NULL)
        return tool_usage_error(t, 3003, NULL, "cannot write %s: %s", path, strerror(errno));
    if (!make_room(b))
        return tool_usage_error(t, 9003, NULL, "out of memory for %s", path);
    if (fwrite(magic, 1, sizeof magic, b->file) != sizeof magic ||
        fwrite(head, sizeof *head, 3, b->file) != 3 ||
        fwrite(tokens, sizeof *tokens, count, b->file) != count)
        return tool_usage_error(t, 3003, NULL, "cannot write %s", path);
    return TAKT_EXIT_OK;
}

bool tool_base_read(tool_base *b, float *logs)
{
    float scale[2];
    const size_t words = row_words(b);
    if (fread(b->row, sizeof *b->row, words, b->file) != words)
        return false;
    memcpy(scale, b->row, sizeof scale);
    for (int32_t i = 0; i < b->vocabulary; i++)
        logs[i] = scale[0] * (float)b->row[4 + i] + scale[1];
    return isfinite(scale[0]) && isfinite(scale[1]) && scale[0] >= 0;
}

bool tool_base_write(tool_base *b, const float *logs)
{
    float most = logs[0], least = logs[0];
    const size_t words = row_words(b);
    for (int32_t i = 1; i < b->vocabulary; i++) {
        most = logs[i] > most ? logs[i] : most;
        least = logs[i] < least ? logs[i] : least;
    }
    least = least > most - reach ? least : most - reach;
    const float scale[2] = {(most - least) / STEPS, least};
    memset(b->row, 0, words * sizeof *b->row);
    memcpy(b->row, scale, sizeof scale);
    for (int32_t i = 0; i < b->vocabulary && scale[0] > 0; i++)
        if (logs[i] > least)
            b->row[4 + i] = (uint16_t)lrintf((logs[i] - least) / scale[0]);
    return fwrite(b->row, sizeof *b->row, words, b->file) == words;
}

bool tool_base_close(tool_base *b)
{
    const bool good = b->file == NULL || fclose(b->file) == 0;
    free(b->tokens);
    free(b->row);
    *b = (tool_base){0};
    return good;
}
