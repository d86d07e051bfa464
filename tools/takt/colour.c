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
    bool is_first; /* only where a line begins with it */
} shade;

static const shade shades[] = {
    {"error", RED, true},
    {"warning", YELLOW, true},
    {"hint", CYAN, true},
    {"proved", GREEN, true},
    {"violated", RED, true},
    {"unknown", YELLOW, true},
    {"% faster than", GREEN, false},
    {"% slower than", RED, false},
    {"the same as", CYAN, false},
    {"agrees", GREEN, true},
    {"differs", RED, true},
};

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
            *at = k;
            *length = word;
            colour = s->colour;
        }
    }
    return colour;
}
