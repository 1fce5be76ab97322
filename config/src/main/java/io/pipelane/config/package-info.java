/** Typed settings, units, and the status vocabulary that every module shares. */
@NullMarked
package io.pipelane.config;

import org.jspecify.annotations.NullMarked;
