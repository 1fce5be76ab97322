/** Sessions on the CPU, and the memory that they have in a worker process. */
@NullMarked
package io.pipelane.lanes.cpu.execution;

import org.jspecify.annotations.NullMarked;
