/* texts.c - texts as word ids: a hash of the word below 512, 0 where there is none.
 *
 *   moods      lines of Shakespeare: whether more words of a list of good ones occur in it than of
 * a list of bad ones; the last fifth is the test part summary    six lines that follow one another:
 * which has the rarest words (mean tf-idf) intents    requests to a house made from patterns: which
 * of eight; every fifth pattern is only in the test part
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "zoo_data.h"

enum { WORDS = 12, LINES = 6, BUCKETS = 512, FINE = 1 << 16, INTENTS = 8, PATTERNS = 5 };

/* FNV-1a of a word in lower case; `*at` moves past it. 0: end of line. */
static uint32_t next_word(const char **at)
{
    uint32_t hash = 2166136261;
    const char *p = *at;
    while (*p != '\0' && *p != '\n' && !isalpha((unsigned char)*p))
        p++;
    const char *start = p;
    for (; isalpha((unsigned char)*p) || (*p == '\'' && p > start); p++)
        hash = (hash ^ (uint32_t)tolower((unsigned char)*p)) * 16777619;
    *at = p;
    hash ^= hash >> 15;
    return p == start ? 0 : hash | 1;
}

static float bucket(uint32_t hash)
{
    return (float)(1 + (hash >> 1) % (BUCKETS - 1));
}

static void put_words(const char *line, float *x)
{
    uint32_t hash;
    for (int i = 0; i < WORDS && (hash = next_word(&line)) != 0; i++)
        x[i] = bucket(hash);
}

static const char *next_line(const char *at)
{
    const char *end = strchr(at, '\n');
    return end != NULL ? end + 1 : at + strlen(at);
}

/* Lines of dialogue: not empty, and not the name of the speaker. */
static bool is_spoken(const char *line)
{
    const char *end = line + strcspn(line, "\n");
    return end - line > 12 && end[-1] != ':';
}

/* ---- moods ---- */

static bool is_in(const char *list, uint32_t word)
{
    while (*list != '\0') {
        const uint32_t next = next_word(&list);
        if (next == word)
            return true;
        if (next == 0)
            break;
    }
    return false;
}

static int mood_of(const char *line)
{
    static const char good[] = "good love sweet fair noble gentle joy happy dear blessed honour "
                               "grace true friend peace welcome kind worthy pleasure merry glad "
                               "beauty virtue hope brave precious rich gracious comfort heaven";
    static const char bad[] =
        "death dead die blood foul false traitor sorrow grief hate fear tears "
        "weep wretched villain curse kill war poor woe sad base vile shame "
        "enemy murder hell wrong sin evil";
    int mood = 0, count = 0;
    for (uint32_t word; count < WORDS && (word = next_word(&line)) != 0; count++)
        mood += is_in(good, word) - is_in(bad, word);
    return mood;
}

static bool make_moods(tool_zoo_job *job, const char *text, size_t length)
{
    const int64_t words[] = {WORDS, 0};
    tool_zoo_shape(job, words, true, NULL, true);
    for (const char *at = text; *at != '\0'; at = next_line(at)) {
        const int mood = is_spoken(at) ? mood_of(at) : 0;
        const bool is_test = (size_t)(at - text) > length / 5 * 4;
        float *x = mood != 0 ? tool_zoo_add(is_test ? job->test : job->train, mood > 0) : NULL;
        if (x != NULL)
            put_words(at, x);
        else if (mood != 0)
            return false;
    }
    return true;
}

/* ---- summary ---- */

/* Number of occurrences of a word, by a fine hash. */
static uint32_t *count_words(const char *text)
{
    uint32_t *counts = calloc(FINE, sizeof *counts);
    for (const char *at = text; counts != NULL && *at != '\0'; at = next_line(at)) {
        const char *p = at;
        for (uint32_t word; (word = next_word(&p)) != 0;)
            counts[word % FINE]++;
    }
    return counts;
}

/* The mean log-rarity of words, in whole bits. */
static double rarity(const char *line, const uint32_t *counts)
{
    double sum = 0, count = 0;
    for (uint32_t word; count < WORDS && (word = next_word(&line)) != 0; count++)
        for (uint32_t often = counts[word % FINE]; often < FINE / 2; often *= 2)
            sum++;
    return count > 0 ? sum / count : 0;
}

