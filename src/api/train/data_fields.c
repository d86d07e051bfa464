/* data_fields.c - what an open data set tells: samples, fields, classes, and where they are from.
 */
#include <string.h>

#include "api/train/data.h"

uint64_t takt_data_count(const takt_data *d)
{
    return d != NULL ? d->set.samples : 0;
}

uint64_t takt_data_reformed(const takt_data *d)
{
    return d != NULL ? d->set.reformed : 0;
}

size_t takt_data_field_count(const takt_data *d)
{
    return d != NULL ? d->fields : 0;
}

const takt_desc *takt_data_field(const takt_data *d, size_t index)
{
    if (d == NULL)
        return NULL;
    return index < d->fields ? &d->desc[index] : NULL;
}

int64_t takt_data_classes(const takt_data *d)
{
    return d != NULL ? d->set.classes : 0;
}

const char *takt_data_class_name(const takt_data *d, int64_t index)
{
    return d != NULL && index >= 0 && (uint64_t)index < d->set.names ? d->set.class_name[index]
                                                                     : NULL;
}

int64_t takt_data_rate(const takt_data *d)
{
    return d != NULL ? d->set.rate : 0;
}

uint64_t takt_shuffle(uint64_t count, uint64_t seed, uint64_t epoch, uint64_t position)
{
    return position < count ? takt_permute(position, count, seed, epoch) : position;
}

const char *takt_data_source(const takt_data *d, const char *field, uint64_t sample)
{
    if (d == NULL || field == NULL || sample >= d->set.samples)
        return NULL;
    if (d->set.sample_file != NULL)
        return d->set.sample_file[sample];
    for (size_t i = 0; i < d->set.count; i++)
        if (strcmp(d->set.field[i].name, field) == 0 && d->set.field[i].file != NULL)
            return d->set.field[i].file;
    return d->path;
}

bool takt_data_find(const takt_data *d, const char *name, takt_data_place *p)
{
    const bool is_window = d->set.window > 0;
    for (size_t i = 0; i < d->set.count; i++) {
        const takt_tensor *t = &d->set.field[i].tensor;
        if (strcmp(d->set.field[i].name, name) != 0)
            continue;
        const size_t size =
            is_window ? (size_t)d->set.window : takt_tensor_count(t) / (size_t)t->type.dim[0];
        *p = (takt_data_place){t, 0, size, size};
        return true;
    }
    if (!is_window || strcmp(name, "labels") != 0)
        return false;
    *p =
        (takt_data_place){&d->set.field[0].tensor, 1, (size_t)d->set.window, (size_t)d->set.window};
    return true;
}
