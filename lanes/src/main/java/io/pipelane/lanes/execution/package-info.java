/** Running models on a device's memory: where allocations go, and sessions with bound weights. */
@NullMarked
package io.pipelane.lanes.execution;

import org.jspecify.annotations.NullMarked;
