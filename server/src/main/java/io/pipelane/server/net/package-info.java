/** The parts that the front ends share below their protocols: sockets, buffers, threads. */
@NullMarked
package io.pipelane.server.net;

import org.jspecify.annotations.NullMarked;
