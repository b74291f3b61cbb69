// SPDX-License-Identifier: Apache-2.0
#include "queue_model.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctest_queue.h"
#include "hrt_clock.h"
#include "hrt_queue.h"
#include "queue_sorted.h"

enum { STALE = 32, BATCH = 16 };

struct queue_model {
    hrt_queue *queue;
    int64_t now_ns;
    struct sorted sorted;
    hrt_token stale[STALE];
    uint64_t crowd_end;  // until this step nearly all new deadlines lie in one bucket of the wheel
    int64_t crowd_ns;
    unsigned crowd_bits;
    uint64_t steps;
    uint64_t fired;
    uint64_t hash;
};

static void require(const struct queue_model *model, bool holds, const char *sentence) {
    if (holds) return;
    fprintf(stderr, "step %" PRIu64 ", now %" PRId64 " ns: not so: %s\n", model->steps,
            model->now_ns, sentence);
    abort();
}

struct queue_model *queue_model_create(void) {
    struct queue_model *model = calloc(1, sizeof *model);
    if (model == NULL || hrt_queue_create(sizeof(hrt_token), &model->queue) != 0) abort();
    return model;
}

void queue_model_destroy(struct queue_model *model) {
    hrt_queue_destroy(model->queue);
    free(model);
}

uint64_t queue_model_fired(const struct queue_model *model) { return model->fired; }
uint64_t queue_model_hash(const struct queue_model *model) { return model->hash; }

static int64_t deadline_of_armed(const struct sorted *sorted, uint64_t number) {
    return sorted->timers[sorted->armed[number % sorted->armed_count]].deadline_ns;
}

// Returns a deadline: soon, later, much later, equal to that of another timer, past, or at an end
// of time.
static int64_t deadline_from(const struct queue_model *model, uint64_t value) {
    uint64_t amount = value >> 8;
    if (model->steps < model->crowd_end && value % 16 < 15) {
        return clamped_sum(model->crowd_ns, (int64_t)(amount % (UINT64_C(1) << model->crowd_bits)));
    }
    switch (value % 16) {
    case 0: return clamped_sum(model->now_ns, (int64_t)(amount % 100));
    case 1: return clamped_sum(model->now_ns, (int64_t)(amount % 70000));
    case 2: return clamped_sum(model->now_ns, (int64_t)(amount % 1000000));
    case 3: return clamped_sum(model->now_ns, (int64_t)(amount % 70000000));
    case 4:
    case 5: return clamped_sum(model->now_ns, (int64_t)(amount % 1000000000));
    case 6: return clamped_sum(model->now_ns, (int64_t)(amount % 3000000000));
    case 7:
    case 8: return clamped_sum(model->now_ns, (int64_t)(amount % 60000000000));
    case 9: return clamped_sum(model->now_ns, (int64_t)(amount % 100000000000000));
    case 10: return clamped_sum(model->now_ns, (int64_t)(amount << 7 >> 1));
    case 11: return clamped_sum(model->now_ns, -(int64_t)(amount % 100000000));
    case 12:
    case 13:
        return model->sorted.armed_count > 0 ? deadline_of_armed(&model->sorted, amount)
                                             : model->now_ns;
    case 14: return (int64_t)(value * UINT64_C(0x9E3779B97F4A7C15));
    default: return amount % 3 == 0 ? INT64_MAX : amount % 3 == 1 ? INT64_MIN : INT64_MAX - 1;
    }
}

// Takes one batch and compares it. Returns how many timers were taken.
static size_t take_once(struct queue_model *model, size_t capacity, hrt_due *batch,
                        size_t *subjects) {
    size_t taken = hrt_queue_take_due(model->queue, model->now_ns, batch, capacity);
    require(model, taken <= capacity, "a batch fits");
    for (size_t i = 0; i < taken; i++) {
        require(model, model->sorted.armed_count > 0, "what is given out was armed");
        struct timer *first = &model->sorted.timers[model->sorted.armed[0]];
        require(model, batch[i].deadline_ns <= model->now_ns, "no timer is early");
        require(model, batch[i].deadline_ns == first->deadline_ns,
                "timers come in order of deadline");
        require(model, memcmp(&batch[i].token, &first->token, sizeof(hrt_token)) == 0,
                "equal deadlines come in order of arming");
        require(model, batch[i].sequence == first->sequence, "what is given out tells its arming");
        subjects[i] = model->sorted.armed[0];
        model->hash = (model->hash ^ (uint64_t)batch[i].deadline_ns ^ batch[i].token.slot) *
                      UINT64_C(0x100000001B3);
        model->fired++;
        sorted_disarm(&model->sorted, model->sorted.armed[0]);
    }
    return taken;
}

