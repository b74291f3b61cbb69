// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Whether programs can load that library, as the library itself loads its optional ones: dlopen(3).
package func hasLibrary(_ name: String) -> Bool { dlopen(name, RTLD_LAZY) != nil }

/// Whether refreshes can be had from X servers: CSources/CVsync/x11/vs_xcb.c.
package let hasXCB = hasLibrary("libxcb-present.so.0") && hasLibrary("libxcb.so.1")
