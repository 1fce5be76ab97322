/** The demonstration: real models, real inputs, answers in human terms. */
@NullMarked
package io.pipelane.demo;

import org.jspecify.annotations.NullMarked;
