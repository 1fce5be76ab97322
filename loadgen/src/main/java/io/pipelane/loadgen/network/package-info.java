/**
 * The parts that all transports share: the thread and clock of a run, and whom a secured connection
 * trusts.
 */
@NullMarked
package io.pipelane.loadgen.network;

import org.jspecify.annotations.NullMarked;
