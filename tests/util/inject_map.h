/* inject_map.h - maps that fail on demand; a mapped file counts as open. A part of inject.c. */
#ifndef TAKT_TESTS_UTIL_INJECT_MAP_H
#define TAKT_TESTS_UTIL_INJECT_MAP_H

static int map_file(void *user, takt_file *file, size_t bytes, const void **data)
{
    takt_inject *inject = user;
    *data = NULL;
    const int error = strike_or_errno(inject);
    if (error != 0)
        return error;
    const int inner = inject->inner_files.map(inject->inner_files.user, file, bytes, data);
    pthread_mutex_lock(&inject->lock);
    inject->open_files += inner == 0; /* until it is unmapped */
    pthread_mutex_unlock(&inject->lock);
    return inner;
}

static void unmap_file(void *user, const void *data, size_t bytes)
{
    takt_inject *inject = user;
    inject->inner_files.unmap(inject->inner_files.user, data, bytes);
    pthread_mutex_lock(&inject->lock);
    inject->open_files--;
    pthread_mutex_unlock(&inject->lock);
}

#endif
