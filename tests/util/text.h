/* text.h - a sink that keeps the text. */
#ifndef TAKT_TESTS_UTIL_TEXT_H
#define TAKT_TESTS_UTIL_TEXT_H

#include <string.h>

typedef struct text {
    char at[512]; /* terminated */
    size_t length;
} text;

static inline int add(void *user, const char *bytes, size_t count)
{
    text *t = user;
    if (count < sizeof t->at - t->length) {
        memcpy(t->at + t->length, bytes, count);
        t->length += count;
        t->at[t->length] = '\0';
    }
    return 0;
}

#endif
