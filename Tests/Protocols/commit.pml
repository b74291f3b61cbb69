/* SPDX-License-Identifier: Apache-2.0 */
// A prepared callback (FireCommit, FiringCore, EngineCore.make, TimerLoop.sleep): the core's thread commits it by one exchange without
// the lock, others withdraw it by one with the lock. It is called once, or never and cancel() says so; a call that was withdrawn
// for an earlier timer's sake comes later; none begins after cancel() returned true; and where the handler runs the loop again,
// a thread that arms something earlier wakes it.
//
// WRONG_1: the thread looks whether it was withdrawn, and commits afterwards.
// WRONG_2: cancel() withdraws without looking whether it is committed.
// WRONG_3: what was withdrawn, and not cancelled, is not put back.
// WRONG_4: cancel() takes what somebody else has withdrawn for committed.
// WRONG_5: the thread parks in a nested run with the committed callback still counting as the prepared one.
mtype = { idle, waiting, committed, withdrawn };
mtype commit = idle;
bool locked, running, prepared, live = true, armed = true;
bool cancelled, isSaidPending, cancelReturned;
bool parked, woken, hasNews;
byte calls;

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }
inline exchange(from, to) {
    atomic { if :: commit == from -> commit = to; done = true :: else -> done = false fi }
}

active proctype Core() {
    bool done, made;
    do
    ::  lock();
        if
        ::  live && armed ->
            armed = false; running = true; prepared = true; commit = waiting; parked = true;
            unlock();
            // Up to here it spun, until the deadline or until it was woken.
#ifdef WRONG_1
            made = (commit == waiting);
            if :: made -> commit = committed :: else fi;
#else
            exchange(waiting, committed);
            made = done;
#endif
            if
            ::  made ->
                assert(!(cancelReturned && isSaidPending));
                calls++;
                // The handler may run the loop, until somebody has news for that.
                if
                ::  skip
                ::  lock();
#ifndef WRONG_5
                    prepared = false; commit = idle;
#endif
                    parked = !hasNews;
                    woken = false;
                    if :: parked -> unlock(); woken :: else -> unlock() fi
                fi
            ::  else
            fi;
            lock();
            parked = false;
            if :: prepared -> prepared = false; commit = idle :: else fi;
            running = false;
            if
            ::  made -> live = false
#ifdef WRONG_3
            ::  else
#else
            ::  else -> armed = live
#endif
            fi;
            unlock()
        ::  else -> unlock(); break
        fi
    od
}

active proctype Canceller() {
    bool done;
    if :: skip :: goto out fi;  // or nobody cancels
    lock();
    if
    ::  live ->
        done = false;
        if
        ::  prepared ->
#ifdef WRONG_2
            commit = withdrawn; done = true
#else
            exchange(waiting, withdrawn)
#endif
        ::  else
        fi;
#ifdef WRONG_4
        isSaidPending = !running || done;
#else
        isSaidPending = !running || (prepared && commit != committed);
#endif
        cancelled = true; live = false; armed = false
    ::  else
    fi;
    unlock();
    cancelReturned = true;
out: skip
}

// Somebody arms a timer for an earlier deadline: the thread has to look anew.
active proctype Earlier() {
    bool done;
    lock();
    hasNews = true;
    done = parked;
    parked = false;
    if :: done && prepared -> exchange(waiting, withdrawn) :: else fi;
    unlock();
    if :: done -> woken = true :: else fi
}

active proctype Judge() {
    timeout;
    assert(calls == (isSaidPending -> 0 : 1))
}
