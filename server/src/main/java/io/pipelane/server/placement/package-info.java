/** The placement of offline jobs on devices, and what that is decided by. */
@NullMarked
package io.pipelane.server.placement;

import org.jspecify.annotations.NullMarked;
