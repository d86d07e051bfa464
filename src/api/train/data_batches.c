/* data_batches.c - CIFAR-10's training part: five files that are read as one. */
#include <string.h>

#include "api/train/data.h"
#include "base/mem.h"
#include "base/size.h"
#include "io/file.h"

enum { BATCHES = 5 };

typedef struct piece {
    void *bytes;
    size_t length;
} piece;

/* Records follow one another, so the bytes of all files together are a file of that kind. */
static takt_status read_joined(takt_data_set *set, const char *path, const piece *pieces)
{
    size_t length = 0, at = 0;
    void *all;
    for (int i = 0; i < BATCHES; i++)
        if (!takt_size_add(length, pieces[i].length, &length))
            return takt_fail(set->ctx, TAKT_E_TRAIN_DATA, "%s: the files are too large", path);
    TAKT_TRY(takt_mem_get(set->ctx, length > 0 ? length : 1, "training files", &all));
    for (int i = 0; i < BATCHES; i++) {
        memcpy((uint8_t *)all + at, pieces[i].bytes, pieces[i].length);
        at += pieces[i].length;
    }
    const takt_data_file file = {.path = path, .bytes = all, .length = length};
    takt_status status;
    if (takt_data_cifar.recognises(&file)) {
        set->format = takt_data_cifar.name;
        status = takt_data_cifar.read(set, &file);
    } else {
        status = takt_data_fail(set, &file, "the five files are not pictures of CIFAR-10");
    }
    takt_mem_put(set->ctx, all, length > 0 ? length : 1);
    return status;
}

takt_status takt_data_read_batches(takt_data_set *set, const char *folder, bool *found)
{
    piece pieces[BATCHES] = {0};
    const char *path = NULL;
    takt_status status = TAKT_OK;
    *found = true;
    for (int i = 0; i < BATCHES && status == TAKT_OK && *found; i++) {
        path = takt_arena_format(&set->arena, "%s/data_batch_%d.bin", folder, i + 1);
        status = path != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
        *found = path != NULL && takt_data_exists(set->ctx, path);
        if (*found)
            status = takt_read_file(set->ctx, path, &pieces[i].bytes, &pieces[i].length);
    }
    if (status == TAKT_OK && *found)
        status = read_joined(set, path, pieces);
    for (int i = 0; i < BATCHES; i++)
        if (pieces[i].bytes != NULL)
            takt_mem_put(set->ctx, pieces[i].bytes, pieces[i].length);
    return status;
}
