/**
 * The gate that offline runs pass before each of their segments: what it knows of online work, and
 * how much it lets through.
 */
@NullMarked
package io.pipelane.switcher.sharing.gate;

import org.jspecify.annotations.NullMarked;
