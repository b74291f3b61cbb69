// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "crk_dbus.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static crk_dbus dbus;
static bool is_loaded;
static pthread_once_t is_tried = PTHREAD_ONCE_INIT;

static void load(void) {
    void *library = dlopen("libdbus-1.so.3", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return;
    struct {
        const char *name;
        void *function;
    } all[] = {
        {"dbus_error_init", &dbus.error_init},
        {"dbus_error_free", &dbus.error_free},
        {"dbus_bus_get_private", &dbus.get_private},
        {"dbus_connection_set_exit_on_disconnect", &dbus.set_exit_on_disconnect},
        {"dbus_connection_set_change_sigpipe", &dbus.set_change_sigpipe},
        {"dbus_connection_close", &dbus.close},
        {"dbus_connection_unref", &dbus.unref},
        {"dbus_message_new_method_call", &dbus.new_call},
        {"dbus_message_append_args", &dbus.append},
        {"dbus_connection_send_with_reply_and_block", &dbus.send},
        {"dbus_message_unref", &dbus.unref_message},
        {"dbus_message_iter_init", &dbus.iterate},
        {"dbus_message_iter_get_arg_type", &dbus.type},
        {"dbus_message_iter_recurse", &dbus.recurse},
        {"dbus_message_iter_get_basic", &dbus.get},
    };
    for (size_t index = 0; index < sizeof all / sizeof *all; index++) {
        // POSIX lets dlsym return functions as object pointers (dlsym(3)).
        void *found = dlsym(library, all[index].name);
        if (found == NULL) return;
        *(void **)all[index].function = found;
    }
    is_loaded = true;
}

const crk_dbus *crk_load_dbus(void) {
    pthread_once(&is_tried, load);
    return is_loaded ? &dbus : NULL;
}
#endif
