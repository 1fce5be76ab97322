/** Speed of offline work beside online work. */
@NullMarked
package io.pipelane.cluster.speed;

import org.jspecify.annotations.NullMarked;
