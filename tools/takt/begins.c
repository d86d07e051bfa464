/* begins.c - guesses a file's format from its first bytes, before gigabytes of it are stored. */
#include <stdint.h>
#include <string.h>

#include "tool.h"

static bool starts(const char *bytes, size_t length, const char *with)
{
    const size_t n = strlen(with);
    return length >= n && memcmp(bytes, with, n) == 0;
}

/* Letters in any encoding; JSON and the model language are text. */
static bool is_text(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)bytes[i];
        if ((c < 0x20 && c != '\n' && c != '\t' && c != '\r' && c != '\f') || c == 0x7f)
            return false;
    }
    return true;
}

/* The length of the header, then the header, which is an object. */
static bool is_safetensors(const char *bytes, size_t length)
{
    uint64_t header = 0;
    for (size_t i = 0; i < 8 && i < length; i++)
        header |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
    return length < 9 || (bytes[8] == '{' && header >= 2 && header <= 100000000);
}

static bool varint(const char *bytes, size_t length, size_t *at, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; *at < length && shift < 64; shift += 7) {
        const unsigned char c = (unsigned char)bytes[(*at)++];
        *value |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80)
            return true;
    }
    return false;
}

/* Fields of a message that are complete: small numbers, known kinds. */
static bool is_protobuf(const char *bytes, size_t length)
{
    enum { FIELDS = 16, LARGEST = 100 };
    size_t at = 0;
    for (int i = 0; i < FIELDS && at < length; i++) {
        uint64_t tag, value;
        if (!varint(bytes, length, &at, &tag))
            return at == length;
        if (tag >> 3 == 0 || tag >> 3 > LARGEST)
            return false;
        const size_t fixed = (tag & 7) == 1 ? 8 : (tag & 7) == 5 ? 4 : 0;
        if (fixed == 0 && (tag & 7) != 0 && (tag & 7) != 2)
            return false;
        if (fixed == 0 && !varint(bytes, length, &at, &value))
            return at == length;
        const uint64_t skipped = fixed != 0 ? fixed : (tag & 7) == 2 ? value : 0;
        if (skipped > length - at)
            return true;
        at += (size_t)skipped;
    }
    return true;
}

bool tool_may_be_read(const char *bytes, size_t length)
{
    return starts(bytes, length, "\x93NUMPY") || starts(bytes, length, "PK") ||
           starts(bytes, length, "\x89TAKTP") || starts(bytes, length, "GGUF") ||
           (length >= 8 && memcmp(bytes + 4, "TFL3", 4) == 0) || is_text(bytes, length) ||
           is_safetensors(bytes, length) || is_protobuf(bytes, length);
}
