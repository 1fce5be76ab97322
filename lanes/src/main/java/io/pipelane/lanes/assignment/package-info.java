/** Which lane a job runs in: lane assignment after Salus, free of any device. */
@NullMarked
package io.pipelane.lanes.assignment;

import org.jspecify.annotations.NullMarked;
