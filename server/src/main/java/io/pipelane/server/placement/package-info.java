/** Which device each offline job runs on, and what that is decided by. */
@NullMarked
package io.pipelane.server.placement;

import org.jspecify.annotations.NullMarked;
