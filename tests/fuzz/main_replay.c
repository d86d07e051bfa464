/* main_replay.c - stands in for libFuzzer: feeds every file of the given folders to a target.
 *
 * So a corpus is replayed by every compiler and on every machine, whether or not it has libFuzzer.
 */
#include <dirent.h>
#include <stdio.h>

#include "fuzz/target.h"

/* False if the file cannot be read. The copy has exactly `size` bytes, so that a sanitizer sees a
 * read behind its end. */
static bool replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    uint8_t *data = size < 0 ? NULL : malloc(size > 0 ? (size_t)size : 1);
    const bool read = data != NULL && fread(data, 1, (size_t)size, file) == (size_t)size;
    fclose(file);
    if (read)
        LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return read;
}

static bool replay_folder(const char *folder, size_t *count)
{
    DIR *dir = opendir(folder);
    bool good = dir != NULL;
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        char path[4096];
        const int length = snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] == '.')
            continue;
        if (length < 0 || (size_t)length >= sizeof path || !replay(path)) {
            printf("cannot read %s/%s\n", folder, e->d_name);
            good = false;
        }
        ++*count;
    }
    if (dir == NULL)
        printf("cannot open folder %s\n", folder);
    else
        closedir(dir);
    return good;
}

int main(int argc, char **argv)
{
    size_t count = 0;
    bool good = true;
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++)
        good = replay_folder(argv[i], &count) && good;
    printf("replayed %zu inputs\n", count);
    return good ? 0 : 1;
}
