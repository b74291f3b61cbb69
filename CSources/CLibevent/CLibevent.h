// SPDX-License-Identifier: Apache-2.0
// The libevent headers this project uses, and nothing else.
// This one is included first, because event2/event-config.h defines _GNU_SOURCE, which changes
// fd_set: a Swift file that imports this module and Dispatch would have two of them.
#include <sys/select.h>

#include <event2/event.h>
