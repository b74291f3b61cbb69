/* SPDX-License-Identifier: Apache-2.0 */
// The deadline of an operation (DeadlineScope): the thread that finds that it has come cancels the operation's task, once; and
// nobody touches that task when the operation has ended. Two find it at a time: the timer, and the end of its engine.
//
// WRONG_1: the operation does not wait for who is cancelling it.
// WRONG_2: who has cancelled it does not look whether it waits.
// WRONG_3: an operation that begins does not look whether the deadline has come.
#define CREATED 0
#define EXPIRED_BEFORE 1
#define RUNNING 2
#define CANCELLING 3
#define AWAITED 4
#define CANCELLED 5
#define ENDED 6

byte phase = CREATED;
byte cancels;
bool lives = true, found, isWaiting, isResumed;

inline exchange(from, to) {
    atomic { if :: phase == from -> phase = to; done = true :: else -> done = false fi }
}

active proctype Operation() {
    bool done;
#ifdef WRONG_3
    phase = RUNNING;
#else
    exchange(CREATED, RUNNING);
    if
    ::  done
    ::  else -> cancels++; phase = CANCELLED
    fi;
#endif
    do
    ::  exchange(RUNNING, ENDED);
        if :: done -> break :: else fi;
        exchange(CANCELLED, ENDED);
        if :: done -> break :: else fi;
#ifdef WRONG_1
        exchange(CANCELLING, ENDED);
        if :: done -> break :: else fi;
#endif
        isWaiting = true;
        exchange(CANCELLING, AWAITED);
        if :: done -> isResumed; isResumed = false :: else fi
    od;
    lives = false
}

active [2] proctype Deadline() {
    bool done;
    if :: true :: true -> goto out fi;
    exchange(CREATED, EXPIRED_BEFORE);
    if :: done -> found = true; goto out :: else fi;
    exchange(RUNNING, CANCELLING);
    if :: done -> found = true :: else -> goto out fi;
    assert(lives);
    cancels++;
    assert(lives);
#ifdef WRONG_2
    phase = CANCELLED;
#else
    exchange(CANCELLING, CANCELLED);
    if
    ::  done
    ::  else ->
        assert(phase == AWAITED && isWaiting);
        phase = CANCELLED;
        isResumed = true
    fi;
#endif
out:
    skip
}

active proctype Judge() {
    timeout;
    assert(!lives && phase == ENDED);
    assert(cancels == (found -> 1 : 0))
}
