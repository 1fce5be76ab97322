/** How fast offline work would be beside online work. */
@NullMarked
package io.pipelane.cluster.speed;

import org.jspecify.annotations.NullMarked;
