/** Tensors that stay on a device between the run that makes them and the one that reads them. */
@NullMarked
package io.pipelane.switcher.kept;

import org.jspecify.annotations.NullMarked;
