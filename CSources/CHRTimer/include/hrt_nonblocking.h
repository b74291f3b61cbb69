// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_NONBLOCKING_H
#define HRT_NONBLOCKING_H

// Marks a function of the fire path: it neither allocates nor blocks. clang checks this at compile
// time (-Wfunction-effects), RealtimeSanitizer at run time (-fsanitize=realtime). Other compilers
// ignore the mark.
#if defined(__clang__) && defined(__has_attribute)
#if __has_attribute(nonblocking)
#define HRT_NONBLOCKING __attribute__((nonblocking))
#endif
#endif
#ifndef HRT_NONBLOCKING
#define HRT_NONBLOCKING
#endif

#endif
