/** What it saves that tensors stay on the device between an ensemble's steps. */
@NullMarked
package io.pipelane.bench.ensemble;

import org.jspecify.annotations.NullMarked;
