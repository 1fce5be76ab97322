/** Events that a thread of this process completes, and ends of threads. */
@NullMarked
package io.pipelane.lanes.completion;

import org.jspecify.annotations.NullMarked;