static void take_some(struct queue_model *model, size_t capacity) {
    hrt_due batch[BATCH];
    size_t subjects[BATCH];
    take_once(model, capacity, batch, subjects);
}

static void take_all(struct queue_model *model, size_t capacity) {
    for (size_t calls = 0; hrt_queue_next_ns(model->queue) <= model->now_ns; calls++) {
        if (model->now_ns == INT64_MAX && sorted_next_ns(&model->sorted) == INT64_MAX) break;
        require(model, calls < 100 * TIMERS, "taking comes to an end");
        hrt_due batch[BATCH];
        size_t subjects[BATCH];
        take_once(model, capacity, batch, subjects);
    }
    int64_t next_ns = sorted_next_ns(&model->sorted);
    require(model, next_ns > model->now_ns || next_ns == HRT_NEVER, "all that is due is given out");
}

static void compare_bounds(struct queue_model *model) {
    const struct sorted *sorted = &model->sorted;
    int64_t next_ns = hrt_queue_next_ns(model->queue);
    require(model, next_ns <= sorted_next_ns(sorted), "next is no later than the first deadline");
    require(model, sorted->armed_count > 0 || next_ns == HRT_NEVER,
            "without timers, next is never");
    int64_t wake_ns = hrt_queue_next_wake_ns(model->queue);
    require(model, wake_ns <= sorted_next_wake_ns(sorted),
            "the next wake is no later than the first end of a window");
    require(model, wake_ns >= next_ns,
            "the next wake is no earlier than the first deadline may be");
    require(model, hrt_queue_next_precise_ns(model->queue) <= sorted_next_precise_ns(sorted),
            "the next precise deadline is no later than it is");
    require(model, hrt_queue_last_sequence(model->queue) == model->sorted.sequences,
            "the number of the last arming");
    require(model, hrt_queue_count(model->queue) == sorted->live, "the count of timers");
}

static void require_exact(const struct queue_model *model) {
    const struct sorted *sorted = &model->sorted;
    require(model, hrt_queue_next_ns(model->queue) == sorted_next_ns(sorted),
            "once normalized, next is exact");
    require(model, hrt_queue_next_wake_ns(model->queue) == sorted_next_wake_ns(sorted),
            "and so is the next wake");
    require(model, hrt_queue_next_precise_ns(model->queue) == sorted_next_precise_ns(sorted),
            "and so is the next precise deadline");
}

static void normalize(struct queue_model *model, uint64_t value) {
    if (value % 8 == 0) {
        hrt_queue_normalize(model->queue);
        return;
    }
    for (size_t calls = 0; hrt_queue_normalize(model->queue); calls++) {
        require(model, calls < 100 * TIMERS, "normalizing comes to an end");
    }
    require_exact(model);
}

// Sleeps until the next wake-up, as a thread would, and takes the timers due then: there is always
// one.
static void sleep_once(struct queue_model *model) {
    while (hrt_queue_normalize(model->queue)) continue;
    require_exact(model);
    int64_t wake_ns = hrt_queue_next_wake_ns(model->queue);
    if (wake_ns == HRT_NEVER) return;
    if (wake_ns > model->now_ns) model->now_ns = wake_ns;
    uint64_t fired = model->fired;
    take_all(model, BATCH);
    require(model, model->fired > fired, "no wake-up is in vain");
}

// Sleeps until hrt_queue_next_ns and takes what is due. If that is nothing, the bound must rise.
static void look_once(struct queue_model *model) {
    int64_t next_ns = hrt_queue_next_ns(model->queue);
    if (next_ns == HRT_NEVER || next_ns < model->now_ns) return;
    model->now_ns = next_ns;
    uint64_t fired = model->fired;
    take_all(model, BATCH);
    require(model, model->fired > fired || hrt_queue_next_ns(model->queue) > next_ns,
            "a look in vain is not repeated");
}

