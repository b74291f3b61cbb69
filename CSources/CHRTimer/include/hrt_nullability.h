// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_NULLABILITY_H
#define HRT_NULLABILITY_H

// Whether a pointer may be NULL, which Swift reads as an optional. Only clang knows the marks.
#ifndef __clang__
#define _Nonnull
#define _Nullable
#endif

#endif
