/** Real inputs, prepared as the demo models want them. */
@NullMarked
package io.pipelane.demo.input;

import org.jspecify.annotations.NullMarked;
