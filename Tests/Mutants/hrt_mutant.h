// SPDX-License-Identifier: Apache-2.0
// Which mutant a process runs. `make mutants` copies this header and its source into CHRTimer.
#ifndef HRT_MUTANT_H
#define HRT_MUTANT_H

#include <stdbool.h>

/// The largest number that a mutant can have, and one more.
enum { HRT_MUTANT_NUMBERS = 1 << 16 };

/// Whether this process runs that mutant: HRTIMER_MUTANT has its number. If
/// HRTIMER_MUTANTS_REACHED has the path of a file of HRT_MUTANT_NUMBERS bytes, it also notes there
/// that the mutant was asked for. Any thread.
bool hrt_mutant(int number);

#endif
