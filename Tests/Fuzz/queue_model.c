#include "queue_model.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hrt_clock.h"
#include "hrt_queue.h"

enum { TIMERS = 192, STALE = 32, BATCH = 16 };

struct timer {
    hrt_token token;
    bool is_live;
    bool is_armed;
    int64_t deadline_ns;
    int64_t latest_ns;
    uint64_t arming;
    bool is_precise;
};

struct queue_model {
    hrt_queue *queue;
    int64_t now_ns;
    struct timer timers[TIMERS];
    size_t live;
    uint16_t armed[TIMERS];  // by deadline, equal ones in order of arming
    size_t armed_count;
    hrt_token stale[STALE];
    uint64_t crowd_end;  // until this step nearly all deadlines lie in one bucket of the wheel
    int64_t crowd_ns;
    unsigned crowd_bits;
    uint64_t armings;
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
    if (model == NULL || hrt_queue_create(&model->queue) != 0) abort();
    return model;
}

void queue_model_destroy(struct queue_model *model) {
    hrt_queue_destroy(model->queue);
    free(model);
}

uint64_t queue_model_fired(const struct queue_model *model) { return model->fired; }
uint64_t queue_model_hash(const struct queue_model *model) { return model->hash; }

static int64_t clamped_sum(int64_t a, int64_t b) {
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return b < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

// What timers are set to: soon, later, much later, the same instant as another, long past, and the
// ends of the line.
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
            if (model->armed_count > 0)
                return model->timers[model->armed[amount % model->armed_count]].deadline_ns;
            return model->now_ns;
        case 14: return (int64_t)(value * UINT64_C(0x9E3779B97F4A7C15));
        default: return amount % 3 == 0 ? INT64_MAX : amount % 3 == 1 ? INT64_MIN : INT64_MAX - 1;
    }
}

static void model_disarm(struct queue_model *model, size_t subject) {
    if (!model->timers[subject].is_armed) return;
    size_t at = 0;
    while (model->armed[at] != subject) at++;
    model->armed_count--;
    memmove(&model->armed[at], &model->armed[at + 1],
            (model->armed_count - at) * sizeof model->armed[0]);
    model->timers[subject].is_armed = false;
}

static bool is_before(const struct timer *a, const struct timer *b) {
    return a->deadline_ns != b->deadline_ns ? a->deadline_ns < b->deadline_ns
                                            : a->arming < b->arming;
}

// What the timer was armed for last comes into the array again.
static void model_insert(struct queue_model *model, size_t subject) {
    size_t at = model->armed_count;
    while (at > 0 && is_before(&model->timers[subject], &model->timers[model->armed[at - 1]])) at--;
    memmove(&model->armed[at + 1], &model->armed[at],
            (model->armed_count - at) * sizeof model->armed[0]);
    model->armed[at] = (uint16_t)subject;
    model->armed_count++;
    model->timers[subject].is_armed = true;
}

static void model_arm(struct queue_model *model, size_t subject, int64_t deadline_ns,
                      int64_t tolerance_ns) {
    model_disarm(model, subject);
    struct timer *timer = &model->timers[subject];
    timer->deadline_ns = deadline_ns;
    timer->latest_ns = clamped_sum(deadline_ns, tolerance_ns < 0 ? 0 : tolerance_ns);
    timer->arming = ++model->armings;
    timer->is_precise = false;
    model_insert(model, subject);
}

static int64_t model_next_ns(const struct queue_model *model) {
    return model->armed_count == 0 ? HRT_NEVER : model->timers[model->armed[0]].deadline_ns;
}

static int64_t model_next_wake_ns(const struct queue_model *model) {
    int64_t earliest_ns = HRT_NEVER;
    for (size_t i = 0; i < model->armed_count; i++) {
        int64_t latest_ns = model->timers[model->armed[i]].latest_ns;
        if (latest_ns < earliest_ns) earliest_ns = latest_ns;
    }
    return earliest_ns;
}

static int64_t model_next_precise_ns(const struct queue_model *model) {
    for (size_t i = 0; i < model->armed_count; i++) {
        const struct timer *timer = &model->timers[model->armed[i]];
        if (timer->is_precise) return timer->deadline_ns;
    }
    return HRT_NEVER;
}

