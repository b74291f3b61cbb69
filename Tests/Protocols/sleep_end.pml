/* SPDX-License-Identifier: Apache-2.0 */
// The end of a sleep (Sleeper): for the first of deadline, cancellation, and end of its engine the task is resumed, once, and
// its timer has gone by then, or goes before the task sleeps again.
//
// WRONG_1: who ends it before it begins resumes it too.
// WRONG_2: the task does not look whether it was cancelled while its timer was being armed.
#define IDLE 0
#define STARTING 1
#define SLEEPING 2
#define DEADLINE 3
#define CANCELLED 4

byte phase = IDLE;
byte resumptions;
bool armed;

inline exchange(from, to) {
    atomic { seen = phase; if :: phase == from -> phase = to; done = true :: else -> done = false fi }
}

inline end(outcome) {
    seen = phase;
    do
    ::  seen >= DEADLINE -> break
    ::  else ->
        expected = seen;
        exchange(expected, outcome);
        if
        ::  done ->
            if :: expected == SLEEPING && outcome != DEADLINE -> armed = false :: else fi;
#ifdef WRONG_1
            resumptions++;
#else
            if :: expected != IDLE -> resumptions++ :: else fi;
#endif
            break
        ::  else
        fi
    od
}

active proctype Task() {
    byte seen;
    bool done;
    exchange(IDLE, STARTING);
    if
    ::  !done -> resumptions++
    ::  else ->
        armed = true;
        exchange(STARTING, SLEEPING);
#ifndef WRONG_2
        if :: !done && seen != DEADLINE -> armed = false :: else fi
#endif
    fi;
}

active proctype Timer() {
    byte seen, expected;
    bool done, fires;
    // The deadline comes some time, or not while anybody looks.
    do
    ::  atomic { armed -> armed = false; fires = true } break
    ::  break
    od;
    if :: fires -> end(DEADLINE) :: else fi
}

active proctype Canceller() {
    byte seen, expected;
    bool done;
    if :: end(CANCELLED) :: skip fi
}

active proctype Judge() {
    timeout;
    assert(resumptions == (armed -> 0 : 1));
    assert(!armed || phase == SLEEPING)
}