// Returns the record that the queue keeps for the timer: the model puts the timer's token in it.
static hrt_token *record_of(const struct queue_model *model, const struct timer *timer) {
    return hrt_queue_record(model->queue, timer->token.slot);
}

static void add(struct queue_model *model, size_t subject, uint64_t value, bool is_armed) {
    struct timer *timer = &model->sorted.timers[subject];
    int64_t deadline_ns = deadline_from(model, value);
    int64_t tolerance_ns = value % 3 == 0 ? (int64_t)(value >> 30) : 0;
    require(model, hrt_queue_add(model->queue, &timer->token) == 0, "a timer can be added");
    *record_of(model, timer) = timer->token;
    timer->is_live = true;
    model->sorted.live++;
    if (!is_armed) return;
    hrt_queue_arm(model->queue, timer->token.slot, deadline_ns,
                  (hrt_arm_options){.tolerance_ns = tolerance_ns});
    sorted_arm(&model->sorted, subject, deadline_ns, tolerance_ns);
}

static void remove_timer(struct queue_model *model, size_t subject) {
    struct timer *timer = &model->sorted.timers[subject];
    require(model, memcmp(record_of(model, timer), &timer->token, sizeof(hrt_token)) == 0,
            "a record stays as it was written");
    require(model, hrt_queue_remove(model->queue, timer->token), "a live timer can be removed");
    sorted_disarm(&model->sorted, subject);
    model->stale[model->steps % STALE] = timer->token;
    timer->is_live = false;
    model->sorted.live--;
}

static void use_stale(struct queue_model *model, uint64_t value) {
    hrt_token token = model->stale[value % STALE];
    token.slot ^= value % 5 == 0 ? (uint32_t)(value >> 32) : 0;
    for (size_t i = 0; i < TIMERS; i++) {
        const struct timer *timer = &model->sorted.timers[i];
        if (timer->is_live && memcmp(&timer->token, &token, sizeof token) == 0) return;
    }
    require(model, !hrt_queue_is_live(model->queue, token), "a stale token is not live");
    require(model, !hrt_queue_is_armed(model->queue, token), "a stale token is not armed");
    require(model, !hrt_queue_remove(model->queue, token), "a stale token removes nothing");
    require(model, ctest_queue_deadline_ns(model->queue, token) == HRT_NEVER,
            "a stale token has no deadline");
}

// The tolerance may be negative.
static void arm(struct queue_model *model, size_t subject, uint64_t value, int64_t tolerance_ns) {
    int64_t deadline_ns = deadline_from(model, value);
    hrt_token token = model->sorted.timers[subject].token;
    require(model, hrt_queue_is_live(model->queue, token), "a live timer can be armed");
    hrt_queue_arm(model->queue, token.slot, deadline_ns,
                  (hrt_arm_options){.tolerance_ns = tolerance_ns});
    sorted_arm(&model->sorted, subject, deadline_ns, tolerance_ns);
    require(model, ctest_queue_deadline_ns(model->queue, token) == deadline_ns,
            "the deadline is the one armed for");
}

static void arm_precise(struct queue_model *model, size_t subject, uint64_t value) {
    int64_t deadline_ns = deadline_from(model, value);
    struct timer *timer = &model->sorted.timers[subject];
    hrt_queue_arm(model->queue, timer->token.slot, deadline_ns,
                  (hrt_arm_options){.is_precise = true});
    sorted_arm(&model->sorted, subject, deadline_ns, 0);
    timer->is_precise = true;
}

static void move_time(struct queue_model *model, uint64_t value, size_t capacity) {
    uint64_t amount = value >> 8;
    switch (value % 32) {
    case 0: model->now_ns = clamped_sum(model->now_ns, -(int64_t)(amount % 100000)); break;
    case 1: model->now_ns = clamped_sum(model->now_ns, -(int64_t)(amount % 10000000000)); break;
    case 2:
        if (amount % 64 == 0) model->now_ns = (int64_t)(value * UINT64_C(0x9E3779B97F4A7C15));
        break;
    case 3: model->now_ns = clamped_sum(model->now_ns, (int64_t)(amount % 100000000000)); break;
    case 4:
    case 5:
    case 6:
    case 7: model->now_ns = clamped_sum(model->now_ns, (int64_t)(amount % 100000000)); break;
    case 8:
    case 9: look_once(model); return;
    case 10:
    case 11:
    case 12: sleep_once(model); return;
    default: model->now_ns = clamped_sum(model->now_ns, (int64_t)(amount % 1000000)); break;
    }
    // Due timers may wait while other timers are armed, moved and removed.
    if (capacity == 0)
        take_some(model, amount % BATCH);
    else
        take_all(model, capacity);
}

