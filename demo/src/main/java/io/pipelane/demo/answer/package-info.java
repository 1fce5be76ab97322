/** What the demo models' outputs say, in human terms. */
@NullMarked
package io.pipelane.demo.answer;

import org.jspecify.annotations.NullMarked;
