// SPDX-License-Identifier: Apache-2.0
#ifndef CRK_DBUS_H
#define CRK_DBUS_H

#include <stdbool.h>
#include <stdint.h>

// The part of libdbus's interface that is used (dbus/dbus.h, version 1, whose ABI is fixed). It is
// loaded when it is needed, so a program need not link it.
typedef struct DBusConnection DBusConnection;
typedef struct DBusMessage DBusMessage;

typedef struct {
    const char *name;
    const char *message;
    unsigned flags;
    void *padding;
} crk_error;  // DBusError

// DBusMessageIter: 14 words at most on every machine (dbus-message.h).
typedef struct {
    void *words[16];
} crk_iterator;

enum { CRK_SESSION_BUS = 0, CRK_SYSTEM_BUS = 1 };
enum { CRK_INVALID = 0, CRK_UINT32 = 'u', CRK_UINT64 = 't', CRK_STRING = 's', CRK_VARIANT = 'v' };
enum { CRK_INT32 = 'i', CRK_INT64 = 'x' };

typedef struct {
    void (*error_init)(crk_error *);
    void (*error_free)(crk_error *);
    DBusConnection *(*get_private)(int, crk_error *);
    void (*set_exit_on_disconnect)(DBusConnection *, uint32_t);
    void (*set_change_sigpipe)(uint32_t);
    void (*close)(DBusConnection *);
    void (*unref)(DBusConnection *);
    DBusMessage *(*new_call)(const char *, const char *, const char *, const char *);
    uint32_t (*append)(DBusMessage *, int, ...);
    DBusMessage *(*send)(DBusConnection *, DBusMessage *, int, crk_error *);
    void (*unref_message)(DBusMessage *);
    uint32_t (*iterate)(DBusMessage *, crk_iterator *);
    int (*type)(crk_iterator *);
    void (*recurse)(crk_iterator *, crk_iterator *);
    void (*get)(crk_iterator *, void *);
} crk_dbus;

// Returns libdbus's functions, loaded once and never unloaded; NULL where there is no libdbus.
const crk_dbus *crk_load_dbus(void);

#endif
