#ifndef HRT_LOOP_H
#define HRT_LOOP_H
#endif
