#ifndef HRT_HISTOGRAM_H
#define HRT_HISTOGRAM_H
#endif
