/** How a server and its worker processes talk: rings, signals and messages in shared memory. */
@NullMarked
package io.pipelane.lanes.process.channel;

import org.jspecify.annotations.NullMarked;
