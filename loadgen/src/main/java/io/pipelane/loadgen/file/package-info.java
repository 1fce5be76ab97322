/** The files that a test reads, known again by what they hold. */
@NullMarked
package io.pipelane.loadgen.file;

import org.jspecify.annotations.NullMarked;
