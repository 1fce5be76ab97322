/** The recording of a run as captured segments, and of what their copies read from the host. */
@NullMarked
package io.pipelane.lanes.cuda.execution.recording;

import org.jspecify.annotations.NullMarked;