static bool make_summary(tool_zoo_job *job, const char *text, size_t length)
{
    const int64_t words[] = {LINES, WORDS, 0};
    uint32_t *counts = count_words(text);
    const char *at = text;
    bool is_good = counts != NULL;
    tool_zoo_shape(job, words, true, NULL, true);
    while (is_good && *at != '\0') {
        float *y,
            *x = tool_zoo_next((size_t)(at - text) > length / 5 * 4 ? job->test : job->train, &y);
        double most = -1;
        is_good = x != NULL;
        for (int i = 0; is_good && i < LINES && *at != '\0'; at = next_line(at)) {
            if (!is_spoken(at))
                continue;
            const double rare = rarity(at, counts);
            put_words(at, x + (size_t)i * WORDS);
            y[0] = rare > most ? (float)i : y[0];
            most = rare > most ? rare : most;
            i++;
        }
    }
    free(counts);
    return is_good;
}

/* ---- intents ---- */

/* A pattern's %r is a room, %t a time, %n a number, %p politeness or nothing. */
static const char *const patterns[INTENTS][PATTERNS] = {
    {"%p turn on the light in the %r", "switch the %r light on %p", "%p i need light in the %r",
     "make the %r bright %p", "please put the light on in the %r"},
    {"%p turn off the light in the %r", "switch the %r light off %p", "%p make it dark in the %r",
     "no light in the %r %p", "please put the %r light off"},
    {"%p set the heating in the %r to %n degrees", "make the %r warmer %p",
     "%p it is too cold in the %r", "heat the %r to %n degrees %p",
     "the %r should be %n degrees warm"},
    {"%p wake me at %t", "set an alarm for %t %p", "%p alarm at %t tomorrow",
     "i must get up at %t %p", "please set the alarm to wake me at %t"},
    {"%p set a timer for %n minutes", "count down %n minutes %p",
     "%p tell me when %n minutes are over", "timer %n minutes %p",
     "please start a timer of %n minutes"},
    {"%p play music in the %r", "i want to hear a song %p", "%p play some jazz",
     "music in the %r %p", "please let me hear music in the %r"},
    {"%p what is the weather at %t", "will it rain tomorrow %p", "%p is it sunny outside",
     "tell me the weather for %t %p", "how is the weather outside tomorrow"},
    {"%p lock the door of the %r", "close the %r door %p", "%p is the %r door locked",
     "make sure the %r door is shut %p", "please lock the %r door now"}};

static const char *fill(uint64_t *seed, char kind)
{
    static const char *const rooms[] = {"kitchen", "bedroom", "bathroom",
                                        "hall",    "garage",  "study"};
    static const char *const times[] = {"six",  "seven",       "eight",
                                        "noon", "nine thirty", "half past five"};
    static const char *const numbers[] = {"ten",      "twelve", "fifteen",
                                          "eighteen", "twenty", "twenty two"};
    static const char *const polite[] = {"", "please", "hey", "could you", "", "now"};
    const char *const *const list = kind == 'r'   ? rooms
                                    : kind == 't' ? times
                                    : kind == 'n' ? numbers
                                                  : polite;
    return list[tool_zoo_below(seed, 6)];
}

/* Some words are lost, as if misheard. */
static void put_request(uint64_t *seed, const char *pattern, float *x)
{
    char text[256], kept[256];
    size_t length = 0;
    for (const char *p = pattern; *p != '\0' && length < sizeof text - 32; p++) {
        if (*p == '%')
            length += (size_t)snprintf(text + length, 32, "%s", fill(seed, *++p));
        else
            text[length++] = *p;
    }
    text[length] = '\0';
    const char *at = text;
    for (length = 0; *at != '\0';) {
        const size_t word = strcspn(at, " ");
        if (tool_zoo_chance(seed) > 0.12) {
            memcpy(kept + length, at, word);
            length += word;
            kept[length++] = ' ';
        }
        at += word + (at[word] == ' ');
    }
    kept[length] = '\0';
    put_words(kept, x);
}

static bool make_intents(tool_zoo_job *job)
{
    const int64_t words[] = {WORDS, 0};
    uint64_t seed = 1;
    tool_zoo_shape(job, words, true, NULL, true);
    for (int i = 0; i < 4000; i++) {
        const int kind = i % INTENTS, pattern = tool_zoo_below(&seed, PATTERNS);
        float *x = tool_zoo_add(pattern == PATTERNS - 1 ? job->test : job->train, kind);
        if (x == NULL)
            return false;
        put_request(&seed, patterns[kind][pattern], x);
    }
    return true;
}

static bool make(tool_zoo_job *job)
{
    size_t length;
    if (strcmp(job->how, "intents") == 0)
        return make_intents(job);
    char *text = tool_zoo_read(job->from, "tinyshakespeare.txt", &length);
    const bool is_good =
        text != NULL && (job->how[0] == 'm' ? make_moods : make_summary)(job, text, length);
    free(text);
    return is_good;
}

const tool_zoo_source tool_zoo_source_texts = {
    .ways = {"moods", "summary", "intents"},
    .make = make,
};
