/** The inputs and outputs of a run on their way between the host and a GPU. */
@NullMarked
package io.pipelane.lanes.cuda.execution.tensor;

import org.jspecify.annotations.NullMarked;
