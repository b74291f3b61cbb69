// The libevent headers this project uses, and nothing else.
#include <event2/event.h>
