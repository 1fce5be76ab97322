/** The settings of a load test: whom it asks, how, how fast and for how long. */
@NullMarked
package io.pipelane.loadgen.settings;

import org.jspecify.annotations.NullMarked;
