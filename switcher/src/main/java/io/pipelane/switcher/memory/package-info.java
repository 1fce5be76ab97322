/** The memory daemon: which weights are on the device, what leaves for them, and the ledger. */
@NullMarked
package io.pipelane.switcher.memory;

import org.jspecify.annotations.NullMarked;
