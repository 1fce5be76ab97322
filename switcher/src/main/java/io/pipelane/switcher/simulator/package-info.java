/** Switching without a device: traces replayed against plans by the policies that a server runs. */
@NullMarked
package io.pipelane.switcher.simulator;

import org.jspecify.annotations.NullMarked;
