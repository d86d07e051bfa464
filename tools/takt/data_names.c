/* data_names.c - data sets by name: --data mnist.
 *
 * A name stands for the first of its places that exists: below $TAKT_DATA, below the user's folder
 * for data ($XDG_DATA_HOME/takt or ~/.local/share/takt), then where a package puts it. Places are
 * those of the archives in which the sets are distributed, and of torchvision. Nothing is
 * downloaded. A file or folder with such a name takes precedence.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "train.h"

enum { PLACES = 5 };

typedef struct known_set {
    const char *name, *about, *get;
    const char *places[PLACES]; /* absolute: unchanged; others: below the folders */
    const char *has;            /* a file that such a folder must have, or NULL */
} known_set;

static const known_set sets[] = {
    {"mnist",
     "handwritten digits, 28 x 28, 60,000 and 10,000",
     "put its four IDX files into",
     {"data/mnist", "mnist", "MNIST/raw", "/usr/share/datasets/mnist"},
     NULL},
    {"fashion-mnist",
     "pictures of clothes, 28 x 28, 60,000 and 10,000",
     "apt install dataset-fashion-mnist, or put its four IDX files into",
     {"data/fashion-mnist", "fashion-mnist", "FashionMNIST/raw",
      "/usr/share/datasets/fashion-mnist"},
     NULL},
    {"cifar10",
     "photos of ten kinds of things, 3 x 32 x 32, 50,000 and 10,000",
     "put data_batch_1.bin to 5 and test_batch.bin into",
     {"data/cifar10", "cifar10", "cifar-10-batches-bin"},
     "test_batch.bin"},
    {"digits",
     "handwritten digits, 8 x 8, 1,797 rows",
     "put scikit-learn's digits.csv.gz into",
     {"data/toy/digits.csv.gz", "digits.csv.gz", "digits/digits.csv.gz", "digits.csv"},
     NULL},
    {"iris",
     "flowers of three kinds by four lengths, 150 rows",
     "put iris.csv into",
     {"data/toy/iris.csv", "iris.csv", "iris/iris.csv"},
     NULL},
    {"shakespeare",
     "tiny shakespeare, 1.1 MB of text",
     "put tinyshakespeare.txt into",
     {"data/text/tinyshakespeare.txt", "tinyshakespeare.txt", "shakespeare/tinyshakespeare.txt",
      "shakespeare/input.txt"},
     NULL},
    {"names",
     "first names, one in a line",
     "put names.txt into",
     {"data/text/names.txt", "names.txt", "names/names.txt"},
     NULL},
};

enum { SETS = sizeof sets / sizeof *sets };

static bool is_there(const char *path)
{
    struct stat facts;
    return path[0] != '\0' && stat(path, &facts) == 0;
}

static bool is_set(const known_set *set, const char *path)
{
    char file[TOOL_DATA_PATH + 64];
    snprintf(file, sizeof file, "%s/%s", path, set->has != NULL ? set->has : "");
    return is_there(set->has != NULL ? file : path);
}

/* The folder number `index`, or "" if there is none. */
static void folder_at(int index, char *to, size_t size)
{
    const char *data = getenv("TAKT_DATA"), *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    to[0] = '\0';
    if (index == 0 && data != NULL)
        snprintf(to, size, "%s", data);
    else if (index == 1 && xdg != NULL && xdg[0] == '/')
        snprintf(to, size, "%s/takt", xdg);
    else if (index == 1 && home != NULL && home[0] == '/')
        snprintf(to, size, "%s/.local/share/takt", home);
}

static bool find(const known_set *set, char *to, size_t size)
{
    char folder[TOOL_DATA_PATH - 128];
    for (int at = 0; at < 2; at++) {
        folder_at(at, folder, sizeof folder);
        for (int i = 0; i < PLACES && folder[0] != '\0' && set->places[i] != NULL; i++) {
            snprintf(to, size, "%s/%s", folder, set->places[i]);
            if (set->places[i][0] != '/' && is_set(set, to))
                return true;
        }
    }
    for (int i = 0; i < PLACES && set->places[i] != NULL; i++) {
        snprintf(to, size, "%s", set->places[i]);
        if (set->places[i][0] == '/' && is_set(set, to))
            return true;
    }
    to[0] = '\0';
    return false;
}

/* How to get the data set. */
static void advise(const known_set *set, char *to, size_t size)
{
    char folder[TOOL_DATA_PATH];
    folder_at(1, folder, sizeof folder);
    snprintf(to, size, "%s %s/%s, or set TAKT_DATA to the folder that has %s", set->get,
             folder[0] != '\0' ? folder : "$XDG_DATA_HOME/takt", set->name, set->places[0]);
}

bool tool_data_find(const takt_tool *t, const char *name, char path[static TOOL_DATA_PATH])
{
    char hint[TOOL_DATA_PATH + 256];
    snprintf(path, TOOL_DATA_PATH, "%s", name);
    if (is_there(name) || strlen(name) >= TOOL_DATA_PATH)
        return true;
    for (size_t i = 0; i < SETS; i++)
        if (strcmp(sets[i].name, name) == 0) {
            if (find(&sets[i], path, TOOL_DATA_PATH))
                return true;
            advise(&sets[i], hint, sizeof hint);
            (void)tool_usage_error(t, 7005, hint, "the data set %s is not on this machine", name);
            return false;
        }
    const char *names[SETS];
    for (size_t i = 0; i < SETS; i++)
        names[i] = sets[i].name;
    const int near = strchr(name, '/') == NULL ? takt_nearest(name, names, SETS) : -1;
    if (near < 0)
        return true; /* opening it says what is wrong */
    snprintf(hint, sizeof hint, "did you mean %s? `takt data --list` has all names", names[near]);
    (void)tool_usage_error(t, 7005, hint, "there is no file and no data set called %s", name);
    return false;
}

static void print_set(const takt_tool *t, const known_set *set, bool is_first)
{
    char path[TOOL_DATA_PATH], hint[TOOL_DATA_PATH + 256];
    const bool is_here = find(set, path, sizeof path);
    advise(set, hint, sizeof hint);
    if (!tool_on(t, TAKT_F_JSON)) {
        printf("%-14s %s\n%-14s %s%s\n", set->name, set->about, "",
               is_here ? "" : "not here: ", is_here ? path : hint);
        return;
    }
    const char *const pairs[][2] = {
        {"name", set->name}, {"about", set->about}, {"path", path}, {"get", is_here ? "" : hint}};
    printf("%s{", is_first ? "" : ", ");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        printf("%s\"%s\": ", i > 0 ? ", " : "", pairs[i][0]);
        tool_print_string(stdout, pairs[i][1]);
    }
    printf("}");
}

int tool_data_list(const takt_tool *t)
{
    const bool is_json = tool_on(t, TAKT_F_JSON);
    printf("%s", is_json ? "[" : "");
    for (size_t i = 0; i < SETS; i++)
        print_set(t, &sets[i], i == 0);
    printf("%s", is_json ? "]\n" : "");
    return TAKT_EXIT_OK;
}
