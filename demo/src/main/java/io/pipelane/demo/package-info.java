/** Real models, real inputs, and answers in human terms: {@code pipelane demo}. */
@NullMarked
package io.pipelane.demo;

import org.jspecify.annotations.NullMarked;
