/* SPDX-License-Identifier: Apache-2.0 */
// The move of a source that takes no lock, and its cancellation (SourceCore: moveLater, close, rearm, laterDeadline, prepare,
// finish, deliver, cancel, joinRunning), with the handlers on the engine's thread or on a queue. The source is never called before
// the deadline of the last move, and no move that was made is lost: a call follows, or the cancellation. When cancel() has
// returned, no call is prepared and no move is made; when cancelAndWait() has, no handler runs. The handlers are freed once no
// call is in flight, and the cancel handler is called last, once.
//
// What the lock guards only its holder sees: such steps are one here. A call that is prepared before its deadline is in commit.pml.
//
// WRONG_1: the engine reads the deadline and leaves the word open while it calls.
// WRONG_2: the engine does not arm what it was moved to.
// WRONG_3: a move stores the deadline, without an exchange.
// WRONG_4: cancel() leaves the word open.
// WRONG_5: cancel() frees the handlers though a call is in flight.
// WRONG_6: a call that was submitted to a queue does not look whether the source was cancelled.
#define CLOSED 9    // and no deadline
#define LAST 4

byte now = 1;
byte movable = 2;       // open: the deadline that holds
bool locked;

// Guarded by the lock.
byte deadline = 2;      // the record's
byte armed = 2;         // what the engine waits for
bool isCancelled, isInFlight, isRunning;
bool hasTimer = true, hasHandler = true, hasCancelHandler;
bool isJoined;          // a thread waits for the handler to return: until isOpen

bool isOpen;
bool onQueue, isSubmitted;
bool mustFinish;        // finishCancelling is to run where the handlers do

byte due = 2;           // the deadline of the last move that was made, until the call or the cancellation
byte cancelCalls;
bool hasReturned, hasWaited;

inline lock() { !locked -> locked = true }
inline unlock() { locked = false }

inline close() {
    if
    ::  movable == CLOSED
    ::  else ->
        if :: hasTimer -> deadline = movable :: else fi;
#ifndef WRONG_1
        movable = CLOSED
#endif
    fi
}

inline rearm() {
    if
    ::  hasTimer && !isCancelled && !isInFlight -> movable = deadline; armed = deadline
    ::  hasTimer && (isCancelled || isInFlight) -> armed = CLOSED
    ::  else
    fi
}

// Has the caller submit a call that is due.
inline rearmOrSubmit() {
    if
    ::  onQueue && !isCancelled && !isInFlight && deadline <= now -> isInFlight = true; submits = true
    ::  else
    fi;
    rearm()
}

inline submit() {
    if :: submits -> assert(!isSubmitted); isSubmitted = true; submits = false :: else fi
}

inline takeCall(tick) {
    if
    ::  deadline <= tick ->
        assert(!hasReturned && hasHandler && due <= tick);
        deadline = CLOSED; due = CLOSED;
        isInFlight = true; isRunning = true; calls = true
    ::  else
    fi
}

// At the handler's end.
inline call() {
    if :: calls -> assert(!hasWaited && hasHandler && cancelCalls == 0); calls = false :: else fi
}

inline release() { isRunning = false; opens = isJoined; isJoined = false }

inline endRunning() {
    release();
    if :: !isCancelled -> isInFlight = false :: else fi;
    ends = isCancelled
}

inline open() {
    if :: opens -> isOpen = true; opens = false :: else fi
}

inline letGo() { hasTimer = false; armed = CLOSED; hasHandler = false; hasCancelHandler = false }

inline finishCancelling() {
    atomic { lock(); close(); isRunning = true; calls = hasCancelHandler; letGo(); unlock() }
    if :: calls -> assert(!hasWaited || onQueue); cancelCalls++; calls = false :: else fi;
    atomic { lock(); release(); unlock() }
    open()
}

proctype Mover(byte wanted) {
    byte before;
    bool done, submits;
    before = movable;
    atomic {
        if
#ifdef WRONG_3
        ::  before <= wanted ->
#else
        ::  before <= wanted && movable == before ->
#endif
            assert(!hasReturned);
            movable = wanted; due = wanted; done = true
        ::  else
        fi
    }
    if
    ::  !done ->
        atomic { lock(); close() }
        atomic {
            if :: !isCancelled -> deadline = wanted; due = wanted :: else fi;
            rearmOrSubmit();
            unlock()
        }
        submit()
    ::  else
    fi;
    atomic { before = 0; done = false }
}