// Returns how many were taken.
static size_t take_once(struct queue_model *model, size_t capacity, hrt_due *batch,
                        size_t *subjects) {
    size_t taken = hrt_queue_take_due(model->queue, model->now_ns, batch, capacity);
    require(model, taken <= capacity, "a batch fits");
    for (size_t i = 0; i < taken; i++) {
        require(model, model->armed_count > 0, "what is given out was armed");
        struct timer *first = &model->timers[model->armed[0]];
        require(model, batch[i].deadline_ns <= model->now_ns, "no timer is early");
        require(model, batch[i].deadline_ns == first->deadline_ns,
                "timers come in order of deadline");
        require(model, memcmp(&batch[i].token, &first->token, sizeof(hrt_token)) == 0,
                "equal deadlines come in order of arming");
        require(model, batch[i].arming == first->arming, "what is given out tells its arming");
        subjects[i] = model->armed[0];
        model->hash = (model->hash ^ (uint64_t)batch[i].deadline_ns ^ batch[i].token.slot) *
                      UINT64_C(0x100000001B3);
        model->fired++;
        model_disarm(model, model->armed[0]);
    }
    return taken;
}

// Takes, and puts the last ones back; some of them twice, which changes nothing.
static void take_and_put_back(struct queue_model *model, size_t capacity, size_t kept) {
    hrt_due batch[BATCH];
    size_t subjects[BATCH];
    size_t taken = take_once(model, capacity, batch, subjects);
    while (taken > kept) {
        taken--;
        hrt_queue_put_back(model->queue, &batch[taken]);
        if (taken % 3 == 0) hrt_queue_put_back(model->queue, &batch[taken]);
        model_insert(model, subjects[taken]);
        model->fired--;
    }
    require(model, hrt_queue_last_arming(model->queue) == model->armings,
            "putting back is no arming");
}

static void take_all(struct queue_model *model, size_t capacity) {
    for (size_t calls = 0; hrt_queue_next_ns(model->queue) <= model->now_ns; calls++) {
        if (model->now_ns == INT64_MAX && model_next_ns(model) == INT64_MAX) break;
        require(model, calls < 100 * TIMERS, "taking comes to an end");
        hrt_due batch[BATCH];
        size_t subjects[BATCH];
        take_once(model, capacity, batch, subjects);
    }
    int64_t next_ns = model_next_ns(model);
    require(model, next_ns > model->now_ns || next_ns == HRT_NEVER, "all that is due is given out");
}

static void compare_bounds(struct queue_model *model) {
    int64_t next_ns = hrt_queue_next_ns(model->queue);
    require(model, next_ns <= model_next_ns(model), "next is no later than the first deadline");
    require(model, model->armed_count > 0 || next_ns == HRT_NEVER, "without timers, next is never");
    int64_t wake_ns = hrt_queue_next_wake_ns(model->queue);
    require(model, wake_ns <= model_next_wake_ns(model),
            "the next wake is no later than the first end of a window");
    require(model, wake_ns >= next_ns,
            "the next wake is no earlier than the first deadline may be");
    require(model, hrt_queue_next_precise_ns(model->queue) <= model_next_precise_ns(model),
            "the next precise deadline is no later than it is");
    require(model, hrt_queue_last_arming(model->queue) == model->armings,
            "the number of the last arming");
    require(model, hrt_queue_count(model->queue) == model->live, "the count of timers");
    require(model, hrt_queue_armed_count(model->queue) == model->armed_count,
            "the count of armed timers");
}

static void require_exact(const struct queue_model *model) {
    require(model, hrt_queue_next_ns(model->queue) == model_next_ns(model),
            "once settled, next is exact");
    require(model, hrt_queue_next_wake_ns(model->queue) == model_next_wake_ns(model),
            "and so is the next wake");
    require(model, hrt_queue_next_precise_ns(model->queue) == model_next_precise_ns(model),
            "and so is the next precise deadline");
}

static void settle(struct queue_model *model, uint64_t value) {
    if (value % 8 == 0) {
        hrt_queue_settle(model->queue);
        return;
    }
    if (value % 8 == 1) {
        require(model, hrt_queue_next_exact_ns(model->queue) == model_next_ns(model),
                "the exact deadline is exact");
    }
    for (size_t calls = 0; hrt_queue_settle(model->queue); calls++) {
        require(model, calls < 100 * TIMERS, "settling comes to an end");
    }
    require_exact(model);
}

