/* letters.c - texts as bytes in lower case; 0 where there is none.
 *
 *   languages   three words of one of eight of Debian's word lists, 24 bytes; words of odd lines
 *               are the test part
 *   entities    sentences made from patterns, with real first names and places, 64 bytes: whether
 *               the word that ends here is a person, a place or neither; both parts have different
 *               names and places
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "zoo_data.h"

enum { SHORT = 24, LONG = 64, LANGUAGES = 8, SAMPLES = 6000 };

typedef struct list {
    char *text;
    const char **line;
    size_t count;
} list;

static bool list_open(const char *folder, const char *name, list *l)
{
    size_t length, room = 1;
    *l = (list){.text = tool_zoo_read(folder, name, &length)};
    if (l->text == NULL)
        return false;
    for (size_t i = 0; i < length; i++)
        room += l->text[i] == '\n';
    l->line = calloc(room, sizeof *l->line);
    char *rest;
    for (char *w = strtok_r(l->text, "\r\n", &rest);
         l->line != NULL && w != NULL && l->count < room; w = strtok_r(NULL, "\r\n", &rest))
        l->line[l->count++] = w;
    return l->count > 100;
}

static void list_close(list *l)
{
    free(l->text);
    free(l->line);
}

static void put(const char *text, size_t most, float *x)
{
    for (size_t i = 0; i < most && text[i] != '\0'; i++)
        x[i] = (float)tolower((unsigned char)text[i]);
}

/* ---- languages ---- */

static const char *draw(const list *l, uint64_t *seed, bool is_odd)
{
    const size_t pair = (size_t)(tool_zoo_chance(seed) * (double)(l->count / 2));
    return l->line[2 * pair + is_odd];
}

static bool add_language(tool_zoo_job *job, const list *l, int language)
{
    for (int i = 0; i < SAMPLES / LANGUAGES * 6 / 5; i++) {
        uint64_t seed = (uint64_t)(language * 100000 + i);
        const bool is_test = i >= SAMPLES / LANGUAGES;
        char text[1024] = "";
        size_t length = 0;
        for (int k = 0; k < 3; k++)
            length += (size_t)snprintf(text + length, 300, "%.250s ", draw(l, &seed, is_test));
        float *x = tool_zoo_add(is_test ? job->test : job->train, language);
        if (x == NULL)
            return false;
        put(text, SHORT, x);
    }
    return true;
}

static bool make_languages(tool_zoo_job *job)
{
    static const char *const names[LANGUAGES] = {"american-english", "ngerman", "french",
                                                 "spanish",          "italian", "dutch",
                                                 "portuguese",       "swedish"};
    const int64_t letters[] = {SHORT, 0};
    bool is_good = true;
    tool_zoo_shape(job, letters, true, NULL, true);
    for (int i = 0; i < LANGUAGES && is_good; i++) {
        list l;
        is_good = list_open(job->from, names[i], &l) && add_language(job, &l, i);
        list_close(&l);
    }
    return is_good;
}

/* ---- entities ---- */

/* %p is a person, %l a place. */
static const char *const patterns[] = {"%p lives in %l",
                                       "i met %p in %l yesterday",
                                       "the train to %l is late",
                                       "%p and %p went to %l",
                                       "call %p now",
                                       "what is the weather in %l",
                                       "%l is far from %l",
                                       "my friend %p likes music",
                                       "send this to %p please",
                                       "the book was about %l",
                                       "tell %p that we are home",
                                       "we flew from %l to %l",
                                       "%p bought bread",
                                       "she saw %p near the door",
                                       "rain is coming to %l",
                                       "nobody knows where %p is"};

static const char *const places[] = {
    "london",  "paris",  "berlin", "madrid",  "rome",   "vienna", "oslo",    "athens",
    "dublin",  "lisbon", "prague", "warsaw",  "moscow", "cairo",  "tokyo",   "delhi",
    "beijing", "sydney", "boston", "chicago", "denver", "dallas", "miami",   "lima",
    "quito",   "bogota", "havana", "nairobi", "lagos",  "accra",  "tunis",   "hamburg",
    "munich",  "geneva", "zurich", "milan",   "turin",  "naples", "seville", "porto"};

/* Writes a word and marks where it ends. */
static size_t put_word(char *text, size_t at, const char *word, int kind, float *y)
{
    const size_t length = strlen(word);
    if (at + length >= LONG)
        return LONG;
    memcpy(text + at, word, length);
    y[at + length - 1] = (float)kind;
    return at + length;
}

static void make_sentence(const list *names, uint64_t *seed, bool is_test, float *x, float *y)
{
    enum { PLACES = sizeof places / sizeof *places, PATTERNS = sizeof patterns / sizeof *patterns };
    char text[LONG + 1] = "", word[32];
    const char *p = patterns[tool_zoo_below(seed, PATTERNS)];
    for (int i = 0; i < LONG; i++)
        y[i] = -1;
    for (size_t at = 0; *p != '\0' && at < LONG; at++) {
        const size_t length = strcspn(p, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, p);
        const int place = tool_zoo_below(seed, PLACES / 2);
        if (strcmp(word, "%p") == 0)
            at = put_word(text, at, draw(names, seed, is_test), 1, y);
        else if (strcmp(word, "%l") == 0)
            at = put_word(text, at, places[2 * place + is_test], 2, y);
        else
            at = put_word(text, at, word, 0, y);
        p += length + (p[length] == ' ');
        if (at < LONG)
            text[at] = ' ';
    }
    put(text, LONG, x);
}

static bool make_entities(tool_zoo_job *job)
{
    const int64_t letters[] = {LONG, 0};
    uint64_t seed = 1;
    list names;
    bool is_good = list_open(job->from, "names.txt", &names);
    tool_zoo_shape(job, letters, true, letters, true);
    for (int i = 0; i < 3000 && is_good; i++) {
        const bool is_test = i >= 2400;
        float *y, *x = tool_zoo_next(is_test ? job->test : job->train, &y);
        is_good = x != NULL;
        if (is_good)
            make_sentence(&names, &seed, is_test, x, y);
    }
    list_close(&names);
    return is_good;
}

static bool make(tool_zoo_job *job)
{
    return job->how[0] == 'l' ? make_languages(job) : make_entities(job);
}

const tool_zoo_source tool_zoo_source_letters = {.ways = {"languages", "entities"}, .make = make};
