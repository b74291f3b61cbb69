// SPDX-License-Identifier: Apache-2.0
#ifndef QUEUE_MODEL_H
#define QUEUE_MODEL_H

#include <stddef.h>
#include <stdint.h>

// A timer queue together with its model, a sorted array. Each step does one operation on both and
// compares their results. The first difference aborts with a sentence.
struct queue_model;

struct queue_model *queue_model_create(void);
void queue_model_destroy(struct queue_model *model);

// Does one operation, which the numbers alone determine: the same numbers give the same run. Every
// number is valid.
void queue_model_step(struct queue_model *model, uint8_t operation, uint64_t subject,
                      uint64_t value);

// Compares everything, and lets the queue check its invariants.
void queue_model_check(struct queue_model *model);

// Return the number of timers taken so far, and a hash of them in order.
uint64_t queue_model_fired(const struct queue_model *model);
uint64_t queue_model_hash(const struct queue_model *model);

#endif