// Sleeps until the next wake-up, as a thread would, and takes what is due then: something always
// is.
static void sleep_once(struct queue_model *model) {
    while (hrt_queue_settle(model->queue)) continue;
    require_exact(model);
    int64_t wake_ns = hrt_queue_next_wake_ns(model->queue);
    if (wake_ns == HRT_NEVER) return;
    if (wake_ns > model->now_ns) model->now_ns = wake_ns;
    uint64_t fired = model->fired;
    take_all(model, BATCH);
    require(model, model->fired > fired, "no wake-up is in vain");
}

// Sleep until next, and look: if nothing was due, the answer must have become better.
static void look_once(struct queue_model *model) {
    int64_t next_ns = hrt_queue_next_ns(model->queue);
    if (next_ns == HRT_NEVER || next_ns < model->now_ns) return;
    model->now_ns = next_ns;
    uint64_t fired = model->fired;
    take_all(model, BATCH);
    require(model, model->fired > fired || hrt_queue_next_ns(model->queue) > next_ns,
            "a look in vain is not repeated");
}

static void add(struct queue_model *model, size_t subject, uint64_t value, bool fused) {
    struct timer *timer = &model->timers[subject];
    int64_t deadline_ns = deadline_from(model, value);
    int64_t tolerance_ns = value % 3 == 0 ? (int64_t)(value >> 30) : 0;
    int status = fused ? hrt_queue_schedule(model->queue, deadline_ns, tolerance_ns, &timer->token)
                       : hrt_queue_add(model->queue, &timer->token);
    require(model, status == 0, "a timer can be added");
    timer->is_live = true;
    model->live++;
    if (fused) model_arm(model, subject, deadline_ns, tolerance_ns);
}

static void remove_timer(struct queue_model *model, size_t subject, bool as_owner) {
    struct timer *timer = &model->timers[subject];
    if (as_owner) {
        hrt_queue_remove_slot(model->queue, timer->token.slot);
    } else {
        require(model, hrt_queue_remove(model->queue, timer->token), "a live timer can be removed");
    }
    model_disarm(model, subject);
    model->stale[model->steps % STALE] = timer->token;
    timer->is_live = false;
    model->live--;
}

static void use_stale(struct queue_model *model, uint64_t value) {
    hrt_token token = model->stale[value % STALE];
    token.slot ^= value % 5 == 0 ? (uint32_t)(value >> 32) : 0;
    for (size_t i = 0; i < TIMERS; i++) {
        const struct timer *timer = &model->timers[i];
        if (timer->is_live && memcmp(&timer->token, &token, sizeof token) == 0) return;
    }
    require(model, !hrt_queue_is_live(model->queue, token), "a stale token is not live");
    require(model, !hrt_queue_arm(model->queue, token, model->now_ns, 0),
            "a stale token arms nothing");
    require(model, !hrt_queue_arm_precise(model->queue, token, model->now_ns), "nor precisely");
    hrt_queue_put_back(model->queue,
                       &(hrt_due){.deadline_ns = model->now_ns, .token = token, .arming = 1});
    require(model, hrt_queue_armed_count(model->queue) == model->armed_count,
            "a stale token is not put back");
    require(model, !hrt_queue_disarm(model->queue, token), "a stale token disarms nothing");
    require(model, !hrt_queue_remove(model->queue, token), "a stale token removes nothing");
    require(model, hrt_queue_deadline_ns(model->queue, token) == HRT_NEVER,
            "a stale token has no deadline");
}

static void arm(struct queue_model *model, size_t subject, uint64_t value, int64_t tolerance_ns) {
    int64_t deadline_ns = deadline_from(model, value);
    hrt_token token = model->timers[subject].token;
    require(model, hrt_queue_arm(model->queue, token, deadline_ns, tolerance_ns),
            "a live timer can be armed");
    model_arm(model, subject, deadline_ns, tolerance_ns);
    require(model, hrt_queue_deadline_ns(model->queue, token) == deadline_ns,
            "the deadline is the one armed for");
}

