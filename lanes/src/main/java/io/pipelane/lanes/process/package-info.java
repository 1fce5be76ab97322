/** Sessions in worker processes: who runs them, and what happens when one of them dies. */
@NullMarked
package io.pipelane.lanes.process;

import org.jspecify.annotations.NullMarked;
