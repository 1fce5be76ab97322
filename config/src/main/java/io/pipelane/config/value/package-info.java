/**
 * Units and other values that a configuration is made of, with the way in which each is written.
 */
@NullMarked
package io.pipelane.config.value;

import org.jspecify.annotations.NullMarked;
