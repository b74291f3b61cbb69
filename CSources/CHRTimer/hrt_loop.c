#include "include/hrt_loop.h"
