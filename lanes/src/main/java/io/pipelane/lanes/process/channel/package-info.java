/**
 * The channel between a server and its worker processes: rings, signals and messages in shared
 * memory.
 */
@NullMarked
package io.pipelane.lanes.process.channel;

import org.jspecify.annotations.NullMarked;