static void arm_precise(struct queue_model *model, size_t subject, uint64_t value) {
    int64_t deadline_ns = deadline_from(model, value);
    hrt_token token = model->timers[subject].token;
    if (value >> 8 & 1) {
        hrt_queue_arm_slot_precise(model->queue, token.slot, deadline_ns);
    } else {
        require(model, hrt_queue_arm_precise(model->queue, token, deadline_ns),
                "a live timer can be armed precisely");
    }
    model_arm(model, subject, deadline_ns, 0);
    model->timers[subject].is_precise = true;
}

// As the owner, with tolerance in one case of three.
static void arm_slot(struct queue_model *model, size_t subject, uint64_t value) {
    int64_t deadline_ns = deadline_from(model, value);
    uint32_t slot = model->timers[subject].token.slot;
    int64_t tolerance_ns = value % 3 == 0 ? (int64_t)(value >> 36) - 5 : 0;
    if (value % 3 == 0) {
        hrt_queue_arm_slot_tolerant(model->queue, slot, deadline_ns, tolerance_ns);
    } else {
        hrt_queue_arm_slot(model->queue, slot, deadline_ns);
    }
    model_arm(model, subject, deadline_ns, tolerance_ns);
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
    if (capacity == 0)
        take_and_put_back(model, amount % BATCH, amount / BATCH % BATCH);
    else
        take_all(model, capacity);
}

// In the next steps timers crowd in one bucket of a level, a few buckets ahead.
static void begin_crowd(struct queue_model *model, uint64_t value) {
    model->crowd_bits = 16 + value % 4 * 10;
    int64_t ahead_ns = (int64_t)(1 + value / 4 % 8) << model->crowd_bits;
    model->crowd_ns =
        clamped_sum(model->now_ns, ahead_ns) & ~((INT64_C(1) << model->crowd_bits) - 1);
    model->crowd_end = model->steps + 200 + value / 32 % 512;
}

static void on_timer(struct queue_model *model, uint8_t operation, size_t subject, uint64_t value) {
    struct timer *timer = &model->timers[subject];
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
                arm_slot(model, subject, value);
            break;
        case 5: {
            bool was_armed = value % 2 == 0
                                 ? hrt_queue_disarm(model->queue, timer->token)
                                 : hrt_queue_disarm_slot(model->queue, timer->token.slot);
            require(model, was_armed == timer->is_armed,
                    "disarming tells whether the timer was armed");
            model_disarm(model, subject);
            break;
        }
        case 6: remove_timer(model, subject, value % 2 == 0); break;
        default: {
            remove_timer(model, subject, false);
            add(model, subject, value, true);
            break;
        }
    }
}

void queue_model_step(struct queue_model *model, uint8_t operation, uint64_t subject,
                      uint64_t value) {
    model->steps++;
    // The number of timers in play goes up and down with the subjects' range.
    size_t range = operation & 0x80 ? TIMERS : 8;
    switch (operation % 16) {
        case 0:
        case 1: move_time(model, value, 1 + subject % BATCH); break;
        case 2: move_time(model, value, 0); break;
        case 3:
            if (value & 1)
                compare_bounds(model);
            else
                settle(model, value >> 1);
            break;
        case 4: use_stale(model, value); break;
        case 5:
            if (value % 4096 == 0) {
                hrt_queue_clear(model->queue);
                while (model->armed_count > 0) model_disarm(model, model->armed[0]);
            } else if (value % 16 == 0) {
                hrt_queue_trim(model->queue);
            } else if (value % 64 == 1) {
                begin_crowd(model, value >> 8);
            }
            break;
        default:
            on_timer(model, (uint8_t)(operation / 16 + operation), subject % range, value);
            break;
    }
}

void queue_model_check(struct queue_model *model) {
    compare_bounds(model);
    hrt_queue_check(model->queue);
    uint32_t cursor = 0;
    size_t seen = 0;
    hrt_due timer;
    while (hrt_queue_next_armed(model->queue, &cursor, &timer)) {
        require(model, hrt_queue_is_armed(model->queue, timer.token),
                "iterating visits armed timers");
        require(model, hrt_queue_deadline_ns(model->queue, timer.token) == timer.deadline_ns,
                "and tells their deadline");
        seen++;
    }
    require(model, seen == model->armed_count, "iterating visits each armed timer once");
}
