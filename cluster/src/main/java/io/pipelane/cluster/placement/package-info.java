/** Which offline job goes to which device. */
@NullMarked
package io.pipelane.cluster.placement;

import org.jspecify.annotations.NullMarked;
