/**
 * A GPU as a worker process has it: pages of the server's, mapped for reading, and its own lanes.
 */
@NullMarked
package io.pipelane.lanes.cuda.worker;

import org.jspecify.annotations.NullMarked;
