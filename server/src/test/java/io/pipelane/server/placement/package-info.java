@NullMarked
package io.pipelane.server.placement;

import org.jspecify.annotations.NullMarked;