// In the next steps nearly all timers are armed for one bucket of a level, a few buckets ahead.
static void begin_crowd(struct queue_model *model, uint64_t value) {
    model->crowd_bits = 16 + value % 4 * 10;
    int64_t ahead_ns = (int64_t)(1 + value / 4 % 8) << model->crowd_bits;
    model->crowd_ns =
        clamped_sum(model->now_ns, ahead_ns) & ~((INT64_C(1) << model->crowd_bits) - 1);
    model->crowd_end = model->steps + 200 + value / 32 % 512;
}

static void disarm_all(struct queue_model *model) {
    while (model->sorted.armed_count > 0) {
        size_t subject = model->sorted.armed[0];
        require(model, hrt_queue_disarm(model->queue, model->sorted.timers[subject].token.slot),
                "an armed timer can be disarmed");
        sorted_disarm(&model->sorted, subject);
    }
}

static void on_timer(struct queue_model *model, uint8_t operation, size_t subject, uint64_t value) {
    struct timer *timer = &model->sorted.timers[subject];
    if (!timer->is_live) {
        add(model, subject, value, operation % 2 == 0);
        return;
    }
    switch (operation % 8) {
    case 0:
    case 1: arm(model, subject, value, 0); break;
    case 2: arm(model, subject, value, (int64_t)(value >> 20)); break;
    case 3: arm(model, subject, value, (int64_t)(value >> 40)); break;
    case 4:
        if (value >> 20 & 1)
            arm_precise(model, subject, value);
        else
            arm(model, subject, value, value % 3 == 0 ? (int64_t)(value >> 36) - 5 : 0);
        break;
    case 5: {
        bool was_armed = hrt_queue_disarm(model->queue, timer->token.slot);
        require(model, was_armed == timer->is_armed, "disarming tells whether the timer was armed");
        sorted_disarm(&model->sorted, subject);
        break;
    }
    case 6: remove_timer(model, subject); break;
    default: {
        remove_timer(model, subject);
        add(model, subject, value, true);
        break;
    }
    }
}

void queue_model_step(struct queue_model *model, uint8_t operation, uint64_t subject,
                      uint64_t value) {
    model->steps++;
    // The number of timers in use goes up and down with the range of the subjects.
    size_t range = operation & 0x80 ? TIMERS : 8;
    switch (operation % 16) {
    case 0:
    case 1: move_time(model, value, 1 + subject % BATCH); break;
    case 2: move_time(model, value, 0); break;
    case 3:
        if (value & 1)
            compare_bounds(model);
        else
            normalize(model, value >> 1);
        break;
    case 4: use_stale(model, value); break;
    case 5:
        if (value % 4096 == 0) {
            disarm_all(model);
        } else if (value % 16 == 0) {
            hrt_queue_trim(model->queue);
        } else if (value % 64 == 1) {
            begin_crowd(model, value >> 8);
        }
        break;
    default: on_timer(model, (uint8_t)(operation / 16 + operation), subject % range, value); break;
    }
}

// ctest_queue_check verifies the queue's count of armed timers.
static void require_same_armed(const struct queue_model *model) {
    for (size_t subject = 0; subject < TIMERS; subject++) {
        const struct timer *timer = &model->sorted.timers[subject];
        if (!timer->is_live) continue;
        require(model, hrt_queue_is_armed(model->queue, timer->token) == timer->is_armed,
                "what is armed is armed, and nothing else");
        require(model,
                ctest_queue_deadline_ns(model->queue, timer->token) ==
                    (timer->is_armed ? timer->deadline_ns : HRT_NEVER),
                "an armed timer tells its deadline, another one none");
    }
}

void queue_model_check(struct queue_model *model) {
    compare_bounds(model);
    require_same_armed(model);
    ctest_queue_check(model->queue);
}
