/* colour.c - which words have which colour. */
#include "colour.h"

#include <ctype.h>
#include <string.h>

#define RED "\033[1;31m"
#define GREEN "\033[1;32m"
#define YELLOW "\033[1;33m"
#define CYAN "\033[36m"

typedef struct shade {
    const char *word, *colour;
    bool is_first;   /* only where a line begins with it */
    bool has_number; /* the number before it has the same colour */
} shade;

static const shade shades[] = {
    {"error", RED, true, false},
    {"warning", YELLOW, true, false},
    {"hint", CYAN, true, false},
    {"proved", GREEN, true, false},
    {"violated", RED, true, false},
    {"unknown", YELLOW, true, false},
    {"% faster than", GREEN, false, true},
    {"% slower than", RED, false, true},
    {"times as fast as", GREEN, false, true},
    {"times as slow as", RED, false, true},
    {"the same as", CYAN, false, false},
    {"agrees", GREEN, true, false},
    {"differs", RED, true, false},
};

/* The beginning of the number before a word: "29 % faster than", "2.1 times as fast as". */
static size_t number_before(const char *text, size_t at)
{
    size_t from = at;
    while (from > 0 && strchr("0123456789. ", text[from - 1]) != NULL)
        from--;
    return from < at && text[from] == ' ' ? from + 1 : from;
}

const char *tool_colour_of(const char *text, size_t size, bool is_line, size_t *at, size_t *length)
{
    const char *colour = NULL;
    *at = size;
    for (size_t i = 0; i < sizeof shades / sizeof *shades; i++) {
        const shade *s = &shades[i];
        const size_t word = strlen(s->word);
        for (size_t k = 0; k + word <= size && k < *at && (k == 0 || !s->is_first); k++) {
            const bool goes_on = k + word < size && isalpha((unsigned char)text[k + word]);
            if ((s->is_first && !is_line) || goes_on || memcmp(text + k, s->word, word) != 0)
                continue;
            *at = s->has_number ? number_before(text, k) : k;
            *length = k + word - *at;
            colour = s->colour;
        }
    }
    return colour;
}
