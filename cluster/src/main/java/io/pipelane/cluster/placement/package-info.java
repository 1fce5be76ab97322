/** The placement of offline jobs on devices. */
@NullMarked
package io.pipelane.cluster.placement;

import org.jspecify.annotations.NullMarked;
