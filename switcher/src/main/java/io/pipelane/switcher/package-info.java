/** Models on one device: the memory daemon and its ledger, workers, and the scheduler. */
@NullMarked
package io.pipelane.switcher;

import org.jspecify.annotations.NullMarked;