active proctype Engine() {
    byte tick, before;
    bool calls, submits, opens, ends;
end:
    do
    ::  atomic { armed <= now -> tick = now }
        atomic { lock(); before = deadline; if :: armed <= tick -> close() :: else fi }
        atomic {
            if
            ::  armed > tick
            // laterDeadline
            ::  armed <= tick && deadline > before ->
                movable = deadline;
#ifdef WRONG_2
                armed = CLOSED
#else
                armed = deadline
#endif
            // prepare
            ::  else ->
                armed = CLOSED;
                close();
                if
                ::  isCancelled || isInFlight
                ::  !isCancelled && !isInFlight && onQueue -> isInFlight = true; submits = true
                ::  !isCancelled && !isInFlight && !onQueue ->
                    takeCall(tick);
                    if :: !calls -> rearm() :: else fi
                fi
            fi;
            tick = 0; before = 0;
            unlock()
        }
        if
        ::  calls ->
            call();
            atomic { lock(); close() }
            atomic { endRunning(); rearm(); unlock() }
            open();
            if :: ends -> ends = false; finishCancelling() :: else fi
        ::  submits ->
            submit();
            atomic { lock(); close(); unlock() }
        ::  else
        fi
    ::  atomic { mustFinish && !onQueue -> mustFinish = false }
        finishCancelling()
    od
}

active proctype Queue() {
    bool calls, submits, opens, ends;
end:
    do
    ::  atomic { isSubmitted -> isSubmitted = false }
        // deliver
        atomic { lock(); close() }
        atomic {
#ifdef WRONG_6
            takeCall(now);
#else
            if :: !isCancelled -> takeCall(now) :: else fi;
#endif
            unlock()
        }
        call();
        atomic { lock(); close() }
        atomic { endRunning(); rearmOrSubmit(); unlock() }
        submit();
        open();
        if :: ends -> ends = false; finishCancelling() :: else fi
    ::  atomic { mustFinish && onQueue -> mustFinish = false }
        finishCancelling()
    od
}

proctype Canceller(bool cancels) {
    bool finishes, waits;
    // nextDeadline: it closes the word, and arms nothing.
    if :: atomic { lock(); close(); unlock() } :: skip fi;
    if :: cancels :: else -> goto out fi;
    atomic {
        lock();
#ifndef WRONG_4
        movable = CLOSED;
#endif
        isCancelled = true; due = CLOSED;
        if
#ifdef WRONG_5
        ::  !hasCancelHandler -> letGo()
#else
        ::  !hasCancelHandler && !isInFlight -> letGo()
#endif
        ::  else -> rearm(); finishes = !isInFlight
        fi;
        isInFlight = true;
        unlock()
    }
    if :: finishes -> mustFinish = true :: else fi;
    hasReturned = true;
    // cancelAndWait
    do
    ::  atomic {
            lock();
            waits = isRunning || hasCancelHandler && !onQueue;
            if :: waits -> isJoined = true; isOpen = false :: else fi;
            unlock()
        }
        if :: waits -> isOpen :: else -> break fi
    od;
    hasWaited = true;
out:
    skip
}

active proctype Clock() {
    do :: now < LAST -> now++ :: now == LAST -> break od
}

init {
    bool cancels, hadCancelHandler;
    atomic {
        if :: onQueue = true :: skip fi;
        if :: hadCancelHandler = true :: skip fi;
        hasCancelHandler = hadCancelHandler;
        run Mover(3);
        run Mover(4);
        if :: cancels = true :: skip fi;
        run Canceller(cancels)
    }
    timeout;
    assert(due == CLOSED && movable == CLOSED && armed == CLOSED);
    assert(cancelCalls == (cancels && hadCancelHandler -> 1 : 0));
    assert(!cancels || hasWaited && !hasTimer && !hasHandler)
}
