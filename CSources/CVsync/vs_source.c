#include "vs_source.h"

int vs_descriptor(const vs_source *source) {
    return source->fd;
}

int vs_request(vs_source *source, uint64_t refreshes) {
    return source->ops->request(source, refreshes > 0 ? refreshes : 1);
}

int vs_take(vs_source *source, vs_sample *out_sample) {
    return source->ops->take(source, out_sample);
}

void vs_told_rate(const vs_source *source, int64_t *out_numerator, int64_t *out_denominator) {
    *out_numerator = source->told_numerator;
    *out_denominator = source->told_denominator > 0 ? source->told_denominator : 1;
}

void vs_close(vs_source *source) {
    source->ops->close(source);
}
