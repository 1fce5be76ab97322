/** The demo models' outputs in human terms. */
@NullMarked
package io.pipelane.demo.answer;

import org.jspecify.annotations.NullMarked;
