// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "crk_dbus.h"
#include "include/CRealtimeKit.h"

enum { PATIENCE_MS = 2000 };

typedef struct {
    hrt_realtime_service service;
    int bus;
    const char *title;
    const char *name;
    const char *path;
    const char *interface;
} service;

static const service services[] = {
    {HRT_REALTIMEKIT, CRK_SYSTEM_BUS, "RealtimeKit", "org.freedesktop.RealtimeKit1",
     "/org/freedesktop/RealtimeKit1", "org.freedesktop.RealtimeKit1"},
    {HRT_PORTAL, CRK_SESSION_BUS, "the portal", "org.freedesktop.portal.Desktop",
     "/org/freedesktop/portal/desktop", "org.freedesktop.portal.Realtime"},
};

// One conversation with one service.
typedef struct {
    const crk_dbus *dbus;
    DBusConnection *connection;
    const service *service;
    hrt_realtime_answer *answer;
} talk;

static void note(const talk *talk, const char *what) {
    size_t used = strlen(talk->answer->why);
    snprintf(talk->answer->why + used, sizeof talk->answer->why - used, "%s%s: %s",
             used == 0 ? "" : "; ", talk->service->title, what);
}

// Sends the message, frees it and returns the answer. Notes an error, and returns NULL for it.
static DBusMessage *ask(const talk *talk, DBusMessage *message) {
    crk_error error;
    talk->dbus->error_init(&error);
    DBusMessage *answer = talk->dbus->send(talk->connection, message, PATIENCE_MS, &error);
    if (answer == NULL) note(talk, error.message != NULL ? error.message : "no answer");
    talk->dbus->error_free(&error);
    talk->dbus->unref_message(message);
    return answer;
}

// Returns a property of the service, which is an int32 or an int64. If there is none, notes that
// and returns a negative value.
static int64_t property(const talk *talk, const char *property) {
    const service *to = talk->service;
    DBusMessage *message =
        talk->dbus->new_call(to->name, to->path, "org.freedesktop.DBus.Properties", "Get");
    if (message == NULL) return -1;
    talk->dbus->append(message, CRK_STRING, &to->interface, CRK_STRING, &property, CRK_INVALID);
    DBusMessage *answer = ask(talk, message);
    if (answer == NULL) return -1;
    crk_iterator outer, inner;
    int64_t value = -1;
    if (talk->dbus->iterate(answer, &outer) && talk->dbus->type(&outer) == CRK_VARIANT) {
        talk->dbus->recurse(&outer, &inner);
        int type = talk->dbus->type(&inner);
        int32_t narrow = -1;
        if (type == CRK_INT64) talk->dbus->get(&inner, &value);
        if (type == CRK_INT32) talk->dbus->get(&inner, &narrow);
        if (type == CRK_INT32) value = narrow;
    }
    talk->dbus->unref_message(answer);
    if (value < 0) note(talk, "it does not tell its limits");
    return value;
}

// Lowers the process's limit to what the service demands. Returns false if that is impossible.
static bool limit_time(const talk *talk, int64_t most_us) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_RTTIME, &limit) != 0) return false;
    rlim_t most = (rlim_t)most_us;
    if (limit.rlim_max > most) limit.rlim_max = most;
    if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_RTTIME, &limit) == 0) return true;
    note(talk, "RLIMIT_RTTIME cannot be lowered");
    return false;
}

static bool request(const talk *talk, uint32_t priority) {
    const service *to = talk->service;
    uint64_t process = (uint64_t)getpid(), thread = (uint64_t)gettid();
    bool is_portal = to->service == HRT_PORTAL;
    DBusMessage *message =
        talk->dbus->new_call(to->name, to->path, to->interface,
                             is_portal ? "MakeThreadRealtimeWithPID" : "MakeThreadRealtime");
    if (message == NULL) return false;
    if (is_portal) talk->dbus->append(message, CRK_UINT64, &process, CRK_INVALID);
    talk->dbus->append(message, CRK_UINT64, &thread, CRK_UINT32, &priority, CRK_INVALID);
    DBusMessage *answer = ask(talk, message);
    if (answer == NULL) return false;
    talk->dbus->unref_message(answer);
    return true;
}

static bool negotiate(const talk *talk, uint32_t priority) {
    int64_t most = property(talk, "MaxRealtimePriority");
    if (most < 1) return false;
    int64_t most_us = property(talk, "RTTimeUSecMax");
    if (most_us < 0 || !limit_time(talk, most_us)) return false;
    if (priority > most) priority = (uint32_t)most;
    if (!request(talk, priority)) return false;
    talk->answer->service = talk->service->service;
    talk->answer->priority = priority;
    return true;
}

static bool try_service(const crk_dbus *dbus, const service *service, uint32_t priority,
                        hrt_realtime_answer *answer) {
    talk talk = {.dbus = dbus, .service = service, .answer = answer};
    crk_error error;
    dbus->error_init(&error);
    // A private connection: other threads may use the program's shared one, or give it up.
    talk.connection = dbus->get_private(service->bus, &error);
    if (talk.connection == NULL) note(&talk, error.message != NULL ? error.message : "no bus");
    dbus->error_free(&error);
    if (talk.connection == NULL) return false;
    // By default, the end of the bus would end the process.
    dbus->set_exit_on_disconnect(talk.connection, 0);
    bool is_granted = negotiate(&talk, priority);
    dbus->close(talk.connection);
    dbus->unref(talk.connection);
    return is_granted;
}

int crk_make_thread_realtime(uint32_t priority, hrt_realtime_answer *out_answer) {
    *out_answer = (hrt_realtime_answer){.service = HRT_NO_SERVICE};
    const crk_dbus *dbus = crk_load_dbus();
    if (dbus == NULL) {
        snprintf(out_answer->why, sizeof out_answer->why, "there is no libdbus to ask RealtimeKit");
        return -EPERM;
    }
    // The program's SIGPIPE stays as it is; libdbus sends with MSG_NOSIGNAL.
    dbus->set_change_sigpipe(0);
    for (size_t index = 0; index < sizeof services / sizeof *services; index++)
        if (try_service(dbus, &services[index], priority, out_answer)) return 0;
    return -EPERM;
}
#endif
